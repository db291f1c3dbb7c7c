//! The receiving half: from the read buffer to the response handlers.

use super::answer::Prelude;
use super::command_tag::{is_about_names, is_about_rows, is_about_schema};
use super::copy::is_of_misplaced;
use super::pending::{Failure, PendingRequest, Stage};
use super::request::Request;
use super::run::DataRows;
use super::startup::StartupState;
use super::statement::calls_set_config_of_path;
use super::work::Work;
use super::{Machine, PgHandler, Phase, Server, TransactionStatus};
use crate::limits;
use crate::messages::backend::{self, Notification, ServerError, header};
use crate::messages::frontend;
use crate::messages::tag::{backend as tag, field};
use crate::sql::{CONSTANT_SETTINGS, may_set_constants};
use crate::types::DateOrder;
use headrace_core::protocol::{BulkDirection, Summary};
use headrace_core::{Fatal, FatalKind, Outcome, ReadBuffer, Requests, Room, Session, WriteBuffer};

impl<H: PgHandler> Machine<H> {
    /// Handles every whole message in the read buffer; replies for the authentication are written to the write buffer.
    ///
    /// # Errors
    /// [`Fatal`]: the connection must be closed.
    pub fn read(
        &mut self,
        cx: H::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        while self.queue.full().is_none() {
            let unread = read_buffer.unread();
            if let Phase::Startup(startup) = &mut self.phase {
                match startup.state {
                    StartupState::SslReply if unread.is_empty() => return Ok(()),
                    StartupState::SslReply => {
                        startup.ssl_reply(unread, write_buffer)?;
                        read_buffer.consume(1);
                        continue;
                    }
                    StartupState::AwaitTls if !unread.is_empty() => {
                        return Err(Fatal::peer("the server sent data before the TLS handshake"));
                    }
                    StartupState::AwaitTls => return Ok(()),
                    _ => {}
                }
            }
            let Some((tag, total)) = header(unread)? else { return Ok(()) };
            if unread.len() < total {
                read_buffer.want(total);
                return Ok(());
            }
            let consumed = match tag {
                tag::DATA_ROW => self.rows(cx, unread)?,
                _ => {
                    self.message(cx, tag, &unread[5..total], write_buffer)?;
                    total
                }
            };
            read_buffer.consume(consumed);
        }
        Ok(())
    }

    pub(super) fn front(&mut self, message: &str) -> Result<&mut PendingRequest<H>, Fatal> {
        let front = self.queue.answered();
        front.ok_or_else(|| Fatal::peer(format!("the server sent {message} although no request was pending")))
    }

    /// DataRow: as many as are whole.
    fn rows(&mut self, cx: H::Context<'_>, unread: &[u8]) -> Result<usize, Fatal> {
        let pending = self.front("DataRow")?;
        if let Some(rows) = pending.catalogue_rows() {
            let (_, total) = header(unread)?.expect("checked by the caller");
            rows.push(text_row(&unread[5..total])?);
            return Ok(total);
        }
        if let Request::QueryServerProcess = pending.request {
            let (_, total) = header(unread)?.expect("checked by the caller");
            let row = text_row(&unread[5..total])?;
            if row.first().and_then(|cell| cell.as_deref()) == Some(self.process_id.to_string().as_str()) {
                self.server = Server::Own;
            }
            return Ok(total);
        }
        if let Stage::DescribingCopy { left_out, .. } = pending.stage_mut() {
            let (_, total) = header(unread)?.expect("checked by the caller");
            let row = text_row(&unread[5..total])?;
            left_out.extend(row.iter().flatten().filter_map(|number| number.parse::<i16>().ok()));
            return Ok(total);
        }
        let columns = pending
            .answer
            .columns
            .as_ref()
            .filter(|_| !pending.block.awaits_prelude() && !matches!(pending.request, Request::Copy(_)));
        let Some(columns) = columns else {
            return Err(Fatal::peer("the server sent DataRow without RowDescription"));
        };
        if pending.answer.deferred.is_none() && (!columns.unsure.is_empty() || columns.names_types()) {
            self.defer_unknown(unread)?;
        }
        let pending = self.front("DataRow")?;
        let Some(columns) = &pending.answer.columns else { return Ok(0) };
        if let Some(deferred) = &mut pending.answer.deferred {
            let (_, total) = header(unread)?.expect("checked by the caller");
            deferred.keep(tag::DATA_ROW, &unread[5..total]);
            pending.answer.rows += 1;
            return Ok(total);
        }
        let mut run = DataRows::new(columns, unread);
        let room = match &mut pending.slot.handler {
            Some(handler) => handler.rows(cx, &mut run)?,
            None => Room::More,
        };
        let (bytes, rows) = run.end()?;
        pending.answer.rows += rows;
        let id = pending.slot.id;
        self.queue.note(id, room);
        Ok(bytes)
    }

