//! Arrays: which lists are dimensions, and their elements in binary form.

use super::{Encoder, Form};
use crate::types::DIMENSIONS;
use crate::types::builtin::Scalar;
use headrace_core::{Value, ValueKind};

impl Encoder {
    /// The dimensions are those of the first element at each depth; all others must be equal. None for an empty array.
    pub(super) fn dimensions<V: Value>(&self, element: &Encoder, value: &V) -> Result<Vec<usize>, V::Error> {
        let mut lengths = vec![value.len()?];
        if lengths[0] > 0 {
            let mut first = value.item(0)?;
            while element.is_dimension(&first)? {
                lengths.push(first.len()?);
                if lengths.len() > DIMENSIONS {
                    return Err(self.wrong(value, ": an array has 6 dimensions at most"));
                }
                if first.is_empty()? {
                    break;
                }
                first = first.item(0)?;
            }
        }
        if lengths.contains(&0) {
            self.check_hollow(value, &lengths)?;
            lengths.clear();
        }
        Ok(lengths)
    }

    /// Checks that lists whose first has no elements have none at all: an array without elements has no dimensions.
    fn check_hollow<V: Value>(&self, value: &V, lengths: &[usize]) -> Result<(), V::Error> {
        let Some((length, inner)) = lengths.split_first() else { return Ok(()) };
        if !matches!(value.kind(), ValueKind::List | ValueKind::Record) {
            return Err(self.uneven(value));
        }
        self.check_length(value, *length)?;
        (0..*length).try_for_each(|i| self.check_hollow(&value.item(i)?, inner))
    }

    /// Returns true if an item in the place of an element is a dimension of the array, and no element.
    fn is_dimension<V: Value>(&self, item: &V) -> Result<bool, V::Error> {
        let kind = item.kind();
        Ok(match self.form {
            Form::Composite(_) | Form::Array(..) | Form::Vector(_) => kind == ValueKind::List,
            // Points and the types made of them are tuples; a list of two numbers is accepted as a point, too.
            Form::Scalar(
                Scalar::Point
                | Scalar::Line
                | Scalar::LineSegment
                | Scalar::Box
                | Scalar::Path
                | Scalar::Polygon
                | Scalar::Circle,
            ) => {
                kind == ValueKind::List
                    && (item.is_empty()?
                        || !matches!(item.item(0)?.kind(), ValueKind::Int | ValueKind::Float | ValueKind::Decimal))
            }
            // A list of ranges is one multirange, an empty one too.
            Form::Multirange(_) => {
                use ValueKind::{List, Multirange, Null, Record};
                matches!(kind, List | Record)
                    && !item.is_empty()?
                    && matches!(item.item(0)?.kind(), List | Record | Multirange | Null)
            }
            // A list of numbers is one vector.
            Form::Scalar(Scalar::Vector | Scalar::HalfVector | Scalar::SparseVector) => {
                matches!(kind, ValueKind::List | ValueKind::Record)
                    && !item.is_empty()?
                    && matches!(item.item(0)?.kind(), ValueKind::List | ValueKind::Record)
            }
            _ if self.takes_tuples() => kind == ValueKind::List,
            _ => matches!(kind, ValueKind::List | ValueKind::Record),
        })
    }

    pub(super) fn array<V: Value>(&self, element: &Encoder, value: &V, out: &mut Vec<u8>) -> Result<(), V::Error> {
        let lengths = self.dimensions(element, value)?;
        out.extend_from_slice(&(lengths.len() as i32).to_be_bytes());
        let flags = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&element.oid.to_be_bytes());
        for length in &lengths {
            out.extend_from_slice(&(*length as i32).to_be_bytes());
            out.extend_from_slice(&1i32.to_be_bytes());
        }
        let mut nulls = false;
        if !lengths.is_empty() {
            self.elements(element, value, &lengths, &mut nulls, out)?;
        }
        out[flags + 3] = u8::from(nulls);
        Ok(())
    }

    fn elements<V: Value>(
        &self,
        element: &Encoder,
        value: &V,
        lengths: &[usize],
        nulls: &mut bool,
        out: &mut Vec<u8>,
    ) -> Result<(), V::Error> {
        let Some((length, inner)) = lengths.split_first() else { return Ok(()) };
        self.check_length(value, *length)?;
        for i in 0..*length {
            let item = value.item(i)?;
            if inner.is_empty() {
                let kind = item.kind();
                *nulls |= kind == ValueKind::Null;
                if kind == ValueKind::Text && !element.has_binary_text() {
                    return Err(element.wrong(&item, " inside an array"));
                }
                element.encode_binary(&item, out)?;
            } else if matches!(item.kind(), ValueKind::List | ValueKind::Record) {
                self.elements(element, &item, inner, nulls, out)?;
            } else {
                return Err(self.uneven(value));
            }
        }
        Ok(())
    }
}
