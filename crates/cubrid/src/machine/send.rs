//! The sending half: from the queue to the write buffer.

use super::batch::Batch;
use super::pages::Pages;
use super::pending::{PendingRequest, Stage};
use super::request::{ParameterRows, Request};
use super::stage::{RequestEvent, RequestState};
use super::verb::parameter_of;
use super::{CasHandler, Expect, Machine, Phase, TransactionReply};
use crate::lexer;
use crate::limits;
use crate::messages::client::{self, Execute};
use crate::messages::{execute, function, parameter, prepare, savepoint, tran};
use crate::mirrored::{self, Beside};
use crate::types::cast::Cast;
use crate::types::encode::{coded, encode_row, is_empty_bytes};
use headrace_core::{CodeSet, Mismatch, Parameters, Sent, Value, ValueKind, Verb, WriteBuffer, transaction};
use std::borrow::Cow;

impl<H: CasHandler> Machine<H> {
    pub(super) fn send(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        if !matches!(self.phase, Phase::Ready) {
            return;
        }
        while !write_buffer.is_full() {
            let went_on = match self.queue.last().map(PendingRequest::state) {
                None | Some(RequestState::Sent) => {
                    if !self.may_start() {
                        return;
                    }
                    match self.queue.take_refused() {
                        Some(refused) => refused.slot.finish(cx),
                        None => self.start_next(cx, write_buffer),
                    }
                    true
                }
                Some(RequestState::Queued) => {
                    self.start_statement(cx, write_buffer);
                    true
                }
                Some(RequestState::Bindable) => {
                    self.bind_tail(cx, write_buffer);
                    true
                }
                Some(RequestState::Sending) => !self.queue.is_paused() && self.send_rows(cx, write_buffer),
                Some(RequestState::Draining) => self.end_batch(cx, write_buffer),
                Some(RequestState::Preparing | RequestState::Reading) => false,
            };
            if !went_on {
                return;
            }
        }
    }

    /// Returns true if the next request can be sent after those that were started. Inside a transaction block requests
    /// are pipelined; outside of one the broker may give the CAS to another client between two of them, and it would be
    /// unknown which of them were executed, unless the CAS is kept.
    fn may_start(&self) -> bool {
        let in_block = self.transaction.is_open_ahead();
        let follows = self.queue.last().is_none_or(|last| last.in_block == in_block && (in_block || self.keeps_cas));
        follows && self.queue.may_start() && self.expects.len() < limits::COMMANDS_IN_FLIGHT
    }

    /// Records that a reply to the request that was started last is to come.
    pub(super) fn expect(&mut self, expect: Expect) {
        self.expects.push_back(expect);
        if let Some(pending) = self.queue.last_mut() {
            pending.replies_due += 1;
        }
    }

    fn start_next(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let at = self.queue.start();
        let pending = &mut self.queue[at];
        let verb = pending.verb();
        if verb.is_none() && pending.request.begins() {
            self.transaction.sent = Sent::Open;
            self.transaction.on(transaction::Event::Declare);
        }
        pending.in_block = self.transaction.is_open_ahead();
        if let Some(verb) = verb {
            pending.go(RequestEvent::StartWhole, Stage::Sent);
            self.start_verb(&verb, write_buffer);
            return self.complete(cx, write_buffer);
        }
        match pending.request {
            Request::LastInsertId => {
                pending.go(RequestEvent::StartWhole, Stage::Sent);
                client::plain(write_buffer.tail(), self.info, function::GET_LAST_INSERT_ID);
                self.expect(Expect::LastInsertId);
            }
            Request::SetParameter { parameter, value } => {
                pending.go(RequestEvent::StartWhole, Stage::Sent);
                client::set_db_parameter(write_buffer.tail(), self.info, parameter, value);
                self.remember(parameter, value);
                self.expect(Expect::Simple);
            }
            Request::Version => {
                pending.go(RequestEvent::StartWhole, Stage::Sent);
                client::get_db_version(write_buffer.tail(), self.info, false);
                self.expect(Expect::Version);
            }
            Request::NewObject { .. } | Request::ReadObject { .. } | Request::WriteObject { .. } => {
                self.start_object(at, cx, write_buffer);
            }
            Request::SchemaInfo { .. } | Request::Plan { .. } | Request::Returned { .. } => {
                self.start_catalog(at, cx, write_buffer);
            }
            Request::FetchAt { .. } | Request::CloseCursor { .. } => self.start_cursor(at, cx, write_buffer),
            Request::Texts { .. } => {
                let batch = Batch::of_texts(self.statements.epoch());
                self.start_batch(at, batch, write_buffer);
            }
            Request::Execute(_)
            | Request::Prepare { .. }
            | Request::ParameterTypes { .. }
            | Request::Open { .. }
            | Request::Verb(_) => {
                self.start_statement(cx, write_buffer);
            }
        }
    }

