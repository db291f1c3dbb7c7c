//! The receiving half: from the read buffer to the response handlers.

use super::batch::is_stale;
use super::pages::Pages;
use super::pending::{Failure, Stage};
use super::request::Request;
use super::stage::{RequestEvent, RequestState};
use super::startup::Progress;
use super::statement::Statement;
use super::{BatchReply, CasHandler, Expect, Machine, Phase, TransactionReply};
use crate::errors::dbms;
use crate::lexer;
use crate::messages::login::Connected;
use crate::messages::server::{Executed, Made, NextResult, Origin, Page, Prepared, ServerError};
use crate::messages::{self, CasInfo, HEADER_BYTES, Reader, client, server, tran};
use headrace_core::protocol::Summary;
use headrace_core::transaction::Event as Report;
use headrace_core::{Fatal, FatalKind, Prepared as _, ReadBuffer, Reported, Requests, WriteBuffer};
use std::sync::Arc;

impl<H: CasHandler> Machine<H> {
    pub(super) fn read(
        &mut self,
        cx: H::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        if let Phase::Startup(startup) = &mut self.phase {
            match startup.read(read_buffer, write_buffer)? {
                Progress::Going => return Ok(()),
                // The request that the session was resumed for is gone.
                Progress::Ready(connected, info) if info.is_active && self.queue.is_empty() => {
                    startup.end_transaction(connected, info, write_buffer);
                    return self.read(cx, read_buffer, write_buffer);
                }
                Progress::Ready(connected, info) => {
                    self.check_resumed(&connected)?;
                    self.begin(connected, info);
                }
                // It is not the refusal of a statement that was in flight, which may have been executed.
                Progress::Refused(error) if self.resuming.take().is_some() => {
                    let reason = format!("the connection was lost, and the session could not be resumed: {error}");
                    return Err(Fatal::new(FatalKind::ConnectionLost, reason));
                }
                Progress::Refused(error) => {
                    let reason = Fatal::new(FatalKind::LoginRefused, error.to_string());
                    self.closing_error = Some(error);
                    return Err(reason);
                }
            }
        }
        while self.queue.full().is_none() {
            if std::mem::take(&mut self.is_last_page_due) {
                self.last_page(cx, write_buffer);
            }
            let unread = read_buffer.unread();
            let Some((length, info)) = messages::header(unread)? else { break };
            let total = HEADER_BYTES + length;
            let Some(payload) = unread.get(HEADER_BYTES..total) else {
                read_buffer.want(total);
                break;
            };
            (self.info, self.reply_bytes) = (info, payload.len());
            self.reply(cx, payload, write_buffer)?;
            read_buffer.consume(total);
        }
        self.is_reply_begun = !read_buffer.is_empty();
        Ok(())
    }

    fn begin(&mut self, connected: Connected, info: CasInfo) {
        self.phase = Phase::Ready;
        self.info = info;
        self.pools_statements = connected.broker.statement_pooling != 0;
        self.connected = Some(connected);
    }

