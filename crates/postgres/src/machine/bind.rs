//! Encodes rows of parameters as Bind messages, and handles requests whose values do not fit.

use super::answer::Prelude;
use super::pending::{Failure, PendingRequest, Stage};
use super::request::{Execute, ParameterRows, Request};
use super::send::statement_of;
use super::stage::{RequestEvent, Unsent};
use super::statement::{Lookup, Statement};
use super::work::{PortalDescription, Preparation, Work};
use super::{Machine, PgHandler, Server};
use crate::limits;
use crate::messages::frontend;
use crate::messages::tag::StatementOrPortal;
use crate::types::{self, Format, Oid};
use headrace_core::{Mismatch, Outcome, Parameters, ResponseHandler, Sent, Slot, WriteBuffer};
use std::borrow::Cow;
use std::sync::Arc;

/// Whether rows of a batch can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// They were, or the batch is in another stage.
    GoesOn,
    /// Not before a reply has come.
    Waits,
}

impl<H: PgHandler> PendingRequest<H> {
    /// Returns true if the rows of a batch cannot be read again after the next one, and its statement, which is from the
    /// cache, may still turn out to be stale.
    fn must_be_bound(&self) -> bool {
        let loses_next = self.slot.handler.as_ref().is_some_and(ResponseHandler::loses_next);
        loses_next
            && self.answer.owed > 0
            && self.preparation().is_some_and(|known| !known.types_pending && !known.bound && known.is_reused())
    }
}

impl<H: PgHandler> Machine<H> {
    /// The statement of the last started request is known: sends Bind and Execute, or begins its batch.
    pub(super) fn bind_tail(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        let pending = &mut self.queue[at];
        let Stage::Bindable { unsent } = *pending.stage() else { return };
        let Work::Statement(preparation) = &mut pending.work else { return };
        let Some(statement) = preparation.statement().cloned() else { return };
        let begun = pending.answer.owed > 0;
        let describes_portal = statement.describes_portal()
            || (preparation.is_reused() && self.server != Server::Own && statement.columns.is_some());
        let described_later =
            describes_portal && matches!(pending.request, Request::Execute(_)) && preparation.typing.is_none();
        if described_later {
            preparation.portal = PortalDescription::Needed;
        } else {
            pending.columns_from_here(cx, statement.columns.as_ref());
        }
        let Request::Execute(execute) = &pending.request else {
            if let (Request::Describe { .. }, Some(handler)) = (&pending.request, &mut pending.slot.handler) {
                handler.parameters(cx, &types::kinds(&self.registry, &statement.parameters));
            }
            pending.go(RequestEvent::NothingToExecute, Stage::AwaitSync);
            return;
        };
        if statement.name.is_empty() {
            frontend::parse(write_buffer.tail(), "", &statement.sql, &statement.parameters);
        }
        if pending.slot.handler.is_none() {
            // Discarded while it waited for its description.
            if begun {
                self.poison(at, write_buffer);
            } else {
                if let Request::Execute(execute) = &mut pending.request {
                    // Nothing else of it would be answered, also in a group of requests.
                    execute.sync = true;
                    if let Some(begun) = &mut self.begun {
                        begun.unsynced = None;
                    }
                }
                pending.go(RequestEvent::Abandoned, Stage::AwaitSync);
            }
            return;
        }
        if execute.rows.is_batch() {
            pending.go(RequestEvent::BatchBegun, Stage::Sending { unsent });
            self.note_statement(at);
            self.send_rows(cx, write_buffer);
            return;
        }
        // What the server refuses is prepared again and repeated where it is alone. Otherwise a column more is read as it
        // comes.
        let alone = pending.block.is_begun_here() || self.transaction.sent == Sent::Idle;
        let checked = described_later && alone && !execute.ordered && pending.slot.may_repeat();
        let count = if checked { ColumnCount::Checked } else { ColumnCount::Any };
        let parsed = statement.name.is_empty().then(|| write_buffer.tail().len());
        match send_row(pending, &statement, count, parsed, cx, write_buffer) {
            Ok(()) => {
                pending.answer.owed = 1;
                pending.go(RequestEvent::RowSent, Stage::AwaitSync);
            }
            Err(error) => self.refuse(at, error, None, unsent, cx, write_buffer),
        }
    }

