//! The sending half: from the queue to the write buffer.

use super::cursor::Opening;
use super::pending::{Failure, PendingRequest, RequestState, Source, Stage, Used};
use super::request::{Expect, Group, Request};
use super::stage::{Executed, RequestEvent};
use super::statement::Statement;
use super::{IfxHandler, Logging, Machine, Phase};
use crate::capabilities::Feature;
use crate::messages::{client, kind, tag};
use crate::types::encode;
use crate::{lexer, limits as own};
use headrace_core::{Mismatch, Parameters, Sent, Verb, WriteBuffer, transaction};
use std::sync::atomic::Ordering;

impl<H: IfxHandler> Machine<H> {
    pub(super) fn send(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        if !matches!(self.phase, Phase::Ready) {
            return;
        }
        while !write_buffer.is_full() {
            match self.unread() {
                Some((at, RequestState::FetchMore)) => {
                    self.fetch_more(at, write_buffer);
                    continue;
                }
                Some((at, _)) => {
                    self.fetch_large(at, write_buffer);
                    continue;
                }
                None => {}
            }
            match self.queue.last().map(|pending| (pending.state(), pending.groups)) {
                None | Some((RequestState::Sent | RequestState::Fetching, _)) => {
                    self.settle(cx, write_buffer);
                    if !self.queue.may_start()
                        || self.has_urgent_byte_ahead(write_buffer)
                        || !self.can_start(write_buffer)
                    {
                        return;
                    }
                    match self.queue.take_refused() {
                        Some(refused) => refused.slot.finish(cx),
                        None => self.start_next(cx, write_buffer),
                    }
                }
                Some((RequestState::Queued, _)) => self.start_statement(write_buffer),
                Some((RequestState::Bindable, _)) if self.requests_types(write_buffer) => {}
                Some((RequestState::Bindable, _)) => self.bind_tail(cx, write_buffer),
                Some((RequestState::Sending, _)) if self.queue.last().is_some_and(PendingRequest::waits_for_reply) => {
                    return;
                }
                Some((RequestState::Sending, _)) => self.send_rows(cx, write_buffer),
                Some((RequestState::Draining, 0)) => self.end_batch(cx, write_buffer),
                Some(_) => return,
            }
        }
    }

    /// Records a group that was sent for the request that was started last.
    pub(super) fn expect(&mut self, expect: Expect) {
        if let Some(at) = self.queue.last_at() {
            self.expect_for(at, expect);
        }
    }

    pub(super) fn expect_for(&mut self, at: usize, expect: Expect) {
        let pending = &mut self.queue[at];
        pending.groups += 1;
        self.groups.push_back(Group { request_id: pending.slot.id, expect });
    }

    fn start_next(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        for id in self.statements.take_closed() {
            self.clean_up(write_buffer, id, false, true);
        }
        if self.groups.is_empty() {
            // Everything is answered, so the state as of what was sent is the state as of what was answered.
            self.transaction.settle();
        }
        let at = self.queue.start();
        let pending = &mut self.queue[at];
        let goes_on =
            matches!(pending.request, Request::Fetch { .. } | Request::Scroll { .. } | Request::Routine { .. });
        if pending.request.sql().is_none() && !goes_on {
            pending.go(RequestEvent::StartWhole, Stage::Sent);
        }
        match &pending.request {
            Request::Execute(_) | Request::Declare(_) | Request::Prepare { .. } => {}
            Request::Fetch { .. } | Request::Scroll { .. } => self.fetch_cursor(cx, at, write_buffer),
            Request::Close { cursor } => {
                let cursor = *cursor;
                self.close_cursor(cursor, write_buffer);
            }
            Request::Routine { .. } | Request::ReadObject { .. } | Request::WriteObject { .. } => {
                self.start_routine(at, write_buffer);
            }
            Request::Verb(verb) => {
                let verb = verb.clone();
                self.start_verb(&verb, at, write_buffer);
            }
        }
    }

    fn start_verb(&mut self, verb: &Verb, at: usize, write_buffer: &mut WriteBuffer) {
        let is_open = self.transaction.is_open_ahead() || self.logging == Logging::Ansi;
        match verb {
            Verb::Begin(_) => self.begin_unless_open(write_buffer),
            Verb::Commit(_) if is_open => {
                client::plain(write_buffer.tail(), tag::SQ_CMMTWORK);
                client::eot(write_buffer.tail());
                self.transaction.sent = Sent::Idle;
                self.expect(Expect::Commit);
            }
            Verb::Rollback(_) if is_open => {
                client::rollback(write_buffer.tail());
                client::eot(write_buffer.tail());
                self.transaction.sent = Sent::Idle;
                self.expect(Expect::Rollback);
            }
            Verb::Savepoint { name, begin } => {
                if begin.is_some() {
                    self.begin_unless_open(write_buffer);
                }
                self.savepoint(&[tag::SQ_SQLISETSVPT], name, at, write_buffer);
            }
            Verb::Release(name) => self.savepoint(&[tag::SQ_SQLIRELSVPT], name, at, write_buffer),
            Verb::RollbackTo(name) => {
                self.savepoint(&[tag::SQ_SQLIRBACKSVPT, tag::SQ_SQLIRELSVPT], name, at, write_buffer);
            }
            Verb::Ping => {
                client::plain(write_buffer.tail(), tag::SQ_VERSION);
                client::eot(write_buffer.tail());
                self.expect(Expect::Ping);
            }
            // Nothing is open; the others are refused before they are queued.
            Verb::Commit(_) | Verb::Rollback(_) => {}
            Verb::Prepare(_) | Verb::CommitPrepared(_) | Verb::RollbackPrepared(_) | Verb::Reset => {}
        }
    }