    fn reply(&mut self, cx: H::Context<'_>, payload: &[u8], write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let error = ServerError::read(Reader::coded(payload, self.options.codeset))?;
        let (Some(expect), Some(pending)) = (self.expects.pop_front(), self.queue.answered()) else {
            let Some(error) = error else {
                return Err(Fatal::peer("the server sent a reply although no request was pending"));
            };
            return Err(self.session_ended(error));
        };
        pending.replies_due -= 1;
        pending.is_answered = true;
        pending.is_executed |= expect == Expect::Execute;
        let in_block = pending.in_block;
        if let Some(error) = error.as_ref().filter(|error| error.ends_session()) {
            return Err(self.session_ended(error.clone()));
        }
        if let Some(error) = &error {
            let aborted = error.origin == Origin::Dbms && error.code == dbms::UNILATERALLY_ABORTED;
            if aborted && pending.in_block {
                // The status may still be that of a transaction.
                self.transaction.on(Report::Failed);
                let block = pending.slot.block;
                self.queue.transaction_lost(block, &error.to_string());
            }
        }
        if !self.pools_statements && !self.info.is_active {
            self.statements.lost_all();
            self.cursors.clear();
            self.open_results.clear();
        }
        if in_block && !matches!(expect, Expect::Transaction(TransactionReply::EndTran { .. })) {
            self.check_begun(expect, error.as_ref())?;
        }
        let reply = error.map_or_else(|| Ok(Reader::coded(payload, self.options.codeset)), Err);
        match expect {
            Expect::Prepare => self.prepared(cx, reply)?,
            Expect::Execute => self.executed(cx, reply, write_buffer)?,
            Expect::Page => match reply {
                Ok(reader) => self.page(cx, reader, write_buffer)?,
                Err(error) => self.failed(error),
            },
            Expect::NextResult => match reply {
                Ok(reader) => self.next_result(cx, reader, write_buffer)?,
                Err(error) => self.failed(error),
            },
            Expect::LastInsertId => match reply {
                Ok(reader) => self.last_insert_id(cx, reader)?,
                Err(error) => self.failed(error),
            },
            Expect::Version => match reply {
                Ok(reader) => self.version(cx, reader)?,
                Err(error) => self.failed(error),
            },
            Expect::Schema => match reply {
                Ok(mut reader) => self.made(cx, Made::schema_info(&mut reader)?, write_buffer)?,
                Err(error) => self.failed(error),
            },
            Expect::Returned => match reply {
                Ok(mut reader) => self.made(cx, Made::out_rs(&mut reader)?, write_buffer)?,
                Err(error) => self.failed(error),
            },
            Expect::ParameterTypes => match reply {
                Ok(reader) => self.parameter_types(cx, reader)?,
                Err(error) => self.failed(error),
            },
            Expect::Plan => match reply {
                Ok(reader) => self.plan(cx, reader)?,
                Err(error) => self.failed(error),
            },
            Expect::Keys => match reply {
                Ok(reader) => self.keys(cx, reader)?,
                Err(error) => self.failed(error),
            },
            Expect::Object => match reply {
                Ok(reader) => self.object_reply(cx, reader)?,
                Err(error) => self.failed(error),
            },
            Expect::Unneeded => {}
            Expect::Simple | Expect::Settle => self.simple(reply),
            Expect::Transaction(of) => self.transaction_reply(of, reply)?,
            Expect::Batch(of) => self.batch_reply(of, reply)?,
        }
        self.complete(cx, write_buffer);
        Ok(())
    }

    /// A reply about the transaction.
    fn transaction_reply(&mut self, of: TransactionReply, reply: Result<Reader<'_>, ServerError>) -> Result<(), Fatal> {
        match of {
            TransactionReply::EndTran { is_rollback } => {
                if let (Err(error), Some(pending)) = (&reply, self.queue.first())
                    && pending.slot.handler.is_none()
                    && pending.effect().is_end_of_program()
                {
                    // Nobody is told. The CAS has rolled back, and the next commit would find no transaction, and succeed.
                    return Err(Fatal::end_failed(&error.to_string()));
                }
                self.transaction.on(Report::Ended);
                if self.transaction.is_open_ahead() {
                    self.transaction.on(Report::Declare);
                }
                let redefined = std::mem::take(&mut self.transaction.redefined);
                if is_rollback && redefined {
                    self.statements.forget_all();
                }
                self.simple(reply);
            }
            TransactionReply::Isolation => match reply {
                Ok(mut reader) => self.isolation_before = Some(server::number(&mut reader)?),
                Err(error) => {
                    self.block_refused();
                    self.failed(error);
                }
            },
            TransactionReply::SetIsolation => {
                if let Err(error) = reply {
                    self.block_refused();
                    self.isolation_before = None;
                    self.failed(error);
                }
            }
        }
        Ok(())
    }

