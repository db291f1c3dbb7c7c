//! Large objects: their data, which a handle names.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use headrace_simulator_common::lock;

use crate::types::Type;
use crate::wire::Output;

/// The large objects of a server, by the name of the file that they would have.
#[derive(Debug, Default)]
pub struct Lobs {
    all: Mutex<HashMap<String, Vec<u8>>>,
    next: AtomicI64,
}

/// The handle of an object: its type, its size and its name.
pub fn handle(code: u8, size: usize, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.put_i32(i32::from(Type::engine(code)));
    bytes.put_i64(size as i64);
    bytes.put_text(name.as_bytes());
    bytes
}

/// The name in a handle.
pub fn name(handle: &[u8]) -> Option<String> {
    let text = handle.get(16..)?;
    Some(String::from_utf8_lossy(text.strip_suffix(&[0]).unwrap_or(text)).into_owned())
}

/// The size that a handle states.
pub fn size(handle: &[u8]) -> Option<i64> {
    Some(i64::from_be_bytes(*handle.get(4..)?.first_chunk()?))
}

impl Lobs {
    /// A new object; returns its name.
    pub fn create(&self, data: Vec<u8>) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let folder = number % 900;
        let name = format!("file:/var/lib/cubrid/lob/ces_{folder:03}/ces_temp.{number:020}_{:04}", number % 10_000);
        lock(&self.all).insert(name.clone(), data);
        name
    }

    /// Appends; returns false if there is no such object or the place is not its end.
    pub fn append(&self, name: &str, at: i64, data: &[u8]) -> bool {
        let mut all = lock(&self.all);
        match all.get_mut(name) {
            Some(found) if at == found.len() as i64 => {
                found.extend(data);
                true
            }
            _ => false,
        }
    }

    /// A part of an object; nothing if there is none of that name.
    pub fn read(&self, name: &str, at: usize, length: usize) -> Option<Vec<u8>> {
        let all = lock(&self.all);
        let data = all.get(name)?;
        Some(data.iter().skip(at).take(length).copied().collect())
    }

    /// All of an object.
    pub fn all(&self, name: &str) -> Option<Vec<u8>> {
        lock(&self.all).get(name).cloned()
    }

    /// Removes an object.
    pub fn remove(&self, name: &str) {
        lock(&self.all).remove(name);
    }
}
