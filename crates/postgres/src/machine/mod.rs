//! The connection as a state machine: requests in, bytes out; bytes in, replies out.
//!
//! Every request joins one queue. The first `started` entries have begun to be sent; a reply always belongs to the
//! first. Only the last started entry can still have something to send (rows of a batch, or what had to wait for a
//! description), so bytes leave in the order of the queue.

mod control;
mod copy;
mod held;
mod pooled;
mod portals;
mod receive;
mod request;
mod send;
mod startup;
mod statement;
mod typing;

pub use request::{Copy, Cursor, Execute, Portal, PortalId, Prepare, Request, Rows};
pub use startup::{Binding, Method, Options, Purpose, Secret, Tls};
pub use statement::{Columns, Shape, Statement};

use crate::messages::backend::{Notification, ServerError};
use crate::messages::frontend;
use crate::types::TypeRegistry;
use headrace_core::{
    Caller, Cancellation, Certificate, Discarded, Fatal, Inbox, NextStep, Outbox, Outcome, Protocol, Session,
    StatementCache, TransactionStatus, limits,
};
use portals::Portals;
use request::{Entry, Stage};
use startup::Startup;
use statement::Key;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A caller that speaks PostgreSQL.
pub trait PgCaller: Caller<Columns = Arc<Columns>, ServerError = ServerError> {}
impl<C: Caller<Columns = Arc<Columns>, ServerError = ServerError>> PgCaller for C {}

/// Where a COPY stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// The server has not answered yet.
    Waiting,
    /// Data can be sent.
    Streaming,
    /// It is over, for better or worse.
    Ended,
}

/// Who answers. A pooler may prepare a statement again, on another server connection and after another session has changed
/// its tables: what was described once then vouches for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    /// Nobody knows yet.
    Unknown,
    /// Nobody knows yet, and it matters: it is to be asked for before the next transaction.
    Wanted,
    /// A pooler, or nobody has answered yet.
    Pooled,
    /// The server process that the connection was opened to.
    Own,
}

#[derive(Debug)]
enum Phase {
    Startup(Box<Startup>),
    Ready,
    Closed,
}

/// One connection to PostgreSQL.
#[derive(Debug)]
pub struct Machine<C: Caller> {
    phase: Phase,
    queue: VecDeque<Entry<C, C::Error>>,
    started: usize,
    /// Whether a transaction block is open as of what has been sent, whatever has been answered. `None` after a statement
    /// of the user's that begins or ends one: only its answer tells.
    in_block: Option<bool>,
    /// The portals that are open as of what has been sent.
    portals: Portals,
    /// The portal that the open transaction block belongs to: nothing else is started.
    reserved: Option<u64>,
    /// The last portal that had a transaction block of its own, until the end of that block is answered.
    streamed: Option<u64>,
    next_id: u64,
    /// No new request is started: a cancel request is under way, and must not hit the next statement.
    held: bool,
    /// An error made the server skip everything up to the next Sync.
    skipping: bool,
    statements: StatementCache<Key, Arc<Statement>>,
    statement_number: u64,
    /// How often this session has changed something that statements may use: tables, types, the search path.
    changes: u64,
    /// The last request that was sent and may do so.
    changing: Option<u64>,
    /// How often it has altered types, which the row types of tables are too.
    alterations: u64,
    /// The transaction block that is open has done so, which a rollback undoes.
    changed_in_block: bool,
    /// How often this session has declared, closed or forgotten cursors and prepared statements of its own SQL.
    names: u64,
    /// Names of evicted statements that the server has not been told about.
    to_close: Vec<String>,
    registry: TypeRegistry,
    introspection: bool,
    status: TransactionStatus,
    parameters: BTreeMap<String, String>,
    /// The session was set to another encoding than UTF8.
    foreign_encoding: bool,
    process_id: i32,
    secret: Vec<u8>,
    server: Server,
    /// The last statement that was queued is prepared without a name, as is done behind a pooler that knows no others.
    unnamed: bool,
    notices: VecDeque<ServerError>,
    notifications: VecDeque<Notification>,
    notifications_lost: u64,
    last_words: Option<ServerError>,
}

