//! The first messages of a connection to the broker, which have no frames, and its other messages of ten bytes.

use super::Reader;
use super::server::ServerError;
use headrace_core::{Fatal, FatalKind};

/// The protocol version that the client speaks: CUBRID 11.2 and later.
pub const VERSION: u8 = 12;
/// The oldest version that is supported: CUBRID 10.2.
pub const OLDEST_VERSION: u8 = 8;
/// The version since which results of procedures are named by the numbers of their queries.
const QUERY_IDS_VERSION: u8 = 11;
/// The version since which FETCH may begin with any row. That of CUBRID 11.1 is lower, which has no such fault, but the
/// version of 11.0.
const SEEKS_VERSION: u8 = 11;
/// Marks the byte of a version.
const VERSION_MARK: u8 = 0x40;
/// Function flag: the client reads CAS errors from -10000 on.
const RENEWED_ERROR_CODES: u8 = 0x80;
/// Function flag: the client supports results that survive a commit.
const HOLDABLE_RESULTS: u8 = 0x40;
/// The client's function flags.
const FLAGS: u8 = RENEWED_ERROR_CODES | HOLDABLE_RESULTS;
/// The client type that CUBRID's C library (CCI) has, on which the drivers of most languages are built.
const CLIENT_TYPE: u8 = 1;

/// Bytes of the broker's answer to a hello or to a cancel request.
pub const ANSWER_BYTES: usize = 4;
/// Bytes of a session's identifier.
pub const SESSION_BYTES: usize = 20;

/// Bytes of the names in [`DbInfo`], with a NUL at the end.
const NAME_BYTES: usize = 32;
/// Bytes of the URL in [`DbInfo`].
const URL_BYTES: usize = 512;

/// The identifier of a session, which survives the CAS that it was opened with.
pub type SessionId = [u8; SESSION_BYTES];

/// Appends the first message, which the broker reads.
pub fn hello(out: &mut Vec<u8>, tls: bool) {
    out.extend_from_slice(if tls { b"CUBRS" } else { b"CUBRK" });
    out.extend_from_slice(&[CLIENT_TYPE, VERSION_MARK | VERSION, FLAGS, 0, 0]);
}

/// Appends the message that cancels the request that the CAS of this process executes.
pub fn cancel(out: &mut Vec<u8>, process_id: i32) {
    out.extend_from_slice(b"X1");
    out.extend_from_slice(&[VERSION_MARK | VERSION, FLAGS, 0, 0]);
    out.extend_from_slice(&process_id.to_be_bytes());
}

/// Appends the message that asks whether there is a broker; it answers 0.
pub fn ping(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PING\0\0\0\0\0\0");
}

/// The message that the CAS reads: what to connect to.
#[derive(Clone, Copy, Debug)]
pub struct DbInfo<'a> {
    /// The name of the database.
    pub database: &'a [u8],
    /// The user; empty is PUBLIC.
    pub user: &'a [u8],
    /// The password.
    pub password: &'a [u8],
    /// The session to resume; zeros for a new one.
    pub session: SessionId,
}

impl DbInfo<'_> {
    /// Appends it.
    ///
    /// # Errors
    /// The name of the field that is too long or contains a NUL.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let start = out.len();
        for (what, text) in [("database", self.database), ("user", self.user), ("password", self.password)] {
            if text.len() >= NAME_BYTES || text.contains(&0) {
                out.truncate(start);
                return Err(what);
            }
            out.extend_from_slice(text);
            out.resize(out.len() + NAME_BYTES - text.len(), 0);
        }
        // The URL and the driver's version, which are for the broker's log only.
        out.resize(out.len() + URL_BYTES, 0);
        out.extend_from_slice(&self.session);
        Ok(())
    }
}

/// The broker's answer to a hello, and to the other messages of ten bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Accepted,
    /// A broker on Windows: the CAS listens on this port.
    Port(u16),
    /// Refused with this CAS error.
    Refused(i32),
}

impl Answer {
    /// From its bytes; `None` if they are incomplete.
    ///
    /// # Errors
    /// [`Fatal`] for a port that is out of range.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, Fatal> {
        let Some(&bytes) = bytes.first_chunk::<ANSWER_BYTES>() else { return Ok(None) };
        Ok(Some(match i32::from_be_bytes(bytes) {
            0 => Self::Accepted,
            code if code < 0 => Self::Refused(code),
            port => {
                Self::Port(u16::try_from(port).map_err(|_| Fatal::peer(format!("the broker named the port {port}")))?)
            }
        }))
    }
}

