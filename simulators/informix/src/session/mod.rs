//! One connection: groups of messages in, one reply for each.

mod cursor;
mod failures;
mod lob;
mod replies;
mod rows;
mod run;
mod statement;

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, recv};

use crate::capabilities::Capabilities;
use crate::codec::charset::Charset;
use crate::database::{Mode, Open};
use crate::engine::functions::State;
use crate::errors::{Result, SqlError};
use crate::faults::Faults;
use crate::login;
use crate::messages::{self, Message};
use crate::server::Server;
use crate::wire::{Input, Output};
use statement::Prepared;

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    /// Each statement for itself.
    None,
    /// Begun; SQLite hears of it with the first change, so that readers do not hold an old state.
    Open { started: bool },
}

/// What one connection knows.
pub struct Session {
    server: Arc<Server>,
    stream: TcpStream,
    input: Input<TcpStream>,
    out: Vec<u8>,
    caps: Capabilities,
    faults: Faults,
    /// Faults asked for by SQL; they start behind the reply to that.
    next_faults: Option<Faults>,
    user: String,
    number: i64,
    delimited: bool,
    // Statements are dropped before the connection they belong to.
    statements: Vec<Option<Prepared>>,
    current: usize,
    open: Option<Open>,
    transaction: Transaction,
    lock_wait: Option<Duration>,
    blobs: HashMap<i32, Vec<u8>>,
    lobs: lob::Objects,
    failed: bool,
}

/// Takes the urgent byte, if there is one: the client wants the running statement to end.
fn take_urgent(stream: &TcpStream) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::PRI)];
    let none = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    if !matches!(poll(&mut polled, Some(&none)), Ok(1)) || !polled[0].revents().contains(PollFlags::PRI) {
        return false;
    }
    let mut byte = [0u8; 1];
    recv(stream, &mut byte[..], RecvFlags::OOB).is_ok()
}

impl Session {
    /// Takes a connection that was accepted.
    pub fn new(server: Arc<Server>, stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let input = Input::new(stream.try_clone()?);
        let number = server.next_session();
        let faults = server.config.faults;
        Ok(Self {
            server,
            stream,
            input,
            out: Vec::with_capacity(1 << 16),
            caps: Capabilities::default(),
            faults,
            next_faults: None,
            user: String::new(),
            number,
            delimited: false,
            statements: Vec::new(),
            current: 0,
            open: None,
            transaction: Transaction::None,
            lock_wait: Some(Duration::ZERO),
            blobs: HashMap::new(),
            lobs: lob::Objects::default(),
            failed: false,
        })
    }

