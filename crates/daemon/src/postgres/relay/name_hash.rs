//! The hash of the names that clients give to their statements: a few bytes, looked for several times for each message.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

/// What is kept by a name.
pub type ByName<T> = HashMap<Vec<u8>, T, BuildHasherDefault<NameHasher>>;

/// Where a hash begins, and what it is multiplied by: nobody who does not know both can choose names that collide. They
/// are the same for all clients, each of which has a table of its own.
static SECRET: LazyLock<[u64; 2]> = LazyLock::new(|| {
    let random = RandomState::new();
    [random.hash_one(0), random.hash_one(1) | 1]
});

/// Each eight bytes are multiplied by a secret factor, and the two halves of the product added without carry, which is
/// less work for short keys than the standard library's SipHash.
#[derive(Clone, Copy, Debug)]
pub struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(SECRET[0])
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            self.write_u64(u64::from_le_bytes(padded));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(SECRET[1]);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_that_resemble_each_other_have_other_hashes() {
        let hash = |name: &[u8]| BuildHasherDefault::<NameHasher>::default().hash_one(name);
        let names: Vec<Vec<u8>> = (0..100_000)
            .map(|number| format!("stmt_{number}").into_bytes())
            .chain((0..64).map(|zeros| vec![0; zeros]))
            .chain((0..64).map(|bit| (1_u64 << bit).to_le_bytes().to_vec()))
            .collect();
        let all: HashSet<u64> = names.iter().map(|name| hash(name)).collect();
        assert_eq!(all.len(), names.len());
        // A table goes by the lowest bits and the highest seven.
        for bits in [0xFFFF, 0xFE00_0000_0000_01FF] {
            let places: HashSet<u64> = all.iter().map(|hash| hash & bits).collect();
            assert!(places.len() > 40_000, "{} places", places.len());
        }
        let owned = BuildHasherDefault::<NameHasher>::default().hash_one(b"a name".to_vec());
        assert_eq!(hash(b"a name"), owned);
    }
}
