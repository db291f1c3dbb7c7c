//! The connection as a state machine: requests in, bytes out; bytes in, replies out.
//!
//! All requests are in one [`Queue`]; a reply always belongs to the first. A request may send several commands; the
//! expected replies are in a queue of their own, in the order of the commands. Only the last started request can still
//! have something to send, so bytes are sent in the order of the queue.

mod batch;
mod batch_reply;
mod batch_send;
mod binding;
mod block;
mod charset;
mod chunk;
mod interrupted;
mod neighbours;
mod pending;
mod receive;
mod refusal;
mod reply;
mod request;
mod reservation;
mod run;
mod send;
mod session;
mod stage;
mod startup;
mod statement;
mod table;
mod upload;
mod verb;
mod wire;

pub use neighbours::own_number;
pub use request::{AsText, BatchStrategy, Execute, ParameterRows, Request, VerbStatement};
pub use reservation::Guarding;
pub use run::RowPackets;
pub use session::SessionState;
pub use stage::{BATCH_TRANSITIONS, BatchEvent, BatchState, RequestEvent, RequestState, TRANSITIONS};
pub use startup::{SessionOptions, Tls};
pub use statement::{Columns, Statement};
use table::Tables;
pub use upload::InfileState;

use crate::packets::capabilities::StatusFlags;
use crate::packets::command::{self, Command};
use crate::packets::reply::ServerError;
use crate::sql::{TableLocks, words};
use block::Autocommit;
use charset::Charsets;
use headrace_core::Session as _;
use headrace_core::verb::Effect;
use headrace_core::{
    CancelStatement, Cancellation, Certificate, Fatal, Mismatch, NextStep, Protocol, Queue, Reported, Requests,
    ResponseHandler, Statements, TransactionStatus, Verb, WriteBuffer,
};
use pending::PendingRequest;
use reply::{Expect, Reply};
use reservation::Reservation;
use startup::Startup;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use wire::Wire;

/// A response handler for MySQL. The tag of its results is the server's text for humans.
pub trait MyHandler: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError> {}
impl<H: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError>> MyHandler for H {}

#[derive(Debug)]
enum Phase {
    Startup(Box<Startup>),
    Ready,
    Closed,
}

/// The statement that a COM_STMT_EXECUTE for the last prepared statement would execute.
///
/// MariaDB forgets it if a preparation fails, but not if `max_prepared_stmt_count` is reached: a statement that is
/// executed in the same round trip as its preparation would then execute the one before it, with its own parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastPrepared {
    /// Nothing was prepared, or it was closed.
    None,
    /// A statement of this client.
    Ours,
    /// COM_RESET_CONNECTION has dropped it.
    Unknown,
}

/// One connection to MySQL or MariaDB.
#[derive(Debug)]
pub struct Machine<H: ResponseHandler> {
    phase: Phase,
    queue: Queue<PendingRequest<H>>,
    /// The expected replies: the first belongs to the first request.
    expects: VecDeque<Expect>,
    /// The state of the first of them.
    reply: Reply,
    wire: Wire,
    /// A KILL QUERY was sent that the next statement may meet.
    kill_due: bool,
    /// The reservation that has the connection to itself.
    reservation: Option<Reservation>,
    /// Commands in flight at most.
    window: usize,
    local_infile: bool,
    /// No statement of an earlier epoch is executed.
    statements: Statements<Arc<str>, Statement>,
    /// The server takes several statements in one text.
    several: bool,
    /// The statement that the server regards as the last prepared one.
    last_prepared: LastPrepared,
    /// Open cursors by the number of the request that opened them.
    cursors: BTreeMap<u64, Arc<Statement>>,
    /// What is known of the session's character sets.
    charsets: Charsets,
    /// What is known of tables.
    tables: Tables,
    autocommit: Autocommit,
    session: SessionState,
    closing_error: Option<ServerError>,
}

impl<H: MyHandler> Machine<H> {
    /// A machine that waits for the server's greeting. `statements` is the maximum number of cached prepared
    /// statements.
    ///
    /// # Errors
    /// [`Fatal`] when an option cannot be sent.
    pub fn new(options: SessionOptions, statements: usize) -> Result<Self, Fatal> {
        Ok(Self {
            window: options.in_flight.max(1),
            local_infile: options.local_infile,
            several: options.multi_statements,
            phase: Phase::Startup(Box::new(Startup::new(options)?)),
            queue: Queue::default(),
            expects: VecDeque::new(),
            reply: Reply::First,
            wire: Wire::default(),
            kill_due: false,
            reservation: None,
            statements: Statements::new(statements),
            last_prepared: LastPrepared::None,
            cursors: BTreeMap::new(),
            charsets: Charsets::default(),
            tables: Tables::default(),
            autocommit: Autocommit::AsReported,
            session: SessionState::default(),
            closing_error: None,
        })
    }

