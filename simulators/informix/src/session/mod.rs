//! One connection: groups of messages in, one reply for each.

mod cursor;
mod define;
mod failures;
mod files;
mod link;
mod lob;
mod replies;
mod rows;
mod run;
mod stale;
mod statement;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headrace_simulator_common::channel::{Channel, is_unwanted};
use headrace_simulator_common::faults::Faults;

use crate::capabilities::Capabilities;
use crate::codec::charset::Charset;
use crate::database::{Known, Mode, Open};
use crate::engine::functions::{State, now};
use crate::errors::{Result, SqlError};
use crate::limits::REPLY_BUFFER;
use crate::login;
use crate::messages::Message;
use crate::server::Server;
use crate::sql::Isolation;
use crate::wire::Output;
pub use rows::read_value;

use link::Link;
use statement::Prepared;

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    /// Each statement for itself.
    None,
    /// Begun; SQLite's transaction begins with the first change, so that readers do not keep an old state.
    Open { started: bool },
}

/// The state of one connection.
pub struct SqliSession {
    server: Arc<Server>,
    link: Link,
    caps: Capabilities,
    user: String,
    number: i64,
    delimited: bool,
    /// True if dates as text should have a form that this server does not write.
    foreign_dates: bool,
    /// The client's DB_LOCALE, which new databases get.
    db_locale: Option<String>,
    /// The number of answered questions of PAM.
    answered: usize,
    // Statements are dropped before the connection they belong to.
    statements: Vec<Option<Prepared>>,
    current: usize,
    open: Option<Open>,
    transaction: Transaction,
    isolation: Isolation,
    lock_wait: Option<Duration>,
    blobs: HashMap<i32, Vec<u8>>,
    lobs: lob::Objects,
    /// True if this transaction changed definitions.
    redefined: bool,
    /// The state before its first definition.
    before: Option<Known>,
    /// The same for each savepoint of the transaction.
    savepoints: Vec<(String, Known)>,
    failed: bool,
    /// True if the next change ends the transaction, for tests of drivers.
    aborts: bool,
    /// True if the running statement is one of several in a text.
    part: bool,
    /// True for the first message of a group.
    fresh: bool,
    /// True if the last statement has changed rows, and not opened a cursor.
    has_changed_rows: bool,
}

/// A message for standard error.
fn shown(message: &Message, charset: Charset) -> String {
    match message {
        Message::Prepare { sql } => format!("Prepare {:?}", charset.decode(sql)),
        Message::Command { sql } => format!("Command {:?}", charset.decode(sql)),
        message => format!("{message:?}"),
    }
}

impl Drop for SqliSession {
    fn drop(&mut self) {
        if self.transaction == Transaction::None {
            // An error here has no receiver.
            let _ = self.save_objects();
        }
        self.undefine();
    }
}

impl SqliSession {
    /// Takes a connection that was accepted.
    pub fn new(server: Arc<Server>, channel: Channel) -> Self {
        let number = server.next_session();
        let trace = server.config.trace.then_some(number);
        Self {
            link: Link::new(channel, server.config.faults, trace),
            server,
            caps: Capabilities::default(),
            user: String::new(),
            number,
            delimited: false,
            foreign_dates: false,
            db_locale: None,
            answered: 0,
            statements: Vec::new(),
            current: 0,
            open: None,
            transaction: Transaction::None,
            isolation: Isolation::Committed,
            lock_wait: Some(Duration::ZERO),
            blobs: HashMap::new(),
            lobs: lob::Objects::default(),
            redefined: false,
            before: None,
            savepoints: Vec::new(),
            failed: false,
            aborts: false,
            part: false,
            fresh: true,
            has_changed_rows: false,
        }
    }

