//! The connection as a state machine: requests in, bytes out; bytes in, replies out.
//!
//! All requests are in one [`Queue`]; a reply always belongs to the first. Only the last started request can still have
//! something to send (rows of a batch, or messages that need a description first), so bytes are sent in the order of
//! the queue.

mod answer;
mod batch_copy;
mod batch_joined;
mod batch_table;
mod bind;
mod command_tag;
mod control;
mod copy;
mod deferred;
mod described;
mod facts;
mod pending;
mod pooled;
mod portals;
mod receive;
mod request;
mod run;
mod send;
mod stage;
mod stale;
mod startup;
mod statement;
mod streamed;
mod typing;
mod verb;
mod work;

pub use facts::Facts;
pub use request::{Copy, Cursor, Execute, ParameterRows, Portal, PortalId, Prepare, Request};
pub use run::DataRows;
pub use stage::{RequestEvent, RequestState, TRANSITIONS};
pub use startup::{Binding, Method, Purpose, Secret, SessionOptions, Tls};
pub use statement::{Columns, Shape, Statement};
pub use verb::begin_statement;

use crate::limits;
use crate::messages::backend::{Notification, ServerError};
use crate::messages::frontend;
use crate::messages::tag::field;
use crate::types::TypeRegistry;
use answer::Ending;
use headrace_core::{
    Cancellation, Certificate, Fatal, Mismatch, NextStep, Outcome, Protocol, Queue, Reported, ResponseHandler, Session,
    Statements, Transaction, TransactionStatus, Verb, WriteBuffer,
};
use pending::{PendingRequest, Stage};
use portals::Portals;
use startup::Startup;
use statement::{Counted, Key, StatementNames};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use streamed::Streamed;

/// A response handler for PostgreSQL.
pub trait PgHandler: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError> {}
impl<H: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError>> PgHandler for H {}

/// The state of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// The server has not answered yet.
    Waiting,
    /// Data can be sent.
    Streaming,
    /// Finished: completed or failed.
    Ended,
}

/// The process that answers. A pooler may prepare a statement again, on another server connection and after another
/// session has changed its tables: then the first description is no longer reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    /// Not known yet.
    Unknown,
    /// Not known yet, and it matters: it has to be queried before the next transaction.
    QueryDue,
    /// A pooler, or the query was not answered yet.
    Pooled,
    /// The server process that the connection was opened to.
    Own,
}

/// A BEGIN that was sent with a request.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// The number of the request.
    request: u64,
    /// That of a later one, up to which none brings a Sync.
    unsynced: Option<u64>,
}

impl Begun {
    fn with(request: u64) -> Self {
        Self { request, unsynced: None }
    }
}

#[derive(Debug)]
enum Phase {
    Startup(Box<Startup>),
    Ready,
    Closed,
}

/// One connection to PostgreSQL.
#[derive(Debug)]
pub struct Machine<H: ResponseHandler> {
    phase: Phase,
    queue: Queue<PendingRequest<H>>,
    /// Of it what is known: as of the last ReadyForQuery, and as of what was sent.
    transaction: Transaction,
    /// The last BEGIN that was sent with a request, until it is known to be answered.
    begun: Option<Begun>,
    /// The portals that are open as of what has been sent.
    portals: Portals,
    /// The portal that the open transaction block belongs to: nothing else is started.
    reserved: Option<u64>,
    /// The last portal with a transaction block of its own, until the end of that block is answered, or for good if the
    /// session ends before.
    streamed: Option<Streamed>,
    /// An error made the server skip everything up to the next Sync.
    skipping: bool,
    /// Their epoch advances with changes of anything that statements use: tables, types, the search path.
    statements: Statements<Key, Statement>,
    names_of_statements: StatementNames,
    /// The last request that was sent and may do so.
    changing: Option<u64>,
    /// What statements are described with.
    counted: Counted,
    /// The end of the transaction may set a setting back by which constants are read.
    sets_constants_back: bool,
    /// Texts whose columns the server has found changed in a transaction, where they cannot be repeated: there they are
    /// described again at each execution.
    unsteady: HashSet<Arc<str>>,
    registry: TypeRegistry,
    /// Requests without a Sync of their own were answered since the last ReadyForQuery.
    status_due: bool,
    parameters: BTreeMap<String, String>,
    /// The session was set to another encoding than UTF8.
    foreign_encoding: bool,
    process_id: i32,
    secret: Vec<u8>,
    server: Server,
    /// The statement queued last is prepared without a name, as is necessary behind a pooler that supports no named
    /// ones.
    unnamed: bool,
    notices: VecDeque<ServerError>,
    notifications: VecDeque<Notification>,
    notifications_lost: u64,
    closing_error: Option<ServerError>,
}

