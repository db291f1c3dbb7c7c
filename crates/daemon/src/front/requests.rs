//! Requests to the server, and the way of their replies to the client.

use super::backend::Backend;
use super::cancelling::{at, cancel_until};
use super::catalog::{Answer, Cell, Effect, Fact};
use super::handler::{Handler, Plan, Shared};
use super::memory::MemoryReservation;
use super::outcomes::{complete, failure};
use super::portal::Prepared;
use super::replies::{self, Failure};
use super::session::{Execution, FrontSession, server_lost};
use super::session_effect::SessionEffect;
use super::sql::Action;
use super::transactions::Block;
use super::values::{Layout, Shape, Writer};
use crate::client::is_full;
use crate::leaving;
use crate::limits::{
    FRONT_HELD_BYTES, FRONT_PASSED_ON_BYTES, FRONT_READ_AHEAD_BYTES, FRONT_WAITING_BYTES, RESET_TIMEOUT,
};
use crate::lock;
use crate::postgres::relay::ends_in_terminate;
use crate::replies::Ended;
use headrace_connection::Connection;
use headrace_core::{Discarded, Fatal, Outcome, Sink, TransactionStatus, Verb};
use headrace_drivers::Repeats;
use headrace_io::Progress;
use headrace_io::tokio::Client;
use headrace_postgres::messages::tag::backend as tag;
use headrace_postgres::types::Format;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

/// The SQLSTATE of a text that the server cannot parse.
const SYNTAX_ERROR: &str = "42601";

/// A request to the server.
#[derive(Debug)]
pub(super) struct Running<E> {
    pub(super) id: u64,
    slot: Shared<E>,
    pub(super) command: String,
    pub(super) describes: bool,
    pub(super) shape: Shape,
    /// What is parsed after it may have another meaning.
    pub(super) changes_session: bool,
    /// The client keeps its session for this alone, unless the server cannot parse it.
    pub(super) unpins_unparsed: bool,
    /// The statement of which the client is told by its RowDescription.
    prepared: Option<Arc<Prepared>>,
    /// The memory of its parameters.
    _held: Option<MemoryReservation>,
}

impl<E> Running<E> {
    pub(super) fn execute<B: Backend<Error = E>>(client: &mut Client<B>, execution: Execution<'_>) -> Self {
        let Execution { server, values, formats, describes, promised, prepared, is_text, held, .. } = execution;
        let mut plan = Plan::of(server, formats, describes && server.copy.is_none());
        plan.promised = promised.filter(|_| server.copy.is_none());
        plan.several = is_text;
        let shape = plan.shape;
        let (handler, slot) = Handler::new(values, plan, FRONT_WAITING_BYTES);
        let repeats = if is_text { Repeats::Once } else { Repeats::Often };
        let id = client.connection.machine.submit(B::execute(server.sql.clone(), repeats), handler);
        // The simple protocol has no NoData.
        let describes = describes && !is_text;
        let changes_session = server.session_effect.and_then(SessionEffect::left).is_some();
        let command = server.command.clone();
        let unpins_unparsed = false;
        Self { id, slot, command, describes, shape, changes_session, unpins_unparsed, prepared, _held: held }
    }

    /// Returns true if the server has answered all of it.
    pub(super) fn is_over(&self) -> bool {
        lock(&self.slot).outcome.is_some()
    }
}

/// A request in the queue, and messages after its reply.
#[derive(Debug)]
pub(super) struct Item<E> {
    pub(super) running: Running<E>,
    /// The number of rows after which it is suspended, and its portal.
    limit: Option<(u64, String)>,
    /// An earlier request has failed.
    is_muted: bool,
    pub(super) after: Vec<u8>,
}

impl<E> Item<E> {
    pub(super) fn of(running: Running<E>, limit: Option<(u64, String)>) -> Self {
        Self { running, limit, is_muted: false, after: Vec::new() }
    }

    pub(super) fn resumed(running: Running<E>, rows: Option<u64>, portal: &str) -> Self {
        Self::of(running, rows.map(|rows| (rows, portal.to_owned())))
    }
}

/// What became of the first request.
enum Moved {
    /// More is to come.
    Part,
    /// As many rows as were asked for.
    Suspended,
    /// All of it.
    All,
}

