//! Encodes values into binary parameters.

mod array;
mod extension;
mod loose;
mod mixed;
mod number;
mod quick;
mod temporal;
mod text;

use super::builtin::Scalar;
use super::registry::{TypeKind, TypeRegistry};
use super::{Format, Oid, literal, numeric, oid};
use crate::limits;
use headrace_core::{Mismatch, Value, ValueKind};
use quick::Quick;

/// The encoder of one parameter of a statement; chosen once, when the statement is prepared.
#[derive(Clone, Debug)]
pub struct Encoder {
    oid: Oid,
    name: String,
    form: Form,
    /// What [`Encoder::quick`] writes.
    quick: Quick,
    /// The value has no type by itself, and the server chose one.
    open: bool,
    /// The type is `name`, or a domain over it, of which the server keeps so many bytes.
    is_name: bool,
    /// Dates, times and paths are sent as asyncpg does.
    is_loose: bool,
}

#[derive(Clone, Debug)]
enum Form {
    Scalar(Scalar),
    /// The elements, and their delimiter in text form.
    Array(Box<Encoder>, u8),
    /// int2vector or oidvector: an array that counts from 0, which no client's array does, so text.
    Vector(Box<Encoder>),
    Range(Box<Encoder>),
    Multirange(Box<Encoder>),
    Composite(Vec<(String, Encoder)>),
    /// The type has no binary form here: SQL text.
    AsText,
}

impl Encoder {
    /// The encoder for a type.
    pub fn new(registry: &TypeRegistry, oid: Oid) -> Self {
        Self::nested(registry, oid, 0)
    }

    fn nested(registry: &TypeRegistry, oid: Oid, depth: usize) -> Self {
        let inner = |oid| Box::new(Self::nested(registry, oid, depth + 1));
        let form = match registry.kind(oid) {
            _ if depth > limits::NESTING => Form::AsText,
            TypeKind::Scalar(Scalar::AsText | Scalar::Void | Scalar::Record | Scalar::MacAddr) | TypeKind::Unknown => {
                Form::AsText
            }
            TypeKind::Scalar(scalar) => Form::Scalar(scalar),
            TypeKind::Enum => Form::Scalar(Scalar::Text),
            TypeKind::Domain { base, .. } => return Self { oid, ..Self::nested(registry, base, depth + 1) },
            TypeKind::Array { element } if oid::VECTORS.contains(&oid) => Form::Vector(inner(element)),
            TypeKind::Array { element } => Form::Array(inner(element), registry.separator(element)),
            TypeKind::Range { subtype } => Form::Range(inner(subtype)),
            TypeKind::Multirange { range } => Form::Multirange(inner(range)),
            TypeKind::Composite { fields } => Form::Composite(
                fields.iter().map(|field| (field.name.clone(), Self::nested(registry, field.oid, depth + 1))).collect(),
            ),
        };
        let (is_name, is_loose) = (oid == oid::NAME, registry.loose_times);
        Self {
            oid,
            name: registry.name(oid),
            quick: if is_name || is_loose { Quick::Nothing } else { Quick::of(&form) },
            form,
            open: false,
            is_name,
            is_loose,
        }
    }

    /// The same for a parameter whose type the value was to determine, and did not: a value that has no type by itself
    /// is sent as a literal if the server took the parameter for text.
    pub fn open(self) -> Self {
        Self { open: true, ..self }
    }

    /// The type.
    pub fn oid(&self) -> Oid {
        self.oid
    }

