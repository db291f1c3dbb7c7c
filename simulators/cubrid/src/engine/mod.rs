//! The functions and collations that the translated SQL uses.

mod calls;
mod formats;
mod patterns;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use headrace_simulator_common::lock;
use rusqlite::Connection;

use crate::charset::Charset;
use crate::decimal::Decimal;
use crate::lobs::Lobs;
use crate::values::Bound;

pub use calls::register;

/// What survives a connection: session variables and what the last INSERT did.
#[derive(Debug, Default)]
pub struct Kept {
    /// The session variables.
    pub variables: HashMap<String, Bound>,
    /// The first generated number of the last INSERT that had one.
    pub last_insert_id: Option<i64>,
    /// Rows of the last statement.
    pub rows: i64,
}

/// What the functions of a session share with it.
#[derive(Debug)]
pub struct State {
    /// The user, in capitals.
    pub user: String,
    /// The database.
    pub database: String,
    /// The code set of its texts.
    pub charset: Charset,
    /// What survives the connection.
    pub kept: Arc<Mutex<Kept>>,
    /// The numbers of AUTO_INCREMENT and of serials; a rollback does not take them back.
    pub numbers: Arc<Mutex<HashMap<String, Number>>>,
    /// The numbers that the running statement has generated.
    pub generated: Mutex<Vec<i64>>,
    /// Inserted and updated rows of the running statement.
    pub inserted: AtomicI64,
    /// Updated rows of the running statement.
    pub updated: AtomicI64,
    /// True if the running statement is to end.
    pub cancelled: Arc<AtomicBool>,
    /// When it has to end.
    pub deadline: Mutex<Option<Instant>>,
    /// The large objects of the server.
    pub lobs: Arc<Lobs>,
    /// The large objects that this session made in its transaction.
    pub own_lobs: Mutex<Vec<String>>,
}

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// The next number.
    pub next: i64,
    /// The difference to the one after that.
    pub step: i64,
    /// True if a number was taken.
    pub used: bool,
}

impl State {
    /// True if the running statement is to end, because of a cancel or its timeout.
    pub fn must_end(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || lock(&self.deadline).is_some_and(|at| Instant::now() >= at)
    }

    /// The next number of a counter.
    pub fn take(&self, key: &str, count: i64) -> Option<i64> {
        let mut numbers = lock(&self.numbers);
        let number = numbers.get_mut(key)?;
        // Several at once: the last of them is returned.
        number.next += number.step * count;
        number.used = true;
        Some(number.next - number.step)
    }
}

/// Registers the collations, without which tables cannot be read.
///
/// # Errors
/// SQLite's.
pub fn register_collations(connection: &Connection) -> rusqlite::Result<()> {
    connection.create_collation("CUBNUM", |left, right| {
        match (Decimal::parse(left, false), Decimal::parse(right, false)) {
            (Some(left), Some(right)) => left.compare(right),
            _ => left.cmp(right),
        }
    })?;
    connection.create_collation("CUBTZ", |left, right| {
        let utc = |text: &str| text.split_once('|').map_or(text.to_owned(), |(utc, _)| utc.to_owned());
        utc(left).cmp(&utc(right))
    })
}