impl<B: Backend> FrontSession<'_, B> {
    /// Waits until something has happened. Returns true if the client has left. `watched` is a request that is not in
    /// the queue.
    pub(super) async fn progress(&mut self, watched: Option<&Shared<B::Error>>) -> Result<bool, Ended> {
        let waited = !self.queue.is_empty();
        self.pump()?;
        if waited && self.queue.is_empty() {
            return Ok(false);
        }
        let slot = watched.cloned().or_else(|| self.queue.front().map(|item| item.running.slot.clone()));
        let has_room = !is_full(&self.client.buffers);
        if self.is_gone && (!has_room || slot.is_none()) {
            // Nobody reads the rest.
            return Ok(true);
        }
        let first = self.first_to_expire(slot.is_some(), slot.is_none() && has_room);
        let client = &mut *self.client;
        // A message that is not complete is read to its end, if nothing else keeps it from being handled.
        let is_next = self.queue.is_empty() && watched.is_none() && has_room;
        let reads = is_next || client.buffers.read_buffer.unread().len() < FRONT_READ_AHEAD_BYTES;
        let (Some(slot), Some(lent)) = (slot, &mut self.lent) else {
            if watched.is_none() && !self.queue.is_empty() {
                return Err(server_lost(&Fatal::end_of_input()));
            }
            let mut left = self.hub.left.clone();
            let is_idle = self.lent.is_none() || self.is_between() && self.status() == TransactionStatus::Idle;
            let client = &mut *self.client;
            let moved = async {
                match reads {
                    true => client.receive().await,
                    false => client.stream.exchange(&mut client.buffers, false).await,
                }
            };
            return tokio::select! {
                moved = moved => Ok(self.has_left(&moved)),
                ended = leaving::due(&mut left), if is_idle => Err(ended),
                what = self.timer.expired(first) => Err(what.ended()),
                ended = self.of.killed() => Err(ended),
            };
        };
        let limit = self.queue.front().and_then(|item| item.limit.as_ref()).map(|(rows, _)| *rows);
        let watches = watched.is_some();
        let done = || {
            let slot = lock(&slot);
            slot.outcome.is_some()
                || !watches
                    && (slot.bytes.len() >= FRONT_PASSED_ON_BYTES || limit.is_some_and(|rows| slot.rows >= rows))
        };
        if done() && has_room {
            return Ok(false);
        }
        tokio::select! {
            biased;
            driven = lent.server.client.drive((), |_| done()), if has_room => {
                driven.map_err(|fatal| server_lost(&fatal))?;
                Ok(false)
            }
            moved = client.stream.exchange(&mut client.buffers, reads), if !self.is_gone => Ok(self.has_left(&moved)),
            () = self.of.interrupt.notified(), if self.cancelling.is_none() => {
                self.cancelling = Some(Instant::now());
                Ok(false)
            }
            () = at(self.cancelling) => {
                self.cancel_statement().await;
                Ok(false)
            }
            what = self.timer.expired(first) => Err(what.ended()),
            ended = self.of.killed() => Err(ended),
        }
    }

    /// Returns true if the client is not there any more, and nothing of what it has sent is to be executed.
    pub(super) fn has_left(&mut self, moved: &Result<Progress, Fatal>) -> bool {
        if !matches!(moved, Ok(Progress::Eof) | Err(_)) {
            return false;
        }
        self.is_gone = self.leaving || ends_in_terminate(self.client.buffers.read_buffer.unread());
        !self.is_gone
    }

    /// Moves what has come to the client.
    pub(super) fn pump(&mut self) -> Result<(), Ended> {
        while let Some(item) = self.queue.front_mut() {
            if is_full(&self.client.buffers) && !item.is_muted {
                return Ok(());
            }
            let out = self.client.buffers.write_buffer.tail();
            let moved = take(item, out);
            let machine = self.lent.as_mut().map(|lent| &mut lent.server.client.connection.machine);
            if let Some(machine) = machine
                && !matches!(moved, Moved::Suspended)
            {
                make_room(&item.running, &mut **machine);
            }
            match moved {
                Moved::Part => return Ok(()),
                Moved::Suspended => {
                    replies::bare(out, tag::PORTAL_SUSPENDED);
                    if let Some(Item { running, limit: Some((_, portal)), after, .. }) = self.queue.pop_front() {
                        out.extend_from_slice(&after);
                        if let Some(portal) = self.portals.get_mut(&portal) {
                            portal.running = Some(running);
                        }
                    }
                }
                Moved::All => {
                    let Some(item) = self.queue.pop_front() else { return Ok(()) };
                    self.finished(item)?;
                }
            }
        }
        Ok(())
    }

    /// A request is over, and its rows are on their way.
    fn finished(&mut self, item: Item<B::Error>) -> Result<(), Ended> {
        let out = self.client.buffers.write_buffer.tail();
        let Item { running, is_muted, after, .. } = item;
        self.answered += 1;
        let mut slot = lock(&running.slot);
        let outcome = slot.outcome.take().unwrap_or(Outcome::Done);
        let changes = ["CREATE", "ALTER", "DROP", "RENAME"].iter().any(|verb| running.command.starts_with(verb));
        if slot.is_outdated || changes {
            self.pool.state.definitions_changed();
        }
        let outdated = slot.is_outdated && slot.problem.is_none();
        let failed = failure::<B>(outcome, slot.problem.take())?;
        let is_told = !is_muted && (failed.is_none() || slot.columns.is_some());
        if let Some(prepared) = running.prepared.as_ref().filter(|_| is_told) {
            prepared.set_columns(slot.columns.clone());
        }
        match failed.or_else(|| outdated.then(Failure::outdated)) {
            _ if is_muted => return Ok(()),
            None => {
                complete(out, &running, slot.columns.is_some(), slot.rows, slot.affected);
                out.extend_from_slice(&after);
            }
            Some(failure) => {
                self.pool.stats.errors.add(failure.sqlstate.clone());
                failure.write(out);
                drop(slot);
                if running.unpins_unparsed && failure.sqlstate == SYNTAX_ERROR {
                    self.unpin();
                }
                self.cancelling = None;
                self.skipping = true;
                self.queue.iter_mut().for_each(|item| item.is_muted = true);
                let ended = self
                    .lent
                    .as_ref()
                    .is_some_and(|lent| lent.server.client.connection.machine.transaction() == TransactionStatus::Idle);
                if ended && self.block == Block::Open {
                    self.block = Block::Failed;
                }
            }
        }
        Ok(())
    }

    /// Asks the server, and waits for its answer.
    async fn ask(&mut self, request: B::Request, plan: Plan) -> Result<(Shared<B::Error>, Option<Failure>), Ended> {
        self.settle().await?;
        let (handler, slot) = Handler::new(Vec::new(), plan, FRONT_WAITING_BYTES);
        if let Err(failure) = self.borrow().await? {
            return Ok((slot, Some(failure)));
        }
        if let Some(lent) = &mut self.lent {
            lent.server.client.connection.machine.submit(request, handler);
        }
        while lock(&slot).outcome.is_none() {
            if self.progress(Some(&slot)).await? {
                return Err(self.client_has_left());
            }
        }
        self.answered += 1;
        let outcome = lock(&slot).outcome.take().unwrap_or(Outcome::Done);
        let failed = failure::<B>(outcome, None)?;
        Ok((slot, failed))
    }

    /// Has a statement described by the server, unless it was before.
    pub(super) async fn describe(&mut self, prepared: &Prepared) -> Result<Result<(), Failure>, Ended> {
        let Action::Server(server) = &prepared.statement.action else { return Ok(Ok(())) };
        if prepared.is_described() {
            return Ok(Ok(()));
        }
        if let Err(failure) = self.make_way().await? {
            return Ok(Err(failure));
        }
        self.settle().await?;
        if self.skipping {
            return Ok(Ok(()));
        }
        if let Err(failure) = self.borrow().await? {
            return Ok(Err(failure));
        }
        if let Some(lent) = &mut self.lent {
            lent.server.refresh(&self.pool.state, &server.sql);
        }
        let plan = Plan { only_columns: true, ..Plan::of(server, &[], false) };
        let (slot, failed) = self.ask(B::prepare(&server.sql), plan).await?;
        if let Some(failure) = failed {
            return Ok(Err(failure));
        }
        prepared.set_columns(lock(&slot).columns.take());
        Ok(Ok(()))
    }

    /// Executes a verb.
    pub(super) async fn verb(&mut self, verb: &Verb) -> Result<Result<(), Failure>, Ended> {
        let requests = match B::of_verb(verb) {
            Ok(requests) => requests,
            Err(mismatch) => return Ok(Err(Failure::unsupported(format!("headraced: {}", mismatch.message)))),
        };
        for request in requests {
            if let Some(failure) = self.ask(request, plain()).await?.1 {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(()))
    }

    /// Keeps the rest of portals that are not read to their end, so that another statement can be executed.
    pub(super) async fn make_way(&mut self) -> Result<Result<(), Failure>, Ended> {
        let unfinished = self.portals.values().filter_map(|portal| portal.running.as_ref()).find(|one| !one.is_over());
        let Some(slot) = unfinished.map(|running| running.slot.clone()) else { return Ok(Ok(())) };
        lock(&slot).room = FRONT_HELD_BYTES;
        loop {
            let (is_over, held, is_full) = {
                let slot = lock(&slot);
                (slot.outcome.is_some(), slot.bytes.len(), slot.is_full)
            };
            if is_over {
                return Ok(Ok(()));
            }
            if held >= FRONT_HELD_BYTES {
                let message = format!(
                    "headraced: a portal has more rows than the {} MiB that are kept while another statement is executed",
                    FRONT_HELD_BYTES >> 20
                );
                return Ok(Err(Failure::new("54000", message).hint("read it to its end, or close it")));
            }
            if is_full {
                let id = self
                    .portals
                    .values()
                    .find_map(|portal| portal.running.as_ref().filter(|one| !one.is_over()).map(|one| one.id));
                lock(&slot).is_full = false;
                if let (Some(id), Some(lent)) = (id, &mut self.lent) {
                    lent.server.client.connection.machine.resume(id);
                }
            }
            if self.progress(Some(&slot)).await? {
                return Err(self.client_has_left());
            }
        }
    }

    /// Has what a portal runs with the portal again, unless it runs to its end.
    pub(super) async fn settle_portal(&mut self, name: &str) -> Result<(), Ended> {
        match self.portals.get(name) {
            Some(portal) if portal.is_limited => self.settle().await,
            _ => Ok(()),
        }
    }

    /// Forgets a portal; what the server still does for it is cancelled.
    pub(super) async fn close_portal(&mut self, name: &str) -> Result<(), Ended> {
        self.settle_portal(name).await?;
        let running = self.portals.remove(name).and_then(|portal| portal.running);
        let (Some(running), Some(lent)) = (running.filter(|running| !running.is_over()), &mut self.lent) else {
            return Ok(());
        };
        let id = running.id;
        let is_over = move |connection: &mut Connection<B>| !connection.machine.has(id);
        if lent.server.client.connection.machine.abandon(id) == Discarded::Alone {
            let ended = timeout(RESET_TIMEOUT, cancel_until(&mut lent.server, &self.pool, is_over)).await;
            let machine = &mut lent.server.client.connection.machine;
            machine.cancel_sent();
            machine.unpause();
            ended.unwrap_or_else(|_| Err(Fatal::cancel_unanswered())).map_err(|fatal| server_lost(&fatal))?;
        }
        lent.server.client.drive((), is_over).await.map_err(|fatal| server_lost(&fatal))?;
        Ok(())
    }

    /// Forgets all portals.
    pub(super) async fn close_portals(&mut self) -> Result<(), Ended> {
        let names: Vec<String> = self.portals.keys().cloned().collect();
        for name in names {
            self.close_portal(&name).await?;
        }
        Ok(())
    }

    /// Answers in the server's place.
    pub(super) fn answer(&mut self, answer: &Answer, formats: &[Format]) -> Result<(), Failure> {
        match &answer.effect {
            Effect::None => {}
            Effect::Set(name, value) => {
                if let Some(value) = Some(value).filter(|value| !value.eq_ignore_ascii_case("default")) {
                    self.settings.insert(name.clone(), value.clone());
                }
                self.report(name);
            }
            Effect::Reset(name) => {
                self.settings.remove(name);
                self.report(name);
            }
            Effect::ResetAll => self.settings.clear(),
            Effect::Discard => {
                self.settings.clear();
                self.statements.clear();
                self.isolation = None;
            }
            Effect::Deallocate(None) => self.statements.clear(),
            Effect::Deallocate(Some(name)) => {
                self.statements.remove(name);
            }
            Effect::Isolation(isolation) => self.isolation = *isolation,
        }
        if let Some(columns) = &answer.columns {
            let layout = Layout::new(columns, formats, Shape::Row);
            let mut out = Vec::new();
            let mut writer = Writer::new(&layout, &mut out);
            for row in &answer.rows {
                writer.begin_row(columns.len());
                for cell in row {
                    self.cell(cell, &mut writer);
                }
                writer.end_row();
            }
            self.local(|tail| tail.extend_from_slice(&out));
        }
        self.local(|out| replies::complete(out, &answer.command));
        Ok(())
    }

    /// ParameterStatus of a setting that was changed.
    fn report(&mut self, name: &str) {
        let Some(value) = self.setting(name) else { return };
        let shown = super::catalog::shown(name).to_owned();
        self.local(|out| replies::parameter(out, &shown, &value));
    }

    fn cell(&self, cell: &Cell, writer: &mut Writer<'_>) {
        let text = match cell {
            Cell::Text(text) => text.clone(),
            Cell::Number(number) => return writer.int(*number),
            Cell::Bool(value) => return writer.bool(*value),
            Cell::Null => return writer.null(),
            Cell::Session(Fact::Version) => {
                format!("PostgreSQL {} (headraced) on {}", super::catalog::VERSION, self.version)
            }
            Cell::Session(Fact::Setting(name)) => self.setting(name).unwrap_or_default(),
            Cell::Session(Fact::Database | Fact::Schema) => self.pool.name().to_owned(),
            Cell::Session(Fact::User) => self.user.clone(),
            Cell::Session(Fact::ProcessId) => return writer.int(i64::from(self.process_id)),
        };
        writer.text(text.as_bytes());
    }
}

