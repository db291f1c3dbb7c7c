//! A caller and values for tests, and the golden bytes.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod session;

use headrace_core::params::RangeParts;
use headrace_core::protocol::{Caller, Outcome, Summary};
use headrace_core::{Container, Inet, Mismatch, Parameters, Sink, Value, ValueKind};
use headrace_informix::machine::Columns;
use headrace_informix::messages::server::{Field, ServerError};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The lines of a section of the golden file, split at tabs, without the section's name.
pub fn golden(section: &str) -> Vec<Vec<&'static str>> {
    include_str!("../golden.txt")
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|parts| parts[0] == section)
        .map(|parts| parts[1..].to_vec())
        .collect()
}

/// The bytes of one golden message or reply.
pub fn bytes(section: &str, name: &str) -> Vec<u8> {
    let found = golden(section).into_iter().find(|parts| parts[0].ends_with(name));
    hex(found.unwrap_or_else(|| panic!("no {section} {name}"))[1])
}

/// Bytes of hexadecimal digits.
pub fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// Fields of `type:length` pairs.
pub fn fields(text: &str) -> Vec<Field> {
    let field = |pair: &str| {
        let (type_word, length) = pair.split_once(':').unwrap();
        Field { type_word: type_word.parse().unwrap(), length: length.parse().unwrap(), ..Field::default() }
    };
    if text == "-" { Vec::new() } else { text.split(' ').map(field).collect() }
}

/// A value of any kind that Informix has.
#[derive(Clone, Debug)]
pub enum V {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Dec(String),
    Text(String),
    Bytes(Vec<u8>),
    Date(i32),
    Time(i64),
    Timestamp(i64),
    Interval(i32, i32, i64),
}

impl V {
    /// `kind value`, as in the golden file.
    pub fn parse(text: &str) -> Self {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        let numbers = || rest.split(' ').map(|n| n.parse::<i64>().unwrap()).collect::<Vec<_>>();
        match kind {
            "null" => V::Null,
            "bool" => V::Bool(rest == "true"),
            "int" => V::Int(numbers()[0]),
            "float" => V::Float(rest.parse().unwrap()),
            "dec" => V::Dec(rest.into()),
            "text" => V::Text(rest.into()),
            "date" => V::Date(numbers()[0] as i32),
            "time" => V::Time(numbers()[0]),
            "timestamp" => V::Timestamp(numbers()[0]),
            "interval" => V::Interval(numbers()[0] as i32, numbers()[1] as i32, numbers()[2]),
            kind => panic!("{kind}"),
        }
    }
}

fn no<T>(v: &V) -> Result<T, Mismatch> {
    Err(Mismatch::wrong_type(format!("{v:?}")))
}

macro_rules! getters {
    ($($name:ident -> $out:ty { $pattern:pat => $value:expr };)*) => {
        $(fn $name(&self) -> Result<$out, Mismatch> {
            match self { $pattern => Ok($value), other => no(other) }
        })*
    };
}

impl Value for V {
    type Error = Mismatch;
    fn kind(&self) -> ValueKind {
        match self {
            V::Null => ValueKind::Null,
            V::Bool(_) => ValueKind::Bool,
            V::Int(_) => ValueKind::Int,
            V::Float(_) => ValueKind::Float,
            V::Dec(_) => ValueKind::Decimal,
            V::Text(_) => ValueKind::Text,
            V::Bytes(_) => ValueKind::Bytes,
            V::Date(_) => ValueKind::Date,
            V::Time(_) => ValueKind::Time,
            V::Timestamp(_) => ValueKind::Timestamp,
            V::Interval(..) => ValueKind::Interval,
        }
    }
    fn describe(&self) -> String {
        format!("{self:?}")
    }
    getters! {
        bool -> bool { V::Bool(v) => *v };
        int -> i64 { V::Int(v) => *v };
        float -> f64 { V::Float(v) => *v };
        date -> i32 { V::Date(v) => *v };
        time -> i64 { V::Time(v) => *v };
        timestamp -> i64 { V::Timestamp(v) => *v };
        interval -> (i32, i32, i64) { V::Interval(a, b, c) => (*a, *b, *c) };
    }
    fn timetz(&self) -> Result<(i64, i32), Mismatch> {
        no(self)
    }
    fn timestamptz(&self) -> Result<i64, Mismatch> {
        no(self)
    }
    fn uuid(&self) -> Result<[u8; 16], Mismatch> {
        no(self)
    }
    fn inet(&self) -> Result<([u8; 16], usize, u8), Mismatch> {
        no(self)
    }
    fn bits(&self) -> Result<(usize, Vec<u8>), Mismatch> {
        no(self)
    }
    fn len(&self) -> Result<usize, Mismatch> {
        no(self)
    }
    fn range(&self) -> Result<RangeParts<Self>, Mismatch> {
        no(self)
    }
    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, Mismatch> {
        match self {
            V::Dec(text) => Ok(use_it(text)),
            V::Int(v) => Ok(use_it(&v.to_string())),
            other => no(other),
        }
    }
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        match self {
            V::Text(text) => Ok(use_it(text.as_bytes())),
            other => no(other),
        }
    }
    fn with_bytes<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        match self {
            V::Bytes(bytes) => Ok(use_it(bytes)),
            other => no(other),
        }
    }
    fn with_json<R>(&self, _: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        no(self)
    }
    fn item(&self, _: usize) -> Result<Self, Mismatch> {
        no(self)
    }
    fn field(&self, _: usize, _: &str) -> Result<Self, Mismatch> {
        no(self)
    }
    fn floats(&self, _: usize) -> Result<Vec<f64>, Mismatch> {
        no(self)
    }
    fn with_custom<R>(&self, _: u32, _: impl FnOnce(&[u8], bool) -> R) -> Result<R, Mismatch> {
        no(self)
    }
    fn has_custom(&self, _: u32) -> bool {
        false
    }
}

