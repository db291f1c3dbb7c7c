//! A client whose database is PostgreSQL's, and the server connections that it is lent.

mod borrowing;

use super::pool::{Lent, Pool, PoolRequest};
use super::relay::{Relay, RelayStep};
use super::standbys::Standbys;
use super::startup_replies::Settings;
use crate::client::{Client, is_full};
use crate::config::PoolMode;
use crate::hub::Hub;
use crate::leaving::{self, LeavingReceiver};
use crate::limits::{PINNED_PAUSE, SMALL, TURN};
use crate::pool::{Parameters, ServerConnection as _};
use crate::registry::{self, Activity, Entered};
use crate::replies::{self, Ended, SERVER_LOST};
use crate::timeouts::{Clock, Doing, Expired, Observed, Timer};
use crate::traffic::{RuntimeAffinity, Traffic, TrafficClass, run_on};
use borrowing::Borrowed;
use headrace_core::limits::READ_BUFFER_BYTES;
use headrace_core::{Fatal, ReadBuffer, TransactionStatus};
use headrace_io::{Flow, Progress};
use std::sync::Arc;
use std::time::Instant;

/// How a step of a client's connection ended.
enum Step {
    Moved,
    ClientLeft,
    ServerLost(Fatal),
    Expired(Expired),
    Ended(Ended),
}

/// Why a session is not served any longer where it was.
enum Stopped {
    ClientLeft,
    /// It belongs to other threads.
    Elsewhere,
}

/// Sends a client its startup replies, and serves it until it leaves. An [`Ended`] has what is sent to it about the end
/// of its connection.
pub async fn serve(
    mut client: Client,
    wanted: PoolRequest,
    hub: &Arc<Hub>,
    entered: &Entered<'_>,
) -> (Client, Result<(), Ended>) {
    let (pool, relay) = match Box::pin(start(&mut client, wanted, hub, entered)).await {
        Ok(Some(started)) => started,
        Ok(None) => return (client, Ok(())),
        Err(ended) => return (client, Err(ended)),
    };
    let clock = hub.clock(&pool);
    let mut session = Box::new(ClientSession {
        client,
        relay,
        standbys: hub.standbys.of(&pool, hub),
        primary: Arc::clone(&pool),
        pool,
        clock,
        timer: Timer::default(),
        replies: 0,
        of: Arc::clone(&entered.client),
        lent: None,
        hub: Arc::clone(hub),
        left: hub.left.clone(),
        traffic: Traffic::default(),
        flow: Flow::default(),
        affinity: RuntimeAffinity::default(),
        adapting: false,
        leaving: false,
        is_gone: false,
        held: 0,
        sent_before: 0,
        asked: false,
    });
    let ended = loop {
        let stopped;
        (session, stopped) = match session.traffic.class() {
            TrafficClass::Interactive => Box::pin(session.run()).await,
            TrafficClass::Bulk => run_on(&hub.bulk, Box::pin(session.run())).await,
        };
        match stopped {
            Ok(Stopped::Elsewhere) => {}
            Ok(Stopped::ClientLeft) => break Ok(()),
            // An error would become a piece of a row, or follow the server's own. The connection only ends.
            Err(ended) if session.relay.is_within_message() => {
                hub.client_log.ended(&session.of, &ended);
                break Ok(());
            }
            Err(_) if session.relay.has_sent_fatal_error() => break Ok(()),
            Err(ended) => break Err(ended),
        }
    };
    Box::pin(session.give_back(false)).await;
    session.release();
    if ended.is_ok() {
        Box::pin(session.client.flush()).await;
    }
    (session.client, ended)
}

/// What a client is served by, after its startup replies. `None` if it has left before.
async fn start(
    client: &mut Client,
    wanted: PoolRequest,
    hub: &Hub,
    entered: &Entered<'_>,
) -> Result<Option<(Arc<Pool>, Relay)>, Ended> {
    let PoolRequest { mut pool, mut settings } = wanted;
    let of = &entered.client;
    let apart = of.unless_killed(client.while_connected(pool.apart(&mut settings))).await?;
    let Some(apart) = apart else { return Ok(None) };
    if let Some(key) = apart? {
        pool = hub.pool(key, &pool.database());
    }
    let parameters = match pool.startup_replies(&settings) {
        Some(parameters) => parameters,
        None => {
            entered.client.set_activity(Activity::Waiting);
            let lent = of.unless_killed(client.while_connected(pool.lend(TrafficClass::Interactive))).await?;
            let Some(lent) = lent else { return Ok(None) };
            first_startup_replies(&pool, lent?, &settings).await?
        }
    };
    entered.client.set_activity(Activity::Idle);
    pool.stats.logins.add(1);
    replies::startup(client.buffers.write_buffer.tail(), &parameters, entered.key());
    let mut relay = Relay::new(Arc::clone(&pool.state.catalog), parameters);
    relay.refuses_transactions = pool.mode == PoolMode::Statement;
    relay.keeps_server = pool.mode == PoolMode::Session;
    Ok(Some((pool, relay)))
}

