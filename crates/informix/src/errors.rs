//! Informix's errors: the meaning of a sqlcode, and a text for it.
//!
//! The server sends numbers and one word of text; the message catalogue is part of the client. The texts here describe
//! the common numbers in words of our own; for the others the message has the number, which `finderr` and IBM's
//! documentation explain.

use crate::messages::server::ServerError;
use headrace_core::sqlstate::*;
use std::borrow::Cow;
use std::fmt;

use Condition::{Class, State};
use ErrorClass::{Data, Database, Integrity, Internal, NotSupported, Operational, Programming};

/// Each sqlcode, its condition and its text; `{}` is the word that the server adds.
#[rustfmt::skip]
const MEANINGS: &[(i32, Condition, &str)] = &[
    (-27002, Class(Operational), "the server is in quiescent mode and takes no connections"),
    (-23197, Class(Operational), "the locale of the client does not go with that of the database; set DB_LOCALE"),
    (-23101, Class(Operational), "the locale could not be loaded"),
    (-9810, Class(Operational), "a smart large object could not be reached"),
    (-9634, Class(Programming), "a value has no cast to the type {}"),
    (-9632, State(INVALID_TEXT_REPRESENTATION), "the text is not a value of the type {}"),
    (-9628, State(UNDEFINED_OBJECT), "type {} does not exist"),
    (-1809, Class(Operational), "the server rejected the connection"),
    (-1803, State(CONNECTION_FAILURE), "the connection does not exist"),
    (-1284, State(NUMERIC_VALUE_OUT_OF_RANGE), "a value is too large for a BIGINT or INT8"),
    (-1279, Class(Data), "text is longer than its column"),
    (-1267, State(NUMERIC_VALUE_OUT_OF_RANGE), "a DATETIME computed is out of its range"),
    (-1266, Class(Data), "these DATETIME or INTERVAL values do not go together"),
    (-1265, State(NUMERIC_VALUE_OUT_OF_RANGE), "a DATETIME or INTERVAL computed is out of its range"),
    (-1264, State(INVALID_TEXT_REPRESENTATION), "a DATETIME or INTERVAL has more after its last field"),
    (-1263, Class(Data), "a field of a DATETIME or INTERVAL is out of its range, or not the one that comes there"),
    (-1262, State(INVALID_TEXT_REPRESENTATION), "text that is not a DATETIME or INTERVAL cannot be converted to one"),
    (-1261, Class(Data), "a DATETIME or INTERVAL has too many digits in its first field"),
    (-1260, Class(Data), "a value cannot be converted to the type wanted"),
    (-1226, State(NUMERIC_VALUE_OUT_OF_RANGE), "a decimal has more digits than its column"),
    (-1218, State(INVALID_TEXT_REPRESENTATION), "text that is not a date cannot be converted to one"),
    (-1215, State(NUMERIC_VALUE_OUT_OF_RANGE), "a value is too large for an INTEGER"),
    (-1214, State(NUMERIC_VALUE_OUT_OF_RANGE), "a value is too large for a SMALLINT"),
    (-1213, State(INVALID_TEXT_REPRESENTATION), "text that is not a number cannot be converted to one"),
    (-1207, Class(Data), "a converted value does not fit where it goes"),
    (-1206, Class(Data), "a date has a day that its month does not have"),
    (-1205, Class(Data), "a date has a month that is none"),
    (-1204, Class(Data), "a date has a year that is none"),
    (-1202, State(DIVISION_BY_ZERO), "division by zero"),
    (-956, Class(Operational), "the client's host is not trusted, and no password was given"),
    (-952, State(INVALID_PASSWORD), "wrong password of user {}"),
    (-951, State(INVALID_PASSWORD), "unknown user, or wrong password"),
    (-908, Class(Operational), "the server could not be reached"),
    (-761, Class(Operational), "the server has another name than the one given as server (INFORMIXSERVER)"),
    (-746, Class(Database), "{}"),
    (-710, Class(Operational), "table {} was dropped, altered or renamed since the statement was prepared"),
    (-703, Class(Integrity), "the primary key on table {} has a column with a NULL"),
    (-692, State(FOREIGN_KEY_VIOLATION), "the key is still referred to by constraint {}"),
    (-691, State(FOREIGN_KEY_VIOLATION), "no row with this key in the table that constraint {} refers to"),
    (-674, State(UNDEFINED_FUNCTION), "routine {} does not exist"),
    (-668, Class(Operational), "a system command failed"),
    (-555, State(SYNTAX_ERROR), "a text of several statements can have no SELECT; execute them one by one"),
    (-535, State(ACTIVE_SQL_TRANSACTION), "a transaction is open already"),
    (-530, State(CHECK_VIOLATION), "check constraint {} is violated"),
    (-526, Class(NotSupported), "a scroll cursor cannot be updated"),
    (-517, Class(Programming), "the index is too long or has too many columns"),
    (-458, State(TRANSACTION_ROLLBACK), "the server gave up the transaction; end it with a rollback"),
    (-415, Class(Data), "a value cannot be converted to the type wanted"),
    (-410, State(INVALID_SQL_STATEMENT_NAME), "the statement is not prepared"),
    (-404, State(INVALID_CURSOR_NAME), "the cursor or statement is not available"),
    (-400, State(INVALID_CURSOR_NAME), "fetch on a cursor that is not open"),
    (-391, State(NOT_NULL_VIOLATION), "column {} takes no NULL"),
    (-388, State(INSUFFICIENT_PRIVILEGE), "no permission to create objects"),
    (-387, State(INSUFFICIENT_PRIVILEGE), "no permission to connect to the database"),
    (-368, Class(Operational), "the SQL server process does not fit the client"),
    (-349, Class(Programming), "no database is open yet"),
    (-346, Class(Operational), "a row of table {} could not be updated"),
    (-330, State(DUPLICATE_DATABASE), "the database could not be created"),
    (-329, State(INVALID_CATALOG_NAME), "database {} does not exist, or cannot be found"),
    (-328, State(DUPLICATE_COLUMN), "column {} exists already in the table"),
    (-319, State(UNDEFINED_OBJECT), "index {} does not exist"),
    (-316, State(DUPLICATE_OBJECT), "index {} exists already"),
    (-310, State(DUPLICATE_TABLE), "table {} exists already"),
    (-285, State(INVALID_CURSOR_NAME), "no such cursor"),
    (-284, State(CARDINALITY_VIOLATION), "a subquery gave more than one row"),
    (-282, State(SYNTAX_ERROR), "a quote is open at the end of the statement"),
    (-275, State(INSUFFICIENT_PRIVILEGE), "no INSERT permission on {}"),
    (-274, State(INSUFFICIENT_PRIVILEGE), "no DELETE permission on {}"),
    (-273, State(INSUFFICIENT_PRIVILEGE), "no UPDATE permission on {}"),
    (-272, State(INSUFFICIENT_PRIVILEGE), "no SELECT permission on {}"),
    (-271, Class(Operational), "a row could not be inserted into table {}"),
    (-268, State(UNIQUE_VIOLATION), "unique constraint {} is violated"),
    (-267, State(INVALID_CURSOR_NAME), "the cursor was closed, or released by the end of its transaction"),
    (-263, State(LOCK_NOT_AVAILABLE), "a row could not be locked for update"),
    (-260, Class(Internal), "the statement cannot be executed this way"),
    (-256, Class(NotSupported), "the database has no transactions (it is not logged)"),
    (-255, State(NO_ACTIVE_SQL_TRANSACTION), "no transaction is open"),
    (-245, State(LOCK_NOT_AVAILABLE), "a row could not be reached by an index: it is locked, or the wait for it was too long"),
    (-244, State(LOCK_NOT_AVAILABLE), "a row could not be read in order: it is locked, or the wait for it was too long"),
    (-243, State(LOCK_NOT_AVAILABLE), "a row of table {} could not be reached: it is locked, or the wait for it was too long"),
    (-242, Class(Operational), "table {} could not be opened"),
    (-239, State(UNIQUE_VIOLATION), "duplicate value in a column with the unique index {}"),
    (-217, State(UNDEFINED_COLUMN), "column {} does not exist in any table of the query"),
    (-213, State(QUERY_CANCELED), "the statement was interrupted"),
    (-206, State(UNDEFINED_TABLE), "table {} does not exist"),
    (-202, State(SYNTAX_ERROR), "a character that no statement can have"),
    (-201, State(SYNTAX_ERROR), "syntax error"),
];

