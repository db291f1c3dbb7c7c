//! The packed form of DECIMAL, MONEY, DATETIME and INTERVAL: 0.d1d2d3… × 100^exponent, each d a pair of decimal digits.
//!
//! The first byte is 0x80 | (exponent + 64) of a positive number. Of a negative one that byte is complemented without
//! its top bit, and so are the pairs: 100 less the last pair that is not zero, 99 less each before it. All zero is
//! NULL.

/// Pairs that a value can have: 32 decimal digits that begin in the middle of a pair, with room for padding.
const PAIRS: usize = 24;

/// The digits of INTERVAL's and DATETIME's parts have fixed places: that of SECOND counts 100^0.
pub mod place {
    /// Seconds.
    pub const SECOND: i32 = 0;
    /// Minutes.
    pub const MINUTE: i32 = 1;
    /// Hours.
    pub const HOUR: i32 = 2;
    /// Days, and the places above for an INTERVAL's leading days.
    pub const DAY: i32 = 3;
    /// Months.
    pub const MONTH: i32 = 4;
    /// Years, and the places above.
    pub const YEAR: i32 = 5;
}

/// A packed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Below zero.
    pub negative: bool,
    /// The number of pairs before the point.
    pub exponent: i32,
    pairs: [u8; PAIRS],
    len: usize,
}

impl Packed {
    /// Reads one; `Ok(None)` is NULL.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, &'static str> {
        let (&header, body) = bytes.split_first().ok_or("a number without bytes")?;
        if header == 0 && body.iter().all(|b| *b == 0) {
            return Ok(None);
        }
        let body = &body[..body.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1)];
        if body.len() > PAIRS {
            return Err("a number of more digits than the type has");
        }
        let negative = header & 0x80 == 0;
        let exponent = i32::from(if negative { header ^ 0x7f } else { header & 0x7f }) - 64;
        let mut pairs = [0; PAIRS];
        for (i, (&byte, pair)) in body.iter().zip(&mut pairs).enumerate() {
            let full = if i + 1 == body.len() { 100 } else { 99 };
            if byte > 99 {
                return Err("a pair of digits above 99");
            }
            *pair = if negative { full - byte } else { byte };
        }
        let len = body.len();
        // A last pair of 100 cannot come from a trimmed body: its byte would be zero.
        Ok(Some(Self { negative, exponent, pairs, len }))
    }

    /// The digits as a whole number, and the number of them after the point (negative: zeros are missing).
    pub fn coefficient(&self) -> (u128, i32) {
        let digits = self.pairs[..self.len].iter().fold(0u128, |n, pair| n.wrapping_mul(100) + u128::from(*pair));
        (digits, 2 * (self.len as i32 - self.exponent))
    }

    /// Digits before the point and after it, without insignificant zeros. A number far from the point has a negative
    /// count on one side; the sum is the number of significant digits.
    pub fn digits(&self) -> (i32, i32) {
        let pairs = &self.pairs[..self.len];
        let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return (0, 0) };
        let whole = 2 * self.exponent - i32::from(*first < 10);
        let fraction = 2 * (self.len as i32 - self.exponent) - i32::from(last % 10 == 0);
        (whole, fraction)
    }

    /// Returns true if the digits fit [`Packed::coefficient`].
    pub fn fits(&self) -> bool {
        self.len <= 19
    }

    /// The pair that counts 100^`place`.
    pub fn at(&self, place: i32) -> i64 {
        usize::try_from(self.exponent - 1 - place)
            .ok()
            .and_then(|i| self.pairs[..self.len].get(i))
            .map_or(0, |pair| i64::from(*pair))
    }

    /// The value of the pairs from `place` upwards, in units of `place`.
    pub fn from(&self, place: i32) -> i64 {
        (place..self.exponent).rev().fold(0, |n, p| n.saturating_mul(100).saturating_add(self.at(p)))
    }

    /// Microseconds of the pairs after SECOND.
    pub fn fraction(&self) -> i64 {
        self.at(-1) * 10_000 + self.at(-2) * 100 + self.at(-3)
    }
}

