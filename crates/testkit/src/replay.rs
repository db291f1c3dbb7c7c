//! Recorded conversations: as files, and as a peer that replays them, cut and split.
//!
//! In a file each line is one side's bytes in hexadecimal: `>` the client, `<` the server, `~ N` for N bytes of the
//! client that differ every time (a password encrypted with the server's key).

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;

/// One step of a recorded conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Messages of the client.
    Client(Vec<u8>),
    /// Messages of the server.
    Server(Vec<u8>),
    /// The client sends this number of bytes, which differ every time.
    Random(usize),
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of hexadecimal digits.
///
/// # Panics
/// If there are other steps.
pub fn unhex(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}

/// Reads a conversation from a file.
///
/// # Panics
/// If the file is missing or has other content.
pub fn read_recording(file: &Path) -> Vec<Step> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let step = |line: &str| match line.split_at(2) {
        ("~ ", count) => Step::Random(count.parse().expect("a number of bytes")),
        ("> ", digits) => Step::Client(unhex(digits)),
        ("< ", digits) => Step::Server(unhex(digits)),
        (mark, _) => panic!("{}: a line begins with {mark:?}", file.display()),
    };
    text.lines().map(step).collect()
}

/// Writes a conversation into a file. Bytes that a client sends right after the server sent its public key are
/// encrypted with it, and are therefore written as `~`.
///
/// # Panics
/// If the file cannot be written.
pub fn write_recording(file: &Path, recording: &[Step]) {
    let mut text = String::new();
    let mut last = ' ';
    let mut key = false;
    for step in recording {
        let (mark, bytes) = match step {
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
            _ => text.push_str(&hex(bytes)),
        }
    }
    std::fs::create_dir_all(file.parent().expect("a file in a folder")).expect("the folder of recordings");
    std::fs::write(file, text + "\n").expect("the recording is written");
}

/// The number of bytes that the server sends.
pub fn server_bytes(steps: &[Step]) -> usize {
    steps.iter().map(|step| if let Step::Server(bytes) = step { bytes.len() } else { 0 }).sum()
}

/// The other side of the wire.
pub trait Peer {
    /// Takes bytes of the client.
    fn send(&mut self, bytes: &[u8]);
    /// The next bytes of the server, `None` when there are no more.
    fn receive(&mut self) -> Option<Vec<u8>>;
    /// Puts TLS in place; returns the fingerprint of the server's certificate.
    fn start_tls(&mut self) -> Option<[u8; 32]> {
        panic!("this peer has no TLS")
    }
}

/// A peer that replays the server's bytes, cut and split as the test chooses, once the client has sent its part.
#[derive(Debug)]
pub struct Replay {
    steps: VecDeque<Step>,
    sent: Vec<u8>,
    given: usize,
    /// A piece ends after this number of bytes of the server, and at the ends of the recorded ones.
    pub split: usize,
    /// Only this number of bytes of the server arrive.
    pub cut: usize,
    /// Each byte comes alone.
    pub single: bool,
}

impl Replay {
    /// The whole conversation, in the recorded pieces.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps: steps.into(), sent: Vec::new(), given: 0, split: 0, cut: usize::MAX, single: false }
    }
}

impl Peer for Replay {
    fn send(&mut self, bytes: &[u8]) {
        self.sent.extend_from_slice(bytes);
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            let length = match self.steps.front() {
                Some(Step::Client(expected)) => {
                    assert!(
                        self.sent.starts_with(expected),
                        "the client sends {:02x?}, not {expected:02x?}",
                        self.sent
                    );
                    expected.len()
                }
                Some(Step::Random(count)) => {
                    assert!(self.sent.len() >= *count, "the client sends {:02x?}, not {count} bytes", self.sent);
                    *count
                }
                _ => break,
            };
            self.sent.drain(..length);
            self.steps.pop_front();
        }
        let Some(Step::Server(bytes)) = self.steps.front_mut() else { return None };
        let mut n = bytes.len();
        if (self.given + 1..self.given + n).contains(&self.split) {
            n = self.split - self.given;
        }
        if self.single {
            n = 1;
        }
        n = n.min(self.cut.saturating_sub(self.given));
        if n == 0 {
            return None;
        }
        let piece: Vec<u8> = bytes.drain(..n).collect();
        if bytes.is_empty() {
            self.steps.pop_front();
        }
        self.given += n;
        Some(piece)
    }
}