impl<C: PgCaller> Machine<C> {
    /// A machine whose first bytes are in `outbox`. `statements` is how many prepared statements it may keep.
    pub fn new(options: Options, statements: usize, outbox: &mut Outbox) -> Self {
        Self {
            phase: Phase::Startup(Box::new(Startup::new(options, outbox))),
            queue: VecDeque::new(),
            started: 0,
            in_block: Some(false),
            portals: Portals::default(),
            reserved: None,
            streamed: None,
            next_id: 1,
            held: false,
            skipping: false,
            statements: StatementCache::new(statements),
            statement_number: 0,
            changes: 0,
            changing: None,
            alterations: 0,
            changed_in_block: false,
            names: 0,
            to_close: Vec::new(),
            registry: TypeRegistry::default(),
            introspection: true,
            status: TransactionStatus::Idle,
            parameters: BTreeMap::new(),
            foreign_encoding: false,
            process_id: 0,
            secret: Vec::new(),
            server: Server::Unknown,
            unnamed: false,
            notices: VecDeque::new(),
            notifications: VecDeque::new(),
            notifications_lost: 0,
            last_words: None,
        }
    }

    /// True while a session is being set up.
    pub fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Startup(_))
    }

    fn push(&mut self, request: Request, caller: Option<C>, lane: u64) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.queue.push_back(Entry { lane, ..Entry::new(id, request, caller) });
        id
    }

    /// Ends the last group of requests where nothing has yet.
    fn close_group(&mut self) {
        if let Some(last) = self.queue.back().filter(|entry| !entry.request.syncs()) {
            let lane = last.lane;
            self.push(Request::Sync, None, lane);
        }
    }

    /// Whether the next request is of the same lane as those in flight.
    fn is_same_lane(&self) -> bool {
        let last = self.started.checked_sub(1).and_then(|at| self.queue.get(at));
        match (last, self.queue.get(self.started)) {
            (Some(last), Some(next)) => last.lane == next.lane,
            _ => true,
        }
    }

    /// Whether a portal is open as of what has been sent, by its number.
    pub fn has_portal(&self, number: u64) -> bool {
        self.portals.is_open(number)
    }

    /// The portal that the open transaction block belongs to: requests for anything else wait until it is closed.
    pub fn reserved(&self) -> Option<u64> {
        self.reserved
    }

    /// The server's parameters as last reported.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// The types known to this connection.
    pub fn registry(&self) -> &TypeRegistry {
        &self.registry
    }

    /// The types known to this connection, to register more. Statements prepared before keep their plans, so they
    /// are forgotten.
    pub fn registry_mut(&mut self) -> &mut TypeRegistry {
        self.forget_statements();
        &mut self.registry
    }

    /// Forgets how user-defined types are built: they may have changed.
    pub fn forget_types(&mut self) {
        self.registry.forget();
    }

    /// Whether unknown types are looked up in the catalogue.
    pub fn set_introspection(&mut self, on: bool) {
        self.introspection = on;
    }

    /// Takes the notices that have come.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices).into()
    }

    /// Takes the oldest notification.
    pub fn take_notification(&mut self) -> Option<Notification> {
        self.notifications.pop_front()
    }

    /// How many notifications were dropped because nobody read them.
    pub fn notifications_lost(&self) -> u64 {
        self.notifications_lost
    }

    fn notify(&mut self, notification: Notification) {
        if self.notifications.len() == limits::NOTIFICATIONS {
            self.notifications.pop_front();
            self.notifications_lost += 1;
        }
        self.notifications.push_back(notification);
    }

    /// Takes the first entry out of the queue and tells its caller how it ended.
    fn finish_front(&mut self, cx: C::Cx<'_>, outcome: Outcome<ServerError, C::Error>) {
        if let Some(entry) = self.queue.pop_front() {
            self.started = self.started.saturating_sub(1);
            self.forget_unbound(&entry);
            let is_done = matches!(outcome, Outcome::Done);
            if entry.keeps_cursors {
                self.portals.block_ended(is_done && !entry.rolled_back);
            }
            if let Some(number) = entry.request.declared_cursor().filter(|_| !is_done) {
                self.portals.close(number);
            }
            if let Some(caller) = entry.caller {
                caller.finish(cx, outcome);
            }
        }
    }

    /// The first entry has failed for good, or is done.
    fn settle_front(&mut self, cx: C::Cx<'_>) {
        let outcome = match self.queue.front_mut().and_then(|entry| entry.failure.take()) {
            Some(failure) => failure.outcome(),
            None => Outcome::Done,
        };
        self.finish_front(cx, outcome);
    }

    /// The entry that may still have something to send.
    fn tail(&mut self) -> Option<&mut Entry<C, C::Error>> {
        self.started.checked_sub(1).and_then(|i| self.queue.get_mut(i))
    }
}