impl<H: PgHandler> Machine<H> {
    /// A machine whose first bytes are in `write_buffer`. `statements` is the maximum number of cached prepared
    /// statements.
    pub fn new(options: SessionOptions, statements: usize, write_buffer: &mut WriteBuffer) -> Self {
        Self {
            phase: Phase::Startup(Box::new(Startup::new(options, write_buffer))),
            queue: Queue::default(),
            transaction: Transaction::default(),
            begun: None,
            portals: Portals::default(),
            reserved: None,
            streamed: None,
            skipping: false,
            statements: Statements::new(statements),
            names_of_statements: StatementNames::default(),
            changing: None,
            counted: Counted::default(),
            sets_constants_back: false,
            unsteady: HashSet::new(),
            registry: TypeRegistry::default(),
            status_due: false,
            parameters: BTreeMap::new(),
            foreign_encoding: false,
            process_id: 0,
            secret: Vec::new(),
            server: Server::Unknown,
            unnamed: false,
            notices: VecDeque::new(),
            notifications: VecDeque::new(),
            notifications_lost: 0,
            closing_error: None,
        }
    }

    /// True while a session is being set up.
    pub fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Startup(_))
    }

    /// Ends the last group of requests, if that has not happened yet.
    fn close_group(&mut self) {
        if self.queue.back().is_some_and(|pending| !pending.request.syncs()) {
            self.queue.append_own(|slot| PendingRequest::new(slot, Request::Sync));
        }
    }

    /// Returns true if the portal of this number is open as of what has been sent.
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

    /// Forgets the structure of user-defined types: they may have changed.
    pub fn forget_types(&mut self) {
        self.registry.forget();
    }

    /// Takes the notices received so far.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices).into()
    }

    /// Takes the oldest notification.
    pub fn take_notification(&mut self) -> Option<Notification> {
        self.notifications.pop_front()
    }

    /// The number of notifications that were dropped because they were not read.
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

    /// Takes the first request out of the queue and ends it: its response handler receives the outcome.
    fn finish_front(&mut self, cx: H::Context<'_>, outcome: Outcome<ServerError, H::Error>) {
        if let Some(pending) = self.queue.pop_front() {
            self.forget_unbound(&pending);
            let is_done = matches!(outcome, Outcome::Done);
            self.status_due = !pending.request.syncs() && !matches!(outcome, Outcome::Skipped);
            if pending.block.ending != Ending::Irrelevant {
                self.portals.block_ended(is_done && pending.block.ending != Ending::RolledBack);
            }
            if let Some(number) = pending.request.declared_cursor().filter(|_| !is_done) {
                self.portals.close(number);
            }
            pending.slot.finish_with(cx, outcome);
        }
    }

    /// The first request has failed for good, or is done.
    fn settle_front(&mut self, cx: H::Context<'_>) {
        let outcome = match self.queue.first_mut().and_then(|pending| pending.slot.failure.take()) {
            Some(failure) => failure.outcome(),
            None => Outcome::Done,
        };
        self.finish_front(cx, outcome);
    }
}

