//! Prepared statements and the plans made for them once.

use crate::messages::backend::Field;
use crate::types::{Decoder, Encoder, Format, Oid, TypeRegistry};
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The columns of a result, and how to decode each.
#[derive(Debug)]
pub struct Columns {
    /// As the server describes them.
    pub fields: Vec<Field>,
    /// One decoder per column.
    pub decoders: Vec<Decoder>,
    /// The last part of Bind: which format each column is asked for.
    pub(super) formats: Vec<u8>,
}

impl Columns {
    /// Plans for a result whose formats we choose.
    pub fn plan(registry: &TypeRegistry, fields: Vec<Field>) -> Self {
        let mut decoders = Vec::with_capacity(fields.len());
        let mut wanted = Vec::with_capacity(fields.len());
        for field in &fields {
            let (decoder, format) = Decoder::new(registry, field.type_oid, field.type_modifier);
            decoders.push(decoder);
            wanted.push(format);
        }
        let all_binary = wanted.iter().all(|f| *f == Format::Binary);
        let mut formats = Vec::new();
        if all_binary {
            formats.extend_from_slice(&[0, 1, 0, 1]);
        } else {
            formats.extend_from_slice(&(wanted.len() as u16).to_be_bytes());
            for format in wanted {
                formats.extend_from_slice(&[0, u8::from(format == Format::Binary)]);
            }
        }
        Self { fields, decoders, formats }
    }

    /// Plans for a result whose formats the server chose (the simple protocol).
    pub fn as_sent(registry: &TypeRegistry, fields: Vec<Field>) -> Self {
        let decoders = fields
            .iter()
            .map(|field| match field.format {
                0 => Decoder::new_text(registry, field.type_oid, field.type_modifier),
                _ => Decoder::new(registry, field.type_oid, field.type_modifier).0,
            })
            .collect();
        Self { fields, decoders, formats: vec![0, 0] }
    }
}

/// A statement that the server has prepared.
#[derive(Debug)]
pub struct Statement {
    /// Its name on the server, empty for the unnamed one.
    pub name: String,
    /// Its text.
    pub sql: Arc<str>,
    /// The types of its parameters.
    pub parameters: Vec<Oid>,
    /// How to encode each of them.
    pub encoders: Vec<Encoder>,
    /// Its columns, `None` when it returns no rows.
    pub columns: Option<Arc<Columns>>,
    /// How often the session had changed its schema when this was prepared.
    pub changes: u64,
}

/// What a prepared statement is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub sql: Arc<str>,
    pub hints: Vec<Oid>,
}

/// The borrowed twin of [`Key`], so that a look-up allocates nothing.
pub(super) trait Lookup {
    fn parts(&self) -> (&str, &[Oid]);
}

impl Lookup for Key {
    fn parts(&self) -> (&str, &[Oid]) {
        (&self.sql, &self.hints)
    }
}

impl Lookup for (&str, &[Oid]) {
    fn parts(&self) -> (&str, &[Oid]) {
        *self
    }
}

impl<'a> Borrow<dyn Lookup + 'a> for Key {
    fn borrow(&self) -> &(dyn Lookup + 'a) {
        self
    }
}

impl Hash for dyn Lookup + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for dyn Lookup + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn Lookup + '_ {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}
