//! Where the daemon listens: the folder, the sockets in it, and the lock that only one daemon holds.

use crate::limits::HANDOVER;
use listenfd::ListenFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::{geteuid, umask};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::net::UnixListener;

/// What a daemon holds as long as it serves.
#[derive(Debug)]
pub struct Place {
    /// Where clients connect.
    pub clients: UnixListener,
    /// Where metrics are asked for.
    pub control: UnixListener,
    socket: Socket,
    control_path: PathBuf,
    /// Held until the process ends: the process that holds it owns the sockets, so a file that is there is left over.
    _lock: File,
}

/// The socket for clients, as a file.
#[derive(Clone, Debug)]
pub struct Socket {
    path: PathBuf,
    /// Made by somebody else, who also removes it.
    inherited: bool,
}

impl Socket {
    /// Lets others reach it, or not any more.
    pub fn set_access(&self, access: Access) {
        let mode = if access == Access::Own { 0o600 } else { 0o666 };
        if !self.inherited {
            let _ = fs::set_permissions(&self.path, Permissions::from_mode(mode));
        }
    }
}

/// Who may open the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// This user.
    Own,
    /// Everybody; who is served is decided by the user's number.
    Everybody,
}

/// The folder where it is not said: `headrace` in `$XDG_RUNTIME_DIR`, or a folder of this user in /tmp.
pub fn default_folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(runtime) => Path::new(&runtime).join("headrace"),
        None => PathBuf::from(format!("/tmp/headrace-{}", geteuid().as_raw())),
    }
}

impl Place {
    /// Takes the place, or the socket that systemd has opened.
    ///
    /// # Errors
    /// Who has it, or what is wrong with the folder.
    pub async fn take(folder: &Path, port: u16, access: Access, on_demand: bool) -> Result<Self, String> {
        prepare(folder, access)?;
        let path = folder.join(format!(".s.PGSQL.{port}"));
        let control_path = folder.join(format!(".s.PGSQL.{port}.http"));
        let lock = locked(&path, port, on_demand).await?;
        let inherited = ListenFd::from_env().take_unix_listener(0).map_err(|error| format!("LISTEN_FDS: {error}"))?;
        umask(Mode::XUSR | Mode::RWXG | Mode::RWXO);
        let socket = Socket { path, inherited: inherited.is_some() };
        let clients = match inherited {
            Some(listener) => of_std(listener)?,
            None => bound(&socket.path)?,
        };
        socket.set_access(access);
        Ok(Self { clients, control: bound(&control_path)?, socket, control_path, _lock: lock })
    }

    /// The path of the socket, for people.
    pub fn shown(&self) -> String {
        if self.socket.inherited {
            return "the socket that was passed on".into();
        }
        self.socket.path.display().to_string()
    }

    /// The socket for clients.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Removes the sockets: who comes from now on finds no daemon.
    pub fn leave(&self) {
        if !self.socket.inherited {
            let _ = fs::remove_file(&self.socket.path);
        }
        let _ = fs::remove_file(&self.control_path);
    }

    /// Comes back after [`Place::leave`].
    ///
    /// # Errors
    /// The sockets cannot be made.
    pub fn come_back(&mut self, access: Access) -> Result<(), String> {
        if !self.socket.inherited {
            self.clients = bound(&self.socket.path)?;
        }
        self.control = bound(&self.control_path)?;
        self.socket.set_access(access);
        Ok(())
    }
}

fn bound(path: &Path) -> Result<UnixListener, String> {
    let _ = fs::remove_file(path);
    StdListener::bind(path).map_err(|error| format!("{}: {error}", path.display())).and_then(of_std)
}

fn of_std(listener: StdListener) -> Result<UnixListener, String> {
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    UnixListener::from_std(listener).map_err(|error| error.to_string())
}

/// The lock of a socket. A daemon that is started on demand waits for one that is about to end.
async fn locked(path: &Path, port: u16, on_demand: bool) -> Result<File, String> {
    let name = path.with_extension(format!("{port}.lock"));
    let held = open(&name, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
        .map_err(|error| format!("{}: {error}", name.display()))?;
    let began = Instant::now();
    while flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
        if !on_demand || began.elapsed() > HANDOVER {
            return Err(format!("another headraced serves {} already", path.display()));
        }
        tokio::time::sleep(headrace_core::limits::TICK / 5).await;
    }
    let mut file = File::from(held);
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Makes the folder, or checks that nobody else has a hand in it.
fn prepare(folder: &Path, access: Access) -> Result<(), String> {
    let shown = folder.display();
    let (mode, foreign) = if access == Access::Own { (0o700, 0o077) } else { (0o711, 0o022) };
    if !folder.exists() {
        let mut builder = DirBuilder::new();
        // Two daemons may make it at the same time.
        match builder.mode(mode).recursive(true).create(folder) {
            Err(error) if !folder.exists() => return Err(format!("{shown}: {error}")),
            _ => {}
        }
    }
    let metadata = fs::symlink_metadata(folder).map_err(|error| format!("{shown}: {error}"))?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() || metadata.mode() & foreign != 0 {
        return Err(format!("{shown} must belong to this user and be nobody else's (chmod {mode:o})"));
    }
    Ok(())
}
