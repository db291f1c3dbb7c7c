//! The types that literals have, for parameters whose type is written into the statement.

use super::encode::plain_decimal;
use crate::mirrored::Beside;
use headrace_core::{Value, ValueKind};

/// The digits of a NUMERIC.
const DIGITS: usize = 38;

/// The least literal that is a BIGINT, though it would fit an INTEGER (`TYPEOF`, 11.3.2).
const LONG: u64 = 2_147_483_647;

/// The type that a value has as a literal, or that several values have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// NULL goes with every type.
    Null,
    /// INTEGER.
    Integer,
    /// BIGINT.
    Bigint,
    /// NUMERIC with its digits before and after the point.
    Numeric {
        /// Before it.
        whole: usize,
        /// After it.
        fraction: usize,
    },
    /// DOUBLE.
    Double,
    /// A type without numbers.
    Named(&'static str),
    /// CHAR with the length that the text has, whichever that is, and the collation of what is beside it: a literal's.
    Literal,
    /// Its own type, but as an expression that is no constant.
    Inconstant,
    /// There is no literal, or no common type.
    Other,
}

impl Cast {
    /// JSON.
    pub const JSON: Self = Self::Named("JSON");
    /// VARCHAR.
    const VARCHAR: Self = Self::Named("VARCHAR");

    /// The type to write for a value at such a place.
    pub fn beside<V: Value>(value: &V, beside: Beside) -> Self {
        let is_text = value.kind() == ValueKind::Text;
        match beside {
            Beside::Compared | Beside::List if is_text => Self::Literal,
            // Other values have the type there that they are sent with; NULL leaves their literal to the other rows' texts.
            Beside::List if value.kind() != ValueKind::Null => Self::Other,
            Beside::Alternative if is_text => Self::Other,
            Beside::Pattern => Self::pattern(value),
            Beside::TypedPattern if is_text || value.kind() == ValueKind::Null => Self::pattern(value),
            Beside::TypedPattern => Self::of(value),
            Beside::Any | Beside::Operand | Beside::Compared | Beside::List | Beside::Alternative => Self::of(value),
        }
    }

    /// A part of a pattern: if the empty text is like all of it, it is no constant. NULL may stand there for such a text:
    /// `COALESCE(?, '%')`.
    fn pattern<V: Value>(value: &V) -> Self {
        let has_any = match value.kind() {
            ValueKind::Null => true,
            ValueKind::Text => value.with_text(|text| text.iter().all(|&byte| byte == b'%')).unwrap_or(false),
            _ => false,
        };
        if has_any { Self::Inconstant } else { Self::Null }
    }

    /// The type of a literal of the value.
    pub fn of<V: Value>(value: &V) -> Self {
        match value.kind() {
            ValueKind::Null => Self::Null,
            ValueKind::Bool => Self::Integer,
            ValueKind::Int => match value.int() {
                Ok(number) if number.unsigned_abs() < LONG => Self::Integer,
                Ok(_) => Self::Bigint,
                Err(_) => Self::numeric(value),
            },
            ValueKind::Decimal => Self::numeric(value),
            ValueKind::Float => Self::Double,
            ValueKind::Text | ValueKind::Uuid | ValueKind::Inet | ValueKind::Cidr => Self::VARCHAR,
            ValueKind::Bytes => Self::Named("BIT VARYING"),
            ValueKind::Date => Self::Named("DATE"),
            ValueKind::Time => Self::Named("TIME"),
            ValueKind::Json | ValueKind::Jsonb => Self::JSON,
            ValueKind::Timestamp => Self::Named("DATETIME"),
            ValueKind::TimestampTz => Self::Named("DATETIMETZ"),
            // As the dialect of SQLAlchemy sends a time in its own zone.
            ValueKind::Opaque => {
                let is_zoned = value.with_opaque(|name, _| name.eq_ignore_ascii_case("datetimetz"));
                if is_zoned.unwrap_or(false) { Self::Named("DATETIMETZ") } else { Self::Other }
            }
            _ => Self::Other,
        }
    }

    fn numeric<V: Value>(value: &V) -> Self {
        let found = value.with_decimal(|text| {
            let plain = plain_decimal(text).ok()?;
            let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
            let whole = whole.trim_start_matches(['-', '0']).len();
            Some(Self::Numeric { whole, fraction: fraction.len() })
        });
        found.ok().flatten().unwrap_or(Self::Other)
    }

