//! A connection of `headrace-io`, whichever protocol it has: requests are submitted, and driven to their replies.

use crate::bound::Bound;
use crate::call::{Call, Reply, Take};
use crate::databases::{AdbcDatabase, Handler, Machine};
use crate::error::{of, of_fatal, of_mismatch, of_server, unsupported};
use crate::limits::CANCEL_AGAIN;
use crate::limits::CANCEL_TIMEOUT;
use crate::target::{ResolvedPlace, Target, of_unusable};
use adbc_core::error::{Error, Result, Status};
use headrace_core::{Fatal, FatalKind, NextStep, Protocol as _, Session as _, TransactionStatus, Verb};
use headrace_drivers::Repeats;
use headrace_io::blocking::Client;
use headrace_io::{CancelSent, TcpOptions};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// How many rows of parameters a statement has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundRows {
    /// One, or none. Its parameters have the types of their values.
    One,
    /// One, of a statement that may be executed for any number of rows: its parameters have the types that those of many
    /// have, which are the server's.
    OneOfMany,
    /// Many, all of which are executed or none.
    Many,
    /// The same, by the fastest strategy even if they are few.
    Bulk,
}

/// A request.
#[derive(Clone, Debug)]
pub enum StatementRequest {
    /// Execute a statement.
    Execute {
        /// The statement, with the server's own placeholders.
        sql: Arc<str>,
        /// Its parameters.
        rows: BoundRows,
    },
    /// Prepare a statement, and describe its columns.
    Describe {
        /// The statement.
        sql: Arc<str>,
    },
}

/// A connection: see the module.
pub trait BlockingSession: Send {
    /// Queues a request.
    ///
    /// # Errors
    /// The database has no such request.
    fn submit(&mut self, request: &StatementRequest, bound: Option<Bound>, reply: &Arc<Reply>) -> Result<()>;
    /// Returns true if a statement may change something, as far as its text shows.
    fn may_write(&self, sql: &str) -> bool;
    /// Queues a verb; `reply` is that of its last request. Returns false if the verb needs no request.
    ///
    /// # Errors
    /// The database does not have it.
    fn submit_verb(&mut self, verb: &Verb, reply: &Arc<Reply>) -> Result<bool>;
    /// Whether the database has this verb.
    ///
    /// # Errors
    /// It does not.
    fn check_verb(&self, verb: &Verb) -> Result<()>;
    /// Moves bytes until `until` returns true, which is asked whenever something has happened. Cancels the running
    /// statement when that is requested; `reply` is then told.
    ///
    /// # Errors
    /// The connection has ended.
    fn drive(&mut self, reply: &Reply, until: &mut dyn FnMut() -> bool) -> Result<()>;
    /// The response handler that was full has room again.
    fn resume(&mut self);
    /// From now on the running statement is that of these requests for cancellation.
    fn watch(&mut self, cancel: Arc<Cancel>);
    /// The transaction; that of a session that has ended is none.
    fn transaction(&self) -> TransactionStatus;
    /// Returns true if the session has ended.
    fn is_closed(&self) -> bool;
    /// A parameter that the server has reported when the session was opened: its version.
    fn server_version(&self) -> Option<String>;
    /// Ends the session.
    fn close(&mut self);
}

/// Requests for the cancellation of what a statement or a connection has under way, made by other threads.
#[derive(Debug, Default)]
pub struct Cancel(AtomicU8);

/// Nothing is under way.
const IDLE: u8 = 0;
/// A call is, also while it waits for its turn; or rows are being read.
const RUNNING: u8 = 1;
/// It is to be cancelled.
const WANTED: u8 = 2;

impl Cancel {
    /// Requests it; returns false if nothing is under way.
    pub fn request(&self) -> bool {
        self.0.compare_exchange(RUNNING, WANTED, Ordering::SeqCst, Ordering::SeqCst) != Err(IDLE)
    }

    /// A call begins.
    pub fn begin(&self) {
        self.0.store(RUNNING, Ordering::SeqCst);
    }

    /// The call has ended, and there are no rows to read.
    pub fn end(&self) {
        self.0.store(IDLE, Ordering::SeqCst);
    }

    /// Withdraws the request; returns true if there was one.
    pub fn take(&self) -> bool {
        self.0.compare_exchange(WANTED, RUNNING, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Returns true if it was requested.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Ordering::SeqCst) == WANTED
    }
}

/// A session with a database.
pub struct Live<D: AdbcDatabase> {
    /// `None` once it is closed.
    client: Option<Client<Machine<D>>>,
    target: Target,
    tcp: TcpOptions,
    place: ResolvedPlace,
    cancel: Arc<Cancel>,
    database: PhantomData<fn() -> D>,
}

