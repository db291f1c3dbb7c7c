//! The messages between one client and the server connection that is lent to it, without I/O.
//!
//! Rows are passed on as bytes. What changes on the way are the names of prepared statements: a client's name is its
//! own, and on the server a text has one name for all clients. A statement that the client has and the server
//! connection does not is prepared there before its first use, and its ParseComplete goes no further. What the server is
//! not asked for is put in, each reply in its place: ParseComplete and CloseComplete, and the description of a statement
//! that this server connection has described before. It is the same as long as the statement is prepared there: if a
//! change of a table gives it other columns, the server refuses to execute it.
//!
//! An error makes the server skip the rest of a group: the messages up to a Sync, or a Query. A message may rely on one
//! of its own group that was not answered yet, since it is skipped with it; where it would rely on one of an earlier
//! group, it waits for the reply.

mod answered;
mod attempt;
mod borrowing;
mod client;
mod comparing;
mod deallocate;
mod declared;
mod expected;
mod framing;
mod from_client;
mod from_server;
mod group;
mod in_flight;
mod names;
mod partial;
mod passing_over;
mod pins;
mod plans;
mod portals;
mod preparing;
mod restoring;
mod server_state;
mod settings;
mod spliced;
mod waiting;

use super::statements::{Catalog, PreparedStatement, own};
use attempt::Attempt;
pub use attempt::TRANSITIONS as ATTEMPT_TRANSITIONS;
use borrowing::{Need, need};
use client::Client;
use expected::Expected;
pub use framing::ends_in_terminate;
pub use group::TRANSITIONS;
use group::{Group, GroupEvent};
use headrace_core::ReadBuffer;
use headrace_postgres::messages::tag::frontend;
use headrace_postgres::sql::copies_rows;
use in_flight::InFlight;
use partial::Partial;
use plans::PlansInDoubt;
pub use plans::{Plans, TRANSITIONS as PLANS_TRANSITIONS};
pub use server_state::ServerState;
pub use settings::{TRANSITIONS as SETTINGS_TRANSITIONS, is_settable};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

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
pub enum RelayStep {
    /// More bytes are needed, or room to send.
    Wait,
    /// The client has sent Terminate.
    Terminate,
}

/// What is counted of a client while a server connection is lent to it.
#[derive(Debug, Default)]
pub struct Counters {
    /// Statements that were prepared on a server connection because the client had them from another.
    pub prepared_again: u64,
    /// Parse messages that the server did not have to see.
    pub spared: u64,
    /// Those that it has seen.
    pub prepared: u64,
    /// Bind messages that were passed on.
    pub bound: u64,
    /// Times that the server has reported that no transaction is open.
    pub transactions: u64,
    /// Bytes received from servers.
    pub received: u64,
    /// SQLSTATEs of errors.
    pub errors: Vec<String>,
}

/// One client, and the server connection that it is lent.
#[derive(Debug)]
pub struct Relay {
    catalog: Arc<Catalog>,
    client: Client,
    group: Group,
    in_flight: InFlight,
    /// The message of the client that is not handled as a whole.
    to_server: Partial,
    /// The same of the server.
    to_client: Partial,
    /// The statement for the text of the Parse that is next.
    found: Option<Arc<PreparedStatement>>,
    /// The statement that the server has just found to fit the tables, for the Parse that is next.
    validated: Option<Arc<PreparedStatement>>,
    attempt: Attempt,
    /// Whether the plans of the session are the client's.
    plans: PlansInDoubt,
    waits_for_replies: bool,
    /// What has happened since it was taken last.
    pub counters: Counters,
    /// Counts the statements that the client has prepared, unnamed ones too.
    pub parsed: u64,
    /// Requests since the server connection was lent.
    pub requests: usize,
    /// Counts the messages of the client that are handled, if only in part.
    pub messages: u64,
    /// A text that begins a transaction is refused.
    pub refuses_transactions: bool,
    /// After a request outside of a transaction nothing is passed on until it was answered, so that the server
    /// connection can be lent to somebody else.
    pub gives_way: bool,
    /// The server connection is this client's until either leaves: the end of its session is reported to the client.
    pub keeps_server: bool,
    /// The server is a standby that was chosen for a transaction: what comes after that may have to be executed
    /// elsewhere, and waits until it has ended.
    pub is_on_standby: bool,
    /// The server has sent an error with which the session ends.
    sent_fatal_error: bool,
}

