//! A least-recently-used cache.

use hashlink::LinkedHashMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// A cache of at most `capacity` entries that returns the entry it evicts, without a look at the others.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    /// In the order in which they were used, the last one at the back.
    entries: LinkedHashMap<K, V>,
    capacity: usize,
}

impl<K: Hash + Eq, V> Cache<K, V> {
    /// A cache of at most `capacity` entries; 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        Self { entries: LinkedHashMap::new(), capacity }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The maximum number of entries.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value of `key`, which becomes the most recently used.
    pub fn get<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // The same one again needs no hash, which reads all of a text.
        if self.entries.back().is_none_or(|(last, _)| last.borrow() != key) {
            self.entries.to_back(key)?;
        }
        self.entries.back().map(|(_, value)| value)
    }

    /// Inserts a value, and returns the value that left the cache for it: the old value of the key, the least recently
    /// used entry, or the value itself if the capacity is 0.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.capacity == 0 {
            return Some(value);
        }
        let replaced = self.entries.insert(key, value);
        if self.entries.len() > self.capacity { self.entries.pop_front().map(|(_, value)| value) } else { replaced }
    }

    /// Takes an entry out.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.remove(key)
    }

    /// Takes every entry out.
    pub fn drain(&mut self) -> impl Iterator<Item = V> {
        self.entries.drain().map(|(_, value)| value)
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
        assert!(cache.drain().eq([4]));
        assert!(cache.is_empty());
    }

    #[test]
    fn nothing_is_kept_at_capacity_zero() {
        let mut cache = Cache::new(0);
        assert_eq!(cache.insert("a", 1), Some(1));
        assert!(cache.is_empty());
    }
}
