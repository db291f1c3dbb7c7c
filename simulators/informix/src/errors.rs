//! Errors as the server reports them: sqlcode, isam code, the place in the statement, and the near token.

use std::fmt;

/// One SQ_ERR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The sqlcode, negative.
    pub code: i16,
    /// The isam code, zero if there is none.
    pub isam: i16,
    /// The position in the statement, counted from 1 in characters; 0 for none.
    pub offset: i32,
    /// The parameter of the message (a table, a constraint, a token), not the message: clients look that up.
    pub text: String,
}

/// The result of code that can fail with an [`SqlError`].
pub type Result<T> = std::result::Result<T, SqlError>;

impl SqlError {
    /// An error without isam code and place.
    pub fn new(code: i16, text: impl Into<String>) -> Self {
        Self { code, isam: 0, offset: 0, text: text.into() }
    }

    /// An error with its isam code.
    pub fn isam(code: i16, isam: i16, text: impl Into<String>) -> Self {
        Self { code, isam, offset: 0, text: text.into() }
    }

    /// The same error at a position in the statement.
    #[must_use]
    pub fn at(mut self, offset: usize) -> Self {
        self.offset = i32::try_from(offset).unwrap_or(0);
        self
    }

    /// The same error in a text that begins this many characters later.
    #[must_use]
    pub fn moved(mut self, by: usize) -> Self {
        if self.offset > 0 {
            self.offset = self.offset.saturating_add(i32::try_from(by).unwrap_or(0));
        }
        self
    }

    /// -201, a syntax error.
    pub fn syntax(offset: usize, near: &str) -> Self {
        Self::new(-201, near).at(offset)
    }

    /// -999: a feature that this server does not support. A real one may well do so.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::new(-999, what)
    }

    /// The form in which an error passes through SQLite, from one of this server's functions.
    pub fn through_sqlite(&self) -> rusqlite::Error {
        rusqlite::Error::UserFunctionError(format!("IFX:{}:{}:{}", self.code, self.isam, self.text).into())
    }

    /// Reads back the result of [`SqlError::through_sqlite`].
    pub fn from_sqlite_text(message: &str) -> Option<Self> {
        let mut parts = message.strip_prefix("IFX:")?.splitn(3, ':');
        let code = parts.next()?.parse().ok()?;
        let isam = parts.next()?.parse().ok()?;
        Some(Self::isam(code, isam, parts.next()?))
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sqlcode {}, isam {}, offset {}: {}", self.code, self.isam, self.offset, self.text)
    }
}

impl std::error::Error for SqlError {}
