//! The errors of MySQL and MariaDB: the meaning of the server's own numbers.
//!
//! The names are those of the manuals: MySQL, "Server Error Message Reference"; MariaDB, "Error Codes".

pub mod numbers;

use crate::packets::reply::ServerError;
use headrace_core::sqlstate::*;
use std::borrow::Cow;

/// `CR_SERVER_GONE_ERROR`, `CR_SERVER_LOST`, `CR_SERVER_LOST_EXTENDED`: the client library's own numbers. A proxy that has
/// lost the server behind it sends them on (ProxySQL is one).
const GONE: u16 = 2006;
const LOST: u16 = 2013;
const LOST_EXTENDED: u16 = 2055;

use Condition::{Class, State};
use ErrorClass::{Data, Database, Integrity, NotSupported, Operational, Programming};
use numbers as er;

/// Numbers whose SQLSTATE is too general (HY000, 23000, 42000), or misleading: those that both servers have.
#[rustfmt::skip]
const COMMON: Conditions = &[
    (er::CANT_CREATE_TABLE, Class(Operational)),
    (er::DB_CREATE_EXISTS, State(DUPLICATE_DATABASE)),
    (er::DB_DROP_EXISTS, State(INVALID_CATALOG_NAME)),
    (er::DISK_FULL, State(DISK_FULL)),
    (er::DUP_KEY, State(UNIQUE_VIOLATION)),
    (er::OUTOFMEMORY, State(OUT_OF_MEMORY)),
    (er::OUT_OF_SORTMEMORY, State(OUT_OF_MEMORY)),
    (er::CON_COUNT_ERROR, State(TOO_MANY_CONNECTIONS)),
    (er::DBACCESS_DENIED_ERROR, State(INSUFFICIENT_PRIVILEGE)),
    (er::ACCESS_DENIED_ERROR, State(INVALID_PASSWORD)),
    (er::NO_DB_ERROR, Class(Programming)),
    (er::BAD_NULL_ERROR, State(NOT_NULL_VIOLATION)),
    (er::BAD_DB_ERROR, State(INVALID_CATALOG_NAME)),
    (er::TABLE_EXISTS_ERROR, State(DUPLICATE_TABLE)),
    (er::BAD_TABLE_ERROR, State(UNDEFINED_TABLE)),
    (er::NON_UNIQ_ERROR, State(AMBIGUOUS_COLUMN)),
    (er::SERVER_SHUTDOWN, State(ADMIN_SHUTDOWN)),
    (er::BAD_FIELD_ERROR, State(UNDEFINED_COLUMN)),
    (er::DUP_FIELDNAME, State(DUPLICATE_COLUMN)),
    (er::DUP_KEYNAME, State(DUPLICATE_OBJECT)),
    (er::DUP_ENTRY, State(UNIQUE_VIOLATION)),
    (er::PARSE_ERROR, State(SYNTAX_ERROR)),
    (er::EMPTY_QUERY, Class(Programming)),
    (er::CANT_DROP_FIELD_OR_KEY, State(UNDEFINED_OBJECT)),
    (er::TABLE_NOT_LOCKED_FOR_WRITE, Class(Operational)),
    (er::UNKNOWN_ERROR, Class(Database)),
    (er::UNKNOWN_TABLE, State(UNDEFINED_TABLE)),
    (er::WRONG_VALUE_COUNT_ON_ROW, Class(Programming)),
    (er::TABLEACCESS_DENIED_ERROR, State(INSUFFICIENT_PRIVILEGE)),
    (er::COLUMNACCESS_DENIED_ERROR, State(INSUFFICIENT_PRIVILEGE)),
    (er::NO_SUCH_TABLE, State(UNDEFINED_TABLE)),
    (er::SYNTAX_ERROR, State(SYNTAX_ERROR)),
    (er::NET_PACKET_TOO_LARGE, Class(Operational)),
    (er::NET_READ_INTERRUPTED, Class(Operational)),
    (er::NET_WRITE_INTERRUPTED, Class(Operational)),
    (er::DUP_UNIQUE, State(UNIQUE_VIOLATION)),
    (er::BLOB_KEY_WITHOUT_LENGTH, Class(Programming)),
    (er::KEY_DOES_NOT_EXISTS, State(UNDEFINED_OBJECT)),
    (er::LOCK_WAIT_TIMEOUT, State(LOCK_NOT_AVAILABLE)),
    (er::LOCK_TABLE_FULL, Class(Operational)),
    (er::LOCK_DEADLOCK, State(DEADLOCK_DETECTED)),
    (er::TABLE_CANT_HANDLE_FT, Class(NotSupported)),
    (er::CANNOT_ADD_FOREIGN, Class(Programming)),
    (er::NO_REFERENCED_ROW, State(FOREIGN_KEY_VIOLATION)),
    (er::ROW_IS_REFERENCED, State(FOREIGN_KEY_VIOLATION)),
    (er::SPECIFIC_ACCESS_DENIED_ERROR, State(INSUFFICIENT_PRIVILEGE)),
    (er::NOT_SUPPORTED_YET, Class(NotSupported)),
    (er::SUBQUERY_NO_1_ROW, State(CARDINALITY_VIOLATION)),
    (er::WARN_DATA_OUT_OF_RANGE, State(NUMERIC_VALUE_OUT_OF_RANGE)),
    (er::WARN_DATA_TRUNCATED, Class(Data)),
    (er::UNKNOWN_STORAGE_ENGINE, Class(NotSupported)),
    (er::FEATURE_DISABLED, Class(NotSupported)),
    (er::OPTION_PREVENTS_STATEMENT, Class(Operational)),
    (er::TRUNCATED_WRONG_VALUE, State(INVALID_DATETIME_FORMAT)),
    (er::SP_DOES_NOT_EXIST, State(UNDEFINED_FUNCTION)),
    (er::QUERY_INTERRUPTED, State(QUERY_CANCELED)),
    (er::NO_DEFAULT_FOR_FIELD, State(NOT_NULL_VIOLATION)),
    (er::DIVISION_BY_ZERO, State(DIVISION_BY_ZERO)),
    (er::TRUNCATED_WRONG_VALUE_FOR_FIELD, State(INVALID_TEXT_REPRESENTATION)),
    (er::PROCACCESS_DENIED_ERROR, State(INSUFFICIENT_PRIVILEGE)),
    (er::XAER_NOTA, Class(Programming)),
    (er::DATA_TOO_LONG, State(STRING_DATA_RIGHT_TRUNCATION)),
    (er::ROW_IS_REFERENCED_2, State(FOREIGN_KEY_VIOLATION)),
    (er::NO_REFERENCED_ROW_2, State(FOREIGN_KEY_VIOLATION)),
    (er::FOREIGN_DUPLICATE_KEY_OLD_UNUSED, Class(Integrity)),
    (er::CANT_CHANGE_TX_CHARACTERISTICS, State(ACTIVE_SQL_TRANSACTION)),
    (er::DUP_ENTRY_WITH_KEY_NAME, State(UNIQUE_VIOLATION)),
    (er::DATA_OUT_OF_RANGE, State(NUMERIC_VALUE_OUT_OF_RANGE)),
    (er::ACCESS_DENIED_NO_PASSWORD_ERROR, State(INVALID_PASSWORD)),
    (er::FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO, State(FOREIGN_KEY_VIOLATION)),
    (er::FOREIGN_DUPLICATE_KEY_WITHOUT_CHILD_INFO, State(FOREIGN_KEY_VIOLATION)),
    (er::CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, State(READ_ONLY_SQL_TRANSACTION)),
    (er::READ_ONLY_MODE, State(READ_ONLY_SQL_TRANSACTION)),
    (er::DUP_UNKNOWN_IN_INDEX, State(UNIQUE_VIOLATION)),
];