/// Learns from the server what it makes of a client's settings.
async fn first_startup_replies(pool: &Pool, mut lent: Lent, settings: &Parameters) -> Result<Arc<Settings>, Ended> {
    let defaults = pool.state.startup_replies.defaults().expect("a connection has been opened");
    // What the client does not set is as in a session that was opened now, whatever others have set since.
    let mut wanted = Settings::clone(&defaults);
    for (name, value) in settings {
        let reported = wanted.keys().find(|known| known.eq_ignore_ascii_case(name));
        wanted.insert(reported.unwrap_or(name).clone(), value.clone());
    }
    // A DateStyle such as ISO leaves the order of day and month as it is: that of the defaults, and of no other client.
    for wanted in [&defaults, &wanted] {
        for sql in lent.server.state.adaptation(wanted) {
            if let Err(error) = lent.server.answer(&sql).await.map_err(Ended::opening)? {
                pool.stats.errors.add(error.sqlstate().to_owned());
                pool.take_back(lent, Instant::now());
                return Err(Ended::of_server(error));
            }
        }
    }
    let parameters = Settings::clone(&lent.server.state.parameters);
    pool.state.startup_replies.remember(&defaults, settings, &parameters);
    pool.take_back(lent, Instant::now());
    Ok(Arc::new(parameters))
}

struct ClientSession {
    client: Client,
    relay: Relay,
    /// Where its server connection is from, or was last.
    pool: Arc<Pool>,
    /// Where everything is executed that is not declared to be read-only.
    primary: Arc<Pool>,
    /// Where that is executed.
    standbys: Option<Arc<Standbys>>,
    of: Arc<registry::Client>,
    lent: Option<Lent>,
    /// How long the client may take.
    clock: Clock,
    timer: Timer,
    /// Counts replies.
    replies: u64,
    hub: Arc<Hub>,
    left: LeavingReceiver,
    traffic: Traffic,
    /// What the server sends.
    flow: Flow,
    affinity: RuntimeAffinity,
    /// The server connection may not have the client's settings yet.
    adapting: bool,
    /// The client has sent Terminate after requests that were not answered yet.
    leaving: bool,
    /// It is not there any more, and has sent Terminate after all that is still executed.
    is_gone: bool,
    /// Bytes of its buffer that count for the memory of all clients.
    held: usize,
    /// Position in the stream to the server when it was lent.
    sent_before: u64,
    /// The server was asked what the client has left, and the client has sent nothing since.
    asked: bool,
}

impl ClientSession {
    /// Serves the client on the threads that call this, as long as it belongs there.
    async fn run(mut self: Box<Self>) -> (Box<Self>, Result<Stopped, Ended>) {
        self.come_here();
        let stopped = self.serve().await;
        (self, stopped)
    }

    fn come_here(&mut self) {
        let class = self.traffic.class();
        self.of.is_served_by_another_task();
        self.affinity.move_to(class, &mut self.client.stream);
        if let Some(lent) = &mut self.lent {
            lent.server.move_to(class);
        }
    }

