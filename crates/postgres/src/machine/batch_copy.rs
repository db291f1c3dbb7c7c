//! A batch of plain INSERTs that goes on as a COPY, which takes the server a fraction of the time.
//!
//! The first rows are executed one by one: what the server reports of the statement, of a privilege, of a column that
//! takes no values, it reports of them. Then the catalogue is asked, in the same transaction and with the table locked,
//! for what a COPY would mean something else to, and the rest of the rows is sent by it. A row that does not have the
//! binary form of its columns, as a text for a date, ends the COPY; it and all after it are executed one by one again.
//! All of it has one Sync, so that it is one transaction.

use super::answer::Copied;
use super::batch_joined;
use super::batch_table::{Bulk, question};
use super::pending::{PendingRequest, Stage};
use super::request::{Execute, Request};
use super::stage::{CatalogueRow, RequestEvent, Unsent};
use super::work::{BulkProgress, Preparation, Work};
use super::{Machine, PgHandler, Server};
use crate::messages::backend::ServerError;
use crate::messages::frontend;
use crate::messages::tag::{self, field};
use crate::sql;
use crate::types::{Encoder, Oid, copy_binary, encode_binary_row};
use headrace_core::protocol::{RowWriter, Taken};
use headrace_core::{Fatal, Mismatch, Parameters, Value, ValueKind, WriteBuffer};
use std::sync::atomic::Ordering;

/// What the catalogue has of the columns that a batch inserts into.
enum Columns {
    /// As COPY lists them: they are those that the statement's parameters were described as.
    Listed(String),
    /// They have other types. Another session may have altered one since the statement was prepared.
    Altered,
    /// A COPY would mean something else to the table.
    Unlisted,
}

/// Reads the rows of the catalogue, of a statement whose parameters were described as these types.
fn columns_of(rows: &[CatalogueRow], parameters: &[Oid]) -> Columns {
    if rows.len() != parameters.len() {
        return Columns::Unlisted;
    }
    let mut names = Vec::with_capacity(rows.len());
    for (row, parameter) in rows.iter().zip(parameters) {
        let [Some(name), Some(of), Some(base)] = row.as_slice() else { return Columns::Unlisted };
        let is = |oid: &String| oid.parse() == Ok(*parameter);
        if !is(of) && !is(base) {
            return Columns::Altered;
        }
        names.push(name.as_str());
    }
    Columns::Listed(names.join(", "))
}

impl Copied {
    /// The row of the batch that an error is about: its context ends with `COPY table, line 5, column name`, in the
    /// language of the server.
    pub(super) fn row(&self, error: &ServerError) -> Option<u64> {
        let context = error.field(field::WHERE);
        // The lines before are those of triggers; a name of several lines stands in more than the last one.
        let last = context.lines().next_back()?;
        let context = if self.relation.contains('\n') { context } else { last };
        let (_, after) = context.split_once(self.relation.as_str())?;
        let digits = after.trim_start_matches(|c: char| !c.is_ascii_digit());
        let line: u64 = digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        Some(self.at + line.checked_sub(1)?)
    }
}

impl<H: PgHandler> PendingRequest<H> {
    /// Returns true if it is a batch that has sent enough rows to ask whether it can go on as a COPY, or in statements of
    /// many rows.
    #[inline]
    pub(super) fn may_go_on_in_bulk(&mut self, cx: H::Context<'_>) -> bool {
        let Request::Execute(Execute { copy_after, join_from, .. }) = &self.request else { return false };
        let Work::Statement(preparation) = &mut self.work else { return false };
        let sent = self.answer.owed;
        if preparation.bulk == BulkProgress::Untried && sent > 0 {
            let in_all = self.slot.handler.as_ref().and_then(|handler| handler.rows_in_all(cx));
            preparation.bulk = match (join_from, in_all) {
                (Some(from), Some(rows)) if rows >= *from => BulkProgress::Many,
                (Some(_), None) => BulkProgress::Counting,
                _ => BulkProgress::Few,
            };
        }
        let is_counted = || join_from.is_some_and(|from| sent >= from);
        let may_copy = || copy_after.is_some_and(|after| sent >= after);
        match preparation.bulk {
            BulkProgress::Many => true,
            BulkProgress::Counting => may_copy() || is_counted(),
            BulkProgress::NoCopy => is_counted(),
            BulkProgress::Few => may_copy(),
            BulkProgress::Untried | BulkProgress::CatalogQueried | BulkProgress::Decided => false,
        }
    }

