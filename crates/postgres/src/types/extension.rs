//! Types of extensions, whose numbers differ from database to database: their binary and text forms into sinks.
//!
//! A type is identified by the name of the function that reads its binary form. Only a superuser can make a base type,
//! so that no other user's type has it.

use super::builtin::Scalar;
use super::decode::split_u32;
use headrace_core::sink::Pair;
use headrace_core::{Container, Sink};

/// The names of the functions that read the binary forms, `pg_type.typreceive`, and what they read.
const RECEIVERS: &[(&str, Scalar)] = &[
    // contrib/citext
    ("citextrecv", Scalar::Text),
    // contrib/hstore
    ("hstore_recv", Scalar::Hstore),
    // contrib/ltree, from PostgreSQL 13 on
    ("ltree_recv", Scalar::Versioned),
    ("lquery_recv", Scalar::Versioned),
    ("ltxtq_recv", Scalar::Versioned),
    // pgvector
    ("vector_recv", Scalar::Vector),
    ("halfvec_recv", Scalar::HalfVector),
    ("sparsevec_recv", Scalar::SparseVector),
    // PostGIS
    ("geometry_recv", Scalar::Geometry),
    ("geography_recv", Scalar::Geometry),
];

/// The version of the binary form of ltree's types, its first byte (`ltree_send` in contrib/ltree/ltree_io.c).
pub(super) const LTREE_VERSION: u8 = 1;

/// What the function of this name reads.
pub(super) fn by_receiver(name: &str) -> Option<Scalar> {
    RECEIVERS.iter().find(|(known, _)| *known == name).map(|(_, scalar)| *scalar)
}

/// Returns true if values of such a type of an extension are not text.
pub(super) fn is_structured(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Hstore | Scalar::Vector | Scalar::HalfVector | Scalar::SparseVector | Scalar::Geometry)
}

/// All names of such functions, as the text of an array.
pub(super) fn receivers() -> String {
    let names: Vec<&str> = RECEIVERS.iter().map(|(name, _)| *name).collect();
    format!("{{{}}}", names.join(","))
}

/// A value in binary form.
pub(super) fn binary<S: Sink>(scalar: Scalar, body: &[u8], sink: &mut S) -> Option<()> {
    match scalar {
        Scalar::Hstore => sink.pairs(&hstore(body)?, pairs_text),
        Scalar::Versioned => match body {
            [LTREE_VERSION, text @ ..] => sink.text(text),
            _ => return None,
        },
        Scalar::Vector => vector(body, 4, |item| f64::from(f32::from_be_bytes(fixed(item))), sink)?,
        Scalar::HalfVector => vector(body, 2, |item| f64::from(half_to_f32(u16::from_be_bytes(fixed(item)))), sink)?,
        Scalar::SparseVector => sparse(body, sink)?,
        Scalar::Geometry => sink.bytes(body),
        _ => return None,
    }
    Some(())
}

/// A value in text form.
pub(super) fn text<S: Sink>(scalar: Scalar, text: &str, sink: &mut S) -> Option<()> {
    match scalar {
        Scalar::Hstore => {
            let pairs = hstore_text(text)?;
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&key[..], value.as_deref())).collect();
            sink.pairs(&pairs, pairs_text);
        }
        Scalar::Versioned => sink.text(text.as_bytes()),
        Scalar::Vector | Scalar::HalfVector => {
            let numbers = vector_text(text)?;
            sink.begin(Container::List, numbers.len());
            numbers.into_iter().for_each(|number| sink.float(f64::from(number)));
            sink.end();
        }
        Scalar::SparseVector => {
            let (dimensions, items) = sparse_text(text)?;
            sink.sparse_vector(dimensions, &items);
        }
        Scalar::Geometry => sink.bytes(&hex_text(text)?),
        _ => return None,
    }
    Some(())
}

/// Returns true if [`binary_of_text`] converts a type of an extension.
pub(super) fn has_both_forms(scalar: Scalar) -> bool {
    is_structured(scalar) || scalar == Scalar::Versioned
}