    /// Operations that need nothing of the server are over at once.
    fn start_verb(&mut self, verb: &Verb, write_buffer: &mut WriteBuffer) {
        let (out, info, codeset) = (write_buffer.tail(), self.info, self.options.codeset);
        match verb {
            Verb::Begin(modes) => {
                let is_new = !self.transaction.is_open_ahead();
                self.transaction.sent = Sent::Open;
                self.transaction.on(transaction::Event::Declare);
                if let Some(level) = modes.isolation.filter(|_| is_new) {
                    client::get_db_parameter(out, info, parameter::ISOLATION_LEVEL);
                    client::set_db_parameter(out, info, parameter::ISOLATION_LEVEL, parameter_of(level));
                    self.expect(Expect::Transaction(TransactionReply::Isolation));
                    self.expect(Expect::Transaction(TransactionReply::SetIsolation));
                }
            }
            Verb::Commit(_) | Verb::Rollback(_) => {
                let is_rollback = matches!(verb, Verb::Rollback(_));
                if self.transaction.is_open_ahead() || info.is_active {
                    self.open_results.clear();
                    client::end_tran(out, info, if is_rollback { tran::ROLLBACK } else { tran::COMMIT });
                    self.transaction.sent = Sent::Idle;
                    let before = self.isolation_before.take();
                    if let Some(before) = before {
                        client::set_db_parameter(out, info, parameter::ISOLATION_LEVEL, before);
                    }
                    self.expect(Expect::Transaction(TransactionReply::EndTran { is_rollback }));
                    if before.is_some() {
                        self.expect(Expect::Simple);
                    }
                }
            }
            Verb::Savepoint { name, .. } => {
                client::savepoint(out, info, savepoint::SET, &name_in(codeset, name));
                self.expect(Expect::Simple);
            }
            Verb::RollbackTo(name) => {
                client::savepoint(out, info, savepoint::ROLLBACK, &name_in(codeset, name));
                self.expect(Expect::Simple);
            }
            Verb::Ping => {
                client::plain(out, info, function::CHECK_CAS);
                if !self.transaction.is_open_ahead() {
                    // CHECK_CAS leaves the CAS in a transaction, and this function takes it out again.
                    client::get_db_version(out, info, false);
                    self.expect(Expect::Simple);
                }
                self.expect(Expect::Simple);
            }
            // Savepoints cannot be released; the others are refused before they are queued.
            Verb::Release(_) | Verb::Prepare(_) | Verb::CommitPrepared(_) | Verb::RollbackPrepared(_) | Verb::Reset => {
            }
        }
    }

