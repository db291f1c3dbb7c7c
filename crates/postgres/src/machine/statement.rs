//! Prepared statements and the plans made for them once.

use crate::messages::backend::Field;
use crate::sql::{begins_with, may_set_constants, updates_settings};
use crate::types::{self, Decoder, Encoder, Format, Inside, Oid, TypeRegistry};
use headrace_core::{Column, Described, Epoch, Prepared};
use std::borrow::{Borrow, Cow};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Names of prepared statements that no other connection uses.
///
/// A pooler without support for prepared statements assigns a server connection to one client after the other. If names
/// were counted from one, a client would execute the statement of another client that has the same name.
#[derive(Debug, Default)]
pub(super) struct StatementNames {
    /// The part of the connection. 0 until the first name is needed.
    session: u64,
    number: u64,
}

impl StatementNames {
    /// A name that was not used before.
    pub fn next_name(&mut self) -> String {
        while self.session == 0 {
            self.session = getrandom::u64().unwrap_or_else(|_| of_process_and_time());
        }
        self.number += 1;
        format!("headrace_{:016x}_{}", self.session, self.number)
    }
}

/// What distinguishes connections on a system that returns no random numbers.
fn of_process_and_time() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let mut hasher = std::hash::DefaultHasher::new();
    (std::process::id(), since).hash(&mut hasher);
    hasher.finish()
}

/// Returns true if a text calls `set_config` for the search path, for the role, which the path may name by `$user`, or
/// for a setting whose name is not a literal, or if it updates `pg_settings`.
pub(super) fn calls_set_config_of_path(sql: &str) -> bool {
    const NAME: &[u8] = b"set_config";
    const PATHS: [&[u8]; 3] = [b"'search_path'", b"'role'", b"'session_authorization'"];
    let (text, sql) = (sql, sql.as_bytes());
    // Parentheses are rarer than letters, and this is done for each statement that is prepared.
    let mut opening = sql.iter().enumerate().filter(|(_, byte)| **byte == b'(').map(|(at, _)| at);
    opening.any(|at| {
        let (before, first) = (sql[..at].trim_ascii_end(), sql[at + 1..].trim_ascii_start());
        let name = &before[before.len().saturating_sub(NAME.len())..];
        let is_path = |path: &&[u8]| first.get(..path.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(path));
        name.eq_ignore_ascii_case(NAME) && (!first.starts_with(b"'") || PATHS.iter().any(is_path))
    }) || updates_settings(text)
}

/// The columns of a result, and the decoder of each.
#[derive(Debug)]
pub struct Columns {
    /// As the server describes them.
    pub fields: Vec<Field>,
    /// One decoder per column.
    pub decoders: Vec<Decoder>,
    described: Arc<[Column]>,
    /// The last part of Bind: the format that is requested for each column.
    pub(super) formats: Vec<u8>,
    /// Types of columns that have to be looked up before their values can be decoded, each time: of those in text form
    /// composite types, whose text does not contain the types of their attributes, and in either form unknown types.
    pub(super) unsure: Vec<Oid>,
    /// The columns whose values contain the numbers of types, if there are any.
    naming: Option<Box<Naming>>,
}

/// Columns in binary form whose values contain the numbers of types, such as records.
#[derive(Debug)]
struct Naming {
    /// The number of each column, and its type.
    columns: Vec<(usize, Oid)>,
    /// The types that their decoders were made with.
    registry: TypeRegistry,
}

impl Naming {
    fn new(registry: &TypeRegistry, fields: &[Field]) -> Option<Box<Self>> {
        let binary = fields.iter().map(|field| field.type_oid).enumerate().filter(|(at, _)| fields[*at].format != 0);
        let columns: Vec<_> = binary.filter(|(_, oid)| registry.names_types(*oid)).collect();
        (!columns.is_empty()).then(|| Box::new(Self { columns, registry: registry.clone() }))
    }
}

impl Columns {
    /// Plans for a result whose formats the client chooses; each field's format is then the requested one.
    pub fn plan(registry: &TypeRegistry, mut fields: Vec<Field>) -> Self {
        let mut decoders = Vec::with_capacity(fields.len());
        let mut wanted = Vec::with_capacity(fields.len());
        for field in &mut fields {
            let (decoder, format) = Decoder::new(registry, field.type_oid, field.type_modifier);
            field.format = i16::from(format == Format::Binary);
            decoders.push(decoder);
            wanted.push(format);
        }
        let mut unsure = text_oids(&fields);
        unsure.retain(|oid| registry.has_composite(*oid));
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
        let naming = Naming::new(registry, &fields);
        Self { described: types::columns(registry, &fields), fields, decoders, formats, unsure, naming }
    }

