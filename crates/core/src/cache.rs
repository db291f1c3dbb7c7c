//! A least-recently-used cache.

use std::collections::HashMap;
use std::hash::Hash;

/// A cache of at most `capacity` entries that returns the entry it evicts.
///
/// A slab of entries linked from the most to the least recently used; a look-up moves an entry to the front.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    index: HashMap<K, usize>,
    slots: Vec<Slot<K, V>>,
    free: Vec<usize>,
    head: usize,
    tail: usize,
    capacity: usize,
}

#[derive(Debug)]
struct Slot<K, V> {
    entry: Option<(K, V)>,
    prev: usize,
    next: usize,
}

const NONE: usize = usize::MAX;

impl<K: Hash + Eq + Clone, V> Cache<K, V> {
    /// A cache of at most `capacity` entries; 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        Self { index: HashMap::new(), slots: Vec::new(), free: Vec::new(), head: NONE, tail: NONE, capacity }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The maximum number of entries.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value of `key`, which becomes the most recently used.
    pub fn get<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // The same one again needs no hash, which reads all of a text.
        if !self.is_first(key) {
            let slot = *self.index.get(key)?;
            self.unlink(slot);
            self.push_front(slot);
        }
        self.slots[self.head].entry.as_ref().map(|(_, v)| v)
    }

    /// Returns true if the entry of `key` is the most recently used one.
    fn is_first<Q>(&self, key: &Q) -> bool
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let first = self.slots.get(self.head).and_then(|slot| slot.entry.as_ref());
        first.is_some_and(|(known, _)| known.borrow() == key)
    }

    /// Inserts a value, and returns the value that left the cache for it: the old value of the key, the least recently
    /// used entry, or the value itself if the capacity is 0.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.capacity == 0 {
            return Some(value);
        }
        if let Some(&slot) = self.index.get(&key) {
            self.unlink(slot);
            self.push_front(slot);
            return self.slots[slot].entry.replace((key, value)).map(|(_, v)| v);
        }
        let evicted = if self.index.len() == self.capacity { self.remove_slot(self.tail) } else { None };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { entry: None, prev: NONE, next: NONE });
            self.slots.len() - 1
        });
        self.slots[slot].entry = Some((key.clone(), value));
        self.push_front(slot);
        self.index.insert(key, slot);
        evicted
    }

    /// Takes an entry out.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let slot = *self.index.get(key)?;
        self.remove_slot(slot)
    }

    /// Takes every entry out.
    pub fn drain(&mut self) -> Vec<V> {
        let mut out = Vec::with_capacity(self.len());
        while let Some(v) = self.remove_slot(self.tail) {
            out.push(v);
        }
        out
    }

    fn remove_slot(&mut self, slot: usize) -> Option<V> {
        let (key, value) = self.slots.get_mut(slot)?.entry.take()?;
        self.index.remove(&key);
        self.unlink(slot);
        self.free.push(slot);
        Some(value)
    }

    fn unlink(&mut self, slot: usize) {
        let (prev, next) = (self.slots[slot].prev, self.slots[slot].next);
        if prev == NONE {
            self.head = next
        } else {
            self.slots[prev].next = next
        }
        if next == NONE { self.tail = prev } else { self.slots[next].prev = prev }
    }

    fn push_front(&mut self, slot: usize) {
        self.slots[slot].prev = NONE;
        self.slots[slot].next = self.head;
        if self.head == NONE {
            self.tail = slot
        } else {
            self.slots[self.head].prev = slot
        }
        self.head = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = Cache::new(2);
        assert_eq!(cache.insert("a", 1), None);
        assert_eq!(cache.insert("b", 2), None);
        assert_eq!(cache.get("a"), Some(&1));
        assert_eq!(cache.get("a"), Some(&1));
        assert_eq!(cache.insert("c", 3), Some(2));
        assert_eq!(cache.insert("a", 4), Some(1));
        assert_eq!(cache.remove("c"), Some(3));
        assert_eq!(cache.get("c"), None);
        assert_eq!(cache.drain(), vec![4]);
        assert!(cache.is_empty());
    }

    #[test]
    fn nothing_is_kept_at_capacity_zero() {
        let mut cache = Cache::new(0);
        assert_eq!(cache.insert("a", 1), Some(1));
        assert!(cache.is_empty());
    }
}
