//! The messages between one client and the server connection that is lent to it, without I/O.
//!
//! Rows are passed on as bytes. What changes on the way are the names of prepared statements: a client's name is its
//! own, and on the server a text has one name for all clients. A statement that the client has and the server
//! connection does not is prepared there before its first use, and its ParseComplete goes no further. What the server is
//! not asked for is put in, each reply in its place: ParseComplete and CloseComplete, and the description of a statement
//! that this server connection has described before. It is the same as long as the statement is prepared there: if a
//! change of a table gives it other columns, the server refuses to execute it.
//!
//! An error makes the server skip the rest of a group: the messages up to a Sync, or a Query. A message may rely on one of
//! its own group that was not answered yet, since it is skipped with it; where it would rely on one of an earlier group,
//! it waits for the reply.

mod deallocate;
mod expected;
mod from_client;
mod from_server;
mod group;
mod names;
mod passing_over;
mod portals;
mod preparing;
mod settings;
mod spliced;

use super::statements::{Catalog, OnServer, Statement, own};
use crate::limits::{CHECKED_FOR, KNOWN_STATEMENTS, WHOLE_MESSAGE};
use expected::{Expected, Replies};
pub use group::TRANSITIONS;
use group::{Event, Group};
use headrace_core::{ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::tag::frontend as client;
use headrace_postgres::sql::TEMPORARY_TABLE;
use names::Names;
use portals::Portals;
use settings::Settings;
pub use settings::is_settable;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a server connection has, independent of the client that it is lent to.
#[derive(Debug)]
pub struct ServerState {
    /// The prepared statements.
    pub prepared: OnServer,
    /// The settings that the server reports, and their values.
    pub parameters: BTreeMap<String, String>,
    /// Their values when the session was opened, which RESET gives them.
    pub defaults: BTreeMap<String, String>,
    /// The status of the transaction, of the last ReadyForQuery.
    pub status: TransactionStatus,
    /// The transaction has changed what texts mean.
    changed: bool,
    /// Statements that do not fit their tables any more, to be closed before anything is prepared.
    stale: Vec<u64>,
    /// The server has said that it ends the session, when no client had asked for anything.
    ends: bool,
    /// What the session has that DISCARD ALL does not undo.
    spoiled: Option<&'static str>,
}

impl ServerState {
    /// Of a session that was just opened.
    pub fn new(parameters: BTreeMap<String, String>, statements: usize) -> Self {
        Self {
            prepared: OnServer::new(statements),
            defaults: parameters.clone(),
            parameters,
            status: TransactionStatus::Idle,
            changed: false,
            stale: Vec::new(),
            ends: false,
            spoiled: None,
        }
    }

    /// Returns true if the session can be another client's after DISCARD ALL.
    pub fn can_be_lent_again(&self) -> bool {
        !self.ends && self.spoiled.is_none()
    }
}

/// Why a client's message is not passed on.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The client is not speaking the protocol.
    Malformed(String),
    /// A message is larger than the daemon keeps in memory.
    TooLarge(String),
    /// A transaction begins where the server connection goes back after each statement.
    Transaction,
    /// What was to begin a transaction was cancelled while it waited for a server connection.
    CancelledBegin,
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
    names: Names,
    portals: Portals,
    /// The statements that this client has closed. One that it prepares again is to be parsed by the server: a table may
    /// have changed since, and to prepare its statements again is what a client can do about it.
    closed: HashSet<u64>,
    expected: Replies,
    group: Group,
    /// The statement for the text of the Parse that is next.
    found: Option<Arc<Statement>>,
    /// How long a statement that others have prepared is taken to fit the tables without asking.
    pub checked_for: Duration,
    /// Statements whose Parse or Close was not answered, the group of the last one, and how many there are.
    altered: HashMap<u64, (u64, usize)>,
    /// The server has sent an error with which the session ends.
    told_why: bool,
    /// Portals of statements after whose execution nothing is passed on before that was answered.
    awaited: Vec<(Vec<u8>, Arc<Statement>)>,
    /// What was passed on changes what the messages after it mean, so they wait for its reply.
    waits_for_effects: bool,
    /// The client's name of the statement that a DEALLOCATE is about which was passed on.
    deallocating: Option<Vec<u8>>,
    /// What was passed on makes objects to which names in other texts may refer.
    creates: bool,
    /// The server was asked to send what it has, since [`REPLIES`](crate::limits::REPLIES) are to come.
    hurried: bool,
    /// ParameterDescription of the statement that is being described.
    described: Vec<u8>,
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
    /// The settings that the server reports.
    settings: Settings,
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
    /// The server connection is this client's until either leaves: the end of its session is the client's to know.
    pub keeps_server: bool,
}

