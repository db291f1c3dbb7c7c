//! The connection as a state machine: requests in, bytes out; bytes in, replies out.
//!
//! All requests are in one [`Queue`]. Each frame that was sent is answered by one reply, in order: the expected replies
//! are in a queue of their own, and the first always belongs to the first request. Only the request that was started
//! last can still have something to send.
//!
//! CUBRID has no BEGIN. Each EXECUTE has a flag whether the server is to commit, so a transaction block is a state of the
//! client: [`Verb::Begin`] sends nothing. The state of the CAS in each reply shows whether a transaction is open at the
//! server. Outside of a block one may be, after PREPARE or an error: the machine ends it before the request is over.
//!
//! While no transaction is open the broker may close the connection, without a message, to give its CAS to another
//! client (KEEP_CONNECTION=AUTO): see [`Machine::loss`], [`Protocol::survive_loss`] and [`SessionOptions::keeps_cas`].

mod batch;
mod catalog;
mod cursor;
mod joined;
mod keys;
mod object;
mod pages;
mod pending;
mod receive;
mod release;
mod request;
mod results;
mod run;
mod send;
mod stage;
mod startup;
mod statement;
mod verb;

pub use request::{BatchStrategy, Execute, ParameterRows, Request};
pub use run::PageRows;
pub use stage::{RequestEvent, RequestState, TRANSITIONS};
pub use startup::{Secret, SessionOptions};
pub use statement::{Columns, Statement};

use crate::messages::login::{self, BrokerInfo, Connected, SessionId};
use crate::messages::server::ServerError;
use crate::messages::{CasInfo, change_mode, client, function};
use headrace_core::Session as _;
use headrace_core::{
    Cancellation, Certificate, CodeSet, Fatal, FatalKind, Mismatch, NextStep, Protocol, Queue, Reported,
    ResponseHandler, Statements, Transaction, Verb, WriteBuffer,
};
use pending::PendingRequest;
use startup::{Purpose, Startup};
use std::collections::VecDeque;
use std::sync::Arc;

/// A response handler for CUBRID. The tag of its results is the name of the statement's type.
pub trait CasHandler: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError> {}
impl<H: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError>> CasHandler for H {}

#[derive(Debug)]
enum Phase {
    Startup(Box<Startup>),
    Ready,
    /// The broker has given the CAS to another client: the session is to be connected again.
    Released,
    Closed,
}

/// An expected reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// To PREPARE.
    Prepare,
    /// To EXECUTE.
    Execute,
    /// To FETCH.
    Page,
    /// To FETCH, of a result that is over.
    Unneeded,
    /// To NEXT_RESULT.
    NextResult,
    /// To a part of a batch.
    Batch(BatchReply),
    /// About the transaction.
    Transaction(TransactionReply),
    /// To the END_TRAN after a statement outside of a block.
    Settle,
    /// To GET_LAST_INSERT_ID.
    LastInsertId,
    /// To GET_DB_VERSION.
    Version,
    /// To SCHEMA_INFO.
    Schema,
    /// To MAKE_OUT_RS.
    Returned,
    /// To PARAMETER_INFO.
    ParameterTypes,
    /// To GET_QUERY_INFO.
    Plan,
    /// To GET_GENERATED_KEYS.
    Keys,
    /// To LOB_NEW, LOB_READ or LOB_WRITE.
    Object,
    /// To a function whose reply has nothing of interest.
    Simple,
}

/// An expected reply to a part of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchReply {
    /// To PREPARE of a batch's statement with many rows.
    PrepareJoined,
    /// To SAVEPOINT before joined rows.
    JoinedGuard,
    /// To EXECUTE_ARRAY of a statement with many rows.
    Joined,
    /// To EXECUTE_ARRAY of a statement with many rows, for rows that were rolled back with those after them.
    JoinedAgain,
    /// To EXECUTE_ARRAY.
    Array {
        /// The number of its first row.
        first: u64,
        /// Its rows.
        rows: usize,
    },
    /// To EXECUTE_BATCH.
    Texts {
        /// The number of its first text.
        first: u64,
        /// Its texts.
        rows: usize,
    },
    /// To EXECUTE, of a row of a batch without parameters.
    Each {
        /// The number of the row.
        row: u64,
    },
    /// To the SAVEPOINT before a batch.
    Guard,
    /// To what ends a batch: END_TRAN, or SAVEPOINT.
    BatchEnd,
}

impl BatchReply {
    /// Returns true if the server has executed rows of the program, unless it has sent an error.
    fn executes_rows(self) -> bool {
        !matches!(self, Self::PrepareJoined | Self::JoinedGuard | Self::Guard | Self::BatchEnd)
    }
}

/// An expected reply about the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionReply {
    /// To the END_TRAN of a verb.
    EndTran {
        /// It rolls back.
        is_rollback: bool,
    },
    /// To GET_DB_PARAMETER: the isolation level before a block.
    Isolation,
    /// To SET_DB_PARAMETER: that of a block.
    SetIsolation,
}

