//! The session's character sets: text travels as utf8mb4.
//!
//! What the handshake asks for is not believed: a server with `skip-character-set-client-handshake` ignores it, and
//! `init_connect` is executed after it. So a statement travels with the first request, and its reply is compared with
//! what the server reports. A server that reports no character sets is asked.
//!
//! | the session is in | then |
//! |---|---|
//! | utf8mb4 | nothing |
//! | another character set for statements or results (`SET NAMES latin1`) | the connection is closed |
//! | utf8mb3, binary or none, or another one for literals alone | it is set back before the next request |
//! | the last, with requests in flight that were executed in it | the connection is closed |
//!
//! `SET collation_connection` is reported by no server, nor is anything by one that does not track these variables:
//! after a statement that may have changed them they are set back without a report.

use super::pending::PendingRequest;
use super::reply::ReplyKind;
use super::session::SessionState;
use super::{Machine, MyHandler};
use crate::packets::capabilities::Capabilities;
use crate::packets::reply::StateChange;
use crate::sql::{verb, words};
use headrace_core::{Fatal, FatalKind, IN_DOUBT, WriteBuffer};

const CLIENT: &str = "character_set_client";
const RESULTS: &str = "character_set_results";
const CONNECTION: &str = "character_set_connection";

/// The character sets that text is in, or that leave it as it is.
const OWN: &str = "utf8mb4";
const HARMLESS: [&str; 6] = [OWN, "utf8mb3", "utf8", "binary", "NULL", ""];

/// Words of statements that may change what no server reports: the collation, which variables are reported, the user, and
/// by a text that is not in this one.
const UNREPORTED: [&str; 4] = ["collation_connection", "session_track_system_variables", "authorization", "execute"];

/// Fails unless the session is in utf8mb4. MariaDB's DO reports no errors.
const ASK: &str = "SELECT IF(@@character_set_client='utf8mb4' AND @@character_set_results='utf8mb4' \
                   AND @@character_set_connection='utf8mb4', 0, (SELECT 1 UNION SELECT 2))";

/// What is sent before the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// The statement that sets the session up.
    Setup,
    /// The question whether the session is in utf8mb4.
    Ask,
    /// The statement that sets it back, and keeps a collation of utf8mb4.
    Restore,
}

/// What is known of the character sets.
#[derive(Debug)]
pub(super) struct Charsets {
    due: Due,
    /// The server has reported them with the driver's own statement.
    tracked: bool,
}

impl Default for Charsets {
    fn default() -> Self {
        Self { due: Due::Setup, tracked: false }
    }
}

impl SessionState {
    fn charset(&self, name: &str) -> &str {
        self.variables.get(name).map_or(OWN, String::as_str)
    }

    /// The character set of statements or results, if it is one that changes text.
    fn foreign_charset(&self) -> Option<&str> {
        [CLIENT, RESULTS].map(|name| self.charset(name)).into_iter().find(|charset| !HARMLESS.contains(charset))
    }

    /// Any character set that is not utf8mb4.
    fn other_charset(&self) -> Option<&str> {
        [CLIENT, RESULTS, CONNECTION].map(|name| self.charset(name)).into_iter().find(|charset| *charset != OWN)
    }

    /// Called after each change of the variables.
    pub(super) fn note_charset(&mut self) {
        self.has_other_charset = self.other_charset().is_some();
    }

    /// The statement that sets the session back.
    fn restored(&self) -> String {
        let default =
            if self.mariadb || self.version < (8, 0, 0) { "utf8mb4_general_ci" } else { "utf8mb4_0900_ai_ci" };
        format!(
            "SET character_set_client={OWN}, character_set_results={OWN}, \
             collation_connection=IF(@@character_set_connection='{OWN}', @@collation_connection, '{default}')"
        )
    }
}

/// The error of a session that is not in utf8mb4.
fn changed(charset: &str) -> Fatal {
    Fatal::new(
        FatalKind::EncodingChanged,
        format!(
            "the session's character set was set to {charset}, but text is sent and read as utf8mb4 only: the \
             connection is closed. Leave SET NAMES out; tables may have any character set, the server converts"
        ),
    )
}