    /// Serves it to its end.
    pub fn run(mut self) -> io::Result<()> {
        if !self.login()? {
            return Ok(());
        }
        loop {
            let charset = self.charset();
            let message = match self.link.next(&self.caps, charset)? {
                Message::PutHead { length, rows } => self.read_put(length, rows)?,
                message => message,
            };
            if self.link.trace.is_some() {
                eprintln!("{} > {}", self.number, shown(&message, charset));
            }
            match message {
                Message::End => {
                    replies::end(&mut self.link.out);
                    self.failed = false;
                    self.fresh = true;
                    // While more requests are here already, their replies travel together.
                    if !self.link.has_more() || self.link.out.len() > REPLY_BUFFER {
                        self.link.flush()?;
                    }
                }
                Message::Exit => {
                    self.link.out.put_u16(56);
                    self.link.flush()?;
                    return Ok(());
                }
                Message::Unknown(tag) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("message {tag} is not known")));
                }
                _ if self.failed && !self.server.config.continue_after_error => {}
                message => {
                    if let Err(error) = self.handle(message) {
                        replies::error(&mut self.link.out, &self.caps, charset, &error);
                        self.failed = true;
                    }
                }
            }
        }
    }

    fn login(&mut self) -> io::Result<bool> {
        let request = login::read_request(&mut self.link.input)?;
        let config = &self.server.config;
        let redirect = config.redirects.iter().find(|redirect| redirect.name == request.server);
        // If PAM asks questions, the password of the login is ignored.
        let known = request.user == config.user && (!config.pam.is_empty() || request.password == config.password);
        let answer = match redirect {
            Some(redirect) => login::Answer::Redirect(self.server.target(redirect)),
            None if request.server != config.server => login::Answer::Refused(-761),
            None if !known => login::Answer::Refused(-951),
            None => login::Answer::Accepted,
        };
        let accepted = matches!(answer, login::Answer::Accepted);
        let reply = login::Reply { banner: config.release.version(), server: &config.server, answer };
        let mut bytes = login::write_reply(&reply);
        Faults::default().send(self.link.input.source(), &mut bytes)?;
        self.user = request.user;
        let set = |wanted: &str| request.environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        self.delimited = set("DELIMIDENT").is_some_and(|value| !value.eq_ignore_ascii_case("n"));
        self.foreign_dates = set("DBDATE").is_some_and(|value| !value.eq_ignore_ascii_case("Y4MD-"))
            || set("GL_DATE").is_some_and(|value| !value.is_empty());
        self.db_locale = set("DB_LOCALE").filter(|value| !value.is_empty()).cloned();
        Ok(accepted)
    }

    /// The questions of PAM: one message each way for each of them.
    fn converse(&mut self, response: Option<Vec<u8>>) -> Result<()> {
        if let (Some(response), Some((_, answer))) = (response, self.server.config.pam.get(self.answered)) {
            if response != answer.as_bytes() {
                // A client that guesses starts again from the first question, on a new connection.
                return Err(SqlError::new(-951, self.user.clone()));
            }
            self.answered += 1;
        }
        match self.server.config.pam.get(self.answered) {
            Some((question, _)) => {
                self.link.out.put_u16(129);
                // Style 1: the answer is not shown while it is typed.
                self.link.out.put_u16(1);
                self.link.out.put_chars(question.as_bytes());
            }
            None => self.link.out.put_u16(127),
        }
        Ok(())
    }

    fn charset(&self) -> Charset {
        match &self.open {
            Some(open) => open.database.charset,
            None => Charset::of_locale(&self.server.config.locale).unwrap_or(Charset::Latin1),
        }
    }

    /// The database that is open.
    fn opened(&self) -> Result<&Open> {
        self.open.as_ref().ok_or_else(|| SqlError::new(-349, ""))
    }

    fn text(&self, bytes: &[u8]) -> String {
        self.charset().decode(bytes)
    }

    fn handle(&mut self, message: Message) -> Result<()> {
        let asked = matches!(message, Message::Protocols(_) | Message::Acknowledge | Message::Response(_));
        if self.answered < self.server.config.pam.len() && !asked {
            return Err(SqlError::new(-951, self.user.clone()));
        }
        match message {
            Message::Acknowledge => self.converse(None)?,
            Message::Response(answer) => self.converse(Some(answer))?,
            Message::Protocols(offer) => {
                let mut mask = self.server.config.release.mask();
                if !self.server.config.pam.is_empty() {
                    mask[5] |= 0x08;
                }
                self.caps = Capabilities::common(&offer, &mask);
                self.link.out.put_u16(126);
                self.link.out.put_chars(&mask);
            }
            Message::DatabaseOpen(name) => {
                let name = self.text(&name);
                self.open_database(&name)?;
                let warnings = self.opened()?.database.mode.warnings();
                replies::done(&mut self.link.out, &self.caps, warnings, 0, 0, 0);
                replies::cost(&mut self.link.out, 1);
            }
            Message::DatabaseClose => self.close_database(),
            Message::DatabaseList => {
                self.link.out.put_u16(26);
                for (name, ..) in self.server.databases() {
                    self.link.out.put_chars(name.as_bytes());
                }
                self.link.out.put_u16(0);
            }
            Message::Version => {
                self.link.out.put_u16(53);
                self.link.out.put_chars(self.server.config.release.version().as_bytes());
            }
            Message::Command { sql } => self.prepare(&sql, true)?,
            Message::Prepare { sql } => self.prepare(&sql, false)?,
            Message::Id(id) => self.current = usize::try_from(id).unwrap_or(usize::MAX),
            Message::Begin => self.begin(-201)?,
            Message::Commit => self.commit_by_message()?,
            Message::Rollback => self.rollback()?,
            Message::SetSavepoint(name) => self.savepoint("SAVEPOINT", &name)?,
            Message::ReleaseSavepoint(name) => self.savepoint("RELEASE", &name)?,
            Message::RollbackToSavepoint(name) => self.savepoint("ROLLBACK TO", &name)?,
            Message::FetchBlob(descriptor) => self.fetch_blob(&descriptor)?,
            Message::LobRead { descriptor, length, chunk, seek } => self.lob_read(descriptor, length, chunk, seek)?,
            Message::LobWrite { descriptor, bytes } => self.lob_write(descriptor, &bytes)?,
            Message::GetRoutine(signature) => self.get_routine(&signature)?,
            Message::CallRoutine { handle, arguments } => self.call_routine(handle, &arguments)?,
            Message::Info | Message::NDescribe | Message::WantDone | Message::BatchStart | Message::BatchEnd => {}
            message => self.statement_message(message)?,
        }
        Ok(())
    }

    fn close_database(&mut self) {
        self.statements.clear();
        self.lobs = lob::Objects::default();
        self.blobs.clear();
        self.undefine();
        self.savepoints.clear();
        self.open = None;
        self.transaction = Transaction::None;
    }

    /// The definitions of a transaction are rolled back with it.
    fn undefine(&mut self) {
        if let (Some(open), Some(before)) = (&self.open, self.before.take()) {
            open.forget_since(before);
        }
    }

    /// Definitions since the last savepoint are rolled back.
    fn undefine_since_savepoint(&mut self) -> Result<()> {
        if let Some((_, known)) = self.savepoints.last() {
            self.opened()?.forget_since(known.clone());
        }
        if self.redefined {
            self.definitions_change();
        }
        Ok(())
    }

    fn open_database(&mut self, name: &str) -> Result<()> {
        let name = name.split('@').next().unwrap_or_default().trim().to_lowercase();
        let Some(database) = self.server.database(&name) else {
            return Err(SqlError::isam(-329, -111, name));
        };
        if self.transaction != Transaction::None {
            return Err(SqlError::new(-377, ""));
        }
        self.save_objects()?;
        self.close_database();
        let channel = self.link.input.source();
        let encrypted = matches!(channel, Channel::Tls(_));
        let unwanted =
            channel.socket().try_clone().ok().map(|stream| -> Box<dyn Fn() -> bool + Send + Sync> {
                Box::new(move || is_unwanted(&stream, encrypted))
            });
        let state = Arc::new(State {
            serials: Arc::clone(&database.serials),
            sequences: std::sync::Mutex::default(),
            temporary: std::sync::Mutex::default(),
            last_serial: AtomicI64::new(0),
            rows: AtomicI64::new(0),
            clock: AtomicI64::new(now()),
            interrupted: AtomicBool::new(false),
            changing: Mutex::new(None),
            foreign_dates: self.foreign_dates,
            trace: self.link.trace.is_some(),
            session: self.number,
            user: self.user.clone(),
            server: self.server.config.server.clone(),
            database: name,
            version: self.server.config.release.version().to_owned(),
            charset: database.charset,
            cursors: std::sync::Mutex::default(),
            opened: std::sync::Mutex::default(),
            next_handle: AtomicI64::new(0),
            objects: std::sync::Mutex::default(),
            next_object: Arc::clone(&database.next_object),
            urgent: unwanted,
        });
        let internal = |error: rusqlite::Error| SqlError::new(-330, error.to_string());
        let server = Arc::clone(&self.server);
        let all = Box::new(move || server.databases());
        let open = Open::new(&database, state, self.delimited, all).map_err(internal)?;
        self.open = Some(open);
        Ok(())
    }

    /// A transaction in ANSI mode: it begins with the first statement.
    fn begin_implicitly(&mut self) {
        let ansi = self.open.as_ref().is_some_and(|open| open.database.mode == Mode::Ansi);
        if ansi && self.transaction == Transaction::None {
            self.transaction = Transaction::Open { started: false };
        }
    }

    /// A statement starts to run: from here on, its CURRENT is fixed.
    fn start_statement(&mut self) {
        self.forget_interrupt();
        if let Some(open) = &self.open {
            open.state.clock.store(now(), Ordering::Relaxed);
        }
    }

    /// An interrupt that came before a group is not meant for it.
    pub(super) fn forget_interrupt(&mut self) {
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        if let Some(open) = &self.open {
            if let Some(poll) = &open.state.urgent {
                poll();
            }
            open.state.interrupted.store(false, Ordering::Relaxed);
        }
    }
}