    /// Plans for a result whose formats the server reports: those of the simple protocol, and those of a portal.
    pub fn as_sent(registry: &TypeRegistry, fields: Vec<Field>) -> Self {
        let decoders = fields
            .iter()
            .map(|field| match field.format {
                0 => Decoder::new_text(registry, field.type_oid, field.type_modifier),
                _ => Decoder::new_binary(registry, field.type_oid),
            })
            .collect();
        let mut unsure = registry.unsure(&text_oids(&fields));
        let binary = fields.iter().filter(|field| field.format != 0).map(|field| field.type_oid);
        unsure.extend(binary.filter(|oid| !registry.knows(*oid)));
        let naming = Naming::new(registry, &fields);
        Self { described: types::columns(registry, &fields), fields, decoders, formats: vec![0, 0], unsure, naming }
    }

    /// Plans for a result that is text whatever its types are.
    pub fn as_text(registry: &TypeRegistry, mut fields: Vec<Field>) -> Self {
        fields.iter_mut().for_each(|field| field.format = 0);
        Self::as_sent(registry, fields)
    }

    /// Columns that nothing is known of but their description.
    pub(super) fn undecoded(registry: &TypeRegistry, fields: Vec<Field>) -> Self {
        let described = types::columns(registry, &fields);
        Self { described, fields, decoders: Vec::new(), formats: Vec::new(), unsure: Vec::new(), naming: None }
    }

    /// Returns true if values of a column contain the numbers of types.
    #[inline]
    pub(super) fn names_types(&self) -> bool {
        self.naming.is_some()
    }

    /// Adds to `found` the types of columns in binary form that are not known any more.
    pub(super) fn find_forgotten(&self, registry: &TypeRegistry, found: &mut Inside) {
        let binary = self.fields.iter().filter(|field| field.format != 0).map(|field| field.type_oid);
        found.types.extend(binary.filter(|oid| !registry.knows(*oid)));
    }

    /// Adds to `found` what the values of a row, the body of a DataRow, contain that cannot be read yet.
    pub(super) fn find_unknown(&self, registry: &TypeRegistry, body: &[u8], found: &mut Inside) {
        if let Some(naming) = &self.naming {
            registry.find_unknown_in_row(&naming.columns, body, found);
        }
    }

    /// The same of the rows of a CopyData message in the binary format.
    pub(super) fn find_unknown_copied(&self, registry: &TypeRegistry, block: &[u8], found: &mut Inside) {
        types::copy_binary::rows(block).for_each(|row| self.find_unknown(registry, row, found));
    }

    /// The same columns with the types that are known now, if their decoders were made with others.
    pub(super) fn renewed(&self, registry: &TypeRegistry) -> Option<Self> {
        let is_outdated = self.naming.as_ref().is_some_and(|naming| !naming.registry.is_as(registry));
        // Whether results of them are deferred is decided at their first row.
        is_outdated.then(|| Self { unsure: self.unsure.clone(), ..Self::as_sent(registry, self.fields.clone()) })
    }

    /// The same as [`Self::formats`], with a code for each column: the server refuses them, before it executes anything,
    /// if the statement has another number of columns by now.
    pub(super) fn exact_formats(&self) -> Cow<'_, [u8]> {
        match self.formats[..] {
            [0, 1, high, low] => {
                let count = (self.fields.len() as u16).to_be_bytes();
                Cow::Owned([&count[..], &[high, low].repeat(self.fields.len())].concat())
            }
            _ => Cow::Borrowed(&self.formats),
        }
    }

    /// Returns true if one format code applies to all columns, however many there are.
    pub(super) fn is_one_format(&self) -> bool {
        matches!(self.formats[..], [0, 0] | [0, 1, ..])
    }
}

impl Described for Columns {
    fn columns(&self) -> &Arc<[Column]> {
        &self.described
    }
}

/// The types of the columns in text form.
fn text_oids(fields: &[Field]) -> Vec<Oid> {
    fields.iter().filter(|field| field.format == 0).map(|field| field.type_oid).collect()
}

/// Why the columns of a prepared statement are still valid when it is executed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The server: it analyses the statement again when anything has changed, and refuses to execute it when its
    /// columns would be others.
    Checked,
    /// No guarantee: the statement names a cursor or another prepared statement (FETCH, EXECUTE), or is of a kind whose
    /// columns the server does not compare. The portal is described when it is executed.
    Portal,
}

