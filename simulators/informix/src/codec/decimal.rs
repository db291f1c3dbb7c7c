//! DECIMAL and MONEY: exact decimals of up to 32 digits, their base-100 form and the arithmetic of SQL.

use std::cmp::Ordering;
use std::fmt;

use crate::errors::SqlError;

/// The maximum number of digits of a DECIMAL.
const DIGITS: u32 = 32;
/// More digits before the point than any DECIMAL has, the greatest being 9.9…E125.
const MOST_WHOLE_DIGITS: i32 = 127;
/// Digits before the point of the least one, 1E-130.
const LEAST_WHOLE_DIGITS: i32 = -129;
/// An exponent beyond that of every type.
const WILD_EXPONENT: i32 = 1000;

/// `mantissa * 10^-scale`; the mantissa has no trailing zeros and at most 32 digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    mantissa: i128,
    scale: i32,
}

fn power(exponent: u32) -> i128 {
    10i128.pow(exponent)
}

fn digits_of(mantissa: i128) -> u32 {
    mantissa.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1)
}

/// Divides, halves away from zero.
fn rounded_quotient(number: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (number / divisor, number % divisor);
    if rest.abs() >= divisor - rest.abs() { quotient + number.signum() } else { quotient }
}

impl Decimal {
    /// `mantissa * 10^-scale`, brought to normal form.
    pub fn new(mut mantissa: i128, mut scale: i32) -> Self {
        let excess = digits_of(mantissa).saturating_sub(DIGITS);
        if excess > 0 {
            mantissa = rounded_quotient(mantissa, power(excess));
            scale -= excess as i32;
        }
        if mantissa == 0 {
            return Self { mantissa, scale: 0 };
        }
        while mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        Self { mantissa, scale }
    }