impl Relay {
    /// A client that has just received its startup replies, with these settings.
    pub fn new(catalog: Arc<Catalog>, parameters: impl Into<Arc<BTreeMap<String, String>>>) -> Self {
        Self {
            catalog,
            client: Client::new(parameters.into()),
            group: Group::default(),
            in_flight: InFlight::default(),
            to_server: Partial::None,
            to_client: Partial::None,
            found: None,
            validated: None,
            attempt: Attempt::default(),
            plans: PlansInDoubt::default(),
            waits_for_replies: false,
            counters: Counters::default(),
            parsed: 0,
            requests: 0,
            messages: 0,
            refuses_transactions: false,
            gives_way: false,
            keeps_server: false,
            is_on_standby: false,
            sent_fatal_error: false,
        }
    }

    /// Returns true if nothing more is read from the client's messages before the server has answered.
    pub fn is_waiting_for_replies(&self) -> bool {
        self.waits_for_replies
    }

    /// Returns true if a server connection is needed for what the client has sent: a whole group of messages, or so much
    /// of one that the rest is not waited for.
    pub fn needs_server(&self, input: &mut ReadBuffer) -> bool {
        if self.group.is_skipped() {
            // A cancelled request is not complete yet.
            return false;
        }
        match self.to_server {
            Partial::Skip(_) => return false,
            Partial::PassOn(_) => return true,
            Partial::None => {}
        }
        let is_copy = |name: &[u8]| self.client.names.get(name).is_some_and(|statement| copies_rows(&statement.text()));
        match need(input.unread(), is_copy) {
            Need::Server => true,
            Need::Bytes(total) => {
                total.into_iter().for_each(|total| input.want(total));
                false
            }
        }
    }

    /// Returns true if the client has sent a part of a message, and is to send the rest.
    pub fn is_receiving(&self, input: &ReadBuffer) -> bool {
        !self.waits_for_replies && (!self.to_server.is_none() || borrowing::is_cut(input.unread()))
    }

    /// Returns true if the client has sent Terminate, while it has no server connection.
    pub fn begins_with_terminate(&self, input: &ReadBuffer) -> bool {
        self.to_server.is_none() && input.unread().first() == Some(&frontend::TERMINATE)
    }

    /// Returns true if all that the client will ever send was received: it is gone, and this ends in its Terminate.
    pub fn ends_in_terminate(&self, input: &ReadBuffer) -> bool {
        input.unread().get(self.to_server.left()..).is_some_and(ends_in_terminate)
    }

    /// Returns true if the server owes nothing, so that the connection can be lent to another client.
    pub fn is_settled(&self, server: &ServerState) -> bool {
        self.owes_nothing() && server.is_idle() && self.client.pinned.is_none()
    }

    /// A reply to a message of a group is to come.
    fn expect(&mut self, expected: Expected) {
        if !expected.is_put_in() {
            self.group.go(GroupEvent::Sent);
        }
        self.in_flight.replies.push(expected);
    }

    /// A group is complete: the reply to its last message is to come.
    fn end_group(&mut self, event: GroupEvent, expected: Expected) {
        self.group.go(event);
        self.in_flight.replies.push(expected);
    }

    /// A Parse or Close of a statement is sent.
    fn alters(&mut self, id: u64) {
        self.in_flight.alters(id, self.group.number());
    }

    /// Returns true if whether the server has a statement depends on a message of an earlier group that was not answered.
    fn is_uncertain(&self, id: u64) -> bool {
        self.in_flight.is_uncertain(id, self.group.number())
    }

    /// The statement for a text that is parsed now.
    fn statement(&self, body: &[u8]) -> Arc<PreparedStatement> {
        match self.client.shared_settings() {
            Some(settings) => self.catalog.shared(settings, body, Instant::now()),
            None => own(body),
        }
    }

    /// Its client has no server connection any more, and nothing is under way.
    pub fn rests(&mut self) {
        self.in_flight.give_memory_back();
    }

    /// Returns true if every request was answered, and none has begun.
    pub fn owes_nothing(&self) -> bool {
        self.in_flight.replies.is_empty()
            && self.group.is_complete()
            && self.to_server.is_none()
            && self.to_client.is_none()
            && self.attempt.is_nothing()
    }

    /// The number of replies that are to come.
    pub fn in_flight(&self) -> usize {
        self.in_flight.replies.len()
    }

    /// Returns true if every request was answered, whether or not more have begun.
    pub fn has_all_replies(&self) -> bool {
        self.in_flight.replies.is_empty() && self.to_client.is_none()
    }

    /// Returns true if a part of a message was passed on to the client: what is sent next would be taken for its rest.
    pub fn is_within_message(&self) -> bool {
        !self.to_client.is_none()
    }

    /// Returns true if the server has sent the client an error with which the session ends.
    pub fn has_sent_fatal_error(&self) -> bool {
        self.sent_fatal_error
    }

    /// Why the server connection stays with this client until it leaves.
    pub fn pinned(&self) -> Option<&'static str> {
        self.client.pinned
    }
}
