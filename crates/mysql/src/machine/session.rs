//! The session: the server, the negotiated capabilities, and the state as the server last reported it.

use super::binding::SETTLES_TYPES;
use super::verb::ENDS_ALONE;
use crate::errors::Numbering;
use crate::packets::capabilities::{Capabilities, StatusFlags};
use crate::packets::reply::{Completion, StateChange};
use crate::sql::{Lexer, Modes, ModesAfter, Scan, is_bindable, is_harmless_variable, is_one_of};
use crate::types::Lists;
use headrace_core::Reported;
use headrace_core::transaction::Event;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// An error that may have ended the transaction of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DoubtfulTransaction {
    /// The number of the block.
    pub block: u64,
    /// The error.
    pub reason: String,
    /// It is known to do so in some servers, or with some settings: nothing is executed before the server has reported
    /// the status. Another error is not expected to; it is only compared with the status that is reported next.
    pub is_likely: bool,
}

/// The session as the server last reported it.
#[derive(Clone, Debug, Default)]
pub struct SessionState {
    /// The server's version.
    pub server_version: String,
    /// Its first three numbers.
    pub version: (u16, u16, u16),
    /// True if it is MariaDB.
    pub mariadb: bool,
    /// The connection's number, which KILL takes.
    pub thread_id: u32,
    /// The number that the driver has given the connection, empty if none.
    pub(super) own_number: String,
    /// The negotiated capabilities.
    pub capabilities: Capabilities,
    /// The status of the last OK or EOF packet.
    pub status: StatusFlags,
    /// The SQL modes of the status that are not as it says: see [`ModesAfter`].
    pub(super) stale_modes: StatusFlags,
    /// System variables that changed, as far as `session_track_system_variables` has them reported.
    pub variables: BTreeMap<String, String>,
    /// One of them is a character set that is not utf8mb4: decided when they change, and asked after each request.
    pub(super) has_other_charset: bool,
    /// The current schema, once the server has reported it.
    pub schema: Option<String>,
    /// The last GTIDs, if the server reports them.
    pub gtids: Option<String>,
    /// The state of the transaction, if the server reports it.
    pub transaction_state: Option<String>,
    /// The transaction: by the status of the last reply, and by errors since, which carry none.
    pub(super) transaction: Reported,
    /// An error in a block that may have ended its transaction, while that is unknown.
    pub(super) doubtful: Option<DoubtfulTransaction>,
    /// The session's `completion_type` may not be the default.
    pub(super) completes_otherwise: bool,
    /// A statement failed outside of autocommit. What it has locked, tables' definitions too, stays locked until the end
    /// of the transaction, whether or not the server reports one.
    pub(super) holds_locks: bool,
    /// The program has executed what may have changed the role, which COM_RESET_CONNECTION keeps.
    pub(super) role_changed: bool,
    /// The program has executed what may have locked tables.
    pub(super) holds_tables: bool,
    /// The program has executed what may have decided the next transaction alone, and has ended none since.
    pub(super) sets_next: bool,
    /// Statements that would begin a transaction like the present one, if the server reports them.
    pub transaction_characteristics: Option<String>,
}

impl SessionState {
    /// Returns true if a transaction is open, as of the last reply. After an error that may have ended it, it counts as
    /// open.
    pub fn in_transaction(&self) -> bool {
        self.transaction.is_open()
    }

