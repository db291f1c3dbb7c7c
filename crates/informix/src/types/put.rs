//! Rows of an insert cursor: values in the columns' own form, as a row that is fetched has them.
//!
//! The server converts nothing here. A value is put only if its form in the column is the one that the server's own
//! conversion would produce; all others are sent with SQ_BIND, where the server converts, or reports why it does not.

use super::packed::{self, Packed};
use super::{DATE_EPOCH, code, encode, extended, packed_width, qualifier};
use crate::codeset::CodeSet;
use crate::limits;
use crate::messages::client::ReturnType;
use crate::messages::server::Field;
use headrace_core::civil::{self, DAY_MICROS};
use headrace_core::{Parameters, Value, ValueKind};

/// Whole numbers up to here are exact as FLOAT.
const FLOAT_INTEGERS: u64 = 1 << 53;
/// The maximum length of LVARCHAR in bytes.
const LVARCHAR_BYTES: usize = 32_739;

/// The form of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Char(usize),
    VarChar(usize),
    LVarChar(usize),
    Boolean,
    SmallInt,
    Int,
    BigInt,
    Int8,
    Float,
    SmallFloat,
    /// Bytes, digits, and those after the point if they are fixed.
    Decimal(usize, i32, Option<i32>),
    Date,
    DateTime(Qualifier),
    Interval(Qualifier),
}

/// The qualifier of a DATETIME or INTERVAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Qualifier {
    digits: u8,
    first: u8,
    last: u8,
    width: usize,
}

impl Qualifier {
    fn new(length: i32) -> Self {
        let [high, low] = [(length >> 8) as u8, length as u8];
        Self { digits: high, first: low >> 4, last: low & 15, width: packed_width(length) }
    }

    /// The position of the point, counted in pairs.
    fn exponent(self) -> i32 {
        (i32::from(self.digits) + 11 - i32::from(self.last)) / 2
    }

    /// Ticks of ten microseconds that its last part counts; only for SECOND and finer.
    fn ticks(self) -> i64 {
        10i64.pow(5 - u32::from(self.last.saturating_sub(qualifier::SECOND)))
    }

    /// Appends pairs; those that do not fit must be zero.
    fn write(self, out: &mut Vec<u8>, negative: bool, pairs: &[u8]) -> bool {
        let (kept, lost) = pairs.split_at(pairs.len().min(self.width - 1));
        if lost.iter().any(|pair| *pair != 0) {
            return false;
        }
        let start = out.len();
        packed::write(out, negative, self.exponent(), kept);
        out.resize(start + self.width, 0);
        true
    }
}

/// The encoder of the rows of one INSERT for SQ_PUT.
#[derive(Debug)]
pub struct Plan {
    forms: Vec<Form>,
    /// The description of the rows for SQ_RET_TYPE.
    pub types: Vec<ReturnType>,
    /// Wide CHAR columns would travel with all their blanks, which is more than SQ_BIND takes.
    pub padded: bool,
}

impl Plan {
    /// The plan for a row of these columns, unless one of them is of a type that rows are not put in: BYTE, TEXT, smart
    /// large objects, collections, rows, and types that are made of others.
    pub fn new(columns: &[Field]) -> Option<Self> {
        let forms = columns.iter().map(form).collect::<Option<Vec<Form>>>()?;
        let blanks: usize = forms.iter().map(|form| if let Form::Char(width) = form { *width } else { 0 }).sum();
        let types = columns.iter().zip(&forms).map(|(field, form)| {
            let (type_code, owner, name) = match form {
                Form::LVarChar(_) => (code::LVARCHAR, "", ""),
                Form::Boolean => (code::BOOLEAN, "informix", "boolean"),
                _ => (field.type_word & 0xff, "", ""),
            };
            let length = if *form == Form::Boolean { 1 } else { field.length };
            ReturnType { type_code, owner: owner.into(), name: name.into(), length }
        });
        let types = types.collect();
        Some(Self { forms, types, padded: blanks > limits::PADDED_BYTES })
    }

