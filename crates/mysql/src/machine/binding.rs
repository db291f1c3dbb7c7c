//! The types that a prepared statement's parameters are bound to.
//!
//! Since 8.0.22 MySQL fixes the types of parameters when it prepares a statement. For some values of other types it
//! prepares the statement again by itself; other values it converts to the types of the values before, silently: after
//! 1.5, `SELECT ?` makes 0.0 of 'x'. The result of a statement would depend on earlier executions, so it is not
//! executed again with values of another type family. MySQL: "PREPARE Statement"; MariaDB fixes nothing.
//!
//! The type of a parameter that is compared with a column is that of the column. A value of another family is converted
//! otherwise than a literal: text for a column of dates that is no date, a time for a column of text, a number for a YEAR
//! (9.7 is one). It is written as a literal. So is text that is stored in a column of numbers, bits or times: MySQL
//! converts it to that type, also after another session has made the column one of text ("007" becomes "7"). And so are
//! numbers for times: 2**64 - 1 would be a second before midnight; and times for numbers, which are bound as text. Of a text
//! of twelve bytes MySQL would make a VECTOR(3). A number with a fraction that is compared with integers is written, as MySQL
//! rounds it where it takes the condition into the queries of a UNION, of a view as well; and bytes that are not UTF-8 where
//! they are compared with text: it would leave out what it cannot read, and find '' for them, where the literal is refused.
//! A fraction of a second that is compared with a TIME or a DATE is written: it would be rounded to a TIME's decimals, so that
//! it equals another time.
//!
//! The parameter has the character set of its column, too, and text with a character that this one lacks is refused
//! (error 3988), where a literal is compared, or is stored by the SQL mode. Nothing reports the character set before:
//! once a statement has been refused for it, text that is not ASCII is written as literals.

use crate::packets::column::{BINARY_COLLATION, Column};
use crate::sql::{Insert, Modes, Placement, placements, verb};
use crate::types::{ColumnType, Destination};
use headrace_core::{Parameters, Value, ValueKind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first MySQL that settles types.
pub(super) const SETTLES_TYPES: (u16, u16, u16) = (8, 0, 22);

/// Values that a bound parameter takes without converting them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Integer,
    Float,
    Decimal,
    Text,
    Date,
    Datetime,
    Time,
}

impl Family {
    /// `None` for NULL, which every type has, and for values that are refused anyway.
    fn of<V: Value>(value: &V) -> Option<Self> {
        match value.kind() {
            ValueKind::Int => match value.int() {
                Ok(_) => Some(Self::Integer),
                // As `encode_param` sends it.
                Err(_) => {
                    let unsigned = value.with_decimal(|text| text.parse::<u64>().is_ok()).ok()?;
                    Some(if unsigned { Self::Integer } else { Self::Decimal })
                }
            },
            ValueKind::Bool | ValueKind::Bits => Some(Self::Integer),
            ValueKind::Float => Some(Self::Float),
            ValueKind::Decimal => Some(Self::Decimal),
            ValueKind::Date => Some(Self::Date),
            ValueKind::Timestamp => Some(Self::Datetime),
            ValueKind::Time | ValueKind::Interval => Some(Self::Time),
            ValueKind::Null => None,
            _ => Some(Self::Text),
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Float | Self::Decimal)
    }

    /// Returns true if a value is stored in a column as its literal is; the parameter has got this type for it.
    fn is_stored_as(self, kind: ColumnType) -> bool {
        match kind {
            ColumnType::DATE | ColumnType::DATETIME | ColumnType::TIMESTAMP | ColumnType::TIME => {
                self != Self::Text && !self.is_number()
            }
            ColumnType::BIT | ColumnType::YEAR => self.is_number() || self == Self::Date,
            kind => self.is_number() || self == Self::Date || !is_of_numbers(kind),
        }
    }

