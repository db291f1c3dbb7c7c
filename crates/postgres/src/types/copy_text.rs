//! The text format of COPY: a line per row, tabs between the columns, `\\N` for NULL (manual, "COPY", "Text Format").

use super::decode::Decoder;
use super::encode::Encoder;
use headrace_core::{Fatal, Sink, Value, ValueKind};

/// Appends a row, whose values are encoded by `encoders`, of which there are as many as values. After an error the
/// buffer has half a row.
///
/// # Errors
/// As [`Encoder::encode_text`].
pub fn encode_text_row<'a, V: Value>(
    encoders: impl Iterator<Item = &'a Encoder>,
    mut value: impl FnMut(usize) -> Result<V, V::Error>,
    out: &mut Vec<u8>,
) -> Result<(), V::Error> {
    for (i, encoder) in encoders.enumerate() {
        if i > 0 {
            out.push(b'\t');
        }
        let value = value(i)?;
        if value.kind() == ValueKind::Null {
            out.extend_from_slice(b"\\N");
            continue;
        }
        let start = out.len();
        encoder.encode_text(&value, out)?;
        // All of them, as a loop that ends early looks at one byte at a time.
        if out[start..].iter().fold(false, |found, byte| found | has_escape(*byte)) {
            escape(start, out);
        }
    }
    out.push(b'\n');
    Ok(())
}

fn has_escape(byte: u8) -> bool {
    matches!(byte, b'\\' | b'\n' | b'\r' | b'\t')
}

/// Writes escapes for those of the bytes from `start` on that have one.
#[cold]
fn escape(start: usize, out: &mut Vec<u8>) {
    let plain = out.split_off(start);
    for byte in plain {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.push(byte),
        }
    }
}

/// Decodes the row that `bytes` begin with, and returns the bytes after it; `None` at the end of the rows.
///
/// # Errors
/// [`Fatal`] for half a row, or one that has another number of columns than was announced.
pub fn decode_text_line<'a, S: Sink>(
    decoders: &[Decoder],
    bytes: &'a [u8],
    sink: &mut S,
) -> Result<Option<&'a [u8]>, Fatal> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return Err(Fatal::peer("the server sent a malformed row of a COPY"));
    };
    decode_fields(decoders, &bytes[..end], sink)?;
    Ok(Some(&bytes[end + 1..]))
}

fn decode_fields<S: Sink>(decoders: &[Decoder], line: &[u8], sink: &mut S) -> Result<(), Fatal> {
    let none = decoders.is_empty() && line.is_empty();
    let columns = if none { 0 } else { line.iter().filter(|byte| **byte == b'\t').count() + 1 };
    if columns != decoders.len() {
        return Err(Fatal::peer("the server sent a malformed row of a COPY"));
    }
    sink.begin_row(columns);
    let mut plain = Vec::new();
    for (decoder, field) in decoders.iter().zip(line.split(|byte| *byte == b'\t')) {
        if field == b"\\N" {
            sink.null();
        } else if field.contains(&b'\\') {
            unescape(field, &mut plain);
            decoder.decode(&plain, sink);
        } else {
            decoder.decode(field, sink);
        }
    }
    sink.end_row();
    Ok(())
}

fn unescape(field: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut bytes = field.iter();
    while let Some(byte) = bytes.next() {
        out.push(match (byte, bytes.as_slice().first()) {
            (b'\\', Some(next)) => {
                bytes.next();
                match next {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 11,
                    next => *next,
                }
            }
            _ => *byte,
        });
    }
}