/// What is known of the requests that were in flight when the connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// No transaction was open, and none of them was answered in part: the broker has most likely given the CAS to
    /// another client, which it does before the CAS reads a request. If the CAS has not crashed, none was executed.
    /// The session can be resumed with [`SessionOptions::session`]; its prepared statements are lost.
    Released,
    /// Some may have been executed.
    Unknown,
}

/// One connection to CUBRID.
#[derive(Debug)]
pub struct Machine<H: ResponseHandler> {
    phase: Phase,
    queue: Queue<PendingRequest<H>>,
    /// The expected replies: the first belongs to the first request.
    expects: VecDeque<Expect>,
    /// The state of the CAS in the last reply.
    info: CasInfo,
    connected: Option<Connected>,
    /// The block that is open, as of what was answered, and as of what was sent.
    transaction: Transaction,
    /// The isolation level of the session, if the block has another one.
    isolation_before: Option<i32>,
    /// A part of a reply has come.
    is_reply_begun: bool,
    /// The bytes of the last reply.
    reply_bytes: usize,
    /// The last page has come, and its handler was full.
    is_last_page_due: bool,
    /// Statements survive the transaction in which they were prepared.
    pools_statements: bool,
    statements: Statements<Arc<str>, Statement>,
    /// Results that stay open.
    cursors: cursor::Cursors,
    /// Results of the transaction that were read to their end.
    open_results: results::OpenResults,
    /// The broker may not give the CAS to another client.
    keeps_cas: bool,
    query_timeout_millis: i32,
    loss: Option<Loss>,
    closing_error: Option<ServerError>,
    options: Box<SessionOptions>,
    /// The parameters that were set, with their values.
    parameters: Vec<(i32, i32)>,
    /// What has to hold of the session that is being resumed.
    resuming: Option<release::Resuming>,
    /// How often the session was resumed.
    resumed: u64,
}

impl<H: CasHandler> Machine<H> {
    /// A machine that has written its first messages. `statements` is the maximum number of cached prepared statements.
    ///
    /// # Errors
    /// [`Fatal`] when an option cannot be sent.
    pub fn new(options: &SessionOptions, statements: usize, write_buffer: &mut WriteBuffer) -> Result<Self, Fatal> {
        Ok(Self {
            phase: Phase::Startup(Box::new(Startup::new(options, Purpose::New, Vec::new(), write_buffer)?)),
            queue: Queue::default(),
            expects: VecDeque::new(),
            info: CasInfo::FIRST,
            connected: None,
            transaction: Transaction::default(),
            isolation_before: None,
            is_reply_begun: false,
            reply_bytes: 0,
            is_last_page_due: false,
            pools_statements: true,
            statements: Statements::new(statements),
            cursors: cursor::Cursors::new(),
            open_results: results::OpenResults::default(),
            keeps_cas: options.keeps_cas,
            query_timeout_millis: options.query_timeout_millis,
            loss: None,
            closing_error: None,
            options: Box::new(options.clone()),
            parameters: Vec::new(),
            resuming: None,
            resumed: 0,
        })
    }

    /// The broker's properties, once the session is open.
    pub fn broker(&self) -> Option<&BrokerInfo> {
        self.connected.as_ref().map(|connected| &connected.broker)
    }

    /// The session, once it is open: to be resumed after the connection was lost.
    pub fn session_id(&self) -> Option<SessionId> {
        self.connected.as_ref().map(|connected| connected.session)
    }

    /// Sets the code set of the database, of requests that are not sent yet.
    pub fn set_codeset(&mut self, codeset: CodeSet) {
        self.options.codeset = codeset;
    }

    /// How often the session was resumed after the broker had given its CAS to another client.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// What is known of the requests that were in flight when the connection was lost, once it was.
    pub fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// The number that the next request will have.
    pub fn next_id(&self) -> u64 {
        self.queue.next_id()
    }

    /// Forgets the prepared statement of a text: the next request with it has the server prepare it again.
    pub fn forget_statement(&mut self, sql: &str) {
        self.statements.forget(sql);
    }

    /// Returns true if the server sends the rows of a stream: only its reader may receive them.
    fn streams(&self) -> bool {
        self.queue.started() > 0 && self.current_handler().is_some_and(ResponseHandler::is_stream)
    }

    fn loss_at(&self, reason: &Fatal) -> Option<Loss> {
        if !self.is_ready() || reason.kind != FatalKind::ConnectionLost {
            return None;
        }
        let is_answered = self.queue.in_flight().any(|pending| pending.is_answered);
        // The statements of a block that were answered before are lost with its transaction, whatever the status is.
        let is_idle = !self.info.is_active && self.reported() != Reported::Open;
        let is_released = !self.keeps_cas && is_idle && !self.is_reply_begun && !is_answered;
        Some(if is_released { Loss::Released } else { Loss::Unknown })
    }
}

