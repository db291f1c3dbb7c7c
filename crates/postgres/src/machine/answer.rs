//! The part of the reply to a request that has been received, and the effect of the request on the transaction block.

use super::PgHandler;
use super::deferred::Deferred;
use super::pending::PendingRequest;
use super::statement::Columns;
use std::collections::VecDeque;
use std::sync::Arc;

/// The results of a request: how many the server owes, how many have come, and the columns of the next one.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Results that the server owes for what was sent, if their number is known before they come.
    pub(super) owed: u64,
    /// Results that are complete.
    pub(super) results: u64,
    /// Rows of the current result so far.
    pub(super) rows: u64,
    /// The columns of the current result, if it has rows.
    pub(super) columns: Option<Arc<Columns>>,
    /// From which result on the rows have which other columns.
    pub(super) next_columns: VecDeque<(u64, Arc<Columns>)>,
    /// Results that wait for their types.
    pub(super) deferred: Option<Box<Deferred>>,
    /// The one result that is of many rows, if a batch went on as a COPY.
    pub(super) copied: Option<Box<Copied>>,
    /// The statements of many rows that are not answered.
    pub(super) joined: VecDeque<MultiRowResult>,
    /// The rows that the results of a batch so far have changed.
    pub(super) affected: u64,
    /// The savepoint that a batch can be undone to.
    pub(super) saved: Option<Saved>,
    /// The release of that savepoint was sent and not answered.
    pub(super) releases: bool,
}

/// A statement of many rows. Its result counts as so many, from the result `at` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct MultiRowResult {
    at: u64,
    rows: u64,
}

/// A savepoint within a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    /// The rows that were executed before it.
    pub(super) rows: u64,
    /// The rows that they have changed.
    pub(super) affected: u64,
    /// The server has set it.
    pub(super) is_set: bool,
}

/// The COPY that a part of a batch was sent by: one result of the batch.
#[derive(Debug)]
pub(super) struct Copied {
    /// The number of results, and of rows, before it.
    pub(super) at: u64,
    /// The rows that were sent.
    pub(super) rows: u64,
    /// The name of the table, as the server writes it into a context.
    pub(super) relation: String,
}

impl Answer {
    /// Returns true if all results that the server owes have come.
    pub(super) fn is_whole(&self) -> bool {
        self.results >= self.owed
    }

    /// The row of a batch that a result is about, or the first of its rows.
    #[inline]
    pub(super) fn row_of(&self, result: u64) -> u64 {
        match &self.copied {
            Some(copied) if result > copied.at => result - 1 + copied.rows,
            _ => result,
        }
    }

    /// A statement of so many rows was sent.
    pub(super) fn owe_joined(&mut self, rows: u64) {
        self.joined.push_back(MultiRowResult { at: self.owed, rows });
        self.owed += rows;
    }

    /// Returns true if the next result is that of a statement of many rows.
    pub(super) fn awaits_joined(&self) -> bool {
        self.joined.front().is_some_and(|result| result.at == self.results)
    }

    /// The rows before a savepoint were executed by another attempt.
    pub(super) fn resume(&mut self, saved: Saved) {
        self.owed = saved.rows;
        self.results = saved.rows;
        self.affected = saved.affected;
    }

    /// A result has come, which has changed so many rows.
    #[inline]
    pub(super) fn count_result(&mut self, changed: Option<u64>) {
        self.affected += changed.unwrap_or(0);
        let result = if self.awaits_joined() { self.joined.pop_front() } else { None };
        self.results += result.map_or(1, |result| result.rows);
    }

    /// Takes note of the reply to the statement that sets or releases the savepoint; returns true if it is one.
    pub(super) fn is_about_savepoint(&mut self, tag: &[u8]) -> bool {
        match (&mut self.saved, tag) {
            (Some(saved), b"SAVEPOINT") if !saved.is_set => {
                saved.affected = self.affected;
                saved.is_set = true;
            }
            (None, b"RELEASE") if self.releases => self.releases = false,
            _ => return false,
        }
        true
    }

    /// Returns true if the next result is the one of a COPY.
    pub(super) fn awaits_copied(&self) -> bool {
        self.copied.as_ref().is_some_and(|copied| self.results == copied.at)
    }
}

/// The state of a statement (BEGIN) that precedes a request; its reply precedes that of the request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prelude {
    /// There is none, or it was taken back.
    Unsent,
    /// The next result is the prelude's.
    Sent,
    /// It has opened the transaction block.
    Answered,
}

/// The end of the transaction block that a request may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It does not end the block, or the block has no cursors that would survive it.
    Irrelevant,
    /// It may end the block, and its reply shows which cursors of the block are left.
    Awaited,
    /// It may be one, and the last command that was completed was a ROLLBACK.
    RolledBack,
}

/// The effect of a request on the transaction block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) prelude: Prelude,
    pub(super) ending: Ending,
}

impl Block {
    pub(super) fn new() -> Self {
        Self { prelude: Prelude::Unsent, ending: Ending::Irrelevant }
    }

    /// Returns true if the next result is the prelude's.
    pub(super) fn awaits_prelude(&self) -> bool {
        self.prelude == Prelude::Sent
    }

    /// Returns true if the request has brought the BEGIN of its transaction.
    pub(super) fn is_begun_here(&self) -> bool {
        self.prelude != Prelude::Unsent
    }

    /// A command with this tag is complete.
    pub(super) fn completed(&mut self, tag: &[u8]) {
        self.ending = match self.ending {
            Ending::Irrelevant => Ending::Irrelevant,
            _ if tag == b"ROLLBACK" => Ending::RolledBack,
            _ => Ending::Awaited,
        };
    }
}

impl<H: PgHandler> PendingRequest<H> {
    /// Returns true if the server has executed all of it, and has not said how its transaction ended.
    pub(super) fn may_be_stored(&self) -> bool {
        self.slot.failure.is_none() && self.answer.results > 0 && self.answer.is_whole()
    }

    /// Results from this row on have these columns.
    pub(super) fn columns_from_here(&mut self, cx: H::Context<'_>, columns: Option<&Arc<Columns>>) {
        let Some(columns) = columns else { return };
        let answer = &mut self.answer;
        if !answer.is_whole() {
            answer.next_columns.push_back((answer.owed, columns.clone()));
            return;
        }
        if let Some(handler) = &mut self.slot.handler {
            handler.columns(cx, columns);
        }
        answer.columns = Some(columns.clone());
    }

    /// Switches to the columns of the next result, if they differ.
    #[inline]
    pub(super) fn turn_columns(&mut self, cx: H::Context<'_>) {
        let answer = &mut self.answer;
        while let Some((row, _)) = answer.next_columns.front()
            && *row <= answer.results
            && let Some((_, columns)) = answer.next_columns.pop_front()
        {
            if let Some(deferred) = &mut answer.deferred {
                deferred.turn(&columns);
            } else if let Some(handler) = &mut self.slot.handler {
                handler.columns(cx, &columns);
            }
            answer.columns = Some(columns);
        }
    }
}
