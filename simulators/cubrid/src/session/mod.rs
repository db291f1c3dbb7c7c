//! One connection: a CAS with its client.

mod alter;
mod batches;
mod define;
mod execute;
mod failures;
mod lob;
mod referring;
mod replies;
mod requests;
mod restart;
mod schema;
mod show;
mod transactions;

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use headrace_simulator_common::channel::Channel;
use headrace_simulator_common::faults::Faults;
use headrace_simulator_common::lock;
use rusqlite::Connection;
use rusqlite::hooks::Action as Change;

use crate::engine::{self, Kept, State};
use crate::errors::{Error, Origin, cas};
use crate::limits::{REQUEST, STEPS_PER_LOOK};
use crate::server::{Server, until_nul};
use crate::sql::ast::{Statement, Table};
use crate::sql::{Compiled, ResultColumn};
use crate::types::code;
use crate::wire::Output;

/// The version that the server reports.
pub const VERSION: &str = "11.3.2.0";
/// The protocol of that version, and the newest.
pub const PROTOCOL: u8 = 12;

/// What the hello says of a client.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The version of the protocol that it speaks.
    pub version: u8,
    /// Its flags.
    pub flags: u8,
}

/// A result that is held until it is closed.
struct Held {
    columns: Vec<ResultColumn>,
    kind: i8,
    rows: Vec<Vec<u8>>,
    /// True if it is committed with its last row.
    commits: bool,
    /// The row after the last one that was sent, from 1.
    next: usize,
}

impl Held {
    /// The bytes that its rows have in the server's own files, where numbers and times have other sizes than in a reply,
    /// and an ENUM has no label.
    fn own_bytes(&self) -> usize {
        self.rows.iter().map(|row| OWN_HEADER + self.columns.iter().fold((0, &row[..]), own_cell).0).sum()
    }
}

/// The bytes of the header of a row, and of that of a value, in the server's own files.
const OWN_HEADER: usize = 8;

/// Adds the bytes of the next value of a row that is encoded as in a reply.
fn own_cell<'a>((bytes, row): (usize, &'a [u8]), column: &ResultColumn) -> (usize, &'a [u8]) {
    let Some((size, rest)) = row.split_first_chunk() else { return (bytes, row) };
    let size = usize::try_from(i32::from_be_bytes(*size)).unwrap_or(0);
    let own = match column.ty.code {
        _ if size == 0 => 0,
        _ if column.ty.collection != 0 => size,
        code::INT | code::SHORT | code::FLOAT | code::ENUM | code::DATE | code::TIME | code::TIMESTAMP => 4,
        code::BIGINT | code::DOUBLE | code::DATETIME => 8,
        code::NUMERIC | code::DATETIMETZ | code::DATETIMELTZ => 16,
        code::TIMESTAMPTZ | code::TIMESTAMPLTZ => 8,
        _ => size,
    };
    (bytes + OWN_HEADER + own.next_multiple_of(8), rest.get(size..).unwrap_or_default())
}

/// A statement of a text.
struct Part {
    statement: Statement,
    compiled: Compiled,
    generation: u64,
}

/// A prepared text.
struct Handle {
    text: String,
    holdable: bool,
    parts: Vec<Part>,
    markers: usize,
    /// The results of the last execution; the current one is the first.
    results: std::collections::VecDeque<Executed>,
    /// True if the result is one of SCHEMA_INFO.
    schema: bool,
    /// The rows of the last INSERT with generated keys: table and numbers.
    generated: Option<(String, Vec<i64>)>,
    /// True if it has to be prepared again for ever.
    stale: bool,
}

/// One result of an execution.
struct Executed {
    kind: i8,
    count: i32,
    held: Option<Held>,
    closed: bool,
}

/// What a request leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The status as the request set it.
    Status,
    /// The status as it was before.
    Restore,
    /// The connection closes.
    Close,
}

/// Hooks that SQL has set.
#[derive(Debug, Default)]
struct Hooks {
    faults: Option<Faults>,
    release: bool,
    /// The number of executions that are answered with -10024; for ever below 0.
    again: i64,
    deadlock: bool,
    /// Replies tell that no transaction is open.
    idle: bool,
}

/// The tables that were looked up since the definitions last changed.
type Known = (u64, HashMap<String, Option<Arc<Table>>>);

