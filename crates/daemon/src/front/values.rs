//! Decoded values as the fields of DataRow and of COPY's rows.

use super::parameter::parameter;
use super::replies::format;
use super::types::{FLOAT4, TargetColumn, UNKNOWN};
use super::value_texts::{escaped, float_text, float4_text, hex, inet_text, keeps_digits, quoted, text_of, uuid_text};
use headrace_core::{Container, Inet, Mismatch, Sink, civil};
use headrace_io::rows::Datum;
use headrace_postgres::messages::tag::backend as tag;
use headrace_postgres::types::{Encoder, Format, Oid, TypeRegistry, oid};
use std::io::Write;

/// What a row becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// DataRow.
    Row,
    /// CopyData of COPY in binary format.
    CopyBinary,
    /// CopyData of COPY as text.
    CopyText,
    /// CopyData of COPY as CSV.
    CopyCsv,
}

/// How a column's values are written.
#[derive(Debug)]
struct Field {
    name: String,
    oid: Oid,
    format: Format,
    encoder: Encoder,
}

/// The columns of a result, and the form of its rows.
#[derive(Debug)]
pub struct Layout {
    fields: Vec<Field>,
    shape: Shape,
}

impl Field {
    fn encode(&self, datum: &Datum, out: &mut Vec<u8>) -> Result<(), Mismatch> {
        match (self.format, datum) {
            _ if matches!(self.oid, oid::TEXT | UNKNOWN) => out.extend_from_slice(text_of(datum).as_bytes()),
            (Format::Text, Datum::Inet(address, prefix)) => {
                out.extend_from_slice(inet_text(address, *prefix).as_bytes());
            }
            (Format::Text, datum) => self.encoder.encode_text(&datum, out)?,
            (Format::Binary, datum) => {
                self.encoder.encode_binary(&datum, out)?;
                // The length is written with the field.
                out.drain(..4);
            }
        }
        Ok(())
    }
}

impl Layout {
    /// For these columns. `formats` is that of Bind; a COPY has its own.
    pub fn new(columns: &[TargetColumn], formats: &[Format], shape: Shape) -> Self {
        let registry = TypeRegistry::default();
        let fields = columns.iter().enumerate().map(|(number, column)| Field {
            name: column.name.clone(),
            oid: column.oid,
            format: match shape {
                Shape::Row => format(formats, number),
                Shape::CopyBinary => Format::Binary,
                Shape::CopyText | Shape::CopyCsv => Format::Text,
            },
            encoder: Encoder::new(&registry, column.oid),
        });
        Self { fields: fields.collect(), shape }
    }
}

/// Writes rows as messages.
#[derive(Debug)]
pub struct Writer<'a> {
    layout: &'a Layout,
    out: &'a mut Vec<u8>,
    /// Where the current row's message begins.
    start: usize,
    /// The column of the next value.
    at: usize,
    /// Values of a list, and how many lists are open.
    parts: Vec<Vec<Datum>>,
    open: Vec<Container>,
    /// The next row is the first of its result.
    pub begins: bool,
    /// Rows so far.
    pub rows: u64,
    /// Why a value could not be written. Nothing of its row, or of a later one, is in `out`.
    pub problem: Option<String>,
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub fn new(layout: &'a Layout, out: &'a mut Vec<u8>) -> Self {
        Self {
            layout,
            out,
            start: 0,
            at: 0,
            parts: Vec::new(),
            open: Vec::new(),
            begins: false,
            rows: 0,
            problem: None,
        }
    }

    /// Writes the next field: `text` or `binary`, as it is requested, writes the value alone.
    #[inline]
    fn put(
        &mut self,
        oids: &[Oid],
        text: impl FnOnce(&mut Vec<u8>),
        binary: impl FnOnce(&mut Vec<u8>),
        datum: impl FnOnce() -> Datum,
    ) {
        if !self.open.is_empty() {
            return self.part(datum());
        }
        let Some(field) = self.layout.fields.get(self.at) else { return };
        if !oids.contains(&field.oid) {
            return self.whole(&datum());
        }
        let format = field.format;
        self.field(|out| match format {
            Format::Text => text(out),
            Format::Binary => binary(out),
        });
    }

    /// Writes a field whose bytes `write` appends.
    #[inline]
    fn field(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.problem.is_none() {
            match self.layout.shape {
                Shape::Row | Shape::CopyBinary => {
                    let start = self.out.len();
                    self.out.extend_from_slice(&[0; 4]);
                    write(self.out);
                    let length = (self.out.len() - start - 4) as u32;
                    self.out[start..start + 4].copy_from_slice(&length.to_be_bytes());
                }
                Shape::CopyText | Shape::CopyCsv => {
                    self.separate();
                    let mut bytes = Vec::new();
                    write(&mut bytes);
                    match self.layout.shape {
                        Shape::CopyText => escaped(self.out, &bytes),
                        _ => quoted(self.out, &bytes),
                    }
                }
            }
        }
        self.at += 1;
    }

    /// What is between two fields of COPY as text.
    fn separate(&mut self) {
        if self.at > 0 {
            self.out.push(if self.layout.shape == Shape::CopyText { b'\t' } else { b',' });
        }
    }

    /// Writes a value of another kind than its column usually has, or of a rare kind.
    #[inline(never)]
    fn whole(&mut self, datum: &Datum) {
        let Some(field) = self.layout.fields.get(self.at) else { return };
        if field.format == Format::Binary && !keeps_digits(field.oid, datum) {
            let text = text_of(datum);
            return self.fail(&format!("{text} has more digits than the type that the column was described with"));
        }
        let mut bytes = Vec::new();
        let written = field.encode(datum, &mut bytes).or_else(|mismatch| {
            // The column was described before the server had its parameters.
            bytes.clear();
            let text = text_of(datum);
            match parameter(&TypeRegistry::default(), field.oid, Format::Text, Some(text.as_bytes())) {
                Ok(Datum::Text(_)) | Err(_) => Err(mismatch),
                Ok(other) => field.encode(&other, &mut bytes),
            }
        });
        match written {
            Ok(()) => self.field(|out| out.extend_from_slice(&bytes)),
            Err(mismatch) => self.fail(&mismatch.message),
        }
    }

    fn part(&mut self, datum: Datum) {
        if let Some(parts) = self.parts.last_mut() {
            parts.push(datum);
        }
    }

    #[cold]
    fn fail(&mut self, why: &str) {
        if self.problem.is_none() {
            let name = self.layout.fields.get(self.at).map_or("", |field| field.name.as_str());
            self.problem = Some(format!("column {} ({name:?}): {why}", self.at + 1));
        }
        self.at += 1;
    }
}

