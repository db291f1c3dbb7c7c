//! Rows of parameters into Bind messages, and what becomes of a request whose values do not fit.

use super::answer::Prelude;
use super::entry::{Entry, Failure, Stage};
use super::request::{Execute, Request, Rows};
use super::send::entry_statement;
use super::stage::{Event, Unsent};
use super::statement::{Lookup, Statement};
use super::work::{PortalDescription, Preparation, Work};
use super::{Machine, PgHandler, Server};
use crate::messages::frontend;
use crate::messages::tag::Target;
use crate::types::Format;
use headrace_core::{Mismatch, Outcome, Parameters, Slot, WriteBuffer, limits};

impl<H: PgHandler> Machine<H> {
    /// The statement of the last started entry is known: sends Bind and Execute, or begins its batch.
    pub(super) fn bind_tail(&mut self, cx: H::Cx<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        let entry = &mut self.queue[at];
        let Stage::Bindable { unsent } = *entry.stage() else { return };
        let Work::Statement(preparation) = &mut entry.work else { return };
        let Some(statement) = preparation.statement().cloned() else { return };
        let begun = entry.answer.owed > 0;
        let describes_portal = statement.describes_portal()
            || (preparation.is_reused() && self.server != Server::Own && statement.columns.is_some());
        let described_later =
            describes_portal && matches!(entry.request, Request::Execute(_)) && preparation.typing.is_none();
        if described_later {
            preparation.portal = PortalDescription::Needed;
        } else {
            entry.columns_from_here(cx, statement.columns.as_ref());
        }
        let Request::Execute(execute) = &entry.request else {
            entry.go(Event::NothingToExecute, Stage::AwaitSync);
            return;
        };
        if statement.name.is_empty() {
            frontend::parse(write_buffer.tail(), "", &statement.sql, &statement.parameters);
        }
        if entry.slot.handler.is_none() {
            // Discarded while it waited for its description.
            if begun {
                self.poison(at, write_buffer);
            } else {
                if let Request::Execute(execute) = &mut entry.request {
                    // Nothing else of it would be answered, also in a group of requests.
                    execute.sync = true;
                }
                entry.go(Event::Abandoned, Stage::AwaitSync);
            }
            return;
        }
        if execute.rows.is_batch() {
            entry.go(Event::BatchBegun, Stage::Sending { unsent });
            self.note_statement(at);
            self.send_rows(cx, write_buffer);
            return;
        }
        match send_row(entry, &statement, cx, write_buffer) {
            Ok(()) => {
                entry.answer.owed = 1;
                entry.go(Event::RowSent, Stage::AwaitSync);
            }
            Err(error) => self.refuse(at, error, None, unsent, cx, write_buffer),
        }
    }

    /// Sends rows of the batch that the last started entry is, until the write buffer is full or the rows are all sent.
    pub(super) fn send_rows(&mut self, cx: H::Cx<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        let mut entry = &mut self.queue[at];
        let Stage::Sending { unsent } = *entry.stage() else { return };
        let Some(mut statement) = entry.statement().cloned() else { return };
        while write_buffer.len() < limits::WRITE_BUFFER_HIGH_BYTES {
            if entry.slot.handler.is_none() {
                self.poison(at, write_buffer);
                return;
            }
            let sent = match entry.take_row(cx) {
                Ok(true) => match entry.suits(cx) {
                    Ok(true) => send_row(entry, &statement, cx, write_buffer),
                    Ok(false) => {
                        if !self.change_statement(at, cx, write_buffer) {
                            return;
                        }
                        entry = &mut self.queue[at];
                        if let Some(other) = entry.statement() {
                            statement = other.clone();
                        }
                        send_row(entry, &statement, cx, write_buffer)
                    }
                    Err(error) => Err(error),
                },
                Ok(false) => {
                    entry.go(Event::RowsSent, Stage::Answering);
                    if !self.end_of_batch(write_buffer) {
                        // Whoever gathers answers, a pooler for one, is to let them go.
                        frontend::flush(write_buffer.tail());
                    }
                    return;
                }
                Err(error) => Err(error),
            };
            match sent {
                Ok(()) => {
                    entry.answer.owed += 1;
                    if let Some(preparation) = entry.preparation_mut() {
                        preparation.pending = false;
                    }
                }
                Err(error) => {
                    let row = Some(entry.answer.owed);
                    self.refuse(at, error, row, unsent, cx, write_buffer);
                    return;
                }
            }
        }
    }