impl<D: AdbcDatabase> Live<D> {
    /// Opens a session with the first server of a target that takes a connection.
    ///
    /// # Errors
    /// There is none, or it has refused the session.
    pub fn open(target: &Target) -> Result<Self> {
        let mut last = None;
        for role in D::roles(target) {
            for place in target.places()? {
                match Self::open_at(target, &place) {
                    Ok(mut client) => {
                        if !D::has_role(&client.connection.machine, role)? {
                            client.close(());
                            let reason =
                                format!("a server of {} is not {role}, as target_session_attrs asks", place.host);
                            last = Some(of(Status::IO, reason));
                            continue;
                        }
                        client.resume_when_lost(&target.tcp()?, target.connect_timeout()?);
                        return Ok(Self {
                            client: Some(client),
                            target: target.clone(),
                            tcp: target.tcp()?,
                            place,
                            cancel: Arc::default(),
                            database: PhantomData,
                        });
                    }
                    // Another server is of no use if this one has refused the user.
                    Err((true, error)) => return Err(error),
                    Err((false, error)) => last = Some(error),
                }
            }
        }
        Err(last.unwrap_or_else(|| of(Status::IO, "the host has no address")))
    }

    /// Opens a session at a place; the error comes with whether the server was reached.
    fn open_at(target: &Target, place: &ResolvedPlace) -> std::result::Result<Client<Machine<D>>, (bool, Error)> {
        let encryption = target.encryption(place);
        let tcp = target.tcp().map_err(|error| (true, error))?;
        let deadline = target.connect_timeout().map_err(|error| (true, error))?.map(|limit| Instant::now() + limit);
        let connection =
            D::connection(&target.login(place, &encryption)).map_err(|error| (true, of_unusable(error)))?;
        let client = Client::connect(&place.address, &tcp, connection, deadline);
        let mut client = client.map_err(|fatal| (fatal.kind != FatalKind::ConnectFailed, of_fatal(&fatal)))?;
        if let Err(fatal) = client.establish(&tcp, (), deadline) {
            let refused = client.connection.machine.closing_error().map(|error| of_server(error, None, false));
            return Err((fatal.kind != FatalKind::ConnectFailed, refused.unwrap_or_else(|| of_fatal(&fatal))));
        }
        match client.connection.next_step() {
            NextStep::Ready => Ok(client),
            _ => {
                client.close(());
                let reason = "the server asks a question at login, which this driver cannot answer";
                Err((true, of(Status::Unauthenticated, reason)))
            }
        }
    }

    fn client(&mut self) -> Result<&mut Client<Machine<D>>> {
        self.client.as_mut().ok_or_else(|| of(Status::InvalidState, "the connection is closed"))
    }

    /// The error of a connection that has ended.
    fn ended(&self, fatal: &Fatal) -> Error {
        let client = self.client.as_ref();
        let closing = client.and_then(|client| client.connection.machine.closing_error());
        closing.map_or_else(|| of_fatal(fatal), |error| of_server(error, None, false))
    }

    fn call(bound: Option<Bound>, many: bool, reply: &Arc<Reply>) -> Handler<D> {
        Call { bound, many, reply: reply.clone(), protocol: PhantomData }
    }

    /// Sends a cancel request in the way of the protocol. Nothing else is started meanwhile: one that arrives late would
    /// hit the next statement.
    fn send_cancel(&mut self) -> std::result::Result<Sent, Fatal> {
        let deadline = Some(Instant::now() + CANCEL_TIMEOUT);
        let Some(client) = &mut self.client else { return Ok(Sent::Done) };
        match client.send_cancel(&self.place.address, &self.tcp, deadline)? {
            CancelSent::Done => Ok(Sent::Done),
            CancelSent::Later => Ok(Sent::Later),
            CancelSent::Statement(statement) => {
                let Ok(mut other) = Self::open_at(&self.target, &self.place) else { return Ok(Sent::Done) };
                let number = other.connection.machine.process_id();
                let mut ask = |sql: String| {
                    let reply = Reply::new(headrace_arrow::ArrowOptions::default(), Take::All);
                    let request = D::execute(sql.into(), Repeats::Once);
                    other.connection.machine.submit(request, Self::call(None, false, &reply));
                    match other.drive((), deadline, |_| reply.is_over())? {
                        true => Ok(matches!(reply.take(), Ok(Some(batch)) if batch.num_rows() > 0)),
                        false => Err(Fatal::new(FatalKind::NoAnswer, "the server did not answer in time")),
                    }
                };
                let is_elsewhere = match statement.question(number) {
                    // Without an answer nothing was sent that cancels.
                    Some(question) => {
                        ask(question).map_err(|fatal| Fatal { kind: FatalKind::ConnectFailed, ..fatal })?
                    }
                    None => false,
                };
                if !is_elsewhere {
                    ask(statement.sql).map_err(|fatal| Fatal { kind: FatalKind::NoAnswer, ..fatal })?;
                }
                other.close(());
                Ok(Sent::Done)
            }
        }
    }

