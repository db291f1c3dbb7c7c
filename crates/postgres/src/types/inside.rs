//! The types of the parts of a value: in binary form a record, a composite value and an array contain their numbers.
//!
//! No description of a result has them. So values that contain numbers of types are searched before they are decoded, and
//! types that are not known are looked up first, and the server makes text of parts that are read only as text.

use super::builtin::Scalar;
use super::decode::{Decoder, attributes, elements, sized, split_u32};
use super::registry::{FIRST_USER_OID, TypeKind, TypeRegistry};
use super::{Oid, oid};
use crate::limits;
use std::collections::HashMap;

/// What values contain that cannot be read yet.
#[derive(Debug, Default)]
pub struct Inside {
    /// Types that are not known.
    pub types: Vec<Oid>,
    /// Parts of known types that are read only as text, each with its type.
    pub parts: Vec<(Oid, Vec<u8>)>,
}

impl Inside {
    /// Returns true if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.parts.is_empty()
    }
}

/// The texts that the server has made of such parts, by type and binary form.
pub type Texts = HashMap<Oid, HashMap<Vec<u8>, Vec<u8>>>;

/// Built-in types of which the server makes no value from their binary form: pg_node_tree, anyarray, and statistics.
const NEVER_READ: [Oid; 7] = [194, 2277, 3361, 3402, 4600, 4601, 5017];

/// `int2vector[]` and `oidvector[]`.
const VECTOR_ARRAYS: [Oid; 2] = [1006, 1013];

impl TypeRegistry {
    /// Returns true if values of this type contain the numbers of types that its definition does not determine, or that
    /// another session may have changed since: those of records and composite types, and of what is made of them.
    pub fn names_types(&self, mut oid: Oid) -> bool {
        for _ in 0..=limits::NESTING {
            match self.kind(oid) {
                TypeKind::Scalar(Scalar::Record) | TypeKind::Composite { .. } => return true,
                kind => match kind.inner() {
                    Some(inner) => oid = inner,
                    None => return false,
                },
            }
        }
        false
    }

    /// Adds to `found` what a value of this type, in binary form, contains that cannot be read yet.
    pub fn find_unknown(&self, oid: Oid, body: &[u8], found: &mut Inside) {
        self.search(oid, body, found, 0);
    }

    /// The same of columns of a row, the body of a DataRow: of the number of each, in order, and its type.
    pub fn find_unknown_in_row(&self, columns: &[(usize, Oid)], body: &[u8], found: &mut Inside) {
        let Some((_, mut rest)) = body.split_first_chunk::<2>() else { return };
        let mut at = 0;
        for (number, oid) in columns {
            while let Some((value, after)) = sized(rest).filter(|_| at <= *number) {
                if at == *number
                    && let Some(value) = value
                {
                    self.find_unknown(*oid, value, found);
                }
                rest = after;
                at += 1;
            }
        }
    }

    /// `None` at what cannot be read, which the decoder refuses.
    fn search(&self, oid: Oid, body: &[u8], found: &mut Inside, depth: usize) -> Option<()> {
        if oid < FIRST_USER_OID && !matches!(oid, oid::RECORD | oid::RECORD_ARRAY) {
            return Some(());
        }
        if depth > limits::NESTING {
            return None;
        }
        if !self.knows(oid) {
            found.types.push(oid);
            return Some(());
        }
        if self.custom(oid).is_some() {
            return Some(());
        }
        match self.kind(oid) {
            TypeKind::Scalar(Scalar::Record) | TypeKind::Composite { .. } => {
                for (oid, value) in attributes(body)? {
                    self.search_attribute(oid, value, found, depth);
                }
            }
            TypeKind::Domain { base, .. } => return self.search(base, body, found, depth + 1),
            TypeKind::Array { .. } => {
                let (element, _, mut rest) = elements(body)?;
                while !rest.is_empty() && self.may_hold_unknown(element) {
                    let (value, after) = sized(rest)?;
                    self.search_in(element, value, found, depth);
                    rest = after;
                }
            }
            TypeKind::Range { subtype } if self.may_hold_unknown(subtype) => {
                let (_, mut rest) = body.split_first()?;
                while !rest.is_empty() {
                    let (value, after) = sized(rest)?;
                    self.search_in(subtype, value, found, depth);
                    rest = after;
                }
            }
            TypeKind::Multirange { range } if self.may_hold_unknown(range) => {
                let (_, mut rest) = split_u32(body)?;
                while !rest.is_empty() {
                    let (value, after) = sized(rest)?;
                    self.search_in(range, value, found, depth);
                    rest = after;
                }
            }
            TypeKind::Range { .. }
            | TypeKind::Multirange { .. }
            | TypeKind::Scalar(_)
            | TypeKind::Enum
            | TypeKind::Unknown => {}
        }
        Some(())
    }