    /// The type that takes the values of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let numeric = |cast| match cast {
            Self::Integer => Some((10, 0)),
            Self::Bigint => Some((19, 0)),
            Self::Numeric { whole, fraction } => Some((whole, fraction)),
            _ => None,
        };
        match (self, other) {
            (Self::Null, cast) | (cast, Self::Null) => cast,
            (left, right) if left == right => left,
            (Self::Integer, Self::Bigint) | (Self::Bigint, Self::Integer) => Self::Bigint,
            (Self::Double, cast) | (cast, Self::Double) if numeric(cast).is_some() => Self::Double,
            (left, right) => match (numeric(left), numeric(right)) {
                (Some(left), Some(right)) => {
                    let (whole, fraction) = (left.0.max(right.0), left.1.max(right.1));
                    if whole + fraction > DIGITS { Self::Double } else { Self::Numeric { whole, fraction } }
                }
                _ => Self::Other,
            },
        }
    }

    /// The type that takes the values of both as operands, none of which may lose digits: `Other` if there is none.
    #[must_use]
    pub fn with_operand(self, other: Self) -> Self {
        let is_exact = |cast| matches!(cast, Self::Bigint | Self::Numeric { .. });
        match self.with(other) {
            Self::Double if is_exact(self) || is_exact(other) => Self::Other,
            cast => cast,
        }
    }

    /// What is written for a parameter; `None` if it stays as it is.
    pub fn written(self) -> Option<String> {
        match self {
            // With another result that is a literal it has the type of one. CHAR(n) would make a statement of each
            // combination of lengths, and pads a result of NULLIF to the longest; DECODE in a DECODE ends the CAS.
            Self::Literal => Some("(CASE WHEN 1=1 THEN ? ELSE 'x' END)".into()),
            // Some other functions are refused beside another character set, and a query in a condition of JOIN.
            Self::Inconstant => Some("NVL2(RAND(), ?, '')".into()),
            cast => cast.name().map(|name| format!("CAST(? AS {name})")),
        }
    }

    /// Its name in CAST; `None` if there is no type to write.
    pub fn name(self) -> Option<String> {
        Some(match self {
            Self::Null | Self::Other | Self::Literal | Self::Inconstant => return None,
            Self::Integer => "INTEGER".into(),
            Self::Bigint => "BIGINT".into(),
            Self::Numeric { whole, fraction } => format!("NUMERIC({}, {fraction})", (whole + fraction).max(1)),
            Self::Double => "DOUBLE".into(),
            Self::Named(name) => name.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_testkit::TestValue as V;

    #[test]
    fn values_of_several_types_have_one_that_takes_all() {
        let money = Cast::Numeric { whole: 5, fraction: 2 };
        let date = Cast::Named("DATE");
        for (left, right, expected) in [
            (Cast::Null, Cast::Integer, Some("INTEGER")),
            (Cast::Integer, Cast::Bigint, Some("BIGINT")),
            (Cast::Integer, money, Some("NUMERIC(12, 2)")),
            (Cast::Numeric { whole: 0, fraction: 3 }, Cast::Null, Some("NUMERIC(3, 3)")),
            (money, Cast::Numeric { whole: 1, fraction: 34 }, Some("DOUBLE")),
            (money, Cast::Double, Some("DOUBLE")),
            (date, date, Some("DATE")),
            (date, Cast::Integer, None),
            (date, Cast::Other, None),
            (Cast::Null, Cast::Null, None),
            (Cast::Literal, Cast::Integer, None),
        ] {
            assert_eq!(left.with(right).name().as_deref(), expected);
            assert_eq!(right.with(left).name().as_deref(), expected);
        }
    }

    #[test]
    fn what_is_written_is_the_same_for_texts_of_all_lengths() {
        assert_eq!(
            Cast::Literal.with(Cast::Literal).with(Cast::Null).written().as_deref(),
            Some("(CASE WHEN 1=1 THEN ? ELSE 'x' END)")
        );
        assert_eq!(Cast::Null.with(Cast::Inconstant).written().as_deref(), Some("NVL2(RAND(), ?, '')"));
        assert_eq!(Cast::Double.written().as_deref(), Some("CAST(? AS DOUBLE)"));
        assert_eq!(Cast::Null.written(), None);
        let rows = [V::from("a"), V::Null, V::from("abc")].map(|value| Cast::beside(&value, Beside::List));
        assert_eq!(rows.into_iter().fold(Cast::Null, Cast::with), Cast::Literal);
    }

    #[test]
    fn what_may_be_like_the_empty_text_is_no_constant() {
        let written = |value: V, beside: Beside| Cast::beside(&value, beside).written();
        let inconstant = Some("NVL2(RAND(), ?, '')");
        for beside in [Beside::Pattern, Beside::TypedPattern] {
            for (value, expected) in
                [(V::Null, inconstant), (V::from(""), inconstant), (V::from("%%"), inconstant), (V::from("a%"), None)]
            {
                assert_eq!(written(value, beside).as_deref(), expected);
            }
        }
        assert_eq!(written(V::Int(5), Beside::Pattern), None);
        assert_eq!(written(V::Int(5), Beside::TypedPattern).as_deref(), Some("CAST(? AS INTEGER)"));
        let rows = [V::Null, V::from("a%"), V::from("%")].map(|value| Cast::beside(&value, Beside::Pattern));
        assert_eq!(rows.into_iter().fold(Cast::Null, Cast::with).written().as_deref(), inconstant);
        assert_eq!(rows.into_iter().fold(Cast::Null, Cast::with_operand).written().as_deref(), inconstant);
    }

    #[test]
    fn operands_lose_no_digits() {
        let money = Cast::Numeric { whole: 5, fraction: 2 };
        for (left, right, expected) in [
            (Cast::Integer, Cast::Double, Some("DOUBLE")),
            (Cast::Double, Cast::Double, Some("DOUBLE")),
            (Cast::Integer, money, Some("NUMERIC(12, 2)")),
            (Cast::Bigint, Cast::Double, None),
            (money, Cast::Double, None),
            (money, Cast::Numeric { whole: 1, fraction: 34 }, None),
            (Cast::Other, Cast::Double, None),
            (Cast::Null, Cast::Bigint, Some("BIGINT")),
        ] {
            assert_eq!(left.with_operand(right).name().as_deref(), expected);
            assert_eq!(right.with_operand(left).name().as_deref(), expected);
        }
    }
}
