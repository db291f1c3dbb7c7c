//! A least-recently-used cache.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A cache of at most `capacity` entries that returns the entry it evicts.
///
/// Each entry has the number of its last use. The oldest is looked for among all of them, which only a new entry in a
/// full cache needs: one that costs a round trip in any case.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    index: HashMap<K, usize>,
    entries: Vec<Entry<K, V>>,
    /// The place of the entry that was used last, if it is still there.
    last: Option<usize>,
    uses: u64,
    capacity: usize,
}

#[derive(Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    used: u64,
}

impl<K: Hash + Eq + Clone, V> Cache<K, V> {
    /// A cache of at most `capacity` entries; 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        Self { index: HashMap::new(), entries: Vec::new(), last: None, uses: 0, capacity }
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
        let at = match self.last {
            Some(at) if self.entries[at].key.borrow() == key => at,
            _ => *self.index.get(key)?,
        };
        if self.last.replace(at) != Some(at) {
            self.uses += 1;
            self.entries[at].used = self.uses;
        }
        Some(&self.entries[at].value)
    }

    /// Inserts a value, and returns the value that left the cache for it: the old value of the key, the least recently
    /// used entry, or the value itself if the capacity is 0.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.capacity == 0 {
            return Some(value);
        }
        let mut left = self.remove(&key);
        if self.entries.len() == self.capacity {
            let oldest = self.entries.iter().min_by_key(|entry| entry.used).map(|entry| entry.key.clone());
            left = oldest.and_then(|key| self.remove(&key));
        }
        self.uses += 1;
        self.last = Some(self.entries.len());
        self.index.insert(key.clone(), self.entries.len());
        self.entries.push(Entry { key, value, used: self.uses });
        left
    }

    /// Takes an entry out.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let at = self.index.remove(key)?;
        self.last = None;
        let removed = self.entries.swap_remove(at);
        if let Some(moved) = self.entries.get(at)
            && let Some(place) = self.index.get_mut::<K>(&moved.key)
        {
            *place = at;
        }
        Some(removed.value)
    }

    /// Takes every entry out.
    pub fn drain(&mut self) -> impl Iterator<Item = V> {
        self.index.clear();
        self.last = None;
        self.entries.drain(..).map(|entry| entry.value)
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
