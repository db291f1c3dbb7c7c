//! Sinks for tests: as text, ignoring the values, or with the checks of the fuzz targets.

use crate::hex;
use headrace_core::{Container, Inet, Sink};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

/// Bytes that are shown in full; of more than these only the number and the last one are.
const SHOWN_BYTES: usize = 1 << 20;

/// Keeps each value as text, with a letter or a word for its kind: `1` and `u1` are an `int` and a `uint`, `f1.5` and
/// `d1.5` a `float` and a `decimal`, `x61` and `a` bytes and text.
#[derive(Clone, Debug, Default)]
pub struct TextSink {
    rows: Rc<RefCell<Vec<Vec<String>>>>,
}

impl TextSink {
    /// Keeps them in `rows`.
    pub fn new(rows: Rc<RefCell<Vec<Vec<String>>>>) -> Self {
        Self { rows }
    }

    /// The rows so far; the sink is empty afterwards.
    pub fn take(&self) -> Vec<Vec<String>> {
        self.rows.take()
    }

    fn put(&self, text: impl Into<String>) {
        self.rows.borrow_mut().last_mut().expect("a value outside of a row").push(text.into());
    }
}

macro_rules! put {
    ($($name:ident($($value:ident: $kind:ty),*) => $text:expr;)*) => {
        $(fn $name(&mut self, $($value: $kind),*) { self.put($text); })*
    };
}

impl Sink for TextSink {
    fn begin_row(&mut self, _: usize) {
        self.rows.borrow_mut().push(Vec::new());
    }
    fn end_row(&mut self) {}
    fn bytes(&mut self, value: &[u8]) {
        match value {
            [.., last] if value.len() > SHOWN_BYTES => self.put(format!("{} bytes to {last}", value.len())),
            _ => self.put(format!("x{}", hex(value))),
        }
    }
    fn interval(&mut self, months: i32, days: i32, micros: i64) {
        match (months, days) {
            (0, 0) => self.put(format!("span {micros}")),
            _ => self.put(format!("span {months} months {days} days {micros}")),
        }
    }
    put! {
        null() => "NULL";
        bool(value: bool) => value.to_string();
        int(value: i64) => value.to_string();
        uint(value: u64) => format!("u{value}");
        float(value: f64) => format!("f{value}");
        decimal(ascii: &str) => format!("d{ascii}");
        text(utf8: &[u8]) => String::from_utf8_lossy(utf8);
        date(days: i32) => format!("day {days}");
        time(micros: i64) => format!("time {micros}");
        timetz(micros: i64, offset: i32) => format!("time {micros} offset {offset}");
        timestamp(micros: i64) => format!("at {micros}");
        timestamptz(micros: i64) => format!("at {micros} UTC");
        uuid(value: &[u8; 16]) => format!("uuid {}", hex(value));
        json(utf8: &[u8]) => format!("json {}", String::from_utf8_lossy(utf8));
        inet(value: Inet<'_>) => format!("inet {}/{}", hex(value.address), value.prefix);
        bits(bits: usize, bytes: &[u8]) => format!("bits {bits} {}", hex(bytes));
        custom(type_id: u32, binary: bool, bytes: &[u8]) => format!("custom {type_id} {binary} {}", hex(bytes));
        begin(container: Container, len: usize) => format!("{container:?} {len}").to_lowercase();
        end() => "end";
        no_such_date(text: &str) => format!("no date {text}");
        invalid(why: &str) => format!("invalid: {why}");
    }
}

/// Takes every value and keeps nothing, so that a benchmark of a decoder measures the decoder.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscardSink;

macro_rules! discard {
    ($($name:ident($($value:ident: $kind:ty),*);)*) => {
        $(#[inline] fn $name(&mut self, $($value: $kind),*) { black_box(($($value,)*)); })*
    };
}

impl Sink for DiscardSink {
    discard! {
        begin_row(n: usize); end_row(); null(); bool(v: bool); int(v: i64); uint(v: u64); float(v: f64); decimal(v: &str);
        decimal128(n: bool, c: u128, s: u32); text(v: &[u8]); bytes(v: &[u8]); date(v: i32); time(v: i64);
        timetz(v: i64, o: i32); timestamp(v: i64); timestamptz(v: i64); interval(m: i32, d: i32, u: i64);
        uuid(v: &[u8; 16]); json(v: &[u8]); inet(v: Inet<'_>); bits(n: usize, v: &[u8]);
        custom(t: u32, b: bool, v: &[u8]); begin(c: Container, n: usize); end(); invalid(w: &str);
    }
}

/// Checks what every sink relies on: containers are balanced, decimals are ASCII, addresses and bits have their lengths.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckedSink {
    /// Containers that have begun and not ended.
    pub depth: usize,
}

impl Sink for CheckedSink {
    discard! {
        begin_row(n: usize); end_row(); null(); bool(v: bool); int(v: i64); uint(v: u64); float(v: f64); text(v: &[u8]);
        bytes(v: &[u8]); date(v: i32); time(v: i64); timetz(v: i64, o: i32); timestamp(v: i64); timestamptz(v: i64);
        interval(m: i32, d: i32, u: i64); uuid(v: &[u8; 16]); json(v: &[u8]); custom(t: u32, b: bool, v: &[u8]);
        invalid(w: &str);
    }
    fn decimal(&mut self, ascii: &str) {
        assert!(ascii.is_ascii() && !ascii.is_empty());
    }
    fn inet(&mut self, value: Inet<'_>) {
        assert!(matches!(value.address.len(), 4 | 16) && usize::from(value.prefix) <= value.address.len() * 8);
    }
    fn bits(&mut self, bits: usize, bytes: &[u8]) {
        assert_eq!(bytes.len(), bits.div_ceil(8));
    }
    fn begin(&mut self, _: Container, _: usize) {
        self.depth += 1;
    }
    fn end(&mut self) {
        self.depth = self.depth.checked_sub(1).expect("a container ends that has begun");
    }
}
