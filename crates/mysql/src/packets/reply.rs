//! OK, EOF and ERR packets, and the session state that an OK packet can carry. MySQL: "OK_Packet", "EOF_Packet",
//! "ERR_Packet"; MariaDB: "OK_Packet", "EOF_Packet", "ERR_Packet".

use super::body::Body;
use super::capabilities::{Capabilities, StatusFlags};
use crate::errors::Numbering;
use headrace_core::{Fatal, IN_DOUBT};
use std::fmt;

/// How a statement ended, from an OK packet or from the EOF packet after its rows.
///
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Rows changed; 0 after rows.
    pub affected_rows: u64,
    /// The first value that AUTO_INCREMENT gave, 0 if none.
    pub last_insert_id: u64,
    /// The session's status.
    pub status: StatusFlags,
    /// The number of warnings that SHOW WARNINGS would list.
    pub warnings: u16,
    /// The server's text for humans (`Rows matched: 1 Changed: 1 Warnings: 0`).
    pub info: Vec<u8>,
}

/// One change of session state. MySQL: "Session State Information".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// `SESSION_TRACK_SYSTEM_VARIABLES`: name and value.
    SystemVariable(String, String),
    /// `SESSION_TRACK_SCHEMA`: the current schema.
    Schema(String),
    /// `SESSION_TRACK_STATE_CHANGE`: whether anything changed.
    StateChange(bool),
    /// `SESSION_TRACK_GTIDS`
    Gtids(String),
    /// `SESSION_TRACK_TRANSACTION_CHARACTERISTICS`: statements that would begin such a transaction.
    TransactionCharacteristics(String),
    /// `SESSION_TRACK_TRANSACTION_STATE`: eight characters, such as `T_______`.
    TransactionState(String),
}

impl Completion {
    /// Reads an OK packet, header included, and the changes of session state that it carries.
    ///
    /// # Errors
    /// [`Fatal`] if it is malformed.
    pub fn read_ok(payload: &[u8], capabilities: Capabilities) -> Result<(Self, Vec<StateChange>), Fatal> {
        let mut body = Body::new("OK packet", payload);
        body.u8()?;
        let mut ok = Self {
            affected_rows: body.lenenc()?,
            last_insert_id: body.lenenc()?,
            status: StatusFlags::from_bits_retain(body.u16()?),
            warnings: body.u16()?,
            info: Vec::new(),
        };
        let mut changes = Vec::new();
        if !capabilities.contains(Capabilities::SESSION_TRACK) {
            ok.info = body.rest().to_vec();
        } else if !body.is_empty() {
            ok.info = body.lenenc_bytes()?.to_vec();
            if ok.status.contains(StatusFlags::SESSION_STATE_CHANGED) && !body.is_empty() {
                changes = state_changes(body.lenenc_bytes()?)?;
            }
        }
        Ok((ok, changes))
    }

    /// Reads an EOF packet, header included.
    ///
    /// # Errors
    /// [`Fatal`] if it is malformed.
    pub fn read_eof(payload: &[u8]) -> Result<Self, Fatal> {
        let mut body = Body::new("EOF packet", payload);
        body.u8()?;
        let warnings = body.u16()?;
        let status = StatusFlags::from_bits_retain(body.u16()?);
        Ok(Self { status, warnings, ..Self::default() })
    }
}

fn state_changes(block: &[u8]) -> Result<Vec<StateChange>, Fatal> {
    const WHAT: &str = "session state";
    let mut body = Body::new(WHAT, block);
    let mut changes = Vec::new();
    while !body.is_empty() {
        let kind = body.u8()?;
        let mut data = Body::new(WHAT, body.lenenc_bytes()?);
        match kind {
            // MariaDB puts several variables into one entry.
            0 => {
                while !data.is_empty() {
                    changes.push(StateChange::SystemVariable(data.lenenc_text()?, data.lenenc_text()?));
                }
            }
            1 => changes.push(StateChange::Schema(data.lenenc_text()?)),
            // Both servers send the character alone, not as a string with a length.
            2 => changes.push(StateChange::StateChange(data.rest() == b"1")),
            3 => {
                // The encoding specification, always 0 so far.
                data.u8()?;
                changes.push(StateChange::Gtids(data.lenenc_text()?));
            }
            4 => changes.push(StateChange::TransactionCharacteristics(data.lenenc_text()?)),
            5 => changes.push(StateChange::TransactionState(data.lenenc_text()?)),
            // A kind of a later version: skipped, as the manual requires.
            _ => {}
        }
    }
    Ok(changes)
}