/// MySQL's own.
#[rustfmt::skip]
const MYSQL: Conditions = &[
    (er::CONNECTION_KILLED, State(ADMIN_SHUTDOWN)),
    (er::QUERY_TIMEOUT, State(QUERY_CANCELED)),
    (er::USER_LOCK_DEADLOCK, State(DEADLOCK_DETECTED)),
    (er::INVALID_JSON_TEXT, State(INVALID_TEXT_REPRESENTATION)),
    (er::LOCK_NOWAIT, State(LOCK_NOT_AVAILABLE)),
    (er::CHECK_CONSTRAINT_VIOLATED, State(CHECK_VIOLATION)),
    (er::CANNOT_CONVERT_STRING, State(INVALID_TEXT_REPRESENTATION)),
    (er::IMPOSSIBLE_STRING_CONVERSION, State(INVALID_TEXT_REPRESENTATION)),
    (er::CLIENT_INTERACTION_TIMEOUT, State(IDLE_SESSION_TIMEOUT)),
];

/// MariaDB's own.
#[rustfmt::skip]
const MARIADB: Conditions = &[
    (er::CONNECTION_KILLED, State(ADMIN_SHUTDOWN)),
    (er::STATEMENT_TIMEOUT, State(QUERY_CANCELED)),
    (er::CONSTRAINT_FAILED, State(CHECK_VIOLATION)),
];

