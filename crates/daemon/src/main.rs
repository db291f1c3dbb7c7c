//! The program.

use clap::Parser;
use headrace_daemon::lifecycle::{DaemonOptions, run};
use headrace_daemon::place::default_folder;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};

/// Lends a few server connections to many local clients that speak PostgreSQL's protocol.
#[derive(Debug, Parser)]
#[command(name = "headraced", version)]
struct Arguments {
    /// The configuration, in TOML; by default headrace/headraced.toml in $XDG_CONFIG_HOME or ~/.config, if it is there.
    #[arg(long)]
    config: Option<PathBuf>,
    /// The folder of the socket; by default `headrace` in $XDG_RUNTIME_DIR, or /tmp/headrace-UID.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The number in the socket's name, .s.PGSQL.PORT.
    #[arg(long, default_value_t = 5432)]
    port: u16,
    /// Ends when no client was connected for a while, and waits for a daemon that is about to end.
    #[arg(long)]
    on_demand: bool,
    /// Takes over the sockets of a daemon that serves, which ends when its clients have left. Without one it only starts.
    #[arg(long)]
    takeover: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // No core file and no other process of this user sees the passwords.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let options = DaemonOptions {
        // Another daemon that takes over may be started elsewhere.
        config: arguments.config.or_else(default_config).map(|path| std::path::absolute(&path).unwrap_or(path)),
        folder: arguments.folder.unwrap_or_else(default_folder),
        port: arguments.port,
        on_demand: arguments.on_demand,
        takeover: arguments.takeover,
    };
    let result = match (threads("interactive"), threads("bulk")) {
        (Ok(interactive), Ok(bulk)) => {
            let threads = bulk.handle().clone();
            // As a task of its own it is where the tasks of clients are: one thread less to wake for each of them.
            let ended = interactive.block_on(async { tokio::spawn(run(options, threads)).await });
            interactive.shutdown_background();
            bulk.shutdown_background();
            ended.unwrap_or_else(|error| Err(error.to_string()))
        }
        (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            // A disk that is full, or a pipe that nobody reads, is no reason to panic.
            let _ = writeln!(std::io::stderr(), "headraced: {what}");
            ExitCode::FAILURE
        }
    }
}

/// Threads for a class of traffic, as many as there are cores.
fn threads(name: &str) -> std::io::Result<Runtime> {
    Builder::new_multi_thread().thread_name(name).enable_all().build()
}

fn default_config() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home)?;
    Some(folder.join("headrace/headraced.toml")).filter(|path| path.exists())
}