    /// Writes the length and the value, and returns the format: text for a str that has to become another type, so that
    /// the server parses it as it would a literal.
    ///
    /// # Errors
    /// The error of the value, [`Mismatch`] above all; the buffer then has half a value.
    #[inline]
    pub fn encode_param<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<Format, V::Error> {
        let kind = value.kind();
        if kind == ValueKind::Null {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            // Of a type without a function for its binary form the server refuses that format of NULL, too.
            let is_text = matches!(self.form, Form::AsText);
            return Ok(if is_text { Format::Text } else { Format::Binary });
        }
        if self.quick(value, kind, out)? {
            return Ok(Format::Binary);
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let format = match (&self.form, kind) {
            (_, ValueKind::Custom) => {
                let binary = value.with_custom(self.oid, |bytes, binary| {
                    out.extend_from_slice(bytes);
                    binary
                })?;
                if binary { Format::Binary } else { Format::Text }
            }
            (Form::AsText, _) => {
                self.text_of(value, kind, out)?;
                Format::Text
            }
            (Form::Scalar(Scalar::Text), ValueKind::List | ValueKind::Range | ValueKind::Multirange) if self.open => {
                literal::write(value, kind, out)?;
                Format::Text
            }
            (Form::Scalar(_), kind) if kind != ValueKind::Text => {
                self.binary(value, kind, out)?;
                Format::Binary
            }
            // The server shortens a name that is too long only when it reads it as text.
            (Form::Scalar(Scalar::Text), ValueKind::Text) if !self.is_name => {
                value.with_text(|text| put_text(out, text))??;
                Format::Binary
            }
            (Form::Scalar(Scalar::Char), ValueKind::Text) => {
                self.char(value, kind, out)?;
                Format::Binary
            }
            (_, ValueKind::Text) => {
                value.with_text(|text| put_text(out, text))??;
                Format::Text
            }
            _ if !self.has_binary() => {
                self.text_of(value, kind, out)?;
                Format::Text
            }
            _ => match self.binary(value, kind, out) {
                Ok(()) => Format::Binary,
                // What contains str is for the server to parse, as one str is.
                Err(_) if self.holds_text(value).unwrap_or(false) => {
                    out.truncate(start + 4);
                    self.text_of(value, kind, out)?;
                    Format::Text
                }
                Err(error) => return Err(error),
            },
        };
        patch(out, start)?;
        Ok(format)
    }

    /// Writes the length and the value in binary form: for COPY, and for the items of arrays, composites, ranges.
    ///
    /// # Errors
    /// As [`Encoder::encode_param`]; also for text if only the binary form of its own type would be accepted.
    pub fn encode_binary<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        self.encode_in_row(value, out)
    }