/// CopyData with the names of the columns.
pub fn csv_header(out: &mut Vec<u8>, columns: &[TargetColumn]) {
    headrace_postgres::messages::frontend::message(out, tag::COPY_DATA, |out| {
        for (number, column) in columns.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            quoted(out, column.name.as_bytes());
        }
        out.push(b'\n');
    });
}

/// What COPY in binary format begins with, in the message of its first row: the signature, flags, and the length of
/// nothing more (manual, "COPY", "Binary Format").
pub const COPY_SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Microseconds and days from 1970 to 2000, PostgreSQL's own epoch.
const EPOCH_MICROS: i64 = 946_684_800_000_000;
const EPOCH_DAYS: i32 = 10_957;

impl Sink for Writer<'_> {
    #[inline]
    fn begin_row(&mut self, _: usize) {
        (self.start, self.at) = (self.out.len(), 0);
        if self.problem.is_some() {
            return;
        }
        self.out.push(if self.layout.shape == Shape::Row { tag::DATA_ROW } else { tag::COPY_DATA });
        self.out.extend_from_slice(&[0; 4]);
        if std::mem::take(&mut self.begins) && self.layout.shape == Shape::CopyBinary {
            self.out.extend_from_slice(COPY_SIGNATURE);
        }
        if let Shape::Row | Shape::CopyBinary = self.layout.shape {
            self.out.extend_from_slice(&(self.layout.fields.len() as u16).to_be_bytes());
        }
    }

    #[inline]
    fn end_row(&mut self) {
        if self.problem.is_some() {
            return self.out.truncate(self.start);
        }
        if let Shape::CopyText | Shape::CopyCsv = self.layout.shape {
            self.out.push(b'\n');
        }
        let length = (self.out.len() - self.start - 1) as u32;
        self.out[self.start + 1..self.start + 5].copy_from_slice(&length.to_be_bytes());
        self.rows += 1;
    }

    #[inline]
    fn null(&mut self) {
        if !self.open.is_empty() {
            return self.part(Datum::Null);
        }
        if self.problem.is_none() {
            match self.layout.shape {
                Shape::Row | Shape::CopyBinary => self.out.extend_from_slice(&(-1i32).to_be_bytes()),
                Shape::CopyText => {
                    self.separate();
                    self.out.extend_from_slice(b"\\N");
                }
                Shape::CopyCsv => self.separate(),
            }
        }
        self.at += 1;
    }

    fn bool(&mut self, value: bool) {
        self.put(
            &[oid::BOOL],
            |out| out.push(if value { b't' } else { b'f' }),
            |out| out.push(u8::from(value)),
            || Datum::Bool(value),
        );
    }

    #[inline]
    fn int(&mut self, value: i64) {
        let number = self.layout.fields.get(self.at).map_or(0, |field| field.oid);
        let fits = match number {
            oid::INT2 => i16::try_from(value).is_ok(),
            oid::INT4 => i32::try_from(value).is_ok(),
            _ => true,
        };
        if !fits && self.open.is_empty() {
            return self.fail(&format!("{value} does not fit the type that the column was described with"));
        }
        self.put(
            &[oid::INT2, oid::INT4, oid::INT8],
            |out| {
                let _ = write!(out, "{value}");
            },
            |out| match number {
                oid::INT2 => out.extend_from_slice(&(value as i16).to_be_bytes()),
                oid::INT4 => out.extend_from_slice(&(value as i32).to_be_bytes()),
                _ => out.extend_from_slice(&value.to_be_bytes()),
            },
            || Datum::Int(value),
        );
    }

    fn uint(&mut self, value: u64) {
        self.put(&[], |_| {}, |_| {}, || Datum::Decimal(value.to_string()));
    }

    #[inline]
    fn float(&mut self, value: f64) {
        let narrow = self.layout.fields.get(self.at).is_some_and(|field| field.oid == FLOAT4);
        self.put(
            &[oid::FLOAT8, FLOAT4],
            |out| out.extend_from_slice(if narrow { float4_text(value as f32) } else { float_text(value) }.as_bytes()),
            |out| match narrow {
                true => out.extend_from_slice(&(value as f32).to_be_bytes()),
                false => out.extend_from_slice(&value.to_be_bytes()),
            },
            || Datum::Float(value),
        );
    }

    fn decimal(&mut self, ascii: &str) {
        let is_text = self.layout.fields.get(self.at).is_some_and(|field| field.format == Format::Text);
        if is_text && self.open.is_empty() {
            return self.put(
                &[oid::NUMERIC],
                |out| out.extend_from_slice(ascii.as_bytes()),
                |_| {},
                || Datum::Decimal(ascii.into()),
            );
        }
        self.put(&[], |_| {}, |_| {}, || Datum::Decimal(ascii.into()));
    }

    #[inline]
    fn text(&mut self, utf8: &[u8]) {
        if std::str::from_utf8(utf8).is_err() {
            return self.fail("the text is not valid UTF-8");
        }
        self.put(
            &[oid::TEXT, oid::JSON],
            |out| out.extend_from_slice(utf8),
            |out| out.extend_from_slice(utf8),
            || Datum::Text(String::from_utf8_lossy(utf8).into_owned()),
        );
    }

    fn bytes(&mut self, value: &[u8]) {
        self.put(
            &[oid::BYTEA],
            |out| hex(out, value),
            |out| out.extend_from_slice(value),
            || Datum::Bytes(value.to_vec()),
        );
    }

    fn date(&mut self, days: i32) {
        self.put(
            &[oid::DATE],
            |out| out.extend_from_slice(civil::date_text(days).as_bytes()),
            |out| out.extend_from_slice(&days.saturating_sub(EPOCH_DAYS).to_be_bytes()),
            || Datum::Date(days),
        );
    }

    fn time(&mut self, micros: i64) {
        self.put(
            &[oid::TIME],
            |out| out.extend_from_slice(civil::time_text(micros).as_bytes()),
            |out| out.extend_from_slice(&micros.to_be_bytes()),
            || Datum::Time(micros),
        );
    }

    fn timetz(&mut self, micros: i64, offset: i32) {
        self.put(&[], |_| {}, |_| {}, || Datum::TimeTz(micros, offset));
    }

    fn timestamp(&mut self, micros: i64) {
        self.put(
            &[oid::TIMESTAMP],
            |out| out.extend_from_slice(civil::timestamp_text(micros, false).as_bytes()),
            |out| out.extend_from_slice(&micros.saturating_sub(EPOCH_MICROS).to_be_bytes()),
            || Datum::Timestamp(micros),
        );
    }

    fn timestamptz(&mut self, micros: i64) {
        self.put(
            &[oid::TIMESTAMPTZ],
            |out| out.extend_from_slice(civil::timestamp_text(micros, true).as_bytes()),
            |out| out.extend_from_slice(&micros.saturating_sub(EPOCH_MICROS).to_be_bytes()),
            || Datum::TimestampTz(micros),
        );
    }

    fn interval(&mut self, months: i32, days: i32, micros: i64) {
        self.put(&[], |_| {}, |_| {}, || Datum::Interval(months, days, micros));
    }

    fn uuid(&mut self, value: &[u8; 16]) {
        self.put(
            &[oid::UUID],
            |out| out.extend_from_slice(uuid_text(value).as_bytes()),
            |out| out.extend_from_slice(value),
            || Datum::Uuid(*value),
        );
    }

    fn json(&mut self, utf8: &[u8]) {
        self.text(utf8);
    }

    fn inet(&mut self, value: Inet<'_>) {
        self.put(&[], |_| {}, |_| {}, || Datum::Inet(value.address.to_vec(), value.prefix));
    }

    fn bits(&mut self, bits: usize, bytes: &[u8]) {
        self.put(&[], |_| {}, |_| {}, || Datum::Bits(bits, bytes.to_vec()));
    }

    fn custom(&mut self, _: u32, _: bool, bytes: &[u8]) {
        self.put(&[], |_| {}, |_| {}, || Datum::Custom(bytes.to_vec()));
    }

    fn begin(&mut self, container: Container, len: usize) {
        self.open.push(container);
        self.parts.push(Vec::with_capacity(len));
    }

    fn end(&mut self) {
        let (Some(container), Some(parts)) = (self.open.pop(), self.parts.pop()) else { return };
        let datum = Datum::Parts(container, parts);
        if self.open.is_empty() { self.whole(&datum) } else { self.part(datum) }
    }

    fn no_such_date(&mut self, text: &str) {
        self.fail(&format!("the date {text} is in no calendar: cast it to text"));
    }

    fn invalid(&mut self, why: &str) {
        self.fail(why);
    }
}