    /// Sends rows of the batch that the last started request is, until the write buffer is full or the rows are all
    /// sent.
    pub(super) fn send_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> Sending {
        let Some(at) = self.queue.last_at() else { return Sending::GoesOn };
        let mut pending = &mut self.queue[at];
        let Stage::Sending { unsent } = *pending.stage() else { return Sending::GoesOn };
        let Some(mut statement) = pending.statement().cloned() else { return Sending::GoesOn };
        while !write_buffer.is_full() {
            if pending.slot.handler.is_none() {
                self.poison(at, write_buffer);
                return Sending::GoesOn;
            }
            if pending.must_be_bound() {
                return self.wait_until_bound(at, write_buffer);
            }
            let sent = match pending.take_row(cx) {
                Ok(true) => match pending.suits(cx) {
                    Ok(true) => {
                        if pending.may_go_on_in_bulk(cx) && self.check_table(at, write_buffer) {
                            return Sending::GoesOn;
                        }
                        self.put_row(at, &statement, cx, write_buffer)
                    }
                    Ok(false) => {
                        self.send_kept(at, write_buffer);
                        if !self.change_statement(at, cx, write_buffer) {
                            return Sending::GoesOn;
                        }
                        pending = &mut self.queue[at];
                        if let Some(other) = pending.statement() {
                            statement = other.clone();
                        }
                        self.put_row(at, &statement, cx, write_buffer)
                    }
                    Err(error) => Err(error),
                },
                Ok(false) => {
                    self.send_kept(at, write_buffer);
                    pending = &mut self.queue[at];
                    pending.go(RequestEvent::RowsSent, Stage::Answering);
                    if !self.end_of_batch(write_buffer) {
                        // Flush, so that a pooler does not hold the replies back.
                        frontend::flush(write_buffer.tail());
                    }
                    return Sending::GoesOn;
                }
                Err(error) => Err(error),
            };
            pending = &mut self.queue[at];
            match sent {
                Ok(()) => {
                    if let Some(preparation) = pending.preparation_mut() {
                        preparation.types_pending = false;
                    }
                }
                Err(error) => {
                    // The server may refuse one of those before it.
                    self.send_kept(at, write_buffer);
                    pending = &mut self.queue[at];
                    let row = Some(pending.answer.row_of(pending.answer.owed));
                    self.refuse(at, error, row, unsent, cx, write_buffer);
                    return Sending::GoesOn;
                }
            }
        }
        Sending::GoesOn
    }

    /// Waits until the first row of the batch `at` has been bound: a statement that turns out to be stale later could not
    /// be repeated.
    fn wait_until_bound(&mut self, at: usize, write_buffer: &mut WriteBuffer) -> Sending {
        self.send_kept(at, write_buffer);
        if let Some(preparation) = self.queue[at].preparation_mut()
            && !std::mem::replace(&mut preparation.is_flushed, true)
        {
            frontend::flush(write_buffer.tail());
        }
        Sending::Waits
    }

    /// Sends the current row of the batch `at`, or keeps it for a statement of many rows.
    #[inline]
    fn put_row(
        &mut self,
        at: usize,
        statement: &Arc<Statement>,
        cx: H::Context<'_>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), H::Error> {
        let pending = &mut self.queue[at];
        if pending.preparation().is_some_and(Preparation::joins) {
            return self.keep_row(at, statement, cx, write_buffer);
        }
        send_row(pending, statement, ColumnCount::Any, None, cx, write_buffer)?;
        pending.answer.owed += 1;
        Ok(())
    }