    /// Starts the execution or preparation of a statement, or starts it again.
    fn start_statement(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        self.write_types(at, cx);
        let Some(sql) = self.queue[at].request.sql().cloned() else { return };
        let holds = match self.queue[at].request {
            Request::Open { holds, .. } => Some(holds),
            _ => None,
        };
        let mut known = self.statements.get(&sql).filter(|_| holds.is_none()).cloned();
        if known.take_if(|known| self.statements.is_outdated(known)).is_some() {
            self.statements.forget(&sql);
        }
        let pending = &mut self.queue[at];
        if let Some(statement) = known {
            if let Request::Prepare { .. } = pending.request {
                if let Some(handler) = &mut pending.slot.handler {
                    statement.describe(cx, handler);
                }
                pending.go(RequestEvent::StartWhole, Stage::Sent);
                return self.complete(cx, write_buffer);
            }
            pending.statement = Some(statement);
            pending.is_cached = true;
            pending.go(RequestEvent::StartKnown, Stage::Bindable);
            return;
        }
        if let Some(reason) = several_refused(pending, &sql) {
            pending.refuse(Mismatch::wrong_type(reason).into());
            return self.complete(cx, write_buffer);
        }
        // The text with which it is known stays as it is.
        let apart = mirrored::limits_apart(&sql);
        let text = match coded(apart.as_deref().unwrap_or(&sql).as_bytes(), self.options.codeset) {
            Ok(text) => text,
            Err(mismatch) => {
                pending.refuse(mismatch.into());
                return self.complete(cx, write_buffer);
            }
        };
        pending.is_cached = false;
        pending.go(RequestEvent::StartPrepare, Stage::Preparing);
        let pin = if pending.is_pinned { prepare::XASL_CACHE_PINNED } else { 0 };
        let call = if lexer::is_call(&sql) { prepare::CALL } else { 0 };
        let flags = call | pin | if holds == Some(true) { prepare::HOLDABLE } else { 0 };
        let (autocommit, closed) = (!pending.in_block, self.statements.take_closed());
        self.open_results.close(&closed);
        client::prepare(write_buffer.tail(), self.info, &text, flags, autocommit, &closed);
        self.expect(Expect::Prepare);
    }

    /// Writes the types of the values into the text of a statement, where it would be typed without regard to them.
    fn write_types(&mut self, at: usize, cx: H::Context<'_>) {
        let pending = &mut self.queue[at];
        if pending.is_typed {
            return;
        }
        pending.is_typed = true;
        let Some(sql) = pending.request.text_with_values().cloned() else { return };
        let is_batch = pending.is_batch();
        let Some(handler) = &mut pending.slot.handler else { return };
        let mut places = match self.options.codeset == CodeSet::Utf8 && is_batch && begins_with_json(handler, cx) {
            true => lexer::OneRow::of(&sql).map_or_else(Vec::new, |insert| insert.whole_values()),
            false => Vec::new(),
        };
        if places.is_empty() && self.statements.get(&sql).is_some_and(|known| !known.is_mirrored) {
            return;
        }
        let whole = places.len();
        let mirrored = mirrored::mirrored(&sql);
        places.extend(mirrored.iter().map(|place| (place.number, place.at)));
        if places.is_empty() {
            return;
        }
        let mut types = vec![Cast::Null; places.iter().map(|(number, _)| number + 1).max().unwrap_or(0)];
        let mut add = |handler: &mut H| {
            let params = handler.params(cx);
            let whole = places[..whole].iter().map(|(number, _)| (*number, Beside::Any));
            for (number, beside) in whole.chain(mirrored.iter().map(|place| (place.number, place.beside))) {
                let own = params.get(number).map_or(Cast::Other, |value| Cast::beside(&value, beside));
                types[number] = match beside {
                    Beside::Operand | Beside::Alternative | Beside::TypedPattern => types[number].with_operand(own),
                    _ => types[number].with(own),
                };
            }
        };
        if !is_batch {
            add(handler);
        } else if handler.rereads() {
            // One statement is for all rows of a batch.
            while handler.next_row(cx).unwrap_or(false) {
                add(handler);
            }
            handler.rewind(cx);
        }
        // What is stored as it is needs no type, but for JSON, which is sent as text then.
        for (number, _) in &places[..whole] {
            if types[*number] != Cast::JSON {
                types[*number] = Cast::Other;
            }
        }
        places.sort_unstable();
        if let Some(typed) = mirrored::with_types(&sql, &places, |number| types[number].written()) {
            pending.request.retype(typed.into());
        }
    }

