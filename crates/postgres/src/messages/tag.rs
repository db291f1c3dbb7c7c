//! The first byte of each message (manual, "Message Formats"), and of the parts that are distinguished in the same way.
//! One byte can be two messages, one of each side.

macro_rules! tags {
    ($(#[doc = $doc:literal])* $module:ident { $($constant:ident = $byte:literal $name:literal,)* }) => {
        $(#[doc = $doc])*
        pub mod $module {
            $(#[doc = $name] pub const $constant: u8 = $byte;)*

            /// The manual's name of the message.
            pub fn name(tag: u8) -> Option<&'static str> {
                match tag {
                    $($constant => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

tags! {
    /// Messages of the client.
    frontend {
        BIND = b'B' "Bind",
        CLOSE = b'C' "Close",
        COPY_DATA = b'd' "CopyData",
        COPY_DONE = b'c' "CopyDone",
        COPY_FAIL = b'f' "CopyFail",
        DESCRIBE = b'D' "Describe",
        EXECUTE = b'E' "Execute",
        FLUSH = b'H' "Flush",
        FUNCTION_CALL = b'F' "FunctionCall",
        PARSE = b'P' "Parse",
        PASSWORD_MESSAGE = b'p' "PasswordMessage",
        QUERY = b'Q' "Query",
        SYNC = b'S' "Sync",
        TERMINATE = b'X' "Terminate",
    }
}

tags! {
    /// Messages of the server.
    backend {
        AUTHENTICATION = b'R' "Authentication",
        BACKEND_KEY_DATA = b'K' "BackendKeyData",
        BIND_COMPLETE = b'2' "BindComplete",
        CLOSE_COMPLETE = b'3' "CloseComplete",
        COMMAND_COMPLETE = b'C' "CommandComplete",
        COPY_BOTH_RESPONSE = b'W' "CopyBothResponse",
        COPY_DATA = b'd' "CopyData",
        COPY_DONE = b'c' "CopyDone",
        COPY_IN_RESPONSE = b'G' "CopyInResponse",
        COPY_OUT_RESPONSE = b'H' "CopyOutResponse",
        DATA_ROW = b'D' "DataRow",
        EMPTY_QUERY_RESPONSE = b'I' "EmptyQueryResponse",
        ERROR_RESPONSE = b'E' "ErrorResponse",
        FUNCTION_CALL_RESPONSE = b'V' "FunctionCallResponse",
        NEGOTIATE_PROTOCOL_VERSION = b'v' "NegotiateProtocolVersion",
        NO_DATA = b'n' "NoData",
        NOTICE_RESPONSE = b'N' "NoticeResponse",
        NOTIFICATION_RESPONSE = b'A' "NotificationResponse",
        PARAMETER_DESCRIPTION = b't' "ParameterDescription",
        PARAMETER_STATUS = b'S' "ParameterStatus",
        PARSE_COMPLETE = b'1' "ParseComplete",
        PORTAL_SUSPENDED = b's' "PortalSuspended",
        READY_FOR_QUERY = b'Z' "ReadyForQuery",
        ROW_DESCRIPTION = b'T' "RowDescription",
    }
}

tags! {
    /// The one byte that answers SSLRequest; an ErrorResponse of a very old server begins with the same byte.
    tls_answer {
        WILLING = b'S' "willing to perform TLS",
        UNWILLING = b'N' "unwilling",
        ERROR = b'E' "ErrorResponse",
    }
}

/// What a message of the type [`backend::AUTHENTICATION`] asks for or reports (manual, "Message Formats", Authentication...).
pub mod authentication {
    /// AuthenticationOk.
    pub const OK: u32 = 0;
    /// AuthenticationKerberosV5, which no server asks for since PostgreSQL 9.3.
    pub const KERBEROS_V5: u32 = 2;
    /// AuthenticationCleartextPassword.
    pub const CLEARTEXT_PASSWORD: u32 = 3;
    /// AuthenticationMD5Password.
    pub const MD5_PASSWORD: u32 = 5;
    /// AuthenticationGSS.
    pub const GSS: u32 = 7;
    /// AuthenticationGSSContinue.
    pub const GSS_CONTINUE: u32 = 8;
    /// AuthenticationSSPI.
    pub const SSPI: u32 = 9;
    /// AuthenticationSASL.
    pub const SASL: u32 = 10;
    /// AuthenticationSASLContinue.
    pub const SASL_CONTINUE: u32 = 11;
    /// AuthenticationSASLFinal.
    pub const SASL_FINAL: u32 = 12;
}

tags! {
    /// The fields of ErrorResponse and NoticeResponse (manual, "Error and Notice Message Fields").
    field {
        SEVERITY = b'S' "Severity",
        SEVERITY_UNTRANSLATED = b'V' "Severity, not localized",
        CODE = b'C' "Code",
        MESSAGE = b'M' "Message",
        ROUTINE = b'R' "Routine",
        WHERE = b'W' "Where",
    }
}

/// What Describe and Close are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StatementOrPortal {
    /// A prepared statement.
    Statement = b'S',
    /// A portal.
    Portal = b'P',
}
