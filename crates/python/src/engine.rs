//! The machine of one protocol or another, so that one [`crate::wire::Wire`] serves every database.
//!
//! A call goes through one `match` here per request or per read; rows and values are decoded by code that is compiled for
//! its protocol.

use crate::call::{Completion, PyCall};
use crate::columns::{IfxColumns, MyColumns, PgColumns};
use crate::errors;
use crate::query::{self, Query};
use headrace_core::protocol::Fatal;
use headrace_core::{Discarded, Inbox, Outbox, Protocol};
use headrace_informix::machine as informix;
use headrace_informix::messages::server::ServerError as IfxError;
use headrace_mysql::machine as mysql;
use headrace_mysql::packets::reply::ServerError as MyError;
use headrace_postgres::machine as postgres;
use headrace_postgres::messages::backend::ServerError as PgError;
use pyo3::prelude::*;
use std::sync::Arc;

/// What Python has to know of a protocol.
pub trait Dialect: Sized + 'static {
    /// The columns of a result.
    type Columns;
    /// The server's error.
    type ServerError;
    /// The machine.
    type Machine: Protocol<Caller = PyCall<Self>>;

    /// The Python object for columns.
    fn columns(py: Python<'_>, columns: &Arc<Self::Columns>) -> PyResult<Py<PyAny>>;
    /// The exception for a server's error.
    fn error(py: Python<'_>, error: &Self::ServerError, statement: Option<&str>, row: Option<u64>) -> PyErr;
    /// Whether an error of a later statement of the same text leaves what the earlier ones did.
    const RESULTS_STAND: bool;
    /// The machine, if it is of this protocol.
    fn machine(engine: &mut Engine) -> Option<&mut Self::Machine>;
}

/// PostgreSQL.
#[derive(Debug)]
pub struct Postgres;

/// Informix.
#[derive(Debug)]
pub struct Informix;

/// MySQL and MariaDB.
#[derive(Debug)]
pub struct MySql;

/// PostgreSQL's machine.
pub type PgMachine = postgres::Machine<PyCall<Postgres>>;

/// Informix's machine.
pub type IfxMachine = informix::Machine<PyCall<Informix>>;

/// The machine of MySQL and MariaDB.
pub type MyMachine = mysql::Machine<PyCall<MySql>>;

impl Dialect for Postgres {
    type Columns = postgres::Columns;
    type ServerError = PgError;
    type Machine = PgMachine;

    const RESULTS_STAND: bool = false;
    fn columns(py: Python<'_>, columns: &Arc<postgres::Columns>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, PgColumns::new(columns.clone()))?.into_any())
    }
    fn error(py: Python<'_>, error: &PgError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        errors::server(py, error, statement, row)
    }
    fn machine(engine: &mut Engine) -> Option<&mut PgMachine> {
        match engine {
            Engine::Postgres(machine) => Some(machine),
            _ => None,
        }
    }
}

impl Dialect for Informix {
    type Columns = informix::Columns;
    type ServerError = IfxError;
    type Machine = IfxMachine;

    const RESULTS_STAND: bool = false;
    fn columns(py: Python<'_>, columns: &Arc<informix::Columns>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, IfxColumns::new(columns.clone()))?.into_any())
    }
    fn error(py: Python<'_>, error: &IfxError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        errors::informix(py, error, statement, row)
    }
    fn machine(engine: &mut Engine) -> Option<&mut IfxMachine> {
        match engine {
            Engine::Informix(machine) => Some(machine),
            _ => None,
        }
    }
}

impl Dialect for MySql {
    type Columns = mysql::Columns;
    type ServerError = MyError;
    type Machine = MyMachine;

    const RESULTS_STAND: bool = true;
    fn columns(py: Python<'_>, columns: &Arc<mysql::Columns>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, MyColumns::new(columns.clone()))?.into_any())
    }
    fn error(py: Python<'_>, error: &MyError, statement: Option<&str>, row: Option<u64>) -> PyErr {
        errors::mysql(py, error, statement, row)
    }
    fn machine(engine: &mut Engine) -> Option<&mut MyMachine> {
        match engine {
            Engine::MySql(machine) => Some(machine),
            _ => None,
        }
    }
}

/// What is known of a server's certificate.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    /// Its hash for channel binding (RFC 5929), where there is one.
    pub end_point: Option<Vec<u8>>,
    /// Its SHA-256.
    pub fingerprint: Option<[u8; 32]>,
    /// Someone who is trusted vouches for it.
    pub verified: bool,
}

