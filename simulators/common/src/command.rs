//! The options that every test server has, and the life of its process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use rustls::ServerConfig;

use crate::channel::{tls_for_this_run, tls_from_files};
use crate::faults::Faults;

/// The help for the options of [`Common`].
pub const COMMON_HELP: &str =
    "  --tls-port N         a second port, for TLS; 0 for any free one; it is printed as `tls-port N`
  --tls-cert FILE      the certificate, PEM; without it one is made for this machine, and the file of the authority
                       that signed it is printed as `authority FILE`
  --tls-key FILE       the certificate's key, PEM
  --fault FAULT        latency=MS, cut=N, silence=N, garbage=N, split=N; may be repeated
  --data FOLDER        where the databases are while the server runs, empty at the start (a new folder, removed at
                       the end)
  --until-stdin-ends   end when standard input does
  --trace              show messages and replies on standard error
";

/// The options that every test server has.
#[derive(Debug)]
pub struct Common {
    /// The address to listen on.
    pub host: String,
    /// The port; 0 lets the system choose.
    pub port: u16,
    /// The port for TLS, if there is one.
    pub tls_port: Option<u16>,
    /// Certificate and key.
    pub tls_files: (Option<PathBuf>, Option<PathBuf>),
    /// Deliberate faults.
    pub faults: Faults,
    /// The folder of the databases.
    pub folder: PathBuf,
    /// True if the folder is removed at the end.
    pub own_folder: bool,
    /// True if the server ends when standard input does.
    pub until_stdin_ends: bool,
    /// True if messages are printed on standard error.
    pub trace: bool,
}

impl Common {
    /// The defaults of a server of this name.
    pub fn new(name: &str) -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 0,
            tls_port: None,
            tls_files: (None, None),
            faults: Faults::default(),
            folder: std::env::temp_dir().join(format!("headrace-{name}-{}", std::process::id())),
            own_folder: true,
            until_stdin_ends: false,
            trace: false,
        }
    }

    /// Sets an option without a value; returns false if there is none of that name.
    pub fn set_flag(&mut self, name: &str) -> bool {
        match name {
            "--until-stdin-ends" => self.until_stdin_ends = true,
            "--trace" => self.trace = true,
            _ => return false,
        }
        true
    }

    /// Sets an option; returns the value if there is no option of that name.
    ///
    /// # Errors
    /// A message for the user if the value is wrong.
    pub fn set(&mut self, name: &str, value: String) -> Result<Option<String>, String> {
        match name {
            "--host" => self.host = value,
            "--port" => self.port = value.parse().map_err(|_| wrong(name, &value))?,
            "--tls-port" => self.tls_port = Some(value.parse().map_err(|_| wrong(name, &value))?),
            "--tls-cert" => self.tls_files.0 = Some(PathBuf::from(value)),
            "--tls-key" => self.tls_files.1 = Some(PathBuf::from(value)),
            "--fault" => self.faults.set(&value)?,
            "--data" => {
                self.folder = PathBuf::from(value);
                self.own_folder = false;
            }
            _ => return Ok(Some(value)),
        }
        Ok(None)
    }

    fn tls(&self) -> Result<Arc<ServerConfig>, String> {
        match &self.tls_files {
            (Some(certificate), Some(key)) => tls_from_files(certificate, key),
            (None, None) => {
                let authority = self.folder.join("authority.pem");
                let tls = tls_for_this_run(&authority)?;
                println!("authority {}", authority.display());
                Ok(tls)
            }
            _ => Err("--tls-cert and --tls-key go together".into()),
        }
    }
}

/// The message about a value that an option does not take.
pub fn wrong(name: &str, value: &str) -> String {
    format!("{name} {value}: see --help for what it takes")
}

/// What a test server does with its ports.
pub trait Service: Send + Sync + 'static {
    /// Is given the address of the port without TLS, before the first connection.
    fn listening(self: &Arc<Self>, _address: SocketAddr) {}

    /// Serves the connections of a port, forever.
    fn serve(self: &Arc<Self>, listener: &TcpListener, tls: Option<&Arc<ServerConfig>>);
}

/// Opens the ports, prints their numbers and serves them until the process is to end. `make` is called when the folder
/// is there.
///
/// # Errors
/// A message for the user if the server cannot start.
pub fn run<S: Service>(common: &Common, make: impl FnOnce() -> Result<Arc<S>, String>) -> Result<(), String> {
    let folder = &common.folder;
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let sweeper = if common.own_folder { sweep_at_the_end(folder).ok() } else { None };
    let host = common.host.as_str();
    let server = make()?;
    let cannot = |error: std::io::Error| format!("cannot listen on {host}: {error}");
    let listener = TcpListener::bind((host, common.port)).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    server.listening(address);
    println!("port {}", address.port());
    if let Some(port) = common.tls_port {
        let tls = common.tls()?;
        let listener = TcpListener::bind((host, port)).map_err(cannot)?;
        println!("tls-port {}", listener.local_addr().map_err(cannot)?.port());
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.serve(&listener, Some(&tls)));
    }
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    if !common.until_stdin_ends {
        server.serve(&listener, None);
        return Ok(());
    }
    std::thread::spawn(move || server.serve(&listener, None));
    // The parent process has the other end: when it is gone, the server is no longer needed.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    if common.own_folder {
        let _ = std::fs::remove_dir_all(folder);
    }
    drop(sweeper);
    Ok(())
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

/// The whole of `main`: `parse` returns nothing if help is wanted, and `start` runs the server.
pub fn main<O>(
    program: &str,
    help: &str,
    parse: impl FnOnce(&mut dyn Iterator<Item = String>) -> Result<Option<O>, String>,
    start: impl FnOnce(O) -> Result<(), String>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, folder] = &arguments[..]
        && first == SWEEP
    {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = std::fs::remove_dir_all(folder);
        return ExitCode::SUCCESS;
    }
    let done = match parse(&mut arguments.into_iter()) {
        Ok(None) => {
            print!("{help}{COMMON_HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(Some(options)) => start(options),
        Err(message) => Err(message),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{program}: {message}");
            ExitCode::from(2)
        }
    }
}