    fn message(
        &mut self,
        cx: H::Context<'_>,
        tag: u8,
        body: &[u8],
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        match tag {
            tag::COMMAND_COMPLETE => self.command_complete(cx, body, write_buffer),
            tag::READY_FOR_QUERY => self.ready_for_query(cx, body, write_buffer),
            tag::PARSE_COMPLETE | tag::BIND_COMPLETE | tag::CLOSE_COMPLETE => {
                const NAME: &str = "ParseComplete, BindComplete or CloseComplete";
                backend::empty(NAME, body)?;
                let pending = self.front(NAME)?;
                if let Work::Statement(preparation) = &mut pending.work {
                    let bound = tag == tag::BIND_COMPLETE && !pending.block.awaits_prelude();
                    preparation.bound |= bound;
                    preparation.is_row_bound |= bound;
                }
                Ok(())
            }
            tag::ERROR_RESPONSE => self.error(cx, ServerError::parse(body)?),
            tag::PARAMETER_DESCRIPTION => self.parameter_description(body),
            tag::ROW_DESCRIPTION => self.row_description(cx, body, write_buffer),
            tag::NO_DATA => {
                backend::empty("NoData", body)?;
                let pending = self.front("NoData")?;
                if pending.portal_is_described() {
                    return Ok(());
                }
                if let Stage::DescribingCopy { .. } = pending.stage() {
                    return self.copy_query_described(cx, Vec::new(), write_buffer);
                }
                self.described(None, write_buffer)
            }
            tag::PORTAL_SUSPENDED => {
                backend::empty("PortalSuspended", body)?;
                let pending = self.front("PortalSuspended")?;
                pending.answer.rows = 0;
                pending.answer.results += 1;
                if let Some(deferred) = &mut pending.answer.deferred {
                    deferred.keep(tag, body);
                } else if let Some(handler) = &mut pending.slot.handler {
                    handler.result(cx, Summary { suspended: true, ..Summary::default() });
                }
                self.after_result(cx)
            }
            tag::EMPTY_QUERY_RESPONSE => {
                backend::empty("EmptyQueryResponse", body)?;
                let pending = self.front("EmptyQueryResponse")?;
                pending.answer.results += 1;
                if let Some(deferred) = &mut pending.answer.deferred {
                    deferred.keep(tag, body);
                } else if let Some(handler) = &mut pending.slot.handler {
                    handler.result(cx, Summary::default());
                }
                pending.turn_columns(cx);
                self.after_result(cx)
            }
            tag::COPY_IN_RESPONSE | tag::COPY_OUT_RESPONSE | tag::COPY_BOTH_RESPONSE => {
                self.copy_response(cx, tag, body, write_buffer)
            }
            tag::COPY_DATA => {
                self.defer_unknown_copied(body)?;
                let pending = self.front("CopyData")?;
                if let Some(deferred) = &mut pending.answer.deferred {
                    deferred.keep(tag, body);
                } else if let Some(handler) = pending.slot.handler.as_mut().filter(|_| pending.slot.failure.is_none()) {
                    let (id, room) = (pending.slot.id, handler.block(cx, body));
                    self.queue.note(id, room);
                }
                Ok(())
            }
            tag::COPY_DONE => {
                backend::empty("CopyDone", body)?;
                self.front("CopyDone").map(drop)
            }
            _ => self.message_of_session(tag, body, write_buffer),
        }
    }