/// The texts of ISAM errors.
#[rustfmt::skip]
const ISAM: &[(i32, &str)] = &[
    (-154, "the wait for a lock was too long"),
    (-143, "deadlock"),
    (-113, "the file is locked"),
    (-111, "no such file or record"),
    (-107, "the record is locked"),
    (-100, "a duplicate value in a unique index"),
];

/// ISAM error: a duplicate value in a unique index.
const DUPLICATE: i32 = -100;
/// ISAM error: a deadlock.
const DEADLOCK: i32 = -143;

impl ServerError {
    fn meaning(&self) -> Option<&'static (i32, Condition, &'static str)> {
        let at = MEANINGS.binary_search_by_key(&self.sqlcode, |(sqlcode, ..)| *sqlcode).ok()?;
        MEANINGS.get(at)
    }
}

impl Diagnostics for ServerError {
    fn condition(&self) -> Condition {
        match (self.meaning(), self.sqlcode, self.isam) {
            (_, _, DEADLOCK) => State(DEADLOCK_DETECTED),
            (Some((_, condition, _)), ..) => *condition,
            // Conversions, and those of DATETIME and INTERVAL.
            (None, -1219..=-1200 | -1279..=-1260, _) => Class(Data),
            (None, _, DUPLICATE) => State(UNIQUE_VIOLATION),
            (None, ..) => Class(Database),
        }
    }

