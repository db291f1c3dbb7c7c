//! What SQLite reports.

/// SQLite's error.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The extended result code; 0 for an error that is not SQLite's.
    pub code: i32,
    /// Its message.
    pub message: String,
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
