//! Values whose text only the server can parse, among others: str, and what dumpers return.

use super::{Encoder, Form, put_text};
use crate::types::builtin::Scalar;
use crate::types::numeric;
use headrace_core::{Value, ValueKind};

impl Encoder {
    /// Returns true if there is a text in a value of a type that is made of others: a str, or what a dumper returns.
    /// None if it contains itself.
    pub(super) fn holds_text<V: Value>(&self, value: &V) -> Option<bool> {
        let of_items = |inner: &Encoder, nested: &Encoder, tuples: &Encoder| -> Option<bool> {
            for i in 0..value.len().ok()? {
                let item = value.item(i).ok()?;
                let encoder = match item.kind() {
                    ValueKind::List => nested,
                    ValueKind::Record => tuples,
                    _ => inner,
                };
                if encoder.holds_text_or_is(&item)? {
                    return Some(true);
                }
            }
            Some(false)
        };
        match (&self.form, value.kind()) {
            (_, ValueKind::Null) => Some(false),
            // The items of an array are those of the lists in it, too.
            (Form::Array(element, _), ValueKind::List | ValueKind::Record) => match element.form {
                Form::Composite(_) => of_items(element, self, element),
                _ => of_items(element, self, self),
            },
            (Form::Multirange(range), ValueKind::List | ValueKind::Multirange) => of_items(range, range, range),
            (Form::Composite(fields), _) => {
                for (i, (name, field)) in fields.iter().enumerate() {
                    if field.holds_text_or_is(&value.field(i, name).ok()?)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            (Form::Range(bound), ValueKind::Range) => {
                let parts = value.range().ok()?;
                for bounding in [parts.lower, parts.upper].iter().flatten() {
                    if bound.holds_text_or_is(bounding)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            _ => Some(false),
        }
    }

    /// Returns true if it is built as another one: the same attributes, elements and bounds.
    pub fn agrees(&self, other: &Self) -> bool {
        match (&self.form, &other.form) {
            (Form::Composite(these), Form::Composite(those)) => {
                these.len() == those.len()
                    && these
                        .iter()
                        .zip(those)
                        .all(|((name, one), (known, other))| name == known && one.oid == other.oid && one.agrees(other))
            }
            (Form::Array(one, _), Form::Array(other, _))
            | (Form::Range(one), Form::Range(other))
            | (Form::Multirange(one), Form::Multirange(other)) => one.agrees(other),
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        }
    }

    /// Returns true if a value fits by the names of attributes of a composite type: it is one of a kind that has names, or
    /// contains such a value.
    pub fn names_attributes<V: Value>(&self, value: &V) -> bool {
        let any_item = |names: &dyn Fn(&V) -> bool| {
            (0..value.len().unwrap_or(0)).any(|i| value.item(i).is_ok_and(|item| names(&item)))
        };
        match (&self.form, value.kind()) {
            (Form::Composite(_), ValueKind::Json | ValueKind::Other) => true,
            (Form::Composite(fields), ValueKind::List | ValueKind::Record) => {
                fields.iter().enumerate().any(|(i, (name, field))| {
                    field.has_composite() && value.field(i, name).is_ok_and(|part| field.names_attributes(&part))
                })
            }
            (Form::Array(element, _), ValueKind::List | ValueKind::Record) if element.has_composite() => {
                any_item(&|item| if item.kind() == ValueKind::List { self } else { element }.names_attributes(item))
            }
            (Form::Multirange(range), ValueKind::List | ValueKind::Multirange) if range.has_composite() => {
                any_item(&|item| range.names_attributes(item))
            }
            (Form::Range(bound), ValueKind::Range) if bound.has_composite() => value.range().is_ok_and(|parts| {
                [parts.lower, parts.upper].iter().flatten().any(|part| bound.names_attributes(part))
            }),
            _ => false,
        }
    }

    fn has_composite(&self) -> bool {
        match &self.form {
            Form::Composite(_) => true,
            Form::Array(inner, _) | Form::Range(inner) | Form::Multirange(inner) => inner.has_composite(),
            Form::Scalar(_) | Form::Vector(_) | Form::AsText => false,
        }
    }

    fn holds_text_or_is<V: Value>(&self, value: &V) -> Option<bool> {
        if matches!(value.kind(), ValueKind::Text | ValueKind::Custom) { Some(true) } else { self.holds_text(value) }
    }

    /// What a dumper returns, in binary form: text is that only for types whose binary form is text.
    pub(super) fn custom<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let start = out.len();
        let binary = value.with_custom(self.oid, |bytes, binary| {
            out.extend_from_slice(bytes);
            binary
        })?;
        if binary {
            return Ok(());
        }
        let made = out.split_off(start);
        let text = std::str::from_utf8(&made).unwrap_or_default();
        let number = text.parse::<i64>().ok();
        let bytes = match self.form {
            Form::Scalar(Scalar::Text | Scalar::Json | Scalar::Jsonb) => {
                if self.form_is(Scalar::Jsonb) {
                    out.push(1);
                }
                put_text(out, &made)?;
                return Ok(());
            }
            Form::Scalar(Scalar::Numeric) => {
                numeric::encode(text, out)?;
                return Ok(());
            }
            Form::Scalar(Scalar::Int2) => number.and_then(|n| i16::try_from(n).ok()).map(|n| n.to_be_bytes().to_vec()),
            Form::Scalar(Scalar::Int4) => number.and_then(|n| i32::try_from(n).ok()).map(|n| n.to_be_bytes().to_vec()),
            Form::Scalar(Scalar::Int8) => number.map(|n| n.to_be_bytes().to_vec()),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| {
            self.wrong(value, " in binary form: its dumper returns text; let it return bytes, or use the text format")
        })?;
        out.extend_from_slice(&bytes);
        Ok(())
    }
}
