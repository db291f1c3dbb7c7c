//! The command: `headrace-simulate-informix --port 0`.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use headrace_simulator_informix::capabilities::Release;
use headrace_simulator_informix::codec::charset::Charset;
use headrace_simulator_informix::database::Mode;
use headrace_simulator_informix::faults::Faults;
use headrace_simulator_informix::server::{Config, Server};

const HELP: &str = "headrace-simulate-informix: a test server that speaks SQLI, with SQLite inside

  --host ADDRESS       where to listen (127.0.0.1)
  --port N             the port, 0 for any free one (0); it is printed as `port N`
  --user NAME          who may log in (informix)
  --password SECRET    with which password (in4mix)
  --server NAME        the name that clients must give as INFORMIXSERVER (informix)
  --database NAME      the database that is there from the start (testdb)
  --mode MODE          logged, ansi or unlogged (logged)
  --locale LOCALE      of the databases; code sets 819 and utf8 (en_US.819)
  --release N          12.10, 14.10 or 15 (14.10)
  --after-error WHAT   abort or continue the rest of a group (abort)
  --redirect TARGET    name:host:port of another server, to which every client is sent on
  --fault FAULT        latency=MS, cut=N, silence=N, garbage=N, split=N; may be repeated
  --data FOLDER        where the databases are kept (a new folder, removed at the end)
  --until-stdin-ends   end when standard input does
  --trace              show messages and replies on standard error
";

struct Options {
    config: Config,
    own_folder: bool,
    until_stdin_ends: bool,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut config = Config {
        host: "127.0.0.1".into(),
        port: 0,
        user: "informix".into(),
        password: "in4mix".into(),
        server: "informix".into(),
        database: "testdb".into(),
        mode: Mode::Logged,
        locale: "en_US.819".into(),
        release: Release::V14,
        redirect: None,
        continue_after_error: false,
        faults: Faults::default(),
        trace: false,
        folder: std::env::temp_dir().join(format!("headrace-informix-{}", std::process::id())),
    };
    let (mut own_folder, mut until_stdin_ends) = (true, false);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--until-stdin-ends" => {
                until_stdin_ends = true;
                continue;
            }
            "--trace" => {
                config.trace = true;
                continue;
            }
            _ => {}
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = || format!("{name} {value}: see --help for what it takes");
        match name.as_str() {
            "--host" => config.host = value,
            "--port" => config.port = value.parse().map_err(|_| wrong())?,
            "--user" => config.user = value,
            "--password" => config.password = value,
            "--server" => config.server = value,
            "--database" => config.database = value,
            "--mode" => config.mode = Mode::from_name(&value).ok_or_else(wrong)?,
            "--locale" if Charset::of_locale(&value).is_some() => config.locale = value,
            "--release" => {
                config.release = match value.as_str() {
                    "12.10" => Release::V12,
                    "14.10" => Release::V14,
                    "15" | "15.0" => Release::V15,
                    _ => return Err(wrong()),
                }
            }
            "--after-error" if value == "abort" || value == "continue" => {
                config.continue_after_error = value == "continue";
            }
            "--redirect" if value.split(':').count() == 3 => config.redirect = Some(value),
            "--fault" => config.faults.set(&value)?,
            "--data" => {
                config.folder = PathBuf::from(value);
                own_folder = false;
            }
            _ => return Err(wrong()),
        }
    }
    Ok(Some(Options { config, own_folder, until_stdin_ends }))
}

fn run(options: Options) -> Result<(), String> {
    let folder = options.config.folder.clone();
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let address = format!("{}:{}", options.config.host, options.config.port);
    let server = Server::new(options.config)?;
    let listener = server.listen().map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    println!("port {port}");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    if !options.until_stdin_ends {
        server.serve(&listener);
        return Ok(());
    }
    std::thread::spawn(move || server.serve(&listener));
    // Whoever started it holds the other end: when it is gone, so is the reason to run.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    if options.own_folder {
        let _ = std::fs::remove_dir_all(folder);
    }
    Ok(())
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)) {
        Ok(None) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Some(options)) => run(options).map_or_else(fail, |()| ExitCode::SUCCESS),
        Err(message) => fail(message),
    }
}

fn fail(message: String) -> ExitCode {
    eprintln!("headrace-simulate-informix: {message}");
    ExitCode::from(2)
}
