//! The sending half: from the queue to the write buffer.

use super::answer::{Ending, Prelude};
use super::batch_joined::is_back_to_batch;
use super::bind::{Sending, too_many};
use super::control::{self, Control, Effects};
use super::pending::{PendingRequest, Stage};
use super::request::{Cursor, Execute, Prepare, Request};
use super::stage::{RequestEvent, Unsent};
use super::statement::{Lookup, Shape, Statement};
use super::streamed::Streamed;
use super::typing::Typing;
use super::work::{Source, Work};
use super::{Begun, Machine, PgHandler, Phase, Server};
use crate::limits;
use crate::messages::frontend;
use crate::messages::tag::StatementOrPortal;
use crate::sql::has_plain_parse_time_constant;
use headrace_core::{Effect, Sent, WriteBuffer};
use std::sync::Arc;

impl<H: PgHandler> Machine<H> {
    pub(super) fn send(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        if !matches!(self.phase, Phase::Ready) {
            return;
        }
        while !write_buffer.is_full() {
            let blocked = match self.queue.last().map(PendingRequest::stage) {
                None | Some(Stage::Sent) => false,
                Some(Stage::AwaitSync) => {
                    self.sync_tail(write_buffer);
                    false
                }
                Some(Stage::Bindable { .. }) => {
                    self.bind_tail(cx, write_buffer);
                    false
                }
                Some(Stage::Sending { .. }) => self.send_rows(cx, write_buffer) == Sending::Waits,
                Some(Stage::Feeding) => {
                    self.feed_rows(cx, write_buffer);
                    false
                }
                Some(Stage::Answering) => !self.end_of_batch(write_buffer),
                Some(Stage::Copying) => !self.abandon_copy(write_buffer),
                Some(_) => true,
            };
            if blocked {
                return;
            }
            if matches!(self.queue.last().map(PendingRequest::stage), None | Some(Stage::Sent)) {
                if !self.has_next() {
                    return;
                }
                match self.take_refused() {
                    Some(refused) => refused.slot.finish(cx),
                    None => self.start_next(cx, write_buffer),
                }
            }
        }
    }

    /// Returns true if a request can be started; it is then the next in the queue.
    fn has_next(&mut self) -> bool {
        if self.queue.is_exclusive() {
            return false;
        }
        if self.queue.is_paused() {
            return self.end_group();
        }
        if (self.transaction.sent == Sent::Unknown && self.queue.started() > 0) || self.may_lose_server() {
            return false;
        }
        if self.reserved.is_some() && !self.bring_forward() {
            return false;
        }
        self.queue.may_start() && !self.is_begin_due() && !self.must_wait()
    }

    /// Returns true if a BEGIN is unanswered whose group has ended. If it fails, by a cancel request for example, what
    /// is sent after the Sync would be executed outside of a transaction, and committed by itself. The end of the
    /// transaction need not wait: then there is nothing between.
    fn is_begin_due(&mut self) -> bool {
        let Some(begun) = self.begun else { return false };
        let sent = self.queue.in_flight().find(|pending| pending.slot.id == begun.request);
        if sent.is_none_or(|pending| !pending.block.awaits_prelude()) {
            self.begun = None;
            return false;
        }
        self.is_group_of_begin_ended(begun)
            && !matches!(self.queue.next().map(PendingRequest::effect), Some(Effect::Ends(_)))
    }

    /// Returns true if a Sync was sent since the request with this BEGIN, or with it. Of the requests in flight only those
    /// are looked at that are new: a pipeline has thousands without a Sync.
    fn is_group_of_begin_ended(&mut self, begun: Begun) -> bool {
        for pending in self.queue.in_flight().rev() {
            let id = pending.slot.id;
            if begun.unsynced == Some(id) {
                break;
            }
            if pending.request.syncs() {
                return true;
            }
            if id == begun.request {
                break;
            }
        }
        let unsynced = self.queue.in_flight().next_back().map(|last| last.slot.id);
        self.begun = Some(Begun { unsynced, ..begun });
        false
    }

    /// Takes the next request out if it is one of a block whose BEGIN has failed. In a group that is open the server
    /// skips it, and its Sync is needed.
    fn take_refused(&mut self) -> Option<PendingRequest<H>> {
        let at = self.queue.started();
        if !self.queue.has_refused() || (at > 0 && self.group_is_open(at)) { None } else { self.queue.take_refused() }
    }

