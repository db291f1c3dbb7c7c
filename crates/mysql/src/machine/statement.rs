//! Prepared statements and the plans made for their columns.

use super::MyHandler;
use super::binding::{Binding, Expected, Sending};
use crate::packets::capabilities::Capabilities;
use crate::packets::column::{Column as Field, PrepareOk};
use crate::sql::{Lexer, Modes, Scan, is_one_of, words};
use crate::types::{self, Decoder, Destination, decode_binary_row, decode_text_row};
use headrace_core::column;
use headrace_core::{Column, Described, Epoch, Fatal, Parameters, Prepared, Sink, Value, ValueKind};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};

/// The columns of a result, and the decoder of each.
#[derive(Debug)]
pub struct Columns {
    /// As the server describes them.
    pub fields: Vec<Field>,
    /// One decoder per column.
    pub decoders: Vec<Decoder>,
    /// True if rows come in the binary protocol.
    pub binary: bool,
    /// The definitions as received, to detect whether they are the same again.
    raw: Vec<u8>,
    /// Made when it is first needed: a statement that is sent as text has a plan for each execution.
    described: OnceLock<Arc<[Column]>>,
}

impl Described for Columns {
    fn columns(&self) -> &Arc<[Column]> {
        self.described.get_or_init(|| types::columns(&self.fields, &self.decoders))
    }
}

impl Columns {
    /// Decodes one row.
    ///
    /// # Errors
    /// [`Fatal`] when the row's lengths do not add up.
    #[inline]
    pub(super) fn row<S: Sink>(&self, payload: &[u8], sink: &mut S) -> Result<(), Fatal> {
        if self.binary {
            decode_binary_row(&self.decoders, payload, sink)
        } else {
            decode_text_row(&self.decoders, payload, sink)
        }
    }
}

/// Column definitions that are being received.
#[derive(Debug, Default)]
pub(super) struct Draft {
    raw: Vec<u8>,
    ends: Vec<usize>,
    /// The types of the parameters, on servers that give them types.
    pub expected: Vec<Expected>,
}

impl Draft {
    pub fn push(&mut self, payload: &[u8]) {
        self.raw.extend_from_slice(payload);
        self.ends.push(self.raw.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The plan; the `known` one if the definitions are the same, so that they are parsed once per statement and not
    /// once per execution.
    pub fn finish(
        self,
        binary: bool,
        capabilities: Capabilities,
        known: Option<Arc<Columns>>,
        sql: Option<&str>,
    ) -> Result<Arc<Columns>, Fatal> {
        if let Some(known) = known.filter(|known| known.binary == binary && known.raw == self.raw) {
            return Ok(known);
        }
        let mut fields = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for end in self.ends {
            fields.push(Field::read(&self.raw[start..end], capabilities)?);
            start = end;
        }
        let marks_numbers = capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS);
        let called = sql.filter(|_| binary);
        let decoders = fields.iter().map(|field| match Decoder::new(field) {
            // MariaDB marks computed columns, but sends some of them as bits.
            Decoder::DecimalBits(bits) if sql.is_none_or(may_copy_bits) => Decoder::DoubtfulBits(bits),
            // A BIT that is an OUT parameter comes as digits, described as a column of a table with the name of the
            // procedure. The status after its row indicates that it is one.
            Decoder::Bits(bits) if called.is_some_and(|sql| calls(sql, &field.org_table)) => {
                Decoder::DoubtfulBits(bits)
            }
            Decoder::DoubtfulBits(bits) if marks_numbers => Decoder::Bits(bits),
            decoder => decoder,
        });
        let decoders = decoders.collect();
        Ok(Arc::new(Columns { fields, decoders, binary, raw: self.raw, described: OnceLock::new() }))
    }
}

/// Returns true if BITs that MariaDB marks as computed may be sent as bits: UNION ALL, window functions and LAST_VALUE
/// copy them (10.11 is one). The statements that CALL and EXECUTE run are not in the text.
fn may_copy_bits(sql: &str) -> bool {
    const WORDS: [&str; 5] = ["union", "over", "last_value", "call", "execute"];
    let is = |word: &str| is_one_of(word, &WORDS);
    let mut lexer = Lexer::new(sql, Modes::default());
    if lexer.by_ref().any(|token| is(token.word())) {
        return true;
    }
    // If strings may end elsewhere for the server, any of their words counts.
    let unsure = lexer.is_uncertain() || sql.contains('\\');
    unsure && words(sql).any(is)
}

/// Returns true if a statement is a CALL of the procedure of this name, in whatever schema.
fn calls(sql: &str, name: &str) -> bool {
    let head = sql.split('(').next().unwrap_or_default().trim_end().trim_end_matches('`').to_lowercase();
    head.trim_start().starts_with("call") && head.ends_with(&name.to_lowercase())
}

/// A statement that was prepared, or could not be.
#[derive(Debug)]
pub struct Statement {
    /// Its text.
    pub sql: Arc<str>,
    /// Its number on the server; `None` for one that is sent as text, because the binary protocol does not support it
    /// (error 1295), or because values would have another meaning bound than written.
    pub id: Option<u32>,
    /// The number of its parameters.
    pub params: usize,
    /// Which of them are VECTORs, if the server reports it.
    pub(super) vectors: Vec<usize>,
    /// The columns that the server described last.
    columns: Mutex<Option<Arc<Columns>>>,
    /// The types that its parameters are bound to, on servers for which that matters.
    binding: Option<Binding>,
    /// Parameters that are a number of rows. MariaDB (10.11 is one) makes 0 of text there, and the largest number of -1,
    /// and MySQL (9.7 is one) takes NULL with a cursor, where literals are errors.
    pub(super) limits: Vec<usize>,
    /// It is not executed again: MySQL (9.7 is one) sends no rows of a statement that once had a cursor and is executed
    /// without, and keeps the types of the variables that it names, and which of two tables of a name it describes; and
    /// others execute queries within it otherwise.
    pub(super) once: bool,
    /// It can be executed with its parameters bound; otherwise it was prepared to be described.
    pub(super) binds: bool,
    /// It was prepared with literals in the place of the parameters, of which it has none.
    pub(super) literal: bool,
    /// Its scan, if it is sent as text, with the modes that it was scanned with.
    scan: OnceLock<(Modes, Scan)>,
    /// The epoch in which it was prepared.
    epoch: Epoch,
}

impl Prepared for Statement {
    type Name = u32;

