//! Decoded values as the text that PostgreSQL parses: converts values in binary form for a COPY as text.

use super::literal::interval_text;
use headrace_core::civil;
use headrace_core::{Container, Inet, Sink};
use std::fmt::Write;

/// Writes one scalar or geometric value as text.
#[derive(Debug, Default)]
pub struct TextWriter {
    out: String,
    bytes: Vec<u8>,
    open: Vec<Container>,
    /// Values so far in each open container.
    counts: Vec<usize>,
    invalid: bool,
}

impl TextWriter {
    /// The text, unless the value had none.
    pub fn finish(self) -> Option<Vec<u8>> {
        if self.invalid {
            return None;
        }
        Some(if self.bytes.is_empty() { self.out.into_bytes() } else { self.bytes })
    }

    fn put(&mut self, text: &str) {
        if let Some(count) = self.counts.last_mut() {
            *count += 1;
            if *count > 1 {
                self.out.push(',');
            }
        }
        self.out.push_str(text);
    }
}

/// The brackets around the items of a container.
fn brackets(container: Container) -> Option<(&'static str, &'static str)> {
    Some(match container {
        Container::Point | Container::Polygon | Container::Path { closed: true } => ("(", ")"),
        Container::Line => ("{", "}"),
        // The only list that is no array is a vector.
        Container::LineSegment | Container::Path { closed: false } | Container::List => ("[", "]"),
        Container::Box => ("", ""),
        Container::Circle => ("<", ">"),
        _ => return None,
    })
}

impl Sink for TextWriter {
    fn begin_row(&mut self, _columns: usize) {}
    fn end_row(&mut self) {}
    fn null(&mut self) {
        self.invalid = true;
    }
    fn bool(&mut self, value: bool) {
        self.put(if value { "t" } else { "f" });
    }
    fn int(&mut self, value: i64) {
        self.put(&value.to_string());
    }
    fn uint(&mut self, value: u64) {
        self.put(&value.to_string());
    }
    fn float(&mut self, value: f64) {
        // Rust writes the fewest digits that identify the number.
        let text = if value.is_nan() {
            "NaN".to_owned()
        } else if value.is_infinite() {
            if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        } else {
            format!("{value:e}")
        };
        self.put(&text);
    }
    fn decimal(&mut self, ascii: &str) {
        self.put(ascii);
    }
    fn text(&mut self, utf8: &[u8]) {
        self.bytes.extend_from_slice(utf8);
    }
    fn bytes(&mut self, value: &[u8]) {
        self.out.push_str("\\x");
        for byte in value {
            let _ = write!(self.out, "{byte:02x}");
        }
    }
    fn date(&mut self, days: i32) {
        self.put(&civil::date_text(days));
    }
    fn time(&mut self, micros: i64) {
        self.put(&civil::time_text(micros));
    }
    fn timetz(&mut self, micros: i64, offset: i32) {
        let (sign, east) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
        let zone = format!("{sign}{:02}:{:02}:{:02}", east / 3600, east / 60 % 60, east % 60);
        self.put(&(civil::time_text(micros) + &zone));
    }
    fn timestamp(&mut self, micros: i64) {
        self.put(&civil::timestamp_text(micros, false));
    }
    fn timestamptz(&mut self, micros: i64) {
        self.put(&civil::timestamp_text(micros, true));
    }
    fn interval(&mut self, months: i32, days: i32, micros: i64) {
        self.put(&interval_text(months, days, micros));
    }
    fn uuid(&mut self, value: &[u8; 16]) {
        self.put(&format!("{:032x}", u128::from_be_bytes(*value)));
    }
    fn json(&mut self, utf8: &[u8]) {
        self.bytes.extend_from_slice(utf8);
    }
    fn inet(&mut self, value: Inet<'_>) {
        let address = match *value.address {
            [a, b, c, d] => std::net::IpAddr::from([a, b, c, d]).to_string(),
            _ => match <[u8; 16]>::try_from(value.address) {
                Ok(octets) => std::net::IpAddr::from(octets).to_string(),
                Err(_) => return self.invalid("an address"),
            },
        };
        self.put(&format!("{address}/{}", value.prefix));
    }
    fn bits(&mut self, bits: usize, bytes: &[u8]) {
        let text: String = (0..bits).map(|i| if bytes[i / 8] & (0x80 >> (i % 8)) != 0 { '1' } else { '0' }).collect();
        self.put(&text);
    }
    fn custom(&mut self, _type_id: u32, _binary: bool, _bytes: &[u8]) {
        self.invalid = true;
    }
    fn begin(&mut self, container: Container, _len: usize) {
        match brackets(container) {
            Some((open, _)) => self.put(open),
            None => self.invalid = true,
        }
        self.open.push(container);
        self.counts.push(0);
    }
    fn end(&mut self) {
        self.counts.pop();
        if let Some((_, close)) = self.open.pop().and_then(brackets) {
            self.out.push_str(close);
        }
    }
    fn invalid(&mut self, _why: &str) {
        self.invalid = true;
    }
    fn no_such_date(&mut self, text: &str) {
        self.put(text);
    }
}
