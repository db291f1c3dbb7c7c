//! Values of types of extensions in binary form.

use super::{Encoder, put_text};
use crate::limits;
use crate::types::builtin::Scalar;
use crate::types::extension::{LTREE_VERSION, half_from_f32};
use headrace_core::{Value, ValueKind};

impl Encoder {
    pub(super) fn extension<V: Value>(
        &self,
        scalar: Scalar,
        value: &V,
        kind: ValueKind,
        out: &mut Vec<u8>,
    ) -> Result<(), V::Error> {
        match (scalar, kind) {
            (Scalar::Hstore, ValueKind::Json) => self.hstore(value, out),
            (Scalar::Versioned, ValueKind::Text) => {
                out.push(LTREE_VERSION);
                Ok(value.with_text(|text| put_text(out, text))??)
            }
            (Scalar::Vector, ValueKind::List | ValueKind::Record) => {
                self.put_dimensions(value, out)?;
                self.each_number(
                    value,
                    |number, out| {
                        out.extend_from_slice(&number.to_be_bytes());
                        true
                    },
                    out,
                )
            }
            (Scalar::HalfVector, ValueKind::List | ValueKind::Record) => {
                self.put_dimensions(value, out)?;
                self.each_number(
                    value,
                    |number, out| match half_from_f32(number) {
                        Some(half) => {
                            out.extend_from_slice(&half.to_be_bytes());
                            true
                        }
                        None => false,
                    },
                    out,
                )
            }
            (Scalar::SparseVector, _) => self.sparse_vector(value, kind, out),
            (Scalar::Geometry, ValueKind::Bytes) => Ok(value.with_bytes(|bytes| out.extend_from_slice(bytes))?),
            _ => Err(self.wrong(value, "")),
        }
    }

    /// `hstore_recv`: the number of pairs; of each the length and text of the key, and those of the value, -1 for NULL.
    fn hstore<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let texts = ": an hstore has text as keys, and text or None as values";
        let Some(entries) = value.entries()? else { return Err(self.wrong(value, texts)) };
        out.extend_from_slice(&(entries.len() as i32).to_be_bytes());
        for (at, one) in entries.iter().flat_map(|(key, value)| [(0, key), (1, value)]) {
            match (at, one.kind()) {
                (_, ValueKind::Text) => {
                    let start = out.len();
                    out.extend_from_slice(&[0; 4]);
                    one.with_text(|text| put_text(out, text))??;
                    super::patch(out, start)?;
                }
                (1, ValueKind::Null) => out.extend_from_slice(&(-1i32).to_be_bytes()),
                _ => return Err(self.wrong(one, texts)),
            }
        }
        Ok(())
    }

    /// What `vector_recv` and `halfvec_recv` read before the numbers.
    fn put_dimensions<V: Value>(&self, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let dimensions = value.len()?;
        if dimensions > limits::VECTOR_DIMENSIONS {
            return Err(self.outside(value, &format!("at most {} dimensions", limits::VECTOR_DIMENSIONS)));
        }
        out.extend_from_slice(&(dimensions as u16).to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        Ok(())
    }

    /// Calls `put` with each number of a list; it returns false if the number is too large.
    fn each_number<V: Value>(
        &self,
        value: &V,
        mut put: impl FnMut(f32, &mut Vec<u8>) -> bool,
        out: &mut Vec<u8>,
    ) -> Result<(), V::Error> {
        for i in 0..value.len()? {
            let item = value.item(i)?;
            if !matches!(item.kind(), ValueKind::Int | ValueKind::Float | ValueKind::Decimal) {
                return Err(self.wrong(&item, ": a vector has numbers"));
            }
            let wide = item.float()?;
            let number = wide as f32;
            // What is too small for 32 bits is zero in a vector, as it is for the server.
            if (number.is_infinite() && wide.is_finite()) || !put(number, out) {
                return Err(self.outside(&item, "its numbers are too large for this vector"));
            }
        }
        Ok(())
    }

    /// `sparsevec_recv`: the number of dimensions, that of the items, an unused number; the indices from 0, in order,
    /// and the items, of which none is zero. A list of numbers is a vector of all its dimensions.
    fn sparse_vector<V: Value>(&self, value: &V, kind: ValueKind, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let (dimensions, items) = match (value.sparse_vector()?, kind) {
            (Some(sparse), _) => sparse,
            (None, ValueKind::List | ValueKind::Record) => {
                let mut numbers = Vec::new();
                self.each_number(
                    value,
                    |number, _| {
                        numbers.push(number);
                        true
                    },
                    out,
                )?;
                let dimensions = numbers.len() as u32;
                (dimensions, (0..).zip(numbers).filter(|(_, number)| *number != 0.0).collect())
            }
            _ => return Err(self.wrong(value, "")),
        };
        out.extend_from_slice(&dimensions.to_be_bytes());
        out.extend_from_slice(&(items.len() as u32).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        for (index, _) in &items {
            out.extend_from_slice(&index.to_be_bytes());
        }
        for (_, number) in &items {
            out.extend_from_slice(&number.to_be_bytes());
        }
        Ok(())
    }
}