    /// Cancels; returns false if that has to be tried again.
    fn try_stop(&mut self) -> bool {
        let Some(client) = &mut self.client else { return true };
        client.connection.machine.pause();
        // A request that could not be sent leaves the statement running: it ends by itself.
        let (sent, is_doubtful) = match self.send_cancel() {
            Ok(sent) => (sent, false),
            Err(fatal) => (Sent::Done, fatal.kind == FatalKind::NoAnswer),
        };
        if is_doubtful && let Some(mut client) = self.client.take() {
            client.connection.end((), &Fatal::cancel_in_doubt());
            return true;
        }
        let Some(client) = &mut self.client else { return true };
        if sent == Sent::Done {
            client.connection.machine.cancel_sent();
        }
        client.connection.machine.unpause();
        sent == Sent::Done
    }
}

/// What became of a cancel request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Done,
    /// The server may not have read the one before.
    Later,
}

impl<D: AdbcDatabase> BlockingSession for Live<D> {
    fn may_write(&self, sql: &str) -> bool {
        D::may_write(sql)
    }

    fn submit(&mut self, request: &StatementRequest, bound: Option<Bound>, reply: &Arc<Reply>) -> Result<()> {
        let (request, many) = match request {
            StatementRequest::Execute { sql, rows } => {
                let many = matches!(rows, BoundRows::Many | BoundRows::Bulk);
                (D::execution(&self.target, sql, *rows, bound.as_ref())?, many)
            }
            StatementRequest::Describe { sql } => (D::describe(sql)?, false),
        };
        self.client()?.connection.machine.submit(request, Self::call(bound, many, reply));
        Ok(())
    }

    fn submit_verb(&mut self, verb: &Verb, reply: &Arc<Reply>) -> Result<bool> {
        let client = self.client()?;
        let requests = Machine::<D>::of_verb(verb).map_err(|mismatch| of_mismatch(&mismatch, None))?;
        let last = requests.len();
        for (number, request) in requests.into_iter().enumerate() {
            let own = Reply::new(headrace_arrow::ArrowOptions::default(), Take::Nothing);
            let reply = if number + 1 == last { reply } else { &own };
            client.connection.machine.submit(request, Self::call(None, false, reply));
        }
        Ok(last > 0)
    }

    fn check_verb(&self, verb: &Verb) -> Result<()> {
        Machine::<D>::of_verb(verb).map(drop).map_err(|mismatch| unsupported(mismatch.message))
    }

    fn drive(&mut self, reply: &Reply, until: &mut dyn FnMut() -> bool) -> Result<()> {
        let cancel = self.cancel.clone();
        // When a cancel request is sent again.
        let mut next = None;
        let is_due = |next: Option<Instant>| cancel.is_wanted() && next.is_none_or(|at| at <= Instant::now());
        while !until() {
            if is_due(next) {
                reply.cancelled();
                let pause = if self.try_stop() { CANCEL_AGAIN } else { headrace_io::limits::TICK };
                next = Some(Instant::now() + pause);
                // It may have ended the connection.
                continue;
            }
            let client = self.client()?;
            let over = client.drive((), None, |_| until() || is_due(next));
            match over {
                // A response handler is full.
                Ok(false) if !until() => return Ok(()),
                Ok(_) => {}
                Err(fatal) => {
                    // Its own error says whether the statement may have been executed.
                    let error = reply.check().err().unwrap_or_else(|| self.ended(&fatal));
                    self.client = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn resume(&mut self) {
        if let Some(client) = &mut self.client
            && let Some(id) = client.connection.machine.full()
        {
            client.connection.machine.resume(id);
        }
    }

    fn watch(&mut self, cancel: Arc<Cancel>) {
        self.cancel = cancel;
    }

    fn transaction(&self) -> TransactionStatus {
        self.client.as_ref().map_or(TransactionStatus::Idle, |client| client.connection.machine.transaction())
    }

    fn is_closed(&self) -> bool {
        self.client.is_none()
    }

    fn server_version(&self) -> Option<String> {
        self.client.as_ref().and_then(|client| D::server_version(&client.connection.machine))
    }

    fn close(&mut self) {
        if let Some(client) = self.client.take() {
            client.close(());
        }
    }
}