    /// COMMIT or ROLLBACK, as the driver sends it: the transaction ends, and nothing else happens. For those that the
    /// program executes, `completion_type` counts.
    pub(super) fn end<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        if self.completes_otherwise { format!("{sql}{ENDS_ALONE}").into() } else { sql.into() }
    }

    /// The SQL modes that change how a string is parsed.
    pub fn modes(&self) -> Modes {
        Modes::from(self.status ^ self.stale_modes)
    }

    /// The modes that a status reports otherwise than the one before.
    fn changed_modes(&self, status: StatusFlags) -> StatusFlags {
        (self.status ^ status) & (StatusFlags::NO_BACKSLASH_ESCAPES | StatusFlags::ANSI_QUOTES)
    }

    /// Returns true if it depends on the statement what the modes are after a reply with this status.
    pub(super) fn are_modes_unclear(&self, status: StatusFlags) -> bool {
        !(self.changed_modes(status) | self.stale_modes).is_empty()
    }

    /// Records the status of a reply, and which of its modes are not as it says.
    fn report_status(&mut self, status: StatusFlags, after: ModesAfter) {
        let changed = self.changed_modes(status);
        self.stale_modes = match after {
            ModesAfter::Kept => self.stale_modes ^ changed,
            ModesAfter::Set => StatusFlags::empty(),
            ModesAfter::Unknown => self.stale_modes - changed,
        };
        self.status = status;
    }

    /// Returns true if a statement must not be executed again: if parameter types are fixed, it keeps the types of the
    /// user variables that it names. A single one in SET is the assigned variable.
    pub(super) fn settles_variables(&self, sql: &str) -> bool {
        if !self.settles_types() || !sql.contains('@') {
            return false;
        }
        let scan = Scan::new(sql, self.modes());
        scan.variables > usize::from(scan.verb == "set")
    }

    /// Returns true if a statement must not be executed again, as it describes a table: MySQL (9.7 is one) decides when
    /// it is prepared whether the name is that of a temporary table, and returns no or another description after one is
    /// created or dropped.
    pub(super) fn settles_table(&self, sql: &str) -> bool {
        let first = Lexer::new(sql, self.modes()).next().map_or("", |token| token.text);
        !self.mariadb && is_one_of(first, &["describe", "desc", "explain", "show"])
    }

    /// The list that the numbers of its errors are in.
    pub(super) fn numbering(&self) -> Numbering {
        Numbering::of(self.mariadb)
    }

    /// Returns true if a prepared statement keeps the types of the values that it was executed with.
    pub(super) fn settles_types(&self) -> bool {
        !self.mariadb && self.version >= SETTLES_TYPES
    }

    /// Returns true if the values of a statement's parameters mean the same bound as written in their places, or cannot
    /// be written there.
    pub(super) fn binds(&self, sql: &str, scan: &Scan) -> bool {
        scan.placeholders.is_empty() || !scan.takes_literals() || is_bindable(sql, self.modes())
    }

    /// Returns false if the server does not prepare a statement, or loses its values: a list after IN, a constructor of
    /// rows on MariaDB, or more parameters than their number can be; if MariaDB, or MySQL before 8.0.22 (5.6 is one),
    /// may execute it otherwise again; or if it asks for the warnings of the statement before it, which would be those of
    /// its preparation.
    pub(super) fn prepares(&self, scan: &Scan) -> bool {
        let lost = scan.constructed && self.mariadb || self.executes_otherwise(scan);
        let too_many = scan.placeholders.len() > usize::from(u16::MAX);
        match scan.diagnoses {
            true => !scan.placeholders.is_empty() && !scan.takes_literals(),
            false => !scan.takes_literals() || !(scan.lists || lost || too_many),
        }
    }

    /// Returns true if the server may execute a prepared statement otherwise again.
    pub(super) fn executes_otherwise(&self, scan: &Scan) -> bool {
        scan.nests && !self.settles_types()
    }

    /// Returns true if a statement can be executed with a cursor. MySQL refuses one for statements without rows, and
    /// crashes on EXPLAIN, DESCRIBE or SHOW PROCESSLIST with one (9.7: a null pointer). The fetch that is sent with it
    /// would be the file that LOAD DATA LOCAL requests.
    pub(super) fn opens_cursor(&self, sql: &str) -> bool {
        let verb = Scan::new(sql, self.modes()).verb;
        self.mariadb && verb != "load" || matches!(verb.as_str(), "select" | "with" | "table" | "values")
    }

    /// How a list is sent in a statement whose parameters the server does not describe.
    pub(super) fn lists(&self, sql: &str) -> Lists {
        self.lists_of(&Scan::new(sql, self.modes()))
    }

    /// The same for a statement that was scanned.
    pub(super) fn lists_of(&self, scan: &Scan) -> Lists {
        let has_vectors = self.version >= if self.mariadb { (11, 7, 0) } else { (9, 0, 0) };
        if has_vectors && !scan.listed { Lists::Floats } else { Lists::Refused }
    }

    /// Returns true if COM_STMT_PREPARE and COM_STMT_EXECUTE can travel together.
    pub(super) fn prepares_ahead(&self) -> bool {
        self.mariadb && self.version >= (10, 2, 0)
    }

    /// Records the state in a reply; returns true if statements may have another meaning from now on.
    pub(super) fn report(&mut self, completion: &Completion, changes: Vec<StateChange>, modes: ModesAfter) -> bool {
        let mut renewed = false;
        self.report_status(completion.status, modes);
        let is_open = completion.status.contains(StatusFlags::IN_TRANS);
        // One that was chained is hidden until it is ended, unless something is executed in it.
        match (self.transaction, is_open) {
            (before, true) if before.is_chained() => self.transaction.on(Event::Continued),
            (Reported::Chained, false) => {}
            (_, true) => self.transaction.on(Event::Begun),
            (_, false) => self.transaction.on(Event::Ended),
        }
        for change in changes {
            match change {
                StateChange::SystemVariable(name, value) => {
                    renewed |= !is_harmless_variable(&name);
                    self.variables.insert(name, value);
                    self.note_charset();
                }
                StateChange::Schema(schema) => {
                    renewed = true;
                    self.schema = Some(schema);
                }
                StateChange::Gtids(gtids) => self.gtids = Some(gtids),
                StateChange::TransactionState(state) => self.transaction_state = Some(state),
                StateChange::TransactionCharacteristics(sql) => self.transaction_characteristics = Some(sql),
                StateChange::StateChange(_) => {}
            }
        }
        renewed
    }
}
