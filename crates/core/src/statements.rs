//! The prepared statements of a session: which are cached, which have to be closed at the server, and the epoch of
//! each.

use crate::cache::Cache;
use crate::limits;
use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

/// The number of times that a session has changed what a statement's text means: its schema, search path, tables or
/// types, or a reset. A statement of an earlier epoch was prepared under other definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(u64);

/// A statement that the server has prepared.
pub trait Prepared {
    /// The type by which the server identifies statements.
    type Name;

    /// The server's identifier; `None` if there is nothing to close.
    fn name(&self) -> Option<Self::Name>;
    /// Its text.
    fn sql(&self) -> &str;
    /// The session's epoch when it was prepared.
    fn epoch(&self) -> Epoch;
}

/// The prepared statements of a session, by their keys.
///
/// No statement leaks: each one that leaves the cache is closed with the next request, unless it was taken
/// ([`Statements::take`]) or the server has dropped it by itself.
#[derive(Debug)]
pub struct Statements<K, S: Prepared> {
    kept: Cache<K, Arc<S>>,
    epoch: Epoch,
    to_close: Vec<S::Name>,
}

impl<K: Hash + Eq + Clone, S: Prepared> Statements<K, S> {
    /// Keeps at most `capacity` statements; 0 keeps none.
    pub fn new(capacity: usize) -> Self {
        Self { kept: Cache::new(capacity), epoch: Epoch::default(), to_close: Vec::new() }
    }

    /// The number of statements in the cache.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// True when none is.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The maximum number of statements.
    pub fn capacity(&self) -> usize {
        self.kept.capacity()
    }

    /// Returns true if a statement of this text would be cached: the cache is not disabled, and the text is not longer
    /// than [`limits::STATEMENT_CACHE_SQL_BYTES`].
    pub fn keeps(&self, sql: &str) -> bool {
        self.kept.capacity() > 0 && sql.len() <= limits::STATEMENT_CACHE_SQL_BYTES
    }

    /// The current epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The session has changed the meaning of statements.
    pub fn advance(&mut self) {
        self.epoch.0 += 1;
    }

    /// Returns true if the session has changed the meaning of statements since this one was prepared.
    pub fn is_outdated(&self, statement: &S) -> bool {
        statement.epoch() < self.epoch
    }

    /// The statement of `key`, which becomes the most recently used.
    pub fn get<Q>(&mut self, key: &Q) -> Option<&Arc<S>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.kept.get(key)
    }

    /// Caches a statement. The statement that leaves for it is closed: the one that had its key, the least recently
    /// used one, or the new one itself if it is not to be cached ([`Statements::keeps`]).
    pub fn keep(&mut self, key: K, statement: Arc<S>) {
        let left = if self.keeps(statement.sql()) { self.kept.insert(key, statement) } else { Some(statement) };
        if let Some(left) = left {
            self.close(&left);
        }
    }

    /// Takes the statement of `key` out without closing it: the caller has to put it back, to close it, or to report it
    /// as lost.
    pub fn take<Q>(&mut self, key: &Q) -> Option<Arc<S>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.kept.remove(key)
    }

    /// Takes the statement of `key` out and closes it.
    pub fn forget<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(statement) = self.kept.remove(key) {
            self.close(&statement);
        }
    }

    /// Takes all out and closes them. A request that uses one of them is not to put it back: it is outdated.
    pub fn forget_all(&mut self) {
        self.advance();
        let names = self.kept.drain().filter_map(|statement| statement.name());
        self.to_close.extend(names);
    }

    /// The server has dropped every statement, including those that were to be closed.
    pub fn lost_all(&mut self) {
        drop(self.kept.drain());
        self.to_close.clear();
    }

    /// Has a statement closed with the next request. It must not be kept.
    pub fn close(&mut self, statement: &S) {
        self.to_close.extend(statement.name());
    }

    /// Closes the statement that is called `name` on the server with the next request.
    pub fn close_name(&mut self, name: S::Name) {
        self.to_close.push(name);
    }

    /// Takes the statements that have to be closed at the server.
    pub fn take_closed(&mut self) -> Vec<S::Name> {
        std::mem::take(&mut self.to_close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Numbered {
        id: Option<u32>,
        sql: String,
        epoch: Epoch,
    }

    impl Prepared for Numbered {
        type Name = u32;

        fn name(&self) -> Option<u32> {
            self.id
        }

        fn sql(&self) -> &str {
            &self.sql
        }

        fn epoch(&self) -> Epoch {
            self.epoch
        }
    }

    type Kept = Statements<&'static str, Numbered>;

    fn prepare(statements: &mut Kept, key: &'static str, id: u32) {
        let epoch = statements.epoch();
        statements.keep(key, Arc::new(Numbered { id: Some(id), sql: key.into(), epoch }));
    }

    #[test]
    fn what_leaves_is_closed_once() {
        let mut statements = Kept::new(2);
        for (key, id) in [("a", 1), ("b", 2), ("c", 3), ("b", 4)] {
            prepare(&mut statements, key, id);
        }
        assert_eq!(statements.take_closed(), [1, 2], "the least recently used, and the one that had the key");
        statements.forget("c");
        statements.forget("c");
        assert_eq!((statements.take_closed(), statements.len()), (vec![3], 1));
        assert_eq!(statements.take("b").and_then(|statement| statement.id), Some(4));
        assert!(statements.is_empty() && statements.take_closed().is_empty(), "what is taken is its taker's");
    }

    #[test]
    fn what_is_not_kept_is_closed_at_once() {
        let mut none = Kept::new(0);
        prepare(&mut none, "a", 1);
        assert_eq!((none.len(), none.take_closed()), (0, vec![1]));
        let mut some = Kept::new(1);
        let sql = "x".repeat(limits::STATEMENT_CACHE_SQL_BYTES + 1);
        assert!(some.keeps("x") && !some.keeps(&sql) && !none.keeps("x"));
        some.keep("a", Arc::new(Numbered { id: Some(2), sql, epoch: some.epoch() }));
        assert_eq!((some.len(), some.take_closed()), (0, vec![2]));
    }

    #[test]
    fn nothing_is_closed_at_a_server_that_has_dropped_all_statements() {
        let mut statements = Kept::new(1);
        prepare(&mut statements, "a", 1);
        prepare(&mut statements, "b", 2);
        statements.lost_all();
        assert!(statements.is_empty() && statements.take_closed().is_empty());
        prepare(&mut statements, "c", 3);
        statements.keep("d", Arc::new(Numbered { id: None, sql: String::new(), epoch: statements.epoch() }));
        statements.forget_all();
        assert_eq!(statements.take_closed(), [3], "one that has no name has nothing to be closed");
    }

    #[test]
    fn a_statement_is_outdated_by_whatever_changes_its_meaning() {
        let mut statements = Kept::new(2);
        prepare(&mut statements, "a", 1);
        statements.advance();
        prepare(&mut statements, "b", 2);
        let mut outdated = |key| statements.get(key).cloned().map(|known| statements.is_outdated(&known));
        assert_eq!((outdated("a"), outdated("b")), (Some(true), Some(false)));
        let in_use = statements.get("b").cloned().unwrap();
        statements.forget_all();
        assert!(statements.is_outdated(&in_use), "a request that uses a forgotten one does not put it back");
    }
}