    /// The response handler's own error: a value that does not fit. If nothing has left yet, nothing will.
    pub(super) fn refuse(
        &mut self,
        at: usize,
        error: H::Error,
        row: Option<u64>,
        unsent: Unsent,
        cx: H::Context<'_>,
        write_buffer: &mut WriteBuffer,
    ) {
        let open = self.group_is_open(at) && at > 0;
        if self.is_refused_by_outdated(at, cx) && !self.rewind_unsent(at, unsent, cx, write_buffer) {
            self.describe_again(at, write_buffer);
            return;
        }
        let pending = &mut self.queue[at];
        let is_taken_back = match unsent {
            Unsent::Whole(mark) | Unsent::Described(mark) => write_buffer.truncate(mark),
            Unsent::Nothing => false,
        };
        if !is_taken_back {
            pending.slot.fail_row(Failure::Client { error, row });
            self.poison(at, write_buffer);
            return;
        }
        self.registry.forget();
        if self.may_be_outdated(at, row, cx) {
            if self.queue[at].block.awaits_prelude() {
                self.take_back_begin();
            }
            let pending = &mut self.queue[at];
            let failed = std::mem::replace(
                pending,
                PendingRequest::new(Slot::own(pending.slot.id, pending.slot.lane), Request::Sync),
            );
            let has_executed = failed.has_executed;
            self.queue[at] = failed.again();
            self.queue[at].has_executed = has_executed;
            self.start_statement(at, cx, write_buffer);
            return;
        }
        let pending = &mut self.queue[at];
        let owes_sync = pending.request.syncs() && (matches!(unsent, Unsent::Described(_)) || open);
        let began = pending.block.awaits_prelude();
        if owes_sync {
            pending.slot.fail_row(Failure::Client { error, row });
            pending.block.prelude = Prelude::Unsent;
            pending.answer.owed = 0;
            pending.go(RequestEvent::Abandoned, Stage::AwaitSync);
        } else if let Some(pending) = self.queue.remove_last() {
            if let Some(number) = pending.request.declared_cursor() {
                self.portals.close(number);
            }
            pending.slot.finish_with(cx, Outcome::Client { error, row });
        }
        if began {
            self.take_back_begin();
        }
    }

    /// Returns true if a row of the batch `at` does not fit its statement, which may have been prepared for a table that has
    /// changed since.
    fn is_refused_by_outdated(&mut self, at: usize, cx: H::Context<'_>) -> bool {
        let pending = &mut self.queue[at];
        let is_sending = matches!(pending.stage(), Stage::Sending { .. });
        // A row that could not be read, or whose types could not, has no statement.
        let is_row = pending.preparation().is_some_and(|known| known.types_pending && known.may_be_outdated());
        is_sending && is_row && pending.slot.handler.is_some() && matches!(pending.suits(cx), Ok(true))
    }

    /// Returns to the first row of the batch `at` if nothing of it has been sent, and its rows can be read again; returns
    /// true if it did.
    fn rewind_unsent(&mut self, at: usize, unsent: Unsent, cx: H::Context<'_>, write_buffer: &WriteBuffer) -> bool {
        let held = matches!(unsent, Unsent::Whole(mark) if write_buffer.holds(mark));
        let slot = &mut self.queue[at].slot;
        held && slot.may_repeat() && slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx))
    }

    /// The BEGIN of the request that was started last was taken back with the rest of it.
    fn take_back_begin(&mut self) {
        self.transaction.sent = Sent::Idle;
        self.reserved = None;
        self.streamed = None;
    }

    /// Returns true if a statement from the cache may only be refused because it was prepared for a table that has
    /// changed since, in whichever session: it is dropped from the cache in any case, and prepared again if the server
    /// had chosen types.
    fn may_be_outdated(&mut self, at: usize, row: Option<u64>, cx: H::Context<'_>) -> bool {
        let pending = &mut self.queue[at];
        let may_repeat = pending.slot.may_repeat();
        let Some(preparation) = pending.preparation().filter(|known| known.is_reused() && may_repeat) else {
            return false;
        };
        let chosen = preparation.has_chosen_types();
        let again =
            chosen && (row.is_none() || pending.slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx)));
        self.forget_used(at, true);
        again
    }

    /// Takes the statement of the request `at` out of the cache; its Close is sent with the next request.
    pub(super) fn forget(&mut self, at: usize) {
        let pending = &self.queue[at];
        let (sql, _) = statement_of(&pending.request);
        self.statements.forget(&(sql.as_ref(), pending.hints()) as &dyn Lookup);
    }

    /// Sends an invalid Parse: it aborts the implicit transaction, so that rows of an abandoned batch that were already
    /// sent are rolled back.
    pub(super) fn poison(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        frontend::parse(write_buffer.tail(), "", "abandoned by the client: this batch is rolled back", &[]);
        let pending = &mut self.queue[at];
        let event = if let Stage::Queued = pending.stage() { RequestEvent::Abandoned } else { RequestEvent::Poisoned };
        pending.go(event, Stage::AwaitSync);
    }
}

