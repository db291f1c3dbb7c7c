//! Types that users make: DISTINCT and opaque types, rows, collections.
//!
//! A [`crate::types::Type`] is copied everywhere, so it refers to one of these by a number. The numbers are those of
//! the process: a definition that comes twice gets the same one.

use std::sync::{Arc, Mutex, PoisonError};

use crate::types::{Kind, Type};

/// The extended id of the first type that a user makes.
pub const FIRST_EXTENDED: i32 = 2048;

/// A definition.
#[derive(Clone, Debug, PartialEq)]
pub enum UserType {
    /// A type of its own with the values of another.
    Distinct {
        /// Its name.
        name: String,
        /// The type that it has the values of.
        source: Type,
    },
    /// A row; one without a name is known by its fields.
    Row {
        /// Its name.
        name: Option<String>,
        /// Names and types of the fields.
        fields: Vec<(String, Type)>,
    },
    /// A SET, MULTISET or LIST.
    Collection {
        /// Which of them.
        kind: Kind,
        /// The type of its elements.
        element: Type,
    },
    /// Bytes that only its owner understands.
    Opaque {
        /// Its name.
        name: String,
        /// Its bytes; nothing for a varying number.
        length: Option<i32>,
    },
}

static KNOWN: Mutex<Vec<Arc<UserType>>> = Mutex::new(Vec::new());

/// The number of a definition, from 1.
pub fn intern(definition: UserType) -> u16 {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let index = known.iter().position(|found| **found == definition).unwrap_or_else(|| {
        known.push(Arc::new(definition));
        known.len() - 1
    });
    u16::try_from(index + 1).unwrap_or(0)
}

/// The definition of a number.
pub fn get(number: u16) -> Option<Arc<UserType>> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(usize::from(number).checked_sub(1)?).cloned()
}

impl UserType {
    /// The type of columns that have it.
    pub fn column_type(self) -> Type {
        let base = match &self {
            Self::Distinct { source, .. } => *source,
            Self::Row { .. } => Type::of(Kind::Row),
            Self::Collection { kind, .. } => Type::of(*kind),
            Self::Opaque { length: None, .. } => Type::new(Kind::OpaqueVar, 32_767),
            Self::Opaque { length: Some(length), .. } => Type::new(Kind::OpaqueFixed, *length),
        };
        Type { user: intern(self), ..base }
    }

    /// Its name, or its text if it has no name.
    pub fn label(&self) -> String {
        match self {
            Self::Distinct { name, .. } | Self::Opaque { name, .. } | Self::Row { name: Some(name), .. } => {
                name.clone()
            }
            Self::Row { name: None, fields } => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, ty)| format!("{name} {}", ty.declaration())).collect();
                format!("ROW({})", fields.join(", "))
            }
            Self::Collection { kind, element } => {
                format!("{}({} not null)", Type::of(*kind).name().to_uppercase(), element.declaration())
            }
        }
    }
}
