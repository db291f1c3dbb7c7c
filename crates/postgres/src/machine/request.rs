//! The requests of a connection.

use super::facts::Facts;
use super::statement::Columns;
use crate::sql::effects;
use crate::types::Oid;
use headrace_core::verb::{Effect, Verb};
use std::sync::Arc;

/// Whether a statement gets a name on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepare {
    /// Named, kept in the cache.
    Named,
    /// Never named: for poolers that hand each transaction another server connection.
    Unnamed,
}

/// Which parameters an execution has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRows {
    /// One row, the response handler's current one.
    One,
    /// As many rows as the response handler's `next_row` delivers.
    Batch,
    /// The same, and each row's values decide the types of its parameters, as if it were executed alone.
    TypedBatch,
    /// The same, but only the values that are dates or times do; the server decides all other types.
    TimeTypedBatch,
}

impl ParameterRows {
    /// Returns true if there may be many.
    pub fn is_batch(self) -> bool {
        self != ParameterRows::One
    }
}

/// The identity of a portal: a later cursor may have the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalId {
    /// Its name on the server.
    pub name: String,
    /// A number that no other portal of the session has.
    pub number: u64,
}

/// A portal that survives its request, so that more rows can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Which one.
    pub id: PortalId,
    /// Rows to fetch at first.
    pub max_rows: i32,
    /// If no transaction block is open, the block that the prelude begins is the portal's own: only requests for the
    /// portal are sent while it lasts, and [`Request::ClosePortal`] commits it.
    pub reserves: bool,
}

/// What a statement does with a cursor that SQL declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// It declares the cursor.
    Declare {
        /// Its portal.
        portal: PortalId,
        /// WITH HOLD: it survives the transaction.
        with_hold: bool,
    },
    /// It needs the cursor of this number. If that is not open any more nothing is sent, and the request ends without a
    /// result.
    Use(u64),
}

/// An execution by the extended protocol.
#[derive(Clone, Debug)]
pub struct Execute {
    /// The statement, with parameters as `$1`.
    pub sql: Arc<str>,
    /// Its facts, if they were kept with it.
    pub facts: Option<Facts>,
    /// Types of the parameters as far as the values of the response handler determine them; 0 or missing leaves them to
    /// the server.
    pub hints: Vec<Oid>,
    /// One row of parameters or many.
    pub rows: ParameterRows,
    /// Named or not.
    pub prepare: Prepare,
    /// A statement (BEGIN) to run in the same group, before this one, unless a transaction block is open then.
    pub prelude: Option<Arc<str>>,
    /// Keep a portal open.
    pub portal: Option<Portal>,
    /// The cursor that it declares or reads.
    pub cursor: Option<Cursor>,
    /// End the group with Sync. Without it an error makes the server skip all that follows up to the next Sync.
    pub sync: bool,
    /// Later requests rely on this one's place in the order, so it must not be repeated after them.
    pub ordered: bool,
    /// The expected columns of a statement without parameters that is executed in one round trip, unnamed: a FETCH from
    /// a cursor that was described. The rows are decoded by the description that the server then sends.
    pub expected: Option<Arc<Columns>>,
    /// Rows of a batch after which the rest is sent by COPY, where that has the same meaning; `None` for never.
    pub copy_after: Option<u64>,
    /// Rows that a batch has if the rows after its first are sent in statements of many rows, where that has the same
    /// meaning and `copy_after` does not make it a COPY; if their number is not known, as many are executed one by one
    /// before. `None` for never.
    pub join_from: Option<u64>,
    /// The pipeline that it belongs to, 0 for none: requests outside of it are not skipped after its errors, and if no
    /// transaction block is open each of its statements is committed separately.
    pub pipeline: u64,
}

impl Execute {
    /// A separate statement with one row of parameters: prepared, and cached.
    pub fn new(sql: impl Into<Arc<str>>) -> Self {
        Self {
            sql: sql.into(),
            facts: None,
            hints: Vec::new(),
            rows: ParameterRows::One,
            prepare: Prepare::Named,
            prelude: None,
            portal: None,
            cursor: None,
            sync: true,
            ordered: false,
            expected: None,
            copy_after: None,
            join_from: None,
            pipeline: 0,
        }
    }
}

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// Execute a statement by the extended protocol.
    Execute(Execute),
    /// Prepare and describe a statement, without executing it.
    Describe {
        /// The statement.
        sql: Arc<str>,
    },
    /// Describe a portal, for example a cursor. If it is not open nothing is sent, and the request ends without a
    /// result.
    DescribePortal {
        /// Which one.
        portal: PortalId,
    },
    /// Fetch more rows from a portal. If it is not open nothing is sent, and the request ends without a result.
    Fetch {
        /// Which one.
        portal: PortalId,
        /// The number of rows, 0 for all.
        max_rows: i32,
        /// The columns, as in the first part of the result.
        columns: Arc<Columns>,
    },
    /// Close a portal if it is open, and commit its own transaction.
    ClosePortal {
        /// Which one.
        portal: PortalId,
    },
    /// Statements separated by semicolons, by the simple protocol; also COPY.
    Script {
        /// The statements.
        sql: Arc<str>,
        /// A statement (BEGIN) to put in front unless a transaction block is open then; its result is not the
        /// response handler's.
        prelude: Option<Arc<str>>,
        /// The response handler will feed or read a COPY.
        copy: bool,
    },
    /// A verb of the session, by the simple protocol.
    Verb {
        /// The verb.
        verb: Verb,
        /// Its statements.
        sql: Arc<str>,
        /// As for [`Request::Script`].
        prelude: Option<Arc<str>>,
    },
    /// Copy rows whose columns are described first, in the same transaction.
    Copy(Copy),
    /// End a group of requests without a Sync of their own.
    Sync,
    /// Query which server process answers. Made by the machine itself, to find out whether a pooler is between.
    QueryServerProcess,
    /// Look up the types of deferred results. The machine itself turns a request into this.
    LookUp {
        /// The pipeline whose open group of requests it joins: a Sync, or a Query, would end the group.
        pipeline: Option<u64>,
    },
}

