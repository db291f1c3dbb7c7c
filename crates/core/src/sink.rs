//! The destination of decoded values.

/// A container that a value opens; its items follow, then [`Sink::end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// One dimension of an array, a collection.
    List,
    /// A composite value (ROW) of the protocol's type `type_id`, 0 if it has none.
    Record {
        /// The protocol's own number for the type.
        type_id: u32,
        /// False if its attributes are others than the column's description names: the type has changed since.
        is_described: bool,
    },
    /// A range: its finite bounds follow (lower first), each only if the range has it.
    Range {
        /// No value is in the range; no bound follows.
        empty: bool,
        /// A finite lower bound follows.
        has_lower: bool,
        /// A finite upper bound follows.
        has_upper: bool,
        /// The lower bound itself is in the range.
        lower_inc: bool,
        /// The upper bound itself is in the range.
        upper_inc: bool,
    },
    /// A multirange: its ranges follow.
    Multirange,
    /// x, y.
    Point,
    /// A, B, C of Ax + By + C = 0.
    Line,
    /// Two points.
    LineSegment,
    /// Two points: upper right, lower left.
    Box,
    /// Points; `closed` indicates whether the last joins the first.
    Path {
        /// The last point joins the first.
        closed: bool,
    },
    /// Points.
    Polygon,
    /// A point and a radius.
    Circle,
}

/// An IP address or network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inet<'a> {
    /// 4 or 16 bytes in network order.
    pub address: &'a [u8],
    /// Bits of the network part.
    pub prefix: u8,
    /// A network (`cidr`), not a host.
    pub network: bool,
}

/// A key, and text or NULL.
pub type Pair<'a> = (&'a [u8], Option<&'a [u8]>);

/// The text of `coefficient` × 10^-`scale`, all digits after the point shown.
pub fn decimal_text(negative: bool, coefficient: u128, scale: u32) -> String {
    let mut text = format!("{coefficient:0width$}", width = scale as usize + 1);
    if scale > 0 {
        text.insert(text.len() - scale as usize, '.');
    }
    if negative {
        text.insert(0, '-');
    }
    text
}

/// The sign, the coefficient and the scale of a number as [`decimal_text`] writes it, with at most 38 digits. `None` for
/// other text, of which some is a number too: `1E+5`, `NaN`.
#[inline]
pub fn decimal_parts(ascii: &str) -> Option<(bool, u128, u32)> {
    const DIGITS_OF_U64: usize = 19;
    let (is_negative, digits) = match ascii.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut high, mut low, mut count, mut scale) = (0u128, 0u64, 0usize, None);
    for &byte in digits {
        match byte {
            b'0'..=b'9' if count < 2 * DIGITS_OF_U64 => {
                if count == DIGITS_OF_U64 {
                    (high, low) = (u128::from(low), 0);
                }
                low = low * 10 + u64::from(byte - b'0');
                count += 1;
                scale = scale.map(|scale: u32| scale + 1);
            }
            b'.' if scale.is_none() => scale = Some(0),
            _ => return None,
        }
    }
    let shift = u32::try_from(count.saturating_sub(DIGITS_OF_U64)).ok()?;
    (count > 0).then(|| (is_negative, high * 10u128.pow(shift) + u128::from(low), scale.unwrap_or(0)))
}

