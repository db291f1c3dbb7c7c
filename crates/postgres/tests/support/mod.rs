//! A caller for tests and fuzzers: parameters are whole numbers, rows are kept as text.

use headrace_core::protocol::{Caller, Outcome, Summary};
use headrace_core::{Container, Inet, Mismatch, Parameters, Sink, Value, ValueKind};
use headrace_postgres::machine::Columns;
use headrace_postgres::messages::backend::ServerError;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What a caller was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Rows, values as text.
    pub rows: Vec<Vec<String>>,
    /// Command tags.
    pub tags: Vec<String>,
    /// How it ended.
    pub end: Option<String>,
}

/// A caller that tells `told`.
pub struct TestCaller {
    /// What it was told, shared with the test.
    pub told: Rc<RefCell<Told>>,
    /// The rows of a batch.
    pub batch: std::vec::IntoIter<Vec<i64>>,
    /// The current row.
    pub row: Vec<i64>,
}

/// A whole number.
pub struct TestValue(i64);

macro_rules! refuse {
    ($($name:ident -> $out:ty;)*) => {
        $(fn $name(&self) -> Result<$out, Mismatch> {
            Err(Mismatch::wrong_type("only whole numbers here"))
        })*
    };
}

impl Value for TestValue {
    type Error = Mismatch;
    fn kind(&self) -> ValueKind {
        if self.0 == i64::MIN { ValueKind::Other } else { ValueKind::Int }
    }
    fn describe(&self) -> String {
        self.0.to_string()
    }
    fn int(&self) -> Result<i64, Mismatch> {
        Ok(self.0)
    }
    refuse! {
        bool -> bool; float -> f64; date -> i32; time -> i64; timetz -> (i64, i32); timestamp -> i64;
        timestamptz -> i64; interval -> (i32, i32, i64); uuid -> [u8; 16]; inet -> ([u8; 16], usize, u8);
        bits -> (usize, Vec<u8>); len -> usize; range -> headrace_core::params::RangeParts<Self>;
    }
    fn with_decimal<R>(&self, use_it: impl FnOnce(&str) -> R) -> Result<R, Mismatch> {
        Ok(use_it(&self.0.to_string()))
    }
    fn with_text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        Ok(use_it(self.0.to_string().as_bytes()))
    }
    fn with_bytes<R>(&self, _: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        Err(Mismatch::wrong_type("no bytes"))
    }
    fn with_json<R>(&self, _: impl FnOnce(&[u8]) -> R) -> Result<R, Mismatch> {
        Err(Mismatch::wrong_type("no json"))
    }
    fn item(&self, _: usize) -> Result<Self, Mismatch> {
        Err(Mismatch::wrong_type("no list"))
    }
    fn field(&self, _: usize, _: &str) -> Result<Self, Mismatch> {
        Err(Mismatch::wrong_type("no record"))
    }
    fn floats(&self, _: usize) -> Result<Vec<f64>, Mismatch> {
        Err(Mismatch::wrong_type("no shape"))
    }
    fn with_custom<R>(&self, _: u32, _: impl FnOnce(&[u8], bool) -> R) -> Result<R, Mismatch> {
        Err(Mismatch::wrong_type("no dumper"))
    }
    fn has_custom(&self, _: u32) -> bool {
        false
    }
}

/// A row of whole numbers.
pub struct TestParams<'a>(&'a [i64]);

impl Parameters for TestParams<'_> {
    type Value<'v>
        = TestValue
    where
        Self: 'v;
    type Error = Mismatch;
    fn count(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Result<TestValue, Mismatch> {
        Ok(TestValue(self.0[i]))
    }
}

struct TestSink<'a>(&'a mut Told);

impl TestSink<'_> {
    fn put(&mut self, text: impl Into<String>) {
        if let Some(row) = self.0.rows.last_mut() {
            row.push(text.into());
        }
    }
}