/// A connection.
pub struct CasSession {
    server: Arc<Server>,
    channel: Channel,
    client: Client,
    place: usize,
    login: Option<Error>,
    link: restart::Link,
    /// The connection ends behind the reply.
    ends: bool,
    number: i32,
    zone: String,
    open: bool,
    faults: Faults,
    hooks: Hooks,
    handles: Vec<Option<Handle>>,
    savepoints: Vec<String>,
    isolation: i32,
    lock_timeout: i32,
    redefined: bool,
    known: std::cell::RefCell<Known>,
    kept: Arc<Mutex<Kept>>,
    state: Arc<State>,
    connection: Connection,
}

impl CasSession {
    /// Takes a client with its database information.
    ///
    /// # Errors
    /// SQLite's.
    pub fn new(
        server: Arc<Server>,
        channel: Channel,
        client: Client,
        place: usize,
        information: &[u8],
    ) -> io::Result<Self> {
        let name = until_nul(&information[..32]);
        let user = server.config.charset.decode(until_nul(&information[32..64]).as_bytes()).to_lowercase();
        let user = if user.is_empty() { "public".to_owned() } else { user };
        let password = until_nul(&information[64..96]);
        let database = name.split('@').next().unwrap_or_default();
        let config = &server.config;
        let login = if database != config.database {
            let hosts = "Failed to connect to database server, ";
            Some(Error::server(-677, format!("{hosts}'{database}', on the following host(s): localhost:localhost")))
        } else if user != config.user && user != "public" {
            Some(Error::server(-165, format!("User \"{user}\" is invalid.")))
        } else if user == config.user && password != config.password {
            Some(Error::server(-171, "Incorrect or missing password."))
        } else {
            None
        };
        let wanted = i32::from_be_bytes([information[616], information[617], information[618], information[619]]);
        let mut sessions = lock(&server.database.sessions);
        let (number, kept) = match sessions.get(&wanted) {
            Some(kept) if wanted != 0 => (wanted, Arc::clone(kept)),
            _ => (server.next_session(), Arc::default()),
        };
        sessions.insert(number, Arc::clone(&kept));
        drop(sessions);
        let state = Arc::new(State {
            user: user.to_uppercase(),
            database: config.database.clone(),
            charset: config.charset,
            kept: Arc::clone(&kept),
            numbers: Arc::clone(&server.database.numbers),
            generated: Mutex::default(),
            inserted: AtomicI64::new(0),
            updated: AtomicI64::new(0),
            cancelled: server.broker.cancelled(place),
            deadline: Mutex::default(),
            lobs: Arc::clone(&server.database.lobs),
            own_lobs: Mutex::default(),
        });
        let connection = server.database.connect().map_err(io::Error::other)?;
        engine::register(&connection, &state).map_err(io::Error::other)?;
        let watched = Arc::clone(&state);
        connection.progress_handler(STEPS_PER_LOOK, Some(move || watched.must_end())).map_err(io::Error::other)?;
        let counted = Arc::clone(&state);
        connection
            .update_hook(Some(move |change: Change, _: &str, _: &str, _: i64| {
                match change {
                    Change::SQLITE_INSERT => counted.inserted.fetch_add(1, Ordering::Relaxed),
                    Change::SQLITE_UPDATE => counted.updated.fetch_add(1, Ordering::Relaxed),
                    _ => 0,
                };
            }))
            .map_err(io::Error::other)?;
        Ok(Self {
            zone: config.zone.clone(),
            faults: Faults::default(),
            server: Arc::clone(&server),
            channel,
            client,
            place,
            login,
            link: restart::Link::Open(server.starts.load(Ordering::Relaxed)),
            ends: false,
            number,
            open: false,
            hooks: Hooks::default(),
            handles: Vec::new(),
            savepoints: Vec::new(),
            isolation: 4,
            lock_timeout: -1,
            redefined: false,
            known: std::cell::RefCell::default(),
            kept,
            state,
            connection,
        })
    }

    /// The version that both sides speak.
    fn version(&self) -> u8 {
        self.client.version.min(self.server.config.protocol)
    }

    /// Serves the connection to its end.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn run(mut self) -> io::Result<()> {
        let done = self.serve();
        if !self.connection.is_autocommit() {
            // The client has gone: nobody is there to hear of an error.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.drop_lobs();
        if self.redefined {
            self.server.database.generation.fetch_add(1, Ordering::Relaxed);
        }
        // A CAS that was taken away leaves its session to the client, which may come back for it.
        let taken = matches!(&done, Ok(true));
        if !taken {
            lock(&self.server.database.sessions).remove(&self.number);
        }
        done.map(|_| ())
    }

