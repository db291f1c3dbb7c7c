//! What a CAS answers when the database server was restarted behind it.
//!
//! It keeps its client, and is not connected with the server any more. What it needs no server for is done; CHECK_CAS
//! fails with -1; the first other request fails with -111, and each later one with -224, a rollback too. Where no
//! transaction is open afterwards, the connection ends behind the reply. As a genuine 11.3.2 does it.

use std::sync::atomic::Ordering;

use super::CasSession;
use crate::errors::{Error, Origin};
use crate::wire::Arguments;

/// The connection of a CAS with the database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// As of this start of the server.
    Open(u64),
    /// Lost, and a request has been told so.
    Lost,
}

/// The functions that need no server: GET_DB_PARAMETER, SET_DB_PARAMETER, CLOSE_REQ_HANDLE, GET_DB_VERSION, CON_CLOSE,
/// END_SESSION, GET_ROW_COUNT, CURSOR_CLOSE and SET_CAS_CHANGE_MODE.
const LOCAL: &[u8] = &[4, 5, 6, 15, 31, 38, 39, 42, 44];

impl CasSession {
    /// The error of a request, if the server was restarted since the login.
    pub(super) fn lost_server(&mut self, code: u8, arguments: &Arguments<'_>) -> Option<Error> {
        let starts = self.server.starts.load(Ordering::Relaxed);
        if self.link == Link::Open(starts) || LOCAL.contains(&code) {
            return None;
        }
        let autocommit = match code {
            20 => arguments.is_set(0),
            2 | 21 => arguments.is_set(2),
            41 => arguments.is_set(3),
            3 => arguments.is_set(6),
            _ => code == 1,
        };
        if !self.connection.is_autocommit() {
            // The server has rolled it back.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.open = !autocommit;
        self.ends = autocommit || code == 32;
        if code == 32 {
            return Some(Error { origin: Origin::Cas, code: -1, text: String::new() });
        }
        Some(match std::mem::replace(&mut self.link, Link::Lost) {
            Link::Lost => Error::server(-224, "A database has not been restarted."),
            Link::Open(_) => Error::server(
                -111,
                "Your transaction has been aborted by the system due to server failure or mode change.",
            ),
        })
    }
}
