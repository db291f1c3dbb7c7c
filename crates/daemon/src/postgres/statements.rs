//! Prepared statements, shared by all clients of a pool.

use crate::limits::{DESCRIPTION_BYTES, KNOWN_STATEMENT_BYTES, KNOWN_STATEMENTS};
use crate::lock;
use headrace_postgres::sql::{Effects, effects};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A statement as a client's Parse has it: its text, and the types of its parameters.
#[derive(Debug)]
pub struct Statement {
    /// The body of Parse after the name: text, number of types, types.
    pub body: Arc<[u8]>,
    /// What its execution does.
    pub effects: Effects,
    /// The settings under which others may have it parsed; `None` if it is one client's own.
    settings: Option<Arc<str>>,
    id: u64,
}

impl Statement {
    /// Distinguishes it from all others.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its name on every server connection.
    pub fn name(&self) -> Vec<u8> {
        name_of(self.id)
    }

    /// Returns true if it may be parsed under these settings. One client's own may under any: what it has then is what it
    /// gets.
    pub fn fits(&self, settings: Option<&str>) -> bool {
        self.settings.is_none() || self.settings.as_deref() == settings
    }
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The beginning of the names of statements on the server.
pub const PREFIX: &str = "headraced_";

/// The name of a statement on every server connection.
pub fn name_of(id: u64) -> Vec<u8> {
    format!("{PREFIX}{id}").into_bytes()
}

/// The statements of a pool by the settings under which they are parsed, their text and types. The settings decide what
/// a text means: the server reads a constant of a timestamp when it parses it.
#[derive(Debug, Default)]
pub struct Catalog {
    known: Mutex<Known>,
}

/// Statements by the body of their Parse.
type ByBody = HashMap<Arc<[u8]>, Arc<Statement>>;

#[derive(Debug, Default)]
struct Known {
    statements: HashMap<Arc<str>, ByBody>,
    count: usize,
    bytes: usize,
}

impl Known {
    /// Forgets what no client has.
    fn clean(&mut self) {
        (self.count, self.bytes) = (0, 0);
        for of_settings in self.statements.values_mut() {
            of_settings.retain(|_, statement| Arc::strong_count(statement) > 1);
            self.count += of_settings.len();
            self.bytes += of_settings.keys().map(|body| body.len()).sum::<usize>();
        }
        self.statements.retain(|_, of_settings| !of_settings.is_empty());
    }

    fn is_full(&self, more: usize) -> bool {
        self.count >= KNOWN_STATEMENTS || self.bytes + more > KNOWN_STATEMENT_BYTES
    }
}

impl Catalog {
    /// The statement with this text and these types, parsed under these settings; the same for everyone who asks. Where
    /// there are too many it is the client's own.
    pub fn shared(&self, settings: &Arc<str>, body: &[u8]) -> Arc<Statement> {
        let mut known = lock(&self.known);
        if let Some(found) = known.statements.get(settings).and_then(|of_settings| of_settings.get(body)) {
            return Arc::clone(found);
        }
        if known.is_full(body.len()) {
            known.clean();
            if known.is_full(body.len()) {
                return own(body);
            }
        }
        let mut made = make(body, Some(Arc::clone(settings)));
        if made.effects.deallocates {
            // What it is about is another statement for each client.
            made.settings = None;
            return Arc::new(made);
        }
        let made = Arc::new(made);
        known.count += 1;
        known.bytes += body.len();
        let of_settings = known.statements.entry(Arc::clone(settings)).or_default();
        of_settings.insert(Arc::clone(&made.body), Arc::clone(&made));
        made
    }

    /// Something that statements depend on has changed: who prepares a text from now on has the server parse it.
    pub fn clear(&self) {
        *lock(&self.known) = Known::default();
    }

    /// The server has changed in a way that this statement does not fit any more: a client that prepares the text from now on
    /// gets another.
    pub fn forget(&self, statement: &Statement) {
        let Some(settings) = &statement.settings else { return };
        let mut known = lock(&self.known);
        let Some(of_settings) = known.statements.get_mut(settings) else { return };
        if of_settings.get(&statement.body).is_some_and(|found| found.id == statement.id) {
            of_settings.remove(&statement.body);
            known.count -= 1;
            known.bytes -= statement.body.len();
        }
    }
}

/// A statement that is nobody else's.
pub fn own(body: &[u8]) -> Arc<Statement> {
    Arc::new(make(body, None))
}

fn make(body: &[u8], settings: Option<Arc<str>>) -> Statement {
    let id = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let text = body.split(|byte| *byte == 0).next().unwrap_or_default();
    let effects = effects(&String::from_utf8_lossy(text));
    Statement { body: body.into(), effects, settings, id }
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

#[derive(Debug, Default)]
struct Prepared {
    used: u64,
    /// ParameterDescription, and RowDescription or NoData.
    description: Option<Arc<[u8]>>,
}

impl OnServer {
    /// None yet, and at most so many.
    pub fn new(capacity: usize) -> Self {
        Self { used: HashMap::new(), clock: 0, capacity: capacity.max(1), unnamed: None }
    }

    /// Whether it is there. It counts as used.
    pub fn has(&mut self, id: u64) -> bool {
        self.clock += 1;
        let clock = self.clock;
        self.used.get_mut(&id).map(|entry| entry.used = clock).is_some()
    }

    /// It is being prepared. Returns the one to close for it.
    pub fn add(&mut self, id: u64) -> Option<u64> {
        let evicted = (self.used.len() >= self.capacity)
            .then(|| self.used.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| *id))
            .flatten();
        if let Some(evicted) = evicted {
            self.used.remove(&evicted);
        }
        self.clock += 1;
        self.used.insert(id, Prepared { used: self.clock, description: None });
        evicted
    }

    /// The server has described it.
    pub fn describe(&mut self, id: u64, description: Vec<u8>) {
        let fits = description.len() <= DESCRIPTION_BYTES;
        if let Some(entry) = self.used.get_mut(&id).filter(|_| fits) {
            entry.description = Some(description.into());
        }
    }

    /// What the server has said of it.
    pub fn description(&self, id: u64) -> Option<Arc<[u8]>> {
        self.used.get(&id)?.description.clone()
    }

    /// It is not there after all.
    pub fn remove(&mut self, id: u64) {
        self.used.remove(&id);
    }

    /// None with a name are there any more.
    pub fn clear(&mut self) {
        self.used.clear();
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
