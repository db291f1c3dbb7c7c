//! The meaning of a server's error, in terms that all databases share: SQLSTATEs, and PEP 249's classes.
//!
//! The conditions are those of PostgreSQL, which has SQLSTATEs for more of them than the standard. For a database with
//! its own error numbers, a table in its crate maps numbers to conditions.

mod conditions;

pub use conditions::*;
use std::borrow::Cow;
use std::fmt;

/// A SQLSTATE: two characters of its class, three of the condition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The SQLSTATE of five ASCII characters, for constants.
    const fn of(text: &str) -> Self {
        match text.as_bytes() {
            &[a, b, c, d, e] => Self([a, b, c, d, e]),
            _ => panic!("a SQLSTATE has five characters"),
        }
    }

    /// The SQLSTATE in the bytes that a server sent; `None` if they are not one.
    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; 5] = text.as_bytes().try_into().ok()?;
        code.iter().all(u8::is_ascii_alphanumeric).then_some(Self(code))
    }

    /// Its five characters.
    pub fn as_str(&self) -> &str {
        // They are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The name of the condition, if PostgreSQL's list has it.
    pub fn name(self) -> Option<&'static str> {
        let at = CONDITIONS.binary_search_by_key(&self, |(state, _)| *state).ok()?;
        Some(CONDITIONS[at].1)
    }

    /// Its class.
    pub fn class(self) -> ErrorClass {
        ErrorClass::of_sqlstate(self.as_str())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({self})")
    }
}

/// The classes of errors of a database in PEP 249, "Exceptions".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// None of the others.
    Database,
    /// A value does not fit.
    Data,
    /// The server or the connection failed, through no fault of the statement.
    Operational,
    /// A constraint was violated.
    Integrity,
    /// The database is in trouble.
    Internal,
    /// The statement, or its parameters, are wrong.
    Programming,
    /// The database does not support the feature.
    NotSupported,
}

impl ErrorClass {
    /// Its name in PEP 249.
    pub fn name(self) -> &'static str {
        match self {
            Self::Database => "DatabaseError",
            Self::Data => "DataError",
            Self::Operational => "OperationalError",
            Self::Integrity => "IntegrityError",
            Self::Internal => "InternalError",
            Self::Programming => "ProgrammingError",
            Self::NotSupported => "NotSupportedError",
        }
    }

    /// The error class of what a server sent as SQLSTATE, even a malformed one: by its first two characters, else by
    /// the first. Where psycopg maps it to a class, the class is the same, so that error handling can be ported.
    pub fn of_sqlstate(text: &str) -> Self {
        if text == INVALID_CATALOG_NAME.as_str() {
            // Unlike the other conditions of its class it occurs when connecting.
            return Self::Operational;
        }
        match text.get(..2).unwrap_or(text) {
            "08" | "27" | "28" | "2F" | "38" | "39" | "3B" | "40" | "53" | "54" | "55" | "57" | "58" => {
                Self::Operational
            }
            "22" => Self::Data,
            "23" => Self::Integrity,
            "09" | "24" | "25" | "2B" | "2D" => Self::Internal,
            "03" | "0L" | "0P" | "0Z" | "10" | "20" | "21" | "26" | "34" | "3D" | "3F" | "42" | "44" => {
                Self::Programming
            }
            "0A" => Self::NotSupported,
            other => match other.bytes().next() {
                Some(b'F' | b'H') => Self::Operational,
                Some(b'X') => Self::Internal,
                Some(b'P') => Self::Programming,
                _ => Self::Database,
            },
        }
    }
}

/// The meaning of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A condition that has a SQLSTATE.
    State(SqlState),
    /// One that has none: no more is known than its class.
    Class(ErrorClass),
}

impl Condition {
    /// The condition of what a server sent as SQLSTATE, even a malformed one.
    pub fn of_sqlstate(text: &str) -> Self {
        SqlState::parse(text).map_or_else(|| Self::Class(ErrorClass::of_sqlstate(text)), Self::State)
    }

    /// Its class.
    pub fn class(self) -> ErrorClass {
        match self {
            Self::State(state) => state.class(),
            Self::Class(class) => class,
        }
    }

    /// Its SQLSTATE, if it has one.
    pub fn sqlstate(self) -> Option<SqlState> {
        match self {
            Self::State(state) => Some(state),
            Self::Class(_) => None,
        }
    }
}

/// The parts of a server's error that all databases have.
pub trait Diagnostics {
    /// Its meaning. The SQLSTATE in it may be more specific than the one that the server sent.
    fn condition(&self) -> Condition;
    /// The message text.
    fn message(&self) -> Cow<'_, str>;

    /// The class of its condition.
    fn class(&self) -> ErrorClass {
        self.condition().class()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_every_condition_has_its_name() {
        assert!(CONDITIONS.is_sorted_by(|(a, _), (b, _)| a < b));
        assert_eq!(UNIQUE_VIOLATION.name(), Some("unique_violation"));
        assert_eq!(SqlState::parse("23ZZZ").and_then(SqlState::name), None);
    }

    #[test]
    fn each_sqlstate_has_the_class_of_its_first_characters() {
        use ErrorClass::*;
        for (text, class) in [
            ("08006", Operational),
            ("0A000", NotSupported),
            ("22012", Data),
            ("23505", Integrity),
            ("23ZZZ", Integrity),
            ("25P02", Internal),
            ("3D000", Operational),
            ("3D001", Programming),
            ("42P01", Programming),
            ("F1234", Operational),
            ("HV00R", Operational),
            ("P0001", Programming),
            ("XX000", Internal),
            ("01000", Database),
            ("", Database),
            ("22", Data),
            ("X", Internal),
            ("22é", Data),
            ("é", Database),
        ] {
            assert_eq!(ErrorClass::of_sqlstate(text), class, "{text:?}");
            assert_eq!(Condition::of_sqlstate(text).class(), class, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_a_sqlstate_is_not_taken_for_one() {
        for text in ["", "2350", "235055", "2350é", "23 05", "23é5"] {
            assert_eq!(SqlState::parse(text), None, "{text:?}");
        }
        assert_eq!(Condition::of_sqlstate("23505"), Condition::State(UNIQUE_VIOLATION));
    }
}
