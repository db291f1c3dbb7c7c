//! Whole numbers and floats in binary form.

use super::Encoder;
use crate::types::builtin::Scalar;
use crate::types::numeric::{self, NotWhole};
use headrace_core::{Value, ValueKind};

impl Encoder {
    /// A whole number of the type's size.
    #[inline]
    pub(super) fn whole<V: Value>(
        &self,
        scalar: Scalar,
        value: &V,
        kind: ValueKind,
        out: &mut Vec<u8>,
    ) -> Result<(), V::Error> {
        match scalar {
            Scalar::Int4 => {
                let n = self.int(value, kind, i64::from(i32::MIN), i64::from(i32::MAX))?;
                out.extend_from_slice(&(n as i32).to_be_bytes());
            }
            Scalar::Int2 => {
                let n = self.int(value, kind, i64::from(i16::MIN), i64::from(i16::MAX))?;
                out.extend_from_slice(&(n as i16).to_be_bytes());
            }
            Scalar::Oid => {
                let n = self.int(value, kind, 0, i64::from(u32::MAX))?;
                out.extend_from_slice(&(n as u32).to_be_bytes());
            }
            Scalar::UInt8 => out.extend_from_slice(&self.unsigned(value, kind)?.to_be_bytes()),
            _ => out.extend_from_slice(&self.int(value, kind, i64::MIN, i64::MAX)?.to_be_bytes()),
        }
        Ok(())
    }

    /// A float of 32 bits.
    pub(super) fn float4<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let wide = value.float()?;
        let narrow = wide as f32;
        if narrow.is_infinite() && wide.is_finite() {
            return Err(self.outside(value, "about -3.4e38 to 3.4e38"));
        }
        if narrow == 0.0 && wide != 0.0 {
            return Err(self.outside(value, "nothing is nearer to zero than about 1.4e-45"));
        }
        out.extend_from_slice(&narrow.to_be_bytes());
        Ok(())
    }

    #[inline(always)]
    pub(super) fn int<V: Value>(&self, value: &V, kind: ValueKind, min: i64, max: i64) -> Result<i64, V::Error> {
        let bounds = || format!("{min} to {max}");
        let number = match kind {
            ValueKind::Int | ValueKind::Bool => value.int().map_err(|error| {
                // What does not fit 64 bits does not fit a smaller type either, and this is the clearer message.
                let _ = error;
                self.outside(value, &bounds())
            })?,
            ValueKind::Float => {
                let number = value.float()?;
                if number.is_nan() || number.is_finite() && number.fract() != 0.0 {
                    return Err(self.wrong(value, ": it is not a whole number"));
                }
                // The bounds of 64 bits as floats are -2^63, and 2^63, which is one more than fits.
                if !(-(2f64.powi(63))..2f64.powi(63)).contains(&number) {
                    return Err(self.outside(value, &bounds()));
                }
                number as i64
            }
            ValueKind::Decimal => value.with_decimal(numeric::whole)?.map_err(|why| match why {
                NotWhole::Fraction => self.wrong(value, ": it is not a whole number"),
                NotWhole::TooLarge => self.outside(value, &bounds()),
            })?,
            _ => return Err(self.wrong(value, "")),
        };
        if (min..=max).contains(&number) { Ok(number) } else { Err(self.outside(value, &bounds())) }
    }

    /// A whole number of 64 bits without sign.
    fn unsigned<V: Value>(&self, value: &V, kind: ValueKind) -> Result<u64, V::Error> {
        if kind == ValueKind::Int
            && let Some(number) = value.with_text(|text| std::str::from_utf8(text).ok()?.parse().ok())?
        {
            return Ok(number);
        }
        let bounds = format!("0 to {}", u64::MAX);
        let number = self.int(value, kind, i64::MIN, i64::MAX).map_err(|_| self.outside(value, &bounds))?;
        u64::try_from(number).map_err(|_| self.outside(value, &bounds))
    }
}