    /// Sends a Sync next if the server needs one, as it may have kept back its replies until then; returns true if it
    /// does. A cancel request cannot hit the Sync, which ends only when the requests before it have been answered.
    fn end_group(&mut self) -> bool {
        let Some(last) = self.queue.last().filter(|last| !last.request.syncs()) else { return false };
        let lane = last.slot.lane;
        if !matches!(self.queue.next(), Some(PendingRequest { request: Request::Sync, .. })) {
            self.queue.insert_own(lane, |slot| PendingRequest::new(slot, Request::Sync));
        }
        true
    }

    /// Returns true if a pooler that supports no named statements (PgBouncer before 1.21) may assign the server
    /// connection to another client in the middle of the next request: it does so as soon as it has passed on a reply
    /// for each Sync that it has seen, and it sees a large request in parts. In a transaction block it waits for its
    /// end.
    fn may_lose_server(&self) -> bool {
        let at = self.queue.started();
        self.unnamed && !self.block_is_open(at) && !self.group_is_open(at)
    }

    /// Puts the first request that may be sent while a portal has the connection for itself before those that wait;
    /// returns true if there is one. A round trip may be made at any time, unless it ends a group that waits.
    fn bring_forward(&mut self) -> bool {
        let reserved = self.reserved;
        self.queue.bring_forward(|pending, before| match &pending.request {
            Request::Fetch { portal, .. } | Request::ClosePortal { portal } => Some(portal.number) == reserved,
            Request::Sync => before.is_none_or(|before| before.request.syncs()),
            Request::LookUp { pipeline } => pipeline.is_none(),
            _ => false,
        })
    }

    /// Returns true if the next request has to wait for the replies to those before it. A pooler assigns the server
    /// connection to another client as soon as every Sync is answered, even if it has forwarded more since: a request
    /// that needs a reply before its own Sync would wait for ever.
    ///
    /// With named statements this matters too, as long as the process that answers is not known to be the server's own:
    /// it is queried, so that later requests need not wait.
    fn must_wait(&mut self) -> bool {
        let Some(pending) = self.queue.next() else { return false };
        let at = self.queue.started();
        let (is_batch, prepare) = match &pending.request {
            Request::Execute(Execute { expected: Some(_), .. }) => return false,
            Request::Execute(execute) => (execute.rows.is_batch(), execute.prepare),
            Request::Describe { .. } => (false, Prepare::Named),
            Request::Copy(_) | Request::LookUp { pipeline: Some(_) } => return !self.group_is_open(at),
            _ => return false,
        };
        // Before the look-up, which the statement itself makes again.
        if prepare == Prepare::Named && (self.server == Server::Own || self.block_is_open(at)) {
            return false;
        }
        let (sql, _) = statement_of(&pending.request);
        let known = self.statements.get(&(sql.as_ref(), pending.hints()) as &dyn Lookup);
        let known = known.is_some_and(|statement| !statement.has_composites);
        // Last, as it may look at all that is in flight.
        if (known && !is_batch) || self.group_is_open(at) {
            return false;
        }
        if prepare == Prepare::Named {
            if self.server == Server::Unknown {
                self.server = Server::QueryDue;
            }
            // The query is sent next, and does not wait.
            return self.server != Server::QueryDue;
        }
        true
    }

    /// Sends the Sync that an abandoned request still owes.
    fn sync_tail(&mut self, write_buffer: &mut WriteBuffer) {
        if let Some(pending) = self.queue.last_mut() {
            pending.go(RequestEvent::SyncSent, Stage::Sent);
            if pending.request.syncs() {
                frontend::sync(write_buffer.tail());
            }
        }
    }

    /// Ends a batch whose rows are all sent, once most of them are answered, or its response handler was discarded;
    /// returns true if it did. After its Sync it cannot be rolled back.
    pub(super) fn end_of_batch(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        let Some(at) = self.queue.last_at() else { return false };
        let pending = &mut self.queue[at];
        if pending.slot.handler.is_none() {
            self.poison(at, write_buffer);
        } else if pending.answer.owed.saturating_sub(pending.answer.results) <= limits::ROWS_UNANSWERED
            && !pending.answer.awaits_copied()
            && pending.answer.joined.is_empty()
        {
            self.release(at, write_buffer);
            let pending = &mut self.queue[at];
            pending.go(RequestEvent::FewUnanswered, Stage::AwaitSync);
        } else {
            return false;
        }
        true
    }

    /// Returns true if a transaction block will be open when the request `at` reaches the server.
    pub(super) fn block_is_open(&self, at: usize) -> bool {
        match self.transaction.sent {
            Sent::Unknown => self.transaction.is_open(),
            sent if at > 0 => sent == Sent::Open,
            _ => self.transaction.is_open(),
        }
    }

