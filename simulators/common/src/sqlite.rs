//! What SQLite reports.

use rusqlite::types::{Value, ValueRef};

/// SQLite's error.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The extended result code; 0 for an error that is not SQLite's.
    pub code: i32,
    /// Its message.
    pub message: String,
}

/// A copy of a value that a row or an argument holds.
pub fn owned(value: ValueRef<'_>) -> Value {
    Value::try_from(value).expect("every text is stored as UTF-8")
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map_or(0, |error| error.extended_code);
        let message = match error {
            rusqlite::Error::SqliteFailure(_, Some(message)) => message,
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            other => other.to_string(),
        };
        Self { code, message }
    }
}
