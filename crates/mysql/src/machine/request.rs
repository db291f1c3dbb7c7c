//! The requests of a connection.

use super::verb::COMMIT;
use crate::packets::reply::ServerError;
use crate::sql::{Changes, Facts};
use headrace_core::WhenLost;
use headrace_core::verb::Effect;
use std::sync::Arc;

/// How the rows of a batch are sent. If a strategy is not possible the next best is used: the effect is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStrategy {
    /// The best that the server and the statement allow: Bulk, then Joined, then Pipelined.
    Auto,
    /// One COM_STMT_EXECUTE per row, many of them in flight.
    Pipelined,
    /// COM_STMT_BULK_EXECUTE: MariaDB, for INSERT, REPLACE, UPDATE and DELETE.
    Bulk,
    /// Many rows in the text of one INSERT or REPLACE.
    Joined,
}

/// Whether a statement is sent with COM_QUERY, its parameters as literals in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsText {
    /// For proxies that cannot prepare.
    Always,
    /// If the server does not prepare it.
    IfUnprepared,
    /// A literal would have another meaning: a statement that the server does not prepare fails.
    Never,
}

/// Which parameters an execution has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRows {
    /// One row, the response handler's current one.
    One,
    /// As many rows as the response handler's `next_row` delivers.
    Batch {
        /// The strategy.
        strategy: BatchStrategy,
        /// All rows or none: a transaction of its own in autocommit, a savepoint inside a transaction. Tables without
        /// transactions keep the rows that were applied; without this flag all tables do.
        atomic: bool,
    },
}

/// An execution of a statement with parameters.
#[derive(Clone, Debug)]
pub struct Execute {
    /// The statement, with parameters as `?`.
    pub sql: Arc<str>,
    /// What the machine reads in its text, if that was kept with the text.
    pub facts: Option<Facts>,
    /// One row of parameters or many.
    pub rows: ParameterRows,
    /// Whether the parameters are sent as literals in the text, by COM_QUERY.
    pub text: AsText,
    /// Keep a cursor open on the server and fetch this number of rows first.
    pub cursor: Option<u32>,
}

/// A statement of a [verb](headrace_core::Verb), or of the guard of a load: the driver has made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerbStatement {
    /// The statement.
    pub sql: Arc<str>,
    /// The effect of the verb on the transaction.
    pub effect: Effect,
    /// The statement that is sent in its place if it is discarded before it was sent: the end of a block must not be
    /// missing.
    pub discarded: Option<Arc<str>>,
}

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// Execute a statement with parameters.
    Execute(Execute),
    /// Prepare a statement without executing it.
    Prepare {
        /// The statement.
        sql: Arc<str>,
    },
    /// COM_QUERY: text without parameters, several statements if that was negotiated.
    Query {
        /// The text.
        sql: Arc<str>,
        /// The response handler will supply the data of a LOAD DATA LOCAL; without it the server's request for a file
        /// is refused.
        infile: bool,
    },
    /// Fetch more rows from the cursor that request `cursor` opened.
    Fetch {
        /// The number of the request.
        cursor: u64,
        /// The number of rows.
        rows: u32,
    },
    /// Close the cursor that request `cursor` opened.
    CloseCursor {
        /// The number of the request.
        cursor: u64,
    },
    /// COM_INIT_DB: change the schema.
    InitDb {
        /// Its name.
        schema: Arc<str>,
    },
    /// A statement of a verb, by COM_QUERY.
    Verb(VerbStatement),
    /// COM_PING
    Ping,
    /// COM_RESET_CONNECTION. The next request sets the character set again, which the server forgets with the rest.
    ResetConnection,
    /// Reserves the connection, once every earlier request is answered: from then on no request is started but those
    /// [`Request::Within`] the reservation, until it is released. Its number is that of this request.
    Reserve,
    /// A request within a reservation.
    Within {
        /// The number of the reservation.
        reservation: u64,
        /// The request.
        request: Box<Request>,
    },
}

impl Request {
    /// The statement's text, if it is the user's.
    pub(super) fn sql(&self) -> Option<&Arc<str>> {
        match self {
            Request::Execute(Execute { sql, .. }) | Request::Prepare { sql } | Request::Query { sql, .. } => Some(sql),
            _ => None,
        }
    }

    /// Its effect on the transaction, given the facts of its text; `autocommits` is true if a statement without a
    /// transaction is one of its own.
    pub(super) fn effect(&self, facts: Facts, autocommits: bool) -> Effect {
        match self {
            Request::Verb(statement) => statement.effect,
            // In a transaction it may be the victim of a deadlock, which ends the transaction; and without autocommit
            // any statement that touches a table begins one.
            Request::Query { .. } | Request::Execute(_) => match facts.keeps_transaction {
                true if autocommits => Effect::MayEnd,
                _ => Effect::Unknown,
            },
            Request::ResetConnection | Request::Reserve | Request::Within { .. } => Effect::Unknown,
            _ => Effect::Keeps,
        }
    }

    /// What becomes of it in a block whose transaction the server has ended.
    pub(super) fn when_lost(&self) -> WhenLost {
        match self {
            Request::Verb(VerbStatement { sql, effect, .. }) if effect.is_owed_end() => match &**sql {
                COMMIT => WhenLost::Commits,
                _ => WhenLost::RollsBack,
            },
            // Ends that are not a block's come after it.
            Request::Verb(VerbStatement { effect: Effect::Ends(_), .. }) => WhenLost::Sent,
            Request::CloseCursor { .. } | Request::Ping | Request::ResetConnection | Request::Reserve => WhenLost::Sent,
            _ => WhenLost::Refused,
        }
    }

    /// Returns true if it ends a transaction, or was interrupted although it is sent in any case. A savepoint that is not
    /// there any more has ended with its transaction.
    pub(super) fn is_end_refused_by(&self, error: &ServerError) -> bool {
        let Request::Verb(VerbStatement { effect, discarded, .. }) = self else { return false };
        matches!(effect, Effect::Ends(_)) || discarded.is_some() && error.is_interruption()
    }

    /// The facts of its text; `several` is whether the server accepts several statements in one.
    pub(super) fn facts(&self, several: bool) -> Facts {
        match self {
            // They were read for this server, unless it has said since what it accepts.
            Request::Execute(Execute { facts: Some(facts), .. }) if facts.several == several => *facts,
            _ => self.sql().map_or(Facts::NONE, |sql| Facts::of(sql, several)),
        }
    }

    /// Returns true if statements that were prepared before it may have another meaning after it, given the `changes` of
    /// its text.
    pub(super) fn changes_meaning(&self, changes: Changes) -> bool {
        match self {
            Request::InitDb { .. } | Request::ResetConnection => true,
            Request::Execute(_) | Request::Query { .. } => changes.meaning,
            _ => false,
        }
    }

    /// Returns true if nothing may be in flight together with it: the last statements of a batch depend on its
    /// replies, the server takes whatever follows a LOAD DATA LOCAL for the file, and a reservation begins when
    /// everything else is answered.
    pub(super) fn is_exclusive(&self, local_infile: bool) -> bool {
        if let Request::Execute(Execute { rows: ParameterRows::Batch { .. }, .. }) | Request::Reserve = self {
            return true;
        }
        local_infile && self.sql().is_some_and(|sql| may_load(sql))
    }
}

/// Returns true if LOAD is anywhere in the text: a comment that is executed could hide it from anything cleverer.
pub(super) fn may_load(sql: &str) -> bool {
    sql.as_bytes().windows(4).any(|window| window.eq_ignore_ascii_case(b"load"))
}