    fn begin_unless_open(&mut self, write_buffer: &mut WriteBuffer) {
        if !self.transaction.is_open_ahead() && self.logging != Logging::None {
            self.begin(write_buffer);
        }
    }

    /// BEGIN WORK, except in MODE ANSI, where a transaction begins by itself.
    pub(super) fn begin(&mut self, write_buffer: &mut WriteBuffer) {
        self.transaction.sent = Sent::Open;
        if self.logging == Logging::Ansi {
            self.transaction.on(transaction::Event::Begun);
        }
        if self.logging == Logging::Logged {
            client::plain(write_buffer.tail(), tag::SQ_BEGIN);
            client::eot(write_buffer.tail());
            self.expect(Expect::Begin);
        }
    }

    fn savepoint(&mut self, tags: &[u16], name: &str, at: usize, write_buffer: &mut WriteBuffer) {
        match self.codeset.encode(name.as_bytes()) {
            Ok(name) if self.capabilities.has(Feature::Savepoints) => {
                for &tag in tags {
                    client::savepoint(write_buffer.tail(), tag, &name);
                    client::eot(write_buffer.tail());
                    self.expect(Expect::Savepoint);
                }
            }
            Ok(_) => self.queue[at].refuse("the server has no savepoints (it is older than 11.50)".into()),
            Err(character) => {
                let message =
                    format!("the savepoint's name has {character:?}, which the database's code set does not have");
                self.queue[at].refuse(message);
            }
        }
    }

    fn start_statement(&mut self, write_buffer: &mut WriteBuffer) {
        let (capabilities, codeset) = (self.capabilities, self.codeset);
        let Some(at) = self.queue.last_at() else { return };
        let pending = &mut self.queue[at];
        let Some(sql) = pending.request.sql() else { return };
        // A statement has one cursor: a request that keeps it open has the statement to itself.
        let alone = pending.request.cursor().is_some();
        let mut known = if alone { self.statements.take(&**sql) } else { self.statements.get(&**sql).cloned() };
        if let Some(outdated) = known.take_if(|known| self.queue.started() == 1 && self.statements.is_outdated(known)) {
            // Its table may have changed. Rows of a generator cannot be read again, and with later requests in flight
            // nothing is repeated.
            self.statements.take(&*outdated.sql);
            if self.duplicates.are_of(&outdated) {
                self.release_duplicates();
            }
            self.clean_up(write_buffer, outdated.id, false, true);
        }
        if let Some(known) = known {
            let duplicate = if alone { None } else { self.duplicate_for(&known) };
            let (statement, source) = match duplicate {
                Some(duplicate) => (duplicate, Source::Duplicate),
                None => (known, if alone { Source::Taken } else { Source::Cached }),
            };
            let pending = &mut self.queue[at];
            pending.used = Some(Used { statement, source });
            pending.go(RequestEvent::StartKnown, Stage::Bindable);
            return;
        }
        let pending = &mut self.queue[at];
        let Some(sql) = pending.request.sql() else { return };
        let count = lexer::count(sql);
        match codeset.encode(sql.as_bytes()) {
            Err(character) => {
                let set = codeset.name();
                pending.refuse(format!("the statement has {character:?}, which the code set {set} does not have"));
            }
            Ok(text) if !client::fits(&text, capabilities) || count > usize::from(u16::MAX) => {
                pending.refuse("the statement is longer than the server can read (65535 bytes)".into());
            }
            Ok(text) => {
                client::prepare(write_buffer.tail(), &text, count as u16, capabilities);
                client::eot(write_buffer.tail());
                pending.go(RequestEvent::StartPrepare, Stage::Preparing);
                self.expect(Expect::Prepare);
            }
        }
    }