    /// Serves it to its end.
    pub fn run(mut self) -> io::Result<()> {
        if !self.login()? {
            return Ok(());
        }
        loop {
            let charset = self.charset();
            let message = messages::read(&mut self.input, &self.caps, charset)?;
            if self.server.config.trace {
                eprintln!("{} > {message:?}", self.number);
            }
            match message {
                Message::End => {
                    replies::end(&mut self.out);
                    self.failed = false;
                    // While more requests are here already, their replies travel together.
                    if !self.input.has_buffered() || self.out.len() > 1 << 16 {
                        self.flush()?;
                    }
                }
                Message::Exit => {
                    self.out.put_u16(56);
                    self.flush()?;
                    return Ok(());
                }
                Message::Unknown(tag) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("message {tag} is not known")));
                }
                _ if self.failed && !self.server.config.continue_after_error => {}
                message => {
                    if let Err(error) = self.handle(message) {
                        replies::error(&mut self.out, &self.caps, charset, &error);
                        self.failed = true;
                    }
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.out);
        if self.server.config.trace {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("{} < {hex}", self.number);
        }
        let sent = self.faults.send(&mut self.stream, &mut bytes);
        bytes.clear();
        self.out = bytes;
        if let Some(next) = self.next_faults.take() {
            self.faults = next;
        }
        sent
    }

    fn login(&mut self) -> io::Result<bool> {
        let request = login::read_request(&mut self.input)?;
        let config = &self.server.config;
        let code = if request.server != config.server {
            -761
        } else if request.user != config.user || request.password != config.password {
            -951
        } else {
            0
        };
        let redirect = config.redirect.as_deref().filter(|_| code == 0);
        let reply = login::Reply { banner: config.release.version(), server: &config.server, code, redirect };
        let mut bytes = login::write_reply(&reply);
        Faults::default().send(&mut self.stream, &mut bytes)?;
        self.user = request.user;
        let delimited = request.environment.iter().find(|(name, _)| name == "DELIMIDENT");
        self.delimited = delimited.is_some_and(|(_, value)| !value.eq_ignore_ascii_case("n"));
        Ok(code == 0 && self.server.config.redirect.is_none())
    }

    fn charset(&self) -> Charset {
        match &self.open {
            Some(open) => open.database.charset,
            None => Charset::of_locale(&self.server.config.locale).unwrap_or(Charset::Latin1),
        }
    }

    fn opened(&self) -> Result<&Open> {
        self.open.as_ref().ok_or_else(|| SqlError::new(-349, ""))
    }

    fn text(&self, bytes: &[u8]) -> String {
        self.charset().decode(bytes)
    }

    fn handle(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Protocols(offer) => {
                let mask = self.server.config.release.mask();
                self.caps = Capabilities::common(&offer, &mask);
                self.out.put_u16(126);
                self.out.put_chars(&mask);
            }
            Message::DatabaseOpen(name) => {
                let name = self.text(&name);
                self.open_database(&name)?;
                let warnings = self.opened()?.database.mode.warnings();
                replies::done(&mut self.out, &self.caps, warnings, 0, 0, 0);
                replies::cost(&mut self.out, 1);
            }
            Message::DatabaseClose => self.close_database(),
            Message::DatabaseList => {
                self.out.put_u16(26);
                for (name, _) in self.server.databases() {
                    self.out.put_chars(name.as_bytes());
                }
                self.out.put_u16(0);
            }
            Message::Version => {
                self.out.put_u16(53);
                self.out.put_chars(self.server.config.release.version().as_bytes());
            }
            Message::Command { sql } => self.prepare(&sql, true)?,
            Message::Prepare { sql } => self.prepare(&sql, false)?,
            Message::Id(id) => self.current = usize::try_from(id).unwrap_or(usize::MAX),
            Message::Begin => self.begin(-201)?,
            Message::Commit => self.commit()?,
            Message::Rollback => self.rollback()?,
            Message::SetSavepoint(name) => self.savepoint("SAVEPOINT", &name)?,
            Message::ReleaseSavepoint(name) => self.savepoint("RELEASE", &name)?,
            Message::RollbackToSavepoint(name) => self.savepoint("ROLLBACK TO", &name)?,
            Message::FetchBlob(descriptor) => self.fetch_blob(&descriptor)?,
            Message::LobRead { descriptor, length, chunk, seek } => self.lob_read(descriptor, length, chunk, seek)?,
            Message::LobWrite { descriptor, bytes } => self.lob_write(descriptor, &bytes)?,
            Message::GetRoutine(signature) => self.get_routine(&signature)?,
            Message::CallRoutine { handle, arguments } => self.call_routine(handle, &arguments)?,
            Message::Info | Message::NDescribe | Message::WantDone => {}
            message => self.statement_message(message)?,
        }
        Ok(())
    }

    fn close_database(&mut self) {
        self.statements.clear();
        self.lobs = lob::Objects::default();
        self.blobs.clear();
        self.open = None;
        self.transaction = Transaction::None;
    }

    fn open_database(&mut self, name: &str) -> Result<()> {
        let name = name.split('@').next().unwrap_or_default().trim().to_lowercase();
        let Some(database) = self.server.database(&name) else {
            return Err(SqlError::isam(-329, -111, name));
        };
        if self.transaction != Transaction::None {
            return Err(SqlError::new(-759, ""));
        }
        self.close_database();
        let state = Arc::new(State {
            serials: Arc::clone(&database.serials),
            temporary: std::sync::Mutex::default(),
            last_serial: AtomicI64::new(0),
            rows: AtomicI64::new(0),
            interrupted: AtomicBool::new(false),
            session: self.number,
            user: self.user.clone(),
            server: self.server.config.server.clone(),
            database: name,
            version: self.server.config.release.version().to_owned(),
            charset: database.charset,
            urgent: self
                .stream
                .try_clone()
                .ok()
                .map(|stream| -> Box<dyn Fn() -> bool + Send + Sync> { Box::new(move || take_urgent(&stream)) }),
        });
        let internal = |error: rusqlite::Error| SqlError::new(-330, error.to_string());
        let open =
            Open::new(&database, Arc::clone(&state), self.delimited, &self.server.databases()).map_err(internal)?;
        // Every so many steps of SQLite's machine: rarely enough to cost nothing, often enough to end at once.
        open.connection.progress_handler(20_000, Some(move || state.poll_urgent()));
        self.open = Some(open);
        Ok(())
    }

    /// A transaction as ANSI databases begin one: with whatever statement comes first.
    fn begin_implicitly(&mut self) {
        let ansi = self.open.as_ref().is_some_and(|open| open.database.mode == Mode::Ansi);
        if ansi && self.transaction == Transaction::None {
            self.transaction = Transaction::Open { started: false };
        }
    }

    fn forget_interrupt(&self) {
        if let Some(open) = &self.open {
            take_urgent(&self.stream);
            open.state.interrupted.store(false, Ordering::Relaxed);
        }
    }
}
