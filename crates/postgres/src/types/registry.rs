//! The types that a connection knows: the built-in ones, and those it has learnt.

use super::Oid;
use super::builtin::{self, Scalar};
use super::text::DateOrder;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a type is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A built-in scalar.
    Scalar(Scalar),
    /// An array.
    Array {
        /// The type of its elements.
        element: Oid,
    },
    /// A range.
    Range {
        /// The type of its bounds.
        subtype: Oid,
    },
    /// A multirange.
    Multirange {
        /// The type of its ranges.
        range: Oid,
    },
    /// A composite type: names and types of its attributes.
    Composite {
        /// In order.
        fields: Arc<[(String, Oid)]>,
    },
    /// An enumeration: travels as text.
    Enum,
    /// A domain.
    Domain {
        /// The type it restricts.
        base: Oid,
    },
    /// A type of which only its number is known: travels as text.
    Unknown,
}

/// A type that is not built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserType {
    /// Its name.
    pub name: String,
    /// How it is built.
    pub kind: Kind,
}

/// The types that a connection knows. Plans that look types up while they decode keep a copy, which shares all of it.
#[derive(Clone, Debug, Default)]
pub struct TypeRegistry {
    types: Arc<HashMap<Oid, UserType>>,
    /// Types that the user's own loader decodes, and whether it wants the binary form.
    custom: Arc<HashMap<Oid, bool>>,
    asked: Arc<HashSet<Oid>>,
    /// What separates the elements of an array in text form, by their type, where it is not a comma.
    separators: Arc<HashMap<Oid, u8>>,
    /// Set where a value shows that a type is not built as it was learnt.
    stale: Arc<AtomicBool>,
    /// What comes first in a date that does not show it, as far as the server has said.
    pub date_order: Option<DateOrder>,
}

/// The first number that PostgreSQL gives to objects made after initdb's bootstrap.
const FIRST_USER_OID: Oid = 10_000;

impl TypeRegistry {
    /// How a type is built, `Unknown` when nobody knows.
    pub fn kind(&self, oid: Oid) -> Kind {
        builtin::kind(oid).or_else(|| self.types.get(&oid).map(|t| t.kind.clone())).unwrap_or(Kind::Unknown)
    }

    /// The name of a type, or its number where it has none.
    pub fn name(&self, oid: Oid) -> String {
        if let Kind::Array { element } = self.kind(oid) {
            return format!("{}[]", self.name(element));
        }
        builtin::name(oid)
            .map(str::to_owned)
            .or_else(|| self.types.get(&oid).map(|t| t.name.clone()))
            .unwrap_or_else(|| format!("type {oid}"))
    }

    /// Adds a type.
    pub fn register(&mut self, oid: Oid, user_type: UserType) {
        Arc::make_mut(&mut self.types).insert(oid, user_type);
    }

    /// Says that the user's own loader decodes this type, from its binary or its text form.
    pub fn set_custom(&mut self, oid: Oid, binary: bool) {
        Arc::make_mut(&mut self.custom).insert(oid, binary);
    }

    /// Whether the user's own loader decodes this type, and from which form.
    pub fn custom(&self, oid: Oid) -> Option<bool> {
        self.custom.get(&oid).copied()
    }

    /// Those of `oids` that are not known and have not been asked for.
    pub fn missing(&self, oids: &[Oid]) -> Vec<Oid> {
        let mut missing: Vec<Oid> = oids
            .iter()
            .copied()
            .filter(|oid| *oid >= FIRST_USER_OID && !self.types.contains_key(oid) && !self.asked.contains(oid))
            .filter(|oid| builtin::kind(*oid).is_none())
            .collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Notes that these types were asked for, so that an unknown one is not asked for again and again.
    pub fn mark_asked(&mut self, oids: &[Oid]) {
        Arc::make_mut(&mut self.asked).extend(oids);
    }

    /// Forgets which types were asked for: they may have been made since.
    pub fn ask_again(&mut self) {
        self.asked = Arc::default();
    }

    /// Forgets how user-defined types are built: one of them has changed.
    pub fn forget(&mut self) {
        self.asked = Arc::default();
        if !self.types.is_empty() {
            self.types = Arc::default();
        }
    }

    /// Notes that a value showed a type to be built in another way than it was learnt.
    #[cold]
    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Relaxed);
    }

    /// Whether a value has shown that, and that it was asked for.
    #[inline]
    pub fn take_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed) && self.stale.swap(false, Ordering::Relaxed)
    }

    /// What separates elements of this type in an array's text.
    pub fn separator(&self, element: Oid) -> u8 {
        if element == builtin::BOX { b';' } else { self.separators.get(&element).copied().unwrap_or(b',') }
    }

    /// Learns a type from a row of the introspection query.
    pub fn learn(&mut self, row: &[Option<&str>]) {
        let [Some(oid), Some(name), Some(kind), related, fields, separator] = row else { return };
        let Ok(oid) = oid.parse() else { return };
        if let Some([separator]) = separator.map(str::as_bytes)
            && *separator != b','
        {
            Arc::make_mut(&mut self.separators).insert(oid, *separator);
        }
        let related = || related.and_then(|text| text.parse().ok()).unwrap_or(0);
        let kind = match *kind {
            "a" => Kind::Array { element: related() },
            "d" => Kind::Domain { base: related() },
            "e" => Kind::Enum,
            "r" => Kind::Range { subtype: related() },
            "m" => Kind::Multirange { range: related() },
            "c" => Kind::Composite { fields: composite(fields.unwrap_or("")) },
            _ => Kind::Unknown,
        };
        self.register(oid, UserType { name: (*name).to_owned(), kind });
    }
}

/// `oid name` pairs, one per line: a line feed in an attribute's name is written as U+FFFF by the query.
fn composite(text: &str) -> Arc<[(String, Oid)]> {
    text.lines()
        .filter_map(|line| {
            let (oid, name) = line.split_once(' ')?;
            Some((name.replace('\u{ffff}', "\n"), oid.parse().ok()?))
        })
        .collect()
}