    /// Writes the type of empty bytes into the text of a statement that could not be bound with them: the server takes
    /// them for NULL, and makes them of an empty text. Returns true if the request begins again.
    fn write_bits(&mut self, at: usize, cx: H::Context<'_>) -> bool {
        let pending = &mut self.queue[at];
        let Some(handler) = &mut pending.slot.handler else { return false };
        let Some(statement) = pending.statement.as_ref().filter(|_| !pending.is_bits_typed) else { return false };
        let params = handler.params(cx);
        if params.count() != statement.parameters {
            return false;
        }
        let mut places = mirrored::placeholders(&statement.sql);
        places.retain(|(number, _)| {
            !statement.casts.bits.contains(number) && params.get(*number).is_ok_and(|value| is_empty_bytes(&value))
        });
        drop(params);
        let typed = mirrored::with_types(&statement.sql, &places, |_| Some("CAST(? AS BIT VARYING)".into()));
        let Some(typed) = typed else { return false };
        pending.request.retype(typed.into());
        (pending.is_bits_typed, pending.statement) = (true, None);
        pending.go(RequestEvent::Again, Stage::Queued);
        true
    }

    /// The statement of the request that was started last is known: executes it, or begins its batch.
    fn bind_tail(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        let refusal = self.queue.refusal(self.queue[at].slot.block);
        let pending = &mut self.queue[at];
        if let Some(error) = refusal {
            // The transaction has ended while its statement was prepared.
            pending.refuse(error);
            return self.complete(cx, write_buffer);
        }
        if let Request::ParameterTypes { .. } = pending.request {
            return self.request_parameter_types(at, write_buffer);
        }
        let is_batch = pending.is_batch();
        let (Some(statement), Some(handler)) = (pending.statement.clone(), &mut pending.slot.handler) else {
            // Discarded while its statement was prepared.
            pending.go(RequestEvent::Abandoned, Stage::Sent);
            return self.complete(cx, write_buffer);
        };
        if is_batch {
            let reason = match &statement.columns {
                Some(_) => "a batch cannot execute a statement that returns rows",
                None => return self.begin_batch(at, statement, write_buffer),
            };
            pending.refuse(Mismatch::wrong_type(reason).into());
            return self.complete(cx, write_buffer);
        }
        let wants_keys = pending.request.wants_keys();
        let stays_open = matches!(pending.request, Request::Open { .. });
        if (wants_keys || stays_open) && statement.columns.is_some() != stays_open {
            let reason = match stays_open {
                true => "a cursor that stays open needs a statement that returns rows",
                false => "a statement that returns rows generates no keys",
            };
            pending.refuse(Mismatch::wrong_type(reason).into());
            return self.complete(cx, write_buffer);
        }
        let execute = Execute {
            handle: statement.handle,
            flags: match statement.is_several {
                true => execute::QUERY_ALL,
                false if wants_keys => execute::RETURN_GENERATED_KEYS,
                false => 0,
            },
            fetch: statement.has_pages(),
            // The commit of one of several statements would close the results of those before it. All are committed
            // once the last result was read. Keys are gone after the commit, too, and so are rows for which the first
            // page has no room. A statement that was sent just when its process was taken can be sent again if it does
            // not commit.
            autocommit: !self.transaction.is_open_ahead()
                && (self.resumed == 0 || statement.columns.is_some())
                && !statement.is_several
                && !wants_keys
                && !pending.is_reexecuted
                && !statement.exceeds_page(),
            forward_only: !stays_open,
            timeout_millis: self.query_timeout_millis,
            returned: if statement.is_call() { statement.parameters } else { 0 },
        };
        pending.commits_itself = execute.autocommit;
        if self.transaction.is_open_ahead()
            && execute.fetch
            && !stays_open
            && let Some(oldest) = self.open_results.open(statement.handle)
        {
            client::of_handle(write_buffer.tail(), self.info, function::CURSOR_CLOSE, oldest);
            self.expects.push_back(Expect::Unneeded);
            pending.replies_due += 1;
        }
        let mut request = execute.begin(write_buffer.tail(), self.info);
        let params = handler.params(cx);
        let written = match params.count() == statement.parameters {
            true => encode_row(&params, self.options.codeset, &statement.casts, request.arguments()).map(drop),
            false => Err(count_mismatch(statement.parameters, params.count(), &statement.sql).into()),
        };
        drop(params);
        if let Err(error) = written {
            request.drop();
            if self.write_bits(at, cx) {
                // Begins again, with another text.
                return;
            }
            self.queue[at].refuse(error);
            return self.complete(cx, write_buffer);
        }
        request.end();
        if let Some(columns) = &statement.columns {
            handler.columns(cx, columns);
        }
        match statement.columns.is_some() || statement.is_several {
            true => pending.go(RequestEvent::Opened, Stage::Reading { rows: 0, total: 0, pages: Pages::default() }),
            false => pending.go(RequestEvent::Executed, Stage::Sent),
        };
        self.expect(Expect::Execute);
    }