impl<C: PgCaller> Session for Machine<C> {
    fn next_step(&self) -> NextStep<'_> {
        match &self.phase {
            Phase::Startup(startup) => startup.next_step(),
            Phase::Ready => NextStep::Ready,
            Phase::Closed => NextStep::Close,
        }
    }

    fn tls_ready(&mut self, certificate: Certificate, outbox: &mut Outbox) -> Result<(), Fatal> {
        if let Phase::Startup(startup) = &mut self.phase {
            startup.tls_ready(certificate.end_point, outbox);
        }
        Ok(())
    }

    fn terminate(&mut self, outbox: &mut Outbox) {
        if self.is_ready() {
            frontend::terminate(outbox.tail());
        }
        self.phase = Phase::Closed;
    }

    fn last_message(&self) -> Option<&str> {
        self.last_words.as_ref().map(|words| words.field(b'M'))
    }

    fn process_id(&self) -> i32 {
        self.process_id
    }

    fn cancellation(&self) -> Cancellation {
        let mut message = Vec::new();
        frontend::cancel_request(&mut message, self.process_id, &self.secret);
        Cancellation::Message(message)
    }

    /// A batch that is still being sent is rolled back.
    fn discard(&mut self, id: u64) -> Discarded {
        let Some(at) = self.queue.iter().position(|entry| entry.id == id) else { return Discarded::Gone };
        if at >= self.started {
            if let Request::Script { sql, discarded: Some(instead), .. } = &mut self.queue[at].request {
                *sql = instead.clone();
                self.queue[at].caller = None;
            } else if self.queue[at].request.syncs() && at > 0 && !self.queue[at - 1].request.syncs() {
                self.queue[at].caller = None;
                self.queue[at].request = Request::Sync;
            } else {
                self.queue.remove(at);
            }
            return Discarded::Gone;
        }
        self.queue[at].caller = None;
        self.queue[at].abandoned = true;
        if self.is_at_discarded() { Discarded::Alone } else { Discarded::Followed }
    }

    /// A Sync is nothing that could be cancelled, and a question to the server is over at once.
    fn is_at_discarded(&self) -> bool {
        let mut flight = self.queue.iter().take(self.started);
        flight.clone().any(|entry| entry.abandoned)
            && flight.all(|entry| entry.abandoned || matches!(entry.request, Request::Sync | Request::AskServer))
    }

    fn hold(&mut self, held: bool) {
        self.held = held;
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    fn in_flight(&self) -> usize {
        self.started
    }

    fn has(&self, id: u64) -> bool {
        self.queue.iter().any(|entry| entry.id == id)
    }

    fn ask_for_answer(&mut self, id: u64) {
        if self.queue.back().is_some_and(|entry| !entry.request.syncs())
            && self.queue.iter().rev().take_while(|entry| !entry.request.syncs()).any(|entry| entry.id == id)
        {
            self.close_group();
        }
    }

    /// A portal that has the connection for itself, or a COPY that is being fed.
    fn is_occupied(&self) -> bool {
        let tail = self.started.checked_sub(1).and_then(|at| self.queue.get(at));
        self.reserved.is_some() || tail.is_some_and(|entry| matches!(entry.stage, Stage::Copying))
    }

    /// While a portal has the connection for itself, answers to others' round trips may be under way in front of its next
    /// rows: whoever waits has to read them.
    fn is_kept_waiting(&self, id: u64) -> bool {
        let answers_come = self.reserved.is_some() && self.started > 0;
        self.is_occupied() && !answers_come && self.queue.iter().skip(self.started).any(|entry| entry.id == id)
    }

    /// As of the last ReadyForQuery.
    fn transaction(&self) -> TransactionStatus {
        self.status
    }

    /// A portal's own transaction block is nobody else's.
    fn shared_transaction(&self) -> TransactionStatus {
        if self.streamed.is_some() { TransactionStatus::Idle } else { self.status }
    }

    fn statements(&self) -> usize {
        self.statements.len()
    }

    fn forget_statements(&mut self) {
        let names = self.statements.drain().into_iter().map(|s| s.name.clone());
        self.to_close.extend(names);
    }

    fn notifications(&self) -> usize {
        self.notifications.len()
    }

    fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }
}

