//! The types of a connection: the built-in ones, and those that were looked up.

use super::builtin::{self, Scalar};
use super::inside::Texts;
use super::text::DateOrder;
use super::{Oid, extension, oid};
use crate::limits;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The structure of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// A built-in scalar, or one of an extension.
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
    /// A composite type.
    Composite {
        /// Its attributes, in order.
        fields: Arc<[Attribute]>,
    },
    /// An enumeration: travels as text.
    Enum,
    /// A domain.
    Domain {
        /// The type it restricts.
        base: Oid,
        /// The modifier of that type; -1 if the domain has none.
        modifier: i32,
    },
    /// A type of which only its number is known: travels as text.
    Unknown,
}

/// An attribute of a composite type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub oid: Oid,
    /// The modifier of its type; -1 if it has none.
    pub modifier: i32,
}

impl TypeKind {
    /// The type that it is built from, if there is exactly one.
    pub(super) fn inner(&self) -> Option<Oid> {
        match *self {
            TypeKind::Array { element: inner }
            | TypeKind::Range { subtype: inner }
            | TypeKind::Multirange { range: inner }
            | TypeKind::Domain { base: inner, .. } => Some(inner),
            _ => None,
        }
    }
}

/// A type that is not built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserType {
    /// Its name.
    pub name: String,
    /// Its structure.
    pub kind: TypeKind,
}

/// The types of a connection. Plans that look types up while they decode have a copy, which shares all data.
#[derive(Clone, Debug, Default)]
pub struct TypeRegistry {
    types: Arc<HashMap<Oid, UserType>>,
    /// Types that the user's own loader decodes; true if it needs the binary form.
    custom: Arc<HashMap<Oid, bool>>,
    requested: Arc<HashSet<Oid>>,
    /// The delimiter of the elements of an array in text form, by array type, if it is not a comma.
    separators: Arc<HashMap<Oid, u8>>,
    /// What the server has made of values that are read only as text.
    texts: Arc<Texts>,
    /// Set if a value shows that the structure of a type has changed.
    stale: Arc<AtomicBool>,
    /// The values of extensions that are not text are received as the text that the server shows.
    pub extensions_as_text: bool,
    /// A timestamp is sent as a date or a time without the rest, and the last that Python has as infinity; a list
    /// of points is an open path: asyncpg's way.
    pub loose_times: bool,
    /// The order of day and month in a date that does not show it, as last reported by the server.
    pub date_order: Option<DateOrder>,
}

/// The first OID that PostgreSQL assigns to objects made after initdb's bootstrap.
pub(super) const FIRST_USER_OID: Oid = 10_000;

impl TypeRegistry {
    /// The structure of a type, `Unknown` if it was not looked up.
    pub fn kind(&self, oid: Oid) -> TypeKind {
        builtin::kind(oid).or_else(|| self.types.get(&oid).map(|t| t.kind.clone())).unwrap_or(TypeKind::Unknown)
    }

    /// Returns true if values of such a type are received as text because the program asked for it.
    pub(super) fn is_read_as_text(&self, scalar: Scalar) -> bool {
        self.extensions_as_text && extension::is_structured(scalar)
    }

