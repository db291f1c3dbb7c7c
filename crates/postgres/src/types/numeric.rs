//! `numeric`: base-10000 digits on the wire (`numeric_send`), decimal text on our side.

use headrace_core::Mismatch;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const MINUS_INFINITY: u16 = 0xF000;

/// Decimal digits before the point that numeric can store.
const MAX_WHOLE: usize = 131_072;
/// Decimal digits after the point that numeric can store.
const MAX_SCALE: usize = 16_383;

/// Digits of a coefficient that [`parts`] returns, and that fit 128 bits.
const PARTS_DIGITS: u32 = 38;
/// Groups of four digits that fit 128 bits whatever they are.
const PARTS_GROUPS: usize = 9;

fn word(body: &[u8], i: usize) -> Option<u16> {
    let pair = body.get(2 * i..2 * i + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

/// Sign, coefficient and scale of a number whose coefficient has at most 38 digits; `None` for all others, and for
/// bytes that are not a numeric.
pub fn parts(body: &[u8]) -> Option<(bool, u128, u32)> {
    let digits = usize::from(word(body, 0)?);
    let weight = i32::from(word(body, 1)? as i16);
    let negative = match word(body, 2)? {
        0 => false,
        NEGATIVE => true,
        _ => return None,
    };
    let scale = u32::from(word(body, 3)?);
    if body.len() != 8 + 2 * digits || digits > PARTS_GROUPS || scale > PARTS_DIGITS {
        return None;
    }
    let mut coefficient = 0u128;
    for pair in body[8..].chunks_exact(2) {
        let group = u16::from_be_bytes([pair[0], pair[1]]);
        if group >= 10_000 {
            return None;
        }
        coefficient = coefficient * 10_000 + u128::from(group);
    }
    // The groups end at 10^exponent, the coefficient has to end at 10^-scale.
    let exponent = 4 * (weight + 1 - digits as i32);
    let shift = exponent + scale as i32;
    coefficient = match shift {
        0 => coefficient,
        _ if coefficient == 0 => 0,
        1.. => coefficient.checked_mul(10u128.checked_pow(shift.unsigned_abs())?)?,
        _ => {
            let down = 10u128.checked_pow(shift.unsigned_abs())?;
            // Nearly always both fit a machine word, whose division takes a tenth of the time.
            let (quotient, rest) = match (u64::try_from(coefficient), u64::try_from(down)) {
                (Ok(coefficient), Ok(down)) => (u128::from(coefficient / down), u128::from(coefficient % down)),
                _ => (coefficient / down, coefficient % down),
            };
            if rest != 0 {
                return None;
            }
            quotient
        }
    };
    (coefficient < 10u128.pow(PARTS_DIGITS)).then_some((negative, coefficient, scale))
}

/// Writes the exact decimal text, with all the digits of the display scale. `None` if the bytes are not a numeric.
pub fn decode(body: &[u8], text: &mut Vec<u8>) -> Option<()> {
    text.clear();
    let digits = usize::from(word(body, 0)?);
    let weight = i32::from(word(body, 1)? as i16);
    let sign = word(body, 2)?;
    let scale = usize::from(word(body, 3)?);
    if body.len() != 8 + 2 * digits || scale > MAX_SCALE {
        return None;
    }
    match sign {
        0 => {}
        NEGATIVE => text.push(b'-'),
        NAN => {
            text.extend_from_slice(b"NaN");
            return Some(());
        }
        INFINITY => {
            text.extend_from_slice(b"Infinity");
            return Some(());
        }
        MINUS_INFINITY => {
            text.extend_from_slice(b"-Infinity");
            return Some(());
        }
        _ => return None,
    }
    let group = |i: i32| -> Option<u16> {
        match usize::try_from(i) {
            Ok(i) if i < digits => word(body, 4 + i).filter(|d| *d < 10_000),
            _ => Some(0),
        }
    };
    if weight < 0 {
        text.push(b'0');
    } else {
        let mut begun = false;
        for i in 0..=weight {
            let d = group(i)?;
            push_group(text, d, begun);
            begun |= d != 0 || begun;
            if !begun && i == weight {
                text.push(b'0');
            }
        }
    }
    if scale > 0 {
        text.push(b'.');
        let end = text.len() + scale;
        let mut i = weight + 1;
        if weight < -1 {
            // Groups of zeros between the point and the first digit.
            i = 0;
            for _ in 0..(-1 - weight) {
                if text.len() < end {
                    text.extend_from_slice(b"0000");
                }
            }
        } else if weight == -1 {
            i = 0;
        }
        while text.len() < end {
            push_group(text, group(i)?, true);
            i += 1;
        }
        text.truncate(end);
    }
    Some(())
}

/// Four digits, or fewer without leading zeros when `padded` is false.
fn push_group(text: &mut Vec<u8>, d: u16, padded: bool) {
    let four =
        [b'0' + (d / 1000) as u8, b'0' + (d / 100 % 10) as u8, b'0' + (d / 10 % 10) as u8, b'0' + (d % 10) as u8];
    let skip = if padded { 0 } else { four.iter().take_while(|c| **c == b'0').count() };
    text.extend_from_slice(&four[skip..]);
}

/// The digits of a decimal number without its sign, of which the point is behind the first `point`, times ten to the
/// power of `exponent`.
struct Significand {
    digits: Vec<u8>,
    point: i64,
    exponent: i64,
}

impl Significand {
    fn read(text: &[u8]) -> Option<Self> {
        let (mantissa, exponent) = match text.iter().position(|c| matches!(c, b'e' | b'E')) {
            None => (text, 0i64),
            Some(at) => (&text[..at], std::str::from_utf8(&text[at + 1..]).ok()?.parse().ok()?),
        };
        let mut digits = Vec::with_capacity(mantissa.len());
        let mut point = None;
        for &c in mantissa {
            match c {
                b'0'..=b'9' => digits.push(c - b'0'),
                b'.' if point.is_none() => point = Some(digits.len()),
                _ => return None,
            }
        }
        let point = point.unwrap_or(digits.len()) as i64;
        (!digits.is_empty()).then_some(Self { digits, point, exponent })
    }
}

/// Whether a number is below zero, and the text after its sign.
fn without_sign(text: &str) -> (bool, &[u8]) {
    match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

/// Why a decimal number is no whole number of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotWhole {
    /// It has a fraction, or is not finite, or no number at all.
    Fraction,
    /// It is whole, and too large.
    TooLarge,
}

/// The whole number that decimal text is, whatever its exponent.
pub fn whole(text: &str) -> Result<i64, NotWhole> {
    let (negative, rest) = without_sign(text);
    let Significand { digits, point, exponent } = Significand::read(rest).ok_or(NotWhole::Fraction)?;
    let leading = digits.iter().take_while(|d| **d == 0).count();
    let trailing = digits.iter().rev().take_while(|d| **d == 0).count();
    let significant = digits.get(leading..digits.len() - trailing).unwrap_or(&[]);
    if significant.is_empty() {
        return Ok(0);
    }
    // The digits before the point.
    let before = point.saturating_add(exponent).saturating_sub(leading as i64);
    match before.checked_sub(significant.len() as i64) {
        Some(zeros) if zeros >= 0 => {
            if before > 19 {
                return Err(NotWhole::TooLarge);
            }
            let digits = significant.iter().fold(0i128, |number, digit| number * 10 + i128::from(*digit));
            let number = digits * 10i128.pow(zeros as u32);
            i64::try_from(if negative { -number } else { number }).map_err(|_| NotWhole::TooLarge)
        }
        _ => Err(NotWhole::Fraction),
    }
}

/// Writes the binary form of decimal text: sign, digits, point, exponent, or NaN and the infinities.
///
/// # Errors
/// [`Mismatch`] for text that is not a number, and for numbers that are too large for numeric.
pub fn encode(text: &str, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    let wrong = || Mismatch::wrong_type(format!("{text:?} is not a decimal number"));
    let (negative, rest) = without_sign(text);
    let special = match rest.to_ascii_lowercase().as_slice() {
        b"nan" | b"snan" => Some(NAN),
        b"inf" | b"infinity" => Some(if negative { MINUS_INFINITY } else { INFINITY }),
        _ => None,
    };
    if let Some(sign) = special {
        head(out, 0, 0, sign, 0);
        return Ok(());
    }
    let Significand { digits, point, exponent } = Significand::read(rest).ok_or_else(wrong)?;
    let too_large = || {
        let what = match exponent {
            0 => format!("a number of {} digits", digits.len()),
            _ => format!("a number with exponent {exponent}"),
        };
        Mismatch::out_of_range(format!(
            "{what} does not fit numeric (up to {MAX_WHOLE} digits before and {MAX_SCALE} after the point)"
        ))
    };
    // The number is 0.d1d2d3... times ten to the power of `scale10`.
    let leading = digits.iter().take_while(|d| **d == 0).count();
    let shown = (digits.len() as i64 - point - exponent).max(0);
    let display = usize::try_from(shown).ok().filter(|s| *s <= MAX_SCALE).ok_or_else(too_large)?;
    let digits = &digits[leading..];
    let significant = digits.len() - digits.iter().rev().take_while(|d| **d == 0).count();
    let digits = &digits[..significant];
    if digits.is_empty() {
        head(out, 0, 0, 0, display);
        return Ok(());
    }
    let scale10 = point.checked_add(exponent).ok_or_else(too_large)? - leading as i64;
    if scale10 > MAX_WHOLE as i64 || scale10 < -(MAX_SCALE as i64) {
        return Err(too_large());
    }
    // Groups of four digits are aligned to the point: `pad` zeros precede the first digit of the first group.
    let groups_before = scale10.div_euclid(4) + i64::from(scale10.rem_euclid(4) != 0);
    let pad = (groups_before * 4 - scale10) as usize;
    let count = (pad + digits.len()).div_ceil(4);
    head(out, count, (groups_before - 1) as i16, if negative { NEGATIVE } else { 0 }, display);
    let digit = |i: usize| -> u16 {
        match i.checked_sub(pad) {
            Some(i) if i < digits.len() => u16::from(digits[i]),
            _ => 0,
        }
    };
    for g in 0..count {
        let d = digit(4 * g) * 1000 + digit(4 * g + 1) * 100 + digit(4 * g + 2) * 10 + digit(4 * g + 3);
        out.extend_from_slice(&d.to_be_bytes());
    }
    Ok(())
}

/// Writes a decimal number as the server writes a numeric: without an exponent, and zero without a sign, whatever the text
/// has. So it is the same as text whether it comes as an object of Python, from Arrow, or by a cast on the server.
///
/// # Errors
/// As [`encode`].
pub fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), Mismatch> {
    let (negative, rest) = without_sign(text);
    let is_plain = rest.first().is_some_and(u8::is_ascii_digit)
        && rest.len() <= MAX_SCALE
        && rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        && rest.iter().filter(|byte| **byte == b'.').count() <= 1;
    if is_plain && (!negative || rest.iter().any(|byte| matches!(byte, b'1'..=b'9'))) {
        out.extend_from_slice(&text.as_bytes()[text.len() - rest.len() - usize::from(negative)..]);
        return Ok(());
    }
    let (mut body, mut plain) = (Vec::new(), Vec::new());
    encode(text, &mut body)?;
    decode(&body, &mut plain).ok_or_else(|| Mismatch::wrong_type(format!("{text:?} is not a decimal number")))?;
    out.extend_from_slice(&plain);
    Ok(())
}

fn head(out: &mut Vec<u8>, digits: usize, weight: i16, sign: u16, scale: usize) {
    out.extend_from_slice(&(digits as u16).to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&(scale as u16).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(text: &str) -> String {
        let (mut body, mut out) = (Vec::new(), Vec::new());
        encode(text, &mut body).unwrap();
        decode(&body, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_keep_every_digit() {
        for (given, back) in [
            ("0", "0"),
            ("0.00", "0.00"),
            ("1", "1"),
            ("-1", "-1"),
            ("10000", "10000"),
            ("9999.9999", "9999.9999"),
            ("0.0001", "0.0001"),
            ("0.00001", "0.00001"),
            ("-0.000000001230", "-0.000000001230"),
            ("12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890"),
            ("1E+5", "100000"),
            ("1.5e-7", "0.00000015"),
            ("100000000", "100000000"),
            ("NaN", "NaN"),
            ("-Infinity", "-Infinity"),
            ("+7", "7"),
        ] {
            assert_eq!(there_and_back(given), back, "{given}");
        }
    }

    #[test]
    fn text_is_that_of_the_server() {
        for (given, expected) in [
            ("0E-9", "0.000000000"),
            ("-0.0", "0.0"),
            ("-0.1", "-0.1"),
            ("1E+2", "100"),
            ("-1.5E-7", "-0.00000015"),
            ("+7", "7"),
            ("1.50", "1.50"),
            ("NaN", "NaN"),
            ("sNaN", "NaN"),
            ("-Infinity", "-Infinity"),
        ] {
            let mut out = b"{".to_vec();
            write_text(given, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{{{expected}"), "{given}");
        }
        let mut out = Vec::new();
        for wrong in ["1E+999999999", "1E-16384", "x", "", "1.2.3"] {
            write_text(wrong, &mut out).unwrap_err();
        }
        assert_eq!(out, b"");
    }

    #[test]
    fn whole_numbers_have_any_exponent() {
        for (text, expected) in [
            ("0", Ok(0)),
            ("-0.00", Ok(0)),
            ("0E+999999999999", Ok(0)),
            ("1E+2", Ok(100)),
            ("-120.00", Ok(-120)),
            ("1.50e1", Ok(15)),
            ("0.0012E4", Ok(12)),
            ("9223372036854775807", Ok(i64::MAX)),
            ("-9.223372036854775808E18", Ok(i64::MIN)),
            ("9223372036854775808", Err(NotWhole::TooLarge)),
            ("1E+400", Err(NotWhole::TooLarge)),
            ("1e9223372036854775807", Err(NotWhole::TooLarge)),
            ("1e-9223372036854775808", Err(NotWhole::Fraction)),
            ("1.5", Err(NotWhole::Fraction)),
            ("15e-1", Err(NotWhole::Fraction)),
            ("NaN", Err(NotWhole::Fraction)),
            ("", Err(NotWhole::Fraction)),
            ("1e", Err(NotWhole::Fraction)),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    #[test]
    fn parts_are_the_same_number_as_the_text() {
        for (text, expected) in [
            ("0", Some((false, 0, 0))),
            ("0.00", Some((false, 0, 2))),
            ("-12345.678", Some((true, 12_345_678, 3))),
            ("10000", Some((false, 10_000, 0))),
            ("0.00001", Some((false, 1, 5))),
            ("1.5e-7", Some((false, 15, 8))),
            ("99999999999999999999999999999999.99", Some((false, 10u128.pow(34) - 1, 2))),
            ("1E+60", None),
            ("1e-39", None),
            ("NaN", None),
            ("-Infinity", None),
        ] {
            let mut body = Vec::new();
            encode(text, &mut body).unwrap();
            assert_eq!(parts(&body), expected, "{text}");
        }
        for bad in [&[][..], &[0, 1, 0, 0, 0, 0, 0, 0], &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10]] {
            assert_eq!(parts(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn parts_and_text_agree(negative: bool, number in 0u128..10u128.pow(38), scale in 0u32..39) {
            let mut text = format!("{number:0width$}", width = scale as usize + 1);
            if scale > 0 {
                text.insert(text.len() - scale as usize, '.');
            }
            if negative && number != 0 {
                text.insert(0, '-');
            }
            let mut body = Vec::new();
            encode(&text, &mut body).unwrap();
            // More than nine groups, which a number can need that begins and ends inside a group, are converted as
            // text.
            if usize::from(body[1]) <= PARTS_GROUPS {
                prop_assert_eq!(parts(&body), Some((negative && number != 0, number, scale)));
            } else {
                prop_assert_eq!(parts(&body), None);
            }
        }

        #[test]
        fn parts_of_any_bytes_agree_with_their_text(body: Vec<u8>) {
            let mut text = Vec::new();
            if let (Some((negative, coefficient, scale)), Some(())) = (parts(&body), decode(&body, &mut text)) {
                let (sign, digits) = match text.strip_prefix(b"-") {
                    Some(rest) => (true, rest),
                    None => (false, &text[..]),
                };
                let plain: String = digits.iter().filter(|c| **c != b'.').map(|c| char::from(*c)).collect();
                prop_assert_eq!((sign, plain.parse::<u128>().unwrap()), (negative, coefficient));
                prop_assert_eq!(digits.len() - digits.iter().position(|c| *c == b'.').map_or(digits.len(), |at| at + 1), scale as usize);
            }
        }
    }

    #[test]
    fn golden_bytes_of_numeric_send() {
        // select numeric_send(-12345.678)
        let golden = [0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1A, 0x7C];
        let mut out = Vec::new();
        encode("-12345.678", &mut out).unwrap();
        assert_eq!(out, golden);
    }

    #[test]
    fn text_that_is_not_a_number_is_refused() {
        for bad in ["", "-", ".", "1.2.3", "abc", "1e", "1e999999999", "0x10", "1e-20000"] {
            assert!(encode(bad, &mut Vec::new()).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_digits_survive(negative: bool, whole in "[1-9][0-9]{0,40}", fraction in "[0-9]{0,40}") {
            let mut text = format!("{}{whole}", if negative { "-" } else { "" });
            if !fraction.is_empty() {
                text = format!("{text}.{fraction}");
            }
            prop_assert_eq!(there_and_back(&text), text);
        }

        #[test]
        fn any_bytes_are_safe(body: Vec<u8>) {
            let _ = decode(&body, &mut Vec::new());
        }
    }
}