impl<C: PgCaller> Protocol for Machine<C> {
    type Caller = C;
    type Request = Request;

    /// A script ends the group of requests before it: the server would skip it after an error otherwise, and it has
    /// no Sync of its own to wait for. So does a request that is no part of the pipeline that the group belongs to, and
    /// is not to be skipped with it, and one of another lane.
    fn submit(&mut self, mut request: Request, caller: C) -> u64 {
        let lane = caller.lane();
        let mine = self.queue.back().is_none_or(|entry| entry.lane == lane);
        let group = self.queue.back().and_then(|entry| entry.request.open_group());
        let joins = match &mut request {
            Request::Execute(execute) => {
                self.unnamed = execute.prepare == Prepare::Unnamed;
                // Where it leaves the transaction is said with the answer to its Sync.
                execute.sync |= control::of_statement(&execute.sql).is_about_block() || control::copies(&execute.sql);
                group == Some(execute.pipeline)
            }
            Request::Sync => true,
            _ => false,
        };
        if group.is_some() && !(joins && mine) {
            self.close_group();
        }
        self.push(request, Some(caller), lane)
    }

    fn transmit(&mut self, cx: C::Cx<'_>, outbox: &mut Outbox) {
        self.send(cx, outbox);
    }

    fn receive(&mut self, cx: C::Cx<'_>, inbox: &mut Inbox, outbox: &mut Outbox) -> Result<(), Fatal> {
        self.read(cx, inbox, outbox)
    }

    fn abort(&mut self, cx: C::Cx<'_>, reason: &Fatal) {
        self.phase = Phase::Closed;
        let said = self.last_words.take();
        // Whoever is the first to wait hears it: in front of it may stand what was asked for the driver's own sake.
        if let (Some(error), Some(first)) = (said.clone(), self.queue.iter_mut().find(|entry| entry.caller.is_some()))
            && first.failure.is_none()
        {
            first.failure = Some(request::Failure::Server { error, row: None });
        }
        let mut entries = std::mem::take(&mut self.queue);
        self.started = 0;
        self.reserved = None;
        self.streamed = None;
        for entry in entries.drain(..) {
            let outcome = match entry.failure {
                Some(failure) => failure.outcome(),
                None => Outcome::Fatal(reason.clone()),
            };
            if let Some(caller) = entry.caller {
                caller.finish(cx, outcome);
            }
        }
        self.last_words = said;
    }

    fn find(&self, mut is: impl FnMut(&C) -> bool) -> Option<u64> {
        self.queue.iter().find(|entry| entry.caller.as_ref().is_some_and(&mut is)).map(|entry| entry.id)
    }

    fn current_caller(&self) -> Option<&C> {
        self.queue.front().and_then(|entry| entry.caller.as_ref())
    }

    fn current_caller_mut(&mut self) -> Option<&mut C> {
        self.queue.front_mut().and_then(|entry| entry.caller.as_mut())
    }

    fn caller_mut(&mut self, id: u64) -> Option<&mut C> {
        self.queue.iter_mut().find(|entry| entry.id == id)?.caller.as_mut()
    }

    fn last_words(&self) -> Option<&ServerError> {
        self.last_words.as_ref()
    }
}
