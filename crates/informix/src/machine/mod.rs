//! The connection as a state machine: requests in, bytes out; bytes in, replies out.
//!
//! All requests are in one [`Queue`]. Only the last that has begun to be sent can still have something to send, so
//! groups are sent in the order of the queue; except for concurrent queries: see [`side_by_side`]. Each group that was
//! sent is in `groups`, and a reply always belongs to the first of these.

mod batch;
mod cursor;
mod interrupt;
mod locale;
mod pending;
mod query;
mod receive;
mod request;
mod routine;
mod run;
mod send;
mod side_by_side;
mod stage;
mod startup;
mod statement;
mod verb;

pub use request::{BatchStrategy, Declare, Execute, ParameterRows, Position, Request};
pub use run::Tuples;
pub use stage::{RequestEvent, RequestState, TRANSITIONS};
pub use startup::{Secret, SessionOptions};
pub use statement::{Columns, Statement};

use crate::capabilities::Capabilities;
use crate::codeset::CodeSet;
use crate::messages::server::{Scan, ServerError};
use crate::messages::{client, tag};
use cursor::Open;
use headrace_core::{
    Cancellation, Certificate, Discarded, Fatal, Interrupt, Mismatch, NextStep, Pending as _, Protocol, Queue,
    ReadBuffer, Reported, Requests, ResponseHandler, Session, Statements, Transaction, Verb, WriteBuffer,
};
use interrupt::Urgent;
use pending::PendingRequest;
use request::{Expect, Group, Reply};
use side_by_side::Duplicates;
use startup::{Progress, Startup};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// A response handler for SQLI.
pub trait IfxHandler: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError> {}
impl<H: ResponseHandler<Columns = Arc<Columns>, ServerError = ServerError>> IfxHandler for H {}

/// The style of a question at login whose answer may be shown (PAM_PROMPT_ECHO_ON).
const SHOWN: u16 = 2;

/// The urgent byte that interrupts a statement.
const INTERRUPT: u8 = b'B';

#[derive(Debug)]
enum Phase {
    Startup(Box<Startup>),
    Ready,
    Closed,
}

/// The transaction mode of the database, from the warning bits of SQ_DBOPEN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logging {
    /// No database, or one without transactions.
    #[default]
    None,
    /// A statement is a transaction of its own unless BEGIN WORK came before.
    Logged,
    /// MODE ANSI: a transaction is always open, and BEGIN WORK an error.
    Ansi,
}

/// One connection to Informix.
#[derive(Debug)]
pub struct Machine<H: ResponseHandler> {
    phase: Phase,
    queue: Queue<PendingRequest<H>>,
    groups: VecDeque<Group>,
    reply: Reply,
    /// The minimum length in bytes of the message at the front, if it is not complete; else 0.
    needed: usize,
    /// How far that message has been scanned.
    scan: Scan,
    /// As of what was answered, and as of what was sent.
    transaction: Transaction,
    logging: Logging,
    cursors: u64,
    /// The last urgent byte, until the server has read past it.
    urgent: Option<Urgent>,
    /// Cursors that stay open, by the response handlers' numbers.
    open_cursors: HashMap<u64, Open>,
    /// Handles of routines, by their signatures.
    routines: HashMap<Arc<str>, routine::Handle>,
    /// Their epoch advances with changes of definitions and their rollback: statements prepared before may be outdated.
    statements: Statements<Arc<str>, Statement>,
    duplicates: Duplicates,
    capabilities: Capabilities,
    codeset: CodeSet,
    /// The one that the user named.
    given_codeset: Option<CodeSet>,
    locale: Option<String>,
    /// The question for the locale of a database that a statement opens.
    question: locale::Question,
    banner: String,
    process_id: i32,
    redirect: Option<(String, String, u16)>,
    /// A question at login that waits for its answer: its style, its text.
    challenge: Option<(u16, String)>,
    /// DELIMIDENT was among the variables of the login.
    delimited_identifiers: bool,
    /// The server asks questions at login, which were not expected.
    asks_questions: bool,
    closing_error: Option<ServerError>,
}