/// A machine.
#[derive(Debug)]
pub enum Engine {
    /// Of PostgreSQL.
    Postgres(Box<PgMachine>),
    /// Of Informix.
    Informix(Box<IfxMachine>),
    /// Of MySQL and MariaDB.
    MySql(Box<MyMachine>),
}

macro_rules! each {
    ($self:ident, $machine:ident => $do:expr) => {
        match $self {
            Engine::Postgres($machine) => $do,
            Engine::Informix($machine) => $do,
            Engine::MySql($machine) => $do,
        }
    };
}

impl Engine {
    /// The machine of a protocol.
    ///
    /// # Errors
    /// NotSupportedError: the method that was called is another database's.
    pub fn of<D: Dialect>(&mut self, py: Python<'_>) -> PyResult<&mut D::Machine> {
        D::machine(self).ok_or_else(|| errors::unsupported(py, "this database has no such request"))
    }

    /// PostgreSQL's machine: see [`Engine::of`].
    ///
    /// # Errors
    /// As [`Engine::of`].
    pub fn postgres(&mut self, py: Python<'_>) -> PyResult<&mut PgMachine> {
        self.of::<Postgres>(py)
    }

    /// A statement in the server's style of parameters.
    ///
    /// # Errors
    /// ProgrammingError for a NUL byte, a stray percent sign, or mixed styles.
    pub fn convert(&self, py: Python<'_>, sql: &str, with_params: bool) -> PyResult<Query> {
        match self {
            Engine::Postgres(_) => query::convert(py, sql, with_params),
            Engine::Informix(_) => query::convert_informix(py, sql),
            Engine::MySql(machine) => query::convert_mysql(py, sql, with_params, machine.session().modes()),
        }
    }

    /// Handles what is in the inbox.
    pub fn receive(&mut self, py: Python<'_>, inbox: &mut Inbox, outbox: &mut Outbox) -> Result<(), Fatal> {
        each!(self, machine => machine.receive(py, inbox, outbox))
    }

    /// Encodes what is queued.
    pub fn transmit(&mut self, py: Python<'_>, outbox: &mut Outbox) {
        each!(self, machine => machine.transmit(py, outbox));
    }

    /// Ends every request.
    pub fn abort(&mut self, py: Python<'_>, reason: &Fatal) {
        each!(self, machine => machine.abort(py, reason));
    }

    /// Whether the TLS layer is to be put in place.
    pub fn wants_tls(&self) -> bool {
        match self {
            Engine::Postgres(machine) => machine.tls_step() == postgres::TlsStep::Start,
            Engine::Informix(machine) => machine.tls_step() == informix::TlsStep::Start,
            Engine::MySql(machine) => machine.tls_step() == mysql::TlsStep::Start,
        }
    }

    /// Whether what is in the outbox then, the request for TLS, goes ahead of the TLS layer.
    pub fn asks_for_tls_in_clear(&self) -> bool {
        matches!(self, Engine::MySql(_))
    }

    /// The TLS layer is in place, with this server's certificate.
    pub fn tls_ready(&mut self, certificate: Certificate, outbox: &mut Outbox) -> Result<(), Fatal> {
        match self {
            Engine::Postgres(machine) => {
                machine.tls_ready(certificate.end_point, outbox);
                Ok(())
            }
            Engine::Informix(machine) => machine.tls_ready(outbox),
            Engine::MySql(machine) => {
                if certificate.verified {
                    machine.trust_certificate();
                }
                machine.tls_ready(certificate.fingerprint, outbox)
            }
        }
    }

