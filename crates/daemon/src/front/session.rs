//! A client of a database that is not PostgreSQL's: its messages, and the session that it is lent.

use super::backend::Backend;
use super::catalog::{Effect, SETTINGS, VERSION, shown};
use super::memory::MemoryReservation;
use super::messages::{Broken, Message, length};
use super::portal::{Portal, Prepared};
use super::replies::{self, Failure};
use super::requests::{Item, Running};
use super::server::{Lent, Pool};
use super::session_effect::SessionEffect;
use super::sql::{self, Action, Server};
use super::transactions::{ABORTED, Block, IN_FAILED_TRANSACTION};
use super::types::TargetColumn;
use crate::client::{Client, is_full};
use crate::config::PoolMode;
use crate::hub::Hub;
use crate::limits::FRONT_IN_FLIGHT;
use crate::limits::SMALL;
use crate::registry::{self, Activity, Entered};
use crate::replies::{Ended, PROTOCOL_VIOLATION, SERVER_LOST, TOO_LARGE};
use crate::timeouts::{Clock, Doing, Expired, Observed, Timer};
use crate::traffic::TrafficClass;
use headrace_core::{Fatal, Isolation, ReadBuffer, TransactionStatus};
use headrace_postgres::messages::tag::backend as tag;
use headrace_postgres::types::{Format, TypeRegistry};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// A client and what it has.
pub(super) struct FrontSession<'a, B: Backend> {
    pub(super) client: &'a mut Client,
    pub(super) pool: Arc<Pool<B>>,
    pub(super) hub: Arc<Hub>,
    /// What the registry has of it.
    pub(super) of: Arc<registry::Client>,
    pub(super) lent: Option<Lent<B>>,
    pub(super) dialect: B::Dialect,
    pub(super) registry: TypeRegistry,
    pub(super) version: String,
    pub(super) user: String,
    pub(super) process_id: i32,
    /// The settings that it has set; the others are as at the beginning.
    pub(super) settings: BTreeMap<String, String>,
    pub(super) statements: HashMap<String, Arc<Prepared>>,
    pub(super) portals: HashMap<String, Portal<B::Error>>,
    pub(super) queue: VecDeque<Item<B::Error>>,
    /// When the cancelling of what runs is tried again.
    pub(super) cancelling: Option<Instant>,
    /// The memory of a message that is being received.
    receiving: Option<MemoryReservation>,
    /// The client has sent a message: before that no session is kept for it.
    pub(super) has_begun: bool,
    /// The next message of the client is the first after ReadyForQuery.
    between: bool,
    /// An error was sent: the client's messages up to Sync are passed over.
    pub(super) skipping: bool,
    pub(super) block: Block,
    pub(super) pinned: Option<&'static str>,
    /// The session has something that its reset does not undo.
    pub(super) survives_reset: bool,
    pub(super) isolation: Option<Isolation>,
    /// A portal that is to be described, most often by the execution that follows.
    pub(super) describing: Option<String>,
    /// The client has sent Terminate.
    pub(super) leaving: bool,
    /// It is not there any more, and has sent Terminate after all that is still executed.
    pub(super) is_gone: bool,
    /// How long the client may take.
    pub(super) clock: Clock,
    pub(super) timer: Timer,
    /// Counts the client's messages, and the requests of the server that were answered.
    messages: u64,
    pub(super) answered: u64,
}

