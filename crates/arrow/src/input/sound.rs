//! Whether the places that an array has of its values are within them.
//!
//! The lengths of buffers are not part of Arrow's C data interface, and stay the promise of the program that made them.
//! What can be compared is compared, once for each batch, so that no value is looked for where none is.

use arrow_buffer::{ArrowNativeType, NullBuffer};

/// The length of a text or of bytes up to which a view has them itself.
const INLINE_BYTES: u32 = 12;

/// Nothing, or what is wrong, for people.
pub(super) type Soundness = Result<(), String>;

fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(row))
}

/// Offsets do not decrease, and none is negative or after the end of the values.
pub(super) fn offsets<O: ArrowNativeType + PartialOrd>(offsets: &[O], values: usize) -> Soundness {
    if offsets.len() < 2 {
        // Nothing is looked for. Of a slice the only offset may be any, and its values are not imported.
        return Ok(());
    }
    // Without an end before the last, which the compiler makes wide steps of.
    let ascending = offsets.iter().zip(offsets.iter().skip(1)).fold(true, |all, (from, to)| all & (from <= to));
    let (first, last) = (offsets.first().copied(), offsets.last().copied());
    let first = first.unwrap_or_default() >= O::default();
    let last = last.unwrap_or_default().to_usize().is_some_and(|last| last <= values);
    match (ascending, first, last) {
        (true, true, true) => Ok(()),
        (false, ..) => Err("its offsets decrease".to_owned()),
        (_, false, _) => Err("its first offset is negative".to_owned()),
        _ => Err(format!("its last offset is after the end of its {values} values")),
    }
}

/// The items of each list are among the values.
pub(super) fn spans<O: ArrowNativeType>(
    offsets: &[O],
    sizes: &[O],
    nulls: Option<&NullBuffer>,
    values: usize,
) -> Soundness {
    for (row, (from, size)) in offsets.iter().zip(sizes.iter()).enumerate() {
        let end = from.to_usize().zip(size.to_usize()).and_then(|(from, size)| from.checked_add(size));
        if end.is_none_or(|end| end > values) && !is_null(nulls, row) {
            return Err(format!("the items of its list {row} are not among its {values} values"));
        }
    }
    Ok(())
}

/// The bytes of each view are in a buffer. `lengths` are those of the buffers.
pub(super) fn views(views: &[u128], nulls: Option<&NullBuffer>, lengths: &[usize]) -> Soundness {
    for (row, view) in views.iter().enumerate() {
        // Length, four bytes of the value, number of the buffer, offset; or the value instead of the latter three.
        let part = |number: u32| (*view >> (32 * number)) as u32;
        let (length, buffer, offset) = (part(0), part(2), part(3));
        if length <= INLINE_BYTES {
            continue;
        }
        let room = lengths.get(buffer as usize).copied().unwrap_or_default() as u64;
        if u64::from(offset) + u64::from(length) > room && !is_null(nulls, row) {
            return Err(format!("the bytes of its value {row} are in none of its buffers"));
        }
    }
    Ok(())
}

/// Each key is the number of a value.
pub(super) fn keys<'a, K: ArrowNativeType>(
    keys: impl Iterator<Item = &'a K>,
    nulls: Option<&NullBuffer>,
    values: usize,
) -> Soundness {
    for (row, key) in keys.enumerate() {
        if key.to_usize().is_none_or(|key| key >= values) && !is_null(nulls, row) {
            return Err(format!("its key {key:?} of row {row} is none of its dictionary's {values} values"));
        }
    }
    Ok(())
}

/// Runs end one after the other, the last not before the last row, and each has a value.
pub(super) fn runs<E: ArrowNativeType + PartialOrd>(ends: &[E], rows: usize, values: usize) -> Soundness {
    let ascending =
        ends.windows(2).all(|pair| pair[0] < pair[1]) && ends.first().is_none_or(|first| *first > E::default());
    let covered = ends.last().and_then(|last| last.to_usize()).unwrap_or_default() >= rows;
    if ascending && covered && ends.len() <= values {
        return Ok(());
    }
    Err(format!("the ends of its {} runs do not lead to its {rows} rows and {values} values", ends.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nulls(valid: &[bool]) -> NullBuffer {
        NullBuffer::from(valid.to_vec())
    }

    #[test]
    fn offsets_ascend_within_the_values() {
        for (given, values, sound) in [
            (&[0, 0, 3][..], 3, true),
            (&[2, 3], 3, true),
            (&[], 0, true),
            (&[0], 0, true),
            (&[0, 3, 2], 3, false),
            (&[-1, 3], 3, false),
            (&[0, 4], 3, false),
            (&[0, i32::MIN], 3, false),
        ] {
            assert_eq!(offsets(given, values).is_ok(), sound, "{given:?}");
        }
    }

    #[test]
    fn spans_are_among_the_values() {
        assert_eq!(spans(&[1, 0], &[2, 3], None, 3), Ok(()));
        for (from, size) in [(1, 3), (-1, 1), (0, -1), (i64::MAX, i64::MAX)] {
            assert!(spans(&[0, from], &[0, size], None, 3).is_err());
            assert_eq!(spans(&[0, from], &[0, size], Some(&nulls(&[true, false])), 3), Ok(()));
        }
    }

    #[test]
    fn views_are_in_a_buffer() {
        let view = |length: u32, buffer: u32, offset: u32| {
            u128::from(length) | u128::from(buffer) << 64 | u128::from(offset) << 96
        };
        assert_eq!(views(&[view(12, 9, 9), view(13, 1, 7)], None, &[5, 20]), Ok(()));
        for wrong in [view(13, 1, 8), view(13, 2, 0), view(u32::MAX, 1, u32::MAX)] {
            assert!(views(&[wrong], None, &[5, 20]).is_err());
            assert_eq!(views(&[wrong], Some(&nulls(&[false])), &[5, 20]), Ok(()));
        }
    }

    #[test]
    fn keys_are_numbers_of_values() {
        assert_eq!(keys([0i8, 2].iter(), None, 3), Ok(()));
        assert_eq!(keys([-1i8].iter(), Some(&nulls(&[false])), 3), Ok(()));
        assert!(keys([-1i8].iter(), None, 3).is_err());
        assert!(keys([0u64, u64::MAX].iter(), None, 3).is_err());
    }

    #[test]
    fn runs_lead_to_the_last_row() {
        assert_eq!(runs(&[2i16, 5], 5, 2), Ok(()));
        assert_eq!(runs::<i16>(&[], 0, 0), Ok(()));
        for (ends, rows, values) in
            [(&[2i16, 2][..], 2, 2), (&[0, 2], 2, 2), (&[2, 5], 6, 2), (&[2, 5], 5, 1), (&[], 1, 1)]
        {
            assert!(runs(ends, rows, values).is_err(), "{ends:?}");
        }
    }
}