    /// True if the CAS was taken away.
    fn serve(&mut self) -> io::Result<bool> {
        let mut body = Vec::new();
        if let Some(error) = self.login.take() {
            self.put_error(&mut body, &error);
            self.send(body, [0, 0xff, 0xff, 0xff])?;
            return Ok(false);
        }
        self.put_connected(&mut body);
        self.send(body, [1, 0xff, 0xff, 0xff])?;
        self.faults = self.server.config.faults;
        // Until the client ends the transaction that a CAS begins with, no other one gets it.
        self.open = true;
        self.server.broker.end(self.place, false);
        let mut header = [0u8; 8];
        loop {
            match self.channel.read_exact(&mut header) {
                Ok(()) => {}
                Err(_) if !self.server.broker.begin(self.place) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
            if !self.server.broker.begin(self.place) || std::mem::take(&mut self.hooks.release) {
                return Ok(true);
            }
            let length = i32::from_be_bytes([header[0], header[1], header[2], header[3]]);
            let length = usize::try_from(length).ok().filter(|length| *length <= REQUEST);
            let mut payload = vec![0u8; length.unwrap_or(0)];
            self.channel.read_exact(&mut payload)?;
            if !self.answer(&payload)? {
                return Ok(false);
            }
            let held = self.handles.iter().flatten().any(|handle| {
                handle.holdable && handle.results.iter().any(|result| result.held.is_some() && !result.closed)
            });
            self.server.broker.end(self.place, !self.open && !held);
        }
    }

    /// Answers one request; false if the connection closes.
    fn answer(&mut self, payload: &[u8]) -> io::Result<bool> {
        let before = self.open;
        let mut body = Vec::new();
        let done = self.handle(payload, &mut body);
        let mut go_on = true;
        match done {
            Ok(After::Status) => {}
            Ok(After::Restore) => self.open = before,
            Ok(After::Close) => go_on = false,
            Err(error) if error.code == cas::COMMUNICATION && error.origin == Origin::Cas => {
                body.clear();
                body.put_i32(-1);
                body.put_i32(self.renumbered(&error));
                self.open = false;
                go_on = false;
            }
            Err(error) => {
                body.clear();
                self.put_error(&mut body, &error);
            }
        }
        let status = u8::from(self.open && !self.hooks.idle);
        self.send(body, [status, 0xff, 0xff, 0xfb])?;
        if let Some(faults) = self.hooks.faults.take() {
            self.faults = faults;
        }
        Ok(go_on && !self.ends)
    }

    fn send(&mut self, body: Vec<u8>, info: [u8; 4]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(body.len() + 8);
        frame.put_i32(body.len() as i32);
        frame.extend(info);
        frame.extend(body);
        if self.server.config.trace {
            let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("{} < {hex}", self.number);
        }
        self.faults.send(&mut self.channel, &mut frame)
    }

    fn put_connected(&self, body: &mut Vec<u8>) {
        body.put_i32(self.server.broker.pid(self.place));
        body.extend([1, 1, 1, 0, 0x40 + self.server.config.protocol, 0xc0, 0, 0]);
        let version = self.version();
        if version >= 4 {
            body.put_i32(self.place as i32 + 1);
        }
        if version < 3 {
            body.put_i32(self.number);
            return;
        }
        body.extend([0xf0, 0xb0, 0, 0x6b, 0x7f, 0, 0, 1]);
        body.put_i32(self.number);
        body.put_zeros(8);
    }

    /// The code as the client understands it.
    fn renumbered(&self, error: &Error) -> i32 {
        match error.origin {
            Origin::Cas if self.client.flags & 0x80 == 0 => error.code + 9000,
            _ => error.code,
        }
    }

    fn put_error(&self, body: &mut Vec<u8>, error: &Error) {
        body.put_i32(if error.origin == Origin::Cas { -1 } else { -2 });
        body.put_i32(self.renumbered(error));
        body.extend(self.server.config.charset.encode(&error.text));
        body.push(0);
    }

    /// An error within the reply to a batch.
    fn put_item_error(&self, body: &mut Vec<u8>, error: &Error) {
        if self.version() > 2 {
            body.put_i32(if error.origin == Origin::Cas { -1 } else { -2 });
        }
        body.put_i32(self.renumbered(error));
        body.put_text(&self.server.config.charset.encode(&error.text));
    }

    fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.state.cancelled)
    }
}