    /// Returns true if a value is compared with a column as its literal is; the parameter has got this type for it.
    fn is_compared_as(self, kind: ColumnType) -> bool {
        match kind {
            kind if is_of_integers(kind) => self == Self::Integer,
            kind if is_of_numbers(kind) => self.is_number(),
            ColumnType::VARCHAR | ColumnType::VAR_STRING | ColumnType::STRING => self == Self::Text,
            ColumnType::TINY_BLOB | ColumnType::MEDIUM_BLOB | ColumnType::LONG_BLOB | ColumnType::BLOB => {
                self == Self::Text
            }
            ColumnType::DATE | ColumnType::DATETIME | ColumnType::TIMESTAMP => {
                matches!(self, Self::Date | Self::Datetime)
            }
            ColumnType::TIME => self == Self::Time,
            _ => false,
        }
    }
}

/// Returns true for the types of integers; YEAR and BIT are no such.
fn is_of_integers(kind: ColumnType) -> bool {
    matches!(kind, ColumnType::TINY | ColumnType::SHORT | ColumnType::INT24 | ColumnType::LONG | ColumnType::LONGLONG)
}

/// Returns true for the types of integers, floats and decimals.
fn is_of_numbers(kind: ColumnType) -> bool {
    is_of_integers(kind) || matches!(kind, ColumnType::FLOAT | ColumnType::DOUBLE | ColumnType::NEWDECIMAL)
}

/// What the server reports of a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub kind: ColumnType,
    /// It is of bytes, or of no text at all.
    pub is_binary: bool,
}

impl Expected {
    pub fn new(field: &Column) -> Self {
        Self { kind: field.kind, is_binary: field.collation == BINARY_COLLATION }
    }
}

/// How a row of parameters is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// Bound to the statement.
    Bound,
    /// Bound to the statement once that was prepared again.
    Again,
    /// As literals.
    Written,
}

/// The families of the values that a statement was last executed with.
#[derive(Debug)]
pub(super) struct Binding {
    families: Mutex<Vec<Option<Family>>>,
    /// Every parameter is the value of a column, and gets its type: any number is accepted unchanged.
    stored: bool,
    /// It is the call of a procedure: callproc() binds what is an argument.
    calls: bool,
    /// What the statement does with each parameter; empty if that is more than to store it or to compare it.
    placements: Vec<Placement>,
    /// The types that the server has given the parameters.
    expected: Vec<Expected>,
    /// A text was refused for the character set of its parameter.
    is_narrow: AtomicBool,
}

/// Returns true for text that may have characters beyond ASCII.
fn is_beyond_ascii<V: Value>(value: &V) -> bool {
    let is_ascii = match value.kind() {
        ValueKind::Text => value.with_text(<[u8]>::is_ascii),
        ValueKind::Json | ValueKind::Jsonb => value.with_json(<[u8]>::is_ascii),
        ValueKind::Custom | ValueKind::Other => Ok(false),
        _ => Ok(true),
    };
    // A value that is refused is refused in any case.
    matches!(is_ascii, Ok(false))
}

/// Returns true if bytes are text, or are refused anyway.
fn is_utf8<V: Value>(value: &V) -> bool {
    value.with_bytes(|bytes| std::str::from_utf8(bytes).is_ok()).unwrap_or(true)
}

/// Returns true if a time has a fraction of a second; false if it is refused anyway.
fn has_fraction<V: Value>(value: &V) -> bool {
    let micros = match value.kind() {
        ValueKind::Time => value.time(),
        ValueKind::Timestamp => value.timestamp(),
        ValueKind::Interval => value.interval().map(|(_, _, micros)| micros),
        _ => Ok(0),
    };
    micros.is_ok_and(|micros| micros % 1_000_000 != 0)
}