    /// Turns autocommit off: `SET autocommit=0` travels before the next request, so that it costs no round trip.
    pub fn commit_manually(&mut self) {
        self.autocommit = Autocommit::OffPending;
    }

    /// True if the server commits each statement by itself; None while that is unknown, as requests are in flight.
    pub fn autocommits(&self) -> Option<bool> {
        let commits = match self.autocommit {
            Autocommit::OffInBlock => true,
            Autocommit::OffPending => false,
            Autocommit::AsReported | Autocommit::Off => self.session.status.contains(StatusFlags::AUTOCOMMIT),
        };
        (self.queue.is_empty() && self.is_ready()).then_some(commits)
    }

    /// Returns true if the server accepts several statements in one text.
    pub fn accepts_several(&self) -> bool {
        self.several
    }

    /// True if a statement that failed may have left locks, which the end of a transaction releases even if none is
    /// reported as open.
    pub fn holds_locks(&self) -> bool {
        self.session.holds_locks
    }

    /// True if the session may have locked tables, by LOCK TABLES or the like.
    pub fn holds_tables(&self) -> bool {
        self.session.holds_tables
    }

    /// Returns true if the next transaction may be another than the session's others: its end sets that back.
    pub fn sets_next_transaction(&self) -> bool {
        self.session.sets_next
    }

    /// True if a statement may have changed the role.
    pub fn role_changed(&self) -> bool {
        self.session.role_changed
    }

    /// The role is that of the beginning again.
    pub fn role_restored(&mut self) {
        self.session.role_changed = false;
    }

    /// True while a session is being set up.
    pub fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Startup(_))
    }

    /// The number that the next request will have.
    pub fn next_id(&self) -> u64 {
        self.queue.next_id()
    }

    /// The session as the server last reported it.
    pub fn session(&self) -> &SessionState {
        &self.session
    }

    /// Returns true if the cursor that request `id` opened is still open.
    pub fn has_cursor(&self, id: u64) -> bool {
        self.cursors.contains_key(&id)
    }

    /// Forgets the prepared statement of a text: the next request with it has the server prepare it again.
    pub fn forget_statement(&mut self, sql: &str) {
        self.statements.forget(sql);
    }

    /// Returns true if the server sends the rows of a stream: only its reader may receive them.
    fn streams(&self) -> bool {
        self.queue.started() > 0 && self.current_handler().is_some_and(ResponseHandler::is_stream)
    }

    /// Records what the first request, which is answered, may have done to locked tables, to the role and to the next
    /// transaction.
    fn note_left(&mut self) {
        let Some(pending) = self.queue.first() else { return };
        let changes = pending.facts.changes;
        let (ends, begins) = match &pending.request {
            Request::Verb(VerbStatement { effect, .. }) => {
                (matches!(effect, Effect::Ends(_)), *effect == Effect::Begins)
            }
            _ => (false, false),
        };
        self.tables_change(changes.tables);
        self.session.role_changed |= changes.role;
        self.session.sets_next = !ends && (self.session.sets_next || changes.next_transaction);
        match changes.locks {
            TableLocks::MayLock => self.session.holds_tables = true,
            TableLocks::Unlocks => self.session.holds_tables = false,
            // BEGIN unlocks them.
            TableLocks::Keeps => self.session.holds_tables &= !begins,
        }
    }

    /// Takes the first request out of the queue and ends it: its response handler receives the outcome.
    fn finish_front(&mut self, cx: H::Context<'_>) {
        if let Some(pending) = self.queue.pop_front() {
            self.finish(cx, pending);
        }
    }

    /// Passes the outcome to the response handler of a request that has left the queue.
    fn finish(&mut self, cx: H::Context<'_>, pending: PendingRequest<H>) {
        if pending.changes_meaning {
            self.forget_statements();
            let mut words = pending.request.sql().into_iter().flat_map(|sql| words(sql));
            self.session.completes_otherwise |= words.any(|word| word.eq_ignore_ascii_case("completion_type"));
        }
        self.note_reserved(pending.slot.id);
        pending.slot.finish(cx);
    }
}

