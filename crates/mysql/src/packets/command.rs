//! Commands: the payloads that a client begins an exchange with. MySQL: "Command Phase"; MariaDB: "2-text-protocol",
//! "3-binary-protocol-prepared-statements".

use super::frame;

/// The first byte of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// End the session. The server closes the connection without a reply.
    Quit = 0x01,
    /// Change the schema.
    InitDb = 0x02,
    /// Run statements as text.
    Query = 0x03,
    /// Check that the server responds.
    Ping = 0x0e,
    /// Prepare a statement.
    StmtPrepare = 0x16,
    /// Execute a prepared statement.
    StmtExecute = 0x17,
    /// Forget a prepared statement. There is no reply.
    StmtClose = 0x19,
    /// Close a prepared statement's cursor and forget its long data.
    StmtReset = 0x1a,
    /// Fetch rows from a prepared statement's cursor.
    StmtFetch = 0x1c,
    /// Reset the session to its initial state.
    ResetConnection = 0x1f,
    /// Execute a prepared statement with many rows of parameters: MariaDB.
    StmtBulkExecute = 0xfa,
}

impl Command {
    /// The command of a packet that begins with this byte.
    pub fn of(byte: u8) -> Option<Self> {
        use Command::*;
        let all = [
            Quit,
            InitDb,
            Query,
            Ping,
            StmtPrepare,
            StmtExecute,
            StmtClose,
            StmtReset,
            StmtFetch,
            ResetConnection,
            StmtBulkExecute,
        ];
        all.into_iter().find(|command| *command as u8 == byte)
    }

    /// Its name, as the manual spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quit => "COM_QUIT",
            Self::InitDb => "COM_INIT_DB",
            Self::Query => "COM_QUERY",
            Self::Ping => "COM_PING",
            Self::StmtPrepare => "COM_STMT_PREPARE",
            Self::StmtExecute => "COM_STMT_EXECUTE",
            Self::StmtClose => "COM_STMT_CLOSE",
            Self::StmtReset => "COM_STMT_RESET",
            Self::StmtFetch => "COM_STMT_FETCH",
            Self::ResetConnection => "COM_RESET_CONNECTION",
            Self::StmtBulkExecute => "COM_STMT_BULK_EXECUTE",
        }
    }
}

/// The statement that was prepared last on this connection, in place of its number: MariaDB since 10.2, so that
/// COM_STMT_PREPARE and COM_STMT_EXECUTE can travel together.
pub const LAST_PREPARED: u32 = u32::MAX;
/// `CURSOR_TYPE_READ_ONLY`: the rows wait for COM_STMT_FETCH.
pub const CURSOR_TYPE_READ_ONLY: u8 = 1;
/// COM_STMT_BULK_EXECUTE: types of the parameters follow the flags.
pub const BULK_SEND_TYPES: u16 = 128;
/// COM_STMT_BULK_EXECUTE: the value is NULL. MySQL does not have it; MariaDB: "COM_STMT_BULK_EXECUTE, parameter
/// indicator".
pub const INDICATOR_NULL: u8 = 1;
/// COM_STMT_BULK_EXECUTE: a value follows.
pub const INDICATOR_NONE: u8 = 0;

/// Appends a command without further content as a packet of its own.
pub fn bare(out: &mut Vec<u8>, command: Command) -> u8 {
    frame::packet(out, 0, |out| out.push(command as u8))
}

/// Appends a command whose content is text: COM_QUERY, COM_INIT_DB, COM_STMT_PREPARE.
pub fn text(out: &mut Vec<u8>, command: Command, text: &[u8]) -> u8 {
    frame::packet(out, 0, |out| {
        out.push(command as u8);
        out.extend_from_slice(text);
    })
}

/// Appends COM_STMT_CLOSE or COM_STMT_RESET.
pub fn statement(out: &mut Vec<u8>, command: Command, statement_id: u32) -> u8 {
    frame::packet(out, 0, |out| {
        out.push(command as u8);
        out.extend_from_slice(&statement_id.to_le_bytes());
    })
}

