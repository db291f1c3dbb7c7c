//! Columns of text: text that the server sends, and values of types that Arrow does not have, as the server prints them.

use crate::flat::{Fault, Flat, Parts, Put, misfit};
use crate::options::ArrowOptions;
use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use headrace_core::civil;
use headrace_core::{Container, Inet, Sink};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

/// Values of variable width.
#[derive(Debug)]
pub struct Texts {
    offsets: Vec<i32>,
    values: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Default for Texts {
    fn default() -> Self {
        Self { offsets: vec![0], values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }
}

impl Texts {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the values and their offsets.
    pub fn size(&self) -> usize {
        self.values.len() + self.offsets.len() * size_of::<i32>()
    }

    /// Adds a value.
    ///
    /// # Errors
    /// If the values of a batch become longer than 2 GiB; nothing is added then.
    #[inline]
    pub fn push(&mut self, value: &[u8]) -> Put {
        let Ok(end) = i32::try_from(self.values.len() + value.len()) else {
            return misfit("a value that makes the batch longer than 2 GiB");
        };
        self.values.extend_from_slice(value);
        self.offsets.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    /// Adds a null.
    #[inline]
    pub fn push_null(&mut self) {
        // The last offset is in range: each one was checked.
        self.offsets.push(self.values.len() as i32);
        self.nulls.append_null();
    }

    /// The parts of the array; the values are gone then.
    pub fn parts(&mut self) -> Parts {
        let mut next = Vec::with_capacity(self.offsets.len());
        next.push(0);
        let offsets = std::mem::replace(&mut self.offsets, next);
        let next = Vec::with_capacity(self.values.len());
        let values = std::mem::replace(&mut self.values, next);
        (OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(values), self.nulls.finish())
    }

    /// The array; the values are gone then.
    ///
    /// # Errors
    /// If they are not all UTF-8: they are checked together, which is several times as fast as one by one.
    pub fn array(&mut self) -> Result<ArrayRef, ArrowError> {
        let (offsets, values, nulls) = self.parts();
        Ok(Arc::new(StringArray::try_new(offsets, values, nulls)?))
    }
}

/// Values of any kind as text.
#[derive(Debug)]
pub struct Rendered {
    texts: Flat<Texts>,
    text: String,
    /// Containers that have begun: their closing text, and whether an item was there.
    open: Vec<(&'static str, bool)>,
}

impl Rendered {
    /// Without values.
    pub fn new(options: &ArrowOptions) -> Self {
        Self { texts: Flat::new(Texts::default(), options), text: String::new(), open: Vec::new() }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// [`crate::flat::Build::bytes`]
    pub fn bytes(&self) -> usize {
        self.texts.bytes()
    }

    /// [`crate::flat::Build::finish`]
    ///
    /// # Errors
    /// As there.
    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.texts.finish()
    }

    /// [`Flat::fault`]
    pub fn fault(&mut self) -> Option<Fault> {
        self.texts.fault()
    }

    fn show(&mut self, value: &str) {
        if self.open.is_empty() {
            return self.texts.text(value.as_bytes());
        }
        self.separate();
        self.text.push_str(value);
    }

    fn separate(&mut self) {
        if let Some((_, any)) = self.open.last_mut()
            && std::mem::replace(any, true)
        {
            self.text.push(',');
        }
    }

    /// Text within a container, quoted where the server would.
    fn show_quoted(&mut self, value: &str) {
        let plain = |c: char| !c.is_whitespace() && !"{}()[]<>,\"\\".contains(c);
        if self.open.is_empty() || (!value.is_empty() && value.chars().all(plain)) {
            return self.show(value);
        }
        self.show(&format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

macro_rules! show {
    ($($name:ident($($value:ident: $kind:ty),*) => $text:expr;)*) => {
        $(fn $name(&mut self, $($value: $kind),*) { self.show(&$text); })*
    };
}

impl Sink for Rendered {
    fn takes_custom(&self) -> bool {
        false
    }
    fn begin_row(&mut self, _: usize) {}
    fn end_row(&mut self) {}
    fn null(&mut self) {
        match self.open.last() {
            None => self.texts.null(),
            // An attribute of a composite value that is null is nothing between its commas.
            Some((")", _)) => self.show(""),
            Some(_) => self.show("NULL"),
        }
    }
    show! {
        bool(value: bool) => if value { "t" } else { "f" };
        int(value: i64) => value.to_string();
        uint(value: u64) => value.to_string();
        float(value: f64) => value.to_string();
        decimal(ascii: &str) => ascii;
        date(days: i32) => civil::date_text(days);
        time(micros: i64) => civil::time_text(micros);
        timetz(micros: i64, offset: i32) => civil::time_text(micros) + &zone(offset);
        timestamp(micros: i64) => civil::timestamp_text(micros, false);
        timestamptz(micros: i64) => civil::timestamp_text(micros, true);
        interval(months: i32, days: i32, micros: i64) => format!("{months} mons {days} days {}", civil::time_text(micros));
        uuid(value: &[u8; 16]) => uuid_text(value);
        inet(value: Inet<'_>) => inet_text(value);
        bits(bits: usize, bytes: &[u8]) => bits_text(bits, bytes);
        bytes(value: &[u8]) => hex(value);
    }
    fn text(&mut self, utf8: &[u8]) {
        if self.open.is_empty() {
            return self.texts.text(utf8);
        }
        match std::str::from_utf8(utf8) {
            Ok(text) => self.show_quoted(text),
            Err(error) => self.texts.invalid(&format!("the server sent bytes that are not UTF-8: {error}")),
        }
    }
    fn json(&mut self, utf8: &[u8]) {
        self.text(utf8);
    }
    fn custom(&mut self, _: u32, binary: bool, bytes: &[u8]) {
        if binary {
            self.show(&hex(bytes));
        } else {
            self.text(bytes);
        }
    }
    fn begin(&mut self, container: Container, _: usize) {
        self.separate();
        let (begin, end) = match container {
            Container::List | Container::Multirange => ("{", "}"),
            Container::Record { .. } | Container::Point | Container::Polygon => ("(", ")"),
            Container::Box | Container::Path { closed: true } => ("(", ")"),
            Container::Line => ("{", "}"),
            Container::Circle => ("<", ">"),
            Container::LineSegment | Container::Path { closed: false } => ("[", "]"),
            Container::Range { lower_inc, upper_inc, .. } => {
                (if lower_inc { "[" } else { "(" }, if upper_inc { "]" } else { ")" })
            }
        };
        self.text.push_str(begin);
        self.open.push((end, false));
    }
    fn end(&mut self) {
        if let Some((end, _)) = self.open.pop() {
            self.text.push_str(end);
        }
        if self.open.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.texts.text(text.as_bytes());
        }
    }
    fn no_such_date(&mut self, text: &str) {
        self.show(text);
    }
    fn invalid(&mut self, why: &str) {
        self.texts.invalid(why);
    }
}

fn zone(offset: i32) -> String {
    let east = offset.unsigned_abs();
    let sign = if offset < 0 { '-' } else { '+' };
    let mut text = format!("{sign}{:02}:{:02}", east / 3600, east / 60 % 60);
    if !east.is_multiple_of(60) {
        let _ = write!(text, ":{:02}", east % 60);
    }
    text
}

/// A UUID as RFC 9562, section 4, has it.
fn uuid_text(value: &[u8; 16]) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(*value));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn inet_text(value: Inet<'_>) -> String {
    let address = match value.address {
        address if address.len() == 4 => <[u8; 4]>::try_from(address).map(IpAddr::from).ok(),
        address => <[u8; 16]>::try_from(address).map(IpAddr::from).ok(),
    };
    let bits = value.address.len() * 8;
    match address {
        Some(address) if !value.network && usize::from(value.prefix) == bits => address.to_string(),
        Some(address) => format!("{address}/{}", value.prefix),
        None => hex(value.address),
    }
}

fn bits_text(bits: usize, bytes: &[u8]) -> String {
    let bit = |n: usize| bytes.get(n / 8).is_some_and(|byte| byte & (0x80 >> (n % 8)) != 0);
    (0..bits).map(|n| if bit(n) { '1' } else { '0' }).collect()
}