impl Sink for TestSink<'_> {
    fn begin_row(&mut self, _: usize) {
        self.0.rows.push(Vec::new());
    }
    fn end_row(&mut self) {}
    fn null(&mut self) {
        self.put("NULL");
    }
    fn bool(&mut self, value: bool) {
        self.put(value.to_string());
    }
    fn int(&mut self, value: i64) {
        self.put(value.to_string());
    }
    fn uint(&mut self, value: u64) {
        self.put(value.to_string());
    }
    fn float(&mut self, value: f64) {
        self.put(value.to_string());
    }
    fn decimal(&mut self, ascii: &str) {
        self.put(ascii);
    }
    fn text(&mut self, utf8: &[u8]) {
        self.put(String::from_utf8_lossy(utf8));
    }
    fn bytes(&mut self, value: &[u8]) {
        self.put(format!("{value:?}"));
    }
    fn date(&mut self, days: i32) {
        self.put(format!("day {days}"));
    }
    fn time(&mut self, micros: i64) {
        self.put(format!("{micros}"));
    }
    fn timetz(&mut self, micros: i64, offset: i32) {
        self.put(format!("{micros} {offset}"));
    }
    fn timestamp(&mut self, micros: i64) {
        self.put(format!("{micros}"));
    }
    fn timestamptz(&mut self, micros: i64) {
        self.put(format!("{micros}"));
    }
    fn interval(&mut self, months: i32, days: i32, micros: i64) {
        self.put(format!("{months} {days} {micros}"));
    }
    fn uuid(&mut self, value: &[u8; 16]) {
        self.put(format!("{value:?}"));
    }
    fn json(&mut self, utf8: &[u8]) {
        self.put(String::from_utf8_lossy(utf8));
    }
    fn inet(&mut self, value: Inet<'_>) {
        self.put(format!("{value:?}"));
    }
    fn bits(&mut self, bits: usize, bytes: &[u8]) {
        self.put(format!("{bits} {bytes:?}"));
    }
    fn custom(&mut self, _: u32, _: bool, bytes: &[u8]) {
        self.put(format!("{bytes:?}"));
    }
    fn begin(&mut self, container: Container, _: usize) {
        self.put(format!("{container:?}("));
    }
    fn end(&mut self) {
        self.put(")");
    }
    fn invalid(&mut self, why: &str) {
        self.put(format!("invalid: {why}"));
    }
}

impl Caller for TestCaller {
    type Cx<'a> = ();
    type Params<'s, 'c: 's> = TestParams<'s>;
    type Rows<'s, 'c: 's> = TestSinkGuard;
    type Error = Mismatch;
    type Columns = Arc<Columns>;
    type ServerError = ServerError;

    fn next_row(&mut self, (): ()) -> Result<bool, Mismatch> {
        self.row = match self.batch.next() {
            Some(row) => row,
            None => return Ok(false),
        };
        Ok(true)
    }
    fn rewind(&mut self, (): ()) -> bool {
        false
    }
    fn params<'s, 'c: 's>(&'s mut self, (): ()) -> TestParams<'s> {
        TestParams(&self.row)
    }
    fn columns(&mut self, (): (), _: &Arc<Columns>) {}
    fn rows<'s, 'c: 's>(&'s mut self, (): ()) -> TestSinkGuard {
        TestSinkGuard(self.told.clone())
    }
    fn bulk_ready(&mut self, (): (), _: bool, _: usize) {}
    fn block(&mut self, (): (), _: &[u8]) {}
    fn result(&mut self, (): (), summary: Summary<'_>) {
        self.told.borrow_mut().tags.push(String::from_utf8_lossy(summary.tag).into_owned());
    }
    fn finish(self, (): (), outcome: Outcome<ServerError, Mismatch>) {
        let mut told = self.told.borrow_mut();
        assert!(told.end.is_none(), "told twice how it ended");
        told.end = Some(match outcome {
            Outcome::Done => "done".into(),
            Outcome::Server { error, row } => format!("server {} {row:?}", error.sqlstate()),
            Outcome::Caller { error, row } => format!("caller {error} {row:?}"),
            Outcome::Skipped => "skipped".into(),
            Outcome::Fatal(_) => "fatal".into(),
        });
    }
}

/// A sink that shares what was told with the test.
pub struct TestSinkGuard(Rc<RefCell<Told>>);

macro_rules! forward {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => {
        $(fn $name(&mut self, $($arg: $kind),*) {
            TestSink(&mut self.0.borrow_mut()).$name($($arg),*);
        })*
    };
}

impl Sink for TestSinkGuard {
    forward! {
        begin_row(n: usize); end_row(); null(); bool(v: bool); int(v: i64); uint(v: u64); float(v: f64);
        decimal(v: &str); text(v: &[u8]); bytes(v: &[u8]); date(v: i32); time(v: i64); timetz(v: i64, o: i32);
        timestamp(v: i64); timestamptz(v: i64); interval(m: i32, d: i32, u: i64); uuid(v: &[u8; 16]); json(v: &[u8]);
        inet(v: Inet<'_>); bits(n: usize, v: &[u8]); custom(t: u32, b: bool, v: &[u8]);
        begin(c: Container, n: usize); end(); invalid(w: &str);
    }
}