    /// Whether the session can take requests.
    pub fn is_ready(&self) -> bool {
        each!(self, machine => machine.is_ready())
    }

    /// Whether what the connection was opened for is done: a session, or a cancel request; or a question at login has to
    /// be answered first.
    pub fn is_opened(&self) -> bool {
        match self {
            Engine::Postgres(machine) => machine.is_ready() || machine.is_cancel_sent(),
            Engine::Informix(machine) => machine.is_ready() || machine.challenge().is_some(),
            Engine::MySql(machine) => machine.is_ready(),
        }
    }

    /// The server's process, and the secret that cancels it where there is one.
    pub fn key(&self) -> (i32, Vec<u8>) {
        match self {
            Engine::Postgres(machine) => (machine.key().0, machine.key().1.to_vec()),
            Engine::Informix(machine) => (machine.process_id(), Vec::new()),
            // The thread's number, which is unsigned.
            Engine::MySql(machine) => (machine.session().thread_id.cast_signed(), Vec::new()),
        }
    }

    /// Whether nothing is queued or in flight.
    pub fn is_idle(&self) -> bool {
        each!(self, machine => machine.is_idle())
    }

    /// The transaction's status: 0 idle, 2 in a transaction, 3 in a failed one.
    pub fn status(&self) -> u8 {
        match self {
            Engine::Postgres(machine) => match machine.status() {
                postgres::TransactionStatus::Idle => 0,
                postgres::TransactionStatus::InTransaction => 2,
                postgres::TransactionStatus::Failed => 3,
            },
            Engine::Informix(machine) => 2 * u8::from(machine.in_transaction()),
            Engine::MySql(machine) => 2 * u8::from(machine.session().in_transaction()),
        }
    }

    /// The same for those who share the connection: a transaction that is a stream's, a load's or a batch's own is none of
    /// theirs.
    pub fn shared_status(&self) -> u8 {
        match self {
            Engine::Postgres(machine) if machine.shared_status() == postgres::TransactionStatus::Idle => 0,
            Engine::MySql(machine) => 2 * u8::from(machine.shares_transaction()),
            _ => self.status(),
        }
    }

    /// Requests queued or in flight.
    pub fn queued(&self) -> usize {
        each!(self, machine => machine.queued())
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        each!(self, machine => machine.in_flight())
    }

    /// Prepared statements kept.
    pub fn statements(&self) -> usize {
        each!(self, machine => machine.statements())
    }

    /// Forgets them.
    pub fn forget_statements(&mut self) {
        each!(self, machine => machine.forget_statements());
    }

    /// Starts no further request until released.
    pub fn hold(&mut self, held: bool) {
        each!(self, machine => machine.hold(held));
    }

    /// A cancel request was sent, and the server has taken it.
    pub fn cancel_sent(&mut self) {
        if let Engine::MySql(machine) = self {
            machine.kill_sent();
        }
    }

    /// Forgets who asked for a request.
    pub fn discard(&mut self, id: u64) -> Discarded {
        each!(self, machine => machine.discard(id))
    }

    /// Whether a cancel request is worth repeating: the server is still at what was discarded, and nothing else could be
    /// hit.
    pub fn is_at_discarded(&self) -> bool {
        each!(self, machine => machine.is_at_discarded())
    }

    /// Whether request `id` is queued or in flight.
    pub fn has(&self, id: u64) -> bool {
        each!(self, machine => machine.has(id))
    }

    /// Sees that the server has no reason to keep the answer to itself that somebody waits for.
    pub fn ask_for_answer(&mut self, ticket: &Bound<'_, PyAny>) {
        if let Engine::Postgres(machine) = self
            && let Some(id) = machine.find(|call| call.completion.is(ticket))
        {
            machine.ask_for_answer(id);
        }
    }

