//! Carrying out what is no query: changes, definitions, transactions, settings.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Session, Transaction, failures, replies};
use crate::database::Mode;
use crate::engine::functions::lock;
use crate::engine::{Failure, Statement};
use crate::errors::{Result, SqlError};
use crate::sql::{Action, NewTable};

/// SQLite locks a whole database where a server locks a row, so even NOT WAIT waits a little for the others.
const GRACE: Duration = Duration::from_millis(300);

fn busy(failure: &Failure) -> bool {
    matches!(failure.code & 0xff, rusqlite::ffi::SQLITE_BUSY | rusqlite::ffi::SQLITE_LOCKED)
}

impl Session {
    /// Repeats what fails for a lock until the session's patience ends.
    fn patiently<T>(&self, table: &str, mut work: impl FnMut() -> std::result::Result<T, Failure>) -> Result<T> {
        let open = self.opened()?;
        let since = Instant::now();
        let limit = self.lock_wait.map(|wait| wait.max(GRACE));
        loop {
            let failure = match work() {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let over = limit.is_some_and(|limit| since.elapsed() >= limit);
            if !busy(&failure) || over {
                let waited = self.lock_wait != Some(Duration::ZERO);
                return Err(failures::translate(open, &failure, table, false, waited));
            }
            if open.state.poll_urgent() {
                return Err(SqlError::new(-213, ""));
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    fn run_sql(&self, sql: &str, table: &str) -> Result<()> {
        let open = self.opened()?;
        self.patiently(table, || Statement::prepare(&open.connection, sql)?.step().map(|_| ()))
    }

    /// SQLite's transaction, before the first change.
    pub(super) fn start_changes(&mut self) -> Result<()> {
        self.begin_implicitly();
        if self.transaction == (Transaction::Open { started: false }) {
            self.run_sql("BEGIN IMMEDIATE", "")?;
            self.transaction = Transaction::Open { started: true };
        }
        Ok(())
    }

    /// Changes rows with the values bound last; returns how many.
    pub(super) fn write(&mut self, sql: &str, table: &str, deleting: bool) -> Result<i64> {
        self.forget_interrupt();
        self.start_changes()?;
        let values = self.parameter_values()?;
        let connection = std::rc::Rc::clone(&self.opened()?.connection);
        let kept = self.prepared()?.write.take();
        let mut statement = match kept {
            Some(statement) => statement,
            None => {
                let open = self.opened()?;
                Statement::prepare(&connection, sql)
                    .map_err(|failure| failures::translate(open, &failure, table, deleting, false))?
            }
        };
        self.opened()?.state.last_serial.store(0, Ordering::Relaxed);
        let result = self.patiently(table, || {
            statement.bind(&values)?;
            statement.run()
        });
        let result = result.map_err(|error| {
            if deleting && error.code == -691 { SqlError { code: -692, isam: 0, ..error } } else { error }
        });
        if let Ok(prepared) = self.prepared() {
            prepared.write = Some(statement);
        }
        result?;
        let changed = connection.changes() as i64;
        self.opened()?.state.rows.store(changed, Ordering::Relaxed);
        Ok(changed)
    }

    pub(super) fn execute_write(&mut self, kind: i16, sql: &str, table: &str) -> Result<()> {
        let deleting = matches!(kind, 5 | 8 | 32 | 109);
        let before = self.opened()?.state.last_serial.load(Ordering::Relaxed);
        let changed = self.write(sql, table, deleting)?;
        let open = self.opened()?;
        let serial = open.state.last_serial.load(Ordering::Relaxed);
        if serial == 0 {
            open.state.last_serial.store(before, Ordering::Relaxed);
        }
        let rowid = open.connection.last_insert_rowid();
        if kind == 6 {
            let columns = crate::sql::Catalog::table(open, None, table).map(|table| table.columns).unwrap_or_default();
            let serial_kind = columns.iter().map(|column| column.ty.kind).find(|kind| kind.is_serial());
            replies::insert_done(&mut self.out, serial, serial_kind);
        }
        // In an ANSI database a search that found nothing is a warning.
        let warnings = 0;
        replies::done(&mut self.out, &self.caps, warnings, changed, rowid, serial);
        replies::cost(&mut self.out, changed as i32);
        Ok(())
    }

    fn finish(&mut self, warnings: i16) {
        replies::done(&mut self.out, &self.caps, warnings, 0, 0, 0);
        replies::cost(&mut self.out, 1);
    }

    /// Several steps that hold together even outside a transaction.
    fn together(&mut self, work: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        self.start_changes()?;
        self.run_sql("SAVEPOINT ifx_ddl", "")?;
        let result = work(self);
        if result.is_err() {
            self.run_sql("ROLLBACK TO ifx_ddl", "")?;
        }
        self.run_sql("RELEASE ifx_ddl", "")?;
        result
    }

    fn catalog_failure(error: rusqlite::Error) -> SqlError {
        SqlError::isam(-243, -107, error.to_string())
    }

    fn batch(&self, sql: &str, table: &str) -> Result<()> {
        for statement in sql.split(';').filter(|statement| !statement.trim().is_empty()) {
            self.run_sql(statement, table)?;
        }
        Ok(())
    }

    fn create_table(&mut self, table: &NewTable) -> Result<()> {
        let known = crate::sql::Catalog::table(self.opened()?, None, &table.name).is_some();
        if known && table.if_not_exists {
            return Ok(());
        }
        if known {
            return Err(SqlError::new(-310, table.name.clone()));
        }
        self.together(|session| {
            session.run_sql(&table.sql, &table.name)?;
            session.opened()?.add_table(table).map_err(Self::catalog_failure)
        })
    }

    fn select_into(&mut self, table: &NewTable) -> Result<i64> {
        let values = self.parameter_values()?;
        if crate::sql::Catalog::table(self.opened()?, None, &table.name).is_some() {
            return Err(SqlError::isam(-958, 0, table.name.clone()));
        }
        let (create, fill) = table.sql.split_once(';').unwrap_or((&table.sql, ""));
        self.run_sql(create, &table.name)?;
        let open = self.opened()?;
        let filled = Statement::prepare(&open.connection, fill).and_then(|mut statement| {
            statement.bind(&values)?;
            statement.step()
        });
        filled.map_err(|failure| failures::translate(open, &failure, "", false, false))?;
        open.add_table(table).map_err(Self::catalog_failure)?;
        Ok(open.connection.changes() as i64)
    }

    pub(super) fn run_action(&mut self, kind: i16, action: Action) -> Result<()> {
        self.forget_interrupt();
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
            Action::CloseDatabase => self.close_database(),
            Action::CreateDatabase { name, mode } => {
                let mode = Mode::from_name(mode).unwrap_or(Mode::Unlogged);
                let created = self.server.create_database(&name, mode);
                if !created.map_err(|error| SqlError::new(-330, error))? {
                    return Err(SqlError::isam(-330, -100, name));
                }
                let warnings = self.replace_database(&name)?;
                self.finish(warnings);
                return Ok(());
            }
            Action::DropDatabase(name) if !self.server.drop_database(&name) => {
                return Err(SqlError::isam(-329, -111, name));
            }
            Action::LockMode(wait) => self.lock_wait = wait.map(Duration::from_secs),
            Action::Environment(name, value) if name == "headrace_fault" => {
                let mut faults = self.faults;
                faults.set(&value).map_err(|problem| SqlError::new(-19_804, problem))?;
                self.next_faults = Some(faults);
            }
            Action::CreateTable(table) => self.create_table(&table)?,
            Action::SelectInto(table) => {
                let rows = self.select_into(&table)?;
                replies::done(&mut self.out, &self.caps, 0, rows, 0, 0);
                replies::cost(&mut self.out, 1);
                return Ok(());
            }
            Action::DropTable { name, if_exists } => self.drop_table(kind, &name, if_exists)?,
            Action::RenameTable { from, to } => self.together(|session| {
                session.run_sql(&format!("ALTER TABLE \"{from}\" RENAME TO \"{to}\""), &from)?;
                let open = session.opened()?;
                if let Some(last) = lock(&open.database.serials).remove(&from) {
                    lock(&open.database.serials).insert(to.clone(), last);
                }
                let update = "UPDATE systables SET tabname = ? WHERE tabname = ?";
                open.connection.execute(update, [&to, &from]).map_err(Self::catalog_failure)?;
                let update = "UPDATE ifx_constraints SET tabname = ? WHERE tabname = ?";
                open.connection.execute(update, [&to, &from]).map_err(Self::catalog_failure)?;
                Ok(())
            })?,
            Action::Alter { table, sql, columns, constraints } => self.together(|session| {
                for sql in &sql {
                    session.batch(sql, &table)?;
                }
                let open = session.opened()?;
                open.change_table(&table, &columns).map_err(Self::catalog_failure)?;
                open.add_constraints(&table, &constraints).map_err(Self::catalog_failure)
            })?,
            Action::Ddl(sql) => self.together(|session| session.run_sql(&sql, ""))?,
            Action::CreateRoutine(name, routine) => self.opened()?.set_routine(&name, Some(routine))?,
            Action::DropRoutine(name) => self.opened()?.set_routine(&name, None)?,
            _ => {}
        }
        self.finish(0);
        Ok(())
    }

    fn drop_table(&mut self, kind: i16, name: &str, if_exists: bool) -> Result<()> {
        if if_exists && crate::sql::Catalog::table(self.opened()?, None, name).is_none() {
            return Ok(());
        }
        for prepared in self.statements.iter_mut().flatten() {
            prepared.write = None;
        }
        let what = if kind == 41 { "VIEW" } else { "TABLE" };
        self.together(|session| {
            session.run_sql(&format!("DROP {what} \"{name}\""), name)?;
            session.opened()?.remove_table(name).map_err(Self::catalog_failure)
        })
    }

    /// DATABASE and CREATE DATABASE: all but the statement that is running goes with the old one.
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
        replies::transaction_state(&mut self.out, 1);
        Ok(())
    }

    fn end(&mut self, sql: &str, event: u16) -> Result<()> {
        let mode = self.opened()?.database.mode;
        match self.transaction {
            Transaction::None if mode == Mode::Unlogged => return Err(SqlError::new(-256, "")),
            Transaction::None if mode == Mode::Logged => return Err(SqlError::new(-255, "")),
            _ => {}
        }
        // Readers must not keep SQLite from ending what they were opened in; held ones go on after a commit.
        self.close_unheld_cursors(event == 3);
        if self.transaction == (Transaction::Open { started: true }) {
            self.run_sql(sql, "")?;
        }
        self.transaction = Transaction::None;
        replies::transaction_state(&mut self.out, event);
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.end("COMMIT", 2)
    }

    pub(super) fn rollback(&mut self) -> Result<()> {
        self.end("ROLLBACK", 3)
    }

    pub(super) fn savepoint(&mut self, verb: &str, name: &[u8]) -> Result<()> {
        self.begin_implicitly();
        if self.transaction == Transaction::None {
            return Err(SqlError::new(-255, ""));
        }
        let name = self.text(name).to_lowercase().replace('"', "");
        self.start_changes()?;
        let done = self.run_sql(&format!("{verb} \"{name}\""), "");
        done.map_err(|error| if error.code == -999 { SqlError::new(-26_093, name) } else { error })?;
        self.finish(0);
        Ok(())
    }
}
