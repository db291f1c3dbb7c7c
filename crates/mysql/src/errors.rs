//! The errors of MySQL and MariaDB: the meaning of the server's own numbers.
//!
//! The numbers are those of the manuals: MySQL, "Server Error Message Reference"; MariaDB, "Error Codes".

use crate::packets::reply::ServerError;
use headrace_core::sqlstate::*;
use std::borrow::Cow;

use Condition::{Class, State};
use ErrorClass::{Data, Database, Integrity, NotSupported, Operational, Programming};

/// Numbers whose SQLSTATE is too general (HY000, 23000, 42000), or misleading.
#[rustfmt::skip]
const CONDITIONS: &[(u16, Condition)] = &[
    (1005, Class(Operational)),
    (1007, State(DUPLICATE_DATABASE)),
    (1008, State(INVALID_CATALOG_NAME)),
    (1021, State(DISK_FULL)),
    (1022, State(UNIQUE_VIOLATION)),
    (1037, State(OUT_OF_MEMORY)),
    (1038, State(OUT_OF_MEMORY)),
    (1040, State(TOO_MANY_CONNECTIONS)),
    (1044, State(INSUFFICIENT_PRIVILEGE)),
    (1045, State(INVALID_PASSWORD)),
    (1046, Class(Programming)),
    (1048, State(NOT_NULL_VIOLATION)),
    (1049, State(INVALID_CATALOG_NAME)),
    (1050, State(DUPLICATE_TABLE)),
    (1051, State(UNDEFINED_TABLE)),
    (1052, State(AMBIGUOUS_COLUMN)),
    (1053, State(ADMIN_SHUTDOWN)),
    (1054, State(UNDEFINED_COLUMN)),
    (1060, State(DUPLICATE_COLUMN)),
    (1061, State(DUPLICATE_OBJECT)),
    (1062, State(UNIQUE_VIOLATION)),
    (1064, State(SYNTAX_ERROR)),
    (1065, Class(Programming)),
    (1091, State(UNDEFINED_OBJECT)),
    (1099, Class(Operational)),
    (1105, Class(Database)),
    (1109, State(UNDEFINED_TABLE)),
    (1136, Class(Programming)),
    (1142, State(INSUFFICIENT_PRIVILEGE)),
    (1143, State(INSUFFICIENT_PRIVILEGE)),
    (1146, State(UNDEFINED_TABLE)),
    (1149, State(SYNTAX_ERROR)),
    (1153, Class(Operational)),
    (1159, Class(Operational)),
    (1161, Class(Operational)),
    (1169, State(UNIQUE_VIOLATION)),
    (1170, Class(Programming)),
    (1176, State(UNDEFINED_OBJECT)),
    (1205, State(LOCK_NOT_AVAILABLE)),
    (1206, Class(Operational)),
    (1213, State(DEADLOCK_DETECTED)),
    (1214, Class(NotSupported)),
    (1215, Class(Programming)),
    (1216, State(FOREIGN_KEY_VIOLATION)),
    (1217, State(FOREIGN_KEY_VIOLATION)),
    (1227, State(INSUFFICIENT_PRIVILEGE)),
    (1235, Class(NotSupported)),
    (1242, State(CARDINALITY_VIOLATION)),
    (1264, State(NUMERIC_VALUE_OUT_OF_RANGE)),
    (1265, Class(Data)),
    (1286, Class(NotSupported)),
    (1289, Class(NotSupported)),
    (1290, Class(Operational)),
    (1292, State(INVALID_DATETIME_FORMAT)),
    (1305, State(UNDEFINED_FUNCTION)),
    (1317, State(QUERY_CANCELED)),
    (1364, State(NOT_NULL_VIOLATION)),
    (1365, State(DIVISION_BY_ZERO)),
    (1366, State(INVALID_TEXT_REPRESENTATION)),
    (1370, State(INSUFFICIENT_PRIVILEGE)),
    (1397, Class(Programming)),
    (1406, State(STRING_DATA_RIGHT_TRUNCATION)),
    (1451, State(FOREIGN_KEY_VIOLATION)),
    (1452, State(FOREIGN_KEY_VIOLATION)),
    (1557, Class(Integrity)),
    (1568, State(ACTIVE_SQL_TRANSACTION)),
    (1586, State(UNIQUE_VIOLATION)),
    (1690, State(NUMERIC_VALUE_OUT_OF_RANGE)),
    (1698, State(INVALID_PASSWORD)),
    (1761, State(FOREIGN_KEY_VIOLATION)),
    (1762, State(FOREIGN_KEY_VIOLATION)),
    (1792, State(READ_ONLY_SQL_TRANSACTION)),
    (1836, State(READ_ONLY_SQL_TRANSACTION)),
    (1859, State(UNIQUE_VIOLATION)),
    (1927, State(ADMIN_SHUTDOWN)),
    (1964, State(QUERY_CANCELED)),
    (1969, State(QUERY_CANCELED)),
    (3024, State(QUERY_CANCELED)),
    (3058, State(DEADLOCK_DETECTED)),
    (3140, State(INVALID_TEXT_REPRESENTATION)),
    (3572, State(LOCK_NOT_AVAILABLE)),
    (3819, State(CHECK_VIOLATION)),
    (3854, State(INVALID_TEXT_REPRESENTATION)),
    (3988, State(INVALID_TEXT_REPRESENTATION)),
    (4025, State(CHECK_VIOLATION)),
    (4031, State(IDLE_SESSION_TIMEOUT)),
];