impl<H: IfxHandler> Machine<H> {
    /// A machine whose first bytes are in `write_buffer`. `statements` is the maximum number of cached prepared
    /// statements.
    ///
    /// # Errors
    /// [`Fatal`] when the options do not fit a login packet.
    pub fn new(options: SessionOptions, statements: usize, write_buffer: &mut WriteBuffer) -> Result<Self, Fatal> {
        let delimits = |(name, _): &(String, String)| name.eq_ignore_ascii_case("DELIMIDENT");
        let delimited_identifiers = options.environment.iter().any(delimits);
        Ok(Self {
            phase: Phase::Startup(Box::new(Startup::new(options, write_buffer)?)),
            queue: Queue::default(),
            groups: VecDeque::new(),
            reply: Reply::default(),
            needed: 0,
            scan: Scan::default(),
            transaction: Transaction::default(),
            logging: Logging::None,
            cursors: 0,
            urgent: None,
            open_cursors: HashMap::new(),
            routines: HashMap::new(),
            statements: Statements::new(statements),
            duplicates: Duplicates::default(),
            capabilities: Capabilities::default(),
            codeset: CodeSet::Latin1,
            given_codeset: None,
            locale: None,
            question: locale::Question::default(),
            banner: String::new(),
            process_id: 0,
            redirect: None,
            challenge: None,
            delimited_identifiers,
            asks_questions: false,
            closing_error: None,
        })
    }

    /// The transaction mode of the database.
    pub fn logging(&self) -> Logging {
        self.logging
    }

    /// The server's banner.
    pub fn banner(&self) -> &str {
        &self.banner
    }

    /// Returns true if what is in double quotes is an identifier (IBM Informix Guide to SQL: Reference, "DELIMIDENT").
    pub fn has_delimited_identifiers(&self) -> bool {
        self.delimited_identifiers
    }

    /// The database's locale, if it was queried.
    pub fn locale(&self) -> Option<&str> {
        self.locale.as_deref()
    }

    /// The code set that text travels in.
    pub fn codeset(&self) -> CodeSet {
        self.codeset
    }

    /// The capabilities of both sides.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Answers the question at login.
    pub fn respond(&mut self, answer: &str, write_buffer: &mut WriteBuffer) {
        if self.challenge.take().is_some() && answer.len() <= usize::from(u16::MAX) {
            client::response(write_buffer.tail(), answer.as_bytes());
            client::eot(write_buffer.tail());
        }
    }

    /// Returns true if the server refused the session because it asks questions at login: see [`SessionOptions::pam`].
    pub fn asks_questions(&self) -> bool {
        self.asks_questions
    }

    /// Forgets the prepared statement of a text: the next request with it has the server prepare it again.
    pub fn forget_statement(&mut self, sql: &str) {
        if self.statements.get(sql).cloned().is_some_and(|known| self.duplicates.are_of(&known)) {
            self.release_duplicates();
        }
        self.statements.forget(sql);
    }

    /// The warning bits of SQ_DBOPEN, or of a DATABASE statement.
    fn opened(&mut self, warnings: u16) {
        self.logging = match warnings & 3 {
            0 | 2 => Logging::None,
            1 => Logging::Logged,
            _ => Logging::Ansi,
        };
    }