/// The binary form of a value in text form.
pub(super) fn binary_of_text(scalar: Scalar, text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match scalar {
        Scalar::Hstore => {
            let pairs = hstore_text(text)?;
            out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
            for part in pairs.into_iter().flat_map(|(key, value)| [Some(key), value]) {
                match part {
                    Some(part) => {
                        out.extend_from_slice(&(part.len() as u32).to_be_bytes());
                        out.extend_from_slice(&part);
                    }
                    None => out.extend_from_slice(&(-1i32).to_be_bytes()),
                }
            }
        }
        Scalar::Versioned => {
            out.push(LTREE_VERSION);
            out.extend_from_slice(text.as_bytes());
        }
        Scalar::Vector | Scalar::HalfVector => {
            let numbers = vector_text(text)?;
            out.extend_from_slice(&u16::try_from(numbers.len()).ok()?.to_be_bytes());
            out.extend_from_slice(&[0; 2]);
            for number in numbers {
                match scalar {
                    Scalar::Vector => out.extend_from_slice(&number.to_be_bytes()),
                    _ => out.extend_from_slice(&half_from_f32(number)?.to_be_bytes()),
                }
            }
        }
        Scalar::SparseVector => {
            let (dimensions, items) = sparse_text(text)?;
            out.extend_from_slice(&dimensions.to_be_bytes());
            out.extend_from_slice(&(items.len() as u32).to_be_bytes());
            out.extend_from_slice(&[0; 4]);
            items.iter().for_each(|(index, _)| out.extend_from_slice(&index.to_be_bytes()));
            items.iter().for_each(|(_, number)| out.extend_from_slice(&number.to_be_bytes()));
        }
        Scalar::Geometry => out = hex_text(text)?,
        _ => return None,
    }
    Some(out)
}

/// `[1,2.5]`
fn vector_text(text: &str) -> Option<Vec<f32>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    // Each is the text of a number of at most 32 bits, to which it is rounded once.
    inner.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// `{1:2.5}/3`: the number of dimensions, and each item with its index from 0.
fn sparse_text(text: &str) -> Option<(u32, Vec<(u32, f32)>)> {
    let (items, dimensions) = text.strip_prefix("{")?.split_once("}/")?;
    let item = |item: &str| {
        let (index, number) = item.split_once(':')?;
        Some((index.trim().parse::<u32>().ok()?.checked_sub(1)?, number.trim().parse().ok()?))
    };
    let items: Option<Vec<_>> = items.split(',').filter(|each| !each.is_empty()).map(item).collect();
    Some((dimensions.trim().parse().ok()?, items?))
}

fn hex_text(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

fn fixed<const N: usize>(item: &[u8]) -> [u8; N] {
    // Items of this length only are passed.
    item.try_into().unwrap_or([0; N])
}

/// `hstore_send`: the number of pairs; of each the length and text of the key, and those of the value, -1 for NULL.
fn hstore(body: &[u8]) -> Option<Vec<Pair<'_>>> {
    let (count, mut rest) = split_u32(body)?;
    let mut pairs = Vec::new();
    for _ in 0..count {
        let (length, after) = split_u32(rest)?;
        let (key, after) = after.split_at_checked(length as usize)?;
        let (length, after) = split_u32(after)?;
        let (value, after) = match length as i32 {
            -1 => (None, after),
            _ => after.split_at_checked(length as usize).map(|(value, after)| (Some(value), after))?,
        };
        pairs.push((key, value));
        rest = after;
    }
    rest.is_empty().then_some(pairs)
}

