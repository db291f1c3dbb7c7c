//! Decimal numbers of at most 38 digits.

use std::cmp::Ordering;
use std::fmt;

/// `digits / 10^scale`.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    digits: i128,
    scale: u32,
}

/// The most digits that a NUMERIC has.
pub const DIGITS: u32 = 38;

const fn power(exponent: u32) -> i128 {
    10i128.pow(exponent)
}

impl Decimal {
    /// An integer.
    pub fn integer(value: i64) -> Self {
        Self { digits: i128::from(value), scale: 0 }
    }

    /// Reads digits with a sign and a point; no exponent unless `exponent`.
    pub fn parse(text: &str, exponent: bool) -> Option<Self> {
        let text = text.trim();
        let (text, shift) = match text.find(['e', 'E']) {
            Some(at) if exponent => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            Some(_) => return None,
            None => (text, 0),
        };
        let (negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut value: i128 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            if !byte.is_ascii_digit() {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
        }
        let scale = fraction.len() as i32 - shift;
        let mut parsed = Self { digits: if negative { -value } else { value }, scale: scale.max(0) as u32 };
        if scale < 0 {
            parsed.digits = parsed.digits.checked_mul(10i128.checked_pow(scale.unsigned_abs())?)?;
        }
        Some(parsed)
    }

    /// The nearest decimal of a floating-point number, as its shortest text has it.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::parse(&format!("{value:e}"), true)).flatten()
    }

    /// The nearest floating-point number.
    pub fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Digits behind the point.
    pub fn scale(self) -> u32 {
        self.scale
    }

    /// Digits in all, without zeros before the first.
    pub fn precision(self) -> u32 {
        self.digits.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1)
    }

    /// With a scale, rounded half away from zero.
    pub fn rescale(self, scale: u32) -> Option<Self> {
        let digits = match scale.cmp(&self.scale) {
            Ordering::Equal => self.digits,
            Ordering::Greater => self.digits.checked_mul(10i128.checked_pow(scale - self.scale)?)?,
            Ordering::Less if self.scale - scale > DIGITS => 0,
            Ordering::Less => {
                let unit = power(self.scale - scale);
                let half = unit / 2 * self.digits.signum();
                self.digits.checked_add(half)? / unit
            }
        };
        Some(Self { digits, scale })
    }

    /// With a scale, cut.
    pub fn truncate(self, scale: u32) -> Self {
        match scale < self.scale {
            true => Self { digits: self.digits / 10i128.checked_pow(self.scale - scale).unwrap_or(i128::MAX), scale },
            false => self,
        }
    }

    /// The integer part, rounded down.
    pub fn floor(self) -> Self {
        Self { digits: self.digits.div_euclid(power(self.scale.min(DIGITS))), scale: 0 }
    }

    /// The other sign.
    pub fn negated(self) -> Self {
        Self { digits: -self.digits, ..self }
    }

    /// True for 0.
    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    fn aligned(self, other: Self) -> Option<(i128, i128, u32)> {
        let scale = self.scale.max(other.scale);
        Some((self.rescale(scale)?.digits, other.rescale(scale)?.digits, scale))
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Option<Self> {
        let (left, right, scale) = self.aligned(other)?;
        Some(Self { digits: left.checked_add(right)?, scale })
    }

    /// The product.
    pub fn times(self, other: Self) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(other.digits)?, scale: self.scale + other.scale })
    }

    /// The quotient with at least nine digits behind the point.
    pub fn over(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale).max(9);
        Some(Self { digits: self.long_division(other, scale + other.scale - self.scale)?, scale })
    }

    /// The whole part of the quotient.
    pub fn whole_over(self, other: Self) -> Option<Self> {
        let (left, right, _) = self.aligned(other)?;
        Some(Self { digits: left.checked_div(right)?, scale: 0 })
    }

    /// The digits of a quotient, digit by digit, rounded.
    fn long_division(self, other: Self, places: u32) -> Option<i128> {
        let divisor = other.digits.checked_abs()?;
        let (mut digits, mut rest) = (self.digits.abs().checked_div(divisor)?, self.digits.abs() % divisor);
        for _ in 0..places {
            rest = rest.checked_mul(10)?;
            digits = digits.checked_mul(10)?.checked_add(rest / divisor)?;
            rest %= divisor;
        }
        digits += i128::from(rest.checked_mul(2)? >= divisor);
        Some(digits * self.digits.signum() * other.digits.signum())
    }

    /// The remainder.
    pub fn modulo(self, other: Self) -> Option<Self> {
        let (left, right, scale) = self.aligned(other)?;
        Some(Self { digits: left.checked_rem(right)?, scale })
    }

    /// Which one is larger.
    pub fn compare(self, other: Self) -> Ordering {
        match self.aligned(other) {
            Some((left, right, _)) => left.cmp(&right),
            None => self.to_f64().total_cmp(&other.to_f64()),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let digits = self.digits.unsigned_abs().to_string();
        let scale = self.scale as usize;
        if scale == 0 {
            return write!(formatter, "{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        write!(formatter, "{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_their_digits() {
        for text in ["0", "-123.4500", "0.50", "99999999999999999999999999999999999999", "-0.01"] {
            assert_eq!(Decimal::parse(text, false).unwrap().to_string(), text);
        }
        assert_eq!(Decimal::parse("1.5e3", true).unwrap().to_string(), "1500");
        assert!(Decimal::parse("1.5e3", false).is_none());
        assert!(Decimal::parse("1..5", false).is_none());
    }

    #[test]
    fn quotients_have_the_digits_that_a_genuine_server_computes() {
        let over = |left: &str, right: &str| {
            let [left, right] = [left, right].map(|text| Decimal::parse(text, false).unwrap());
            left.over(right).unwrap().to_string()
        };
        assert_eq!(over("2", "3.0"), "0.666666667");
        assert_eq!(over("7.00000000000000000000", "1.50000000000000000000"), "4.66666666666666666667");
        assert_eq!(over("5.02797279921331664759", "0.71828182845904523537"), "7.00000000000000000000");
        assert_eq!(
            over("-30000000000000000000000000000000000000", "10000000000000000000000000000000000000"),
            "-3.000000000"
        );
    }

    #[test]
    fn decimals_round_half_away_from_zero() {
        let rounded = |text: &str, scale| Decimal::parse(text, false).unwrap().rescale(scale).unwrap().to_string();
        assert_eq!(rounded("2.345", 2), "2.35");
        assert_eq!(rounded("-2.345", 2), "-2.35");
        assert_eq!(rounded("2.3", 3), "2.300");
    }
}
