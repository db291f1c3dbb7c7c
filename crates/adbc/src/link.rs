//! What the objects of one connection share: the session, the transaction, and the result that is being read.

mod ingesting;

use crate::bound::Bound;
use crate::call::{Reply, Take};
use crate::databases::{Dialect, Length};
use crate::error::{cancelled, closed_transaction, failed_transaction, inherited, state, unsupported};
use crate::ingest::{Ingest, Instants};
use crate::session::{BlockingSession, BoundRows, Cancel, StatementRequest};
use crate::table::Table;
use adbc_core::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use headrace_arrow::ArrowOptions;
use headrace_core::{IfUnsent, Modes, TransactionStatus, Verb};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A connection's state.
pub struct Core {
    session: Box<dyn BlockingSession>,
    /// The SQL of its database.
    pub dialect: &'static dyn Dialect,
    /// Statements are transactions of their own.
    pub autocommit: bool,
    /// The modes of the transactions that the driver begins.
    modes: Modes,
    /// The result that is being read: it has the session to itself.
    reading: Option<Arc<Reply>>,
    /// Its statement may change something.
    writes: bool,
    /// The requests to cancel what is under way.
    cancel: Arc<Cancel>,
}

/// Why a result was discarded: another execution of its statement, or another text, which is none where a cursor of
/// Python is closed.
pub const EXECUTED: &str = "its cursor was closed, or its statement was executed again or has another text now";
/// The same: by its reader.
pub const CLOSED: &str = "it was closed";
const ROLLED_BACK: &str = "the transaction was rolled back";

/// A connection, which its statements and readers share.
#[derive(Clone)]
pub struct Link {
    core: Arc<Mutex<Core>>,
    /// Those for calls of this object: the connection, or a statement with its readers.
    cancel: Arc<Cancel>,
    /// Those for calls of the connection, such as the reading of a partition.
    connection: Arc<Cancel>,
    /// Those for the last call of any.
    last: Arc<Mutex<Arc<Cancel>>>,
    /// The process that has opened it. Bytes that the child of a fork sent would corrupt the session.
    process: u32,
}

impl Link {
    /// Of a session.
    pub fn new(session: Box<dyn BlockingSession>, dialect: &'static dyn Dialect) -> Self {
        let cancel = Arc::new(Cancel::default());
        let core = Core {
            session,
            dialect,
            autocommit: true,
            modes: Modes::default(),
            reading: None,
            writes: false,
            cancel: cancel.clone(),
        };
        let last = Arc::new(Mutex::new(cancel.clone()));
        let core = Arc::new(Mutex::new(core));
        Self { core, connection: cancel.clone(), cancel, last, process: std::process::id() }
    }

    /// The same connection for a statement, whose calls are cancelled by themselves.
    #[must_use]
    pub fn of_statement(&self) -> Self {
        Self { cancel: Arc::default(), ..self.clone() }
    }

    /// The state, for one thread at a time.
    ///
    /// # Errors
    /// The connection was opened before a fork, of which this process is the child.
    pub fn lock(&self) -> Result<MutexGuard<'_, Core>> {
        // Before the lock, which a thread that there is not in the child may hold.
        self.check_process()?;
        // A panic inside of a request has left a session that is in step or closed.
        Ok(self.core.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn check_process(&self) -> Result<()> {
        if self.process == std::process::id() { Ok(()) } else { Err(inherited()) }
    }

    /// The same for a call that can be cancelled.
    fn hold(&self) -> Result<MutexGuard<'_, Core>> {
        let mut core = self.lock()?;
        core.cancel = self.cancel.clone();
        core.session.watch(self.cancel.clone());
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = self.cancel.clone();
        Ok(core)
    }