impl<H: MyHandler> headrace_core::Session for Machine<H> {
    fn next_step(&self) -> NextStep<'_> {
        match &self.phase {
            Phase::Startup(startup) if startup.awaits_tls() => NextStep::StartTls { request_first: true },
            Phase::Startup(_) => NextStep::Exchange,
            Phase::Ready => NextStep::Ready,
            Phase::Closed => NextStep::Close,
        }
    }

    /// The fingerprint of the certificate is needed if the password is used to verify it.
    fn tls_ready(&mut self, certificate: Certificate, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        match &mut self.phase {
            Phase::Startup(startup) => startup.tls_ready(certificate, write_buffer),
            _ => Ok(()),
        }
    }

    fn terminate(&mut self, write_buffer: &mut WriteBuffer) {
        if self.is_ready() {
            self.wire.write(write_buffer, |out| command::bare(out, Command::Quit));
        }
        self.phase = Phase::Closed;
    }

    fn last_message(&self) -> Option<&str> {
        self.closing_error.as_ref().map(|words| words.message.as_str())
    }

    fn last_sqlstate(&self) -> Option<&str> {
        self.closing_error.as_ref().map(|words| words.sqlstate.as_str())
    }

    /// The thread's number, which is unsigned.
    fn process_id(&self) -> i32 {
        self.session.thread_id.cast_signed()
    }

    fn cancellation(&self) -> Cancellation {
        match self.session.thread_id {
            0 => Cancellation::Impossible,
            thread => Cancellation::Statement(CancelStatement {
                sql: format!("KILL QUERY {thread}"),
                question: Some(neighbours::question(thread, &self.session.own_number)),
            }),
        }
    }

    fn is_cancel_early(&self) -> bool {
        self.awaits_setting()
    }

    /// If KILL QUERY came between two statements, MySQL before 5.7 applies it to the next one, and later versions do if
    /// it arrives at the end of the one before: a statement of the driver, sent before any other, absorbs it.
    fn cancel_sent(&mut self) {
        self.kill_due = true;
    }

    headrace_core::session_of_fields!();

    fn is_occupied(&self) -> bool {
        self.streams() || self.is_reserved()
    }

    fn is_kept_waiting(&self, id: u64) -> bool {
        match self.streams() {
            true => self.queue.first().is_none_or(|pending| pending.slot.id != id),
            false => self.waits_for_reservation(id),
        }
    }

    fn reported(&self) -> Reported {
        self.session.transaction
    }

    fn shared_transaction(&self) -> TransactionStatus {
        match self.shares_transaction() {
            _ if self.queue.is_lost() => TransactionStatus::Failed,
            true => TransactionStatus::InTransaction,
            false => TransactionStatus::Idle,
        }
    }

    fn transaction_ahead(&self) -> Option<bool> {
        if self.session.transaction == Reported::Doubtful {
            return None;
        }
        let is_on = !matches!(self.autocommit, Autocommit::OffPending | Autocommit::Off);
        let autocommits = is_on && self.session.status.contains(StatusFlags::AUTOCOMMIT);
        // One that is chained is ended before what comes next.
        let is_open = self.shares_transaction() && !self.session.transaction.is_chained();
        self.queue.transaction_ahead(is_open, |pending| pending.request.effect(pending.facts, autocommits))
    }

    fn forget_statements(&mut self) {
        self.statements.forget_all();
    }
}

impl<H: MyHandler> Protocol for Machine<H> {
    type Handler = H;
    type Request = Request;
    type Pending = PendingRequest<H>;

    headrace_core::protocol_of_fields!();

    fn submit(&mut self, request: Request, handler: H) -> u64 {
        self.queue.submit(handler, |slot| PendingRequest::new(slot, request, self.several, self.local_infile))
    }

    fn of_verb(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
        verb::requests(verb)
    }

    fn text(request: &Request) -> Option<&Arc<str>> {
        match request {
            Request::Query { sql, .. } | Request::Verb(VerbStatement { sql, .. }) => Some(sql),
            _ => None,
        }
    }

    fn abort(&mut self, cx: H::Context<'_>, reason: &Fatal) {
        self.phase = Phase::Closed;
        self.reservation = None;
        self.expects.clear();
        self.queue.abort(cx, reason, self.closing_error.clone());
    }
}