    async fn serve(&mut self) -> Result<Stopped, Ended> {
        let class = self.traffic.class();
        loop {
            if self.lent.is_none() {
                if self.relay.begins_with_terminate(&self.client.buffers.read_buffer) {
                    return Ok(Stopped::ClientLeft);
                }
                let (input, output) = (&mut self.client.buffers.read_buffer, &mut self.client.buffers.write_buffer);
                self.relay.pass_over(input, output)?;
                if self.relay.needs_server(&mut self.client.buffers.read_buffer) {
                    match self.borrow().await? {
                        Borrowed::Lent => {}
                        Borrowed::Cancelled => continue,
                        Borrowed::ClientLeft => return Ok(Stopped::ClientLeft),
                    }
                }
            }
            self.leaving |= self.relay_messages()?;
            if self.adapting && !self.relay.adapts() {
                self.can_be_cancelled().await;
            }
            // In the middle of its data a COPY fails.
            let is_over = |lent: &Lent| self.relay.has_all_replies() || lent.server.state.is_copying_in();
            if self.leaving && self.lent.as_ref().is_none_or(is_over) {
                return Ok(Stopped::ClientLeft);
            }
            if self.relay.owes_nothing() {
                self.traffic.answered();
            }
            if self.traffic.class() != class {
                return Ok(Stopped::Elsewhere);
            }
            if self.asks_what_is_left() {
                Box::pin(self.ask_what_is_left()).await?;
                // It may be kept now, and what the client has sent is passed on after all.
                if self.relay.is_waiting_for_replies() {
                    continue;
                }
            }
            if self.pool.mode != PoolMode::Session
                && self.lent.as_ref().is_some_and(|lent| self.relay.is_settled(&lent.server.state))
            {
                self.give_back(true).await;
                let input = &mut self.client.buffers.read_buffer;
                if self.relay.needs_server(input) || self.relay.begins_with_terminate(input) {
                    continue;
                }
            }
            match self.step().await {
                Step::Moved => {}
                Step::ClientLeft => return Ok(Stopped::ClientLeft),
                Step::ServerLost(fatal) => return Err(self.server_lost(&fatal)),
                Step::Expired(what) => return Err(what.ended()),
                Step::Ended(ended) => return Err(ended),
            }
        }
    }

    /// Returns true if what keeps the connection with the client may be gone.
    fn asks_what_is_left(&self) -> bool {
        self.pool.mode != PoolMode::Session
            && self.lent.as_ref().is_some_and(|lent| self.relay.asks(&lent.server.state))
    }

    /// Asks the server whether it is still there.
    async fn ask_what_is_left(&mut self) -> Result<(), Ended> {
        let Some(lent) = &mut self.lent else { return Ok(()) };
        self.asked = true;
        // The client need not wait for it. An error is that of the next call, too.
        let _ = self.client.stream.push_available(&mut self.client.buffers);
        // The question is not the client's to cancel.
        *self.of.running.lock().await = None;
        let question = self.relay.question();
        let answer = lent.server.answer_beside(&question, &mut self.client.buffers.write_buffer).await;
        let answer = answer.map_err(|fatal| self.server_lost(&fatal))?;
        let Some(lent) = &mut self.lent else { return Ok(()) };
        let pinned = self.relay.pinned();
        self.relay.learn_what_is_left(answer.ok().as_deref(), &mut lent.server.state);
        *self.of.running.lock().await = Some(Arc::clone(&lent.server.cancel));
        if self.relay.pinned() != pinned {
            self.note_pin();
        }
        Ok(())
    }

    /// From now on a CancelRequest goes to the server, also one that has come since the connection was lent. Before, it
    /// would have hit the daemon's own SET, without which what the client has sent after it must not run.
    async fn can_be_cancelled(&mut self) {
        self.adapting = false;
        let Some(lent) = &self.lent else { return };
        let mut running = self.of.running.lock().await;
        *running = Some(Arc::clone(&lent.server.cancel));
        if self.of.take_cancel().await {
            // The client does not learn of a failure: the protocol has no answer to a CancelRequest.
            let _ = Box::pin(lent.server.cancel.send()).await;
        }
    }

    /// Translates what was received; returns true if the client has sent Terminate.
    fn relay_messages(&mut self) -> Result<bool, Ended> {
        let Some(lent) = &mut self.lent else {
            self.hold()?;
            return Ok(false);
        };
        if self.leaving {
            let after = self.client.buffers.read_buffer.unread().len();
            self.client.buffers.read_buffer.consume(after);
        }
        let (client, server) = (&mut self.client.buffers, &mut lent.server);
        // Who sends without a pause lets others go first, from time to time, if they wait.
        self.relay.gives_way = self.relay.requests >= TURN
            && self.pool.mode != PoolMode::Session
            && self.relay.pinned().is_none()
            && self.pool.is_waited_for();
        let (pinned, parsed) = (self.relay.pinned(), self.relay.parsed);
        let (asked, answered) = (server.buffers.write_buffer.mark(), client.write_buffer.mark());
        let then = loop {
            let then =
                self.relay.from_client(&mut client.read_buffer, &mut server.state, &mut server.buffers.write_buffer)?;
            let in_flight = self.relay.in_flight();
            let received =
                self.relay.from_server(&mut server.buffers.read_buffer, &mut server.state, &mut client.write_buffer);
            received.map_err(|fatal| Ended::new(SERVER_LOST, format!("headraced: {fatal}")))?;
            self.replies += u64::from(self.relay.in_flight() < in_flight);
            // What has waited for these replies goes on; nothing else may come that would have it do so.
            if !self.relay.is_waiting_for_replies() || self.relay.in_flight() == in_flight {
                break then;
            }
        };
        let asked = server.buffers.write_buffer.mark() - asked;
        let answered = client.write_buffer.mark() - answered;
        self.traffic.moved(asked + answered);
        if asked > 0 {
            self.asked = false;
            self.flow.begin();
        }
        if answered > 0 {
            self.flow.received(answered as usize);
        }
        if self.relay.pinned() != pinned {
            self.note_pin();
        }
        self.hold()?;
        if self.relay.parsed != parsed {
            self.hub.check_memory()?;
        }
        Ok(then == RelayStep::Terminate)
    }

