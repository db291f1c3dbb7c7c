//! The messages between one client and the server connection that is lent to it, without I/O.
//!
//! Rows are passed on as bytes. What changes on the way are the names of prepared statements: a client's name is its
//! own, and on the server a text has one name for all clients. A statement that the client has and the server
//! connection does not is prepared there before its first use, and its ParseComplete goes no further. What the server is
//! not asked for is put in, each reply in its place: ParseComplete and CloseComplete, and the description of a statement
//! that this server connection has described before. It is the same as long as the statement is prepared there: if a
//! change of a table gives it other columns, the server refuses to execute it.

mod deallocate;
mod from_client;
mod from_server;
mod passing_over;

use super::server::is_settable;
use super::statements::{Catalog, OnServer, Statement};
use crate::limits::{KNOWN_STATEMENTS, WHOLE_MESSAGE};
use headrace_core::{ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::frontend as client;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// What a server connection has, independent of the client that it is lent to.
#[derive(Debug)]
pub struct ServerState {
    /// The prepared statements.
    pub prepared: OnServer,
    /// The settings that the server reports, and their values.
    pub parameters: BTreeMap<String, String>,
    /// The status of the transaction, of the last ReadyForQuery.
    pub status: TransactionStatus,
    /// The transaction has changed what texts mean.
    changed: bool,
    /// Statements that do not fit their tables any more, to be closed before anything is prepared.
    stale: Vec<Arc<Statement>>,
}

impl ServerState {
    /// Of a session that was just opened.
    pub fn new(parameters: BTreeMap<String, String>, statements: usize) -> Self {
        Self {
            prepared: OnServer::new(statements),
            parameters,
            status: TransactionStatus::Idle,
            changed: false,
            stale: Vec::new(),
        }
    }

    /// The SQL that gives the session the settings of a client, where they differ.
    pub fn adaptation(&self, wanted: &BTreeMap<String, String>) -> Option<String> {
        let mut sql = String::new();
        for (name, value) in wanted {
            if !is_settable(name) || self.parameters.get(name).is_none_or(|own| own == value) {
                continue;
            }
            // In this form a backslash means the same whatever standard_conforming_strings is.
            let value = value.replace('\\', "\\\\").replace('\'', "''");
            // SET would take the whole list for one name.
            sql.push_str(&match name.eq_ignore_ascii_case("search_path") {
                true => format!("SELECT pg_catalog.set_config('search_path', E'{value}', false);"),
                false => format!("SET SESSION {name} TO E'{value}';"),
            });
        }
        (!sql.is_empty()).then_some(sql)
    }
}

/// A reply that the server owes, or one that is put in among them.
#[derive(Debug)]
enum Expected {
    /// ParseComplete. `shown` is false if the client has not sent this Parse.
    Parse { statement: Option<Arc<Statement>>, shown: bool, undo: Option<Undo> },
    /// BindComplete.
    Bind(Option<Arc<Statement>>),
    /// RowDescription or NoData, after ParameterDescription if it is a statement's.
    Describe(Option<Arc<Statement>>),
    /// CommandComplete, EmptyQueryResponse or PortalSuspended.
    Execute,
    /// CloseComplete, shown or of a statement that makes room.
    Close(Option<Arc<Statement>>),
    /// A message that the daemon puts in.
    Made(u8, Option<Undo>),
    /// What the server has said before of a statement that it has prepared.
    Known(Arc<[u8]>),
    /// ReadyForQuery after a Sync that the server does not have to see.
    Ready,
    /// ReadyForQuery after Sync.
    Sync,
    /// ReadyForQuery after Query or FunctionCall.
    Query,
    /// None: the client has ended a COPY here.
    CopyEnd,
    /// All that comes up to ReadyForQuery is the daemon's own affair.
    Own,
}

impl Expected {
    /// Returns true if the server sends nothing for it.
    fn is_own(&self) -> bool {
        matches!(self, Self::Made(..) | Self::Known(_) | Self::Ready | Self::CopyEnd)
    }
}

/// What a client's name meant before a message that the server then did not execute.
type Undo = (Vec<u8>, Option<Arc<Statement>>);

/// Why a client's message is not passed on.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The client is not speaking the protocol.
    Malformed(String),
    /// A message is larger than the daemon keeps in memory.
    TooLarge(String),
    /// A transaction begins where the server connection goes back after each statement.
    Transaction,
}

/// What is left after the messages of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// More bytes are needed, or room to send.
    Wait,
    /// The client has said goodbye.
    Terminate,
}

/// One client's side.
#[derive(Debug)]
pub struct Relay {
    catalog: Arc<Catalog>,
    names: HashMap<Vec<u8>, Arc<Statement>>,
    /// The statements that this client has closed. One that it prepares again is to be parsed by the server: a table may
    /// have changed since, and to prepare its statements again is what a client can do about it.
    closed: HashSet<u64>,
    expected: VecDeque<Expected>,
    /// The client has sent messages of the extended protocol, and no Sync after them.
    unsynced: bool,
    /// The client has sent Flush, and no Sync after it: it may wait for each reply by itself.
    flushed: bool,
    /// Position in the stream to the server after the last message that it answers with ReadyForQuery.
    synced: u64,
    /// ParameterDescription of the statement that is being described.
    described: Vec<u8>,
    /// An error makes the server skip what comes before the client's next Sync, so it need not be sent.
    skipping: bool,
    /// The server waits for the data of a COPY of the extended protocol, and ignores Sync.
    copies_in: bool,
    /// Bytes of the client's message that is skipped.
    skipped: usize,
    /// Bytes of the client's message that is passed on piece by piece.
    to_server: usize,
    /// The same of the server's.
    to_client: usize,
    /// Why the server connection has to stay with this client.
    pinned: Option<&'static str>,
    /// The settings that the server reports, as this client has them.
    pub parameters: BTreeMap<String, String>,
    /// Statements that were prepared on a server connection because the client had them from another.
    pub prepared_again: u64,
    /// Parse messages that the server did not have to see.
    pub spared: u64,
    /// Those that it has seen.
    pub prepared: u64,
    /// Bytes received from servers.
    pub received: u64,
    /// SQLSTATEs of errors.
    pub errors: Vec<String>,
    /// Requests since the server connection was lent.
    pub requests: usize,
    /// A text that begins a transaction is refused.
    pub refuses_transactions: bool,
    /// After a request outside of a transaction nothing is passed on until it was answered, so that the server
    /// connection can be lent to somebody else.
    pub gives_way: bool,
    waits_for_replies: bool,
}