    /// Returns true if no request before `at` brings a Sync: after an error all of them, and `at`, are skipped
    /// together.
    pub(super) fn group_is_open(&self, at: usize) -> bool {
        self.queue.iter().take(at).all(|pending| !pending.request.syncs())
    }

    fn close_evicted(&mut self, write_buffer: &mut WriteBuffer) {
        for name in self.statements.take_closed() {
            frontend::close(write_buffer.tail(), StatementOrPortal::Statement, &name);
        }
    }

    fn start_next(&mut self, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        self.query_server_process();
        let at = self.queue.start();
        let pending = &mut self.queue[at];
        pending.may_copy = pending.facts.copies();
        if self.skipping && self.group_is_open(at) {
            // The server would skip it unread, so only the Sync that ends the group is worth sending.
            self.queue[at].go(RequestEvent::StartSkipped, Stage::AwaitSync);
            return;
        }
        if self.queue[at].request.needed_portal().is_some_and(|number| !self.portals.is_open(number)) {
            self.queue[at].go(RequestEvent::StartNeedless, Stage::AwaitSync);
            return;
        }
        if let Request::Execute(_) | Request::Describe { .. } | Request::Copy(_) = self.queue[at].request {
            self.start_statement(at, cx, write_buffer);
            return;
        }
        let pending = &mut self.queue[at];
        let (event, stage) = match &pending.request {
            // Later messages would be read as its data.
            Request::Script { copy: true, .. } => (RequestEvent::StartCopy, Stage::Opening),
            Request::DescribePortal { .. } => {
                let draft = Statement::draft(String::new(), "".into(), self.statements.epoch(), self.counted);
                (RequestEvent::StartDescribe, Stage::Describing { draft: Arc::new(draft), parameters: Vec::new() })
            }
            Request::LookUp { .. } => {
                self.look_up(at, write_buffer);
                return;
            }
            _ => (RequestEvent::StartWhole, Stage::Sent),
        };
        pending.go(event, stage);
        let out = write_buffer.tail();
        match &pending.request {
            Request::Script { .. } | Request::Verb { .. } => self.send_script(at, out),
            Request::Fetch { portal, max_rows, columns } => {
                pending.answer.columns = Some(columns.clone());
                frontend::execute(out, &portal.name, *max_rows);
                frontend::sync(out);
                if let Some(handler) = &mut pending.slot.handler {
                    handler.columns(cx, columns);
                }
            }
            Request::DescribePortal { portal } => {
                frontend::describe(out, StatementOrPortal::Portal, &portal.name);
                frontend::flush(out);
            }
            Request::ClosePortal { portal } if self.reserved == Some(portal.number) => {
                // Who has given up waiting for the end was told that it had failed.
                let verb = if pending.slot.handler.is_some() { "COMMIT" } else { "ROLLBACK" };
                frontend::query(out, "", verb);
                pending.answer.owed = 1;
                self.reserved = None;
                self.transaction.sent = Sent::Idle;
                self.portals.end_block();
            }
            Request::ClosePortal { portal } => {
                if self.portals.is_open(portal.number) {
                    self.portals.close(portal.number);
                    frontend::close(out, StatementOrPortal::Portal, &portal.name);
                }
                frontend::sync(out);
            }
            Request::Sync => frontend::sync(out),
            Request::QueryServerProcess => {
                frontend::parse(out, "", "SELECT pg_catalog.pg_backend_pid()", &[]);
                frontend::bind_empty(out, "", "");
                frontend::execute(out, "", 0);
                frontend::sync(out);
                self.server = Server::Pooled;
            }
            Request::Execute(_) | Request::Describe { .. } | Request::Copy(_) | Request::LookUp { .. } => {
                unreachable!("handled above")
            }
        }
    }

