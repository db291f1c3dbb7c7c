//! The usual values of the usual types: each is written with its length, which is known before, without a way through
//! all that a type may take.

use super::{Encoder, Form, check_size, check_text};
use crate::types::builtin::Scalar;
use crate::types::{EPOCH_DAYS, EPOCH_MICROS};
use headrace_core::{Mismatch, Value, ValueKind};

/// The types with such values. It is chosen once for an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quick {
    Nothing,
    Bool,
    Int2,
    Int4,
    Int8,
    Float8,
    Text,
    Date,
    Timestamp,
    TimestampTz,
}

impl Quick {
    pub(super) fn of(form: &Form) -> Self {
        match form {
            Form::Scalar(Scalar::Bool) => Quick::Bool,
            Form::Scalar(Scalar::Int2) => Quick::Int2,
            Form::Scalar(Scalar::Int4) => Quick::Int4,
            Form::Scalar(Scalar::Int8) => Quick::Int8,
            Form::Scalar(Scalar::Float8) => Quick::Float8,
            Form::Scalar(Scalar::Text) => Quick::Text,
            Form::Scalar(Scalar::Date) => Quick::Date,
            Form::Scalar(Scalar::Timestamp) => Quick::Timestamp,
            Form::Scalar(Scalar::TimestampTz) => Quick::TimestampTz,
            _ => Quick::Nothing,
        }
    }
}

impl Encoder {
    /// Appends the length and the binary form of a value, if it is a usual one of the type; returns false otherwise.
    #[inline(always)]
    pub(super) fn quick<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<bool, V::Error> {
        match (self.quick, kind) {
            (Quick::Int4, ValueKind::Int) => {
                let number = self.int(value, kind, i64::from(i32::MIN), i64::from(i32::MAX))? as i32;
                out.extend_from_slice(&counted4(number.to_be_bytes()));
            }
            (Quick::Text, ValueKind::Text) => value.with_text(|text| put_counted(out, text))??,
            (Quick::Int8, ValueKind::Int) => {
                out.extend_from_slice(&counted8(self.int(value, kind, i64::MIN, i64::MAX)?.to_be_bytes()));
            }
            (Quick::Float8, ValueKind::Float) => out.extend_from_slice(&counted8(value.float()?.to_be_bytes())),
            (Quick::Date, ValueKind::Date) => {
                out.extend_from_slice(&counted4((value.date()? - EPOCH_DAYS).to_be_bytes()));
            }
            (Quick::Timestamp, ValueKind::Timestamp) => {
                out.extend_from_slice(&counted8((value.timestamp()? - EPOCH_MICROS).to_be_bytes()));
            }
            (Quick::TimestampTz, ValueKind::TimestampTz) => {
                out.extend_from_slice(&counted8((value.timestamptz()? - EPOCH_MICROS).to_be_bytes()));
            }
            (Quick::Int2, ValueKind::Int) => {
                let number = self.int(value, kind, i64::from(i16::MIN), i64::from(i16::MAX))? as i16;
                let [high, low] = number.to_be_bytes();
                out.extend_from_slice(&[0, 0, 0, 2, high, low]);
            }
            (Quick::Bool, ValueKind::Bool) => out.extend_from_slice(&[0, 0, 0, 1, u8::from(value.bool()?)]),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn counted4([a, b, c, d]: [u8; 4]) -> [u8; 8] {
    [0, 0, 0, 4, a, b, c, d]
}

fn counted8([a, b, c, d, e, f, g, h]: [u8; 8]) -> [u8; 12] {
    [0, 0, 0, 8, a, b, c, d, e, f, g, h]
}

/// Appends the length of a text, and the text.
fn put_counted(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Mismatch> {
    check_text(text)?;
    check_size(text.len())?;
    out.reserve(4 + text.len());
    out.extend_from_slice(&(text.len() as i32).to_be_bytes());
    out.extend_from_slice(text);
    Ok(())
}

/// Returns true if one of the bytes is zero. Eight at a time: most texts are too short for what is made for long ones.
#[inline]
pub(super) fn has_nul(text: &[u8]) -> bool {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    let has_zero = |eight: &[u8; 8]| {
        let number = u64::from_ne_bytes(*eight);
        number.wrapping_sub(LOWEST) & !number & HIGHEST != 0
    };
    match text.last_chunk::<8>() {
        // The last eight may be some of those before.
        Some(last) if text.len() <= 64 => text.as_chunks::<8>().0.iter().chain([last]).any(has_zero),
        _ => text.contains(&0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_found_wherever_it_is() {
        for len in 0..100 {
            let mut text = vec![b'x'; len];
            text.iter_mut().step_by(3).for_each(|byte| *byte = 0x80);
            assert!(!has_nul(&text));
            for at in 0..len {
                let byte = std::mem::replace(&mut text[at], 0);
                assert!(has_nul(&text), "{at} of {len}");
                text[at] = byte;
            }
        }
    }
}
