//! The requests of a connection.

use crate::lexer::{self, Facts};
use headrace_core::verb::{Effect, IfUnsent};
use headrace_core::{Verb, WhenLost};
use std::sync::Arc;

/// How the rows of a batch are sent. If a strategy is not possible the next best is used: the effect is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStrategy {
    /// The best that the statement allows: Joined, then Array.
    Auto,
    /// EXECUTE_ARRAY: each row is executed on its own.
    Array,
    /// EXECUTE_ARRAY of an INSERT or REPLACE to whose text rows are appended.
    Joined,
}

/// Which parameters an execution has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRows {
    /// One row, the response handler's current one.
    One,
    /// One row, too. The result is the keys that an INSERT generates for its rows, not the number of these.
    Keys,
    /// As many rows as the response handler's `next_row` delivers, by EXECUTE_ARRAY.
    Batch {
        /// The strategy.
        strategy: BatchStrategy,
        /// All rows or none: a savepoint inside a transaction. Without it, rows before and after one that fails are
        /// applied. Outside of a transaction the batch is one of its own, which ends with COMMIT or, if it is atomic
        /// and has failed, with ROLLBACK.
        atomic: bool,
    },
}

/// An execution of a statement with parameters.
#[derive(Clone, Debug)]
pub struct Execute {
    /// The statement, with parameters as `?`.
    pub sql: Arc<str>,
    /// The facts of its text, if they are kept with it.
    pub facts: Option<Facts>,
    /// One row of parameters or many.
    pub rows: ParameterRows,
    /// Begin a transaction block first, unless one is open. Without it a statement outside of a block is committed.
    pub begin: bool,
}

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// Execute a statement. Its result is read to the end.
    Execute(Execute),
    /// Execute the texts of statements (EXECUTE_BATCH). Each row of the response handler is one of them, as its only
    /// parameter. All are applied or none: see [`ParameterRows::Batch`].
    Texts {
        /// Begin a transaction block first, unless one is open.
        begin: bool,
    },
    /// Prepare a statement without executing it.
    Prepare {
        /// The statement.
        sql: Arc<str>,
    },
    /// The types that the server expects the parameters of a statement in: the columns of a result without rows. It is
    /// prepared, and not executed.
    ParameterTypes {
        /// The statement, with parameters as `?`.
        sql: Arc<str>,
    },
    /// Execute a query whose result stays open at the server; it is read by [`Request::FetchAt`], its first page comes
    /// with the reply. The statement is prepared for it alone.
    Open {
        /// The statement, with parameters as `?`.
        sql: Arc<str>,
        /// The number that the client gives it.
        number: u64,
        /// Its result survives the commit of its transaction.
        holds: bool,
        /// Begin a transaction block first, unless one is open.
        begin: bool,
    },
    /// Read one page of a result that is open, as large as the server makes it. It may be empty.
    FetchAt {
        /// The number of the cursor.
        number: u64,
        /// The number of the first row, from 1.
        position: i32,
    },
    /// Close a result that is open; without effect if it is not.
    CloseCursor {
        /// The number of the cursor.
        number: u64,
    },
    /// Query the catalogue (SCHEMA_INFO).
    SchemaInfo {
        /// What is asked for: [`crate::messages::schema`].
        query: i32,
        /// The first name, most often of a table.
        first: Option<Arc<str>>,
        /// The second name, most often of a column.
        second: Option<Arc<str>>,
        /// Which of the names are patterns of LIKE: 1 the first, 2 the second.
        patterns: u8,
    },
    /// The plan of a statement, as one row of one text. The statement is not executed.
    Plan {
        /// The statement.
        sql: Arc<str>,
    },
    /// Read the rows of a CURSOR that a stored procedure has returned as a value. The server has it until the end of the
    /// transaction.
    Returned {
        /// The value.
        value: i64,
    },
    /// A verb.
    Verb(Verb),
    /// The value that the last INSERT has generated, as the generated value of its result.
    LastInsertId,
    /// The server's version, as one row of one value.
    Version,
    /// Set a parameter of the session ([`crate::messages::parameter`]).
    SetParameter {
        /// Its number.
        parameter: i32,
        /// The value.
        value: i32,
    },
    /// Make a large object. The result is one row of one value: its handle. It is deleted at the end of the transaction
    /// unless a row has its handle, with the size of what was written in its bytes 4 to 11.
    NewObject {
        /// It is a CLOB.
        is_text: bool,
        /// Begin a transaction block first, unless one is open: it is needed.
        begin: bool,
    },
    /// Read a large object. The result is one row of one value: at most [`LOB_READ_BYTES`], and none at the end.
    ///
    /// [`LOB_READ_BYTES`]: crate::messages::client::LOB_READ_BYTES
    ReadObject {
        /// Its handle.
        handle: Arc<[u8]>,
        /// The number of bytes before.
        offset: i64,
        /// The number of bytes.
        bytes: i32,
    },
    /// Append to a large object. The result counts the bytes.
    WriteObject {
        /// Its handle.
        handle: Arc<[u8]>,
        /// The number of bytes that were written before.
        offset: i64,
        /// The bytes to write.
        data: Arc<[u8]>,
    },
}