    /// A reply to a part of a batch.
    fn batch_reply(&mut self, of: BatchReply, reply: Result<Reader<'_>, ServerError>) -> Result<(), Fatal> {
        match of {
            BatchReply::Array { first, rows } => self.array_reply((first, rows), false, reply)?,
            BatchReply::Texts { first, rows } => self.array_reply((first, rows), true, reply)?,
            BatchReply::Each { row } => self.each_reply(row, reply)?,
            BatchReply::PrepareJoined => self.prepared_joined(reply)?,
            BatchReply::Joined => self.joined_reply(reply)?,
            BatchReply::JoinedAgain => self.joined_again_reply(reply)?,
            BatchReply::Guard | BatchReply::JoinedGuard => {
                if let (Err(error), Some(pending)) = (reply, self.queue.first_mut()) {
                    pending.slot.fail_row(Failure::Server { error, row: None });
                    pending.drain(RequestEvent::RowFailed);
                }
            }
            BatchReply::BatchEnd => match reply {
                Err(error) if self.queue.first().is_some_and(|pending| pending.is_undone) => {
                    let reason =
                        format!("a batch that failed could not be undone, so the connection is closed: {error}");
                    return Err(Fatal::new(FatalKind::TransactionInDoubt, reason));
                }
                reply => self.simple(reply),
            },
        }
        Ok(())
    }

    /// A reply inside of a block, which is not its end, has told whether a transaction is open. One is, from the first
    /// statement to the end of the block: otherwise what was executed is lost, or was committed, and the rest of the
    /// block would be a transaction of its own.
    fn check_begun(&mut self, expect: Expect, error: Option<&ServerError>) -> Result<(), Fatal> {
        let executes = match expect {
            Expect::Batch(of) => of.executes_rows(),
            _ => expect == Expect::Execute,
        };
        let has_executed = executes && error.is_none();
        let begins = self.info.is_active || has_executed;
        // Of a block of the program nothing follows. Where none began the transaction, the next statement begins another.
        let follows = || has_executed && self.queue.first().is_some_and(|pending| pending.slot.block == 0);
        if begins && (self.transaction.reported() != Reported::Failed || follows()) {
            self.transaction.on(Report::Begun);
        }
        if self.info.is_active || !(begins || self.transaction.reported() == Reported::Open) {
            return Ok(());
        }
        let why = error.map(|error| format!(": {error}")).unwrap_or_default();
        let reason = format!(
            "the server has ended the transaction before the end of its block, so the connection is closed{why}"
        );
        Err(Fatal::new(FatalKind::TransactionInDoubt, reason))
    }

    /// The server has refused the isolation level of a block, so there is none.
    fn block_refused(&mut self) {
        self.transaction.on(Report::Ended);
        self.transaction.settle();
    }

    fn simple(&mut self, reply: Result<Reader<'_>, ServerError>) {
        if let Err(error) = reply {
            self.failed(error);
        }
    }

    /// The first request has failed.
    pub(super) fn failed(&mut self, error: ServerError) {
        let Some(pending) = self.queue.first_mut() else { return };
        pending.slot.fail(error);
        if pending.state() == RequestState::Reading {
            pending.go(RequestEvent::LastPage, Stage::Sent);
            self.leave_pages();
        }
    }

    fn prepared(&mut self, cx: H::Context<'_>, reply: Result<Reader<'_>, ServerError>) -> Result<(), Fatal> {
        let epoch = self.statements.epoch();
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let mut reader = match reply {
            Ok(reader) => reader,
            Err(error) => {
                pending.slot.fail(error);
                pending.go(RequestEvent::Refused, Stage::Sent);
                return Ok(());
            }
        };
        let prepared = Prepared::read(&mut reader)?;
        reader.end()?;
        let Some(sql) = pending.request.sql().cloned() else { return Ok(()) };
        let statement = Arc::new(Statement::new(sql.clone(), prepared, epoch));
        if let Request::Prepare { .. } = pending.request {
            if let Some(handler) = &mut pending.slot.handler {
                statement.describe(cx, handler);
            }
            pending.go(RequestEvent::PreparedLast, Stage::Sent);
        } else {
            pending.statement = Some(statement.clone());
            pending.go(RequestEvent::Prepared, Stage::Bindable);
        }
        // That of a cursor is closed with it.
        if !matches!(pending.request, Request::Open { .. }) {
            self.statements.keep(sql, statement);
        }
        Ok(())
    }