impl Shape {
    /// The kind of a statement, by its first word.
    pub fn of(sql: &str) -> Self {
        const CHECKED: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "WITH", "TABLE"];
        if begins_with(sql, &CHECKED) { Self::Checked } else { Self::Portal }
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
    /// The encoder of each of them.
    pub encoders: Vec<Encoder>,
    /// Its columns, `None` when it returns no rows.
    pub columns: Option<Arc<Columns>>,
    /// The session's epoch when this was prepared.
    pub epoch: Epoch,
    /// What the session had counted when this was described.
    pub(super) counted: Counted,
    /// The guarantee for `columns`.
    pub shape: Shape,
    /// It was prepared with the types of all its parameters: a pooler that prepares it again passes the same ones.
    pub typed: bool,
    /// Several rows of it were refused in one statement because they were several.
    pub unjoinable: AtomicBool,
    /// It may set the search path by a call of `set_config`, which changes the meaning of other statements.
    pub sets_path: bool,
    /// It may change a setting by which constants are read.
    pub sets_constants: bool,
    /// A parameter is of a composite type, or has one in it.
    pub(super) has_composites: bool,
}

impl Prepared for Statement {
    type Name = String;

    /// The unnamed statement is closed by the next one.
    fn name(&self) -> Option<String> {
        (!self.name.is_empty()).then(|| self.name.clone())
    }

    fn sql(&self) -> &str {
        &self.sql
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}

/// What a session counts of what it has changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// How many times it has declared, closed or deallocated cursors and prepared statements of its own SQL.
    pub names: u64,
    /// How many times it may have altered types, including the row types of tables and views.
    pub alterations: u64,
    /// How many times a setting has changed, or may have, by which the server reads the constants of a statement when it
    /// is prepared.
    pub constants: u64,
}

impl Statement {
    /// A statement that was sent to be described.
    pub(super) fn draft(name: String, sql: Arc<str>, epoch: Epoch, counted: Counted) -> Self {
        let shape = Shape::of(&sql);
        let sets_path = calls_set_config_of_path(&sql);
        let sets_constants = sets_path || may_set_constants(&sql);
        Self {
            name,
            sql,
            parameters: Vec::new(),
            encoders: Vec::new(),
            columns: None,
            epoch,
            counted,
            shape,
            typed: false,
            unjoinable: AtomicBool::new(false),
            sets_path,
            sets_constants,
            has_composites: false,
        }
    }

    /// Returns true if the server has chosen types of parameters, for example those of columns, that `hints` left to
    /// it.
    pub(super) fn has_chosen_types(&self, hints: &[Oid]) -> bool {
        hints.len() < self.parameters.len() || hints.contains(&0)
    }

    /// Returns true if it is the same on whichever server connection a pooler prepares it.
    pub(super) fn is_same_everywhere(&self) -> bool {
        self.columns.is_none() && (self.typed || self.name.is_empty())
    }

    /// Returns true if the portal of each execution is described: there is no other description of its rows. An unnamed
    /// statement is analysed each time, so the server has nothing to compare it with.
    pub(super) fn describes_portal(&self) -> bool {
        match self.columns {
            Some(_) => self.shape == Shape::Portal || self.name.is_empty(),
            // A statement without columns may have some by now, if its text does not show which rows it returns.
            None => begins_with(&self.sql, &["FETCH", "EXECUTE", "CALL"]),
        }
    }
}

/// The key of a prepared statement in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub sql: Arc<str>,
    pub hints: Vec<Oid>,
}

/// The borrowed form of [`Key`], so that a look-up does not allocate.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_set_the_search_path_are_found() {
        for sql in [
            "SELECT set_config('search_path', $1, true)",
            "select pg_catalog.SET_CONFIG ( 'Search_Path' , 'a', true)",
            "WITH q AS (SELECT set_config('role', 'x', true)) SELECT 1",
            "SELECT set_config($1, $2, true)",
            "SELECT set_config('app.x', '1', true), set_config('search_path', 'a', true)",
        ] {
            assert!(calls_set_config_of_path(sql), "{sql}");
        }
        for sql in ["SELECT set_config('app.tenant', $1, true)", "SELECT set_config", "set_confi", "", "SELECT 1"] {
            assert!(!calls_set_config_of_path(sql), "{sql}");
        }
    }

    #[test]
    fn only_statements_that_the_server_checks_keep_their_columns() {
        for sql in [
            "select 1",
            "  (SELECT 1)",
            "-- x\n/* a /* b */ c */ With q AS (SELECT 1) TABLE q",
            "VALUES (1)",
            "table t",
        ] {
            assert_eq!(Shape::of(sql), Shape::Checked, "{sql}");
        }
        for sql in
            ["FETCH ALL FROM c", "EXECUTE p(1)", "CALL f()", "SHOW all", "EXPLAIN SELECT 1", "", "/*", "selects", "é"]
        {
            assert_eq!(Shape::of(sql), Shape::Portal, "{sql}");
        }
    }
}
