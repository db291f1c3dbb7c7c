//! Numbers as Python writes them: `str` of a whole number, `repr` of a float.

use std::fmt::{self, Write};
use std::ops::Deref;

/// The longest is `-2.2250738585072014e-308`; 20 characters are a whole number's.
const MOST_BYTES: usize = 32;
/// Bits of a float's fraction.
const FRACTION_BITS: u32 = 52;
/// What the exponent of a float counts from, if its fraction is taken for a whole number.
const EXPONENT_BIAS: i32 = 1023 + FRACTION_BITS as i32;

/// The text of a number.
#[derive(Clone, Copy, Debug)]
pub struct NumberText {
    bytes: [u8; MOST_BYTES],
    len: usize,
}

impl NumberText {
    const EMPTY: Self = Self { bytes: [0; MOST_BYTES], len: 0 };

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn push_zeros(&mut self, count: usize) {
        self.push(&[b'0'; MOST_BYTES][..count]);
    }
}

impl Deref for NumberText {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for NumberText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > MOST_BYTES - self.len {
            return Err(fmt::Error);
        }
        self.push(text.as_bytes());
        Ok(())
    }
}

/// The text of a whole number.
pub fn int_text(number: i64) -> NumberText {
    let mut text = NumberText::EMPTY;
    let (mut rest, mut at) = (number.unsigned_abs(), MOST_BYTES);
    loop {
        at -= 1;
        text.bytes[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        text.bytes[at] = b'-';
    }
    text.bytes.copy_within(at.., 0);
    text.len = MOST_BYTES - at;
    text
}

/// The text of a float: the shortest that is read as the same float, and of those that are as short the nearest. `None`
/// where two may be as near, of which Rust takes the greater and Python the one with an even digit.
pub fn float_text(number: f64) -> Option<NumberText> {
    let mut text = NumberText::EMPTY;
    if !number.is_finite() {
        text.push(if number.is_nan() {
            b"nan"
        } else if number < 0.0 {
            b"-inf"
        } else {
            b"inf"
        });
        return Some(text);
    }
    let mut shortest = NumberText::EMPTY;
    write!(shortest, "{:e}", number.abs()).ok()?;
    let (digits, exponent) = shortest.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    // One digit, a point, the others.
    let (first, others) = digits.as_bytes().split_first()?;
    let others = others.get(1..).unwrap_or_default();
    if may_be_tied(number, exponent - others.len() as i32) {
        return None;
    }
    if number.is_sign_negative() {
        text.push(b"-");
    }
    match exponent {
        16.. | ..-4 => {
            text.push(digits.as_bytes());
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(text, "e{sign}{:02}", exponent.unsigned_abs()).ok()?;
        }
        ..0 => {
            text.push(b"0.");
            text.push_zeros((-1 - exponent) as usize);
            text.push(&[*first]);
            text.push(others);
        }
        _ => {
            text.push(&[*first]);
            let (whole, fraction) = others.split_at(others.len().min(exponent as usize));
            text.push(whole);
            text.push_zeros(exponent as usize - whole.len());
            text.push(b".");
            text.push(if fraction.is_empty() { b"0" } else { fraction });
        }
    }
    Some(text)
}

/// Returns true if a float may be as far from a text whose last digit counts `10 ** unit` as from the text with the next
/// last digit. It is an odd number of halves of that unit then: as a product of an odd number and a power of two, it has
/// the power `unit - 1`.
fn may_be_tied(number: f64, unit: i32) -> bool {
    let bits = number.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let exponent = ((bits >> FRACTION_BITS) & 0x7ff) as i32;
    let (whole, power) = match exponent {
        0 => (fraction, 1 - EXPONENT_BIAS),
        _ => (fraction | (1 << FRACTION_BITS), exponent - EXPONENT_BIAS),
    };
    whole != 0 && power + whole.trailing_zeros() as i32 == unit - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        for number in [0, 7, -1, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            assert_eq!(&*int_text(number), number.to_string());
        }
    }

    #[test]
    fn floats_are_as_python_writes_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1.0 / 7.0, "0.14285714285714285"),
            (0.0001, "0.0001"),
            (0.00012345678901234567, "0.00012345678901234567"),
            (0.00001, "1e-05"),
            (1.5e-5, "1.5e-05"),
            (123456.0, "123456.0"),
            (1e15, "1000000000000000.0"),
            (9007199254740993.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (1e100, "1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN, "-1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (f64::from_bits(1), "5e-324"),
            (f64::NAN, "nan"),
            (-f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float_text(number).as_deref(), Some(text));
        }
    }

    #[test]
    fn floats_between_two_texts_are_left_to_python() {
        // Python writes 1606968258136646.2 and 1125899906842625.8.
        for number in [1_606_968_258_136_646.3, 1_125_899_906_842_625.8] {
            assert!(float_text(number).is_none(), "{number:e}");
        }
    }
}