    fn note_pin(&self) {
        match self.relay.pinned() {
            Some(reason) => {
                self.pool.stats.pins.add(reason);
                self.of.set_activity(Activity::Pinned(reason));
            }
            None => self.of.set_activity(Activity::Active),
        }
    }

    /// Counts the memory of large messages, which all clients share.
    fn hold(&mut self) -> Result<(), Ended> {
        let capacity = self.client.buffers.read_buffer.capacity();
        if capacity <= SMALL && self.held == 0 {
            return Ok(());
        }
        if self.client.buffers.read_buffer.is_empty() {
            self.client.buffers.read_buffer = ReadBuffer::new();
        }
        let now = self.client.buffers.read_buffer.capacity().min(capacity);
        let now = if now <= SMALL { 0 } else { now };
        self.hub.memory.add(now as i64 - self.held as i64);
        let grown = now > self.held;
        self.held = now;
        if grown { self.hub.check_memory() } else { Ok(()) }
    }

    fn release(&mut self) {
        self.hub.memory.add(-(std::mem::take(&mut self.held) as i64));
    }

    /// Lets what the server sends to a client that moves much accumulate. Both sides are sent before what they are owed;
    /// returns true if a full buffer has room again by that, for which there may be something to pass on already.
    fn gather(&mut self) -> bool {
        let Some(pause) = self.flow.pause(self.relay.in_flight()) else { return false };
        let (TrafficClass::Bulk, Some(lent)) = (self.affinity.class(), &mut self.lent) else { return false };
        let (client, server) = (&mut self.client, &mut lent.server);
        let full = [is_full(&client.buffers), is_full(&server.buffers)];
        // An error is that of the next call, too.
        let to_client = client.stream.push_available(&mut client.buffers);
        let to_server = server.stream.push_available(&mut server.buffers);
        if full != [is_full(&client.buffers), is_full(&server.buffers)] {
            return true;
        }
        // A client that does not take more is the slower one. A server that does not has enough to do meanwhile.
        if let (Ok(false), Ok(_)) = (to_client, to_server) {
            // The thread sleeps, and not only the task: it would be woken for each piece.
            self.flow.sleep(pause);
        }
        false
    }

    /// Moves bytes until something has happened.
    async fn step(&mut self) -> Step {
        if self.gather() {
            return Step::Moved;
        }
        let first = self.first_to_expire();
        let client = &mut self.client;
        let room_to_client = !is_full(&client.buffers);
        if self.is_gone && (self.lent.is_none() || !room_to_client) {
            // Nobody reads the rest. A server that cannot send it ends the request, too.
            return Step::ClientLeft;
        }
        let Some(lent) = &mut self.lent else {
            return tokio::select! {
                moved = client.receive() => of_client(moved),
                ended = leaving::due(&mut self.left) => Step::Ended(ended),
                what = self.timer.expired(first) => Step::Expired(what),
                ended = self.of.killed() => Step::Ended(ended),
            };
        };
        let idle = self.relay.owes_nothing() && lent.server.state.is_idle();
        let room_to_server = !is_full(&lent.server.buffers)
            && (!self.relay.is_waiting_for_replies() || client.buffers.read_buffer.unread().len() < READ_BUFFER_BYTES);
        let may_ask =
            idle && !self.asked && self.pool.mode != PoolMode::Session && self.relay.can_ask(&lent.server.state);
        tokio::select! {
            moved = client.stream.exchange(&mut client.buffers, room_to_server), if !self.is_gone => match moved {
                Ok(Progress::Eof) | Err(_) if self.leaving || self.relay.ends_in_terminate(&client.buffers.read_buffer) => {
                    self.is_gone = true;
                    Step::Moved
                }
                moved => of_client(moved),
            },
            moved = lent.server.stream.exchange(&mut lent.server.buffers, room_to_client) => match moved {
                Ok(Progress::Eof) => Step::ServerLost(Fatal::end_of_input()),
                Ok(_) => Step::Moved,
                Err(fatal) => Step::ServerLost(fatal),
            },
            ended = leaving::due(&mut self.left), if idle => Step::Ended(ended),
            () = pause(), if may_ask => {
                self.relay.has_paused();
                Step::Moved
            }
            what = self.timer.expired(first) => Step::Expired(what),
            ended = self.of.killed() => Step::Ended(ended),
        }
    }

