//! The wire: the login packets ([`login`]), the messages of the client ([`client`]) and of the server ([`server`]).

pub mod client;
mod description;
pub mod login;
mod reader;
pub mod server;

/// Message tags, by the manual's names.
pub mod tag {
    macro_rules! tags {
        ($($name:ident = $value:literal, $what:literal;)*) => {
            $(#[doc = $what] pub const $name: u16 = $value;)*

            /// The name of a tag.
            pub fn name(tag: u16) -> Option<&'static str> {
                match tag {
                    $($name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        };
    }
    tags! {
        SQ_COMMAND = 1, "A statement without rows, in one message.";
        SQ_PREPARE = 2, "A statement to prepare.";
        SQ_CURNAME = 3, "The name of a cursor.";
        SQ_ID = 4, "The statement that the following actions are for.";
        SQ_BIND = 5, "One row of parameters.";
        SQ_OPEN = 6, "Opens a cursor.";
        SQ_EXECUTE = 7, "Executes.";
        SQ_DESCRIBE = 8, "What a prepared statement is.";
        SQ_NFETCH = 9, "Fetches a buffer of rows.";
        SQ_CLOSE = 10, "Closes a cursor.";
        SQ_RELEASE = 11, "Frees a statement.";
        SQ_EOT = 12, "The end of a group.";
        SQ_ERR = 13, "An error.";
        SQ_TUPLE = 14, "A row.";
        SQ_DONE = 15, "A statement is done.";
        SQ_PUT = 17, "Rows of an insert cursor.";
        SQ_PUTERR = 18, "A row of an insert cursor failed.";
        SQ_CMMTWORK = 19, "COMMIT WORK.";
        SQ_RBWORK = 20, "ROLLBACK WORK.";
        SQ_NDESCRIBE = 22, "Asks for a description.";
        SQ_SFETCH = 23, "Fetches a row of a scroll cursor.";
        SQ_SCROLL = 24, "The cursor is to be a scroll cursor.";
        SQ_TUPID = 25, "The number of a row of a scroll cursor.";
        SQ_BEGIN = 35, "BEGIN WORK.";
        SQ_DBOPEN = 36, "Opens a database.";
        SQ_FETCHBLOB = 38, "Fetches a BYTE or TEXT value.";
        SQ_BLOB = 39, "A piece of a BYTE or TEXT value.";
        SQ_BBIND = 41, "BYTE and TEXT parameters follow.";
        SQ_HOLD = 43, "The cursor is to survive its transaction.";
        SQ_WANTDONE = 49, "Asks for DONE.";
        SQ_VERSION = 53, "The server's version.";
        SQ_COST = 55, "The optimizer's estimate.";
        SQ_EXIT = 56, "The end of a session.";
        SQ_INFO = 81, "Settings of the session.";
        SQ_INSERTDONE = 94, "Serial values of an INSERT.";
        SQ_LODATA = 97, "Content of a smart large object.";
        SQ_FILE = 98, "Asks for a file of the client.";
        SQ_XACTSTAT = 99, "The transaction has changed.";
        SQ_RET_TYPE = 100, "The types that columns are wanted in.";
        SQ_GETROUTINE = 101, "Asks for the handle of a routine.";
        SQ_EXFPROUTINE = 102, "Calls a routine by its handle.";
        SQ_FPROUTINE = 103, "What a routine returned.";
        SQ_CIDESCRIBE = 124, "Asks for the types of the parameters.";
        SQ_IDESCRIBE = 125, "The types of the parameters.";
        SQ_PROTOCOLS = 126, "The capability mask.";
        SQ_ACCEPT = 127, "The answers to the questions at login were right.";
        SQ_ACK = 128, "The client is ready for questions.";
        SQ_CHALLENGE = 129, "A question at login.";
        SQ_RESPONSE = 130, "The answer to one.";
        SQ_SQLISETSVPT = 137, "Sets a savepoint.";
        SQ_SQLIRELSVPT = 138, "Releases a savepoint.";
        SQ_SQLIRBACKSVPT = 139, "Rolls back to a savepoint.";
    }
}

/// The operation of SQ_LODATA on a smart large object.
pub mod object {
    /// Reads from the current position.
    pub const READ: u16 = 0;
    /// Writes at the current position.
    pub const WRITE: u16 = 2;
}

/// The row that SQ_SFETCH fetches of a scroll cursor.
pub mod scroll {
    /// The last row.
    pub const LAST: u16 = 4;
    /// The row of a number, counted from 1.
    pub const ABSOLUTE: u16 = 6;
}

/// Statement types, the first field of SQ_DESCRIBE.
pub mod kind {
    /// Several statements of which the first begins or ends a transaction: a kind of this driver, unknown to servers.
    pub const SEVERAL: u16 = 0;
    /// DATABASE.
    pub const DATABASE: u16 = 1;
    /// SELECT.
    pub const SELECT: u16 = 2;
    /// SELECT ... INTO TEMP.
    pub const SELECT_INTO: u16 = 3;
    /// UPDATE ... WHERE.
    pub const UPDATE: u16 = 4;
    /// DELETE ... WHERE.
    pub const DELETE: u16 = 5;
    /// INSERT.
    pub const INSERT: u16 = 6;
    /// UPDATE ... WHERE CURRENT OF.
    pub const UPDATE_CURRENT: u16 = 7;
    /// DELETE ... WHERE CURRENT OF.
    pub const DELETE_CURRENT: u16 = 8;
    /// LOAD, an INSERT from a file.
    pub const LOAD: u16 = 9;
    /// CREATE DATABASE.
    pub const CREATE_DATABASE: u16 = 12;
    /// CREATE TABLE.
    pub const CREATE_TABLE: u16 = 14;
    /// DROP TABLE.
    pub const DROP_TABLE: u16 = 15;
    /// CREATE INDEX.
    pub const CREATE_INDEX: u16 = 16;
    /// DROP INDEX.
    pub const DROP_INDEX: u16 = 17;
    /// RENAME TABLE.
    pub const RENAME_TABLE: u16 = 20;
    /// RENAME COLUMN.
    pub const RENAME_COLUMN: u16 = 21;
    /// ALTER TABLE.
    pub const ALTER_TABLE: u16 = 29;
    /// CLOSE DATABASE.
    pub const CLOSE_DATABASE: u16 = 31;
    /// DELETE of all rows.
    pub const DELETE_ALL: u16 = 32;
    /// UPDATE of all rows.
    pub const UPDATE_ALL: u16 = 33;
    /// BEGIN WORK.
    pub const BEGIN: u16 = 34;
    /// COMMIT WORK.
    pub const COMMIT: u16 = 35;
    /// ROLLBACK WORK.
    pub const ROLLBACK: u16 = 36;
    /// SAVEPOINT.
    pub const SAVEPOINT: u16 = 37;
    /// CREATE VIEW.
    pub const CREATE_VIEW: u16 = 40;
    /// DROP VIEW.
    pub const DROP_VIEW: u16 = 41;
    /// CREATE SYNONYM.
    pub const CREATE_SYNONYM: u16 = 43;
    /// CREATE TEMP TABLE.
    pub const CREATE_TEMP_TABLE: u16 = 45;
    /// ALTER INDEX.
    pub const ALTER_INDEX: u16 = 47;
    /// SET ISOLATION.
    pub const SET_ISOLATION: u16 = 48;
    /// CREATE PROCEDURE.
    pub const CREATE_PROCEDURE: u16 = 53;
    /// DROP PROCEDURE.
    pub const DROP_PROCEDURE: u16 = 54;
    /// EXECUTE PROCEDURE, EXECUTE FUNCTION.
    pub const EXECUTE_PROCEDURE: u16 = 56;
    /// ALTER FRAGMENT.
    pub const ALTER_FRAGMENT: u16 = 75;
    /// RENAME DATABASE.
    pub const RENAME_DATABASE: u16 = 87;
    /// ALTER ROUTINE. From RENAME DATABASE up to here all define something: domains, row and distinct types, casts.
    pub const ALTER_ROUTINE: u16 = 97;

    /// The kind of the statement, as a name for programs that distinguish statements by it.
    pub fn name(kind: u16) -> &'static str {
        match kind {
            DATABASE => "DATABASE",
            SELECT => "SELECT",
            SELECT_INTO => "SELECT INTO TEMP",
            UPDATE | UPDATE_CURRENT | UPDATE_ALL => "UPDATE",
            DELETE | DELETE_CURRENT | DELETE_ALL => "DELETE",
            INSERT => "INSERT",
            CREATE_DATABASE => "CREATE DATABASE",
            CREATE_TABLE => "CREATE TABLE",
            DROP_TABLE => "DROP TABLE",
            CREATE_INDEX => "CREATE INDEX",
            DROP_INDEX => "DROP INDEX",
            ALTER_TABLE => "ALTER TABLE",
            CLOSE_DATABASE => "CLOSE DATABASE",
            BEGIN => "BEGIN WORK",
            COMMIT => "COMMIT WORK",
            ROLLBACK => "ROLLBACK WORK",
            SAVEPOINT => "SAVEPOINT",
            CREATE_VIEW => "CREATE VIEW",
            CREATE_TEMP_TABLE => "CREATE TEMP TABLE",
            SET_ISOLATION => "SET ISOLATION",
            EXECUTE_PROCEDURE => "EXECUTE PROCEDURE",
            _ => "",
        }
    }
}

/// Appends CHAR: a length of 16 bits, the bytes, and a pad byte after an odd number of them.
///
/// Lengths beyond 65535 do not fit the field; callers check theirs before.
pub(crate) fn put_char(out: &mut Vec<u8>, bytes: &[u8]) {
    debug_assert!(bytes.len() <= usize::from(u16::MAX));
    out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
    pad(out, bytes.len());
}

/// Appends a pad byte after an odd number of bytes.
pub(crate) fn pad(out: &mut Vec<u8>, len: usize) {
    if len % 2 == 1 {
        out.push(0);
    }
}

/// Appends 16 bits.
pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends 32 bits.
pub(crate) fn put_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}