    /// The response handler's own error: a value that does not fit. If nothing has left yet, nothing will.
    pub(super) fn refuse(
        &mut self,
        at: usize,
        error: H::Error,
        row: Option<u64>,
        unsent: Unsent,
        cx: H::Cx<'_>,
        write_buffer: &mut WriteBuffer,
    ) {
        let open = self.group_is_open(at) && at > 0;
        let entry = &mut self.queue[at];
        let is_taken_back = match unsent {
            Unsent::Whole(mark) | Unsent::Described(mark) => write_buffer.truncate(mark),
            Unsent::Nothing => false,
        };
        if !is_taken_back {
            entry.slot.failure = Some(Failure::Client { error, row });
            self.poison(at, write_buffer);
            return;
        }
        self.registry.forget();
        if self.may_be_outdated(at, row, cx) {
            if self.queue[at].block.awaits_prelude() {
                self.take_back_begin();
            }
            let entry = &mut self.queue[at];
            let failed = std::mem::replace(entry, Entry::new(Slot::own(entry.slot.id, entry.slot.lane), Request::Sync));
            self.queue[at] = failed.again();
            self.start_statement(at, cx, write_buffer);
            return;
        }
        let entry = &mut self.queue[at];
        let owes_sync = entry.request.syncs() && (matches!(unsent, Unsent::Described(_)) || open);
        let began = entry.block.awaits_prelude();
        if owes_sync {
            entry.slot.failure = Some(Failure::Client { error, row });
            entry.block.prelude = Prelude::Unsent;
            entry.answer.owed = 0;
            entry.go(Event::Abandoned, Stage::AwaitSync);
        } else if let Some(entry) = self.queue.remove_last() {
            if let Some(number) = entry.request.declared_cursor() {
                self.portals.close(number);
            }
            entry.slot.finish_with(cx, Outcome::Client { error, row });
        }
        if began {
            self.take_back_begin();
        }
    }

    /// The BEGIN of the request that was started last was taken back with the rest of it.
    fn take_back_begin(&mut self) {
        self.in_block = Some(false);
        self.reserved = None;
        self.streamed = None;
    }

    /// Whether a statement from the cache may only be refused because it was prepared for a table that has changed, by
    /// whomever: it is forgotten in any case, and prepared again where the server had chosen types.
    fn may_be_outdated(&mut self, at: usize, row: Option<u64>, cx: H::Cx<'_>) -> bool {
        let entry = &mut self.queue[at];
        let Some(preparation) = entry.preparation().filter(|known| known.is_reused() && !known.retried) else {
            return false;
        };
        let Some(statement) = preparation.statement() else { return false };
        let chosen = statement.has_chosen_types(&preparation.hints);
        let again = chosen && (row.is_none() || entry.slot.handler.as_mut().is_some_and(|handler| handler.rewind(cx)));
        self.forget(at);
        again
    }

    /// Takes the statement of the entry `at` out of the cache; the server is told with the next request.
    pub(super) fn forget(&mut self, at: usize) {
        let entry = &self.queue[at];
        let (sql, _) = entry_statement(&entry.request);
        self.statements.forget(&(sql.as_ref(), entry.hints()) as &dyn Lookup);
    }

    /// Rows of an abandoned batch are on their way: makes the server fail what it has, so that none of it stays.
    pub(super) fn poison(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        frontend::parse(write_buffer.tail(), "", "abandoned by the client: this batch is rolled back", &[]);
        self.queue[at].go(Event::Poisoned, Stage::AwaitSync);
    }
}

/// Why a statement with its parameters cannot even be described: the count of them would not fit into the messages, and
/// the server's answer would be out of step with its own.
pub(super) fn too_many<H: PgHandler>(entry: &mut Entry<H>, cx: H::Cx<'_>) -> Option<H::Error> {
    let one = matches!(&entry.request, Request::Execute(Execute { rows: Rows::One, .. }));
    let typed = entry.preparation().is_some_and(|known| known.typing.is_some() && known.pending);
    if !one && !typed {
        return None;
    }
    let given = entry.slot.handler.as_mut()?.params(cx).count();
    (given > limits::PARAMETERS).then(|| {
        let most = limits::PARAMETERS;
        Mismatch::wrong_type(format!(
            "PostgreSQL takes {most} parameters in a statement, but {given} were given; pass a list as one array, \
             `= ANY(%s)`, or many rows to executemany"
        ))
        .into()
    })
}

/// Writes Bind and Execute for the response handler's current row.
fn send_row<H: PgHandler>(
    entry: &mut Entry<H>,
    statement: &Statement,
    cx: H::Cx<'_>,
    write_buffer: &mut WriteBuffer,
) -> Result<(), H::Error> {
    let Request::Execute(execute) = &entry.request else { return Ok(()) };
    let Some(handler) = &mut entry.slot.handler else { return Ok(()) };
    let (portal, max_rows) = match &execute.portal {
        Some(portal) => (portal.id.name.as_str(), portal.max_rows),
        None => ("", 0),
    };
    let params = handler.params(cx);
    let expected = statement.encoders.len();
    if params.count() != expected {
        return Err(count_mismatch(expected, params.count()).into());
    }
    let formats = statement.columns.as_ref().map_or(&[0u8, 0][..], |columns| &columns.formats);
    let out = write_buffer.tail();
    let start = out.len();
    let written = frontend::bind(out, portal, &statement.name, expected, formats, |i, out| {
        let value = params.get(i)?;
        statement.encoders[i].encode_param(&value, out).map(|format| u16::from(format == Format::Binary))
    });
    if let Err(error) = written {
        out.truncate(start);
        return Err(error);
    }
    if let Work::Statement(Preparation { portal: description @ PortalDescription::Needed, .. }) = &mut entry.work {
        // Once for a batch: one prepared statement is executed for all of its rows, and its columns stay.
        frontend::describe(out, Target::Portal, portal);
        *description = PortalDescription::Awaited;
    }
    frontend::execute(out, portal, max_rows);
    Ok(())
}

fn count_mismatch(expected: usize, given: usize) -> Mismatch {
    Mismatch::wrong_type(format!(
        "the statement has {expected} parameter{}, but {given} {} given",
        if expected == 1 { "" } else { "s" },
        if given == 1 { "was" } else { "were" },
    ))
}