/// Appends COM_STMT_FETCH of `rows` rows.
pub fn fetch(out: &mut Vec<u8>, statement_id: u32, rows: u32) -> u8 {
    frame::packet(out, 0, |out| {
        out.push(Command::StmtFetch as u8);
        out.extend_from_slice(&statement_id.to_le_bytes());
        out.extend_from_slice(&rows.to_le_bytes());
    })
}

/// The type of a parameter as COM_STMT_EXECUTE sends it: the column type and a byte of flags (0x80: unsigned).
pub type ParamType = [u8; 2];

/// Appends COM_STMT_EXECUTE of a statement with `count` parameters; `value` appends each value to the buffer and
/// returns its type, or `None` for NULL. MySQL: "COM_STMT_EXECUTE".
///
/// # Errors
/// The error of `value`; then nothing is appended.
pub fn execute<E>(
    out: &mut Vec<u8>,
    statement_id: u32,
    flags: u8,
    count: usize,
    mut value: impl FnMut(usize, &mut Vec<u8>) -> Result<Option<ParamType>, E>,
) -> Result<u8, E> {
    frame::try_packet(out, 0, |out| {
        out.push(Command::StmtExecute as u8);
        out.extend_from_slice(&statement_id.to_le_bytes());
        out.push(flags);
        out.extend_from_slice(&1u32.to_le_bytes());
        if count == 0 {
            return Ok(());
        }
        let nulls = out.len();
        out.resize(nulls + count.div_ceil(8), 0);
        out.push(1); // new-params-bind-flag: the types follow
        let types = out.len();
        out.resize(types + 2 * count, 0);
        for i in 0..count {
            match value(i, out)? {
                Some(kind) => out[types + 2 * i..types + 2 * i + 2].copy_from_slice(&kind),
                None => {
                    out[nulls + i / 8] |= 1 << (i % 8);
                    out[types + 2 * i] = crate::types::ColumnType::NULL.0;
                }
            }
        }
        Ok(())
    })
}

/// Appends the head of COM_STMT_BULK_EXECUTE: the part before the rows.
pub fn bulk_head(out: &mut Vec<u8>, statement_id: u32, types: &[ParamType]) {
    out.push(Command::StmtBulkExecute as u8);
    out.extend_from_slice(&statement_id.to_le_bytes());
    out.extend_from_slice(&BULK_SEND_TYPES.to_le_bytes());
    types.iter().for_each(|kind| out.extend_from_slice(kind));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execute_as_the_manual_shows_it() {
        let mut out = Vec::new();
        let value = |i: usize, out: &mut Vec<u8>| match i {
            0 => {
                out.extend_from_slice(b"\x03foo");
                Ok::<_, ()>(Some([0xfd, 0]))
            }
            _ => Ok(None),
        };
        execute(&mut out, 1, 0, 2, value).unwrap();
        assert_eq!(out, b"\x14\0\0\0\x17\x01\0\0\0\0\x01\0\0\0\x02\x01\xfd\0\x06\0\x03foo");
        let mut empty = Vec::new();
        execute(&mut empty, 7, CURSOR_TYPE_READ_ONLY, 0, |_, _| Ok::<_, ()>(None)).unwrap();
        assert_eq!(empty, b"\x0a\0\0\0\x17\x07\0\0\0\x01\x01\0\0\0");
    }

    #[test]
    fn small_commands() {
        let mut out = Vec::new();
        assert_eq!(bare(&mut out, Command::Ping), 1);
        text(&mut out, Command::Query, b"do 1");
        statement(&mut out, Command::StmtClose, 2);
        fetch(&mut out, 3, 4);
        let expected = b"\x01\0\0\0\x0e\x05\0\0\0\x03do 1\x05\0\0\0\x19\x02\0\0\0\x09\0\0\0\x1c\x03\0\0\0\x04\0\0\0";
        assert_eq!(out, expected);
        let mut head = Vec::new();
        bulk_head(&mut head, 5, &[[8, 0], [0xfd, 0]]);
        assert_eq!(head, b"\xfa\x05\0\0\0\x80\0\x08\0\xfd\0");
    }
}
