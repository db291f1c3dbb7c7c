//! Prepared statements and the plans made for their columns.

use super::CasHandler;
use crate::lexer::{self, Lexer};
use crate::messages::description::Field;
use crate::messages::server::Prepared as Reply;
use crate::messages::statement;
use crate::mirrored::{CastTexts, mirrored};
use crate::types::{self, Decoder};
use headrace_core::column::ColumnKind;
use headrace_core::token::Token;
use headrace_core::{Column, Described, Epoch, Prepared};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The columns of a result, and the decoder of each.
#[derive(Debug)]
pub struct Columns {
    /// As the server describes them.
    pub fields: Vec<Field>,
    /// One decoder per column.
    pub decoders: Vec<Decoder>,
    described: OnceLock<Arc<[Column]>>,
}

impl Columns {
    /// The plan of these columns.
    pub fn new(fields: Vec<Field>) -> Self {
        let decoders = fields.iter().map(|field| Decoder::new(field.ty)).collect();
        Self { fields, decoders, described: OnceLock::new() }
    }
}

impl Described for Columns {
    fn columns(&self) -> &Arc<[Column]> {
        self.described.get_or_init(|| types::columns(&self.fields))
    }
}

/// A statement that the CAS has prepared.
#[derive(Debug)]
pub struct Statement {
    /// Its text.
    pub sql: Arc<str>,
    /// Its number on the CAS.
    pub handle: i32,
    /// [`crate::messages::statement`]
    pub statement_type: u8,
    /// The number of its parameters.
    pub parameters: usize,
    /// Its columns; `None` if it returns no rows.
    pub columns: Option<Arc<Columns>>,
    /// The text has several statements. The number of parameters is that of all, everything else is of the first.
    pub is_several: bool,
    /// Parameters of it have to be sent with the types of their values in the text.
    pub is_mirrored: bool,
    /// Its parameters around which a type is written, and for which a text is sent.
    pub casts: CastTexts,
    /// Its result did not fit into the page for which the server took it: see [`Statement::exceeds_page`].
    exceeds_page: AtomicBool,
    epoch: Epoch,
}

impl Statement {
    pub(super) fn new(sql: Arc<str>, reply: Reply, epoch: Epoch) -> Self {
        let Reply { handle, mut statement_type, parameters, mut fields, .. } = reply;
        if is_empty_query(statement_type, &sql) {
            statement_type = statement::EMPTY_QUERY;
        }
        if statement_type == statement::CALL_SP {
            fields = (0..parameters).map(parameter).collect();
        }
        let columns = statement::has_rows(statement_type).then(|| Arc::new(Columns::new(fields)));
        let is_several = lexer::is_several(&sql);
        let is_mirrored = parameters > 0 && !mirrored(&sql).is_empty();
        let casts = CastTexts::of(&sql);
        let exceeds_page = AtomicBool::new(false);
        Self { sql, handle, statement_type, parameters, columns, is_several, is_mirrored, casts, exceeds_page, epoch }
    }

    /// The result of a query of the catalogue.
    pub(super) fn of_catalog(handle: i32, fields: Vec<Field>, epoch: Epoch) -> Self {
        let reply = Reply { handle, statement_type: statement::SELECT, fields, ..Reply::default() };
        Self::new("".into(), reply, epoch)
    }

    /// What stands for the statement of a batch of texts: its only parameter is the text.
    pub(super) fn of_texts(epoch: Epoch) -> Self {
        Self::new("".into(), Reply { parameters: 1, ..Reply::default() }, epoch)
    }

    /// The same text with the description of another of its results.
    pub(super) fn at_result(&self, statement_type: u8, fields: Vec<Field>) -> Self {
        let reply =
            Reply { handle: self.handle, statement_type, parameters: self.parameters, fields, ..Reply::default() };
        Self::new(self.sql.clone(), reply, self.epoch)
    }

    /// Returns true if the server has closed a result of it before its end. Outside of a transaction it commits with the
    /// execution where it takes the result for one page, by the size that the rows have in its own files (11.3.2:
    /// `stran_can_end_after_query_execution`); many types are larger in a reply.
    pub(super) fn exceeds_page(&self) -> bool {
        self.exceeds_page.load(Ordering::Relaxed)
    }

    pub(super) fn set_exceeds_page(&self) {
        self.exceeds_page.store(true, Ordering::Relaxed);
    }

    /// Returns true for a CALL that returns the values of its parameters.
    pub(super) fn is_call(&self) -> bool {
        self.statement_type == statement::CALL_SP
    }

    /// Passes its description on: of its parameters the number is known, but not the types.
    pub(super) fn describe<H: CasHandler>(&self, cx: H::Context<'_>, handler: &mut H) {
        handler.parameters(cx, &vec![ColumnKind::Null; self.parameters]);
        if let Some(columns) = &self.columns {
            handler.columns(cx, columns);
        }
    }

    /// Returns true if the server answers its execution with a page of rows, of which there may be none.
    pub(super) fn has_pages(&self) -> bool {
        self.columns.is_some() && self.statement_type != statement::EMPTY_QUERY
    }

    /// The name of its type: `INSERT`.
    pub(super) fn tag(&self) -> &'static [u8] {
        if self.statement_type == statement::EMPTY_QUERY {
            return b"SELECT";
        }
        statement::name(self.statement_type).unwrap_or_default().as_bytes()
    }
}

/// Returns true for a query of which the server says that it is a constant: its conditions are false without a look at the
/// tables, in all parts of a UNION or in one that the others depend on. Of such a constant it describes no columns, and
/// its type has another number in each version, beyond those of statements (11.3.2: 71).
fn is_empty_query(statement_type: u8, sql: &str) -> bool {
    let begins_query = |word: &Token<'_>| ["select", "with", "values"].iter().any(|known| word.is(known));
    (72..statement::CALL_SP).contains(&statement_type)
        && Lexer::new(sql).find(|token| !token.is_punctuation(b'(')).is_some_and(|first| begins_query(&first))
}

/// The description of a value that a CALL returns; the server describes none. The type is in each value.
fn parameter(number: usize) -> Field {
    let name = if number == 0 { "returned".to_owned() } else { number.to_string() };
    Field { name, precision: -1, ..Field::default() }
}

impl Prepared for Statement {
    type Name = i32;

    fn name(&self) -> Option<i32> {
        Some(self.handle)
    }

    fn sql(&self) -> &str {
        &self.sql
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}