impl Relay {
    /// A client that has just been welcomed with these settings.
    pub fn new(catalog: Arc<Catalog>, parameters: BTreeMap<String, String>) -> Self {
        let settings = Settings::new(parameters);
        Self {
            catalog,
            names: Names::default(),
            portals: Portals::default(),
            closed: HashSet::new(),
            expected: Replies::default(),
            group: Group::default(),
            found: None,
            checked_for: CHECKED_FOR,
            altered: HashMap::new(),
            told_why: false,
            awaited: Vec::new(),
            waits_for_effects: false,
            deallocating: None,
            creates: false,
            hurried: false,
            described: Vec::new(),
            copies_in: false,
            skipped: 0,
            to_server: 0,
            to_client: 0,
            pinned: settings.name_temporary_schema().then_some(TEMPORARY_TABLE),
            settings,
            prepared_again: 0,
            spared: 0,
            prepared: 0,
            received: 0,
            errors: Vec::new(),
            requests: 0,
            refuses_transactions: false,
            gives_way: false,
            waits_for_replies: false,
            keeps_server: false,
        }
    }

    /// Returns true if nothing more is read from the client's messages before the server has answered.
    pub fn is_waiting_for_replies(&self) -> bool {
        self.waits_for_replies
    }

    /// Returns true if a server connection is needed for what the client has sent. It is not for a part of a header, nor
    /// for a part of a Query, which [`Relay::from_client`] would leave where it is.
    pub fn needs_server(&self, input: &mut ReadBuffer) -> bool {
        if self.group.is_skipped() || self.skipped > 0 {
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

    /// The client has closed a statement.
    fn closes(&mut self, id: u64) {
        // Who closes more than that is not helped by remembering more.
        if self.closed.len() >= KNOWN_STATEMENTS {
            self.closed.clear();
        }
        self.closed.insert(id);
    }

    /// A reply to a message of a group is to come.
    fn expect(&mut self, expected: Expected) {
        if !expected.is_put_in() {
            self.group.go(Event::Sent);
        }
        self.expected.push(expected);
    }

    /// A group is complete: the reply to its last message is to come.
    fn end_group(&mut self, event: Event, expected: Expected) {
        self.group.go(event);
        self.expected.push(expected);
    }

    /// A Parse or Close of a statement is sent.
    fn alters(&mut self, id: u64) {
        let entry = self.altered.entry(id).or_insert((0, 0));
        *entry = (self.group.number(), entry.1 + 1);
    }

    /// It was answered or skipped.
    fn altered(&mut self, id: u64) {
        if let Some((_, count)) = self.altered.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.altered.remove(&id);
            }
        }
    }

    /// Returns true if whether the server has a statement depends on a message of an earlier group that was not answered.
    fn is_uncertain(&self, id: u64) -> bool {
        self.altered.get(&id).is_some_and(|(group, _)| *group < self.group.number())
    }

    /// The statement for a text that is parsed now.
    fn statement(&self, body: &[u8]) -> Arc<Statement> {
        match self.shared_settings() {
            Some(settings) => self.catalog.shared(settings, body, Instant::now()),
            None => own(body),
        }
    }

    /// The settings under which what is parsed now may be others', too; `None` if they are not known, or the session has
    /// something that is this client's alone.
    fn shared_settings(&self) -> Option<&Arc<str>> {
        self.settings.certain().filter(|_| self.pinned.is_none())
    }

    /// Returns true if every request was answered, and none has begun.
    pub fn owes_nothing(&self) -> bool {
        self.expected.is_empty()
            && self.group.is_complete()
            && self.to_server == 0
            && self.skipped == 0
            && self.to_client == 0
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

    /// Returns true if the server has said why it ends the session, and the client has it.
    pub fn has_told_why(&self) -> bool {
        self.told_why
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