/// An ERR packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// The server's own number, such as 1062.
    pub code: u16,
    /// SQLSTATE, `HY000` when the server gave none.
    pub sqlstate: String,
    /// The server's message.
    pub message: String,
    /// The list that `code` is in.
    pub numbering: Numbering,
}

impl ServerError {
    /// Reads an ERR packet, header included. Before the capabilities are negotiated it has no SQLSTATE.
    ///
    /// # Errors
    /// [`Fatal`] if it is malformed.
    pub fn read(payload: &[u8], numbering: Numbering) -> Result<Self, Fatal> {
        let mut body = Body::new("ERR packet", payload);
        body.u8()?;
        let code = body.u16()?;
        let mut message = body.rest();
        let mut sqlstate = "HY000".to_owned();
        if let [b'#', rest @ ..] = message
            && let Some((state, words)) = rest.split_at_checked(5)
        {
            sqlstate = String::from_utf8_lossy(state).into_owned();
            message = words;
        }
        Ok(Self { code, sqlstate, message: String::from_utf8_lossy(message).into_owned(), numbering })
    }

    /// The error of a request that may have been executed before the server ended the session.
    pub fn of_unknown_outcome(self) -> Self {
        Self { message: format!("{}; {IN_DOUBT}", self.message), ..self }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}) {}", self.code, self.sqlstate, self.message)
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::body::put_lenenc_bytes;

    #[test]
    fn ok_with_and_without_session_state() {
        let plain = b"\x00\x01\xfc\x00\x01\x02\x00\x03\x00hello";
        let (ok, changes) = Completion::read_ok(plain, Capabilities::empty()).unwrap();
        assert_eq!((ok.affected_rows, ok.last_insert_id, ok.warnings), (1, 256, 3));
        assert_eq!(ok.status, StatusFlags::AUTOCOMMIT);
        assert_eq!((ok.info.as_slice(), changes), (&b"hello"[..], vec![]));

        let mut block = Vec::new();
        for (kind, data) in [
            (0u8, &b"\x0aautocommit\x03OFF\x01a\x01b"[..]),
            (1, b"\x04test"),
            (2, b"1"),
            (3, b"\x00\x030-1"),
            (4, b"\x11START TRANSACTION"),
            (5, b"\x08T_______"),
            (9, b"unknown"),
        ] {
            block.push(kind);
            put_lenenc_bytes(&mut block, data);
        }
        let mut packet = b"\x00\x00\x00\x02\x40\x00\x00\x02ok".to_vec();
        put_lenenc_bytes(&mut packet, &block);
        let (ok, changes) = Completion::read_ok(&packet, Capabilities::SESSION_TRACK).unwrap();
        assert_eq!(ok.info, b"ok");
        assert_eq!(
            changes,
            [
                StateChange::SystemVariable("autocommit".into(), "OFF".into()),
                StateChange::SystemVariable("a".into(), "b".into()),
                StateChange::Schema("test".into()),
                StateChange::StateChange(true),
                StateChange::Gtids("0-1".into()),
                StateChange::TransactionCharacteristics("START TRANSACTION".into()),
                StateChange::TransactionState("T_______".into()),
            ]
        );
        for cut in 0..packet.len() {
            // Every cut is an error or a shorter packet, never a panic.
            let _ = Completion::read_ok(&packet[..cut], Capabilities::SESSION_TRACK);
        }
    }

    #[test]
    fn errors_with_and_without_sqlstate() {
        let error = ServerError::read(b"\xff\x26\x04#23000Duplicate entry", Numbering::MySql).unwrap();
        assert_eq!((error.code, error.sqlstate.as_str(), error.message.as_str()), (1062, "23000", "Duplicate entry"));
        assert_eq!(error.to_string(), "(1062, 23000) Duplicate entry");
        let early = ServerError::read(b"\xff\x10\x04Too many connections", Numbering::MySql).unwrap();
        assert_eq!((early.code, early.sqlstate.as_str()), (1040, "HY000"));
        assert!(ServerError::read(b"\xff\x10", Numbering::MySql).is_err());
        assert!(!early.is_fatal() && !early.ends_transaction());
    }

    #[test]
    fn eof() {
        let eof = Completion::read_eof(&[0xfe, 1, 0, 0x0a, 0]).unwrap();
        assert_eq!(eof.warnings, 1);
        assert_eq!(eof.status, StatusFlags::AUTOCOMMIT | StatusFlags::MORE_RESULTS_EXISTS);
    }
}