/// The client library's, which are in neither list.
#[rustfmt::skip]
const CLIENT: Conditions = &[
    (GONE, State(CONNECTION_FAILURE)),
    (LOST, State(CONNECTION_FAILURE)),
    (LOST_EXTENDED, State(CONNECTION_FAILURE)),
];

type Conditions = &'static [(u16, Condition)];

/// The server whose list of errors a number is in. MySQL and MariaDB share the numbers below 1900; of the others many
/// are one error in MySQL and another one in MariaDB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbering {
    /// MySQL, or a server that has not sent its greeting.
    #[default]
    MySql,
    /// MariaDB
    MariaDb,
}

impl Numbering {
    /// The list of a server, by its greeting.
    pub fn of(mariadb: bool) -> Self {
        if mariadb { Self::MariaDb } else { Self::MySql }
    }
}

impl ServerError {
    /// An error of the driver's own, with the number that MySQL or its client library has for it.
    pub fn of_driver(code: u16, message: &str) -> Self {
        Self { code, sqlstate: "HY000".to_owned(), message: message.to_owned(), numbering: Numbering::MySql }
    }

    /// The error of a warning of SHOW WARNINGS, after a load.
    pub fn of_warning(code: u16, message: String) -> Self {
        // All others of a load are about its values.
        let is_constraint =
            matches!(code, er::BAD_NULL_ERROR | er::DUP_ENTRY | er::NO_REFERENCED_ROW_2 | er::CONSTRAINT_FAILED);
        let sqlstate = if is_constraint { "23000" } else { "22000" };
        // What MySQL has under this number is about a server's files.
        let numbering = if code == er::CONSTRAINT_FAILED { Numbering::MariaDb } else { Numbering::MySql };
        Self { code, sqlstate: sqlstate.to_owned(), message, numbering }
    }

    /// Returns true if the server ends the session with it: shutdown, a killed or idle connection, a packet that it does
    /// not read to its end.
    pub fn is_fatal(&self) -> bool {
        self.ends_midway()
            || self.code == er::NET_PACKET_TOO_LARGE
            || self.numbering == Numbering::MySql && self.code == er::CLIENT_INTERACTION_TIMEOUT
    }

    /// Returns true if the server ends the session with it in the midst of a statement, of which something may be stored: by
    /// a procedure, in a table without transactions, or behind a proxy that has lost its server before it had the answer.
    /// 1927 is MariaDB's, and MaxScale's whichever server is behind it.
    pub fn ends_midway(&self) -> bool {
        matches!(self.code, er::SERVER_SHUTDOWN | er::CONNECTION_KILLED | GONE | LOST | LOST_EXTENDED)
            || self.numbering == Numbering::MySql && self.code == er::SESSION_WAS_KILLED
    }

    /// Returns true if InnoDB has rolled back the whole transaction with it: a deadlock, a lock wait that timed out (if
    /// `innodb_rollback_on_timeout` is set), a full lock table, a lost transaction.
    pub fn ends_transaction(&self) -> bool {
        let is_lost = matches!(
            self.code,
            er::LOCK_WAIT_TIMEOUT | er::LOCK_TABLE_FULL | er::LOCK_DEADLOCK | er::XA_RBROLLBACK | er::XA_RBDEADLOCK
        );
        is_lost || self.sqlstate.starts_with("40")
    }

    /// Returns true if the transaction has ended with it, whatever the engine and its settings: a deadlock. That includes
    /// a transaction that another node of a cluster has won against.
    pub fn always_ends_transaction(&self) -> bool {
        matches!(self.code, er::LOCK_DEADLOCK | er::XA_RBROLLBACK | er::XA_RBDEADLOCK)
    }