/// The broker's properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerInfo {
    /// The database behind it: 1 CUBRID, 4 to 6 a shard proxy, 7 to 9 a gateway.
    pub dbms: u8,
    /// The connection is kept after a transaction; always 1.
    pub keeps_connection: u8,
    /// Prepared statements survive the transaction.
    pub statement_pooling: u8,
    /// Persistent connections of CCI.
    pub cci_pconnect: u8,
    /// The server's protocol version, with a mark.
    pub version: u8,
    /// The server's function flags.
    pub flags: u8,
    /// Bit 0: numbers behave as in Oracle.
    pub system_parameters: u8,
    /// Zero.
    pub reserved: u8,
}

/// The `dbms` of a broker in front of CUBRID.
pub const DBMS_CUBRID: u8 = 1;

impl BrokerInfo {
    fn read([dbms, keeps, pooling, pconnect, version, flags, parameters, reserved]: [u8; 8]) -> Self {
        Self {
            dbms,
            keeps_connection: keeps,
            statement_pooling: pooling,
            cci_pconnect: pconnect,
            version,
            flags,
            system_parameters: parameters,
            reserved,
        }
    }

    /// Returns true if a result that a procedure has returned is named by the number of its query, not by a handle.
    pub fn has_query_ids(&self) -> bool {
        self.protocol_version() >= QUERY_IDS_VERSION
    }

    /// Returns true if FETCH may begin with any row. Up to CUBRID 11.0 it may return other rows under the numbers that it
    /// was asked for, once the first rows were read again after others (`cursor_buffer_last_page`, CBRD-22334).
    pub fn seeks(&self) -> bool {
        self.protocol_version() >= SEEKS_VERSION
    }

    /// The server's protocol version; 0 for one so old that it has no such number.
    pub fn protocol_version(&self) -> u8 {
        match self.version & VERSION_MARK {
            0 => 0,
            _ => self.version & !VERSION_MARK,
        }
    }
}

/// The reply to [`DbInfo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The process of the CAS.
    pub process_id: i32,
    /// The broker's properties.
    pub broker: BrokerInfo,
    /// The number of the CAS, from 1. Zero for the broker's own answer to a health check.
    pub cas_index: i32,
    /// The session: the server's key (8 bytes), its number (4), zeros (8).
    pub session: SessionId,
}

impl Connected {
    /// From the payload of the reply.
    ///
    /// # Errors
    /// [`Fatal`] if it is not of the layout of versions 4 and later.
    pub fn read(mut reader: Reader<'_>) -> Result<Result<Self, ServerError>, Fatal> {
        if let Some(error) = ServerError::read(reader)? {
            return Ok(Err(error));
        }
        let process_id = reader.i32()?;
        let broker = reader.take(8)?;
        let broker = BrokerInfo::read(broker.try_into().unwrap_or_default());
        if reader.rest().len() != 4 + SESSION_BYTES {
            return Err(Fatal::new(
                FatalKind::UnsupportedServer,
                "the server's protocol is older than that of CUBRID 10.2",
            ));
        }
        let cas_index = reader.i32()?;
        let session = reader.take(SESSION_BYTES)?.try_into().unwrap_or([0; SESSION_BYTES]);
        Ok(Ok(Self { process_id, broker, cas_index, session }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of [`DbInfo`].
    const DB_INFO_BYTES: usize = 628;

    #[test]
    fn fields_of_the_db_info_that_do_not_fit_are_named() {
        let info = DbInfo { database: b"testdb", user: b"dba", password: b"", session: [7; SESSION_BYTES] };
        let mut out = Vec::new();
        info.write(&mut out).unwrap();
        assert_eq!((out.len(), &out[..8], &out[32..36]), (DB_INFO_BYTES, &b"testdb\0\0"[..], &b"dba\0"[..]));
        assert_eq!(out[608..], [7; SESSION_BYTES]);
        for (wrong, what) in [
            (DbInfo { database: &[b'x'; 32], ..info }, "database"),
            (DbInfo { user: b"a\0b", ..info }, "user"),
            (DbInfo { password: &[b'x'; 32], ..info }, "password"),
        ] {
            assert_eq!((wrong.write(&mut out), out.len()), (Err(what), DB_INFO_BYTES));
        }
    }

    #[test]
    fn the_broker_accepts_refuses_or_names_a_port() {
        assert_eq!(Answer::read(&[0, 0, 0]).unwrap(), None);
        for (answer, value) in
            [(Answer::Accepted, 0), (Answer::Port(33_001), 33_001), (Answer::Refused(-10_018), -10_018)]
        {
            assert_eq!(Answer::read(&i32::to_be_bytes(value)).unwrap(), Some(answer));
        }
        assert!(Answer::read(&70_000i32.to_be_bytes()).is_err());
    }
}