    /// Handles every whole message in the read buffer, of the session that is being opened or of one that is open.
    ///
    /// # Errors
    /// [`Fatal`]: the connection must be closed.
    fn read(
        &mut self,
        cx: H::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Closed) {
                Phase::Startup(mut startup) => {
                    let progress = self.start(&mut startup, read_buffer, write_buffer)?;
                    self.phase = if progress == Progress::Ready { Phase::Ready } else { Phase::Startup(startup) };
                    if progress == Progress::Wait {
                        return Ok(());
                    }
                }
                Phase::Ready => {
                    self.phase = Phase::Ready;
                    return self.read_replies(cx, read_buffer, write_buffer);
                }
                Phase::Closed => return Ok(()),
            }
        }
    }

    /// Sends CLOSE, RELEASE or both, as groups that no request waits for.
    fn clean_up(&mut self, write_buffer: &mut WriteBuffer, id: u16, close: bool, release: bool) {
        for (wanted, tag) in [(close, tag::SQ_CLOSE), (release, tag::SQ_RELEASE)] {
            if wanted {
                let out = write_buffer.tail();
                client::id(out, id);
                client::plain(out, tag);
                client::eot(out);
                self.groups.push_back(Group { request_id: 0, expect: Expect::CleanUp });
            }
        }
    }
}

impl<H: IfxHandler> Session for Machine<H> {
    fn next_step(&self) -> NextStep<'_> {
        if let Some((server, host, port)) = &self.redirect {
            return NextStep::Reconnect { server, host, port: *port };
        }
        if let Some((style, text)) = &self.challenge {
            return NextStep::Question { text, is_shown: *style == SHOWN };
        }
        match &self.phase {
            Phase::Startup(startup) if startup.awaits_tls() => NextStep::StartTls { request_first: false },
            Phase::Startup(_) => NextStep::Exchange,
            Phase::Ready => NextStep::Ready,
            Phase::Closed => NextStep::Close,
        }
    }

    fn tls_ready(&mut self, _: Certificate, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        match &mut self.phase {
            Phase::Startup(startup) => startup.tls_ready(write_buffer),
            _ => Ok(()),
        }
    }

    fn reconnect(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        match (&mut self.phase, self.redirect.take()) {
            (Phase::Startup(startup), Some((server, ..))) => startup.begin_again(server, write_buffer),
            _ => Err(Fatal::peer("the session is not one that begins again with another server")),
        }
    }

    fn terminate(&mut self, write_buffer: &mut WriteBuffer) {
        if self.is_ready() {
            client::plain(write_buffer.tail(), tag::SQ_EXIT);
        }
        self.phase = Phase::Closed;
    }

    fn process_id(&self) -> i32 {
        self.process_id
    }

    /// [`Machine::interrupt`] decides when.
    fn cancellation(&self) -> Cancellation {
        Cancellation::UrgentByte(INTERRUPT)
    }

    fn interrupt(&mut self, now: Instant) -> Interrupt {
        self.may_interrupt(now)
    }

    /// A batch that is still being sent is rolled back. Its rows may be interrupted, but only once: their rollback is
    /// part of it.
    fn discard(&mut self, id: u64) -> Discarded {
        let discarded = self.queue.discard(id);
        let Some(pending) = self.queue.started_by_id_mut(id) else { return discarded };
        if let Some(query) = pending.query_mut() {
            query.abandon();
        }
        let rows_run = pending.is_batch() && pending.is_at_server() && self.queue.started() == 1;
        if rows_run { Discarded::Alone } else { discarded }
    }

    headrace_core::session_of_fields!();

    fn reported(&self) -> Reported {
        self.transaction.reported()
    }

    fn transaction_ahead(&self) -> Option<bool> {
        self.queue.transaction_ahead(self.transaction.is_open(), PendingRequest::effect)
    }

    fn forget_statements(&mut self) {
        self.statements.forget_all();
        self.release_duplicates();
    }
}

impl<H: IfxHandler> Protocol for Machine<H> {
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

    fn text(_: &Request) -> Option<&Arc<str>> {
        None
    }

    fn abort(&mut self, cx: H::Context<'_>, reason: &Fatal) {
        self.phase = Phase::Closed;
        self.groups.clear();
        self.queue.abort(cx, reason, self.closing_error.clone());
    }
}