    /// The statement of a request has to be prepared again: it begins again.
    pub(super) fn again(&mut self, at: usize) {
        let pending = &mut self.queue[at];
        if let Some(sql) = pending.request.sql() {
            self.statements.forget(&**sql);
        }
        pending.slot.repeat();
        pending.statement = None;
        pending.is_executed = false;
        pending.is_pinned = true;
        pending.go(RequestEvent::Again, Stage::Queued);
    }

    /// The server has committed with the execution of the first request, a query, and has closed its result before its
    /// end: it begins again, as a transaction of its own.
    pub(super) fn again_open(&mut self) {
        let Some(pending) = self.queue.first_mut() else { return };
        if let Some(statement) = pending.statement.take() {
            statement.set_exceeds_page();
        }
        pending.slot.repeat();
        pending.is_reexecuted = true;
        pending.is_executed = false;
        pending.go(RequestEvent::Again, Stage::Queued);
    }
}

/// A savepoint's name in the code set of the database; in UTF-8, as good a name, if it has other characters.
fn name_in(codeset: CodeSet, name: &str) -> Cow<'_, [u8]> {
    codeset.encode(name.as_bytes()).unwrap_or(Cow::Borrowed(name.as_bytes()))
}

/// The reason why a text with several statements cannot be sent; `None` for others.
fn several_refused<H: CasHandler>(pending: &PendingRequest<H>, sql: &str) -> Option<&'static str> {
    if !pending.facts.is_several {
        return None;
    }
    match &pending.request {
        Request::Execute(super::Execute { rows: ParameterRows::One, .. }) if lexer::has_end(sql) => {
            Some("the text contains several statements, one of which ends the transaction: execute them one by one")
        }
        // Which statement a parameter belongs to is not known of any server.
        Request::Execute(super::Execute { rows: ParameterRows::One, .. }) if lexer::has_parameters(sql) => {
            Some("the text contains several statements with parameters: execute them one by one")
        }
        Request::Execute(super::Execute { rows: ParameterRows::One, .. }) => None,
        _ => Some("the text contains several statements, which only execute() can send: execute them one by one"),
    }
}

/// Returns true if the first row of a batch has a JSON value, and the rows can be read twice.
fn begins_with_json<H: CasHandler>(handler: &mut H, cx: H::Context<'_>) -> bool {
    if !handler.rereads() {
        return false;
    }
    let has_row = handler.next_row(cx).unwrap_or(false);
    let found = has_row && {
        let params = handler.params(cx);
        let is_json = |i| params.get(i).is_ok_and(|value| matches!(value.kind(), ValueKind::Json | ValueKind::Jsonb));
        (0..params.count()).any(is_json)
    };
    handler.rewind(cx);
    found
}

/// A text of a batch of texts.
pub(super) fn check_text(sql: &str) -> Result<(), Mismatch> {
    if sql.contains('\0') {
        return Err(Mismatch::wrong_type("a statement cannot hold a NUL character"));
    }
    let reason = if lexer::has_end(sql) {
        "the batch contains a statement that ends the transaction: execute it on its own"
    } else if lexer::is_several(sql) {
        "a text of the batch contains several statements: each is a text of its own"
    } else if lexer::has_parameters(sql) {
        "a text of the batch contains parameters, which only execute() and executemany() take"
    } else {
        return Ok(());
    };
    Err(Mismatch::wrong_type(reason))
}

pub(super) fn count_mismatch(expected: usize, given: usize, sql: &str) -> Mismatch {
    Mismatch::wrong_type(format!(
        "the statement has {expected} parameter{}, but {given} {} given{}",
        if expected == 1 { "" } else { "s" },
        if given == 1 { "was" } else { "were" },
        if lexer::has_marker_in_name(sql) { "; CUBRID's broker takes a ? within a quoted name for one" } else { "" },
    ))
}