/// Serves a client until it leaves.
///
/// # Errors
/// [`Ended`]: the client is to be told why its connection ends.
pub async fn serve<B: Backend>(
    client: &mut Client,
    pool: Arc<Pool<B>>,
    settings: Vec<(String, String)>,
    hub: &Arc<Hub>,
    entered: &Entered<'_>,
) -> Result<(), Ended> {
    let key = entered.key();
    entered.client.set_activity(Activity::Waiting);
    let lending = Box::pin(client.while_connected(pool.lend(TrafficClass::Interactive)));
    let Some(lent) = entered.client.unless_killed(lending).await? else { return Ok(()) };
    let lent = lent?;
    entered.client.set_activity(Activity::Active);
    let machine = &lent.server.client.connection.machine;
    let (version, dialect) = (machine.version(), machine.dialect());
    let clock = hub.clock(&pool);
    let mut session = FrontSession {
        client,
        clock,
        timer: Timer::default(),
        messages: 0,
        answered: 0,
        user: pool.user().to_owned(),
        lent: Some(lent),
        pool,
        hub: Arc::clone(hub),
        of: Arc::clone(&entered.client),
        dialect,
        registry: TypeRegistry::default(),
        version,
        process_id: key.0,
        settings: BTreeMap::new(),
        statements: HashMap::new(),
        portals: HashMap::new(),
        queue: VecDeque::new(),
        cancelling: None,
        receiving: None,
        has_begun: false,
        between: true,
        skipping: false,
        block: Block::None,
        pinned: None,
        survives_reset: false,
        isolation: None,
        describing: None,
        leaving: false,
        is_gone: false,
    };
    session.pool.stats.logins.add(1);
    session.send_startup(settings, key);
    let ended = session.run().await;
    Box::pin(session.leave()).await;
    if ended.is_ok() {
        session.client.flush().await;
    }
    ended
}

/// The settings that PostgreSQL reports (manual, "Asynchronous Operations").
const REPORTED: [&str; 13] = [
    "application_name",
    "client_encoding",
    "datestyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "intervalstyle",
    "is_superuser",
    "search_path",
    "server_encoding",
    "server_version",
    "standard_conforming_strings",
    "timezone",
];

