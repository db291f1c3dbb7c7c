//! The types that a prepared statement's parameters are bound to.
//!
//! Since 8.0.22 MySQL fixes the types of parameters when it prepares a statement. For some values of other types it
//! prepares the statement again by itself; other values it converts to the types of the values before, silently: after
//! 1.5, `SELECT ?` makes 0.0 of 'x'. The result of a statement would depend on earlier executions, so it is not
//! executed again with values of another type family. MySQL: "PREPARE Statement"; MariaDB fixes nothing.

use crate::sql::{Insert, Lexer, Modes};
use headrace_core::{Parameters, Value, ValueKind};
use std::sync::Mutex;

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
}

/// The families of the values that a statement was last executed with.
#[derive(Debug)]
pub(super) struct Binding {
    families: Mutex<Vec<Option<Family>>>,
    /// Every parameter is the value of a column, and gets its type: any number is accepted unchanged.
    stored: bool,
    /// Parameters may be values of columns that are text.
    writes: bool,
}

impl Binding {
    /// That of a statement that nothing was executed with.
    pub fn new(sql: &str, modes: Modes) -> Self {
        let stored = Insert::new(sql, modes).is_some_and(|insert| insert.is_bare());
        let verb = Lexer::new(sql, modes).next().map_or("", |word| &sql[word.start..word.end]);
        let writes = stored || verb.eq_ignore_ascii_case("update") || verb.eq_ignore_ascii_case("call");
        Self { families: Mutex::default(), stored, writes }
    }

    /// Returns true if parameters may be values of columns of text, in which MySQL stores timestamps without their
    /// fraction.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Returns true if the statement can be executed with a row; notes its types if so.
    pub fn takes<P: Parameters>(&self, row: &P) -> bool {
        let Ok(mut bound) = self.families.lock() else { return false };
        if bound.len() < row.count() {
            bound.resize(row.count(), None);
        }
        for (i, bound) in bound.iter_mut().enumerate().take(row.count()) {
            let Some(family) = row.get(i).ok().and_then(|value| Family::of(&value)) else { continue };
            let taken = bound.is_none_or(|bound| {
                let number = self.stored && bound.is_number() && family.is_number();
                bound == family || number
            });
            if !taken {
                return false;
            }
            *bound = Some(family);
        }
        true
    }
}