impl Request {
    /// The verb that the request is: one, or the text of one, which has these facts. COMMIT and ROLLBACK have a function of their own: by
    /// EXECUTE they would end the transaction without the client's knowledge.
    pub(super) fn verb(&self, facts: Facts) -> Option<Verb> {
        match self {
            Request::Verb(verb) => Some(verb.clone()),
            Request::Execute(Execute { rows: ParameterRows::One, .. }) => match facts.effect {
                lexer::Effect::Commits => Some(Verb::Commit(IfUnsent::Forget)),
                lexer::Effect::RollsBack => Some(Verb::Rollback(IfUnsent::Forget)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns true if it begins a transaction block, unless one is open.
    pub(super) fn begins(&self) -> bool {
        match self {
            Request::Execute(execute) => execute.begin,
            Request::NewObject { begin, .. } | Request::Open { begin, .. } | Request::Texts { begin } => *begin,
            _ => false,
        }
    }

    /// Its effect on the transaction, given the facts of its text. Statements without `begin` are part of a block that is open, and are committed
    /// otherwise.
    pub(super) fn effect(&self, facts: Facts) -> Effect {
        let own = if self.begins() { Effect::Begins } else { Effect::Keeps };
        self.verb(facts).map_or(own, |verb| verb.effect())
    }

    /// What becomes of it in a block whose transaction the server has ended. COMMIT and ROLLBACK as texts are not the end
    /// of the block.
    pub(super) fn when_lost(&self) -> WhenLost {
        match self {
            Request::Verb(verb) => verb.when_lost(),
            Request::CloseCursor { .. } | Request::Version => WhenLost::Sent,
            _ => WhenLost::Refused,
        }
    }

    /// The statement's text.
    pub(super) fn sql(&self) -> Option<&Arc<str>> {
        match self {
            Request::Execute(Execute { sql, .. })
            | Request::Prepare { sql }
            | Request::ParameterTypes { sql }
            | Request::Open { sql, .. } => Some(sql),
            _ => None,
        }
    }

    /// Replaces the text of a statement that is executed by one with the types of its values.
    pub(super) fn retype(&mut self, typed: Arc<str>) {
        if let Request::Execute(Execute { sql, .. }) | Request::Open { sql, .. } = self {
            *sql = typed;
        }
    }

    /// The text of a statement that is executed with values of the response handler.
    pub(super) fn text_with_values(&self) -> Option<&Arc<str>> {
        match self {
            Request::Execute(Execute { sql, .. }) | Request::Open { sql, .. } => Some(sql),
            _ => None,
        }
    }

    /// The facts of its text.
    pub(super) fn facts(&self) -> Facts {
        match self {
            Request::Execute(Execute { facts: Some(facts), .. }) => *facts,
            _ => self.sql().map_or(Facts::NONE, |sql| Facts::of(sql)),
        }
    }
}