    /// Appends one row; returns true if all of its values could be put. If not, what was appended must be removed.
    ///
    /// # Errors
    /// The error of the value.
    pub fn row<P: Parameters>(&self, params: &P, codeset: CodeSet, out: &mut Vec<u8>) -> Result<bool, P::Error> {
        if params.count() != self.forms.len() {
            return Ok(false);
        }
        for (i, form) in self.forms.iter().enumerate() {
            if !form.put(&params.get(i)?, codeset, out) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn form(field: &Field) -> Option<Form> {
    let length = field.length;
    let (high, low) = (length >> 8 & 0xff, length & 0xff);
    Some(match field.type_word & 0xff {
        _ if field.type_word & (code::DISTINCT | code::DISTINCT_LVARCHAR | code::DISTINCT_BOOLEAN) != 0 => return None,
        code::CHAR | code::NCHAR => Form::Char(usize::try_from(length).ok().filter(|length| *length > 0)?),
        code::VARCHAR | code::NVARCHAR => Form::VarChar(low as usize),
        code::SMALLINT => Form::SmallInt,
        code::INTEGER | code::SERIAL => Form::Int,
        code::BIGINT | code::BIGSERIAL => Form::BigInt,
        code::INT8 | code::SERIAL8 => Form::Int8,
        code::FLOAT => Form::Float,
        code::SMALLFLOAT => Form::SmallFloat,
        code::DECIMAL | code::MONEY => Form::Decimal(packed_width(length), high, (low != 255).then_some(low)),
        code::DATE => Form::Date,
        code::DATETIME => Form::DateTime(Qualifier::new(length)),
        code::INTERVAL => Form::Interval(Qualifier::new(length)),
        code::LVARCHAR => Form::LVarChar(lvarchar_room(length)),
        code::BOOLEAN => Form::Boolean,
        _ => match field.extended_id {
            extended::LVARCHAR => Form::LVarChar(lvarchar_room(length)),
            extended::BOOLEAN => Form::Boolean,
            _ => return None,
        },
    })
}

/// The maximum length in bytes of an LVARCHAR of this described length.
fn lvarchar_room(length: i32) -> usize {
    usize::try_from(length).ok().filter(|length| (1..=LVARCHAR_BYTES).contains(length)).unwrap_or(LVARCHAR_BYTES)
}

impl Form {
    /// Appends a value; returns true if it can be put.
    fn put<V: Value>(self, value: &V, codeset: CodeSet, out: &mut Vec<u8>) -> bool {
        let kind = value.kind();
        match (self, kind) {
            (_, ValueKind::Null) => {
                self.null(out);
                true
            }
            (Self::SmallInt | Self::Int | Self::BigInt | Self::Int8, ValueKind::Int) => {
                value.int().is_ok_and(|number| self.integer(number, out))
            }
            (Self::SmallInt | Self::Int | Self::BigInt | Self::Int8, ValueKind::Bool) => {
                value.bool().is_ok_and(|truth| self.integer(truth.into(), out))
            }
            (Self::Float, ValueKind::Float) => value.float().is_ok_and(|number| float(number, out)),
            (Self::Float, ValueKind::Int) => {
                value.int().is_ok_and(|number| number.unsigned_abs() <= FLOAT_INTEGERS && float(number as f64, out))
            }
            (Self::SmallFloat, ValueKind::Float) => value.float().is_ok_and(|number| {
                let single = number as f32;
                out.extend_from_slice(&single.to_be_bytes());
                single.is_finite()
            }),
            (Self::Decimal(width, digits, scale), ValueKind::Decimal | ValueKind::Int) => {
                value.with_decimal(|text| decimal(text, width, digits, scale, out)).unwrap_or(false)
            }
            (Self::Char(_) | Self::VarChar(_) | Self::LVarChar(_), ValueKind::Text) => {
                value.with_text(|utf8| self.text(utf8, codeset, out)).unwrap_or(false)
            }
            (Self::Boolean, ValueKind::Bool) => value.bool().is_ok_and(|truth| {
                out.extend_from_slice(&[0, 0, 0, 0, 1, u8::from(truth)]);
                true
            }),
            (Self::Date, ValueKind::Date) => value.date().is_ok_and(|days| {
                let counted = days.checked_add(DATE_EPOCH).filter(|_| days != i32::MAX && days != i32::MIN);
                counted.is_some_and(|days| {
                    out.extend_from_slice(&days.to_be_bytes());
                    true
                })
            }),
            (Self::DateTime(qualifier), ValueKind::Timestamp) => {
                value.timestamp().is_ok_and(|micros| timestamp(micros, qualifier, out))
            }
            (Self::DateTime(qualifier), ValueKind::Date) => {
                value.date().is_ok_and(|days| timestamp(i64::from(days) * DAY_MICROS, qualifier, out))
            }
            (Self::DateTime(qualifier), ValueKind::Time) => {
                value.time().is_ok_and(|micros| time(micros, qualifier, out))
            }
            (Self::Interval(qualifier), ValueKind::Interval) => {
                value.interval().is_ok_and(|(months, days, micros)| interval(months, days, micros, qualifier, out))
            }
            _ => false,
        }
    }

    fn null(self, out: &mut Vec<u8>) {
        match self {
            Self::Char(width) => {
                out.push(0);
                out.resize(out.len() + width - 1, b' ');
            }
            Self::VarChar(_) => out.extend_from_slice(&[1, 0]),
            Self::LVarChar(_) | Self::Boolean => out.extend_from_slice(&[1, 0, 0, 0, 0]),
            Self::SmallInt => out.extend_from_slice(&i16::MIN.to_be_bytes()),
            Self::Int | Self::Date => out.extend_from_slice(&i32::MIN.to_be_bytes()),
            Self::BigInt => out.extend_from_slice(&i64::MIN.to_be_bytes()),
            Self::Int8 => out.extend_from_slice(&[0; 10]),
            Self::Float => out.extend_from_slice(&[0xff; 8]),
            Self::SmallFloat => out.extend_from_slice(&[0xff; 4]),
            Self::Decimal(width, ..) => out.resize(out.len() + width, 0),
            Self::DateTime(qualifier) | Self::Interval(qualifier) => out.resize(out.len() + qualifier.width, 0),
        }
    }

    /// The smallest number of each type represents NULL.
    fn integer(self, value: i64, out: &mut Vec<u8>) -> bool {
        match self {
            Self::SmallInt => match i16::try_from(value) {
                Ok(small) if small != i16::MIN => out.extend_from_slice(&small.to_be_bytes()),
                _ => return false,
            },
            Self::Int => match i32::try_from(value) {
                Ok(small) if small != i32::MIN => out.extend_from_slice(&small.to_be_bytes()),
                _ => return false,
            },
            _ if value == i64::MIN => return false,
            Self::BigInt => out.extend_from_slice(&value.to_be_bytes()),
            _ => super::write_int8(value, out),
        }
        true
    }

    fn text(self, utf8: &[u8], codeset: CodeSet, out: &mut Vec<u8>) -> bool {
        let Ok(bytes) = codeset.encode(utf8) else { return false };
        if bytes.contains(&0) {
            return false;
        }
        let room = match self {
            Self::Char(room) | Self::VarChar(room) | Self::LVarChar(room) => room,
            _ => LVARCHAR_BYTES,
        };
        // Only blanks may be lost.
        let (kept, lost) = bytes.split_at(bytes.len().min(room));
        if lost.iter().any(|byte| *byte != b' ') {
            return false;
        }
        match self {
            Self::Char(width) => {
                out.extend_from_slice(kept);
                out.resize(out.len() + width - kept.len(), b' ');
            }
            Self::VarChar(_) => {
                out.push(kept.len() as u8);
                out.extend_from_slice(kept);
            }
            _ => {
                out.push(0);
                out.extend_from_slice(&(kept.len() as u32).to_be_bytes());
                out.extend_from_slice(kept);
            }
        }
        true
    }
}

fn float(number: f64, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&number.to_be_bytes());
    number.is_finite()
}

/// Nothing may be rounded: that is the server's to do.
fn decimal(text: &str, width: usize, digits: i32, scale: Option<i32>, out: &mut Vec<u8>) -> bool {
    let Ok(number) = packed::decimal(text) else { return false };
    let Ok(Some(value)) = Packed::read(&number.packed) else { return false };
    let (whole, fraction) = value.digits();
    let fits = match scale {
        Some(scale) => fraction <= scale && whole <= digits - scale,
        None => whole + fraction <= digits,
    };
    if !fits || number.packed.len() > width {
        return false;
    }
    let start = out.len();
    out.extend_from_slice(&number.packed);
    out.resize(start + width, 0);
    true
}

fn timestamp(micros: i64, qualifier: Qualifier, out: &mut Vec<u8>) -> bool {
    let (days, clock) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
    let (year, month, day) = civil::civil_from_days(days);
    if qualifier.first != qualifier::YEAR || !(1..=9999).contains(&year) || clock % 10 != 0 {
        return false;
    }
    let mut pairs = [0; 10];
    pairs[..4].copy_from_slice(&[(year / 100) as u8, (year % 100) as u8, month as u8, day as u8]);
    pairs[4..].copy_from_slice(&encode::clock(clock / 10));
    // A year alone begins on the first of January, and a zero would be no month.
    let lost = match qualifier.last {
        qualifier::YEAR => month > 1 || day > 1,
        qualifier::MONTH => day > 1,
        _ => false,
    };
    for (part, pair) in [(qualifier::YEAR, 2), (qualifier::MONTH, 3)] {
        if qualifier.last <= part {
            pairs[pair] = 0;
        }
    }
    !lost && clock / 10 % qualifier.ticks() == 0 && qualifier.write(out, false, &pairs)
}

fn time(micros: i64, qualifier: Qualifier, out: &mut Vec<u8>) -> bool {
    qualifier.first == qualifier::HOUR
        && micros % 10 == 0
        && micros / 10 % qualifier.ticks() == 0
        && qualifier.write(out, false, &encode::clock(micros / 10))
}

fn interval(months: i32, days: i32, micros: i64, qualifier: Qualifier, out: &mut Vec<u8>) -> bool {
    let Qualifier { digits, first, last, .. } = qualifier;
    if first > qualifier::SECOND || last < first {
        return false;
    }
    // The parts after the leading one have two digits each, and a fraction has its own number of digits.
    let after = last.min(qualifier::SECOND) - first + last.saturating_sub(qualifier::SECOND);
    let Some(lead) = digits.checked_sub(after).filter(|lead| (1..=9).contains(lead)) else { return false };
    let total = i128::from(days) * i128::from(DAY_MICROS) + i128::from(micros);
    let (negative, value, parts): (bool, u64, Vec<u8>) = if first <= qualifier::MONTH {
        if total != 0 {
            return false;
        }
        let months_all = u64::from(months.unsigned_abs());
        match first {
            qualifier::YEAR => (months < 0, months_all / 12, vec![(months_all % 12) as u8]),
            _ => (months < 0, months_all, Vec::new()),
        }
    } else {
        let Ok(ticks) = u64::try_from(total.unsigned_abs() / 10) else { return false };
        if months != 0 || total % 10 != 0 || ticks % qualifier.ticks().unsigned_abs() != 0 {
            return false;
        }
        let unit = match first {
            qualifier::DAY => 8_640_000_000,
            qualifier::HOUR => 360_000_000,
            qualifier::MINUTE => 6_000_000,
            _ => 100_000,
        };
        let clock = encode::clock((ticks % 8_640_000_000) as i64);
        let from = match first {
            qualifier::DAY => 0,
            qualifier::HOUR => 1,
            qualifier::MINUTE => 2,
            _ => 3,
        };
        (total < 0, ticks / unit, clock[from..].to_vec())
    };
    if value >= 10u64.pow(lead.into()) {
        return false;
    }
    let mut pairs = encode::leading(value, lead);
    pairs.extend(parts);
    qualifier.write(out, negative, &pairs)
}