    /// What the batch may go on as: a COPY if its values go to the columns as they are, or statements of many rows if it
    /// can be undone.
    fn bulk(&mut self, can_be_undone: bool) -> Option<Bulk> {
        let Request::Execute(Execute { copy_after, join_from, .. }) = &self.request else { return None };
        let Work::Statement(Preparation { hints, bulk, source, .. }) = &mut self.work else { return None };
        let progress = std::mem::replace(bulk, BulkProgress::Decided);
        let is_counted = join_from.is_some_and(|from| self.answer.owed >= from);
        let statement = source.as_ref()?.statement();
        // The unnamed statement would be replaced by those that ask.
        if statement.name.is_empty() || statement.columns.is_some() {
            return None;
        }
        if let Some(after) = copy_after
            && let Some(insert) = sql::plain_insert(&statement.sql)
        {
            if self.answer.owed < *after {
                *bulk = BulkProgress::Few;
                return None;
            }
            let columns = hints.iter().all(|oid| *oid == 0) && statement.encoders.iter().all(Encoder::has_binary);
            return (columns && insert.count == statement.parameters.len()).then_some(Bulk::Copy(insert));
        }
        if progress == BulkProgress::Counting && !is_counted {
            *bulk = BulkProgress::NoCopy;
            return None;
        }
        if progress == BulkProgress::Few || !can_be_undone || statement.unjoinable.load(Ordering::Relaxed) {
            return None;
        }
        let insert = sql::joinable_insert(&statement.sql).filter(batch_joined::pays)?;
        (insert.count == statement.parameters.len()).then_some(Bulk::Joined(insert))
    }
}

/// Writes rows of a batch as COPY has them in its binary format.
struct CopyRows<'a, E> {
    preparation: &'a mut Preparation,
    encoders: &'a [Encoder],
    out: &'a mut Vec<u8>,
    /// The length of `out` from which on it takes no more.
    full: usize,
    written: u64,
    /// The current row was not written: the values of another row decide for other types, its form is none that a COPY
    /// takes, or its values cannot be read.
    left: Option<Result<(), E>>,
}

impl<E: From<Mismatch> + Send> RowWriter<E> for CopyRows<'_, E> {
    fn write<P: Parameters<Error = E>>(&mut self, row: &P) -> Taken {
        let left = match self.preparation.suits(row) {
            Ok(true) => {
                let start = self.out.len();
                match write_row(row, self.encoders, self.out) {
                    Ok(()) => None,
                    Err(_) => {
                        self.out.truncate(start);
                        Some(Ok(()))
                    }
                }
            }
            Ok(false) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        if left.is_some() {
            self.left = left;
            return Taken::Left;
        }
        self.written += 1;
        if self.out.len() < self.full { Taken::More } else { Taken::Full }
    }
}

/// Writes a row as COPY has it in its binary format.
fn write_row<P: Parameters>(params: &P, encoders: &[Encoder], out: &mut Vec<u8>) -> Result<(), P::Error> {
    if params.count() != encoders.len() {
        return Err(Mismatch::wrong_type("another number of values".to_owned()).into());
    }
    let value = |i: usize| {
        let value = params.get(i)?;
        match value.kind() {
            // What an adapter gives may be text, and a text is for the server to read.
            ValueKind::Custom => Err(Mismatch::wrong_type("adapted".to_owned()).into()),
            ValueKind::Text if !encoders[i].is_text() => Err(Mismatch::wrong_type("text".to_owned()).into()),
            _ => Ok(value),
        }
    };
    encode_binary_row(encoders, value, out)
}

/// Why no more rows of a COPY are written.
enum Stop<E> {
    Full,
    NoMore,
    /// The current row is not one that a COPY takes.
    OtherRow,
    /// There is no next row, as the program's iterator has failed.
    Failed(E),
}