    /// Requests the types of the last started request's parameters, if they are unknown and decide how values are sent.
    fn requests_types(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        let Some(pending) = self.queue.last_mut().filter(|pending| pending.slot.handler.is_some()) else {
            return false;
        };
        let Some(statement) = pending.statement().filter(|statement| statement.lacks_targets()) else {
            return false;
        };
        client::id(write_buffer.tail(), statement.id);
        client::plain(write_buffer.tail(), tag::SQ_CIDESCRIBE);
        client::eot(write_buffer.tail());
        pending.go(RequestEvent::TypesRequested, Stage::Preparing);
        self.expect(Expect::Types);
        true
    }

    /// The statement of the last started request is known: executes it, opens its cursor, or begins its batch.
    fn bind_tail(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        let Some(at) = self.queue.last_at() else { return };
        let refusal = self.queue.refusal(self.queue[at].slot.block);
        let pending = &mut self.queue[at];
        if let Some(error) = refusal {
            // The transaction has ended while its statement was prepared.
            pending.slot.failure = Some(Failure::Client { error, row: None });
            return pending.go(RequestEvent::Refused, Stage::Sent);
        }
        if let Request::Routine { .. } = pending.request {
            return self.call_routine(cx, write_buffer);
        }
        let Some(statement) = pending.statement().cloned() else { return };
        let (begin, batch) = (pending.request.begins(), pending.is_batch());
        let Some(handler) = &mut pending.slot.handler else {
            // Discarded while it waited for its description.
            return pending.go(RequestEvent::Abandoned, Stage::Sent);
        };
        if let Request::Prepare { .. } = pending.request {
            if let Some(columns) = &statement.columns {
                handler.columns(cx, columns);
            }
            return pending.go(RequestEvent::DescribedOnly, Stage::Sent);
        }
        if let Some(columns) = &statement.columns {
            handler.columns(cx, columns);
            if batch {
                return pending.refuse("a batch cannot execute a statement that returns rows".into());
            }
        } else if pending.request.cursor().is_some() {
            return pending.refuse("the statement returns no rows, so it has no cursor".into());
        }
        let mut group = Vec::new();
        if !batch {
            let written = bind_row(handler, &statement, self.codeset, cx, &mut group);
            if let Err(error) = written {
                pending.slot.failure = Some(Failure::Client { error, row: None });
                return pending.go(RequestEvent::Refused, Stage::Sent);
            }
        }
        let alone = !self.transaction.is_open_ahead();
        let control = statement.is_control();
        if begin && alone && !control && self.logging != Logging::None {
            self.begin(write_buffer);
        }
        if batch {
            self.begin_batch(at, write_buffer);
        } else if let Some(columns) = &statement.columns {
            let opening = Opening::of(&self.queue[at].request);
            self.open_cursor(&statement, &opening, columns.wanted.as_slice(), &group, write_buffer);
            if statement.long.load(Ordering::Relaxed) && self.queue[at].request.cursor().is_none() {
                self.fetch_more(at, write_buffer);
            }
        } else {
            let out = write_buffer.tail();
            client::id(out, statement.id);
            out.extend_from_slice(&group);
            client::plain(out, tag::SQ_EXECUTE);
            client::eot(out);
            self.queue[at].go(RequestEvent::Executed, Stage::Executed(Executed::default()));
            self.expect(Expect::Execute { first: 0 });
            match statement.kind {
                kind::BEGIN => self.transaction.sent = Sent::Open,
                kind::COMMIT | kind::ROLLBACK => self.transaction.sent = Sent::Idle,
                kind::DATABASE | kind::CREATE_DATABASE => self.query_locale(write_buffer),
                _ if alone && !begin && !control && self.logging == Logging::Ansi => self.auto_commit(write_buffer),
                _ => {}
            }
        }
    }

    /// In MODE ANSI nothing is committed by itself, so autocommit is a COMMIT after each statement.
    fn auto_commit(&mut self, write_buffer: &mut WriteBuffer) {
        client::plain(write_buffer.tail(), tag::SQ_CMMTWORK);
        client::eot(write_buffer.tail());
        self.expect(Expect::AutoCommit);
    }

    pub(super) fn buffer(&self, bytes: i32) -> i32 {
        if self.capabilities.has(Feature::LargeFetch) { bytes } else { bytes.min(own::OLD_FETCH_BYTES) }
    }
}

/// Appends SQ_BIND for the response handler's current row, if the statement has parameters.
pub(super) fn bind_row<H: IfxHandler>(
    handler: &mut H,
    statement: &Statement,
    codeset: crate::codeset::CodeSet,
    cx: H::Context<'_>,
    out: &mut Vec<u8>,
) -> Result<(), H::Error> {
    let params = handler.params(cx);
    let (expected, given) = (statement.parameters, params.count());
    if given != expected {
        return Err(Mismatch::wrong_type(format!(
            "the statement has {expected} parameter{}, but {given} {} given",
            if expected == 1 { "" } else { "s" },
            if given == 1 { "was" } else { "were" },
        ))
        .into());
    }
    if expected == 0 {
        return Ok(());
    }
    encode::bind(&params, statement.targets(), false, codeset, out)
}
