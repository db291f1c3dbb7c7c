//! Recordings as files: `>` the client, `<` the server, `~` so many bytes of the client that are random.

use super::session::Step;
use std::fmt::Write as _;
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{name}.txt"))
}

/// Writes a conversation down.
pub fn write(name: &str, recording: &[Step]) {
    let mut text = String::new();
    let mut last = ' ';
    let mut key = false;
    for step in recording {
        let (mark, bytes) = match step {
            // What is encrypted with the key that the server has just sent.
            Step::Client(bytes) if key => ('~', bytes),
            Step::Client(bytes) => ('>', bytes),
            Step::Server(bytes) => ('<', bytes),
            Step::Random(_) => unreachable!("it is only read from files"),
        };
        key = mark == '<' && bytes.windows(10).any(|window| window == b"PUBLIC KEY");
        if mark != last {
            write!(text, "{}{mark} ", if last == ' ' { "" } else { "\n" }).expect("a string takes it");
        }
        last = mark;
        match mark {
            '~' => write!(text, "{}", bytes.len()).expect("a string takes it"),
            _ => bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes it")),
        }
    }
    std::fs::create_dir_all(file(name).parent().expect("it has one")).expect("the folder of recordings");
    std::fs::write(file(name), text + "\n").expect("the recording is written");
}

/// Reads one.
pub fn read(name: &str) -> Vec<Step> {
    let text = std::fs::read_to_string(file(name)).expect("the recording is in the repository");
    text.lines()
        .map(|line| {
            if let Some(count) = line.strip_prefix("~ ") {
                return Step::Random(count.parse().expect("a number"));
            }
            let bytes = line.as_bytes()[2..].chunks(2);
            let bytes = bytes.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
            if line.starts_with('>') { Step::Client(bytes) } else { Step::Server(bytes) }
        })
        .collect()
}

/// How much the server says.
pub fn server_bytes(steps: &[Step]) -> usize {
    steps.iter().map(|step| if let Step::Server(bytes) = step { bytes.len() } else { 0 }).sum()
}
