//! Where the daemon listens: the folder, the sockets in it, and the lock that only one daemon holds.

use crate::limits::HANDOVER;
use crate::takeover::newer::Taken;
use listenfd::ListenFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::{geteuid, umask};
use std::fs::{self, DirBuilder, File, Permissions};
use std::future::pending;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::net::{UnixListener, UnixStream};

/// What a daemon holds as long as it serves.
#[derive(Debug)]
pub struct SocketsAndLock {
    held: Option<BoundSockets>,
    socket: Socket,
    control_path: PathBuf,
}

#[derive(Debug)]
struct BoundSockets {
    /// Where clients connect.
    clients: UnixListener,
    /// Where metrics are asked for.
    control: UnixListener,
    /// Held until the process ends: the process that holds it owns the sockets, so a file that is there is left over. One
    /// that takes over is given it by the one before, and both hold it until that has ended.
    lock: File,
}

/// The socket for clients, as a file.
#[derive(Clone, Debug)]
pub struct Socket {
    path: PathBuf,
    /// Made by somebody else, who also removes it.
    inherited: bool,
}

impl Socket {
    /// Returns true if somebody else has made it.
    pub fn is_inherited(&self) -> bool {
        self.inherited
    }

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

/// Where the second socket of a folder is.
pub fn control_path(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}.http"))
}

impl SocketsAndLock {
    /// Takes the place, or the socket that systemd has opened.
    ///
    /// # Errors
    /// Who has it, or what is wrong with the folder.
    pub async fn take(folder: &Path, port: u16, access: Access, on_demand: bool) -> Result<Self, String> {
        prepare(folder, access)?;
        let path = folder.join(format!(".s.PGSQL.{port}"));
        let control_path = control_path(folder, port);
        let lock = locked(&path, port, on_demand).await?;
        let inherited = ListenFd::from_env().take_unix_listener(0).map_err(|error| format!("LISTEN_FDS: {error}"))?;
        umask(Mode::XUSR | Mode::RWXG | Mode::RWXO);
        let socket = Socket { path, inherited: inherited.is_some() };
        let clients = match inherited {
            Some(listener) => of_std(listener)?,
            None => bound(&socket.path)?,
        };
        socket.set_access(access);
        let held = Some(BoundSockets { clients, control: bound(&control_path)?, lock });
        let place = Self { held, socket, control_path };
        place.note_process();
        Ok(place)
    }

    /// The place of a daemon that serves, of which this one has the sockets. The files stay as they are.
    ///
    /// # Errors
    /// What is wrong with the folder.
    pub fn taken(folder: &Path, port: u16, access: Access, taken: Taken) -> Result<Self, String> {
        prepare(folder, access)?;
        umask(Mode::XUSR | Mode::RWXG | Mode::RWXO);
        let socket = Socket { path: folder.join(format!(".s.PGSQL.{port}")), inherited: taken.handed.inherited };
        let (clients, control) = (of_std(taken.clients)?, of_std(taken.control)?);
        let held = Some(BoundSockets { clients, control, lock: taken.lock });
        Ok(Self { held, socket, control_path: control_path(folder, port) })
    }

    /// Writes the number of this process into the file of the lock.
    pub fn note_process(&self) {
        let Some(mut file) = self.held.as_ref().map(|held| &held.lock) else { return };
        // The position is that of every process that holds it.
        let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.set_len(0));
        let _ = writeln!(file, "{}", std::process::id());
    }

    /// A client that connects.
    ///
    /// # Errors
    /// It cannot be accepted.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        match &self.held {
            Some(held) => held.clients.accept().await.map(|(stream, _)| stream),
            None => pending().await,
        }
    }

    /// Who asks on the second socket.
    ///
    /// # Errors
    /// It cannot be accepted.
    pub async fn accept_control(&self) -> io::Result<UnixStream> {
        match &self.held {
            Some(held) => held.control.accept().await.map(|(stream, _)| stream),
            None => pending().await,
        }
    }

    /// The sockets and the lock, for a daemon that takes over.
    ///
    /// # Errors
    /// There are no more file descriptors.
    pub fn sockets(&self) -> io::Result<Vec<OwnedFd>> {
        let Some(held) = &self.held else { return Ok(Vec::new()) };
        [held.clients.as_fd(), held.control.as_fd(), held.lock.as_fd()]
            .into_iter()
            .map(|socket| socket.try_clone_to_owned())
            .collect()
    }

    /// Closes the sockets and the lock, and leaves the files as they are.
    pub fn forget(&mut self) {
        self.held = None;
    }

    /// Returns true after [`SocketsAndLock::forget`].
    pub fn is_forgotten(&self) -> bool {
        self.held.is_none()
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

    /// Comes back after [`SocketsAndLock::leave`].
    ///
    /// # Errors
    /// The sockets cannot be made.
    pub fn come_back(&mut self, access: Access) -> Result<(), String> {
        if let Some(held) = &mut self.held {
            if !self.socket.inherited {
                held.clients = bound(&self.socket.path)?;
            }
            held.control = bound(&self.control_path)?;
        }
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
        tokio::time::sleep(headrace_io::limits::TICK / 5).await;
    }
    Ok(File::from(held))
}

/// Makes the folder, or checks that no other user can write to it.
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