    fn executed(
        &mut self,
        cx: H::Context<'_>,
        reply: Result<Reader<'_>, ServerError>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        // Only if no later request was sent: they would be executed before it.
        let is_last = self.queue.started() == 1;
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let mut reader = match reply {
            Ok(reader) => reader,
            Err(error) => {
                if is_stale(&error) && is_last && pending.is_cached && pending.slot.may_repeat() {
                    self.again(0);
                } else {
                    self.failed(error);
                }
                return Ok(());
            }
        };
        let executed = Executed::read(&mut reader)?;
        if let (Some(described), Some(known)) = (executed.described, &pending.statement) {
            // Its columns are others than when it was prepared.
            let described = Prepared { handle: known.handle, ..described };
            let statement = Statement::new(known.sql.clone(), described, known.epoch());
            if let (Some(columns), Some(handler)) = (&statement.columns, &mut pending.slot.handler) {
                handler.columns(cx, columns);
            }
            pending.statement = Some(Arc::new(statement));
        }
        let has_pages = pending.statement.as_ref().is_some_and(|statement| statement.has_pages());
        if pending.statement.as_ref().is_some_and(|statement| statement.is_several) {
            pending.results_left = executed.results.len().saturating_sub(1);
        }
        match pending.stage_mut() {
            Stage::Reading { rows, .. } if !has_pages => {
                *rows = executed.count;
                reader.end()?;
                self.last_page(cx, write_buffer);
                return Ok(());
            }
            Stage::Reading { total, .. } => *total = executed.count,
            _ => {
                reader.end()?;
                if self.goes_on_with_keys(write_buffer) {
                    return Ok(());
                }
                let Some(pending) = self.queue.first_mut() else { return Ok(()) };
                let tag = pending.statement.as_ref().map_or(&b""[..], |statement| statement.tag());
                if let Some(handler) = &mut pending.slot.handler {
                    let rows = u64::try_from(executed.count).ok();
                    handler.result(cx, Summary { tag, rows, ..Summary::default() });
                }
                return Ok(());
            }
        }
        let stays_open = self.info.is_active || pending.in_block || matches!(pending.request, Request::Open { .. });
        if !stays_open && is_last && pending.slot.may_repeat() {
            let count = i32::try_from(Page::read(&mut reader.clone())?.count).unwrap_or(i32::MAX);
            if count < executed.count {
                self.again_open();
                return Ok(());
            }
        }
        self.page(cx, reader, write_buffer)
    }

    /// The next result of a text with several statements. Its rows come with FETCH.
    fn next_result(
        &mut self,
        cx: H::Context<'_>,
        mut reader: Reader<'_>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let result = NextResult::read(&mut reader)?;
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let Some(known) = pending.statement.take() else { return Ok(()) };
        let statement = Arc::new(known.at_result(result.statement_type, result.fields));
        pending.statement = Some(statement.clone());
        let (handler, stage) = pending.handler_and_stage();
        let Stage::Reading { rows, total, pages } = stage else {
            return Err(Fatal::peer("the server sent a result that was not requested"));
        };
        (*rows, *total, *pages) = (0, result.count, Pages::default());
        match (&statement.columns, handler) {
            (Some(columns), Some(handler)) => {
                handler.columns(cx, columns);
                if result.count > 0 {
                    client::fetch(write_buffer.tail(), self.info, statement.handle, 1);
                    self.expects.push_back(Expect::Page);
                    pending.replies_due += 1;
                    return Ok(());
                }
            }
            _ => *rows = result.count,
        }
        self.last_page(cx, write_buffer);
        Ok(())
    }