    /// A message that is no part of a reply: it may come at any time, or while the session is being opened.
    fn message_of_session(&mut self, tag: u8, body: &[u8], write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        match tag {
            tag::NOTICE_RESPONSE => {
                if self.notices.len() == limits::NOTICES {
                    self.notices.pop_front();
                }
                let notice = ServerError::parse(body)?;
                self.note_no_block(&notice);
                self.notices.push_back(notice);
                Ok(())
            }
            tag::NOTIFICATION_RESPONSE => {
                self.notify(Notification::parse(body)?);
                Ok(())
            }
            tag::PARAMETER_STATUS => {
                let (name, value) = backend::parameter_status(body)?;
                if name == "DateStyle" {
                    self.registry.date_order = Some(DateOrder::of_style(&value));
                }
                if self.parameters.get(&name).is_some_and(|before| *before != value) {
                    if CONSTANT_SETTINGS.contains(&name.as_str()) {
                        self.counted.constants += 1;
                    }
                    if name == "search_path" {
                        // Reported since PostgreSQL 18, also where a function has set it.
                        self.statements.advance();
                        self.registry.forget();
                    }
                }
                if name == "client_encoding" {
                    self.foreign_encoding = !matches!(value.as_str(), "UTF8" | "UNICODE");
                }
                self.parameters.insert(name, value);
                Ok(())
            }
            tag::BACKEND_KEY_DATA if !self.is_ready() => {
                let mut body = backend::Body::new("BackendKeyData", body);
                self.process_id = body.i32()?;
                self.secret = body.rest().to_vec();
                Ok(())
            }
            tag::AUTHENTICATION => match &mut self.phase {
                Phase::Startup(startup) => startup.authentication(body, write_buffer),
                _ => Err(Fatal::peer("the server asked for authentication in the middle of the session")),
            },
            tag::NEGOTIATE_PROTOCOL_VERSION if !self.is_ready() => Ok(()),
            _ => Err(Fatal::peer(format!("the server sent a message of the unknown type {:?}", char::from(tag)))),
        }
    }