/// Appends a number; `pairs` are written as they are given, zeros too. Zero has no sign: without a last pair that is not
/// zero there is no complement.
pub fn write(out: &mut Vec<u8>, negative: bool, exponent: i32, pairs: &[u8]) {
    let header = (exponent + 64) as u8 & 0x7f;
    let last = pairs.iter().rposition(|pair| *pair != 0);
    if !negative || last.is_none() {
        out.push(header | 0x80);
        out.extend_from_slice(pairs);
        return;
    }
    out.push(header ^ 0x7f);
    out.extend(pairs.iter().enumerate().map(|(i, pair)| match last {
        Some(last) if i < last => 99 - pair,
        Some(last) if i == last => 100 - pair,
        _ => 0,
    }));
}

/// A decimal number read from text: its scale and its packed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecimalText {
    /// Digits after the point; negative for 1E+20.
    pub scale: i16,
    /// The packed form, as short as it can be.
    pub packed: Vec<u8>,
}

/// Packs the ASCII text of a decimal number.
///
/// # Errors
/// Why DECIMAL cannot represent it.
pub fn decimal(text: &str) -> Result<DecimalText, String> {
    let refuse = |why: &str| Err(format!("Decimal('{text}') does not fit DECIMAL: {why}"));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => match exponent.parse::<i32>() {
            Ok(exponent) if exponent.abs() < 1_000_000 => (mantissa, exponent),
            _ => return refuse("the exponent is beyond -130 to 125"),
        },
        None => (text, 0),
    };
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.trim_start_matches(['-', '+']);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return refuse("it is not a finite number");
    }
    let mut point = whole.len() as i32 + exponent;
    let scale = fraction.len() as i32 - exponent;
    let leading = digits.iter().take_while(|d| **d == b'0').count();
    digits.drain(..leading);
    point -= leading as i32;
    digits.truncate(digits.iter().rposition(|d| *d != b'0').map_or(0, |at| at + 1));
    if digits.is_empty() {
        return Ok(DecimalText { scale: scale.clamp(0, 32) as i16, packed: vec![0x80, 0] });
    }
    if digits.len() > 32 {
        return refuse(&format!("it has {} significant digits, 32 are possible", digits.len()));
    }
    let exponent = (point + 1).div_euclid(2);
    if !(-64..=63).contains(&exponent) {
        return refuse("the exponent is beyond -130 to 125");
    }
    if point.rem_euclid(2) == 1 {
        digits.insert(0, b'0');
    }
    if digits.len() % 2 == 1 {
        digits.push(b'0');
    }
    let pairs: Vec<u8> = digits.chunks(2).map(|d| (d[0] - b'0') * 10 + d[1] - b'0').collect();
    let mut packed = Vec::with_capacity(pairs.len() + 1);
    write(&mut packed, negative, exponent, &pairs);
    Ok(DecimalText { scale: scale as i16, packed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (negative, pairs) in
            [(false, &[1, 0, 99][..]), (true, &[1, 0, 99]), (true, &[0, 0, 1]), (true, &[5, 0, 0]), (false, &[0, 0, 0])]
        {
            let mut out = Vec::new();
            write(&mut out, negative, 2, pairs);
            let read = Packed::read(&out).expect("it is valid").expect("it is not NULL");
            assert_eq!((read.negative, read.exponent), (negative, 2), "{pairs:?}");
            assert!((0..3).all(|i| read.pairs[i] == pairs[i]), "{pairs:?}");
        }
    }

    #[test]
    fn zero_has_no_sign() {
        let written = |negative| {
            let mut out = Vec::new();
            write(&mut out, negative, 4, &[0, 0]);
            out
        };
        assert_eq!(written(true), written(false));
        assert_eq!(written(true), [0x80 | 68, 0, 0]);
    }
}