    /// The same, compiled into the loop of a row.
    #[inline(always)]
    pub(super) fn encode_in_row<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let kind = value.kind();
        if kind == ValueKind::Null {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            return Ok(());
        }
        if self.quick(value, kind, out)? {
            return Ok(());
        }
        self.encode_any(value, kind, out)
    }

    #[inline(never)]
    fn encode_any<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        match (&self.form, kind) {
            (_, ValueKind::Custom) => self.custom(value, out)?,
            (Form::AsText, _) => return Err(self.wrong(value, " in binary form; use the text format")),
            (Form::Scalar(_), ValueKind::Text) if !self.has_binary_text() => {
                return Err(self.wrong(value, " in binary form; with format=\"text\" the server parses it"));
            }
            _ => self.binary(value, kind, out)?,
        }
        patch(out, start)?;
        Ok(())
    }

    /// Returns true if its values are texts.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.form, Form::Scalar(Scalar::Text | Scalar::Char))
    }

    /// Returns true if its values are JSON, whose binary form is text.
    fn is_json(&self) -> bool {
        self.form_is(Scalar::Json) || self.form_is(Scalar::Jsonb)
    }

    /// Returns true if the text of a value is the driver's to put into its binary form.
    fn has_binary_text(&self) -> bool {
        self.is_text() || self.is_json() || self.form_is(Scalar::Versioned)
    }

    fn form_is(&self, scalar: Scalar) -> bool {
        matches!(self.form, Form::Scalar(own) if own == scalar)
    }

    /// Returns true if [`Encoder::encode_binary`] can work at all.
    pub fn has_binary(&self) -> bool {
        match &self.form {
            Form::AsText | Form::Vector(_) => false,
            Form::Scalar(_) => true,
            Form::Array(inner, _) | Form::Range(inner) | Form::Multirange(inner) => inner.has_binary(),
            Form::Composite(fields) => fields.iter().all(|(_, field)| field.has_binary()),
        }
    }

    /// Writes a value that is not NULL as the text that the server parses: for COPY as text, and for types without a
    /// binary form. It is the same value that [`Encoder::encode_binary`] writes, and what that refuses is refused.
    ///
    /// # Errors
    /// As [`Encoder::encode_param`].
    pub fn encode_text<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        self.text_of(value, value.kind(), out)
    }

    fn check_attributes<V: Value>(&self, expected: usize, value: &V, kind: ValueKind) -> Result<(), V::Error> {
        if matches!(kind, ValueKind::Record | ValueKind::List) && value.len()? != expected {
            let why = format!(": the type has {expected} attributes, the value {}", value.len()?);
            return Err(self.wrong(value, &why));
        }
        Ok(())
    }

    fn check_length<V: Value>(&self, value: &V, length: usize) -> Result<(), V::Error> {
        if value.len()? == length {
            return Ok(());
        }
        Err(self.wrong(value, ": the nested lists of an array must all have the same length"))
    }

    #[cold]
    fn uneven<V: Value>(&self, value: &V) -> V::Error {
        self.wrong(value, ": the nested lists of an array must all have the same depth")
    }

    #[cold]
    fn wrong<V: Value>(&self, value: &V, why: &str) -> V::Error {
        let why = match value.kind() {
            ValueKind::Record if why.is_empty() => {
                ": a tuple is one value, of a composite type; fetch(), fetchrow() and fetchval() take the values one by \
                 one, execute() takes one sequence of them"
            }
            _ => why,
        };
        Mismatch::wrong_type(format!("{} cannot be sent as {}{why}", value.describe(), self.name)).into()
    }

    #[cold]
    fn outside<V: Value>(&self, value: &V, bounds: &str) -> V::Error {
        Mismatch::out_of_range(format!("{} does not fit {} ({bounds})", value.describe(), self.name)).into()
    }

    fn binary<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let scalar = match &self.form {
            Form::Scalar(scalar) => *scalar,
            _ => return self.container(value, kind, out),
        };
        if self.is_loose
            && (Self::loose_time(scalar, value, kind, out)? || self.loose_bytes(scalar, value, kind, out)?)
        {
            return Ok(());
        }
        match (scalar, kind) {
            (Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Oid | Scalar::UInt8, _) => {
                self.whole(scalar, value, kind, out)?;
            }
            (Scalar::Text, _) => self.text(value, kind, out)?,
            (Scalar::Char, _) => self.char(value, kind, out)?,
            (Scalar::Float8, ValueKind::Float | ValueKind::Int | ValueKind::Decimal) => {
                out.extend_from_slice(&value.float()?.to_be_bytes());
            }
            (Scalar::Float4, ValueKind::Float | ValueKind::Int | ValueKind::Decimal) => self.float4(value, out)?,
            (Scalar::Bool, ValueKind::Bool) => out.push(u8::from(value.bool()?)),
            (
                Scalar::Date
                | Scalar::Timestamp
                | Scalar::TimestampTz
                | Scalar::Time
                | Scalar::TimeTz
                | Scalar::Interval,
                _,
            ) => self.temporal(scalar, value, kind, out)?,
            (Scalar::Numeric, ValueKind::Int | ValueKind::Decimal | ValueKind::Float) => {
                value.with_decimal(|text| numeric::encode(text, out))??;
            }
            (Scalar::Bytea, ValueKind::Bytes) => value.with_bytes(|bytes| out.extend_from_slice(bytes))?,
            (Scalar::Uuid, ValueKind::Uuid) => out.extend_from_slice(&value.uuid()?),
            (Scalar::Json | Scalar::Jsonb, _) => {
                if scalar == Scalar::Jsonb {
                    out.push(1);
                }
                match kind {
                    ValueKind::Text => value.with_text(|text| put_text(out, text))??,
                    _ => value.with_json(|json| out.extend_from_slice(json))?,
                }
            }
            (Scalar::Inet, ValueKind::Inet | ValueKind::Cidr) => {
                let (bytes, len, prefix) = value.inet()?;
                let network = self.oid == 650;
                out.extend_from_slice(&[if len == 4 { 2 } else { 3 }, prefix, u8::from(network), len as u8]);
                out.extend_from_slice(&bytes[..len]);
            }
            (Scalar::Bits, ValueKind::Bits) => {
                let (bits, bytes) = value.bits()?;
                out.extend_from_slice(&(bits as i32).to_be_bytes());
                out.extend_from_slice(&bytes);
            }
            (Scalar::Point, _) => self.floats(value, 2, out)?,
            (Scalar::Line, _) => self.floats(value, 3, out)?,
            (Scalar::LineSegment | Scalar::Box, _) => self.floats(value, 4, out)?,
            (Scalar::Circle, _) => self.floats(value, 3, out)?,
            (Scalar::Path | Scalar::Polygon, _) => self.points(scalar == Scalar::Path, value, out)?,
            (
                Scalar::Hstore
                | Scalar::Versioned
                | Scalar::Vector
                | Scalar::HalfVector
                | Scalar::SparseVector
                | Scalar::Geometry,
                _,
            ) => self.extension(scalar, value, kind, out)?,
            _ => return Err(self.wrong(value, "")),
        }
        Ok(())
    }

    /// A value that is not text for a column that is: its SQL text. The type "char" is one byte: zero if its text is
    /// empty, and `bytes` in Python if it is not ASCII.
    fn char<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let start = out.len();
        match kind {
            ValueKind::Bytes => value.with_bytes(|bytes| out.extend_from_slice(bytes))?,
            _ => self.text(value, kind, out)?,
        }
        match out.len() - start {
            0 => out.push(0),
            1 => {}
            _ => return Err(self.outside(value, "one ASCII character, or one byte")),
        }
        Ok(())
    }

    fn text<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
        match kind {
            ValueKind::Text if self.is_name => value.with_text(|text| put_text(out, cut_name(text)))??,
            ValueKind::Text => value.with_text(|text| put_text(out, text))??,
            ValueKind::Bytes
            | ValueKind::List
            | ValueKind::Set
            | ValueKind::Record
            | ValueKind::Opaque
            | ValueKind::Other => {
                return Err(self.wrong(value, ""));
            }
            _ => literal::write(value, kind, out)?,
        }
        Ok(())
    }

    fn floats<V: Value>(&self, value: &V, n: usize, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let numbers = value.floats(n)?;
        if n != numbers.len() {
            return Err(self.wrong(value, &format!(": it is made of {n} numbers")));
        }
        for number in numbers {
            out.extend_from_slice(&number.to_be_bytes());
        }
        Ok(())
    }

    fn points<V: Value>(&self, path: bool, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let (numbers, closed) = value.points()?;
        if path {
            // As `((x,y),...)` is; asyncpg's lists are `[(x,y),...]`.
            let is_open = self.is_loose && value.kind() == ValueKind::List;
            out.push(u8::from(closed.unwrap_or(!is_open)));
        }
        out.extend_from_slice(&((numbers.len() / 2) as i32).to_be_bytes());
        for number in numbers {
            out.extend_from_slice(&number.to_be_bytes());
        }
        Ok(())
    }

    #[inline(never)]
    fn container<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
        match (&self.form, kind) {
            (Form::Array(element, _), ValueKind::List | ValueKind::Record) => self.array(element, value, out),
            (Form::Composite(fields), ValueKind::Record | ValueKind::List | ValueKind::Json | ValueKind::Other) => {
                self.check_attributes(fields.len(), value, kind)?;
                out.extend_from_slice(&(fields.len() as i32).to_be_bytes());
                for (i, (name, field)) in fields.iter().enumerate() {
                    out.extend_from_slice(&field.oid.to_be_bytes());
                    field.encode_binary(&value.field(i, name)?, out)?;
                }
                Ok(())
            }
            (Form::Range(bound), ValueKind::Range) => {
                let parts = value.range()?;
                let mut flags = 0u8;
                if parts.empty {
                    out.push(1);
                    return Ok(());
                }
                for (set, flag) in [
                    (parts.lower_inc && parts.lower.is_some(), 2),
                    (parts.upper_inc && parts.upper.is_some(), 4),
                    (parts.lower.is_none(), 8),
                    (parts.upper.is_none(), 16),
                ] {
                    flags |= if set { flag } else { 0 };
                }
                out.push(flags);
                for value in [parts.lower, parts.upper].iter().flatten() {
                    bound.encode_binary(value, out)?;
                }
                Ok(())
            }
            (Form::Range(bound), ValueKind::List | ValueKind::Record) if self.is_loose => {
                self.loose_range(bound, value, out)
            }
            (Form::Multirange(range), ValueKind::Multirange | ValueKind::List) => {
                let count = value.len()?;
                out.extend_from_slice(&(count as i32).to_be_bytes());
                for i in 0..count {
                    range.encode_binary(&value.item(i)?, out)?;
                }
                Ok(())
            }
            _ => Err(self.wrong(value, "")),
        }
    }
}

/// Appends text, which cannot have a NUL.
pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Mismatch> {
    check_text(text)?;
    out.extend_from_slice(text);
    Ok(())
}

#[inline]
fn check_text(text: &[u8]) -> Result<(), Mismatch> {
    if quick::has_nul(text) {
        return Err(Mismatch::out_of_range("PostgreSQL text cannot hold a NUL character (\\x00)"));
    }
    Ok(())
}

/// As much of a name as the server keeps of it, whole characters: NAMEDATALEN - 1 bytes.
fn cut_name(text: &[u8]) -> &[u8] {
    let mut end = text.len().min(limits::NAME_BYTES);
    while text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    &text[..end]
}

fn check_size(len: usize) -> Result<(), Mismatch> {
    if len > limits::MESSAGE_BYTES - 64 {
        return Err(Mismatch::out_of_range(format!("a value of {len} bytes is more than PostgreSQL takes (1 GiB)")));
    }
    Ok(())
}

fn patch(out: &mut [u8], start: usize) -> Result<(), Mismatch> {
    let len = out.len() - start - 4;
    check_size(len)?;
    out[start..start + 4].copy_from_slice(&(len as i32).to_be_bytes());
    Ok(())
}