impl<H: PgHandler> Machine<H> {
    /// Makes the first request one whose rows are executed one by one, if a row of the COPY that it went on as was
    /// refused, or a statement of many rows, or the question before that, as by a server that is PostgreSQL by its
    /// protocol only; returns true if it did. Of several rows that are refused a COPY may name another than the first:
    /// executed one by one, the first is found.
    pub(super) fn give_up_failed_bulk(&mut self) -> bool {
        // The connection, the transaction's state, serialization and deadlocks, locks, and an operator's intervention:
        // not about a row.
        const OTHERWISE: [&str; 5] = ["08", "25", "40", "55", "57"];
        // A row twice, or changed meanwhile by a trigger; what is allowed in one row alone; errors of the statement
        // itself.
        const OF_MANY: [&str; 4] = ["21000", "27000", "0A000", "42"];
        let begins = |code: &str, classes: &[&str]| classes.iter().any(|class| code.starts_with(class));
        let Some(code) = self.front_sqlstate().map(str::to_owned) else { return false };
        let Some(pending) = self.queue.first_mut() else { return false };
        let asked = pending.preparation().is_some_and(|preparation| preparation.bulk == BulkProgress::CatalogQueried);
        let of_many = pending.answer.awaits_joined();
        if begins(&code, &OTHERWISE) || !(asked || of_many || pending.answer.awaits_copied()) {
            return false;
        }
        if (asked || of_many)
            && begins(&code, &OF_MANY)
            && let Some(statement) = pending.statement()
        {
            statement.unjoinable.store(true, Ordering::Relaxed);
        }
        let Request::Execute(execute) = &mut pending.request else { return false };
        execute.copy_after = None;
        execute.join_from = None;
        true
    }

    /// Asks whether the batch `at` can go on as a COPY, or in statements of many rows; returns false if that is certain
    /// to be no.
    pub(super) fn check_table(&mut self, at: usize, write_buffer: &mut WriteBuffer) -> bool {
        // While the query for it is in flight it is not known: then the batch is sent as to a pooler, and the table
        // checked.
        let is_asked = (0..at).any(|before| matches!(self.queue[before].request, Request::QueryServerProcess));
        let (is_pooled, is_own) = (self.server == Server::Pooled && !is_asked, self.server == Server::Own);
        // Partitions have been in the catalogue since 10.
        let is_postgres = self.server_major().is_some_and(|major| major >= 10);
        let is_other = is_pooled || !is_postgres || self.parameters.contains_key("crdb_version");
        let can_be_undone = self.can_be_undone(at);
        let pending = &mut self.queue[at];
        let Some(bulk) = pending.bulk(can_be_undone).filter(|_| !is_other) else { return false };
        let Some(statement) = pending.statement().cloned() else { return false };
        let joins = matches!(bulk, Bulk::Joined(_));
        if joins {
            self.save(at, write_buffer);
        }
        let pending = &mut self.queue[at];
        let out = write_buffer.tail();
        // To analyse the statement locks the table until the end of the transaction: what the answer has then stays.
        frontend::parse(out, "", &statement.sql, if joins { &statement.parameters } else { &[] });
        frontend::parse(out, "", &question(&bulk), &[]);
        frontend::bind_empty(out, "", "");
        frontend::execute(out, "", 0);
        frontend::flush(out);
        // Requests after it would be executed before the rows that are repeated, or fail with them.
        pending.may_copy = joins || !is_own;
        if let Some(preparation) = pending.preparation_mut() {
            preparation.bulk = BulkProgress::CatalogQueried;
        }
        pending.go(RequestEvent::StartCheck, Stage::CheckingTable { rows: Vec::new(), bulk: Box::new(bulk) });
        true
    }