    fn message(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.trim();
        match self.meaning() {
            Some((_, _, meaning)) if meaning.contains("{}") => {
                let text = meaning.replace("{}", token);
                f.write_str(&text.split_whitespace().collect::<Vec<_>>().join(" "))?;
            }
            meaning => {
                f.write_str(meaning.map_or("the server reports an error", |(_, _, meaning)| meaning))?;
                if !token.is_empty() {
                    write!(f, ": {token}")?;
                }
            }
        }
        write!(f, " (sqlcode {}", self.sqlcode)?;
        if self.isam != 0 {
            write!(f, ", isam {}", self.isam)?;
            if let Some((_, meaning)) = ISAM.iter().find(|(isam, _)| *isam == self.isam) {
                write!(f, ": {meaning}")?;
            }
        }
        f.write_str(")")
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn numbers_have_a_condition_and_a_text() {
        assert!(MEANINGS.is_sorted_by(|(a, ..), (b, ..)| a < b));
        for (sqlcode, isam, condition, text) in [
            (-206, -111, State(UNDEFINED_TABLE), "table t does not exist (sqlcode -206, isam -111: no such file or record)"),
            (-201, 0, State(SYNTAX_ERROR), "syntax error: t (sqlcode -201)"),
            (-239, -100, State(UNIQUE_VIOLATION), "duplicate value in a column with the unique index t (sqlcode -239, isam -100: a duplicate value in a unique index)"),
            (-243, -143, State(DEADLOCK_DETECTED), "a row of table t could not be reached: it is locked, or the wait for it was too long (sqlcode -243, isam -143: deadlock)"),
            (-346, -100, Class(Operational), "a row of table t could not be updated (sqlcode -346, isam -100: a duplicate value in a unique index)"),
            (-746, 0, Class(Database), "t (sqlcode -746)"),
            (-703, 0, Class(Integrity), "the primary key on table t has a column with a NULL (sqlcode -703)"),
            (-1210, 0, Class(Data), "the server reports an error: t (sqlcode -1210)"),
            (-1279, 0, Class(Data), "text is longer than its column: t (sqlcode -1279)"),
            (-1280, 0, Class(Database), "the server reports an error: t (sqlcode -1280)"),
            (-9999, -100, State(UNIQUE_VIOLATION), "the server reports an error: t (sqlcode -9999, isam -100: a duplicate value in a unique index)"),
            (-9999, -999, Class(Database), "the server reports an error: t (sqlcode -9999, isam -999)"),
        ] {
            let error = ServerError { sqlcode, isam, offset: 0, token: " t ".into() };
            assert_eq!((error.condition(), error.to_string().as_str()), (condition, text), "{sqlcode}");
        }
    }

    #[test]
    fn a_missing_word_of_the_server_leaves_no_gap() {
        let error = ServerError { sqlcode: -206, ..ServerError::default() };
        assert_eq!(error.to_string(), "table does not exist (sqlcode -206)");
        let error = ServerError { sqlcode: -9999, ..ServerError::default() };
        assert_eq!(error.message(), "the server reports an error (sqlcode -9999)");
    }
}