/// The reason why a statement with its parameters cannot even be described: their count does not fit into the messages.
pub(super) fn too_many<H: PgHandler>(pending: &mut PendingRequest<H>, cx: H::Context<'_>) -> Option<H::Error> {
    let one = matches!(&pending.request, Request::Execute(Execute { rows: ParameterRows::One, .. }));
    let typed = pending.preparation().is_some_and(|known| known.typing.is_some() && known.types_pending);
    if !one && !typed {
        return None;
    }
    let given = pending.slot.handler.as_mut()?.params(cx).count();
    (given > limits::PARAMETERS).then(|| {
        let most = limits::PARAMETERS;
        Mismatch::wrong_type(format!(
            "PostgreSQL takes {most} parameters in a statement, but {given} were given; pass a list as one array, \
             `= ANY(%s)`, or many rows to executemany"
        ))
        .into()
    })
}

/// Whether the server is to refuse a statement that has another number of columns than it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnCount {
    Any,
    Checked,
}

/// Writes Bind and Execute for the response handler's current row. `parsed` is where the Parse ends that was written
/// just before, if there was one.
fn send_row<H: PgHandler>(
    pending: &mut PendingRequest<H>,
    statement: &Statement,
    count: ColumnCount,
    parsed: Option<usize>,
    cx: H::Context<'_>,
    write_buffer: &mut WriteBuffer,
) -> Result<(), H::Error> {
    let Request::Execute(execute) = &pending.request else { return Ok(()) };
    let Some(handler) = &mut pending.slot.handler else { return Ok(()) };
    let (portal, max_rows) = match &execute.portal {
        Some(portal) => (portal.id.name.as_str(), portal.max_rows),
        None => ("", 0),
    };
    let params = handler.params(cx);
    let expected = statement.encoders.len();
    check_count(statement, params.count())?;
    let formats = match (&statement.columns, count) {
        (None, _) => Cow::Borrowed(&[0u8, 0][..]),
        (Some(columns), ColumnCount::Any) => Cow::Borrowed(&columns.formats[..]),
        (Some(columns), ColumnCount::Checked) => columns.exact_formats(),
    };
    let hints: &[Oid] = match &pending.work {
        Work::Statement(preparation) => &preparation.hints,
        _ => &[],
    };
    let out = write_buffer.tail();
    let start = out.len();
    let written = frontend::bind(out, portal, &statement.name, expected, &formats, |i, out| {
        let value = params.get(i)?;
        let format = statement.encoders[i].encode_param(&value, out)?;
        if let Some(parsed) = parsed.filter(|_| format == Format::Text && hints.get(i).is_none_or(|hint| *hint == 0)) {
            // Text is read as what the column is by now.
            out[parsed - 4 * (expected - i)..][..4].fill(0);
        }
        Ok::<_, H::Error>(u16::from(format == Format::Binary))
    });
    if let Err(error) = written {
        out.truncate(start);
        return Err(error);
    }
    if let Work::Statement(Preparation { portal: description @ PortalDescription::Needed, .. }) = &mut pending.work {
        // Once for a batch: one prepared statement is executed for all of its rows, and its columns stay.
        frontend::describe(out, StatementOrPortal::Portal, portal);
        *description = PortalDescription::Awaited;
    }
    frontend::execute(out, portal, max_rows);
    Ok(())
}

/// Refuses a row with another number of values than the statement has parameters.
pub(super) fn check_count(statement: &Statement, given: usize) -> Result<(), Mismatch> {
    let expected = statement.encoders.len();
    if given == expected {
        return Ok(());
    }
    Err(Mismatch::wrong_type(format!(
        "the statement has {expected} parameter{}, but {given} {} given",
        if expected == 1 { "" } else { "s" },
        if given == 1 { "was" } else { "were" },
    )))
}