    /// Reads `-12.50`, `1E20` and the like, blanks around allowed.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok().filter(|by| by.abs() < WILD_EXPONENT)?),
            None => (text, 0),
        };
        let (negative, number) = match number.as_bytes().first()? {
            b'-' => (true, &number[1..]),
            b'+' => (false, &number[1..]),
            _ => (false, number),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut mantissa = 0i128;
        let mut scale = -exponent;
        for (index, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
            if !digit.is_ascii_digit() {
                return None;
            }
            let after_point = index >= whole.len();
            if digits_of(mantissa) > DIGITS + 2 {
                scale -= i32::from(!after_point);
                continue;
            }
            mantissa = mantissa * 10 + i128::from(digit - b'0');
            scale += i32::from(after_point);
        }
        Some(Self::new(if negative { -mantissa } else { mantissa }, scale))
    }

    /// The nearest decimal with no more than `scale` digits after the point.
    #[must_use]
    pub fn round(self, scale: i32) -> Self {
        let drop = self.scale - scale;
        match drop {
            ..=0 => self,
            1..=37 => Self::new(rounded_quotient(self.mantissa, power(drop as u32)), scale),
            _ => Self::new(0, 0),
        }
    }

    /// Truncates after `scale` digits after the point.
    #[must_use]
    pub fn truncate(self, scale: i32) -> Self {
        let drop = self.scale - scale;
        match drop {
            ..=0 => self,
            1..=37 => Self::new(self.mantissa / power(drop as u32), scale),
            _ => Self::new(0, 0),
        }
    }

    /// Returns true if it fits DECIMAL(precision, scale), or DECIMAL(precision) if scale is 255.
    pub fn fits(self, precision: i32, scale: i32) -> bool {
        scale == 255 || digits_of(self.mantissa) as i32 - self.scale <= precision - scale || self.mantissa == 0
    }

    /// The value as DECIMAL(precision, scale) keeps it.
    #[must_use]
    pub fn shaped(self, precision: i32, scale: i32) -> Self {
        if scale == 255 {
            self.round(precision - (digits_of(self.mantissa) as i32 - self.scale))
        } else {
            self.round(scale)
        }
    }

    /// The number, if a DECIMAL can have that many digits before its point.
    pub fn checked(self) -> Result<Self, SqlError> {
        match digits_of(self.mantissa) as i32 - self.scale {
            _ if self.mantissa == 0 => Ok(self),
            MOST_WHOLE_DIGITS.. => Err(SqlError::new(-1200, "")),
            ..LEAST_WHOLE_DIGITS => Err(SqlError::new(-1201, "")),
            _ => Ok(self),
        }
    }

    /// The integer, if it is one that fits.
    pub fn to_i64(self) -> Option<i64> {
        match self.scale {
            0 => i64::try_from(self.mantissa).ok(),
            -18..0 => i64::try_from(self.mantissa.checked_mul(power(-self.scale as u32))?).ok(),
            _ => None,
        }
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Both mantissas at one scale, or nothing if they are too far apart for 128 bits.
    fn aligned(self, other: Self) -> Option<(i128, i128, i32)> {
        let scale = self.scale.max(other.scale);
        let raise = |number: Self| {
            let by = u32::try_from(scale - number.scale).ok().filter(|&by| by <= 38)?;
            number.mantissa.checked_mul(10i128.checked_pow(by)?)
        };
        Some((raise(self)?, raise(other)?, scale))
    }

    /// The sum; if one is too small to change the other, the greater.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match self.aligned(other) {
            Some((left, right, scale)) => Self::new(left + right, scale),
            None if self.magnitude() >= other.magnitude() => self,
            None => other,
        }
    }

    /// The same with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        if let Some(product) = self.mantissa.checked_mul(other.mantissa) {
            return Self::new(product, self.scale + other.scale);
        }
        // Half of the digits of each: the product keeps 32, the maximum of a DECIMAL.
        let shorten = |number: Self| {
            let excess = digits_of(number.mantissa).saturating_sub(19);
            (number.mantissa / power(excess), number.scale - excess as i32)
        };
        let ((left, left_scale), (right, right_scale)) = (shorten(self), shorten(other));
        Self::new(left * right, left_scale + right_scale)
    }

    /// The quotient to 32 digits; nothing for a division by zero.
    pub fn divided_by(self, other: Self) -> Option<Self> {
        if other.mantissa == 0 {
            return None;
        }
        let divisor = other.mantissa.unsigned_abs();
        let mut quotient = (self.mantissa.unsigned_abs() / divisor) as i128;
        let mut rest = self.mantissa.unsigned_abs() % divisor;
        let mut scale = self.scale - other.scale;
        while rest != 0 && digits_of(quotient) < DIGITS + 1 {
            rest *= 10;
            quotient = quotient * 10 + (rest / divisor) as i128;
            rest %= divisor;
            scale += 1;
        }
        Some(Self::new(quotient * self.mantissa.signum() * other.mantissa.signum(), scale))
    }

    fn magnitude(self) -> i32 {
        if self.mantissa == 0 { i32::MIN } else { digits_of(self.mantissa) as i32 - self.scale }
    }

    /// Numeric order.
    pub fn compare(self, other: Self) -> Ordering {
        if let Some((left, right, _)) = self.aligned(other) {
            return left.cmp(&right);
        }
        let by_size = self.magnitude().cmp(&other.magnitude());
        match (self.mantissa.signum(), other.mantissa.signum()) {
            (left, right) if left != right => left.cmp(&right),
            (-1, _) => by_size.reverse(),
            _ => by_size,
        }
    }

    /// The header and the base-100 digits, as short as they can be.
    pub fn encode(self) -> Vec<u8> {
        if self.mantissa == 0 {
            return vec![0x80];
        }
        let mut digits = self.mantissa.unsigned_abs().to_string().into_bytes();
        let mut point = digits.len() as i32 - self.scale;
        // Pairs are counted from the decimal point, so an odd number of digits before it starts with half a pair.
        if point.rem_euclid(2) == 1 {
            digits.insert(0, b'0');
            point += 1;
        }
        if digits.len() % 2 == 1 {
            digits.push(b'0');
        }
        let pairs = digits.chunks(2).map(|pair| (pair[0] - b'0') * 10 + pair[1] - b'0').collect();
        pack(self.mantissa < 0, point / 2, pairs)
    }

    /// Exactly `width` bytes, digits beyond them cut.
    pub fn encode_to(self, width: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(width);
        Self::encode_text(&mut bytes, self.to_string().as_bytes(), width);
        bytes
    }

    /// Appends the encoding of a text that this module wrote, without the intermediate numbers: rows are full of
    /// decimals. False, and nothing appended, if the text is something else.
    pub fn encode_text(out: &mut Vec<u8>, text: &[u8], width: usize) -> bool {
        let (negative, text) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
        if text.is_empty() || !text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
            return false;
        }
        let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
        let start = out.len();
        out.resize(start + width, 0);
        let mut exponent = point.div_ceil(2) as i32;
        let mut odd = point % 2 == 1;
        let (mut pair, mut place) = (0, 0);
        for digit in text.iter().filter(|&&byte| byte != b'.').map(|byte| byte - b'0') {
            if !odd {
                pair = 10 * digit;
                odd = true;
                continue;
            }
            odd = false;
            if place == 0 && pair + digit == 0 {
                exponent -= 1;
            } else if place + 1 < width {
                place += 1;
                out[start + place] = pair + digit;
            }
            pair = 0;
        }
        if odd && pair != 0 && place + 1 < width {
            place += 1;
            out[start + place] = pair;
        }
        let pairs = &mut out[start + 1..];
        let Some(last) = pairs.iter().rposition(|&pair| pair != 0) else {
            out[start] = 0x80;
            return true;
        };
        if negative {
            for (at, pair) in pairs.iter_mut().enumerate().take(last + 1) {
                *pair = if at == last { 100 - *pair } else { 99 - *pair };
            }
        }
        let header = 0x80 | (exponent + 64) as u8 & 0x7f;
        out[start] = if negative { !header } else { header };
        true
    }

    /// The value of a header and its digits; `None` for NULL.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (negative, exponent, pairs) = unpack(bytes)?;
        let mut mantissa = 0i128;
        let mut scale = -2 * exponent;
        for pair in pairs.iter().take(17) {
            mantissa = mantissa * 100 + i128::from(*pair);
            scale += 2;
        }
        Some(Self::new(if negative { -mantissa } else { mantissa }, scale))
    }
}