/// Receives values, decoded exactly once.
///
/// A row is [`Sink::begin_row`], one value per column in order, [`Sink::end_row`]. A sink that cannot represent a value
/// records the reason and continues: it can never stop the protocol, so a bad value never makes client and server
/// disagree about the position in the stream.
///
/// Text is passed as the bytes that the server sent as text in the session's encoding; the sink decides whether to
/// check them. Dates count days from 1970-01-01, times microseconds; `i32::MIN`, `i32::MAX`, `i64::MIN` and `i64::MAX`
/// represent minus infinity and infinity.
pub trait Sink {
    /// A row of `columns` values begins.
    fn begin_row(&mut self, columns: usize);
    /// The row has all its values.
    fn end_row(&mut self);
    /// NULL.
    fn null(&mut self);
    /// A truth value.
    fn bool(&mut self, value: bool);
    /// A whole number of up to 64 bits.
    fn int(&mut self, value: i64);
    /// A whole number above `i64::MAX`.
    fn uint(&mut self, value: u64);
    /// A floating-point number.
    fn float(&mut self, value: f64);
    /// An exact decimal number as ASCII text (`-12.50`), or `NaN`, `Infinity`, `-Infinity`.
    fn decimal(&mut self, ascii: &str);
    /// An exact decimal number of at most 38 digits: `coefficient` × 10^-`scale`, whose text shows all `scale` digits
    /// after the point.
    fn decimal128(&mut self, negative: bool, coefficient: u128, scale: u32) {
        self.decimal(&decimal_text(negative, coefficient, scale));
    }
    /// Text.
    fn text(&mut self, utf8: &[u8]);
    /// Pairs of a key, which is unique, and text or NULL; `text` writes them as the server does, for a sink that has nothing
    /// better.
    fn pairs(&mut self, pairs: &[Pair<'_>], text: fn(&[Pair<'_>]) -> Vec<u8>) {
        self.text(&text(pairs));
    }
    /// A vector of which most numbers are zero: its dimensions, and the others with their indices from 0. Its text,
    /// `{1:2.5,4:1}/5` with indices from 1, for a sink that has nothing better.
    fn sparse_vector(&mut self, dimensions: u32, items: &[(u32, f32)]) {
        let items: Vec<String> =
            items.iter().map(|(index, number)| format!("{}:{number}", u64::from(*index) + 1)).collect();
        self.text(format!("{{{}}}/{dimensions}", items.join(",")).as_bytes());
    }
    /// Bytes.
    fn bytes(&mut self, value: &[u8]);
    /// A date, in days since 1970-01-01.
    fn date(&mut self, days: i32);
    /// A time of day, in microseconds since midnight (24:00 is 86,400,000,000).
    fn time(&mut self, micros: i64);
    /// A time of day with a zone `offset` in seconds east of UTC.
    fn timetz(&mut self, micros: i64, offset: i32);
    /// A date and time without zone, in microseconds since 1970-01-01 00:00.
    fn timestamp(&mut self, micros: i64);
    /// An instant, in microseconds since 1970-01-01 00:00 UTC.
    fn timestamptz(&mut self, micros: i64);
    /// A span of calendar months, days and microseconds.
    fn interval(&mut self, months: i32, days: i32, micros: i64);
    /// A span of a type that counts nothing but months.
    fn months(&mut self, months: i32) {
        self.interval(months, 0, 0);
    }
    /// A UUID, in network order.
    fn uuid(&mut self, value: &[u8; 16]);
    /// A JSON document as text.
    fn json(&mut self, utf8: &[u8]);
    /// A network address.
    fn inet(&mut self, value: Inet<'_>);
    /// A string of `bits` bits, the first in the highest bit of the first byte.
    fn bits(&mut self, bits: usize, bytes: &[u8]);
    /// A value of a type that the user registered (`type_id` is the protocol's own number for it), as received.
    fn custom(&mut self, type_id: u32, binary: bool, bytes: &[u8]);
    /// Returns true if such values are passed to [`Sink::custom`]. If not, one whose type is known is decoded as if it were
    /// not registered: the registration makes objects, and the sink has none.
    fn takes_custom(&self) -> bool {
        true
    }
    /// A container of `len` items begins.
    fn begin(&mut self, container: Container, len: usize);
    /// The innermost container has all its items.
    fn end(&mut self);
    /// A date, or date and time, that the database can store but no calendar has (`0000-00-00`, `2024-02-31 12:00:00`),
    /// as the server prints it. It counts as a value; a sink without a policy for it treats it as an invalid one.
    fn no_such_date(&mut self, text: &str) {
        self.invalid(&format!("the date {text} is in no calendar"));
    }
    /// The value could not be decoded; `why` is the reason. It counts as a value.
    fn invalid(&mut self, why: &str);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_has_the_parts_that_its_text_was_made_of() {
        let largest = 10u128.pow(38) - 1;
        for coefficient in [0, 7, 10, 12_345, u128::from(u64::MAX), 10u128.pow(19) - 1, 10u128.pow(19), largest] {
            for scale in [0, 1, 4, 18, 19, 20, 37] {
                for is_negative in [false, true] {
                    let text = decimal_text(is_negative, coefficient, scale);
                    assert_eq!(decimal_parts(&text), Some((is_negative, coefficient, scale)), "{text}");
                }
            }
        }
        assert_eq!(decimal_parts("007.50"), Some((false, 750, 2)));
        assert_eq!(decimal_parts(".5"), Some((false, 5, 1)));
        assert_eq!(decimal_parts("5."), Some((false, 5, 0)));
    }

    #[test]
    fn other_text_has_no_parts() {
        let (long, longer) = ("9".repeat(39), "9".repeat(65));
        for text in
            ["", "-", ".", "-.", "1-2", "--1", "1.2.3", "+1", "1E5", "NaN", "Infinity", " 1", "1 ", &long, &longer]
        {
            assert_eq!(decimal_parts(text), None, "{text}");
        }
    }
}