impl<H: PgHandler> Session for Machine<H> {
    fn next_step(&self) -> NextStep<'_> {
        match &self.phase {
            Phase::Startup(startup) => startup.next_step(),
            Phase::Ready => NextStep::Ready,
            Phase::Closed => NextStep::Close,
        }
    }

    fn tls_ready(&mut self, certificate: Certificate, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if let Phase::Startup(startup) = &mut self.phase {
            startup.tls_ready(certificate.tls_server_end_point, write_buffer);
        }
        Ok(())
    }

    fn terminate(&mut self, write_buffer: &mut WriteBuffer) {
        if self.is_ready() {
            frontend::terminate(write_buffer.tail());
        }
        self.phase = Phase::Closed;
    }

    fn last_message(&self) -> Option<&str> {
        self.closing_error.as_ref().map(|words| words.field(field::MESSAGE))
    }

    fn last_sqlstate(&self) -> Option<&str> {
        self.closing_error.as_ref().map(ServerError::sqlstate)
    }

    fn process_id(&self) -> i32 {
        self.process_id
    }

    fn cancellation(&self) -> Cancellation {
        let mut message = Vec::new();
        frontend::cancel_request(&mut message, self.process_id, &self.secret);
        Cancellation::Message(message)
    }

    headrace_core::session_of_fields!();

    fn request_reply(&mut self, id: u64) {
        if self.queue.back().is_some_and(|pending| !pending.request.syncs())
            && self
                .queue
                .iter()
                .rev()
                .take_while(|pending| !pending.request.syncs())
                .any(|pending| pending.slot.id == id)
        {
            self.close_group();
        }
    }

    /// Returns true if a portal has the connection to itself, or a COPY is being fed.
    fn is_occupied(&self) -> bool {
        let tail = self.queue.last();
        self.reserved.is_some() || tail.is_some_and(|pending| matches!(pending.stage(), Stage::Copying))
    }

    /// While a portal has the connection to itself, replies to round trips of other code may come before its next rows:
    /// the thread that waits has to read them.
    fn is_kept_waiting(&self, id: u64) -> bool {
        let answers_come = self.reserved.is_some() && self.queue.started() > 0;
        self.is_occupied() && !answers_come && self.queue.waiting().any(|pending| pending.slot.id == id)
    }

    fn reported(&self) -> Reported {
        self.transaction.reported()
    }

    /// A portal's own transaction block does not belong to other code.
    fn shared_transaction(&self) -> TransactionStatus {
        if self.streamed.is_some() { TransactionStatus::Idle } else { self.transaction() }
    }

    fn is_status_due(&self) -> bool {
        self.status_due
    }

    fn transaction_ahead(&self) -> Option<bool> {
        // A transaction that a group of requests has begun is reported at its end, when they have left the queue.
        if let Some(PendingRequest { request: Request::Sync, .. }) = self.queue.in_flight().next() {
            return None;
        }
        let open = self.shared_transaction() != TransactionStatus::Idle;
        self.queue.transaction_ahead(open, PendingRequest::effect)
    }

    fn forget_statements(&mut self) {
        self.statements.forget_all();
    }

    fn notifications(&self) -> usize {
        self.notifications.len()
    }

    fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }
}

impl<H: PgHandler> Protocol for Machine<H> {
    type Handler = H;
    type Request = Request;
    type Pending = PendingRequest<H>;

    headrace_core::protocol_of_fields!();

    /// A script ends the group of requests before it: otherwise the server would skip it after an error, and it has no
    /// Sync of its own to wait for. So does a request outside of the pipeline that the group belongs to, which must not
    /// be skipped with it, and one of another lane.
    fn submit(&mut self, mut request: Request, handler: H) -> u64 {
        let lane = handler.lane();
        let mine = self.queue.back().is_none_or(|pending| pending.slot.lane == lane);
        let group = self.queue.back().and_then(|pending| pending.request.open_group());
        let joins = match &mut request {
            Request::Execute(execute) => {
                self.unnamed = execute.prepare == Prepare::Unnamed;
                // The reply to its Sync indicates whether a transaction is open afterwards.
                let facts = *execute.facts.get_or_insert_with(|| Facts::of(&execute.sql));
                execute.sync |= facts.control().is_about_block() || facts.copies();
                group == Some(execute.pipeline)
            }
            Request::Sync => true,
            _ => false,
        };
        if group.is_some() && !(joins && mine) {
            self.close_group();
        }
        self.queue.submit(handler, |slot| PendingRequest::new(slot, request))
    }

    fn of_verb(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
        Ok(vec![verb::request(verb)?])
    }

    fn text(request: &Request) -> Option<&Arc<str>> {
        match request {
            Request::Script { sql, .. } | Request::Verb { sql, .. } => Some(sql),
            _ => None,
        }
    }

    fn abort(&mut self, cx: H::Context<'_>, reason: &Fatal) {
        self.phase = Phase::Closed;
        self.reserved = None;
        self.queue.abort(cx, reason, self.closing_error.clone());
    }
}