/// Combines sign, exponent and base-100 digits: the form of DECIMAL, DATETIME and INTERVAL.
pub fn pack(negative: bool, exponent: i32, mut pairs: Vec<u8>) -> Vec<u8> {
    let header = 0x80 | (exponent + 64) as u8 & 0x7f;
    if negative {
        let last = pairs.iter().rposition(|&pair| pair != 0).unwrap_or(0);
        for (at, pair) in pairs.iter_mut().enumerate().take(last + 1) {
            *pair = if at == last { 100 - *pair } else { 99 - *pair };
        }
    }
    pairs.insert(0, if negative { !header } else { header });
    pairs
}

/// Splits the result of [`pack`]; `None` for NULL.
pub fn unpack(bytes: &[u8]) -> Option<(bool, i32, Vec<u8>)> {
    let (&header, pairs) = bytes.split_first()?;
    if header == 0 && pairs.iter().all(|&pair| pair == 0) {
        return None;
    }
    let negative = header & 0x80 == 0;
    let mut pairs = pairs.to_vec();
    if negative {
        let last = pairs.iter().rposition(|&pair| pair != 0).unwrap_or(0);
        for (at, pair) in pairs.iter_mut().enumerate().take(last + 1) {
            *pair = if at == last { 100u8.saturating_sub(*pair) } else { 99u8.saturating_sub(*pair) };
        }
    }
    let exponent = i32::from(if negative { !header } else { header } & 0x7f) - 64;
    Some((negative, exponent, pairs))
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.mantissa.unsigned_abs().to_string();
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let point = digits.len() as i32 - self.scale;
        if self.scale <= 0 {
            write!(formatter, "{sign}{digits}{}", "0".repeat(-self.scale as usize))
        } else if point <= 0 {
            write!(formatter, "{sign}0.{}{digits}", "0".repeat(-point as usize))
        } else {
            write!(formatter, "{sign}{}.{}", &digits[..point as usize], &digits[point as usize..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_the_number_is() {
        let whole = ["0", "1", "9", "10", "99", "100", "1234", "98765432109876543210", "5000000"];
        let fraction = ["", ".5", ".05", ".001", ".10", ".999", ".0000001", ".12345678901"];
        for text in whole.iter().flat_map(|whole| fraction.iter().map(move |fraction| format!("{whole}{fraction}"))) {
            for sign in ["", "-"] {
                let number = Decimal::parse(&format!("{sign}{text}")).unwrap();
                let mut expected = number.encode();
                expected.resize(20, 0);
                assert_eq!(number.encode_to(20), expected, "{sign}{text}");
                assert_eq!(Decimal::decode(&expected), Some(number));
            }
        }
        assert!(!Decimal::encode_text(&mut Vec::new(), b"1E5", 9));
    }
}