    /// Returns true if the transaction may have ended with it, in a server of some kind, version or setting, beside those
    /// of [`Self::ends_transaction`]: a snapshot that is too old (MariaDB's `innodb_snapshot_isolation`), a node that has
    /// left its cluster, the errors of engines with numbers of their own.
    pub fn may_end_transaction(&self) -> bool {
        matches!(
            self.code,
            er::CHECKREAD | er::UNKNOWN_COM_ERROR | er::ERROR_DURING_COMMIT | er::GET_ERRNO | er::GET_ERRMSG
        )
    }

    /// Returns true if the statement was cancelled, or ran longer than the session permits.
    pub fn is_interruption(&self) -> bool {
        match self.numbering {
            Numbering::MySql => matches!(self.code, er::QUERY_INTERRUPTED | er::QUERY_TIMEOUT),
            Numbering::MariaDb => matches!(self.code, er::QUERY_INTERRUPTED | er::STATEMENT_TIMEOUT),
        }
    }
}

impl Diagnostics for ServerError {
    fn condition(&self) -> Condition {
        let own = match self.numbering {
            Numbering::MySql => MYSQL,
            Numbering::MariaDb => MARIADB,
        };
        let found = [COMMON, own, CLIENT].into_iter().find_map(|table| {
            let at = table.binary_search_by_key(&self.code, |(code, _)| *code).ok()?;
            Some(table[at].1)
        });
        found.unwrap_or_else(|| Condition::of_sqlstate(&self.sqlstate))
    }

    fn message(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(numbering: Numbering, code: u16, sqlstate: &str) -> ServerError {
        ServerError { code, sqlstate: sqlstate.into(), message: "m".into(), numbering }
    }

    #[test]
    fn tables_are_sorted_and_do_not_overlap() {
        for own in [MYSQL, MARIADB] {
            assert!(COMMON.iter().chain(own).is_sorted_by(|(a, _), (b, _)| a < b));
        }
        assert!(CLIENT.is_sorted_by(|(a, _), (b, _)| a < b));
    }

    #[test]
    fn a_number_is_more_specific_than_its_sqlstate() {
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
            (9999, "40001", State(SERIALIZATION_FAILURE)),
            (9999, "HY000", Condition::of_sqlstate("HY000")),
        ] {
            for numbering in [Numbering::MySql, Numbering::MariaDb] {
                assert_eq!(error(numbering, code, sqlstate).condition(), condition, "{code}");
            }
        }
        assert_eq!(error(Numbering::MySql, 9999, "42S99").class(), Programming);
    }

    #[test]
    fn a_number_means_what_its_own_server_means_by_it() {
        use Numbering::{MariaDb, MySql};
        let unknown = Condition::of_sqlstate("HY000");
        for (numbering, code, sqlstate, condition) in [
            (MySql, 3024, "HY000", State(QUERY_CANCELED)),
            (MariaDb, 1969, "70100", State(QUERY_CANCELED)),
            (MariaDb, 4025, "23000", State(CHECK_VIOLATION)),
            (MySql, 4025, "HY000", unknown),
            (MySql, 4031, "HY000", State(IDLE_SESSION_TIMEOUT)),
            (MariaDb, 4031, "HY000", unknown),
        ] {
            assert_eq!(error(numbering, code, sqlstate).condition(), condition, "{numbering:?} {code}");
        }
    }

    #[test]
    fn only_the_server_that_ends_a_session_with_a_number_does() {
        use Numbering::{MariaDb, MySql};
        let is_fatal = |numbering, code| error(numbering, code, "HY000").is_fatal();
        assert!(is_fatal(MySql, er::SERVER_SHUTDOWN) && is_fatal(MariaDb, er::SERVER_SHUTDOWN));
        assert!(
            is_fatal(MySql, er::CLIENT_INTERACTION_TIMEOUT)
                && !is_fatal(MariaDb, er::REFERENCED_TRG_DOES_NOT_EXIST_MARIADB)
        );
        assert!(is_fatal(MySql, er::SESSION_WAS_KILLED) && !is_fatal(MariaDb, er::SESSION_WAS_KILLED));
        assert!(is_fatal(MariaDb, er::CONNECTION_KILLED));
    }

    #[test]
    fn a_warning_becomes_the_corresponding_error() {
        let error = ServerError::of_warning(1062, "Duplicate entry".into());
        assert_eq!(error.to_string(), "(1062, 23000) Duplicate entry");
        assert_eq!(ServerError::of_warning(1366, String::new()).sqlstate, "22000");
        assert_eq!(ServerError::of_warning(4025, String::new()).condition(), State(CHECK_VIOLATION));
    }
}