    /// Sends a request of the simple protocol.
    fn send_script(&mut self, at: usize, out: &mut Vec<u8>) {
        let open = self.block_is_open(at);
        let redefined = self.transaction.redefined || self.sets_constants_back || self.is_changing(at);
        let pending = &mut self.queue[at];
        let (sql, verb) = match &pending.request {
            Request::Script { sql, .. } => (sql, None),
            Request::Verb { sql, verb, .. } => (sql, Some(verb)),
            _ => return,
        };
        let prelude = pending.request.prelude().filter(|_| !open);
        let prefix = prelude.map_or(String::new(), |prelude| format!("{prelude};"));
        frontend::query(out, &prefix, sql);
        if prelude.is_some() {
            pending.block.prelude = Prelude::Sent;
            self.begun = Some(Begun::with(pending.slot.id));
        }
        let open = open || pending.block.awaits_prelude();
        let control = verb.map_or_else(|| pending.facts.control(), control::of_verb);
        let ends_block = verb.is_some() && control == Control::Ends;
        // The end of a block rolls back what the block has defined, or may, as does the savepoint of a batch.
        if !(ends_block || verb.is_some_and(is_back_to_batch)) || redefined {
            self.changing = Some(pending.slot.id);
        }
        let is_certain = !control.is_about_block() || (ends_block && !self.portals.has_uncommitted());
        self.transaction.sent = if is_certain { Sent::of(open && control != Control::Ends) } else { Sent::Unknown };
        if control != Control::None {
            let effects = verb.map_or_else(|| Effects::of(sql), Effects::of_verb);
            self.follow(at, effects);
        }
    }

    /// Records the effects of the request `at`, which is being sent, on the transaction block and its savepoints.
    fn follow(&mut self, at: usize, Effects { ends, nestings }: Effects) {
        if ends {
            if self.portals.has_uncommitted() {
                self.queue[at].block.ending = Ending::Awaited;
            }
            self.portals.end_block();
        }
        for nesting in nestings {
            self.portals.nest(nesting);
        }
    }

    pub(super) fn start_statement(&mut self, at: usize, cx: H::Context<'_>, write_buffer: &mut WriteBuffer) {
        self.close_evicted(write_buffer);
        // Rows of one that is resumed were executed before.
        let resumed = self.queue[at].answer.owed;
        let unsent = if resumed > 0 { Unsent::Nothing } else { Unsent::Whole(write_buffer.mark()) };
        let open = self.block_is_open(at);
        self.transaction.sent = Sent::of(open);
        let pending = &mut self.queue[at];
        if let Some(prelude) = pending.request.prelude().filter(|_| !open) {
            let out = write_buffer.tail();
            frontend::parse(out, "", prelude, &[]);
            frontend::bind_empty(out, "", "");
            frontend::execute(out, "", 0);
            pending.block.prelude = Prelude::Sent;
            self.begun = Some(Begun::with(pending.slot.id));
            self.transaction.sent = Sent::Open;
            if let Some(number) = pending.request.reserving_portal() {
                self.reserved = Some(number);
                self.streamed = Some(Streamed::new(number));
            }
        }
        let in_block = self.transaction.is_open_ahead();
        if let Request::Execute(execute) = &mut pending.request {
            // Without a Sync of its own a later error would undo it.
            execute.sync |= execute.pipeline != 0 && !in_block;
            match (&execute.portal, &execute.cursor) {
                (Some(portal), _) if in_block => self.portals.open(&portal.id),
                (_, Some(Cursor::Declare { portal, with_hold: true })) => self.portals.open_with_hold(portal, in_block),
                (_, Some(Cursor::Declare { portal, .. })) => self.portals.open(portal),
                _ => {}
            }
        }
        if let Request::Copy(_) = &pending.request {
            self.describe_copy(at, write_buffer);
            return;
        }
        let (sql, ..) = statement_of(&pending.request);
        let (facts, control) = (pending.facts, pending.facts.control());
        if control.is_about_block() {
            self.transaction.sent = Sent::Unknown;
        }
        if facts.may_change_schema() {
            self.changing = Some(pending.slot.id);
        }
        // A word in the body of a function must not count here.
        if let Some(effects) = (control != Control::None).then(|| Effects::of(sql)) {
            self.follow(at, effects);
        }
        let pending = &mut self.queue[at];
        if let (Request::Execute(Execute { sql, expected: Some(expected), .. }), Work::Statement(preparation)) =
            (&pending.request, &mut pending.work)
        {
            let draft = Statement::draft(String::new(), sql.clone(), self.statements.epoch(), self.counted);
            let statement = Statement { columns: Some(expected.clone()), shape: Shape::Portal, ..draft };
            preparation.source = Some(Source::Expected(Arc::new(statement)));
            pending.go(RequestEvent::StartKnown, Stage::Bindable { unsent });
            self.bind_tail(cx, write_buffer);
            return;
        }
        if let Err(error) = pending.begin_typing(cx) {
            self.refuse(at, error, Some(resumed), unsent, cx, write_buffer);
            return;
        }
        let known = self.known(at, open, write_buffer);
        let pending = &mut self.queue[at];
        if let Some(known) = known {
            if known.statement().sets_path {
                self.changing = Some(pending.slot.id);
            }
            if pending.may_name_attributes(cx, known.statement()) {
                self.check_attributes(at, known, write_buffer);
                return;
            }
            if let Work::Statement(preparation) = &mut pending.work {
                preparation.source = Some(known);
            }
            pending.go(RequestEvent::StartKnown, Stage::Bindable { unsent });
            self.bind_tail(cx, write_buffer);
            return;
        }
        if let Some(error) = too_many(pending, cx) {
            let row = (resumed > 0).then_some(resumed);
            self.refuse(at, error, row, unsent, cx, write_buffer);
            return;
        }
        self.describe(at, write_buffer);
    }