pub(super) fn plain() -> Plan {
    Plan {
        formats: Vec::new(),
        describes: false,
        shape: Shape::Row,
        header: false,
        several: true,
        promised: None,
        only_columns: false,
        reads: false,
    }
}

/// Moves messages of the first request, up to its limit.
fn take<E>(item: &mut Item<E>, out: &mut Vec<u8>) -> Moved {
    let mut slot = lock(&item.running.slot);
    if item.is_muted {
        slot.bytes.clear();
        return if slot.outcome.is_some() { Moved::All } else { Moved::Part };
    }
    match &mut item.limit {
        None => {
            if out.is_empty() {
                std::mem::swap(out, &mut slot.bytes);
            } else {
                out.extend_from_slice(&slot.bytes);
            }
            slot.bytes.clear();
        }
        Some((left, _)) => {
            let mut end = 0;
            while let Some([kind, a, b, c, d]) = slot.bytes.get(end..end + 5) {
                let is_row = *kind == tag::DATA_ROW;
                if is_row && *left == 0 {
                    break;
                }
                end += 1 + u32::from_be_bytes([*a, *b, *c, *d]) as usize;
                *left -= u64::from(is_row);
                slot.rows -= u64::from(is_row);
            }
            out.extend_from_slice(&slot.bytes[..end]);
            slot.bytes.drain(..end);
            if *left == 0 {
                return Moved::Suspended;
            }
        }
    }
    if slot.outcome.is_some() { Moved::All } else { Moved::Part }
}

/// Lets the server send more, if its rows were moved.
fn make_room<B: Backend>(running: &Running<B::Error>, machine: &mut B) {
    let mut slot = lock(&running.slot);
    if slot.is_full && slot.bytes.len() < slot.room {
        slot.is_full = false;
        machine.resume(running.id);
    }
}

/// Executes a verb; returns true if the server has.
pub(super) async fn has_executed<B: Backend>(client: &mut Client<B>, verb: &Verb) -> bool {
    match B::of_verb(verb) {
        Ok(requests) => all(client, requests).await,
        Err(_) => false,
    }
}

/// Executes requests; returns true if the server has executed all of them.
pub(super) async fn all<B: Backend>(client: &mut Client<B>, requests: Vec<B::Request>) -> bool {
    for request in requests {
        let (handler, slot) = Handler::new(Vec::new(), plain(), FRONT_WAITING_BYTES);
        client.connection.machine.submit(request, handler);
        if client.drive((), |_| lock(&slot).outcome.is_some()).await.is_err() {
            return false;
        }
        if !matches!(lock(&slot).outcome, Some(Outcome::Done)) {
            return false;
        }
    }
    true
}