    /// The number of the request that a ticket or future stands for.
    pub fn find(&self, ticket: &Bound<'_, PyAny>) -> Option<u64> {
        each!(self, machine => machine.find(|call| call.completion.is(ticket)))
    }

    /// Whether anybody waits for a request.
    pub fn is_awaited(&self) -> bool {
        each!(self, machine => machine.find(|_| true).is_some())
    }

    /// Shows everybody who waits, and who waits for the next step of a COPY, until one of these calls fails.
    pub fn visit_callers<E>(
        &self,
        visit: &mut impl FnMut(&Completion, Option<&Completion>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut shown = Ok(());
        let _ = each!(self, machine => machine.find(|call| {
            shown = visit(&call.completion, call.progress.as_ref());
            shown.is_err()
        }));
        shown
    }

    /// Says goodbye.
    pub fn terminate(&mut self, outbox: &mut Outbox) {
        each!(self, machine => machine.terminate(outbox));
    }

    /// Notifications that wait.
    pub fn notifications(&self) -> usize {
        match self {
            Engine::Postgres(machine) => machine.notifications(),
            _ => 0,
        }
    }

    /// Whether the request of a ticket is not begun with because a stream, a COPY or a load has the connection for itself.
    pub fn is_kept_waiting(&self, ticket: &Bound<'_, PyAny>) -> bool {
        self.is_occupied()
            && self.find(ticket).is_some_and(|id| match self {
                Engine::Postgres(machine) => machine.is_kept_waiting(id),
                Engine::MySql(machine) if is_read(machine) => !machine.is_current(id),
                Engine::MySql(machine) => machine.is_kept_waiting(id),
                Engine::Informix(_) => false,
            })
    }

    /// Whether a stream, a COPY or a load has the connection for itself.
    pub fn is_occupied(&self) -> bool {
        match self {
            Engine::Postgres(machine) => machine.is_occupied(),
            Engine::MySql(machine) => is_read(machine) || machine.is_occupied(),
            Engine::Informix(_) => false,
        }
    }

    /// Whether notices wait.
    pub fn has_notices(&self) -> bool {
        matches!(self, Engine::Postgres(machine) if machine.has_notices())
    }

    /// Bytes of a bulk transfer that wait for the current caller.
    pub fn backlog(&self) -> usize {
        match self {
            Engine::Postgres(machine) => machine.current_caller().map_or(0, PyCall::backlog),
            _ => 0,
        }
    }

    /// Tells the reader of a stream that a block can be taken; says whether one can.
    pub fn offer_block(&mut self, py: Python<'_>) -> bool {
        let Engine::MySql(machine) = self else { return false };
        let Some(call) = machine.current_caller_mut().filter(|call| call.has_block()) else { return false };
        call.step(py);
        true
    }

    /// What the server said before it ended the session, for a message.
    pub fn last_message(&self) -> Option<&str> {
        match self {
            Engine::Postgres(machine) => machine.last_words().map(|words| words.field(b'M')),
            Engine::Informix(_) => None,
            Engine::MySql(machine) => machine.last_words().map(|words| words.message.as_str()),
        }
    }

    /// What the server said before it ended the session, as an exception.
    pub fn last_error(&self, py: Python<'_>) -> Option<PyErr> {
        match self {
            Engine::Postgres(machine) => machine.last_words().map(|words| Postgres::error(py, words, None, None)),
            Engine::Informix(machine) => machine.last_words().map(|words| Informix::error(py, words, None, None)),
            Engine::MySql(machine) => machine.last_words().map(|words| MySql::error(py, words, None, None)),
        }
    }
}

/// Whether the server sends the rows of a stream: only who reads it may receive them, or all of it would be kept in memory.
fn is_read(machine: &MyMachine) -> bool {
    machine.in_flight() > 0 && machine.current_caller().is_some_and(|call| call.block.is_some())
}