    fn command_complete(
        &mut self,
        cx: H::Context<'_>,
        body: &[u8],
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let tag = backend::command_complete(body)?;
        // A rollback undoes what its transaction has changed, and both ends undo a SET LOCAL.
        let mut changed =
            is_about_schema(tag) || (matches!(tag, b"ROLLBACK" | b"COMMIT") && self.transaction.redefined);
        let forgotten = matches!(tag, b"DISCARD ALL" | b"DEALLOCATE ALL");
        let renamed = is_about_names(tag);
        self.counted.names += u64::from(renamed);
        self.counted.alterations += u64::from(is_about_rows(tag) || changed && tag == b"ROLLBACK");
        if self.registry.take_stale() {
            // What was learnt about a type is outdated, and so are the plans made with it.
            self.registry.forget();
            self.forget_statements();
        }
        let pending = self.front("CommandComplete")?;
        if pending.answer.is_about_savepoint(tag) {
            return Ok(());
        }
        match pending.stage() {
            Stage::LookingUp { .. } => return self.types_are_known(cx),
            Stage::Introspecting { checked: true, .. } if pending.block.awaits_prelude() => {}
            Stage::Introspecting { within: true, .. } => {
                self.introspected(write_buffer);
                return Ok(());
            }
            Stage::Introspecting { .. } | Stage::IntrospectingCopy { .. } => return Ok(()),
            _ => {}
        }
        if let Request::QueryServerProcess = pending.request {
            return Ok(());
        }
        if pending.block.awaits_prelude() {
            pending.block.prelude = Prelude::Answered;
            return Ok(());
        }
        match pending.stage() {
            Stage::DescribingCopy { .. } => return self.copy_described(cx, write_buffer),
            Stage::CheckingTable { .. } if pending.answer.is_whole() => return self.table_checked(write_buffer),
            _ => {}
        }
        let tagged = backend::rows_of_tag(tag);
        pending.answer.count_result(tagged);
        if pending.is_batch()
            && let Some(preparation) = pending.preparation_mut()
        {
            // The next result is that of another Bind.
            preparation.is_row_bound = false;
        }
        pending.block.completed(tag);
        changed |= (tag == b"SET" || tag == b"RESET") && pending.request.sets_path();
        changed |= pending.statement().is_some_and(|statement| statement.sets_path);
        changed |= tag == b"EXPLAIN" && pending.request.explains_creation();
        let misread = pending.statement().is_some_and(|statement| statement.sets_constants);
        // CREATE TABLE AS has the tag of a SELECT, and no columns.
        changed |= tag.starts_with(b"SELECT ") && pending.answer.columns.is_none();
        let rows = std::mem::take(&mut pending.answer.rows);
        // CREATE TABLE AS has a row count too, but sends no rows; hence the check of the columns.
        if let Some(counted) = tagged.filter(|counted| *counted > rows)
            && tag.starts_with(b"SELECT ")
            && pending.answer.columns.is_some()
        {
            return Err(Fatal::peer(format!("the server counted {counted} rows, of which {rows} arrived")));
        }
        if let Some(deferred) = &mut pending.answer.deferred {
            deferred.keep(tag::COMMAND_COMPLETE, body);
        } else if let Some(handler) = &mut pending.slot.handler {
            handler.result(cx, Summary { tag, rows: tagged, ..Summary::default() });
        }
        if pending.request.is_script() {
            pending.answer.columns = None;
        }
        pending.turn_columns(cx);
        if changed {
            self.statements.advance();
            self.transaction.redefined = true;
            self.registry.forget();
        }
        if misread {
            self.constants_changed();
        } else if tag == b"ROLLBACK" {
            // To a savepoint, maybe.
            self.counted.constants += u64::from(self.sets_constants_back);
        }
        if matches!(tag, b"DISCARD ALL" | b"CLOSE CURSOR ALL") {
            self.portals.clear();
        }
        self.note_end_of_block(tag);
        if forgotten {
            self.statements.lost_all();
        }
        self.after_result(cx)
    }

    /// A result is complete: a request that brought no Sync is done with its last one.
    pub(super) fn after_result(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        let pending = self.front("a result")?;
        let done = !pending.request.syncs() && matches!(pending.stage(), Stage::Sent | Stage::AwaitSync);
        if done && pending.answer.is_whole() {
            self.settle_or_look_up(cx);
        }
        Ok(())
    }