/// `hstore_out`: `"key"=>"value", "other"=>NULL`, with a backslash before quotes and backslashes.
#[allow(clippy::type_complexity)]
fn hstore_text(text: &str) -> Option<Vec<(Vec<u8>, Option<Vec<u8>>)>> {
    let mut pairs = Vec::new();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        if !pairs.is_empty() {
            rest = rest.strip_prefix(b", ")?;
        }
        let (key, after) = quoted(rest)?;
        rest = after.strip_prefix(b"=>")?;
        let value = match rest.strip_prefix(b"NULL") {
            Some(after) => {
                rest = after;
                None
            }
            None => {
                let (value, after) = quoted(rest)?;
                rest = after;
                Some(value)
            }
        };
        pairs.push((key, value));
    }
    Some(pairs)
}

/// The text in the double quotes that `text` begins with, and what is after them.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut found = Vec::new();
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((found, rest)),
            b'\\' => {
                let (byte, after) = rest.split_first()?;
                found.push(*byte);
                rest = after;
            }
            byte => found.push(*byte),
        }
    }
}

/// `vector_send` and `halfvec_send`: the number of dimensions and an unused number, both of 16 bits; the items.
fn vector<S: Sink>(body: &[u8], size: usize, number: impl Fn(&[u8]) -> f64, sink: &mut S) -> Option<()> {
    let (head, items) = body.split_first_chunk::<4>()?;
    let dimensions = usize::from(u16::from_be_bytes([head[0], head[1]]));
    if items.len() != dimensions * size {
        return None;
    }
    sink.begin(Container::List, dimensions);
    items.chunks_exact(size).for_each(|item| sink.float(number(item)));
    sink.end();
    Some(())
}

/// `sparsevec_send`: the number of dimensions, that of the items, an unused number; the indices from 0, and the items.
fn sparse<S: Sink>(body: &[u8], sink: &mut S) -> Option<()> {
    let (dimensions, rest) = split_u32(body)?;
    let (count, rest) = split_u32(rest)?;
    let (_unused, rest) = split_u32(rest)?;
    let count = count as usize;
    if rest.len() != count.checked_mul(8)? {
        return None;
    }
    let (indices, numbers) = rest.split_at(count * 4);
    let items: Vec<(u32, f32)> = indices
        .chunks_exact(4)
        .zip(numbers.chunks_exact(4))
        .map(|(index, number)| (u32::from_be_bytes(fixed(index)), f32::from_be_bytes(fixed(number))))
        .collect();
    sink.sparse_vector(dimensions, &items);
    Some(())
}

