//! Transactions and savepoints.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::types::Value;

use super::CasSession;
use crate::errors::{Error, Result};
use crate::limits::LOCK_PAUSE;
use crate::sql::{Write, quote};

impl CasSession {
    pub(super) fn commit(&mut self) -> Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("COMMIT").map_err(|error| self.failure(error, None, &[]))?;
        }
        self.ended(false);
        Ok(())
    }

    pub(super) fn rollback(&mut self) -> Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").map_err(|error| self.failure(error, None, &[]))?;
        }
        self.ended(true);
        Ok(())
    }

    fn ended(&mut self, undone: bool) {
        self.open = false;
        self.savepoints.clear();
        self.drop_lobs();
        if std::mem::take(&mut self.redefined) {
            self.server.database.generation.fetch_add(1, Ordering::Relaxed);
        }
        for handle in self.handles.iter_mut().flatten() {
            if undone || !handle.holdable {
                for result in &mut handle.results {
                    result.closed = true;
                }
            }
        }
    }

    /// Begins a transaction of SQLite; the first change waits for the lock.
    pub(super) fn begin(&mut self, writing: bool) -> Result<()> {
        if !self.connection.is_autocommit() {
            return Ok(());
        }
        if !writing {
            if self.isolation > 4 {
                self.connection.execute_batch("BEGIN").map_err(|error| self.failure(error, None, &[]))?;
            }
            return Ok(());
        }
        self.waiting(|session| session.connection.execute_batch("BEGIN IMMEDIATE"), None, &[])
    }

    /// Repeats what fails because of a lock, until the lock timeout.
    pub(super) fn waiting<T>(
        &mut self,
        work: impl Fn(&Self) -> rusqlite::Result<T>,
        write: Option<&Write>,
        values: &[Value],
    ) -> Result<T> {
        let started = Instant::now();
        let patience = u64::try_from(self.lock_timeout).ok().map(Duration::from_millis);
        let flag = self.cancel_flag();
        loop {
            match work(self) {
                Err(error) if is_busy(&error) && patience.is_none_or(|patience| started.elapsed() < patience) => {
                    if flag.load(Ordering::Relaxed) || self.state.must_end() {
                        return Err(Error::interrupted());
                    }
                    std::thread::sleep(LOCK_PAUSE);
                }
                done => return done.map_err(|error| self.failure(error, write, values)),
            }
        }
    }

    pub(super) fn set_savepoint(&mut self, name: &str) -> Result<()> {
        self.begin(true)?;
        let sql = format!("SAVEPOINT {}", quote(&name.to_lowercase()));
        self.connection.execute_batch(&sql).map_err(|error| self.failure(error, None, &[]))?;
        self.savepoints.push(name.to_lowercase());
        Ok(())
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        let wanted = name.to_lowercase();
        let at = self.savepoints.iter().rposition(|known| *known == wanted);
        let at = at.ok_or_else(|| Error::server(-550, format!("Unknown savepoint name {name}")))?;
        let sql = format!("ROLLBACK TO {}", quote(&wanted));
        self.connection.execute_batch(&sql).map_err(|error| self.failure(error, None, &[]))?;
        self.savepoints.truncate(at + 1);
        if self.redefined {
            self.redefine();
        }
        Ok(())
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    code == rusqlite::ffi::SQLITE_BUSY || code == rusqlite::ffi::SQLITE_LOCKED
}
