//! Prepared statements, shared by all clients of a pool.

use super::counted::Counted;
use super::description::{Description, FirstDescription};
use super::relay::is_settable;
use crate::limits::{KNOWN_STATEMENT_BYTES, KNOWN_STATEMENTS, SHARED_FOR, STATEMENT_BYTES};
use crate::lock;
use headrace_postgres::sql::{Facts, facts, has_parse_time_constant};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A statement as a client's Parse has it: its text, and the types of its parameters.
#[derive(Debug)]
pub struct PreparedStatement {
    /// The body of Parse after the name: text, number of types, types.
    pub body: Arc<[u8]>,
    /// What its execution does, and leaves in the session.
    pub facts: Facts,
    /// The settings under which others may have it parsed; `None` if it is one client's own.
    settings: Option<Arc<str>>,
    id: u64,
    name: Box<[u8]>,
    made: Instant,
    pub(super) first_description: FirstDescription,
    _counted: Counted,
}

impl PreparedStatement {
    /// Distinguishes it from all others.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its text, as far as that is in UTF-8.
    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.body)
    }

    /// Its name on every server connection.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns true if it may be parsed under these settings. One client's own may under any: what it has then is what it
    /// gets.
    pub fn fits(&self, settings: Option<&str>) -> bool {
        self.settings.is_none() || self.settings.as_deref() == settings
    }
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// What is kept by the number of a statement.
pub type ById<T> = HashMap<u64, T, BuildHasherDefault<IdHasher>>;

/// The hash of a number that [`PreparedStatement::id`] has counted: nobody can choose those that collide.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 << 8 | u64::from(*byte)));
    }

    fn write_u64(&mut self, id: u64) {
        // 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4): the table goes
        // by the first bits and the last ones.
        self.0 = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

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
    generation: Generation,
}

/// Counts what was made, or changed: no two catalogs have the same number.
#[derive(Debug)]
struct Generation(AtomicU64);

impl Generation {
    fn next() -> u64 {
        static GENERATIONS: AtomicU64 = AtomicU64::new(1);
        GENERATIONS.fetch_add(1, Ordering::Relaxed)
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self(AtomicU64::new(Self::next()))
    }
}