    fn name(&self) -> Option<u32> {
        self.id
    }

    fn sql(&self) -> &str {
        &self.sql
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl Statement {
    /// A prepared statement. `binding` is for servers that keep the types of its parameters.
    pub(super) fn prepared(
        sql: Arc<str>,
        ok: PrepareOk,
        columns: Option<Arc<Columns>>,
        binding: Option<Binding>,
        vectors: Vec<usize>,
        once: bool,
        epoch: Epoch,
    ) -> Self {
        let (id, params) = (Some(ok.statement_id), usize::from(ok.params));
        Self { id, params, vectors, columns: Mutex::new(columns), binding, once, epoch, ..Self::text(sql) }
    }

    /// A statement that is sent as text.
    pub(super) fn text(sql: Arc<str>) -> Self {
        Self {
            sql,
            id: None,
            params: 0,
            vectors: Vec::new(),
            columns: Mutex::default(),
            binding: None,
            limits: Vec::new(),
            once: false,
            binds: true,
            literal: false,
            scan: OnceLock::new(),
            epoch: Epoch::default(),
        }
    }

    /// The scan of its text under these modes.
    pub(super) fn scan(&self, modes: Modes) -> Cow<'_, Scan> {
        match self.scan.get_or_init(|| (modes, Scan::new(&self.sql, modes))) {
            (known, scan) if *known == modes => Cow::Borrowed(scan),
            _ => Cow::Owned(Scan::new(&self.sql, modes)),
        }
    }

    /// Where the value of parameter `at` goes; known if MySQL keeps their types.
    pub(super) fn target(&self, at: usize) -> Destination {
        self.binding.as_ref().map_or(Destination::Expression, |binding| binding.target(at))
    }

    /// How a row of parameters is sent; if it is bound, it will be executed.
    pub(super) fn sending<P: Parameters>(&self, row: &P) -> Sending {
        match &self.binding {
            _ if self.literal => Sending::Bound,
            _ if !are_numbers_of_rows(row, &self.limits) => Sending::Written,
            Some(binding) => binding.sending(row),
            None => Sending::Bound,
        }
    }

    /// A text was refused for the character set of its parameter: text beyond ASCII is written from now on.
    pub(super) fn narrow(&self) {
        if let Some(binding) = &self.binding {
            binding.narrow();
        }
    }

    /// The columns that the server described last, `None` when it returns no rows.
    pub fn columns(&self) -> Option<Arc<Columns>> {
        self.columns.lock().ok()?.clone()
    }

    /// Passes its description on. MySQL's types of parameters are guesses, and MariaDB has none.
    pub(super) fn describe<H: MyHandler>(&self, cx: H::Context<'_>, handler: &mut H) {
        handler.parameters(cx, &vec![column::ColumnKind::Null; self.params]);
        if let Some(columns) = self.columns() {
            handler.columns(cx, &columns);
        }
    }

    pub(super) fn set_columns(&self, columns: &Arc<Columns>) {
        if let Ok(mut slot) = self.columns.lock() {
            *slot = Some(columns.clone());
        }
    }
}

/// Returns true if each of these parameters is a number of rows, a whole number that is not negative, as far as they are
/// given: of a batch there may be no row yet.
pub(super) fn are_numbers_of_rows<P: Parameters>(row: &P, limits: &[usize]) -> bool {
    limits.iter().filter(|at| **at < row.count()).all(|at| {
        let Ok(value) = row.get(*at) else { return true };
        if value.kind() == ValueKind::Text && row.has_untyped_text() {
            // The server reads the number.
            return value.with_text(|text| text.iter().all(u8::is_ascii_digit)).unwrap_or(true);
        }
        value.kind() == ValueKind::Int && value.int().map_or(true, |number| number >= 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_in_doubt_after_words_of_the_statement_alone() {
        for (sql, doubtful) in [
            ("select max(flags) from calls join rollover", false),
            ("select max(b) over_all from t", false),
            ("select max(b) as `union` from t -- over", false),
            ("select 'union', max(b) from t", false),
            ("select b from t union all select b from t", true),
            ("select max(b) OVER () from t", true),
            ("call p()", true),
            ("select '\\', max(b), ' union '", true),
            ("select /*! max(b) over () */ from t", true),
        ] {
            assert_eq!(may_copy_bits(sql), doubtful, "{sql}");
        }
    }
}
