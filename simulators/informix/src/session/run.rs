//! Executes everything but queries: DML, DDL, transactions, SET.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::rows::Encoder;
use super::{SqliSession, Transaction, failures, files, replies};
use crate::catalog;
use crate::codec::charset::Charset;
use crate::database::Mode;
use crate::engine::{Failure, Statement, Value};
use crate::errors::{Result, SqlError};
use crate::limits::{LOCK_GRACE, LOCK_PAUSE};
use crate::sql::{Action, Compiled, Isolation, Written, quote};
use crate::types::Kind;
use headrace_simulator_common::lock;

fn busy(failure: &Failure) -> bool {
    matches!(failure.code & 0xff, rusqlite::ffi::SQLITE_BUSY | rusqlite::ffi::SQLITE_LOCKED)
}

/// The statement type of TRUNCATE.
const TRUNCATE: i16 = 109;

fn is_delete(kind: i16) -> bool {
    matches!(kind, 5 | 8 | 32 | TRUNCATE)
}

impl SqliSession {
    /// Repeats an operation that fails for a lock until the session's lock timeout.
    fn retry_on_lock<T>(
        &mut self,
        (table, deleting): (&str, bool),
        mut work: impl FnMut(&Self) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let since = Instant::now();
        let limit = self.lock_wait.map(|wait| wait.max(LOCK_GRACE));
        let mut drained = false;
        loop {
            let failure = match work(self) {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            // An open cursor keeps the state of the database that it began with; no change is possible from that state.
            let stale = failure.code == rusqlite::ffi::SQLITE_BUSY_SNAPSHOT;
            if stale && !drained {
                self.drain_cursors()?;
                drained = true;
                continue;
            }
            let open = self.opened()?;
            let over = stale || limit.is_some_and(|limit| since.elapsed() >= limit);
            if !busy(&failure) || over {
                let waited = self.lock_wait != Some(Duration::ZERO);
                return Err(failures::translate(open, &failure, table, deleting, waited));
            }
            if open.state.poll_urgent() {
                return Err(SqlError::new(-213, ""));
            }
            std::thread::sleep(LOCK_PAUSE);
        }
    }

    pub(super) fn run_sql(&mut self, sql: &str, table: &str) -> Result<()> {
        self.opened()?;
        self.retry_on_lock((table, false), |session| {
            let Some(open) = &session.open else { return Ok(()) };
            open.state.change(|| Statement::prepare(&open.connection, sql)?.step().map(|_| ()))
        })
    }

    /// Refuses to continue in a transaction that SQLite has rolled back, with a long change that was interrupted. The
    /// error is that of a transaction which the server ended by itself; ROLLBACK WORK resolves it.
    fn check_transaction(&self) -> Result<()> {
        if self.is_lost() { Err(SqlError::new(-458, "")) } else { Ok(()) }
    }

    fn is_lost(&self) -> bool {
        let forgotten = self.open.as_ref().is_some_and(|open| open.connection.is_autocommit());
        forgotten && self.transaction == (Transaction::Open { started: true })
    }

    /// SQLite's transaction, before the first change.
    pub(super) fn start_changes(&mut self) -> Result<()> {
        self.begin_implicitly();
        self.check_transaction()?;
        if self.transaction == (Transaction::Open { started: false }) {
            self.run_sql("BEGIN IMMEDIATE", "")?;
            self.transaction = Transaction::Open { started: true };
        }
        Ok(())
    }

    /// SQLite's transaction, before the first read of one that must see nothing change.
    pub(super) fn start_reads(&mut self) -> Result<()> {
        self.begin_implicitly();
        self.check_transaction()?;
        if self.isolation == Isolation::Repeatable && self.transaction == (Transaction::Open { started: false }) {
            self.run_sql("BEGIN", "")?;
            self.transaction = Transaction::Open { started: true };
        }
        Ok(())
    }

    /// Changes rows with the last bound values; returns their number.
    pub(super) fn write(&mut self, sql: &str, table: &str, deleting: bool) -> Result<i64> {
        let values = self.parameter_values()?;
        if std::mem::take(&mut self.aborts) {
            self.rollback()?;
            return Err(SqlError::new(-458, ""));
        }
        let mut kept = self.prepared()?.write.take();
        // The row for a client's file is written before the file is requested, which can fail.
        let changed = if sql.contains("ifx_filetolob(") {
            let mut changed = 0;
            let done = self.together(|session| {
                changed = session.change(&mut kept, sql, table, deleting, &values)?;
                Ok(())
            });
            done.map(|()| changed)
        } else {
            self.change(&mut kept, sql, table, deleting, &values)
        };
        self.prepared()?.write = kept;
        changed
    }

    /// Changes rows with a statement that is made if it does not exist yet.
    fn change(
        &mut self,
        kept: &mut Option<Statement>,
        sql: &str,
        table: &str,
        deleting: bool,
        values: &[Value],
    ) -> Result<i64> {
        self.start_statement();
        self.save_objects()?;
        self.start_changes()?;
        let open = self.opened()?;
        if open.state.interrupted.load(Ordering::Relaxed) {
            // It came while the row before was changed.
            return Err(SqlError::new(-213, ""));
        }
        let connection = Rc::clone(&open.connection);
        if kept.is_none() {
            let made = Statement::prepare(&connection, sql);
            *kept = Some(made.map_err(|failure| failures::translate(open, &failure, table, deleting, false))?);
        }
        open.state.last_serial.store(0, Ordering::Relaxed);
        let state = Arc::clone(&open.state);
        let result = self.retry_on_lock((table, deleting), |_| match kept {
            Some(statement) => {
                statement.bind(values)?;
                state.change(|| statement.run())
            }
            None => Ok(0),
        });
        result?;
        let changed = connection.changes() as i64;
        self.opened()?.state.rows.store(changed, Ordering::Relaxed);
        self.has_changed_rows = true;
        self.serve_objects()?;
        Ok(changed)
    }

    /// Does the work on the client's files that functions requested.
    pub(super) fn serve_objects(&mut self) -> Result<()> {
        match &self.open {
            Some(open) if !lock(&open.state.objects).is_empty() => files::serve(&mut self.link, open, &self.caps),
            _ => Ok(()),
        }
    }

    /// The changes of a routine, and the exception it may end with.
    pub(super) fn call(&mut self, changes: &[Written], raised: Option<SqlError>, values: &[Value]) -> Result<()> {
        if changes.is_empty() {
            return raised.map_or(Ok(()), Err);
        }
        self.together(|session| {
            for Written { sql, table, kind } in changes {
                session.change(&mut None, sql, table, is_delete(*kind), values)?;
            }
            raised.map_or(Ok(()), Err)
        })
    }

    pub(super) fn execute_write(&mut self, kind: i16, sql: &str, table: &str, serials: Option<Kind>) -> Result<()> {
        let deleting = is_delete(kind);
        if kind == TRUNCATE {
            self.truncatable(table)?;
        }
        let before = self.opened()?.state.last_serial.load(Ordering::Relaxed);
        let changed = self.write(sql, table, deleting)?;
        let open = self.opened()?;
        let serial = open.state.last_serial.load(Ordering::Relaxed);
        if serial == 0 {
            open.state.last_serial.store(before, Ordering::Relaxed);
        }
        let rowid = open.connection.last_insert_rowid();
        if kind == 6 {
            self.send_keys(table, rowid)?;
            replies::insert_done(&mut self.link.out, serial, serials);
        }
        replies::done(&mut self.link.out, &self.caps, 0, changed, rowid, serial);
        replies::cost(&mut self.link.out, changed as i32);
        Ok(())
    }

    /// SQ_SGKTUPLE: the columns that the client requests of the inserted row.
    fn send_keys(&mut self, table: &str, rowid: i64) -> Result<()> {
        let keys = self.prepared()?.keys.clone();
        if keys.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = keys.iter().map(|column| quote(&column.name)).collect();
        let sql = format!("SELECT {} FROM {} WHERE rowid = {rowid}", names.join(", "), quote(table));
        let (charset, long_descriptors) = (self.charset(), self.caps.long_counts());
        let open = self.open.as_ref().ok_or_else(|| SqlError::new(-349, ""))?;
        let fail = |failure| failures::translate(open, &failure, table, false, false);
        let mut statement = Statement::prepare(&open.connection, &sql).map_err(fail)?;
        if statement.step().map_err(fail)? {
            let mut encoder = Encoder { charset, binary: false, long_descriptors, blobs: &mut self.blobs };
            super::cursor::write_row(&mut self.link.out, 136, &mut encoder, (&keys, &[]), &statement)?;
        }
        Ok(())
    }

    /// A table that others point to is not emptied while they have rows, whatever they do on delete.
    fn truncatable(&self, table: &str) -> Result<()> {
        let open = self.opened()?;
        for (child, constraint) in catalog::pointing(&open.connection, table).map_err(Self::catalog_failure)? {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", quote(&child));
            if open.connection.query_row(&sql, [], |row| row.get(0)).map_err(Self::catalog_failure)? {
                return Err(SqlError::new(-692, format!("informix.{constraint}")));
            }
        }
        Ok(())
    }

    /// SQ_DONE, but for a part of a text with several statements, which is done when all are.
    fn finish(&mut self, warnings: i16) {
        if self.part {
            return;
        }
        replies::done(&mut self.link.out, &self.caps, warnings, 0, 0, 0);
        replies::cost(&mut self.link.out, 1);
    }

    /// Records the state that a rollback of the transaction restores.
    pub(super) fn remember(&mut self) -> Result<()> {
        if self.before.is_none() && self.transaction != Transaction::None {
            self.before = Some(self.opened()?.known());
        }
        Ok(())
    }

    /// Several steps that are atomic even outside a transaction.
    pub(super) fn together(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.start_changes()?;
        self.remember()?;
        if self.transaction == Transaction::None {
            self.run_sql("BEGIN IMMEDIATE", "")?;
            let result = work(self);
            self.run_sql(if result.is_ok() { "COMMIT" } else { "ROLLBACK" }, "")?;
            return result;
        }
        self.run_sql("SAVEPOINT ifx_ddl", "")?;
        let result = work(self);
        if result.is_err() {
            self.run_sql("ROLLBACK TO ifx_ddl", "")?;
        }
        self.run_sql("RELEASE ifx_ddl", "")?;
        result
    }

    /// A text with several statements: one after the other, each for itself, until one fails.
    fn run_several(&mut self, parts: Vec<Compiled>) -> Result<()> {
        let values = self.parameter_values()?;
        let mut rest = &values[..];
        let mut changed = 0;
        for part in parts {
            let (own, after) = rest.split_at(part.parameters.len());
            rest = after;
            match part.action {
                Action::Write { sql, table, .. } => {
                    if part.kind == TRUNCATE {
                        self.truncatable(&table)?;
                    }
                    changed += self.change(&mut None, &sql, &table, is_delete(part.kind), own)?;
                }
                Action::Call { changes, raised, .. } => self.call(&changes, raised, own)?,
                Action::SelectInto(_) if !own.is_empty() => {
                    return Err(SqlError::unsupported("parameters of INTO TEMP among several statements"));
                }
                action => {
                    self.part = true;
                    let done = self.run_action(part.kind, action);
                    self.part = false;
                    done?;
                }
            }
        }
        replies::done(&mut self.link.out, &self.caps, 0, changed, 0, 0);
        replies::cost(&mut self.link.out, 1);
        Ok(())
    }

    pub(super) fn run_action(&mut self, kind: i16, action: Action) -> Result<()> {
        let action = match action {
            Action::Unless(action, excused) => match self.run_action(kind, *action) {
                Err(error) if error.code == excused => {
                    self.finish(0);
                    return Ok(());
                }
                done => return done,
            },
            action => action,
        };
        self.start_statement();
        if matches!(action, Action::CloseDatabase) {
            self.save_objects()?;
        }
        let defining = matches!(
            action,
            Action::Alter(_)
                | Action::DropTable { .. }
                | Action::RenameTable { .. }
                | Action::CreateRoutine(..)
                | Action::DropRoutine(_)
        );
        match action {
            Action::Begin => self.begin(-256)?,
            Action::Commit => self.commit()?,
            Action::Rollback(None) => self.rollback()?,
            Action::Rollback(Some(name)) => return self.savepoint("ROLLBACK TO", name.as_bytes()),
            Action::Savepoint(name) => return self.savepoint("SAVEPOINT", name.as_bytes()),
            Action::ReleaseSavepoint(name) => return self.savepoint("RELEASE", name.as_bytes()),
            Action::OpenDatabase(name) => {
                let warnings = self.replace_database(&name)?;
                self.finish(warnings);
                return Ok(());
            }
            Action::CloseDatabase if self.transaction != Transaction::None => return Err(SqlError::new(-377, "")),
            Action::CloseDatabase => self.close_database(),
            Action::CreateDatabase { .. } if self.transaction != Transaction::None => {
                return Err(SqlError::new(-377, ""));
            }
            Action::CreateDatabase { name, mode } => {
                let mode = Mode::from_name(mode).unwrap_or(Mode::Unlogged);
                let locale = self.db_locale.as_deref().unwrap_or(&self.server.config.locale);
                if Charset::of_locale(locale).is_none() {
                    return Err(SqlError::new(-23_101, ""));
                }
                let created = self.server.create_database(&name, mode, locale);
                if !created.map_err(|error| SqlError::new(-330, error))? {
                    return Err(SqlError::isam(-330, -100, name));
                }
                let warnings = self.replace_database(&name)?;
                self.finish(warnings);
                return Ok(());
            }
            Action::DropDatabase(name) if self.open.as_ref().is_some_and(|open| open.database.name == name) => {
                return Err(SqlError::new(-359, ""));
            }
            Action::DropDatabase(name) => self.server.drop_database(&name)?,
            Action::Isolation(level) => self.isolation = level,
            Action::Call { changes, raised, .. } => {
                let values = self.parameter_values()?;
                self.call(&changes, raised, &values)?;
            }
            Action::CreateType(name, ty, mode) => {
                self.together(|session| session.opened()?.set_type(&name, Some((ty, mode))))?;
            }
            Action::DropType(name) => self.together(|session| session.opened()?.set_type(&name, None))?,
            Action::CreateSynonym { name, table, if_not_exists } => {
                match crate::sql::Catalog::table(self.opened()?, None, &name) {
                    Some(_) if if_not_exists => {}
                    Some(_) => return Err(SqlError::new(-310, name)),
                    None => self.with_catalog(|catalog| catalog::add_synonym(catalog, &name, &table))?,
                }
            }
            Action::CreateSequence { name, start, step } => {
                if self.with_catalog(|catalog| catalog::table_id(catalog, &name))?.is_some() {
                    return Err(SqlError::new(-8301, name));
                }
                self.with_catalog(|catalog| catalog::add_sequence(catalog, &name, start, step))?;
            }
            Action::DropSynonym(name) | Action::DropSequence(name) => {
                let (tabtype, code) = if kind == 44 { ('S', -206) } else { ('Q', -8300) };
                if !self.with_catalog(|catalog| catalog::remove_named(catalog, &name, tabtype))? {
                    return Err(SqlError::isam(code, if kind == 44 { -111 } else { 0 }, name));
                }
                lock(&self.opened()?.database.serials).remove(&format!("sequence {name}"));
            }
            Action::CreateIndex { index, if_not_exists } => self.create_index(&index, if_not_exists)?,
            Action::DropIndex { name, if_exists } => self.drop_index(&name, if_exists)?,
            Action::LockTable => match self.transaction {
                Transaction::None if self.opened()?.database.mode == Mode::Logged => {
                    return Err(SqlError::new(-255, ""));
                }
                // SQLite has one lock for all writers.
                _ => self.start_changes()?,
            },
            Action::DeferConstraints => {
                self.start_changes()?;
                self.run_sql("PRAGMA defer_foreign_keys = ON", "")?;
            }
            Action::LockMode(wait) => self.lock_wait = wait.map(Duration::from_secs),
            Action::Environment(name, value) if name == "headrace_fault" => {
                let mut faults = self.link.faults;
                faults.set(&value).map_err(|problem| SqlError::new(-1286, problem))?;
                self.link.next_faults = Some(faults);
            }
            Action::Environment(name, value) if name == "headrace_abort" => self.aborts = value == "on",
            Action::CreateTable(table) => self.create_table(&table)?,
            Action::Several(parts) => return self.run_several(parts),
            Action::SelectInto(table) if self.part => drop(self.select_into(&table)?),
            Action::SelectInto(table) => {
                let rows = self.select_into(&table)?;
                self.has_changed_rows = true;
                replies::done(&mut self.link.out, &self.caps, 0, rows, 0, 0);
                replies::cost(&mut self.link.out, 1);
                return Ok(());
            }
            Action::DropTable { name, if_exists, restrict } => self.drop_table(kind, &name, if_exists, restrict)?,
            Action::RenameTable { from, to } => self.rename_table(&from, &to)?,
            Action::Alter(change) => self.alter_table(&change)?,
            Action::CreateRoutine(name, routine) => {
                self.together(|session| session.opened()?.set_routine(&name, Some(routine)))?;
            }
            Action::DropRoutine(name) => self.together(|session| session.opened()?.set_routine(&name, None))?,
            _ => {}
        }
        if defining {
            self.definitions_change();
        }
        self.finish(0);
        Ok(())
    }

    /// DATABASE and CREATE DATABASE: everything but the running statement ends with the old one.
    fn replace_database(&mut self, name: &str) -> Result<i16> {
        let current = self.statements.get_mut(self.current).and_then(Option::take);
        self.open_database(name)?;
        self.statements.resize_with(self.current + 1, || None);
        self.statements[self.current] = current;
        Ok(self.opened()?.database.mode.warnings())
    }

    /// The messages for it are answered by SQ_XACTSTAT alone: were there a SQ_DONE, IBM's JDBC driver would take its
    /// zero for the row count of the statement that it commits in an ANSI database.
    pub(super) fn begin(&mut self, code_without_log: i16) -> Result<()> {
        match (self.opened()?.database.mode, self.transaction) {
            (Mode::Unlogged, _) => return Err(SqlError::new(code_without_log, "")),
            (Mode::Ansi, _) | (_, Transaction::Open { .. }) => return Err(SqlError::new(-535, "")),
            (Mode::Logged, Transaction::None) => {}
        }
        self.transaction = Transaction::Open { started: false };
        replies::transaction_state(&mut self.link.out, 1);
        Ok(())
    }

    fn end(&mut self, sql: &str, event: u16) -> Result<()> {
        let mode = self.opened()?.database.mode;
        match self.transaction {
            Transaction::None if mode == Mode::Unlogged => return Err(SqlError::new(-256, "")),
            Transaction::None if mode == Mode::Logged => return Err(SqlError::new(-255, "")),
            _ => {}
        }
        if event != 3 {
            self.save_objects()?;
        }
        // Readers must not keep SQLite from ending their transaction; cursors WITH HOLD continue after a commit.
        self.close_unheld_cursors(event == 3);
        if self.is_lost() {
            if event != 3 {
                return self.check_transaction();
            }
        } else if self.transaction == (Transaction::Open { started: true }) {
            match self.run_sql(sql, "") {
                // A deferred constraint does not hold: the transaction is rolled back.
                Err(error) if event == 2 && error.code == -691 => {
                    self.rollback()?;
                    return Err(error);
                }
                done => done?,
            }
        }
        self.transaction = Transaction::None;
        match event {
            3 => {
                self.forget_objects();
                self.undefine();
            }
            _ => self.before = None,
        }
        self.savepoints.clear();
        self.definitions_settle();
        replies::transaction_state(&mut self.link.out, event);
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.end("COMMIT", 2)
    }

    /// SQ_CMMTWORK. In an ANSI database IBM's JDBC driver closes its cursors by it, and takes the rows of the last
    /// SQ_DONE for those of the query that it executes next: unless there is one of no rows, it does not fetch more
    /// than the first block.
    pub(super) fn commit_by_message(&mut self) -> Result<()> {
        self.commit()?;
        if self.opened()?.database.mode == Mode::Ansi && !self.has_changed_rows {
            self.finish(0);
        }
        Ok(())
    }

    pub(super) fn rollback(&mut self) -> Result<()> {
        self.end("ROLLBACK", 3)
    }

    pub(super) fn savepoint(&mut self, verb: &str, name: &[u8]) -> Result<()> {
        self.forget_interrupt();
        self.begin_implicitly();
        if self.transaction == Transaction::None {
            return Err(SqlError::new(-255, ""));
        }
        let name = self.text(name).to_lowercase().replace('"', "");
        self.start_changes()?;
        let done = self.run_sql(&format!("{verb} \"{name}\""), "");
        done.map_err(|error| match (error.code, verb) {
            (-999, "RELEASE") => SqlError::new(-26_075, name.clone()),
            (-999, _) => SqlError::new(-26_076, name.clone()),
            _ => error,
        })?;
        // A savepoint hidden by one of the same name is visible again when that one is released.
        match verb {
            "SAVEPOINT" => {
                let known = self.opened()?.known();
                self.savepoints.push((name, known));
            }
            _ => {
                if let Some(at) = self.savepoints.iter().rposition(|(kept, _)| *kept == name) {
                    self.savepoints.truncate(if verb == "RELEASE" { at } else { at + 1 });
                }
                if verb == "ROLLBACK TO" {
                    self.undefine_since_savepoint()?;
                }
            }
        }
        self.finish(0);
        Ok(())
    }
}
