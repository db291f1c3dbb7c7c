//! Prepared statements, shared by all clients of a pool.

use crate::limits::{DESCRIPTION_BYTES, KNOWN_STATEMENTS};
use crate::lock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A statement as a client's Parse has it: its text, and the types of its parameters.
#[derive(Debug)]
pub struct Statement {
    /// Its name on every server connection.
    pub name: Vec<u8>,
    /// The body of Parse after the name: text, number of types, types.
    pub body: Box<[u8]>,
    id: u64,
}

impl Statement {
    /// Distinguishes it from all others.
    pub fn id(&self) -> u64 {
        self.id
    }
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The beginning of the names of statements on the server.
pub const PREFIX: &str = "headraced_";

/// The statements of a pool by their text and types.
#[derive(Debug, Default)]
pub struct Catalog {
    statements: Mutex<HashMap<Box<[u8]>, Arc<Statement>>>,
}

impl Catalog {
    /// The statement with this text and these types; the same for everyone who asks.
    pub fn named(&self, body: &[u8]) -> Arc<Statement> {
        let mut statements = lock(&self.statements);
        if let Some(found) = statements.get(body) {
            return Arc::clone(found);
        }
        if statements.len() >= KNOWN_STATEMENTS {
            statements.retain(|_, statement| Arc::strong_count(statement) > 1);
        }
        let made = Self::unshared(body);
        statements.insert(body.into(), Arc::clone(&made));
        made
    }

    /// A statement that is nobody else's.
    pub fn unshared(body: &[u8]) -> Arc<Statement> {
        let id = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Arc::new(Statement { name: format!("{PREFIX}{id}").into_bytes(), body: body.into(), id })
    }

    /// Something that statements depend on has changed: who prepares a text from now on has the server parse it.
    pub fn clear(&self) {
        lock(&self.statements).clear();
    }

    /// The server has changed in a way that this statement does not fit any more: a client that prepares the text from now on
    /// gets another.
    pub fn forget(&self, statement: &Statement) {
        let mut statements = lock(&self.statements);
        if statements.get(&statement.body).is_some_and(|found| found.id == statement.id) {
            statements.remove(&statement.body);
        }
    }
}

/// The statements that one server connection has prepared, the least recently used first to go.
#[derive(Debug)]
pub struct OnServer {
    used: HashMap<u64, Prepared>,
    clock: u64,
    capacity: usize,
    /// The unnamed statement.
    pub unnamed: Option<u64>,
}

#[derive(Debug)]
struct Prepared {
    used: u64,
    statement: Arc<Statement>,
    /// ParameterDescription, and RowDescription or NoData.
    description: Option<Arc<[u8]>>,
}

impl OnServer {
    /// None yet, and at most so many.
    pub fn new(capacity: usize) -> Self {
        Self { used: HashMap::new(), clock: 0, capacity: capacity.max(1), unnamed: None }
    }

    /// Whether it is there. It counts as used.
    pub fn has(&mut self, statement: &Statement) -> bool {
        self.clock += 1;
        let clock = self.clock;
        self.used.get_mut(&statement.id).map(|entry| entry.used = clock).is_some()
    }

    /// It is being prepared. Returns the one to close for it.
    pub fn add(&mut self, statement: &Arc<Statement>) -> Option<Arc<Statement>> {
        let evicted = (self.used.len() >= self.capacity)
            .then(|| self.used.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| *id))
            .flatten()
            .and_then(|id| self.used.remove(&id));
        self.clock += 1;
        let entry = Prepared { used: self.clock, statement: Arc::clone(statement), description: None };
        self.used.insert(statement.id, entry);
        evicted.map(|entry| entry.statement)
    }

    /// The server has described it.
    pub fn describe(&mut self, statement: &Statement, description: Vec<u8>) {
        let fits = description.len() <= DESCRIPTION_BYTES;
        if let Some(entry) = self.used.get_mut(&statement.id).filter(|_| fits) {
            entry.description = Some(description.into());
        }
    }

    /// What the server has said of it.
    pub fn description(&self, statement: &Statement) -> Option<Arc<[u8]>> {
        self.used.get(&statement.id)?.description.clone()
    }

    /// The numbers of all that are there.
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        self.used.keys().copied()
    }

    /// It is not there after all.
    pub fn remove(&mut self, id: u64) {
        self.used.remove(&id);
    }

    /// None are there any more.
    pub fn clear(&mut self) {
        self.used.clear();
        self.unnamed = None;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.used.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}