/// Duplicate entry for a key.
pub const DUPLICATE_ENTRY: u16 = 1062;

impl ServerError {
    /// The error of a warning of SHOW WARNINGS.
    pub fn of_warning(code: u16, message: String) -> Self {
        // ER_BAD_NULL_ERROR, ER_DUP_ENTRY, ER_NO_REFERENCED_ROW_2: all others of a load are about its values.
        let sqlstate = if matches!(code, 1048 | DUPLICATE_ENTRY | 1452) { "23000" } else { "22000" };
        Self { code, sqlstate: sqlstate.to_owned(), message }
    }
}

impl Diagnostics for ServerError {
    fn condition(&self) -> Condition {
        match CONDITIONS.binary_search_by_key(&self.code, |(code, _)| *code) {
            Ok(at) => CONDITIONS[at].1,
            Err(_) => Condition::of_sqlstate(&self.sqlstate),
        }
    }

    fn message(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_more_specific_than_its_sqlstate() {
        assert!(CONDITIONS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (code, sqlstate, condition) in [
            (1040, "08004", State(TOO_MANY_CONNECTIONS)),
            (1045, "28000", State(INVALID_PASSWORD)),
            (1048, "23000", State(NOT_NULL_VIOLATION)),
            (1062, "23000", State(UNIQUE_VIOLATION)),
            (1105, "HY000", Class(Database)),
            (1146, "42S02", State(UNDEFINED_TABLE)),
            (1205, "HY000", State(LOCK_NOT_AVAILABLE)),
            (1213, "40001", State(DEADLOCK_DETECTED)),
            (1214, "HY000", Class(NotSupported)),
            (1264, "22003", State(NUMERIC_VALUE_OUT_OF_RANGE)),
            (1265, "01000", Class(Data)),
            (1452, "23000", State(FOREIGN_KEY_VIOLATION)),
            (1557, "23000", Class(Integrity)),
            (1792, "25006", State(READ_ONLY_SQL_TRANSACTION)),
            (3024, "HY000", State(QUERY_CANCELED)),
            (4025, "23000", State(CHECK_VIOLATION)),
            (4031, "HY000", State(IDLE_SESSION_TIMEOUT)),
            (9999, "40001", State(SERIALIZATION_FAILURE)),
            (9999, "HY000", Condition::of_sqlstate("HY000")),
        ] {
            let error = ServerError { code, sqlstate: sqlstate.into(), message: "m".into() };
            assert_eq!(error.condition(), condition, "{code}");
        }
        let unknown = ServerError { code: 9999, sqlstate: "42S99".into(), message: "m".into() };
        assert_eq!(unknown.class(), Programming);
    }

    #[test]
    fn a_warning_becomes_the_corresponding_error() {
        let error = ServerError::of_warning(1062, "Duplicate entry".into());
        assert_eq!(error.to_string(), "(1062, 23000) Duplicate entry");
        assert_eq!(ServerError::of_warning(1366, String::new()).sqlstate, "22000");
    }
}