    /// The server's major version.
    fn server_major(&self) -> Option<u32> {
        self.parameters.get("server_version")?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    /// The answer is complete: sends the COPY, or goes on with the statement, in many rows if they are allowed.
    pub(super) fn table_checked(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let pending = self.front("CommandComplete")?;
        if let Stage::CheckingTable { bulk, .. } = pending.stage()
            && let Bulk::Joined(_) = **bulk
        {
            self.join(write_buffer);
            return Ok(());
        }
        // A COPY looks for the keys of many rows at once, and may so refuse a later row first, unless its WHERE has a
        // volatile function. Where the rows cannot be executed again, the first one has to be named at once.
        let ordered = self.transaction.is_open() || !self.can_be_undone(0);
        let has_where = self.server_major().is_some_and(|major| major >= 12);
        let pending = self.front("CommandComplete")?;
        if let Some(preparation) = pending.preparation_mut() {
            preparation.bulk = BulkProgress::Decided;
        }
        let parameters = pending.statement().map(|statement| statement.parameters.clone()).unwrap_or_default();
        let Stage::CheckingTable { rows, bulk } = pending.stage() else { return Ok(()) };
        let Bulk::Copy(insert) = &**bulk else { return Ok(()) };
        let columns = columns_of(rows, &parameters);
        let has_handler = pending.slot.handler.is_some();
        if let Columns::Altered = columns
            && has_handler
            && pending.preparation().is_some_and(Preparation::may_be_outdated)
        {
            self.renew(0, write_buffer);
            return Ok(());
        }
        let (Columns::Listed(columns), true) = (columns, has_handler && (!ordered || has_where)) else {
            pending.go(RequestEvent::TableDiffers, Stage::Sending { unsent: Unsent::Nothing });
            return Ok(());
        };
        let out = write_buffer.tail();
        let one_by_one = if ordered { " WHERE pg_catalog.clock_timestamp() IS NOT NULL" } else { "" };
        let copy = format!("COPY {} ({columns}) FROM STDIN (FORMAT binary){one_by_one}", insert.table);
        frontend::parse(out, "", &copy, &[]);
        frontend::bind_empty(out, "", "");
        frontend::execute(out, "", 0);
        // While it takes rows the server reads no Sync.
        frontend::flush(out);
        let copied = Copied { at: pending.answer.owed, rows: 0, relation: insert.relation.clone() };
        pending.answer.copied = Some(Box::new(copied));
        pending.answer.owed += 1;
        pending.go(RequestEvent::StartCopy, Stage::Opening);
        Ok(())
    }

    /// The server is ready for the rows.
    pub(super) fn batch_ready(&mut self, tag: u8, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if tag != tag::backend::COPY_IN_RESPONSE {
            return Err(Fatal::peer("the server sent rows for a COPY that takes them"));
        }
        let pending = self.front("CopyInResponse")?;
        frontend::message(write_buffer.tail(), tag::frontend::COPY_DATA, |out| {
            out.extend_from_slice(copy_binary::HEADER);
        });
        pending.go(RequestEvent::CopyInResponse, Stage::Feeding);
        Ok(())
    }

    /// Sends rows of the COPY that the last started batch goes on as, until the write buffer is full or the rows are all
    /// sent.
    pub(super) fn feed_rows(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        let pending = &mut self.queue[at];
        let Some(statement) = pending.statement().cloned() else { return };
        if pending.slot.handler.is_none() {
            frontend::copy_fail(write_buffer.tail(), "cancelled by the client");
            pending.go(RequestEvent::Abandoned, Stage::AwaitSync);
            return;
        }
        let room = write_buffer.room();
        let mut written = 0;
        let mut stop = Stop::Full;
        frontend::message(write_buffer.tail(), tag::frontend::COPY_DATA, |out| {
            let first = out.len();
            while out.len() - first < room {
                match pending.take_row(cx) {
                    Ok(false) => stop = Stop::NoMore,
                    Err(error) => stop = Stop::Failed(error),
                    Ok(true) => {
                        let PendingRequest { work: Work::Statement(preparation), slot, .. } = &mut *pending else {
                            break;
                        };
                        let Some(handler) = &mut slot.handler else { break };
                        let (encoders, full) = (&statement.encoders, first + room);
                        let mut rows = CopyRows { preparation, encoders, out, full, written: 0, left: None };
                        handler.write_rows(cx, &mut rows);
                        written += rows.written;
                        let left = rows.left.take();
                        preparation.types_pending = left.is_some();
                        match left {
                            None => continue,
                            Some(Ok(())) => stop = Stop::OtherRow,
                            Some(Err(error)) => stop = Stop::Failed(error),
                        }
                    }
                }
                out.extend_from_slice(copy_binary::TRAILER);
                break;
            }
        });
        if let Some(copied) = &mut pending.answer.copied {
            copied.rows += written;
        }
        if let Stop::Full = stop {
            return;
        }
        frontend::copy_done(write_buffer.tail());
        if let Stop::NoMore = stop {
            pending.go(RequestEvent::RowsSent, Stage::Answering);
            if !self.end_of_batch(write_buffer) {
                frontend::flush(write_buffer.tail());
            }
            return;
        }
        pending.go(RequestEvent::OtherRow, Stage::Sending { unsent: Unsent::Nothing });
        if let Stop::Failed(error) = stop {
            let row = Some(pending.answer.row_of(pending.answer.owed));
            self.refuse(at, error, row, Unsent::Nothing, cx, write_buffer);
        }
    }
}