    /// What of the client's doings expires first.
    fn first_to_expire(&mut self) -> Option<(Instant, Expired)> {
        let read_buffer = &self.client.buffers.read_buffer;
        let is_receiving = self.lent.as_ref().is_none_or(|lent| !is_full(&lent.server.buffers))
            && self.relay.is_receiving(read_buffer);
        if self.clock.is_free(is_receiving) {
            return None;
        }
        let asked = self.lent.as_ref().map_or(0, |lent| lent.server.buffers.write_buffer.mark() - self.sent_before);
        let in_transaction = self.lent.as_ref().is_some_and(|lent| !lent.server.state.is_idle());
        let doing = match self.relay.has_all_replies() {
            _ if self.lent.as_ref().is_some_and(|lent| lent.server.state.is_copying_in()) => Doing::Waiting,
            false => Doing::Query,
            true if in_transaction || self.lent.is_some() && !self.relay.owes_nothing() => Doing::Waiting,
            true => Doing::Nothing,
        };
        let bytes = asked + read_buffer.unread().len() as u64;
        let receiving = is_receiving.then_some((self.relay.messages, bytes));
        self.clock.observe(Instant::now(), Observed { doing, in_transaction, asked, replies: self.replies, receiving })
    }

    /// The server has closed the connection. What it sent before has been passed on.
    fn server_lost(&mut self, fatal: &Fatal) -> Ended {
        let _ = self.relay_messages();
        let status = self.lent.take().map(|lent| lent.server.state.status);
        let what = match (self.relay.owes_nothing(), status) {
            (true, None | Some(TransactionStatus::Idle)) => "nothing was under way",
            (true, _) => "the transaction was not committed",
            (false, _) => "whether what was under way has been done is not known",
        };
        Ended::new(SERVER_LOST, format!("headraced: the server connection was lost, {what}: {fatal}"))
    }

    /// Gives the server connection back, with its session as it was when it was opened, or closes it.
    async fn give_back(&mut self, settled: bool) {
        // Waits for a CancelRequest that is under way.
        *self.of.running.lock().await = None;
        self.count();
        let Some(mut lent) = self.lent.take() else { return };
        let now = Instant::now();
        if settled {
            self.of.set_activity_at(Activity::Idle, now);
            self.relay.rests();
        }
        if !lent.server.state.can_be_lent_again() && self.relay.owes_nothing() {
            // To close it is all that ends what the client has left there.
            return;
        }
        if settled {
            return self.pool.take_back(lent, now);
        }
        if !self.relay.owes_nothing() || !lent.server.buffers.write_buffer.is_empty() {
            // Nobody waits for what it does.
            if Box::pin(lent.server.give_up()).await.is_ok() {
                self.pool.stats.cancelled.add(1);
            }
            return;
        }
        let left = self.relay.pinned().is_some()
            || self.relay.asks(&lent.server.state)
            || lent.server.state.status != TransactionStatus::Idle
            || self.pool.mode == PoolMode::Session;
        if !left || Box::pin(lent.server.reset()).await.is_ok() {
            self.pool.take_back(lent, Instant::now());
        }
    }

    /// Adds what has happened since the connection was lent to the pool's counters.
    fn count(&mut self) {
        let Some(lent) = &self.lent else { return };
        let stats = &self.pool.stats;
        stats.sent.add(lent.server.buffers.write_buffer.mark() - self.sent_before);
        let counted = std::mem::take(&mut self.relay.counters);
        stats.received.add(counted.received);
        stats.spared.add(counted.spared);
        stats.prepared.add(counted.prepared);
        stats.prepared_again.add(counted.prepared_again);
        stats.bound.add(counted.bound);
        stats.transactions.add(counted.transactions);
        stats.requests.add(std::mem::take(&mut self.relay.requests) as u64);
        for sqlstate in counted.errors {
            stats.errors.add(sqlstate);
        }
    }
}

/// Its timer is made only where it is waited for.
async fn pause() {
    tokio::time::sleep(PINNED_PAUSE).await;
}

fn of_client(moved: Result<Progress, Fatal>) -> Step {
    match moved {
        Ok(Progress::Eof) | Err(_) => Step::ClientLeft,
        Ok(_) => Step::Moved,
    }
}
