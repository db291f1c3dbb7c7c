//! A sink that notes each value as text with its kind.

use super::Shared;
use headrace_core::{Container, Inet, Sink};

pub struct NotingSink(pub Shared);

impl NotingSink {
    fn put(&mut self, text: impl Into<String>) {
        self.0.borrow_mut().rows.last_mut().expect("a row has begun").push(text.into());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Sink for NotingSink {
    fn begin_row(&mut self, _: usize) {
        self.0.borrow_mut().rows.push(Vec::new());
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
        self.put(format!("u{value}"));
    }
    fn float(&mut self, value: f64) {
        self.put(format!("f{value}"));
    }
    fn decimal(&mut self, ascii: &str) {
        self.put(format!("d{ascii}"));
    }
    fn text(&mut self, utf8: &[u8]) {
        self.put(String::from_utf8_lossy(utf8));
    }
    fn bytes(&mut self, value: &[u8]) {
        match value {
            [.., last] if value.len() > 1 << 20 => self.put(format!("{} bytes to {last}", value.len())),
            _ => self.put(format!("x{}", hex(value))),
        }
    }
    fn date(&mut self, days: i32) {
        self.put(format!("day {days}"));
    }
    fn time(&mut self, micros: i64) {
        self.put(format!("time {micros}"));
    }
    fn timetz(&mut self, _: i64, _: i32) {
        panic!("MySQL has no time with zone");
    }
    fn timestamp(&mut self, micros: i64) {
        self.put(format!("at {micros}"));
    }
    fn timestamptz(&mut self, _: i64) {
        panic!("MySQL sends no zone");
    }
    fn interval(&mut self, months: i32, days: i32, micros: i64) {
        assert_eq!((months, days), (0, 0));
        self.put(format!("span {micros}"));
    }
    fn uuid(&mut self, value: &[u8; 16]) {
        self.put(format!("uuid {}", hex(value)));
    }
    fn json(&mut self, utf8: &[u8]) {
        self.put(format!("json {}", String::from_utf8_lossy(utf8)));
    }
    fn inet(&mut self, value: Inet<'_>) {
        self.put(format!("inet {}/{}", hex(value.address), value.prefix));
    }
    fn bits(&mut self, bits: usize, bytes: &[u8]) {
        self.put(format!("bits {bits} {}", hex(bytes)));
    }
    fn custom(&mut self, _: u32, _: bool, _: &[u8]) {
        panic!("no type was registered");
    }
    fn begin(&mut self, container: Container, len: usize) {
        assert_eq!(container, Container::List);
        self.put(format!("list {len}"));
    }
    fn end(&mut self) {}
    fn no_such_date(&mut self, text: &str) {
        self.put(format!("no date {text}"));
    }
    fn invalid(&mut self, why: &str) {
        self.put(format!("invalid: {why}"));
    }
}