impl Binding {
    /// That of a statement that nothing was executed with.
    pub fn new(sql: &str, modes: Modes, expected: Vec<Expected>) -> Self {
        let stored = Insert::new(sql, modes).is_some_and(|insert| insert.is_bare());
        let placements = placements(sql, modes).unwrap_or_default();
        let calls = verb(sql).is_none_or(|verb| verb.eq_ignore_ascii_case("call"));
        Self { families: Mutex::default(), stored, calls, placements, expected, is_narrow: AtomicBool::new(false) }
    }

    /// A text was refused for the character set of its parameter.
    pub fn narrow(&self) {
        self.is_narrow.store(true, Ordering::Relaxed);
    }

    /// Where the value of parameter `at` goes: a value of a column has got its type.
    pub fn target(&self, at: usize) -> Destination {
        match self.expected.get(at).map(|expected| expected.kind) {
            _ if self.placements.get(at) != Some(&Placement::Stored) => Destination::Expression,
            Some(
                ColumnType::VARCHAR
                | ColumnType::VAR_STRING
                | ColumnType::STRING
                | ColumnType::TINY_BLOB
                | ColumnType::MEDIUM_BLOB
                | ColumnType::LONG_BLOB
                | ColumnType::BLOB,
            ) => Destination::Text,
            _ => Destination::Column,
        }
    }

    /// How a row is sent; notes its types if it is bound.
    pub fn sending<P: Parameters>(&self, row: &P) -> Sending {
        if self.is_narrow.load(Ordering::Relaxed)
            && (0..row.count()).any(|at| row.get(at).is_ok_and(|value| is_beyond_ascii(&value)))
        {
            return Sending::Written;
        }
        let Ok(mut bound) = self.families.lock() else { return Sending::Again };
        if bound.len() < row.count() {
            bound.resize(row.count(), None);
        }
        for (at, bound) in bound.iter_mut().enumerate().take(row.count()) {
            let Ok(value) = row.get(at) else { continue };
            let Some(family) = Family::of(&value) else { continue };
            // A list is refused, where it is no VECTOR: of a literal the server does not report what it expects.
            let kind = value.kind();
            if !matches!(kind, ValueKind::List | ValueKind::Record) && !self.keeps(at, family, kind) {
                return Sending::Written;
            }
            if kind == ValueKind::Bytes && self.is_compared_with_text(at) && !is_utf8(&value) {
                return Sending::Written;
            }
            if self.is_compared_with_a_short_time(at) && has_fraction(&value) {
                return Sending::Written;
            }
            let taken = bound.is_none_or(|bound| {
                let number = self.stored && bound.is_number() && family.is_number();
                bound == family || number
            });
            if !taken {
                return Sending::Again;
            }
            *bound = Some(family);
        }
        Sending::Bound
    }

    /// Returns true if a value of this family means bound to parameter `at` what its literal would mean there.
    fn keeps(&self, at: usize, family: Family, kind: ValueKind) -> bool {
        let expected = self.expected.get(at).map(|expected| expected.kind);
        match (self.placements.get(at), expected) {
            (Some(Placement::Compared), Some(kind)) => family.is_compared_as(kind),
            (Some(Placement::Stored), Some(ColumnType::VECTOR)) => kind == ValueKind::Bytes,
            (Some(Placement::Stored), Some(kind)) if !self.calls => family.is_stored_as(kind),
            _ => true,
        }
    }

    /// Returns true if parameter `at` is compared with a TIME or a DATE, whose decimals may be fewer than those of a value.
    fn is_compared_with_a_short_time(&self, at: usize) -> bool {
        self.compared(at).is_some_and(|expected| matches!(expected.kind, ColumnType::TIME | ColumnType::DATE))
    }

    fn is_compared_with_text(&self, at: usize) -> bool {
        self.compared(at).is_some_and(|expected| !expected.is_binary)
    }

    /// What parameter `at` is compared with, if it is.
    fn compared(&self, at: usize) -> Option<&Expected> {
        self.expected.get(at).filter(|_| self.placements.get(at) == Some(&Placement::Compared))
    }
}