    /// The name of a type, or its OID if it has none.
    pub fn name(&self, oid: Oid) -> String {
        if let TypeKind::Array { element } = self.kind(oid) {
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

    /// Registers the types that the user's own loaders decode, in the place of those before: true if from its binary
    /// form, false if from its text form.
    pub fn set_custom(&mut self, custom: HashMap<Oid, bool>) {
        self.custom = Arc::new(custom);
    }

    /// Whether the user's own loader decodes this type; true if from its binary form.
    pub fn custom(&self, oid: Oid) -> Option<bool> {
        self.custom.get(&oid).copied()
    }

    /// Those of `oids` that are unknown and have not been requested.
    pub fn missing(&self, oids: &[Oid]) -> Vec<Oid> {
        let mut missing: Vec<Oid> = oids
            .iter()
            .copied()
            .filter(|oid| *oid >= FIRST_USER_OID && !self.types.contains_key(oid) && !self.requested.contains(oid))
            .filter(|oid| builtin::kind(*oid).is_none())
            .collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Those of `oids` whose text cannot be parsed with the types known now: unknown ones, and those that contain a
    /// composite type, which may have changed since.
    pub fn unsure(&self, oids: &[Oid]) -> Vec<Oid> {
        let unsure = |oid: &Oid| !self.knows(*oid) || self.has_composite(*oid);
        let mut unsure: Vec<Oid> = oids.iter().copied().filter(unsure).collect();
        unsure.sort_unstable();
        unsure.dedup();
        unsure
    }

    /// Returns true if a type is known, if only by its name.
    pub fn knows(&self, oid: Oid) -> bool {
        oid < FIRST_USER_OID || self.types.contains_key(&oid) || builtin::kind(oid).is_some()
    }

    /// Returns true if a type is a composite one, or has one in it.
    pub fn has_composite(&self, mut oid: Oid) -> bool {
        for _ in 0..=limits::NESTING {
            match self.kind(oid) {
                TypeKind::Composite { .. } => return true,
                kind => match kind.inner() {
                    Some(inner) => oid = inner,
                    None => return false,
                },
            }
        }
        false
    }

    /// Returns true if the structure of a type, and of all that it is built from, is the same in `other`.
    pub fn agrees(&self, other: &Self, oid: Oid) -> bool {
        self.agrees_within(other, oid, limits::NESTING)
    }

    fn agrees_within(&self, other: &Self, oid: Oid, depth: usize) -> bool {
        let kind = self.kind(oid);
        let inner = |oid: Oid| depth == 0 || self.agrees_within(other, oid, depth - 1);
        kind == other.kind(oid)
            && match &kind {
                TypeKind::Composite { fields } => fields.iter().all(|field| inner(field.oid)),
                kind => kind.inner().is_none_or(inner),
            }
    }

    /// Takes the texts that the server has made of values.
    pub fn set_texts(&mut self, texts: Arc<Texts>) {
        self.texts = texts;
    }

    /// The text that the server has made of this value.
    pub fn text_of(&self, oid: Oid, value: &[u8]) -> Option<&[u8]> {
        self.texts.get(&oid)?.get(value).map(Vec::as_slice)
    }

    /// Records that these types were requested, so that an unknown one is not requested repeatedly.
    pub fn mark_requested(&mut self, oids: &[Oid]) {
        Arc::make_mut(&mut self.requested).extend(oids);
    }

    /// Forgets which types were requested: they may have been created since.
    pub fn forget_requested(&mut self) {
        self.requested = Arc::default();
    }

    /// Forgets the structure of user-defined types: one of them has changed.
    pub fn forget(&mut self) {
        self.requested = Arc::default();
        if !self.types.is_empty() {
            self.types = Arc::default();
        }
    }

    /// Returns true if the same types are known to both, and are read in the same way.
    pub fn is_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.types, &other.types)
            && Arc::ptr_eq(&self.custom, &other.custom)
            && self.extensions_as_text == other.extensions_as_text
    }

    /// Records that a value showed a changed structure of a type.
    #[cold]
    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Relaxed);
    }

    /// Returns true if a value has shown that; resets it.
    #[inline]
    pub fn take_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed) && self.stale.swap(false, Ordering::Relaxed)
    }

    /// The delimiter of elements of this type in an array's text.
    pub fn separator(&self, element: Oid) -> u8 {
        if element == oid::BOX { b';' } else { self.separators.get(&element).copied().unwrap_or(b',') }
    }

    /// Adds a type from a row of the introspection query; returns true if it was known with another structure.
    pub fn learn<T: AsRef<str>>(&mut self, row: &[Option<T>]) -> bool {
        let mut cells = row.iter().map(|cell| cell.as_ref().map(AsRef::as_ref));
        let mut cell = || cells.next().flatten();
        let (Some(oid), Some(name), Some(kind)) = (cell(), cell(), cell()) else { return false };
        let (related, fields, separator) = (cell(), cell(), cell());
        let Ok(oid) = oid.parse() else { return false };
        if let Some([separator]) = separator.map(str::as_bytes)
            && *separator != b','
        {
            Arc::make_mut(&mut self.separators).insert(oid, *separator);
        }
        let related = || related.and_then(|text| text.parse().ok()).unwrap_or(0);
        let kind = match kind {
            "a" => TypeKind::Array { element: related() },
            "d" => {
                TypeKind::Domain { base: related(), modifier: fields.and_then(|text| text.parse().ok()).unwrap_or(-1) }
            }
            "e" => TypeKind::Enum,
            "r" => TypeKind::Range { subtype: related() },
            "m" => TypeKind::Multirange { range: related() },
            "c" => TypeKind::Composite { fields: composite(fields.unwrap_or("")) },
            receiver => extension::by_receiver(receiver).map_or(TypeKind::Unknown, TypeKind::Scalar),
        };
        let changed = self.types.get(&oid).is_some_and(|known| known.kind != kind);
        self.register(oid, UserType { name: name.to_owned(), kind });
        changed
    }
}

/// `oid modifier name`, one attribute per line: a line feed in its name is written as U+0001 by the query, which every
/// encoding has, and which may be written as an escape whatever `standard_conforming_strings` is.
fn composite(text: &str) -> Arc<[Attribute]> {
    let attribute = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let (oid, modifier, name) = (parts.next()?, parts.next()?, parts.next()?);
        let name = name.replace('\u{1}', "\n");
        Some(Attribute { name, oid: oid.parse().ok()?, modifier: modifier.parse().ok()? })
    };
    text.lines().filter_map(attribute).collect()
}