impl<H: CasHandler> headrace_core::Session for Machine<H> {
    fn next_step(&self) -> NextStep<'_> {
        match &self.phase {
            Phase::Startup(startup) if startup.awaits_tls() => NextStep::StartTls { request_first: false },
            Phase::Startup(startup) => match startup.redirect() {
                Some((host, port)) => NextStep::Reconnect { server: host, host, port },
                None => NextStep::Exchange,
            },
            Phase::Ready => NextStep::Ready,
            Phase::Released => {
                let host = &self.options.host;
                NextStep::Reconnect { server: host, host, port: self.options.port }
            }
            Phase::Closed => NextStep::Close,
        }
    }

    fn tls_ready(&mut self, _: Certificate, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if let Phase::Startup(startup) = &mut self.phase {
            startup.tls_ready(write_buffer);
        }
        Ok(())
    }

    fn reconnect(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        match &mut self.phase {
            Phase::Startup(startup) if startup.redirect().is_some() => {
                startup.reconnected(write_buffer);
                Ok(())
            }
            Phase::Released => self.resume_session(write_buffer),
            _ => Err(Fatal::peer("the broker's reply has no port to connect to")),
        }
    }

    fn terminate(&mut self, write_buffer: &mut WriteBuffer) {
        if self.is_ready() {
            if self.keeps_cas {
                // The mode is one of the CAS, and would apply to the next client.
                client::set_cas_change_mode(write_buffer.tail(), self.info, change_mode::AUTO);
            }
            client::plain(write_buffer.tail(), self.info, function::CON_CLOSE);
        }
        self.phase = Phase::Closed;
    }

    fn last_message(&self) -> Option<&str> {
        self.closing_error.as_ref().map(|error| error.message.as_str()).filter(|message| !message.is_empty())
    }

    /// That of a connection that was lost may be another client's.
    fn process_id(&self) -> i32 {
        self.connected.as_ref().filter(|_| self.is_ready()).map_or(0, |connected| connected.process_id)
    }

    /// The message is for the broker's port, even if the CAS listens on another one, and is not encrypted.
    fn cancellation(&self) -> Cancellation {
        match self.process_id() {
            0 => Cancellation::Impossible,
            process => {
                let mut message = Vec::new();
                login::cancel(&mut message, process);
                Cancellation::Message(message)
            }
        }
    }

    headrace_core::session_of_fields!();

    fn only_fetches(&self) -> bool {
        let mut at_server = self.queue.in_flight().filter(|pending| pending.replies_due > 0).peekable();
        at_server.peek().is_some() && at_server.all(PendingRequest::is_fetching)
    }

    fn is_occupied(&self) -> bool {
        self.streams()
    }

    fn is_kept_waiting(&self, id: u64) -> bool {
        self.streams() && self.queue.first().is_none_or(|pending| pending.slot.id != id)
    }

    fn reported(&self) -> Reported {
        self.transaction.reported()
    }

    fn transaction_ahead(&self) -> Option<bool> {
        self.queue.transaction_ahead(self.transaction.is_open(), |pending| pending.effect())
    }

    fn forget_statements(&mut self) {
        self.statements.forget_all();
    }
}

impl<H: CasHandler> Protocol for Machine<H> {
    type Handler = H;
    type Request = Request;
    type Pending = PendingRequest<H>;

    headrace_core::protocol_of_fields!();

    fn submit(&mut self, request: Request, handler: H) -> u64 {
        self.queue.submit(handler, |slot| PendingRequest::new(slot, request))
    }

    fn of_verb(verb: &Verb) -> Result<Vec<Request>, Mismatch> {
        verb::requests(verb)
    }

    /// No request consists of text only.
    fn text(_: &Request) -> Option<&Arc<str>> {
        None
    }

    fn may_be_released(&self) -> bool {
        self.is_ready() && !self.keeps_cas && !self.info.is_active && self.reported() != Reported::Open
    }

    fn has_nothing_to_end(&self) -> bool {
        // The CAS may be in a transaction that the program has not begun. One that the server has ended by itself is open
        // to the program until it ends it.
        self.queue.is_empty() && !self.info.is_active && self.reported() == Reported::Idle
    }

    fn survive_loss(&mut self, cx: H::Context<'_>, reason: &Fatal) -> bool {
        self.released(cx, reason)
    }

    fn abort(&mut self, cx: H::Context<'_>, reason: &Fatal) {
        let mut reason = reason.clone();
        let loss = self.loss_at(&reason);
        if loss == Some(Loss::Released) && self.queue.started() > 0 {
            reason.message += " while no transaction was open: the broker may have given its process to another client \
                               (KEEP_CONNECTION=AUTO), and has executed nothing then";
        }
        self.loss = self.loss.or(loss);
        self.phase = Phase::Closed;
        self.expects.clear();
        self.statements.lost_all();
        self.queue.abort(cx, &reason, self.closing_error.clone());
    }
}