/// Statements by the body of their Parse.
type ByBody = HashMap<Arc<[u8]>, Arc<PreparedStatement>>;

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
    /// The statement with this text and these types, parsed under these settings; the same for everyone who asks within
    /// [`SHARED_FOR`]. Where there are too many it is the client's own, and so is one that would show that it is shared.
    pub fn shared(&self, settings: &Arc<str>, body: &[u8], now: Instant) -> Arc<PreparedStatement> {
        let mut known = lock(&self.known);
        if let Some(of_settings) = known.statements.get_mut(settings)
            && let Some(found) = of_settings.get_mut(body)
        {
            if now.saturating_duration_since(found.made) >= SHARED_FOR {
                *found = Arc::new(make(body, Some(Arc::clone(settings)), now));
            }
            return Arc::clone(found);
        }
        if known.is_full(body.len()) {
            known.clean();
            if known.is_full(body.len()) {
                return own(body);
            }
        }
        let mut made = make(body, Some(Arc::clone(settings)), now);
        if made.facts.effects.deallocates || has_parse_time_constant(&text_of(body)) {
            // What it is about is another statement for each client; a constant is that of the client's own Parse.
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

    /// Forgets what no client has.
    pub fn clean(&self) {
        lock(&self.known).clean();
    }

    /// The statements that clients have: the name on the server, the text, and the number of their holders.
    pub fn shown(&self) -> Vec<(String, String, usize)> {
        let known = lock(&self.known);
        let all = known.statements.values().flat_map(HashMap::values);
        let shown = all.map(|found| {
            let name = String::from_utf8_lossy(found.name()).into_owned();
            (name, text_of(&found.body).into_owned(), Arc::strong_count(found) - 1)
        });
        shown.collect()
    }

    /// Something that statements depend on has changed: who prepares a text from now on has the server parse it.
    pub fn clear(&self) {
        self.generation.0.store(Generation::next(), Ordering::Relaxed);
        *lock(&self.known) = Known::default();
    }

    /// Another number after each [`Catalog::clear`].
    pub fn generation(&self) -> u64 {
        self.generation.0.load(Ordering::Relaxed)
    }

    /// A client that prepares the text of this statement from now on gets another. Returns true if it would have got this
    /// one.
    pub fn forget(&self, statement: &PreparedStatement) -> bool {
        let Some(settings) = &statement.settings else { return false };
        let mut known = lock(&self.known);
        let Some(of_settings) = known.statements.get_mut(settings) else { return false };
        let is_known = of_settings.get(&statement.body).is_some_and(|found| found.id == statement.id);
        if is_known {
            of_settings.remove(&statement.body);
            known.count -= 1;
            known.bytes -= statement.body.len();
        }
        is_known
    }

    /// The server has changed in a way that this statement does not fit any more. Others may not either: what is prepared
    /// from now on is parsed again, the first time that it is noticed.
    pub fn outdated(&self, statement: &PreparedStatement) {
        if self.forget(statement) {
            self.clear();
        }
    }
}

/// A statement that is nobody else's.
pub fn own(body: &[u8]) -> Arc<PreparedStatement> {
    Arc::new(make(body, None, Instant::now()))
}

fn make(body: &[u8], settings: Option<Arc<str>>, made: Instant) -> PreparedStatement {
    let id = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let facts = facts_of(&text_of(body));
    PreparedStatement {
        body: body.into(),
        facts,
        settings,
        id,
        name: name_of(id).into(),
        made,
        first_description: FirstDescription::default(),
        _counted: Counted::new(STATEMENT_BYTES + body.len()),
    }
}

/// What is known of a client's text.
pub fn facts_of(sql: &str) -> Facts {
    facts(sql, always_follows)
}

/// Returns true if a setting follows its client whichever server it is lent a connection of: every server reports it.
fn always_follows(name: &str) -> bool {
    is_settable(name) && name != "search_path" && name != "default_transaction_read_only"
}

fn text_of(body: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(body.split(|byte| *byte == 0).next().unwrap_or_default())
}

/// The statements that one server connection has prepared, the least recently used first to go.
#[derive(Debug)]
pub struct OnServer {
    used: ById<Prepared>,
    clock: u64,
    capacity: usize,
    /// The unnamed statement.
    unnamed: Option<u64>,
    unnamed_description: Option<Description>,
}

/// A statement with a name that a server connection has.
#[derive(Debug)]
pub struct Prepared {
    used: u64,
    /// What the server has reported of it since it was parsed there.
    pub description: Option<Description>,
}

impl OnServer {
    /// None yet, and at most so many.
    pub fn new(capacity: usize) -> Self {
        Self { used: ById::default(), clock: 0, capacity: capacity.max(1), unnamed: None, unnamed_description: None }
    }

    /// Whether it is there. It counts as used.
    pub fn has(&mut self, id: u64) -> bool {
        self.clock += 1;
        let clock = self.clock;
        self.used.get_mut(&id).map(|entry| entry.used = clock).is_some()
    }

    /// One with a name, if it is there. It counts as used.
    pub fn used(&mut self, id: u64) -> Option<&Prepared> {
        self.clock += 1;
        let entry = self.used.get_mut(&id)?;
        entry.used = self.clock;
        Some(entry)
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
        let prepared = Prepared { used: self.clock, description: None };
        self.used.insert(id, prepared);
        evicted
    }

    /// The server has described one that it has just prepared or found to fit.
    pub fn describe(&mut self, statement: &PreparedStatement, description: &Description) {
        let description = description.clone();
        if let Some(entry) = self.used.get_mut(&statement.id) {
            entry.description = Some(description.after(entry.description.as_ref()));
        } else if self.unnamed == Some(statement.id) {
            self.unnamed_description = Some(description.after(self.unnamed_description.as_ref()));
        }
    }

    /// What the server has reported of it, as one with a name or as the unnamed one.
    pub fn description(&self, id: u64) -> Option<&Description> {
        match self.used.get(&id) {
            Some(entry) => entry.description.as_ref(),
            None => self.unnamed_description.as_ref().filter(|_| self.unnamed == Some(id)),
        }
    }

    /// Returns true if it is the unnamed one.
    pub fn is_unnamed(&self, id: u64) -> bool {
        self.unnamed == Some(id)
    }

    /// The unnamed statement is another one, or there is none. Returns the one before.
    pub fn set_unnamed(&mut self, id: Option<u64>) -> Option<u64> {
        self.unnamed_description = None;
        std::mem::replace(&mut self.unnamed, id)
    }

    /// It is not there after all.
    pub fn remove(&mut self, id: u64) {
        self.used.remove(&id);
    }

    /// Whether it is there, with a name, for somebody who does not use it.
    pub fn contains(&self, id: u64) -> bool {
        self.used.contains_key(&id)
    }

    /// Those with a name.
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        self.used.keys().copied()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_parsed_again_for_those_who_come_later() {
        let (catalog, settings, now) = (Catalog::default(), Arc::from("settings"), Instant::now());
        let id = |at: Instant| catalog.shared(&settings, b"select 1\0\0\0", at).id();
        let first = id(now);
        assert_eq!(id(now + SHARED_FOR / 2), first);
        let second = id(now + SHARED_FOR);
        assert_ne!(second, first);
        assert_eq!(id(now + SHARED_FOR * 3 / 2), second);
        assert_eq!(lock(&catalog.known).count, 1);
    }

    #[test]
    fn parse_time_constants_are_not_shared() {
        let (catalog, settings, now) = (Catalog::default(), Arc::from("settings"), Instant::now());
        let id = || catalog.shared(&settings, b"select 'now'::timestamptz\0\0\0", now).id();
        assert_ne!(id(), id());
    }
}
