//! The binary format of COPY: a header, rows as in Bind and DataRow but without a length of their own, a trailer
//! (manual, "COPY", "Binary Format").

use super::decode::{Decoder, decode_row};
use super::encode::Encoder;
use headrace_core::{Fatal, Sink, Value};

/// The signature, flags and extension length that begin it.
pub const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The trailer: a count of columns of -1.
pub const TRAILER: &[u8] = &[0xff, 0xff];

/// Appends a row, whose values are encoded by `encoders`. After an error the buffer has half a row.
///
/// # Errors
/// As [`Encoder::encode_binary`].
pub fn encode_binary_row<V: Value>(
    encoders: &[Encoder],
    mut value: impl FnMut(usize) -> Result<V, V::Error>,
    out: &mut Vec<u8>,
) -> Result<(), V::Error> {
    out.extend_from_slice(&(encoders.len() as u16).to_be_bytes());
    for (i, encoder) in encoders.iter().enumerate() {
        encoder.encode_in_row(&value(i)?, out)?;
    }
    Ok(())
}

/// Decodes the row that `bytes` begin with, and returns the bytes after it; `None` at the end of the rows.
///
/// # Errors
/// [`Fatal`] for half a row, or one that its columns do not fit.
pub fn decode_binary_row<'a, S: Sink>(
    decoders: &[Decoder],
    bytes: &'a [u8],
    sink: &mut S,
) -> Result<Option<&'a [u8]>, Fatal> {
    if bytes.is_empty() || bytes.starts_with(TRAILER) {
        return Ok(None);
    }
    let length = row_length(bytes).ok_or_else(|| Fatal::peer("the server sent a malformed row of a COPY"))?;
    let (row, rest) = bytes.split_at(length);
    decode_row(decoders, row, sink)?;
    Ok(Some(rest))
}

/// The whole rows of a block, the first of which may be after the header.
pub fn rows(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block.strip_prefix(HEADER).unwrap_or(block);
    std::iter::from_fn(move || {
        let length = row_length(rest).filter(|_| !rest.starts_with(TRAILER))?;
        let (row, after) = rest.split_at(length);
        rest = after;
        Some(row)
    })
}

/// The length of the row that begins here; `None` if it is incomplete.
fn row_length(bytes: &[u8]) -> Option<usize> {
    let (count, _) = bytes.split_first_chunk::<2>()?;
    let mut at = 2usize;
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, _) = bytes.get(at..)?.split_first_chunk::<4>()?;
        at = at.checked_add(4)?.checked_add(usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0))?;
    }
    (at <= bytes.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_block_are_between_header_and_trailer() {
        let two = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";
        let block = [HEADER, two, two, TRAILER].concat();
        assert_eq!(rows(&block).collect::<Vec<_>>(), [two, two]);
        assert_eq!(rows(&block[HEADER.len()..]).count(), 2);
        assert_eq!(rows(TRAILER).count() + rows(b"").count() + rows(&two[..7]).count(), 0);
    }

    #[test]
    fn a_row_ends_where_its_lengths_say() {
        let two = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";
        for (bytes, length) in [
            (&b"\0\0"[..], Some(2)),
            (two, Some(11)),
            (&[two, &two[..]].concat(), Some(11)),
            (&two[..10], None),
            (b"\0", None),
            (b"\0\x01\x7f\xff\xff\xff", None),
        ] {
            assert_eq!(row_length(bytes), length, "{bytes:?}");
        }
    }
}