    /// An attribute has the type of its number, whatever the type of the whole is.
    fn search_attribute(&self, oid: Oid, value: Option<&[u8]>, found: &mut Inside, depth: usize) {
        let Some(value) = value else { return };
        if depth >= limits::NESTING || !self.knows(oid) || Decoder::named(self, oid, depth + 1).is_some() {
            self.search_in(oid, Some(value), found, depth);
        } else if self.text_of(oid, value).is_none()
            && text_of_vectors(oid, value).is_none()
            && !self.is_never_read(oid, depth)
        {
            found.parts.push((oid, value.to_vec()));
        }
    }

    /// Returns true if the server refuses the binary form of values of this type, or of a part of them.
    fn is_never_read(&self, oid: Oid, depth: usize) -> bool {
        let is_never = |part: Oid| self.is_never_read(part, depth + 1);
        NEVER_READ.contains(&oid)
            || depth < limits::NESTING
                && match self.kind(oid) {
                    TypeKind::Composite { fields } => fields.iter().any(|field| is_never(field.oid)),
                    kind => kind.inner().is_some_and(is_never),
                }
    }

    fn search_in(&self, oid: Oid, value: Option<&[u8]>, found: &mut Inside, depth: usize) {
        if let Some(value) = value {
            self.search(oid, value, found, depth + 1);
        }
    }

    fn may_hold_unknown(&self, oid: Oid) -> bool {
        !self.knows(oid) || self.names_types(oid)
    }
}

/// The text of an array of `int2vector` or `oidvector`, as `array_out` writes it: the server refuses the binary form of one
/// without items, which it has sent. `None` of any other, and of an array of several dimensions or with other bounds.
pub(super) fn text_of_vectors(oid: Oid, body: &[u8]) -> Option<String> {
    if !VECTOR_ARRAYS.contains(&oid) {
        return None;
    }
    let (element, lengths, mut rest) = elements(body)?;
    let number = |bytes: &[u8]| match element {
        oid::INT2VECTOR => Some(i16::from_be_bytes(bytes.try_into().ok()?).to_string()),
        _ => Some(u32::from_be_bytes(bytes.try_into().ok()?).to_string()),
    };
    let is_plain = match lengths[..] {
        [] => true,
        [_] => body.get(16..20)? == 1u32.to_be_bytes(),
        _ => false,
    };
    let mut vectors = Vec::new();
    while !rest.is_empty() {
        let (value, after) = sized(rest)?;
        rest = after;
        let Some(value) = value else {
            vectors.push("NULL".to_owned());
            continue;
        };
        let (_, _, mut items) = elements(value)?;
        let mut numbers = Vec::new();
        while !items.is_empty() {
            let (item, after) = sized(items)?;
            numbers.push(number(item?)?);
            items = after;
        }
        match &numbers[..] {
            [one] => vectors.push(one.clone()),
            _ => vectors.push(format!("\"{}\"", numbers.join(" "))),
        }
    }
    is_plain.then(|| format!("{{{}}}", vectors.join(",")))
}