impl<B: Backend> FrontSession<'_, B> {
    fn send_startup(&mut self, settings: Vec<(String, String)>, key: (i32, i32)) {
        for (name, value) in settings {
            let name = name.to_ascii_lowercase();
            if self.setting(&name).is_some() && name != "client_encoding" {
                self.settings.insert(name, value);
            }
        }
        let parameters =
            REPORTED.iter().filter_map(|name| self.setting(name).map(|value| (shown(name).to_owned(), value)));
        let parameters: BTreeMap<String, String> = parameters.collect();
        crate::replies::startup(self.client.buffers.write_buffer.tail(), &parameters, key);
        self.release();
    }

    /// The value of a setting, if there is one of this name.
    pub(super) fn setting(&self, name: &str) -> Option<String> {
        self.settings.get(name).cloned().or_else(|| self.first_setting(name))
    }

    /// As it is at the beginning.
    fn first_setting(&self, name: &str) -> Option<String> {
        match name {
            "server_version" => Some(format!("{VERSION} (headraced; {})", self.version)),
            "session_authorization" => Some(self.user.clone()),
            "search_path" => Some(self.pool.name().to_owned()),
            _ => SETTINGS.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        }
    }

    async fn run(&mut self) -> Result<(), Ended> {
        loop {
            while let Some(message) = self.next_message()? {
                // In a box: a client that is idle must not need memory for what becomes of a message.
                Box::pin(self.handle(&message)).await?;
                if self.leaving {
                    return self.settle().await;
                }
            }
            self.count_memory()?;
            if self.progress(None).await? {
                return Ok(());
            }
        }
    }

    /// Counts the memory of a large message that is not complete.
    fn count_memory(&mut self) -> Result<(), Ended> {
        let buffer = &mut self.client.buffers.read_buffer;
        if buffer.is_empty() && buffer.capacity() > SMALL {
            *buffer = ReadBuffer::new();
        }
        let bytes = Some(buffer.capacity()).filter(|bytes| *bytes > SMALL);
        if self.receiving.as_ref().map(|held| held.bytes) != bytes {
            self.receiving = None;
            self.receiving = MemoryReservation::new(&self.hub, bytes.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Takes a whole message, if there is one and room for its answer.
    fn next_message(&mut self) -> Result<Option<Vec<u8>>, Ended> {
        if is_full(&self.client.buffers) || self.queue.len() >= FRONT_IN_FLIGHT {
            return Ok(None);
        }
        let read_buffer = &mut self.client.buffers.read_buffer;
        let unread = read_buffer.unread();
        let Some(length) = length(unread).map_err(broken)? else { return Ok(None) };
        if unread.len() < length {
            read_buffer.want(length);
            return Ok(None);
        }
        let message = unread[..length].to_vec();
        read_buffer.consume(length);
        Ok(Some(message))
    }

    async fn handle(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        let message = Message::read(bytes).map_err(broken)?;
        self.has_begun = true;
        self.messages += 1;
        if std::mem::take(&mut self.between) {
            self.of.take_cancel().await;
        }
        if self.skipping && !matches!(message, Message::Sync | Message::Terminate) {
            return Ok(());
        }
        if let Some(portal) = self.describing.take() {
            match &message {
                Message::Execute { portal: executed, .. } if *executed == portal => self.describing = Some(portal),
                _ => {
                    let described = self.describe_portal(&portal).await?;
                    self.checked(described);
                    if self.skipping && !matches!(message, Message::Sync | Message::Terminate) {
                        return Ok(());
                    }
                }
            }
        }
        let done = match message {
            Message::Query(text) => return self.query(text).await,
            Message::Parse { name, sql, types } => self.parse(name, sql, &types).await?,
            Message::Bind(bind) => self.bind(&bind).await?,
            Message::DescribeStatement(name) => self.describe_statement(name).await?,
            Message::DescribePortal(name) => self.defer_description(name),
            Message::Execute { portal, rows } => self.execute_portal(portal, rows).await?,
            Message::CloseStatement(name) => {
                self.statements.remove(name);
                self.local(|out| replies::bare(out, tag::CLOSE_COMPLETE));
                Ok(())
            }
            Message::ClosePortal(name) => {
                self.close_portal(name).await?;
                self.local(|out| replies::bare(out, tag::CLOSE_COMPLETE));
                Ok(())
            }
            Message::Flush => return self.settle().await,
            Message::Sync => return self.ready().await,
            Message::Terminate => {
                self.leaving = true;
                Ok(())
            }
            // Its COPY has failed.
            Message::Copy => Ok(()),
            Message::Other(kind) => {
                let what = format!("headraced: messages of type {:?} are not taken here", char::from(kind));
                return Err(Ended::new(PROTOCOL_VIOLATION, what));
            }
        };
        self.checked(done);
        Ok(())
    }

    /// A reply that the daemon makes itself, after those of the requests in flight. After an error, which one of these may
    /// have had while something was waited for, nothing comes before Sync.
    pub(super) fn local(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.skipping {
            return;
        }
        match self.queue.back_mut() {
            None => write(self.client.buffers.write_buffer.tail()),
            Some(last) => write(&mut last.after),
        }
    }

    /// Sends an error, and passes over the client's messages up to Sync.
    pub(super) fn checked(&mut self, done: Result<(), Failure>) {
        if let Err(failure) = done
            && !self.skipping
        {
            self.cancelling = None;
            self.pool.stats.errors.add(failure.sqlstate.clone());
            self.local(|out| failure.write(out));
            self.skipping = true;
        }
    }

    /// A text of the simple protocol.
    async fn query(&mut self, text: &str) -> Result<(), Ended> {
        self.settle().await?;
        if self.skipping {
            return Ok(());
        }
        self.refresh_dialect();
        let mut places = sql::statements(&self.dialect, text);
        if places.is_empty() {
            self.local(|out| replies::bare(out, tag::EMPTY_QUERY_RESPONSE));
        }
        while let Some(place) = places.pop_front() {
            self.execute_text(&text[place.clone()]).await?;
            if self.skipping {
                break;
            }
            if self.refresh_dialect() {
                let rest = sql::statements(&self.dialect, &text[place.end..]).into_iter();
                places = rest.map(|next| place.end + next.start..place.end + next.end).collect();
            }
        }
        self.ready().await
    }

    /// One statement of the simple protocol.
    async fn execute_text(&mut self, statement: &str) -> Result<(), Ended> {
        let read = sql::statement(&self.dialect, statement, &[]);
        let done = match &read.action {
            Action::Refused(failure) => Err(failure.clone()),
            Action::Server(_) if !read.order.is_empty() => {
                Err(Failure::new("42P02", "headraced: a statement with parameters needs the extended protocol"))
            }
            Action::Server(server) => {
                let execution = Execution {
                    server,
                    values: Vec::new(),
                    formats: &[],
                    describes: true,
                    promised: None,
                    prepared: None,
                    is_text: true,
                    limit: None,
                    held: None,
                };
                self.start(execution).await?
            }
            Action::Answer(answer) => {
                if let Some(columns) = &answer.columns {
                    self.local(|out| replies::columns(out, columns, &[]));
                }
                self.act(&read.action, &[]).await?
            }
            action => self.act(action, &[]).await?,
        };
        self.checked(done);
        self.settle().await
    }

    /// Texts are read as the server reads them now: SET may have changed that. Returns true if it has.
    pub(super) fn refresh_dialect(&mut self) -> bool {
        let Some(lent) = &self.lent else { return false };
        let dialect = lent.server.client.connection.machine.dialect();
        let changed = dialect != self.dialect;
        self.dialect = dialect;
        changed
    }

    /// What the daemon does itself.
    pub(super) async fn act(&mut self, action: &Action, formats: &[Format]) -> Result<Result<(), Failure>, Ended> {
        self.settle().await?;
        if self.skipping {
            return Ok(Ok(()));
        }
        match action {
            Action::Empty => self.local(|out| replies::bare(out, tag::EMPTY_QUERY_RESPONSE)),
            Action::Answer(answer) if answer.effect == Effect::Discard => {
                let done = self.discard().await?;
                return Ok(done.and_then(|()| self.answer(answer, formats)));
            }
            Action::Answer(answer) => return Ok(self.answer(answer, formats)),
            Action::Transaction(verb) => return self.transaction(verb).await,
            Action::Refused(failure) => return Ok(Err(failure.clone())),
            Action::Server(_) => {}
        }
        Ok(Ok(()))
    }

    /// Sends a statement to the server; its reply is in the queue then.
    pub(super) async fn start(&mut self, mut execution: Execution<'_>) -> Result<Result<(), Failure>, Ended> {
        let server = execution.server;
        if !server.reads || execution.limit.is_some() {
            self.settle().await?;
            if self.skipping {
                return Ok(Ok(()));
            }
        }
        if self.status() == TransactionStatus::Failed {
            return Ok(Err(Failure::new(IN_FAILED_TRANSACTION, ABORTED)));
        }
        if let Err(failure) = self.check(server.session_effect) {
            return Ok(Err(failure));
        }
        if let Err(failure) = self.make_way().await? {
            return Ok(Err(failure));
        }
        if let Err(failure) = self.borrow().await? {
            return Ok(Err(failure));
        }
        if self.skipping {
            return Ok(Ok(()));
        }
        let is_first = self.pin(server.session_effect);
        let Some(lent) = &mut self.lent else { return Ok(Ok(())) };
        let limit = execution.limit.take();
        let mut running = Running::execute(&mut lent.server.client, execution);
        running.unpins_unparsed = is_first && server.session_effect == Some(SessionEffect::Unknown);
        self.queue.push_back(Item::of(running, limit));
        Ok(Ok(()))
    }

    /// Refuses a question for the result of an earlier statement where that may have been another client's.
    fn check(&self, pin: Option<SessionEffect>) -> Result<(), Failure> {
        let keeps = self.pool.mode == PoolMode::Session || self.pinned.is_some() || self.block != Block::None;
        if !pin.is_some_and(SessionEffect::asks_for_earlier) || keeps {
            return Ok(());
        }
        let message = "headraced: outside of a transaction each statement may have another session, so there is no earlier \
                       one to ask about";
        Err(Failure::unsupported(message).hint("execute both in a transaction, or use pool_mode = \"session\""))
    }

    /// Keeps the session for this client, if a statement leaves something in it. Returns true if it is the first that does.
    fn pin(&mut self, pin: Option<SessionEffect>) -> bool {
        let Some((pin, reason)) = pin.and_then(|pin| Some((pin, pin.left()?))) else { return false };
        let is_first = self.pinned.is_none() && !self.survives_reset;
        self.survives_reset |= pin.survives_reset();
        if self.pool.mode == PoolMode::Transaction {
            if self.pinned.is_none() {
                self.pool.stats.pins.add(reason);
            }
            let reason = *self.pinned.get_or_insert(reason);
            self.of.set_activity(Activity::Pinned(reason));
        }
        is_first
    }

    /// What has kept the session for this client is not there any more.
    pub(super) fn unpin(&mut self) {
        self.survives_reset = false;
        if self.pinned.take().is_some() {
            self.of.set_activity(Activity::Active);
        }
    }

    /// Ends a group of messages.
    async fn ready(&mut self) -> Result<(), Ended> {
        self.settle().await?;
        let failed = std::mem::take(&mut self.skipping);
        (self.cancelling, self.between) = (None, true);
        if self.status() == TransactionStatus::Idle && self.block == Block::Open {
            // A statement that commits by itself ends it, too.
            match failed {
                true => self.set_block(Block::Failed),
                false => drop(self.roll_back().await?),
            }
        }
        if self.block == Block::None {
            self.close_portals().await?;
        }
        let status = self.status();
        self.pool.stats.requests.add(1);
        self.pool.stats.transactions.add(u64::from(status == TransactionStatus::Idle));
        self.release();
        replies::ready(self.client.buffers.write_buffer.tail(), status);
        Ok(())
    }

    /// Waits until every request is answered.
    pub(super) async fn settle(&mut self) -> Result<(), Ended> {
        self.pump()?;
        while !self.queue.is_empty() {
            if self.progress(None).await? {
                return Err(self.client_has_left());
            }
        }
        Ok(())
    }

    /// The last thing that the client was sent is ReadyForQuery.
    pub(super) fn is_between(&self) -> bool {
        self.between
    }

    /// What of the client's doings expires first. The server works on a request if there is one; `is_next` if the client's
    /// next message is to come.
    pub(super) fn first_to_expire(&mut self, runs: bool, is_next: bool) -> Option<(Instant, Expired)> {
        let bytes = self.client.buffers.read_buffer.unread().len() as u64;
        let is_receiving = is_next && bytes > 0;
        if self.clock.is_free(is_receiving) {
            return None;
        }
        let in_transaction = self.is_in_transaction();
        let doing = match runs {
            true => Doing::Query,
            false if in_transaction || self.lent.is_some() && !self.between => Doing::Waiting,
            false => Doing::Nothing,
        };
        let (asked, replies) = (self.messages, self.answered);
        let receiving = is_receiving.then_some((asked, bytes));
        self.clock.observe(Instant::now(), Observed { doing, in_transaction, asked, replies, receiving })
    }
}

/// A statement that is to be executed.
pub(super) struct Execution<'s> {
    pub(super) server: &'s Server,
    pub(super) values: Vec<headrace_io::rows::Datum>,
    pub(super) formats: &'s [Format],
    /// RowDescription goes before its rows.
    pub(super) describes: bool,
    /// The columns that the client was told of.
    pub(super) promised: Option<Option<Vec<TargetColumn>>>,
    /// The statement of which the client is told more now.
    pub(super) prepared: Option<Arc<Prepared>>,
    pub(super) is_text: bool,
    /// The number of rows after which it is suspended, and its portal.
    pub(super) limit: Option<(u64, String)>,
    /// The memory of `values`.
    pub(super) held: Option<MemoryReservation>,
}

fn broken(what: Broken) -> Ended {
    match what {
        Broken::Malformed(what) => Ended::new(PROTOCOL_VIOLATION, format!("headraced: {what}")),
        Broken::TooLarge(what) => Ended::new(TOO_LARGE, format!("headraced: {what}")),
    }
}

/// The connection to the server is lost.
pub(super) fn server_lost(fatal: &Fatal) -> Ended {
    Ended::new(
        SERVER_LOST,
        format!(
            "headraced: the server connection was lost; whether what was under way has been done is not known: {fatal}"
        ),
    )
}