/// A floating-point number of 16 bits (IEEE 754 binary16) as one of 32.
pub(super) fn half_to_f32(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f32::from(half & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// The nearest floating-point number of 16 bits, of two that are as near the even one; `None` if it is too large.
pub(super) fn half_from_f32(number: f32) -> Option<u16> {
    let bits = number.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    if number.is_nan() {
        return Some(sign | 0x7e00);
    }
    if number.is_infinite() {
        return Some(sign | 0x7c00);
    }
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    let fraction = bits & 0x7f_ffff;
    let (whole, dropped) = match exponent {
        // Normal: the exponent above ten bits of the fraction, of which a carry is the next exponent.
        -14.. => (((exponent + 15) as u32) << 10 | fraction >> 13, 13),
        // Subnormal: the fraction with its leading bit, in units of 2^-24.
        -25..-14 => {
            let dropped = (-1 - exponent) as u32;
            ((fraction | 0x80_0000) >> dropped, dropped)
        }
        _ => return Some(sign),
    };
    let full = fraction | if exponent < -14 { 0x80_0000 } else { 0 };
    let (rest, middle) = (full & ((1 << dropped) - 1), 1u32 << (dropped - 1));
    let up = rest > middle || (rest == middle && whole & 1 == 1);
    let rounded = whole + u32::from(up);
    (rounded < 0x7c00).then_some(sign | rounded as u16)
}

/// The text of an hstore's pairs, as the server writes it: `"key"=>"value", "other"=>NULL`.
fn pairs_text(pairs: &[Pair<'_>]) -> Vec<u8> {
    fn quote(text: &[u8], out: &mut Vec<u8>) {
        out.push(b'"');
        for byte in text {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        out.push(b'"');
    }
    let mut out = Vec::new();
    for (key, value) in pairs {
        if !out.is_empty() {
            out.extend_from_slice(b", ");
        }
        quote(key, &mut out);
        out.extend_from_slice(b"=>");
        match value {
            Some(value) => quote(value, &mut out),
            None => out.extend_from_slice(b"NULL"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_16_bits_are_the_nearest() {
        for half in (0..=u16::MAX).filter(|half| half & 0x7c00 != 0x7c00) {
            assert_eq!(half_from_f32(half_to_f32(half)), Some(half), "{half:04x}");
        }
        let next = |number: f32| f32::from_bits(number.to_bits() + 1);
        for (number, half) in [
            (65519.0, Some(0x7bff)),
            (65520.0, None),
            (f32::MAX, None),
            (f32::INFINITY, Some(0x7c00)),
            // Between 1 and the next, and between that and the one after it.
            (1.0 + 2f32.powi(-11), Some(0x3c00)),
            (next(1.0 + 2f32.powi(-11)), Some(0x3c01)),
            (1.0 + 3.0 * 2f32.powi(-11), Some(0x3c02)),
            // Half of the smallest, and a little more.
            (2f32.powi(-25), Some(0)),
            (next(2f32.powi(-25)), Some(1)),
            (-next(2f32.powi(-25)), Some(0x8001)),
            (2f32.powi(-30), Some(0)),
            // The largest subnormal, rounded up to the smallest normal.
            (2f32.powi(-14) - 2f32.powi(-26), Some(0x0400)),
        ] {
            assert_eq!(half_from_f32(number), half, "{number:e}");
        }
        assert!(half_to_f32(half_from_f32(f32::NAN).expect("a NaN has a form")).is_nan());
    }

    #[test]
    fn the_text_of_a_value_has_the_binary_form_that_the_server_sends() {
        for (scalar, text, bytes) in [
            (
                Scalar::Hstore,
                r#""a"=>NULL, "b"=>"c""#,
                b"\0\0\0\x02\0\0\0\x01a\xff\xff\xff\xff\0\0\0\x01b\0\0\0\x01c".to_vec(),
            ),
            (Scalar::Versioned, "a.b", b"\x01a.b".to_vec()),
            (Scalar::Vector, "[1,-2.5]", b"\0\x02\0\0\x3f\x80\0\0\xc0\x20\0\0".to_vec()),
            (Scalar::HalfVector, "[1,-2.5]", b"\0\x02\0\0\x3c\0\xc1\0".to_vec()),
            (Scalar::SparseVector, "{2:1}/3", b"\0\0\0\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\x3f\x80\0\0".to_vec()),
            (Scalar::Geometry, "01FF", b"\x01\xff".to_vec()),
        ] {
            assert_eq!(binary_of_text(scalar, text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn the_text_of_an_hstore_has_quotes_and_backslashes() {
        let some = |text: &str| Some(text.as_bytes().to_vec());
        let key = |text: &str| text.as_bytes().to_vec();
        for (text, pairs) in [
            ("", Some(vec![])),
            (r#""a"=>"b""#, Some(vec![(key("a"), some("b"))])),
            (r#""a"=>NULL, ""=>"""#, Some(vec![(key("a"), None), (key(""), some(""))])),
            (r#""\"\\"=>"NULL""#, Some(vec![(key(r#""\"#), some("NULL"))])),
            (r#""a"=>b"#, None),
            (r#""a"=>"b"#, None),
            (r#""a"=>"b","#, None),
            (r#""a""#, None),
        ] {
            assert_eq!(hstore_text(text), pairs, "{text}");
            let parts = pairs.iter().flatten().map(|(key, value)| (&key[..], value.as_deref()));
            assert!(pairs.is_none() || pairs_text(&parts.collect::<Vec<_>>()) == text.as_bytes(), "{text}");
        }
    }
}