    fn error(&mut self, cx: H::Context<'_>, mut error: ServerError) -> Result<(), Fatal> {
        if let Phase::Startup(_) = self.phase {
            let reason = Fatal::new(FatalKind::LoginRefused, error.field(field::MESSAGE).to_owned());
            self.closing_error = Some(error);
            return Err(reason);
        }
        if error.is_fatal() {
            // Between the last CommandComplete and ReadyForQuery the transaction may be committed.
            if self.queue.first().is_some_and(PendingRequest::may_be_stored) {
                error = error.in_doubt();
            }
            self.closing_error = Some(error.clone());
        }
        if self.queue.started() == 0 || self.queue.is_empty() {
            return Err(Fatal::new(
                FatalKind::SessionEnded,
                format!("the server ended the session: {}", error.field(field::MESSAGE)),
            ));
        }
        let tail = self.queue.started() - 1;
        self.note_begin_failed(&error);
        self.note_fetch_failed(&error);
        let Some(error) = self.note_look_up_failed(error) else { return Ok(()) };
        if matches!(error.sqlstate(), "42804" | "22P03") {
            // A composite value, for one, of a type that has changed since it was learnt.
            self.registry.forget();
        }
        let pending = &mut self.queue[0];
        self.skipping = !pending.request.is_script();
        let row = match pending.answer.awaits_copied() {
            true => pending.answer.copied.as_deref().and_then(|copied| copied.row(&error)),
            // One of many.
            false if pending.answer.awaits_joined() => None,
            false => pending.row(),
        };
        if is_of_misplaced(&error)
            && let Some(handler) = &mut pending.slot.handler
        {
            handler.bulk_misplaced(cx, BulkDirection::In);
        }
        let asked = pending.slot.failure.is_none().then(|| pending.refusal_of_parts(&error)).flatten();
        // It may be the error of the Parse that rolls a failed batch back, whose row is the one that failed.
        pending.slot.fail_row(asked.unwrap_or(Failure::Server { error, row }));
        if self.transaction.is_open() {
            self.note_unsteady();
        }
        let pending = &mut self.queue[0];
        let syncs = pending.request.syncs();
        let script = pending.request.is_script();
        pending.skip_to(if script { Stage::Sent } else { Stage::AwaitSync });
        if tail > 0 && self.group_is_open(tail) {
            self.queue[tail].skip_to(Stage::AwaitSync);
        }
        if !syncs {
            if self.is_stale() {
                // The requests after it are skipped with it, so it is not repeated; the next attempt prepares the
                // statement again.
                let forgotten = self.front_sqlstate() == Some("26000");
                self.forget_used(0, !forgotten);
            }
            self.settle_front(cx);
        }
        Ok(())
    }

    /// If the error is that of a BEGIN, nothing of its block is executed that the program has sent without having read
    /// the error: it would be in a transaction without what the BEGIN came with.
    fn note_begin_failed(&mut self, error: &ServerError) {
        let pending = &self.queue[0];
        let is_pipelined = matches!(&pending.request, Request::Execute(execute) if execute.pipeline != 0);
        if pending.block.awaits_prelude() && (is_pipelined || self.queue.len() > 1) {
            let block = pending.slot.block;
            self.queue.transaction_lost(block, error.field(field::MESSAGE));
        }
    }

    /// The server's code for why the first request failed.
    pub(super) fn front_sqlstate(&self) -> Option<&str> {
        match self.queue.first().and_then(|pending| pending.slot.failure.as_ref()) {
            Some(Failure::Server { error, .. }) => Some(error.sqlstate()),
            _ => None,
        }
    }

