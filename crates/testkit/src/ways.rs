//! Checks that a run delivers the same values whichever way it is taken, and of the kinds that its columns declare.

use crate::TextSink;
use headrace_core::column::ColumnKind;
use headrace_core::{Cells, Column, ColumnSink, Container, Fatal, Inet, Run, Sink};

/// Takes clones of `run` row by row, column by column, and as messages, which `read_again` decodes.
///
/// # Panics
/// If the ways differ, or a value is of another kind than its column.
pub(crate) fn compare<R: Run>(
    run: &R,
    columns: &[Column],
    read_again: impl FnOnce(&[u8], &mut CellSink<'_>) -> Result<(), Fatal>,
) {
    let kinds: Vec<&ColumnKind> = columns.iter().map(|column| &column.kind).collect();
    let mut rows = CellSink::new(&kinds);
    let by_row = run.clone().each(&mut rows);
    let mut grid = GridSink { kinds: &kinds, rows: 0, columns: Vec::new() };
    let by_column = run.clone().by_column(&mut grid);
    assert_eq!(by_row.is_err(), by_column.is_err(), "{by_row:?} row by row, {by_column:?} column by column");
    if by_row.is_err() {
        return;
    }
    let rows = rows.cells.take();
    assert_eq!(grid.columns.len(), columns.len(), "columns were left out");
    assert_eq!(rows.len(), grid.rows * columns.len(), "cells in rows and in columns");
    for (number, cells) in grid.columns.iter().enumerate() {
        assert_eq!(cells.len(), grid.rows, "a column with more or fewer cells than rows");
        for (row, cell) in cells.iter().enumerate() {
            assert_eq!(&rows[row * columns.len() + number], cell, "row {row}, column {number}");
        }
    }
    let mut run = run.clone();
    if let Some(messages) = run.bytes().expect("the messages of rows that could be read") {
        let mut again = CellSink::new(&kinds);
        read_again(messages, &mut again).expect("the same rows again");
        assert_eq!(rows, again.cells.take(), "out of the messages");
    }
}

struct GridSink<'k> {
    kinds: &'k [&'k ColumnKind],
    rows: usize,
    columns: Vec<Vec<Vec<String>>>,
}

impl ColumnSink for GridSink<'_> {
    fn begin(&mut self, rows: usize) {
        self.rows = rows;
    }
    fn column<C: Cells>(&mut self, number: usize, cells: &C) {
        assert_eq!(number, self.columns.len(), "columns come in order");
        let mut sink = CellSink::new(&self.kinds[number..=number]);
        cells.decode(&mut sink);
        self.columns.push(sink.cells.take());
    }
}

/// Keeps each cell separately, as a [`TextSink`] keeps a row, and checks that its value is of the column's kind.
pub(crate) struct CellSink<'k> {
    kinds: &'k [&'k ColumnKind],
    seen: usize,
    depth: usize,
    cells: TextSink,
}

impl<'k> CellSink<'k> {
    fn new(kinds: &'k [&'k ColumnKind]) -> Self {
        Self { kinds, seen: 0, depth: 0, cells: TextSink::default() }
    }

    fn value(&mut self, call: &str) {
        if self.depth > 0 {
            return;
        }
        self.cells.begin_row(1);
        let kind = self.kinds[self.seen % self.kinds.len()];
        assert!(fits(kind, call), "{call} in a column of {kind:?}");
        self.seen += 1;
    }
}

/// Returns true if a column of this kind may have a value that this function of a sink is called with.
fn fits(kind: &ColumnKind, call: &str) -> bool {
    let expected: &[&str] = match kind {
        _ if matches!(call, "null" | "invalid") => return true,
        ColumnKind::Null => &[],
        ColumnKind::Bool => &["bool"],
        ColumnKind::Int { .. } => &["int", "uint"],
        ColumnKind::Float { .. } => &["float"],
        ColumnKind::Decimal { .. } => &["decimal"],
        // PostgreSQL's "char" is a byte, which need not be a character.
        ColumnKind::Text => &["text", "bytes"],
        ColumnKind::Bytes => &["bytes"],
        ColumnKind::Date => &["date", "no_such_date"],
        ColumnKind::Time(_) => &["time"],
        ColumnKind::TimeTz(_) => &["timetz"],
        ColumnKind::Timestamp(_) => &["timestamp", "no_such_date"],
        ColumnKind::TimestampTz(_) => &["timestamptz", "no_such_date"],
        ColumnKind::Interval { .. } => &["interval"],
        ColumnKind::Uuid => &["uuid"],
        ColumnKind::Json => &["json"],
        ColumnKind::Inet => &["inet"],
        ColumnKind::Bits => &["bits"],
        ColumnKind::List(_) | ColumnKind::Record(_) | ColumnKind::Range(_) | ColumnKind::Multirange(_) => &["begin"],
        ColumnKind::Other(_) => return true,
    };
    expected.contains(&call)
}

macro_rules! forward {
    ($($name:ident($($value:ident: $kind:ty),*);)*) => {
        $(fn $name(&mut self, $($value: $kind),*) {
            self.value(stringify!($name));
            self.cells.$name($($value),*);
        })*
    };
}

impl Sink for CellSink<'_> {
    fn begin_row(&mut self, columns: usize) {
        assert_eq!(columns, self.kinds.len(), "a row has a value for each column");
    }
    fn end_row(&mut self) {
        assert_eq!((self.depth, self.seen % self.kinds.len().max(1)), (0, 0), "a row has a value for each column");
    }
    fn begin(&mut self, container: Container, len: usize) {
        self.value("begin");
        self.depth += 1;
        self.cells.begin(container, len);
    }
    fn end(&mut self) {
        self.depth -= 1;
        self.cells.end();
    }
    forward! {
        null(); bool(value: bool); int(value: i64); uint(value: u64); float(value: f64); decimal(ascii: &str);
        text(utf8: &[u8]); bytes(value: &[u8]); date(days: i32); time(micros: i64); timetz(micros: i64, offset: i32);
        timestamp(micros: i64); timestamptz(micros: i64); interval(months: i32, days: i32, micros: i64);
        uuid(value: &[u8; 16]); json(utf8: &[u8]); inet(value: Inet<'_>); bits(bits: usize, bytes: &[u8]);
        custom(type_id: u32, binary: bool, bytes: &[u8]); no_such_date(text: &str); invalid(why: &str);
    }
}