    /// Requests the cancellation of what is under way: of this object or the connection, or with `any` of a statement.
    ///
    /// # Errors
    /// Nothing is.
    pub fn request_cancel(&self, any: bool) -> Result<()> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.cancel.request() || self.connection.request() || any && last().request() {
            return Ok(());
        }
        Err(state("nothing is under way that could be cancelled"))
    }

    /// Executes a statement, and waits for its first batch or its end.
    ///
    /// # Errors
    /// It has failed, or another result is being read.
    pub fn execute(&self, sql: &Arc<str>, bound: Option<Bound>, options: ArrowOptions) -> Result<Arc<Reply>> {
        self.cancel.begin();
        let executed =
            self.hold().and_then(|mut core| core.execute(sql, bound, BoundRows::Many, options, Take::Batches));
        if !executed.as_ref().is_ok_and(|reply| !reply.is_over()) {
            self.cancel.end();
        }
        executed
    }

    /// Executes a statement whose rows nobody reads; returns the number of rows that it has changed.
    ///
    /// # Errors
    /// As [`Link::execute`].
    pub fn update(&self, sql: &Arc<str>, bound: Option<Bound>) -> Result<Option<u64>> {
        self.running(|core| core.update(sql, bound, BoundRows::Many))
    }

    /// Makes a table if that is wanted, and inserts rows of a schema; returns their number. `bound` makes them, whose
    /// instants are to be inserted in this way.
    ///
    /// # Errors
    /// As [`Link::execute`]; or the database has no type for a column, or no such tables.
    pub fn ingest(
        &self,
        ingest: &Ingest,
        schema: &Schema,
        bound: impl FnOnce(Instants) -> Result<Bound>,
    ) -> Result<Option<u64>> {
        self.running(|core| {
            let plan = core.plan(ingest, schema)?;
            core.ingest(&plan, bound(plan.instants)?)
        })
    }

    /// A call that can be cancelled from its beginning to its end, whatever it consists of.
    ///
    /// # Errors
    /// As the call; or the process is the child of a fork.
    pub fn running<T>(&self, call: impl FnOnce(&mut Core) -> Result<T>) -> Result<T> {
        // Before it has its turn.
        self.cancel.begin();
        let done = self.hold().and_then(|mut core| call(&mut core));
        self.cancel.end();
        done
    }

    /// The next batch of a result; `None` at its end.
    ///
    /// # Errors
    /// The statement has failed, was cancelled, or its result was discarded; or the process is the child of a fork.
    pub fn next(&self, reply: &Arc<Reply>) -> Result<Option<RecordBatch>> {
        self.check_process()?;
        if self.cancel.is_wanted() && !reply.is_over() {
            // Nor is what has come already returned.
            reply.discard(cancelled());
        } else if let Some(batch) = reply.take()? {
            return Ok(Some(batch));
        }
        if reply.is_over() {
            return Ok(None);
        }
        let mut core = self.hold()?;
        let advanced = core.advance(reply);
        if reply.is_over() || advanced.is_err() {
            self.cancel.end();
        }
        drop(core);
        advanced?;
        reply.take()
    }

    /// Ends a result that was not read to its end, for a reason that its reader is told.
    pub fn release(&self, reply: &Arc<Reply>, reason: &'static str) {
        if reply.is_over() {
            return;
        }
        // The connection may have failed, or be another process's; then there is nothing to end.
        let Ok(mut core) = self.hold() else { return };
        let _ = core.discard(reply, reason);
        self.cancel.end();
    }
}

impl Core {
    /// Executes a statement, in a transaction if that is wanted; waits for its first batch, or its end. `many` is how
    /// more than one row of parameters is sent.
    fn execute(
        &mut self,
        sql: &Arc<str>,
        bound: Option<Bound>,
        many: BoundRows,
        options: ArrowOptions,
        take: Take,
    ) -> Result<Arc<Reply>> {
        self.begin()?;
        let mut rows = BoundRows::One;
        // The source of a stream may take its time.
        let mut bound = bound.map(|bound| bound.until(self.cancel.clone()));
        if let Some(bound) = &mut bound {
            // The row of a query has the types of its values, as a row of Python has; those of an update, of which there
            // may be any number, have the types of what they are for.
            if many == BoundRows::Many && bound.is_one().map_err(|error| error.into_error(None))? {
                bound.advance().map_err(|error| error.into_error(Some(0)))?;
                rows = if take == Take::Nothing { BoundRows::OneOfMany } else { BoundRows::One };
            } else {
                rows = many;
            }
        }
        let reply = Reply::new(options, take);
        self.submit(&StatementRequest::Execute { sql: sql.clone(), rows }, bound, &reply)?;
        if !reply.is_over() {
            self.reading = Some(reply.clone());
            self.writes = self.session.may_write(sql);
        }
        Ok(reply)
    }

    fn update(&mut self, sql: &Arc<str>, bound: Option<Bound>, many: BoundRows) -> Result<Option<u64>> {
        let reply = self.execute(sql, bound, many, ArrowOptions::default(), Take::Nothing)?;
        reply.check()?;
        Ok(reply.affected())
    }

    /// A name of a catalog, where the database has no other than that of the connection.
    ///
    /// # Errors
    /// It is another.
    pub fn check_catalog(&mut self, name: Option<&str>) -> Result<()> {
        let Some(name) = name.filter(|name| !name.is_empty() && self.dialect.has_one_catalog()) else { return Ok(()) };
        if self.current_catalog()? == name {
            return Ok(());
        }
        let shown = headrace_core::shortened(name);
        Err(unsupported(format!("the catalog '{shown}': a connection reaches the tables of its own database only")))
    }

