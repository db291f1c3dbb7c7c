//! The program.

use clap::Parser;
use headrace_daemon::client::serve;
use headrace_daemon::config::Config;
use headrace_daemon::hub::Hub;
use headrace_daemon::limits::{DRAIN, EXPIRY};
use headrace_io::tokio::Stream;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::{geteuid, umask};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

/// Lends a few server connections to many local clients that speak PostgreSQL's protocol.
#[derive(Debug, Parser)]
#[command(name = "headraced", version)]
struct Arguments {
    /// The configuration, in TOML.
    #[arg(long)]
    config: PathBuf,
    /// The folder of the socket; by default `headrace` in $XDG_RUNTIME_DIR.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The number in the socket's name, .s.PGSQL.PORT.
    #[arg(long, default_value_t = 5432)]
    port: u16,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(run(&arguments)),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("headraced: {what}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), String> {
    let config = Config::read(&arguments.config)?;
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(runtime) => Path::new(&runtime).join("headrace"),
            None => return Err("XDG_RUNTIME_DIR is not set: give --folder".into()),
        },
    };
    prepare(&folder)?;
    let path = folder.join(format!(".s.PGSQL.{}", arguments.port));
    // Held until the process ends: whoever holds it owns the socket, so a file that is there is left over.
    let lock = path.with_extension(format!("{}.lock", arguments.port));
    let held = open(&lock, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
        .map_err(|error| format!("{}: {error}", lock.display()))?;
    flock(&held, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| format!("another headraced serves {} already", path.display()))?;
    let _ = fs::remove_file(&path);
    umask(Mode::XUSR | Mode::RWXG | Mode::RWXO);
    let listener = UnixListener::bind(&path).map_err(|error| format!("{}: {error}", path.display()))?;

    let (drain, draining) = watch::channel(false);
    let hub = Arc::new(Hub::new(config, draining));
    let mut clients = JoinSet::new();
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut expiry = interval(EXPIRY);
    println!("headraced: serving {}", path.display());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Whoever may reach the socket acts with this user's rights on the servers.
                    let own = stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw());
                    if own {
                        clients.spawn(serve(Stream::Unix(stream), Arc::clone(&hub)));
                    }
                }
                // No more file descriptors, for example: the clients that are there go on.
                Err(error) => {
                    eprintln!("headraced: a client cannot be accepted: {error}");
                    tokio::time::sleep(headrace_core::limits::TICK).await;
                }
            },
            Some(_) = clients.join_next(), if !clients.is_empty() => {}
            _ = expiry.tick() => hub.expire(),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    drop(listener);
    let _ = fs::remove_file(&path);
    drain.send_replace(true);
    if timeout(DRAIN, async { while clients.join_next().await.is_some() {} }).await.is_err() {
        eprintln!("headraced: {} clients had not ended their transactions after {} s", clients.len(), DRAIN.as_secs());
    }
    drop(held);
    Ok(())
}

/// Makes the folder, or checks that nobody else has a hand in it.
fn prepare(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    if !folder.exists() {
        DirBuilder::new().mode(0o700).recursive(true).create(folder).map_err(|error| format!("{shown}: {error}"))?;
    }
    let metadata = fs::metadata(folder).map_err(|error| format!("{shown}: {error}"))?;
    if metadata.uid() != geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
        return Err(format!("{shown} must belong to this user and be nobody else's (chmod 700)"));
    }
    Ok(())
}
