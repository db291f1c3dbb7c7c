//! Values in text form: for COPY as text, and for parts of types without a binary form.

use super::{Encoder, Form, put_text};
use crate::types::builtin::Scalar;
use crate::types::decode::Decoder;
use crate::types::literal;
use crate::types::write::TextWriter;
use headrace_core::{Value, ValueKind};

impl Encoder {
    pub(super) fn text_of<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
        match (&self.form, kind) {
            (_, ValueKind::Custom) => {
                let mut bytes = Vec::new();
                let binary = value.with_custom(self.oid, |made, binary| {
                    bytes.extend_from_slice(made);
                    binary
                })?;
                if !binary {
                    put_text(out, &bytes)?;
                    return Ok(());
                }
                match &self.form {
                    Form::Scalar(scalar) => self.as_text(*scalar, &bytes, value, out),
                    _ => {
                        Err(self
                            .wrong(value, ": its dumper returns the binary form, which is not known here; return str"))
                    }
                }
            }
            (Form::AsText, _) if self.is_loose && self.loose_text(value, kind, out)? => Ok(()),
            (Form::AsText, _) => literal::write(value, kind, out),
            // The server would truncate more than one character without an error.
            (form, ValueKind::Text) if !matches!(form, Form::Scalar(Scalar::Char)) => {
                Ok(value.with_text(|text| put_text(out, text))??)
            }
            (Form::Scalar(scalar), _) => {
                let mut bytes = Vec::new();
                self.binary(value, kind, &mut bytes)?;
                self.as_text(*scalar, &bytes, value, out)
            }
            (Form::Vector(element), ValueKind::List | ValueKind::Record) => {
                for i in 0..value.len()? {
                    if i > 0 {
                        out.push(b' ');
                    }
                    element.encode_text(&value.item(i)?, out)?;
                }
                Ok(())
            }
            (Form::Array(element, separator), ValueKind::List | ValueKind::Record) => {
                let lengths = self.dimensions(element, value)?;
                if lengths.is_empty() {
                    out.extend_from_slice(b"{}");
                    return Ok(());
                }
                self.elements_text(element, value, &lengths, *separator, out)
            }
            (Form::Composite(fields), ValueKind::Record | ValueKind::List | ValueKind::Json | ValueKind::Other) => {
                self.check_attributes(fields.len(), value, kind)?;
                out.push(b'(');
                for (i, (name, field)) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    field.quoted(&value.field(i, name)?, b"", out)?;
                }
                out.push(b')');
                Ok(())
            }
            (Form::Range(bound), ValueKind::Range) => {
                literal::put_range(&value.range()?, out, |end, out| bound.quoted(end, b"", out))
            }
            (Form::Multirange(range), ValueKind::Multirange | ValueKind::List) => {
                out.push(b'{');
                for i in 0..value.len()? {
                    if i > 0 {
                        out.push(b',');
                    }
                    range.encode_text(&value.item(i)?, out)?;
                }
                out.push(b'}');
                Ok(())
            }
            _ => Err(self.wrong(value, "")),
        }
    }

    /// The text of a scalar's binary form.
    fn as_text<V: Value>(&self, scalar: Scalar, bytes: &[u8], value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        match (scalar, bytes) {
            (Scalar::Char, [0]) => return Ok(()),
            (Scalar::Char, [byte]) if !byte.is_ascii() => {
                out.extend_from_slice(format!("\\{byte:o}").as_bytes());
                return Ok(());
            }
            (Scalar::Text | Scalar::Char | Scalar::Json, _) => {
                put_text(out, bytes)?;
                return Ok(());
            }
            _ => {}
        }
        if scalar == Scalar::Geometry {
            // Of bytes as text, PostGIS reads the digits alone.
            bytes.iter().for_each(|byte| out.extend_from_slice(format!("{byte:02x}").as_bytes()));
            return Ok(());
        }
        let bytes = if scalar == Scalar::Jsonb { bytes.get(1..).unwrap_or(&[]) } else { bytes };
        let scalar = if scalar == Scalar::Jsonb { Scalar::Json } else { scalar };
        let mut text = TextWriter::default();
        Decoder::Scalar(scalar).decode(bytes, &mut text);
        match text.finish() {
            Some(text) => {
                out.extend_from_slice(&text);
                Ok(())
            }
            None => Err(self.wrong(value, " as text")),
        }
    }

    /// An item of a container, in double quotes; `null` is the text of NULL in it.
    fn quoted<V: Value>(&self, value: &V, null: &[u8], out: &mut Vec<u8>) -> Result<(), V::Error> {
        if value.kind() == ValueKind::Null {
            out.extend_from_slice(null);
            return Ok(());
        }
        let mut text = Vec::new();
        self.encode_text(value, &mut text)?;
        literal::put_quoted(&text, out);
        Ok(())
    }

    fn elements_text<V: Value>(
        &self,
        element: &Encoder,
        value: &V,
        lengths: &[usize],
        separator: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), V::Error> {
        let Some((length, inner)) = lengths.split_first() else { return Ok(()) };
        self.check_length(value, *length)?;
        out.push(b'{');
        for i in 0..*length {
            if i > 0 {
                out.push(separator);
            }
            let item = value.item(i)?;
            if inner.is_empty() {
                element.quoted(&item, b"NULL", out)?;
            } else if matches!(item.kind(), ValueKind::List | ValueKind::Record) {
                self.elements_text(element, &item, inner, separator, out)?;
            } else {
                return Err(self.uneven(value));
            }
        }
        out.push(b'}');
        Ok(())
    }
}