    fn ready_for_query(
        &mut self,
        cx: H::Context<'_>,
        body: &[u8],
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let status = backend::transaction_status(body)?;
        self.transaction.report(status);
        self.settle_own_block(status);
        if status == TransactionStatus::Idle {
            self.transaction.redefined = false;
            self.counted.constants += u64::from(std::mem::take(&mut self.sets_constants_back));
        }
        if let Phase::Startup(startup) = &self.phase {
            if !matches!(startup.state, StartupState::Settled) {
                return Err(Fatal::peer("the server was ready before the authentication was over"));
            }
            self.phase = Phase::Ready;
            // Messages of a pooler about other sessions, before it has assigned a server connection, do not concern
            // this one.
            self.foreign_encoding = false;
            return Ok(());
        }
        if self.foreign_encoding {
            // The server would take every text that follows for another one, and store it.
            let encoding = self.parameters.get("client_encoding").map_or("", String::as_str);
            return Err(Fatal::new(
                FatalKind::EncodingChanged,
                format!(
                    "client_encoding was set to {encoding}, but text is sent and read in UTF8 only: the connection is closed. \
                 Leave client_encoding as it is, and name the encoding of a COPY by its option ENCODING"
                ),
            ));
        }
        let skipping = self.skipping;
        let pending = self.front("ReadyForQuery")?;
        if status != TransactionStatus::Idle && pending.effect().is_owed_end() {
            return self.end_again();
        }
        if pending.slot.handler.is_none() && pending.slot.failure.is_some() && pending.effect().is_end_of_program() {
            // Nobody is told. The next commit would find no transaction, and succeed.
            return Err(Fatal::end_failed("its transaction was rolled back"));
        }
        let sent = match pending.stage() {
            Stage::Introspecting { .. } | Stage::IntrospectingCopy { .. } => {
                if pending.slot.failure.is_some() {
                    self.skip_after_look_up(cx);
                } else {
                    self.introspected(write_buffer);
                }
                return Ok(());
            }
            Stage::Sent => true,
            // It was no COPY.
            Stage::Opening => pending.request.is_script(),
            _ => false,
        };
        if let Work::Script { fed, .. } = &mut pending.work
            && std::mem::take(fed)
            && pending.slot.failure.is_some()
        {
            // Rows that were sent after the error made the pooler assign a server connection, until the next reply.
            frontend::sync(write_buffer.tail());
            return Ok(());
        }
        if skipping {
            return self.end_skipped_group(cx);
        }
        if !pending.request.syncs() || !sent {
            return Err(Fatal::peer("the server sent ReadyForQuery although no Sync was sent"));
        }
        if pending.slot.failure.is_none() && !pending.answer.is_whole() {
            return Err(Fatal::peer("the server sent ReadyForQuery before the results that it owes"));
        }
        if matches!(&pending.request, Request::Script { sql, .. } if calls_set_config_of_path(sql)) {
            self.statements.advance();
            if status != TransactionStatus::Idle {
                self.transaction.redefined = true;
            }
        }
        if matches!(&self.queue.first().map(|pending| &pending.request), Some(Request::Script { sql, .. }) if may_set_constants(sql))
        {
            self.counted.constants += 1;
            self.sets_constants_back = status != TransactionStatus::Idle;
        }
        self.defer_end_of_copy();
        self.settle_or_look_up(cx);
        Ok(())
    }

    /// A setting by which constants are read is another one, maybe until the end of the transaction.
    fn constants_changed(&mut self) {
        self.counted.constants += 1;
        self.sets_constants_back = true;
    }

    /// The Sync of a group is answered of which an error has made the server skip the rest.
    fn end_skipped_group(&mut self, cx: H::Context<'_>) -> Result<(), Fatal> {
        self.skipping = false;
        while self.queue.started() > 0 && self.queue.first().is_some_and(|pending| !pending.request.syncs()) {
            if self.queue.first().is_some_and(|pending| matches!(pending.request, Request::LookUp { .. })) {
                self.look_up_later();
            } else {
                self.finish_front(cx, Outcome::Skipped);
            }
        }
        if self.queue.started() == 0 {
            return Ok(());
        }
        let pending = self.front("ReadyForQuery")?;
        if pending.slot.failure.is_none() && !matches!(pending.request, Request::Sync) {
            self.finish_front(cx, Outcome::Skipped);
            return Ok(());
        }
        let is_stale = self.is_stale();
        if is_stale {
            let forgotten = self.front_sqlstate() == Some("26000");
            self.forget_used(0, !forgotten);
        }
        // There is one attempt more, so it has to be one that is refused for neither reason.
        if self.give_up_failed_bulk() || is_stale {
            return self.retry(cx);
        }
        self.settle_front(cx);
        Ok(())
    }
}

/// A DataRow of text columns.
fn text_row(body: &[u8]) -> Result<Vec<Option<String>>, Fatal> {
    let mut body = backend::Body::new("DataRow", body);
    let n = body.i16()?;
    (0..n)
        .map(|_| match body.i32()? {
            -1 => Ok(None),
            len => {
                let bytes = body.bytes(usize::try_from(len).unwrap_or(usize::MAX))?;
                Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
            }
        })
        .collect()
}