impl<H: MyHandler> Machine<H> {
    /// The session begins anew: the server has forgotten its settings.
    pub(super) fn forget_settings(&mut self) {
        self.charsets = Charsets::default();
        self.session.variables.clear();
        self.session.note_charset();
        self.session.holds_tables = false;
        self.session.sets_next = false;
    }

    /// Sends what is due before a request.
    pub(super) fn send_settings(&mut self, write_buffer: &mut WriteBuffer) {
        match std::mem::replace(&mut self.charsets.due, Due::Nothing) {
            Due::Nothing => {}
            Due::Setup => {
                let autocommit = if self.autocommit.take_pending() { ", autocommit=0" } else { "" };
                self.own_query(&format!("SET NAMES {OWN}{autocommit}"), ReplyKind::Setup, write_buffer);
                if !self.session.capabilities.contains(Capabilities::SESSION_TRACK) {
                    self.own_query(ASK, ReplyKind::Ask, write_buffer);
                }
            }
            Due::Ask => self.own_query(ASK, ReplyKind::Ask, write_buffer),
            Due::Restore => self.own_query(&self.session.restored(), ReplyKind::Charset, write_buffer),
        }
        if self.autocommit.take_pending() {
            self.own_query("SET autocommit=0", ReplyKind::AutocommitOff, write_buffer);
        }
    }

    /// Records the reply to a statement of the driver's that sets the character sets.
    pub(super) fn note_charsets(&mut self, kind: ReplyKind, changes: &[StateChange]) {
        if !matches!(kind, ReplyKind::Setup | ReplyKind::Charset) {
            return;
        }
        let is_reported = |name: &str| {
            changes.iter().any(|change| matches!(change, StateChange::SystemVariable(known, _) if known == name))
        };
        let literals = kind == ReplyKind::Charset || is_reported(CONNECTION);
        self.charsets.tracked = is_reported(CLIENT) && is_reported(RESULTS) && literals;
        if !self.charsets.tracked && self.session.capabilities.contains(Capabilities::SESSION_TRACK) {
            self.charsets.due = Due::Ask;
        }
        // That of literals was set by the collation, without a report.
        if let Some(charset) = self.session.variables.get_mut(CONNECTION) {
            OWN.clone_into(charset);
            self.session.note_charset();
        }
    }

    /// The error where the driver's own statement about the character sets has failed.
    pub(super) fn charsets_refused(kind: ReplyKind, message: &str) -> Option<Fatal> {
        match kind {
            // The statement after it is in flight, and autocommit may be as it was.
            ReplyKind::Setup | ReplyKind::Charset => {
                Some(Fatal::peer(format!("the server refused SET NAMES utf8mb4: {message}; {IN_DOUBT}")))
            }
            ReplyKind::Ask => Some(changed("another one")),
            _ => None,
        }
    }

    /// Decides about the character sets after the last reply to the first request.
    ///
    /// # Errors
    /// [`Fatal`] if text was sent or read in another one.
    pub(super) fn settle_charsets(&mut self) -> Result<(), Fatal> {
        if self.session.has_other_charset {
            if let Some(charset) = self.session.foreign_charset() {
                // The server would take every text that follows for another one, and store it.
                return Err(changed(charset));
            }
            if let Some(charset) = self.session.other_charset().filter(|_| self.queue.started() > 1) {
                return Err(changed(charset));
            }
            self.charsets.due = Due::Restore;
        } else if self.queue.first().is_some_and(|pending| may_change_charset(pending, self.charsets.tracked)) {
            self.charsets.due = Due::Restore;
        }
        Ok(())
    }
}

/// Returns true if a request may have changed the character sets, and the server does not report it; `tracked` if it
/// reports what SET NAMES changes.
fn may_change_charset<H: MyHandler>(pending: &PendingRequest<H>, tracked: bool) -> bool {
    let Some(sql) = pending.request.sql() else { return false };
    if pending.changes_meaning {
        return !tracked || words(sql).any(|word| UNREPORTED.iter().any(|other| word.eq_ignore_ascii_case(other)));
    }
    !tracked && verb(sql).is_none_or(|verb| verb.eq_ignore_ascii_case("call"))
}
