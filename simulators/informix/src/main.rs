//! The command: `headrace-simulate-informix --port 0`.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use headrace_simulator_informix::capabilities::Release;
use headrace_simulator_informix::channel::{tls_for_this_run, tls_from_files};
use headrace_simulator_informix::codec::charset::Charset;
use headrace_simulator_informix::database::Mode;
use headrace_simulator_informix::faults::Faults;
use headrace_simulator_informix::server::{Config, Redirect, Server};

const HELP: &str = "headrace-simulate-informix: a test server that speaks SQLI, with SQLite inside

  --host ADDRESS       where to listen (127.0.0.1)
  --port N             the port, 0 for any free one (0); it is printed as `port N`
  --user NAME          who may log in (informix)
  --password SECRET    with which password (in4mix)
  --server NAME        the name that clients must give as INFORMIXSERVER (informix)
  --database NAME      the database that is there from the start (testdb)
  --mode MODE          logged, ansi or unlogged (logged)
  --locale LOCALE      of the databases, as en_US.819, en_US.utf8, ja_JP.sjis-s (en_US.819)
  --release N          12.10, 14.10 or 15 (14.10)
  --after-error WHAT   abort or continue the rest of a group (abort)
  --tls-port N         a second port, for TLS; 0 for any free one; it is printed as `tls-port N`
  --tls-cert FILE      the certificate, PEM; without it one is made for this machine, and the file of the authority
                       that signed it is printed as `authority FILE`
  --tls-key FILE       the certificate's key, PEM
  --pam ASK=ANSWER     ask at login as PAM does, instead of the password; may be repeated
  --redirect NAME[=SERVER@HOST:PORT]
                       send who asks for server NAME there, or here if nothing else is said; may be repeated
  --fault FAULT        latency=MS, cut=N, silence=N, garbage=N, split=N; may be repeated
  --data FOLDER        where the databases are while the server runs, empty at the start (a new folder, removed at
                       the end)
  --until-stdin-ends   end when standard input does
  --trace              show messages and replies on standard error
";

struct Options {
    config: Config,
    own_folder: bool,
    until_stdin_ends: bool,
    tls_port: Option<u16>,
    /// Certificate and key.
    tls_files: (Option<PathBuf>, Option<PathBuf>),
}

fn redirect(text: &str) -> Option<Redirect> {
    let Some((name, target)) = text.split_once('=') else {
        return Some(Redirect { name: text.to_owned(), target: None });
    };
    let (server, address) = target.split_once('@')?;
    let (host, port) = address.rsplit_once(':')?;
    let target = (server.to_owned(), host.to_owned(), port.parse().ok()?);
    Some(Redirect { name: name.to_owned(), target: Some(target) })
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
        continue_after_error: false,
        pam: Vec::new(),
        redirects: Vec::new(),
        faults: Faults::default(),
        trace: false,
        folder: std::env::temp_dir().join(format!("headrace-informix-{}", std::process::id())),
    };
    let (mut own_folder, mut until_stdin_ends) = (true, false);
    let (mut tls_port, mut tls_files) = (None, (None, None));
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
            "--tls-port" => tls_port = Some(value.parse().map_err(|_| wrong())?),
            "--tls-cert" => tls_files.0 = Some(PathBuf::from(value)),
            "--tls-key" => tls_files.1 = Some(PathBuf::from(value)),
            "--pam" => {
                let (question, answer) = value.split_once('=').ok_or_else(wrong)?;
                config.pam.push((question.to_owned(), answer.to_owned()));
            }
            "--redirect" => config.redirects.push(redirect(&value).ok_or_else(wrong)?),
            "--fault" => config.faults.set(&value)?,
            "--data" => {
                config.folder = PathBuf::from(value);
                own_folder = false;
            }
            _ => return Err(wrong()),
        }
    }
    Ok(Some(Options { config, own_folder, until_stdin_ends, tls_port, tls_files }))
}

/// The argument with which the program removes a folder when its standard input ends.
const SWEEP: &str = "--remove-when-stdin-ends";

/// Has a folder removed when this process ends, in whatever way: by a signal as well. The process that does it has one
/// end of a pipe, of which this one has the other for as long as it lives; it ignores Ctrl-C.
fn sweep_at_the_end(folder: &Path) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg(SWEEP)
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn sweep(folder: &str) -> ExitCode {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    let _ = std::fs::remove_dir_all(folder);
    ExitCode::SUCCESS
}

fn run(options: Options) -> Result<(), String> {
    let folder = options.config.folder.clone();
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let sweeper = if options.own_folder { sweep_at_the_end(&folder).ok() } else { None };
    let host = options.config.host.clone();
    let server = Server::new(options.config)?;
    let cannot = |error: std::io::Error| format!("cannot listen on {host}: {error}");
    let listener = server.listen().map_err(cannot)?;
    println!("port {}", listener.local_addr().map_err(cannot)?.port());
    if let Some(port) = options.tls_port {
        let tls = match &options.tls_files {
            (Some(certificate), Some(key)) => tls_from_files(certificate, key)?,
            (None, None) => {
                let authority = folder.join("authority.pem");
                let tls = tls_for_this_run(&authority)?;
                println!("authority {}", authority.display());
                tls
            }
            _ => return Err("--tls-cert and --tls-key go together".into()),
        };
        let listener = std::net::TcpListener::bind((host.as_str(), port)).map_err(cannot)?;
        println!("tls-port {}", listener.local_addr().map_err(cannot)?.port());
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.serve(&listener, Some(&tls)));
    }
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    if !options.until_stdin_ends {
        server.serve(&listener, None);
        return Ok(());
    }
    std::thread::spawn(move || server.serve(&listener, None));
    // The parent process has the other end: when it is gone, the server is no longer needed.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    if options.own_folder {
        let _ = std::fs::remove_dir_all(folder);
    }
    drop(sweeper);
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, folder] = &arguments[..]
        && first == SWEEP
    {
        return sweep(folder);
    }
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