impl Relay {
    /// A client that has just been welcomed with these settings.
    pub fn new(catalog: Arc<Catalog>, parameters: BTreeMap<String, String>) -> Self {
        Self {
            catalog,
            names: HashMap::new(),
            closed: HashSet::new(),
            expected: VecDeque::new(),
            unsynced: false,
            flushed: false,
            synced: 0,
            described: Vec::new(),
            skipping: false,
            copies_in: false,
            skipped: 0,
            to_server: 0,
            to_client: 0,
            pinned: None,
            parameters,
            prepared_again: 0,
            spared: 0,
            prepared: 0,
            received: 0,
            errors: Vec::new(),
            requests: 0,
            refuses_transactions: false,
            gives_way: false,
            waits_for_replies: false,
        }
    }

    /// Gives the server connection that was just lent this client's settings, ahead of the client's own messages.
    pub fn adapt(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        self.flushed = false;
        if let Some(sql) = server.adaptation(&self.parameters) {
            frontend::query(output.tail(), "", &sql);
            self.expected.push_back(Expected::Own);
        }
        self.synced = output.mark();
    }

    /// Returns true if the server connection has not been given this client's settings yet.
    pub fn adapts(&self) -> bool {
        self.expected.iter().any(|expected| matches!(expected, Expected::Own))
    }

    /// Returns true if nothing more is read from the client's messages before the server has answered.
    pub fn is_waiting_for_replies(&self) -> bool {
        self.waits_for_replies
    }

    /// Returns true if a server connection is needed for what the client has sent. It is not for a part of a header, nor
    /// for a part of a Query, which [`Relay::from_client`] would leave where it is.
    pub fn needs_server(&self, input: &mut ReadBuffer) -> bool {
        if self.skipping || self.skipped > 0 {
            // A cancelled request is not complete yet.
            return false;
        }
        if self.to_server > 0 {
            return true;
        }
        match client_header(input.unread()) {
            Ok(None | Some((client::TERMINATE, _))) => false,
            Ok(Some((client::QUERY, length))) if input.unread().len() < length && length <= WHOLE_MESSAGE => {
                input.want(length);
                false
            }
            // What is refused is refused by `from_client`.
            Ok(Some(_)) | Err(_) => true,
        }
    }

    /// Returns true if the client has said goodbye, while it has no server connection.
    pub fn says_goodbye(&self, input: &ReadBuffer) -> bool {
        self.to_server == 0 && input.unread().first() == Some(&client::TERMINATE)
    }

    /// Returns true if the server owes nothing, so that the connection can be lent to another client.
    pub fn is_settled(&self, server: &ServerState) -> bool {
        self.owes_nothing() && server.status == TransactionStatus::Idle && self.pinned.is_none()
    }

    /// Forgets what the client calls by this name, which it has closed.
    fn close(&mut self, name: &[u8]) -> Option<Arc<Statement>> {
        let statement = self.names.remove(name)?;
        // Who closes more than that is not helped by remembering more.
        if self.closed.len() >= KNOWN_STATEMENTS {
            self.closed.clear();
        }
        self.closed.insert(statement.id());
        Some(statement)
    }

    /// Returns true if every request was answered, and none has begun.
    pub fn owes_nothing(&self) -> bool {
        self.expected.is_empty() && !self.unsynced && self.to_server == 0 && self.skipped == 0 && self.to_client == 0
    }

    /// The number of replies that are to come.
    pub fn in_flight(&self) -> usize {
        self.expected.len()
    }

    /// Returns true if every request was answered, whether or not more have begun.
    pub fn has_all_replies(&self) -> bool {
        self.expected.is_empty() && self.to_client == 0
    }

    /// Returns true if a part of a message was passed on to the client: what is sent next would be taken for its rest.
    pub fn is_within_message(&self) -> bool {
        self.to_client > 0
    }

    /// Why the server connection stays with this client until it leaves.
    pub fn pinned(&self) -> Option<&'static str> {
        self.pinned
    }
}

/// Passes bytes of one message on; returns false if more have to be received first.
fn pass(input: &mut ReadBuffer, output: &mut WriteBuffer, left: &mut usize) -> bool {
    let there = input.unread();
    if there.is_empty() {
        return false;
    }
    let n = there.len().min(*left);
    output.tail().extend_from_slice(&there[..n]);
    input.consume(n);
    *left -= n;
    true
}

fn client_header(bytes: &[u8]) -> Result<Option<(u8, usize)>, Refused> {
    let [tag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=headrace_core::limits::MESSAGE_BYTES).contains(&length) {
        return Err(Refused::Malformed(format!("a message has the impossible length {length}")));
    }
    Ok(Some((tag, length + 1)))
}