/// A COPY of rows. Its columns are described in the transaction that it runs in, which locks the table: they cannot
/// change in between.
#[derive(Clone, Debug)]
pub struct Copy {
    /// A query with the columns that are copied.
    pub query: Arc<str>,
    /// A query for the numbers (`attnum`) of columns that the description has and COPY leaves out: generated ones.
    pub left_out: Option<Arc<str>>,
    /// The statement for the binary format, which is used if every column has a binary form that is known here.
    pub binary: Option<Arc<str>>,
    /// The statement for the text format.
    pub text: Arc<str>,
    /// True if rows are sent to the server.
    pub into: bool,
    /// A statement (BEGIN) to run first, unless a transaction block is open then.
    pub prelude: Option<Arc<str>>,
}

impl Request {
    pub(super) fn syncs(&self) -> bool {
        match self {
            // Only the Sync shows when a batch of unknown length has ended.
            Request::Execute(execute) => execute.sync || execute.rows.is_batch(),
            Request::LookUp { pipeline } => pipeline.is_none(),
            _ => true,
        }
    }

    /// The pipeline whose group of requests this one leaves open, as it has no Sync of its own.
    pub(super) fn open_group(&self) -> Option<u64> {
        match self {
            Request::Execute(execute) if !self.syncs() => Some(execute.pipeline),
            Request::LookUp { pipeline } => *pipeline,
            _ => None,
        }
    }

    pub(super) fn prelude(&self) -> Option<&Arc<str>> {
        match self {
            Request::Execute(Execute { prelude, .. })
            | Request::Script { prelude, .. }
            | Request::Verb { prelude, .. }
            | Request::Copy(Copy { prelude, .. }) => prelude.as_ref(),
            _ => None,
        }
    }

    /// Its effect on the transaction block, given the facts of its text.
    pub(super) fn effect(&self, facts: Facts) -> Effect {
        if let Request::Verb { verb, .. } = self {
            return verb.effect();
        }
        // The block of a stream does not belong to other code.
        let begins = self.prelude().is_some() && self.reserving_portal().is_none();
        match (facts.control().is_about_block(), begins) {
            (true, _) => Effect::Unknown,
            (false, true) => Effect::Begins,
            (false, false) => Effect::Keeps,
        }
    }

    /// The portal that gets a transaction block of its own if this request begins one.
    pub(super) fn reserving_portal(&self) -> Option<u64> {
        match self {
            Request::Execute(Execute { portal: Some(portal), .. }) if portal.reserves => Some(portal.id.number),
            _ => None,
        }
    }

    /// The number of the portal without which this request is not worth sending.
    pub(super) fn needed_portal(&self) -> Option<u64> {
        match self {
            Request::Execute(Execute { cursor: Some(Cursor::Use(number)), .. }) => Some(*number),
            Request::Fetch { portal, .. } | Request::DescribePortal { portal } => Some(portal.number),
            _ => None,
        }
    }

    /// The number of the cursor that this request declares.
    pub(super) fn declared_cursor(&self) -> Option<u64> {
        match self {
            Request::Execute(Execute { cursor: Some(Cursor::Declare { portal, .. }), .. }) => Some(portal.number),
            _ => None,
        }
    }

    /// Returns true if a SET or RESET of this text may change where names are looked up.
    pub(super) fn sets_path(&self) -> bool {
        let (Request::Execute(Execute { sql, .. }) | Request::Script { sql, .. }) = self else { return false };
        mentions(sql, &["search_path", "role", "authorization", "schema", "all"])
    }

    /// Returns true if its EXPLAIN may be ANALYZE of what makes a table.
    pub(super) fn explains_creation(&self) -> bool {
        let (Request::Execute(Execute { sql, .. }) | Request::Script { sql, .. }) = self else { return false };
        effects(sql).creates
    }

    /// Returns true if it is sent by the simple protocol.
    pub(super) fn is_script(&self) -> bool {
        matches!(self, Request::Script { .. } | Request::Verb { .. })
    }
}

/// Returns true if the text contains any of these words, written in lower case.
pub(super) fn mentions(sql: &str, words: &[&str]) -> bool {
    let sql = sql.to_ascii_lowercase();
    words.iter().any(|word| sql.contains(word))
}