    /// A result is complete, and another one follows: it is requested. Returns false if none follows, or the response
    /// handler is gone.
    fn goes_on(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) -> bool {
        let Some(pending) = self.queue.first_mut().filter(|pending| pending.results_left > 0) else { return false };
        let Some(statement) = pending.statement.clone() else { return false };
        let (Some(handler), Stage::Reading { rows, .. }) = pending.handler_and_stage() else { return false };
        handler.result(cx, Summary { tag: statement.tag(), rows: u64::try_from(*rows).ok(), ..Summary::default() });
        pending.results_left -= 1;
        pending.replies_due += 1;
        client::next_result(write_buffer.tail(), self.info, statement.handle);
        self.expects.push_back(Expect::NextResult);
        true
    }

    /// The response handler has taken all rows.
    pub(super) fn last_page(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        self.leave_pages();
        if self.goes_on(cx, write_buffer) {
            return;
        }
        let Some(pending) = self.queue.first_mut() else { return };
        let Stage::Reading { rows, .. } = pending.go(RequestEvent::LastPage, Stage::Sent) else { return };
        let tag = pending.statement.as_ref().map_or(&b""[..], |statement| statement.tag());
        if let Some(handler) = &mut pending.slot.handler {
            handler.result(cx, Summary { tag, rows: u64::try_from(rows).ok(), ..Summary::default() });
        }
        self.complete(cx, write_buffer);
    }

    fn last_insert_id(&mut self, cx: H::Context<'_>, mut reader: Reader<'_>) -> Result<(), Fatal> {
        let generated = match server::last_insert_id(&mut reader)? {
            None => None,
            Some((_, number)) => {
                let text = std::str::from_utf8(number.strip_suffix(&[0]).unwrap_or(number)).ok();
                let number = text.and_then(|text| text.parse().ok());
                Some(number.ok_or_else(|| Fatal::peer("the server sent a generated value that is not a number"))?)
            }
        };
        if let Some(handler) = self.queue.first_mut().and_then(|pending| pending.slot.handler.as_mut()) {
            handler.result(cx, Summary { generated, ..Summary::default() });
        }
        Ok(())
    }

    /// Ends the first requests as far as they are answered. What a statement outside of a block has left open is ended
    /// first.
    pub(super) fn complete(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        loop {
            // The last of several requests ends what any of them has left open.
            let is_last = self.queue.started() == 1;
            let Some(pending) = self.queue.answered() else { return };
            if pending.state() != RequestState::Sent || pending.replies_due > 0 {
                return;
            }
            if self.info.is_active && !pending.in_block && !pending.is_settling && is_last {
                let is_bad = pending.slot.failure.is_some() || pending.slot.handler.is_none();
                pending.is_settling = true;
                pending.replies_due = 1;
                client::end_tran(write_buffer.tail(), self.info, if is_bad { tran::ROLLBACK } else { tran::COMMIT });
                return self.expects.push_back(Expect::Settle);
            }
            let Some(mut pending) = self.queue.pop_front() else { return };
            self.close_unopened(&pending);
            if pending.facts.effect == lexer::Effect::ChangesDefinitions || pending.has_redefined {
                if pending.in_block {
                    self.transaction.redefined = true;
                }
                self.statements.forget_all();
            }
            if let (Some(rows), None, Some(handler)) =
                (pending.affected, &pending.slot.failure, &mut pending.slot.handler)
            {
                let tag = pending.statement.as_ref().map_or(&b""[..], |statement| statement.tag());
                handler.result(cx, Summary { tag, rows: Some(rows), ..Summary::default() });
            }
            pending.slot.finish(cx);
        }
    }
}