    /// The statement of the request `at` from the cache, unless it has to be described again: this session has changed
    /// something since, or it names a cursor or a prepared statement that may be another one by now, and the formats of
    /// its columns have to be chosen before the portal can be described.
    fn known(&mut self, at: usize, open: bool, write_buffer: &mut WriteBuffer) -> Option<Source> {
        let pending = &self.queue[at];
        let (sql, _) = statement_of(&pending.request);
        let known = self.statements.get(&(sql.as_ref(), pending.hints()) as &dyn Lookup).cloned()?;
        if pending.typing().is_some() && known.describes_portal() {
            // A batch returns to the statements that it has used, so their rows are described before.
            return None;
        }
        if known.name.is_empty() && pending.is_batch() && known.has_chosen_types(pending.hints()) {
            // The types of columns may have changed since, and the texts of its rows are parsed as what they are.
            return None;
        }
        let moved = pending.facts.names_session_object()
            && (known.counted.names != self.counted.names
                || known.columns.as_ref().is_some_and(|columns| !columns.is_one_format()));
        // No error shows that a name stands for something else: a new table hides another of its name, a new function has
        // nearer types, and the plan of a function's caller stays (18 is one).
        let outdated = self.is_outdated(at, &known);
        // Its constants were read by other settings.
        let misread = known.counted.constants != self.counted.constants;
        // Its columns have changed within a transaction, unseen: for example by a function that has set the search path.
        let unsteady = open && !self.unsteady.is_empty() && self.unsteady.contains(&known.sql);
        if (known.shape == Shape::Portal && moved) || outdated || misread || unsteady {
            self.forget(at);
            return None;
        }
        if self.server == Server::Own || known.is_same_everywhere() {
            return Some(Source::Cached(known));
        }
        self.known_to_a_pooler(at, known, write_buffer)
    }

    /// Returns true if this session may have changed something since a statement was prepared: it has, or a request in
    /// flight before the request `at` is about to.
    pub(super) fn is_outdated(&self, at: usize, known: &Statement) -> bool {
        self.statements.is_outdated(known) || self.is_changing(at)
    }

    /// Returns true if a request in flight before the request `at` may change what statements use.
    pub(super) fn is_changing(&self, at: usize) -> bool {
        let changing = || at > 0 && self.queue.first().map(|pending| pending.slot.id) <= self.changing;
        self.changing.is_some() && changing()
    }

    /// Sends Parse, Describe and Flush: no Sync, so that a pooler keeps the server connection, and the implicit
    /// transaction stays open, until the statement is executed.
    pub(super) fn describe(&mut self, at: usize, write_buffer: &mut WriteBuffer) {
        let pending = &mut self.queue[at];
        let (sql, prepare) = statement_of(&pending.request);
        // The server would read 'today' once, and not again.
        let named = prepare == Prepare::Named
            && pending.typing().is_none_or(Typing::has_room)
            && self.statements.keeps(sql)
            && !has_plain_parse_time_constant(sql);
        let name = if named { self.names_of_statements.next_name() } else { String::new() };
        let out = write_buffer.tail();
        frontend::parse(out, &name, sql, pending.hints());
        frontend::describe(out, StatementOrPortal::Statement, &name);
        frontend::flush(out);
        let draft = Arc::new(Statement::draft(name, sql.clone(), self.statements.epoch(), self.counted));
        if draft.sets_path {
            self.changing = Some(pending.slot.id);
        }
        pending.go(RequestEvent::StartDescribe, Stage::Describing { draft, parameters: Vec::new() });
    }
}

pub(super) fn statement_of(request: &Request) -> (&Arc<str>, Prepare) {
    match request {
        Request::Execute(Execute { sql, prepare, .. }) => (sql, *prepare),
        Request::Describe { sql } => (sql, Prepare::Named),
        _ => unreachable!("only these have a statement"),
    }
}