/// A row of parameters.
pub struct Row<'a>(pub &'a [V]);

impl Parameters for Row<'_> {
    type Value<'v>
        = V
    where
        Self: 'v;
    type Error = Mismatch;
    fn count(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Result<V, Mismatch> {
        Ok(self.0[i].clone())
    }
}

/// What a caller was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Rows, values as text.
    pub rows: Vec<Vec<String>>,
    /// Results: name, rows, serial value.
    pub results: Vec<(String, Option<u64>, Option<i128>)>,
    /// How it ended.
    pub end: Option<String>,
}

/// A sink that writes values as text into what was told.
#[derive(Clone, Default)]
pub struct TextSink(pub Rc<RefCell<Told>>);

impl TextSink {
    fn put(&self, text: impl Into<String>) {
        if let Some(row) = self.0.borrow_mut().rows.last_mut() {
            row.push(text.into());
        }
    }
}

macro_rules! puts {
    ($($name:ident($value:ident: $kind:ty) => $text:expr;)*) => {
        $(fn $name(&mut self, $value: $kind) { self.put($text); })*
    };
}

impl Sink for TextSink {
    fn begin_row(&mut self, _: usize) {
        self.0.borrow_mut().rows.push(Vec::new());
    }
    fn end_row(&mut self) {}
    fn null(&mut self) {
        self.put("NULL");
    }
    puts! {
        bool(v: bool) => v.to_string();
        int(v: i64) => v.to_string();
        uint(v: u64) => v.to_string();
        float(v: f64) => v.to_string();
        decimal(v: &str) => v;
        text(v: &[u8]) => String::from_utf8_lossy(v);
        bytes(v: &[u8]) => format!("{v:?}");
        date(v: i32) => headrace_core::civil::date_text(v);
        time(v: i64) => headrace_core::civil::time_text(v);
        timestamp(v: i64) => headrace_core::civil::timestamp_text(v, false);
        timestamptz(v: i64) => v.to_string();
        uuid(v: &[u8; 16]) => format!("{v:?}");
        json(v: &[u8]) => String::from_utf8_lossy(v);
        inet(v: Inet<'_>) => format!("{v:?}");
        invalid(v: &str) => format!("invalid: {v}");
    }
    fn timetz(&mut self, _: i64, _: i32) {}
    fn interval(&mut self, months: i32, days: i32, micros: i64) {
        self.put(format!("{months} months {days} days {micros} us"));
    }
    fn bits(&mut self, _: usize, _: &[u8]) {}
    fn custom(&mut self, _: u32, _: bool, _: &[u8]) {}
    fn begin(&mut self, _: Container, _: usize) {}
    fn end(&mut self) {}
}

/// A caller that tells `told`.
pub struct TestCaller {
    /// What it was told, shared with the test.
    pub told: Rc<RefCell<Told>>,
    /// The rows of a batch that are still to come.
    pub batch: std::vec::IntoIter<Vec<V>>,
    /// All of them, where they can be read again.
    pub again: Option<Vec<Vec<V>>>,
    /// The current row.
    pub row: Vec<V>,
}

impl Caller for TestCaller {
    type Cx<'a> = ();
    type Params<'s, 'c: 's> = Row<'s>;
    type Rows<'s, 'c: 's> = TextSink;
    type Error = Mismatch;
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn next_row(&mut self, (): ()) -> Result<bool, Mismatch> {
        match self.batch.next() {
            Some(row) => self.row = row,
            None => return Ok(false),
        }
        Ok(true)
    }
    fn rewind(&mut self, (): ()) -> bool {
        if let Some(rows) = &self.again {
            self.batch = rows.clone().into_iter();
        }
        self.again.is_some()
    }
    fn params<'s, 'c: 's>(&'s mut self, (): ()) -> Row<'s> {
        Row(&self.row)
    }
    fn columns(&mut self, (): (), _: &Arc<Columns>) {}
    fn rows<'s, 'c: 's>(&'s mut self, (): ()) -> TextSink {
        TextSink(self.told.clone())
    }
    fn bulk_ready(&mut self, (): (), _: bool, _: usize) {}
    fn block(&mut self, (): (), _: &[u8]) {}
    fn result(&mut self, (): (), summary: Summary<'_>) {
        let name = String::from_utf8_lossy(summary.tag).into_owned();
        self.told.borrow_mut().results.push((name, summary.rows, summary.generated));
    }
    fn finish(self, (): (), outcome: Outcome<ServerError, Mismatch>) {
        let mut told = self.told.borrow_mut();
        assert!(told.end.is_none(), "told twice how it ended");
        told.end = Some(match outcome {
            Outcome::Done => "done".into(),
            Outcome::Server { error, row } => format!("server {} {} {row:?}", error.sqlcode, error.isam),
            Outcome::Caller { error, row } => format!("caller {error} {row:?}"),
            Outcome::Skipped => "skipped".into(),
            Outcome::Fatal(fatal) => format!("fatal {fatal}"),
        });
    }
}
