//! Capabilities, status and column flags. MySQL: "Capabilities Flags", "SERVER_STATUS_flags_enum", "Column Definition
//! Flags"; MariaDB: "Connection, Capabilities", "OK_Packet, Server status flag", "Result set packets".

use bitflags::bitflags;

bitflags! {
    /// The capabilities of both sides. The upper 32 bits are MariaDB's own: they travel in reserved bytes, and only if
    /// neither side sets [`Capabilities::LONG_PASSWORD`], which MariaDB calls `CLIENT_MYSQL`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct Capabilities: u64 {
        /// `CLIENT_LONG_PASSWORD`; MariaDB: `CLIENT_MYSQL`, unset by a server that supports the extended capabilities.
        const LONG_PASSWORD = 1;
        /// `CLIENT_FOUND_ROWS`: an UPDATE counts the rows it found, not those it changed.
        const FOUND_ROWS = 1 << 1;
        /// `CLIENT_LONG_FLAG`
        const LONG_FLAG = 1 << 2;
        /// `CLIENT_CONNECT_WITH_DB`
        const CONNECT_WITH_DB = 1 << 3;
        /// `CLIENT_COMPRESS`: zlib.
        const COMPRESS = 1 << 5;
        /// `CLIENT_LOCAL_FILES`: LOAD DATA LOCAL.
        const LOCAL_FILES = 1 << 7;
        /// `CLIENT_IGNORE_SPACE`
        const IGNORE_SPACE = 1 << 8;
        /// `CLIENT_PROTOCOL_41`
        const PROTOCOL_41 = 1 << 9;
        /// `CLIENT_INTERACTIVE`: `interactive_timeout` counts instead of `wait_timeout`.
        const INTERACTIVE = 1 << 10;
        /// `CLIENT_SSL`
        const SSL = 1 << 11;
        /// `CLIENT_TRANSACTIONS`
        const TRANSACTIONS = 1 << 13;
        /// `CLIENT_SECURE_CONNECTION` (`CLIENT_RESERVED2`): authentication since 4.1.
        const SECURE_CONNECTION = 1 << 15;
        /// `CLIENT_MULTI_STATEMENTS`
        const MULTI_STATEMENTS = 1 << 16;
        /// `CLIENT_MULTI_RESULTS`
        const MULTI_RESULTS = 1 << 17;
        /// `CLIENT_PS_MULTI_RESULTS`
        const PS_MULTI_RESULTS = 1 << 18;
        /// `CLIENT_PLUGIN_AUTH`
        const PLUGIN_AUTH = 1 << 19;
        /// `CLIENT_CONNECT_ATTRS`
        const CONNECT_ATTRS = 1 << 20;
        /// `CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA`
        const PLUGIN_AUTH_LENENC_CLIENT_DATA = 1 << 21;
        /// `CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS`
        const CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// `CLIENT_SESSION_TRACK`
        const SESSION_TRACK = 1 << 23;
        /// `CLIENT_DEPRECATE_EOF`
        const DEPRECATE_EOF = 1 << 24;
        /// `CLIENT_ZSTD_COMPRESSION_ALGORITHM`
        const ZSTD_COMPRESSION_ALGORITHM = 1 << 26;
        /// `MARIADB_CLIENT_STMT_BULK_OPERATIONS`: COM_STMT_BULK_EXECUTE.
        const MARIADB_STMT_BULK_OPERATIONS = 1 << 34;
        /// `MARIADB_CLIENT_EXTENDED_METADATA`: column definitions name types such as uuid, and json as a format.
        const MARIADB_EXTENDED_METADATA = 1 << 35;
        /// `MARIADB_CLIENT_CACHE_METADATA`: column definitions of a prepared statement are sent when they changed.
        const MARIADB_CACHE_METADATA = 1 << 36;
        const _ = !0;
    }
}

bitflags! {
    /// The status flags of an OK or EOF packet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct StatusFlags: u16 {
        /// `SERVER_STATUS_IN_TRANS`: a transaction has begun.
        const IN_TRANS = 1;
        /// `SERVER_STATUS_AUTOCOMMIT`
        const AUTOCOMMIT = 1 << 1;
        /// `SERVER_MORE_RESULTS_EXISTS`
        const MORE_RESULTS_EXISTS = 1 << 3;
        /// `SERVER_STATUS_CURSOR_EXISTS`: rows wait for COM_STMT_FETCH.
        const CURSOR_EXISTS = 1 << 6;
        /// `SERVER_STATUS_LAST_ROW_SENT`: the cursor is at its end, and closed.
        const LAST_ROW_SENT = 1 << 7;
        /// `SERVER_STATUS_NO_BACKSLASH_ESCAPES`
        const NO_BACKSLASH_ESCAPES = 1 << 9;
        /// `SERVER_STATUS_METADATA_CHANGED`
        const METADATA_CHANGED = 1 << 10;
        /// `SERVER_PS_OUT_PARAMS`: the result has the OUT parameters of a procedure.
        const PS_OUT_PARAMS = 1 << 12;
        /// `SERVER_STATUS_IN_TRANS_READONLY`
        const IN_TRANS_READONLY = 1 << 13;
        /// `SERVER_SESSION_STATE_CHANGED`
        const SESSION_STATE_CHANGED = 1 << 14;
        /// `SERVER_STATUS_ANSI_QUOTES`: MariaDB only.
        const ANSI_QUOTES = 1 << 15;
        const _ = !0;
    }
}

bitflags! {
    /// The flags of a column definition.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct ColumnFlags: u16 {
        /// `NOT_NULL_FLAG`
        const NOT_NULL = 1;
        /// `PRI_KEY_FLAG`
        const PRI_KEY = 1 << 1;
        /// `UNIQUE_KEY_FLAG`
        const UNIQUE_KEY = 1 << 2;
        /// `MULTIPLE_KEY_FLAG`
        const MULTIPLE_KEY = 1 << 3;
        /// `BLOB_FLAG`
        const BLOB = 1 << 4;
        /// `UNSIGNED_FLAG`
        const UNSIGNED = 1 << 5;
        /// `ZEROFILL_FLAG`
        const ZEROFILL = 1 << 6;
        /// `BINARY_FLAG`: a binary collation, which does not make the value bytes.
        const BINARY = 1 << 7;
        /// `ENUM_FLAG`
        const ENUM = 1 << 8;
        /// `AUTO_INCREMENT_FLAG`
        const AUTO_INCREMENT = 1 << 9;
        /// `TIMESTAMP_FLAG`
        const TIMESTAMP = 1 << 10;
        /// `SET_FLAG`
        const SET = 1 << 11;
        const _ = !0;
    }
}
