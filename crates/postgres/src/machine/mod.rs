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
pub use startup::{Binding, Method, Options, Purpose, Secret, Tls, TlsStep};
pub use statement::{Columns, Shape, Statement};

use crate::messages::backend::{Notification, ServerError};
use crate::messages::frontend;
use crate::types::TypeRegistry;
use headrace_core::{Caller, Discarded, Fatal, Outbox, Outcome, Protocol, StatementCache, limits};
use portals::Portals;
use request::{Entry, Stage};
use startup::{Startup, State};
use statement::Key;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A caller that speaks PostgreSQL.
pub trait PgCaller: Caller<Columns = Arc<Columns>, ServerError = ServerError> {}
impl<C: Caller<Columns = Arc<Columns>, ServerError = ServerError>> PgCaller for C {}

/// What ReadyForQuery says of the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction block.
    #[default]
    Idle,
    /// In a transaction block.
    InTransaction,
    /// In a failed transaction block: only a rollback will do.
    Failed,
}

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

    /// What the pump has to do about TLS.
    pub fn tls_step(&self) -> TlsStep {
        match &self.phase {
            Phase::Startup(startup) => startup.step,
            _ => TlsStep::Nothing,
        }
    }

    /// The TLS layer is in place; `end_point` is the tls-server-end-point binding of its certificate (RFC 5929).
    pub fn tls_ready(&mut self, end_point: Option<Vec<u8>>, outbox: &mut Outbox) {
        if let Phase::Startup(startup) = &mut self.phase {
            startup.tls_ready(end_point, outbox);
        }
    }

    /// True once the session can take requests.
    pub fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready)
    }

    /// True while a session is being set up.
    pub fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Startup(_))
    }

    /// True when the connection was opened to cancel and has said so; the server will close it.
    pub fn is_cancel_sent(&self) -> bool {
        matches!(&self.phase, Phase::Startup(s) if matches!(s.state, State::CancelSent))
    }

    /// Queues a request and returns its number.
    ///
    /// A script ends the group of requests before it: the server would skip it after an error otherwise, and it has
    /// no Sync of its own to wait for. So does a request that is no part of the pipeline that the group belongs to, and
    /// is not to be skipped with it, and one of another lane.
    pub fn enqueue(&mut self, mut request: Request, caller: C) -> u64 {
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

    fn push(&mut self, request: Request, caller: Option<C>, lane: u64) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.queue.push_back(Entry { lane, ..Entry::new(id, request, caller) });
        id
    }

    /// Sees that request `id` is answered: without a Sync behind it the server may keep its answer to itself, and whoever
    /// waits for it would wait for ever.
    pub fn ask_for_answer(&mut self, id: u64) {
        if self.queue.back().is_some_and(|entry| !entry.request.syncs())
            && self.queue.iter().rev().take_while(|entry| !entry.request.syncs()).any(|entry| entry.id == id)
        {
            self.close_group();
        }
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

    /// Forgets who asked for request `id`. If nothing of it was sent it leaves the queue; otherwise its reply will be
    /// read and dropped, and a batch that is still being sent is rolled back.
    pub fn discard(&mut self, id: u64) -> Discarded {
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

    /// Whether the server works on nothing but requests that were discarded, so that a cancel request can hit nothing else.
    /// A Sync is nothing that could be cancelled, and a question to the server is over at once.
    pub fn is_at_discarded(&self) -> bool {
        let mut flight = self.queue.iter().take(self.started);
        flight.clone().any(|entry| entry.abandoned)
            && flight.all(|entry| entry.abandoned || matches!(entry.request, Request::Sync | Request::AskServer))
    }

    /// Whether request `id` is queued or in flight.
    pub fn has(&self, id: u64) -> bool {
        self.queue.iter().any(|entry| entry.id == id)
    }

    /// The number of the first request whose caller `is` the one looked for.
    pub fn find(&self, mut is: impl FnMut(&C) -> bool) -> Option<u64> {
        self.queue.iter().find(|entry| entry.caller.as_ref().is_some_and(&mut is)).map(|entry| entry.id)
    }

    /// The caller of the request that the server is working on.
    pub fn current_caller(&self) -> Option<&C> {
        self.queue.front().and_then(|entry| entry.caller.as_ref())
    }

    /// The caller of request `id`.
    pub fn caller_mut(&mut self, id: u64) -> Option<&mut C> {
        self.queue.iter_mut().find(|entry| entry.id == id)?.caller.as_mut()
    }

    /// Whether request `id` is the one that the server is working on.
    pub fn is_current(&self, id: u64) -> bool {
        self.started > 0 && self.queue.front().is_some_and(|entry| entry.id == id)
    }

    /// Starts no further request until released.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// How many requests have been started and not answered.
    pub fn in_flight(&self) -> usize {
        self.started
    }

    /// How many requests wait or are in flight.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The transaction status of the last ReadyForQuery.
    pub fn status(&self) -> TransactionStatus {
        self.status
    }

    /// The transaction status of the last ReadyForQuery for those who share the connection: a portal's own transaction
    /// block is none of theirs.
    pub fn shared_status(&self) -> TransactionStatus {
        if self.streamed.is_some() { TransactionStatus::Idle } else { self.status }
    }

    /// Whether a portal is open as of what has been sent, by its number.
    pub fn has_portal(&self, number: u64) -> bool {
        self.portals.is_open(number)
    }

    /// The portal that the open transaction block belongs to: requests for anything else wait until it is closed.
    pub fn reserved(&self) -> Option<u64> {
        self.reserved
    }

    /// Whether requests wait for something that their senders have no part in: a portal that has the connection for
    /// itself, or a COPY that is being fed.
    pub fn is_occupied(&self) -> bool {
        let tail = self.started.checked_sub(1).and_then(|at| self.queue.get(at));
        self.reserved.is_some() || tail.is_some_and(|entry| matches!(entry.stage, Stage::Copying))
    }

    /// Whether request `id` is one that waits so. While a portal has the connection for itself, answers to others' round
    /// trips may be under way in front of its next rows: whoever waits has to read them.
    pub fn is_kept_waiting(&self, id: u64) -> bool {
        let answers_come = self.reserved.is_some() && self.started > 0;
        self.is_occupied() && !answers_come && self.queue.iter().skip(self.started).any(|entry| entry.id == id)
    }

    /// The server's parameters as last reported.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// The server process, and the secret that cancels it.
    pub fn key(&self) -> (i32, &[u8]) {
        (self.process_id, &self.secret)
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

    /// Forgets every prepared statement, and tells the server with the next request.
    pub fn forget_statements(&mut self) {
        let names = self.statements.drain().into_iter().map(|s| s.name.clone());
        self.to_close.extend(names);
    }

    /// How many prepared statements are kept.
    pub fn statements(&self) -> usize {
        self.statements.len()
    }

    /// Takes the notices that have come.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices).into()
    }

    /// Whether notices have come.
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Takes the oldest notification.
    pub fn take_notification(&mut self) -> Option<Notification> {
        self.notifications.pop_front()
    }

    /// How many notifications wait.
    pub fn notifications(&self) -> usize {
        self.notifications.len()
    }

    /// How many notifications were dropped because nobody read them.
    pub fn notifications_lost(&self) -> u64 {
        self.notifications_lost
    }

    /// The server's last words before it ended the session.
    pub fn last_words(&self) -> Option<&ServerError> {
        self.last_words.as_ref()
    }

    /// Writes Terminate.
    pub fn terminate(&mut self, outbox: &mut Outbox) {
        if self.is_ready() {
            frontend::terminate(outbox.tail());
        }
        self.phase = Phase::Closed;
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

impl<C: PgCaller> Protocol for Machine<C> {
    type Caller = C;
    type Request = Request;

    fn submit(&mut self, request: Request, caller: C) {
        self.enqueue(request, caller);
    }

    fn transmit(&mut self, cx: C::Cx<'_>, outbox: &mut Outbox) {
        self.send(cx, outbox);
    }

    fn receive(&mut self, cx: C::Cx<'_>, inbox: &mut headrace_core::Inbox, outbox: &mut Outbox) -> Result<(), Fatal> {
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

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}
