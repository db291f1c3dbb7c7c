//! Errors as the broker's workers report them: an indicator, a code and a text.

use std::fmt;

/// Where a code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The broker or its worker (CAS): codes of -10000 and below.
    Cas,
    /// The database.
    Server,
}

/// An error reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where the code comes from.
    pub origin: Origin,
    /// The code, negative.
    pub code: i32,
    /// The text, which is empty for errors of the CAS.
    pub text: String,
}

/// The result of code that can fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Codes of the CAS.
pub mod cas {
    /// A message that cannot be read.
    pub const COMMUNICATION: i32 = -10003;
    /// An argument that cannot be used.
    pub const ARGUMENTS: i32 = -10004;
    /// No handle of this number.
    pub const HANDLE: i32 = -10006;
    /// The number of values differs from the number of markers.
    pub const BINDS: i32 = -10007;
    /// A type that cannot be bound.
    pub const BIND_TYPE: i32 = -10008;
    /// No parameter of this number.
    pub const PARAMETER: i32 = -10011;
    /// No result, or no more of it.
    pub const NO_MORE_DATA: i32 = -10012;
    /// A schema type that does not exist.
    pub const SCHEMA_TYPE: i32 = -10015;
    /// The hello is not one.
    pub const NOT_AUTHORISED: i32 = -10018;
    /// Nothing to cancel.
    pub const CANCEL: i32 = -10019;
    /// No further result.
    pub const NO_MORE_RESULT: i32 = -10022;
    /// The statement must be prepared again.
    pub const STATEMENT_POOLING: i32 = -10024;
    /// Too many prepared statements.
    pub const TOO_MANY_STATEMENTS: i32 = -10026;
    /// Holdable and updatable at once.
    pub const HOLDABLE: i32 = -10027;
    /// Not implemented.
    pub const NOT_IMPLEMENTED: i32 = -10100;
    /// A position of CURSOR outside of the result.
    pub const CURSOR_POSITION: i32 = -10102;
    /// TLS where none is spoken, or the other way round.
    pub const TLS: i32 = -10103;
}

impl Error {
    /// An error of the CAS, which has no text.
    pub fn cas(code: i32) -> Self {
        Self { origin: Origin::Cas, code, text: String::new() }
    }

    /// An error of the database.
    pub fn server(code: i32, text: impl Into<String>) -> Self {
        Self { origin: Origin::Server, code, text: text.into() }
    }

    /// -493.
    pub fn syntax(text: impl fmt::Display) -> Self {
        Self::server(-493, format!("Syntax: {text}"))
    }

    /// -494.
    pub fn semantic(text: impl fmt::Display) -> Self {
        Self::server(-494, format!("Semantic: {text}"))
    }

    /// -4: cancelled, or out of time.
    pub fn interrupted() -> Self {
        Self::server(-4, "Has been interrupted.")
    }

    /// -181: a value that its new type has no place for.
    pub fn coerce(from: &str, to: &str) -> Self {
        Self::server(-181, format!("Cannot coerce value of domain \"{from}\" to domain \"{to}\"."))
    }

    /// -427: a number too large for its type.
    pub fn overflow(ty: &str) -> Self {
        Self::server(-427, format!("Data overflow on data type \"{ty}\"."))
    }

    /// -539.
    pub fn zero() -> Self {
        Self::server(-539, "Attempt to divide by zero.")
    }

    /// The form in which an error passes through SQLite, from one of this server's functions.
    pub fn through_sqlite(&self) -> rusqlite::Error {
        rusqlite::Error::UserFunctionError(format!("CUB:{}:{}", self.code, self.text).into())
    }

    /// Reads back the result of [`Error::through_sqlite`].
    pub fn from_sqlite_text(message: &str) -> Option<Self> {
        let (code, text) = message.strip_prefix("CUB:")?.split_once(':')?;
        let code = code.parse().ok()?;
        Some(if code <= -10000 { Self::cas(code) } else { Self::server(code, text) })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code, self.text)
    }
}

impl std::error::Error for Error {}
