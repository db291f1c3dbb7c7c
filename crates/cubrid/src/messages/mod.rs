//! The wire: the connection's first messages ([`login`]), the requests of the client ([`client`]), the replies of the
//! server ([`server`]), and the types and columns in them ([`description`]).
//!
//! After the login both directions have frames: the length of the payload (i32), four bytes of [`CasInfo`], the
//! payload. The payload of a request is a [`function`] code and its arguments, each with a length (i32); that of a
//! reply begins with a result (i32), which is negative for an error. All integers are big-endian.
//!
//! The names are those of CUBRID's source, `src/broker/cas_protocol.h`, without their prefixes (`CAS_FC_`,
//! `CCI_U_TYPE_`). The layouts are those of protocol versions 8 to 12 (CUBRID 10.2 to 11.4), which are the same for
//! these functions.

pub mod client;
pub mod description;
pub mod login;
mod reader;
pub mod server;

pub use reader::Reader;

use crate::limits;
use headrace_core::Fatal;

/// The number of bytes before the payload of a frame.
pub const HEADER_BYTES: usize = 8;

/// Declares constants with a function that returns their names.
macro_rules! codes {
    ($of:ty; $($name:ident = $value:literal, $what:literal;)*) => {
        $(#[doc = $what] pub const $name: $of = $value;)*

        /// The name of a code.
        pub fn name(code: $of) -> Option<&'static str> {
            match code {
                $($name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

/// Function codes: the first byte of a request.
pub mod function {
    codes! { u8;
        END_TRAN = 1, "Commits or rolls back.";
        PREPARE = 2, "Prepares a statement; closes others.";
        EXECUTE = 3, "Executes a prepared statement.";
        GET_DB_PARAMETER = 4, "Reads a parameter of the session.";
        SET_DB_PARAMETER = 5, "Sets a parameter of the session.";
        CLOSE_REQ_HANDLE = 6, "Closes a prepared statement.";
        CURSOR = 7, "Moves the cursor of a result; not needed, because FETCH has positions.";
        FETCH = 8, "Fetches a page of rows.";
        SCHEMA_INFO = 9, "Queries the catalogue.";
        OID_GET = 10, "Reads attributes of an object.";
        OID_PUT = 11, "Sets attributes of an object.";
        GET_DB_VERSION = 15, "The server's version.";
        GET_CLASS_NUM_OBJS = 16, "The number of objects of a class.";
        OID_CMD = 17, "Drops, locks or checks an object.";
        COLLECTION = 18, "Changes a collection of an object.";
        NEXT_RESULT = 19, "Proceeds to the next result of a text with several statements.";
        EXECUTE_BATCH = 20, "Executes the texts of several statements.";
        EXECUTE_ARRAY = 21, "Executes a prepared statement with many rows of parameters.";
        CURSOR_UPDATE = 22, "Updates the row of a cursor.";
        GET_ATTR_TYPE_STR = 23, "The type of an attribute, as text.";
        GET_QUERY_INFO = 24, "The plan of a query, as text.";
        SAVEPOINT = 26, "Sets a savepoint, or rolls back to it.";
        PARAMETER_INFO = 27, "The types that a statement's parameters are expected in.";
        XA_PREPARE = 28, "First phase of a two-phase commit.";
        XA_RECOVER = 29, "The transactions that wait for their second phase.";
        XA_END_TRAN = 30, "Second phase of a two-phase commit.";
        CON_CLOSE = 31, "Ends the session.";
        CHECK_CAS = 32, "A ping of the database; with a text, of the CAS alone.";
        MAKE_OUT_RS = 33, "Opens a result that a stored procedure has returned.";
        GET_GENERATED_KEYS = 34, "The keys that an INSERT has generated.";
        LOB_NEW = 35, "Makes a BLOB or CLOB.";
        LOB_WRITE = 36, "Appends to a BLOB or CLOB.";
        LOB_READ = 37, "Reads a BLOB or CLOB.";
        END_SESSION = 38, "Without effect.";
        GET_ROW_COUNT = 39, "The number of rows that the last statement has changed.";
        GET_LAST_INSERT_ID = 40, "The value that the last INSERT has generated.";
        PREPARE_AND_EXECUTE = 41, "Prepares and executes a statement without parameters.";
        CURSOR_CLOSE = 42, "Closes the result of a statement, and keeps the statement.";
        GET_SHARD_INFO = 43, "The shards of a proxy.";
        SET_CAS_CHANGE_MODE = 44, "Whether the broker may give the CAS to another client.";
    }
}

/// Statement types, in the reply to PREPARE and to EXECUTE.
pub mod statement {
    codes! { u8;
        ALTER = 0, "ALTER.";
        COMMIT = 2, "COMMIT.";
        CREATE = 4, "CREATE.";
        CREATE_INDEX = 5, "CREATE INDEX.";
        DROP = 9, "DROP.";
        EVALUATE = 14, "EVALUATE.";
        ROLLBACK = 16, "ROLLBACK.";
        INSERT = 20, "INSERT and REPLACE.";
        SELECT = 21, "SELECT, WITH, VALUES, SHOW, DESC, EXPLAIN, and EXECUTE of SQL.";
        UPDATE = 22, "UPDATE.";
        DELETE = 23, "DELETE.";
        CALL = 24, "CALL.";
        GET_STATS = 41, "GET STATISTICS.";
        TRUNCATE = 52, "TRUNCATE.";
        SET_SESSION_VARIABLES = 55, "SET @variable.";
        MERGE = 57, "MERGE.";
        SET_NAMES = 58, "SET NAMES.";
        KILL = 60, "KILL.";
        SET_TIMEZONE = 62, "SET TIME ZONE.";
        EMPTY_QUERY = 106, "A query that the server has found to have no rows; other codes beyond those of statements, too.";
        CALL_SP = 0x7e, "CALL of a stored procedure, prepared with PREPARE_CALL.";
        UNKNOWN = 0x7f, "A statement whose type the server does not report.";
    }

    /// Returns true if statements of a type return rows.
    pub fn has_rows(statement_type: u8) -> bool {
        matches!(statement_type, SELECT | CALL | EVALUATE | GET_STATS | EMPTY_QUERY | CALL_SP)
    }
}

/// Flags of PREPARE.
pub mod prepare {
    /// The plan is kept for GET_QUERY_INFO.
    pub const QUERY_INFO: u8 = 0x04;
    /// The result survives a commit.
    pub const HOLDABLE: u8 = 0x08;
    /// The plan is pinned, for the second attempt after the error that a statement must be prepared again.
    pub const XASL_CACHE_PINNED: u8 = 0x10;
    /// A CALL of a stored procedure with OUT parameters.
    pub const CALL: u8 = 0x40;
}

/// The mode of a parameter of a CALL that was prepared with [`prepare::CALL`]. The server asks only whether the value is
/// to be returned: the direction of each argument is in the procedure's definition.
pub mod mode {
    /// The value is returned, too.
    pub const IN_OUT: u8 = 3;
}

/// Flags of EXECUTE.
pub mod execute {
    /// All statements of the text are executed.
    pub const QUERY_ALL: u8 = 0x02;
    /// The plan is kept for GET_QUERY_INFO.
    pub const QUERY_INFO: u8 = 0x04;
    /// Generated keys are kept for GET_GENERATED_KEYS.
    pub const RETURN_GENERATED_KEYS: u8 = 0x40;
}

/// What SCHEMA_INFO is asked for.
pub mod schema {
    codes! { i32;
        CLASS = 1, "Tables and views.";
        VCLASS = 2, "Views.";
        QUERY_SPEC = 3, "The query of a view.";
        ATTRIBUTE = 4, "Columns.";
        CLASS_ATTRIBUTE = 5, "Class attributes.";
        METHOD = 6, "Methods.";
        CLASS_METHOD = 7, "Class methods.";
        METHOD_FILE = 8, "Files of methods.";
        SUPERCLASS = 9, "All tables above one.";
        SUBCLASS = 10, "All tables below one.";
        CONSTRAINT = 11, "Unique keys and indexes.";
        TRIGGER = 12, "Triggers.";
        CLASS_PRIVILEGE = 13, "Privileges on tables.";
        ATTR_PRIVILEGE = 14, "Privileges on columns.";
        DIRECT_SUPER_CLASS = 15, "The tables directly above one.";
        PRIMARY_KEY = 16, "Primary keys.";
        IMPORTED_KEYS = 17, "Foreign keys of a table.";
        EXPORTED_KEYS = 18, "Foreign keys that refer to a table.";
        CROSS_REFERENCE = 19, "Foreign keys between two tables.";
        ATTR_WITH_SYNONYM = 20, "Columns, also of synonyms.";
    }
}

/// Parameters of a session: GET_DB_PARAMETER and SET_DB_PARAMETER.
pub mod parameter {
    /// The isolation level: 4 is READ COMMITTED, 5 REPEATABLE READ, 6 SERIALIZABLE.
    pub const ISOLATION_LEVEL: i32 = 1;
    /// How long a lock is waited for, in milliseconds; -1 for ever, and -2 as the server is configured.
    pub const LOCK_TIMEOUT: i32 = 2;
    /// -2 if a backslash in a string is an ordinary character, -1 if it begins an escape.
    pub const NO_BACKSLASH_ESCAPES: i32 = 5;
}

/// The operation of END_TRAN.
pub mod tran {
    /// COMMIT.
    pub const COMMIT: u8 = 1;
    /// ROLLBACK.
    pub const ROLLBACK: u8 = 2;
}

/// The operation of SAVEPOINT.
pub mod savepoint {
    /// Sets it.
    pub const SET: u8 = 1;
    /// Rolls back to it.
    pub const ROLLBACK: u8 = 2;
}

/// The modes of SET_CAS_CHANGE_MODE. The mode belongs to the CAS process, and survives the connection.
pub mod change_mode {
    /// The broker may give the CAS to another client while no transaction is open.
    pub const AUTO: i32 = 1;
    /// It may not.
    pub const KEEP: i32 = 2;
}

/// The last byte of a page: no row comes after it.
pub const FETCH_END: u8 = 1;

/// The state of the CAS, in the header of each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CasInfo {
    /// A transaction is open. Without one the broker may give the CAS to another client.
    pub is_active: bool,
    /// Bytes 1 and 2, which servers send as 0xFF and which have no meaning here.
    pub unused: [u8; 2],
    /// Bit 0: the broker's default for autocommit (CCI_DEFAULT_AUTOCOMMIT); bit 1: of a shard only; bit 2: never set.
    pub flags: u8,
}

impl CasInfo {
    /// The one of a request when none was received yet.
    pub const FIRST: Self = Self { is_active: false, unused: [0xff; 2], flags: 0xff };

    /// The four bytes.
    pub fn to_bytes(self) -> [u8; 4] {
        [u8::from(self.is_active), self.unused[0], self.unused[1], self.flags]
    }

    /// From the four bytes.
    pub fn from_bytes([status, first, second, flags]: [u8; 4]) -> Self {
        Self { is_active: status != 0, unused: [first, second], flags }
    }
}

/// The header of a frame: the length of its payload, and the state of the CAS. `None` if it is incomplete.
///
/// # Errors
/// [`Fatal`] for a length that is negative, or too large for a message.
pub fn header(bytes: &[u8]) -> Result<Option<(usize, CasInfo)>, Fatal> {
    let Some(&[a, b, c, d, ref info @ ..]) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let length = i32::from_be_bytes([a, b, c, d]);
    let payload = usize::try_from(length).ok().filter(|length| *length <= limits::MESSAGE_BYTES - HEADER_BYTES);
    let payload = payload.ok_or_else(|| Fatal::peer(format!("the server sent a message of {length} bytes")))?;
    Ok(Some((payload, CasInfo::from_bytes([info[0], info[1], info[2], info[3]]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_the_source() {
        assert_eq!(function::name(41), Some("PREPARE_AND_EXECUTE"));
        assert_eq!((function::name(12), function::name(45)), (None, None));
        assert_eq!(statement::name(57), Some("MERGE"));
        assert!(statement::has_rows(statement::SELECT) && !statement::has_rows(statement::INSERT));
    }

    #[test]
    fn a_header_has_a_length_that_a_message_can_have() {
        assert_eq!(header(&[0, 0, 0, 4, 1, 0xff, 0xff]).unwrap(), None);
        let info = CasInfo { is_active: true, unused: [0xff; 2], flags: 0xfb };
        assert_eq!(header(&[0, 0, 0, 4, 1, 0xff, 0xff, 0xfb, 7]).unwrap(), Some((4, info)));
        assert_eq!(info.to_bytes(), [1, 0xff, 0xff, 0xfb]);
        assert!(header(&[0xff; 8]).is_err() && header(&[0x40, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }
}