    /// Names of a statement: a server that shortens one takes it for another.
    ///
    /// # Errors
    /// One is longer than names of the database are.
    pub fn check_names<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut longest = self.dialect.longest_name();
        for name in names {
            if longest.exceeded(name).is_none() {
                continue;
            }
            if let Some(query) = self.dialect.longest_name_query()
                && let Some(bytes) = self.value(query)?.and_then(|text| text.parse().ok())
            {
                longest = Length::Bytes(bytes);
            }
            if let Some(exceeded) = longest.exceeded(name) {
                let (vendor, shown) = (self.dialect.vendor(), headrace_core::shortened(name));
                return Err(unsupported(format!("the name '{shown}' is too long for {vendor}: it has {exceeded}")));
            }
        }
        Ok(())
    }

    fn submit(&mut self, request: &StatementRequest, bound: Option<Bound>, reply: &Arc<Reply>) -> Result<()> {
        self.check_cancelled()?;
        self.session.submit(request, bound, reply)?;
        self.session.drive(reply, &mut || reply.is_ready())
    }

    /// A request to cancel what the server has not begun with would be lost.
    fn check_cancelled(&self) -> Result<()> {
        if self.cancel.is_wanted() { Err(cancelled()) } else { Ok(()) }
    }

    /// The columns of a statement that is not executed.
    ///
    /// # Errors
    /// The statement is wrong, or another result is being read.
    pub fn describe(&mut self, sql: &Arc<str>, options: ArrowOptions) -> Result<Arc<Reply>> {
        self.check_free()?;
        self.begin()?;
        self.check_cancelled()?;
        let reply = Reply::new(options, Take::All);
        self.session.submit(&StatementRequest::Describe { sql: sql.clone() }, None, &reply)?;
        self.session.drive(&reply, &mut || reply.is_over())?;
        reply.check()?;
        Ok(reply)
    }

    /// All rows of a query of the driver's own.
    ///
    /// # Errors
    /// It has failed, or another result is being read.
    pub fn query(&mut self, sql: &str) -> Result<Vec<RecordBatch>> {
        let reply = self.whole(sql, ArrowOptions::default())?;
        let mut batches = Vec::new();
        while let Some(batch) = reply.take()? {
            batches.push(batch);
        }
        Ok(batches)
    }

    /// The schema of a query, which is executed.
    ///
    /// # Errors
    /// As [`Core::query`].
    pub fn schema(&mut self, sql: &str, options: ArrowOptions) -> Result<SchemaRef> {
        let reply = self.whole(sql, options)?;
        reply.check()?;
        Ok(reply.schema())
    }

    fn whole(&mut self, sql: &str, options: ArrowOptions) -> Result<Arc<Reply>> {
        let reply = self.execute(&sql.into(), None, BoundRows::One, options, Take::All)?;
        self.session.drive(&reply, &mut || reply.is_over())?;
        self.reading = None;
        Ok(reply)
    }

    /// The only value of a query, as text.
    ///
    /// # Errors
    /// As [`Core::query`].
    pub fn value(&mut self, sql: &str) -> Result<Option<String>> {
        Ok(Table::of(&self.query(sql)?).text(0, 0))
    }

    /// The name of the current catalog.
    ///
    /// # Errors
    /// As [`Core::query`].
    pub fn current_catalog(&mut self) -> Result<String> {
        Ok(self.value(self.dialect.current_catalog())?.unwrap_or_default())
    }

    /// The name of the current schema.
    ///
    /// # Errors
    /// As [`Core::query`].
    pub fn current_schema(&mut self) -> Result<String> {
        Ok(self.value(self.dialect.current_schema())?.unwrap_or_default())
    }

    /// Executes a statement of the driver's own, outside of the transaction that the next statement begins.
    ///
    /// # Errors
    /// As [`Core::query`].
    pub fn command(&mut self, sql: &str) -> Result<()> {
        self.check_free()?;
        let reply = Reply::new(ArrowOptions::default(), Take::Nothing);
        self.submit(&StatementRequest::Execute { sql: sql.into(), rows: BoundRows::One }, None, &reply)?;
        reply.check()
    }

    /// Receives until the result has another batch, or is over.
    fn advance(&mut self, reply: &Arc<Reply>) -> Result<()> {
        if !self.is_reading(reply) {
            return Err(state("the result was not read to its end: its connection is closed"));
        }
        self.session.resume();
        let driven = self.session.drive(reply, &mut || reply.is_ready());
        if driven.is_err() || reply.is_over() {
            self.reading = None;
        }
        driven
    }

    fn is_reading(&self, reply: &Arc<Reply>) -> bool {
        self.reading.as_ref().is_some_and(|reading| Arc::ptr_eq(reading, reply))
    }

    /// Drops the rest of a result. Without a transaction its statement is cancelled; in one that would end the
    /// transaction, too, and of a statement that writes it would undo that, so the rest is received.
    fn discard(&mut self, reply: &Arc<Reply>, reason: &'static str) -> Result<()> {
        if !self.is_reading(reply) {
            return Ok(());
        }
        self.reading = None;
        reply.discard(state(format!("the result was not read to its end: {reason}")));
        if !self.writes && (self.session.transaction() == TransactionStatus::Idle || self.autocommit) {
            self.cancel.begin();
            self.cancel.request();
        }
        self.session.resume();
        let driven = self.session.drive(reply, &mut || reply.is_over());
        // A request to cancel it is not one for what comes next.
        self.cancel.end();
        driven
    }

    fn check_free(&mut self) -> Result<()> {
        if self.reading.as_ref().is_some_and(|reply| reply.is_over()) {
            self.reading = None;
        }
        match self.reading {
            Some(_) => Err(state(
                "the connection is reading a result that is larger than one batch: read it to its end or close it first, \
                 or open another connection",
            )),
            None => Ok(()),
        }
    }

    /// Begins a transaction, unless one is open or none is wanted.
    fn begin(&mut self) -> Result<()> {
        self.check_free()?;
        if self.autocommit || self.session.transaction() != TransactionStatus::Idle {
            return Ok(());
        }
        self.verb(&Verb::Begin(self.modes))
    }

    /// The modes of the transactions that the driver begins.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// Sets the modes of the transactions that the driver begins.
    ///
    /// # Errors
    /// The database begins no transaction with them.
    pub fn set_modes(&mut self, modes: Modes) -> Result<()> {
        self.session.check_verb(&Verb::Begin(modes))?;
        self.modes = modes;
        Ok(())
    }

    fn verb(&mut self, verb: &Verb) -> Result<()> {
        let reply = Reply::new(ArrowOptions::default(), Take::Nothing);
        if self.session.submit_verb(verb, &reply)? {
            self.session.drive(&reply, &mut || reply.is_over())?;
            reply.check()?;
        }
        Ok(())
    }

    /// Commits.
    ///
    /// # Errors
    /// It or an earlier statement of the transaction has failed, the connection is closed, or in autocommit mode.
    pub fn commit(&mut self) -> Result<()> {
        self.check_manual()?;
        self.check_free()?;
        match self.session.transaction() {
            TransactionStatus::Idle if self.session.is_closed() => Err(closed_transaction()),
            TransactionStatus::Idle => Ok(()),
            TransactionStatus::InTransaction => self.verb(&Verb::Commit(IfUnsent::Forget)),
            // The server would answer COMMIT with a rollback, and without an error.
            TransactionStatus::Failed => {
                self.verb(&Verb::Rollback(IfUnsent::Forget))?;
                Err(failed_transaction())
            }
        }
    }

    /// Rolls back.
    ///
    /// # Errors
    /// It has failed, or the connection is in autocommit mode.
    pub fn rollback(&mut self) -> Result<()> {
        self.check_manual()?;
        if let Some(reply) = self.reading.clone() {
            self.discard(&reply, ROLLED_BACK)?;
        }
        if self.session.transaction() == TransactionStatus::Idle {
            return Ok(());
        }
        self.verb(&Verb::Rollback(IfUnsent::Forget))
    }

    fn check_manual(&self) -> Result<()> {
        if self.autocommit { Err(autocommits()) } else { Ok(()) }
    }

    /// Switches autocommit; a transaction that is open is committed.
    ///
    /// # Errors
    /// The commit has failed.
    pub fn set_autocommit(&mut self, on: bool) -> Result<()> {
        if on && !self.autocommit {
            self.commit()?;
        }
        self.autocommit = on;
        Ok(())
    }

    /// The server's version.
    ///
    /// # Errors
    /// The query for it has failed.
    pub fn server_version(&mut self) -> Result<String> {
        if let Some(version) = self.session.server_version() {
            return Ok(version);
        }
        let query = self.dialect.version_query();
        Ok(self.value(query)?.unwrap_or_default())
    }

    /// Ends the session.
    pub fn close(&mut self) {
        self.reading = None;
        self.session.close();
    }
}

fn autocommits() -> Error {
    state("the connection is in autocommit mode, in which there is no transaction to end")
}

#[cfg(test)]
mod tests;
