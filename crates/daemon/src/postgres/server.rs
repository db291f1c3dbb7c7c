//! One connection to a server, which is lent to one client after the other.

use super::pool::{Pool, PoolState};
use super::relay::ServerState;
use crate::config::{DatabaseConfig, TargetSession, addresses};
use crate::limits::{CANCEL_AGAIN, FAILOVER_PAUSE, FAILOVER_PAUSE_MOST, RESET_TIMEOUT, SERVER_STATEMENTS};
use crate::pool::ServerConnection;
use crate::secret::Secret;
use crate::traffic::{RuntimeAffinity, TrafficClass};
use headrace_connection::{Buffers, Connection};
use headrace_core::{Cancellation, Fatal, FatalKind, Protocol as _, Session as _, TransactionStatus, WriteBuffer};
use headrace_drivers::Encryption;
use headrace_io::rows::Collector;
use headrace_io::tokio::{Client, Stream, cancel};
use headrace_io::{Address, Progress, TcpOptions};
use headrace_postgres::machine::{Binding, Columns, Machine, Purpose, SessionOptions, Tls};
use headrace_postgres::messages::backend::{ServerError, header, parameter_status, transaction_status};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{backend, field};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::time::{sleep, timeout};

/// An open session of a server.
#[derive(Debug)]
pub struct Server {
    /// Its socket.
    pub stream: Stream,
    /// What was received and what is to be sent.
    pub buffers: Buffers,
    /// What the session has.
    pub state: ServerState,
    /// What its server was when it was opened.
    wanted: TargetSession,
    /// The same as it was asked, if it does not report it.
    asked: Option<Role>,
    /// How its statement is cancelled.
    pub cancel: Arc<Cancel>,
    affinity: RuntimeAffinity,
}

/// What a session may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Role {
    is_standby: bool,
    /// Transactions are read-only by default.
    is_read_only: bool,
}

impl Role {
    /// As the server reports it, since version 14.
    fn reported(parameters: &BTreeMap<String, String>) -> Option<Self> {
        let is_on = |name: &str| parameters.get(name).map(|value| value == "on");
        Some(Self {
            is_standby: is_on("in_hot_standby")?,
            is_read_only: is_on("default_transaction_read_only").unwrap_or(false),
        })
    }

    /// Whether it is what `target_session_attrs` asks for.
    fn is(self, wanted: TargetSession) -> bool {
        let is_writable = !self.is_standby && !self.is_read_only;
        match wanted {
            TargetSession::Any | TargetSession::PreferStandby => true,
            TargetSession::ReadWrite => is_writable,
            TargetSession::ReadOnly => !is_writable,
            TargetSession::Primary => !self.is_standby,
            TargetSession::Standby => self.is_standby,
        }
    }
}

/// Why no session could be opened.
#[derive(Clone, Debug)]
pub struct NotOpened {
    /// What has happened.
    pub fatal: Fatal,
    /// The server's own words, if it has said anything.
    pub error: Option<ServerError>,
}

impl From<Fatal> for NotOpened {
    fn from(fatal: Fatal) -> Self {
        Self { fatal, error: None }
    }
}

impl NotOpened {
    /// Returns true if the next host may do: this one has not answered, or is not ready.
    fn leaves_others(&self) -> bool {
        match &self.error {
            // A server that starts up, or has as many sessions as it may.
            Some(error) => matches!(error.sqlstate(), "57P03" | "53300"),
            None => {
                self.fatal.kind != FatalKind::UnusableSetting && self.fatal.kind != FatalKind::AuthenticationRefused
            }
        }
    }
}

/// Cancels whatever statement runs on a server connection.
#[derive(Debug)]
pub struct Cancel {
    address: Address,
    message: Vec<u8>,
    /// A CancelRequest was sent, and it is not known whether the server has read it: it may hit a later statement.
    is_doubtful: AtomicBool,
}

impl Cancel {
    /// The process of the server (manual, "CancelRequest").
    fn process_id(&self) -> Option<i32> {
        self.message.get(8..12)?.try_into().map(i32::from_be_bytes).ok()
    }

    /// Sends CancelRequest, and waits until the server has acted on it.
    ///
    /// # Errors
    /// [`Fatal`]: the server was not reached.
    pub async fn send(&self) -> Result<(), Fatal> {
        let mut is_doubtful = false;
        let (options, message) = (TcpOptions::default(), self.message.clone());
        // Also where nobody waits for the answer any longer.
        let was_doubtful = self.is_doubtful.swap(true, Ordering::Relaxed);
        let sent = timeout(RESET_TIMEOUT, cancel(&self.address, &options, message, &mut is_doubtful)).await;
        self.is_doubtful.store(was_doubtful || is_doubtful, Ordering::Relaxed);
        match sent {
            Ok(sent) => sent,
            Err(_) => Err(Fatal::new(FatalKind::NoAnswer, "the server did not take a CancelRequest in time")),
        }
    }
}

impl Server {
    /// Connects and logs in, to the first of the hosts that will do. Where another host may take the place of one that is
    /// lost, all are asked again, for `queue_wait`.
    ///
    /// # Errors
    /// [`NotOpened`] with the reason, such as the server's own.
    pub async fn connect(
        database: &DatabaseConfig,
        parameters: &[(String, String)],
        password: Option<&Secret>,
    ) -> Result<Self, NotOpened> {
        let (began, mut pause) = (Instant::now(), FAILOVER_PAUSE);
        loop {
            match Self::open_once(database, parameters, password).await {
                Err(failure)
                    if failure.leaves_others()
                        && database.may_fail_over()
                        && began.elapsed() + pause < database.queue_wait() =>
                {
                    sleep(pause).await;
                    pause = (2 * pause).min(FAILOVER_PAUSE_MOST);
                }
                done => return done,
            }
        }
    }

    async fn open_once(
        database: &DatabaseConfig,
        parameters: &[(String, String)],
        password: Option<&Secret>,
    ) -> Result<Self, NotOpened> {
        let places = database.places_in_turn().map_err(|what| Fatal::new(FatalKind::UnusableSetting, what))?;
        let wanted = database.wanted_session();
        let passes: &[TargetSession] = match &wanted {
            TargetSession::PreferStandby => &[TargetSession::Standby, TargetSession::Any],
            only => std::slice::from_ref(only),
        };
        let mut failures: Vec<NotOpened> = Vec::new();
        for wanted in passes {
            for (host, port) in &places {
                match Self::open_at(database, (host, *port), *wanted, parameters, password).await {
                    Ok(server) => return Ok(server),
                    Err(failure) if failure.leaves_others() => failures.push(failure),
                    Err(failure) => return Err(failure),
                }
            }
        }
        let texts: Vec<&str> = failures.iter().map(|failure| failure.fatal.message.as_str()).collect();
        let message = texts.join("; ");
        let first = failures.swap_remove(0);
        if failures.is_empty() { Err(first) } else { Err(Fatal::new(first.fatal.kind, message).into()) }
    }

    /// The first address of a host that will do.
    async fn open_at(
        database: &DatabaseConfig,
        (host, port): (&str, u16),
        wanted: TargetSession,
        parameters: &[(String, String)],
        password: Option<&Secret>,
    ) -> Result<Self, NotOpened> {
        let of = |name: &str| parameters.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        let found;
        let password = match password {
            Some(given) => Some(given),
            None => {
                found = database.password_for(host, port, of("user"), of("database")).await?;
                found.as_ref()
            }
        };
        let mut last = None;
        let found = match host.starts_with('/') {
            true => vec![Address::Unix(Path::new(host).join(format!(".s.PGSQL.{port}")))],
            false => addresses(host, port).await?,
        };
        for address in found {
            let opened = Self::log_in(database, host, &address, parameters, password);
            match timeout(database.connect_timeout(), opened).await {
                Ok(Ok(mut server)) => {
                    if server.is(wanted).await? {
                        server.wanted = wanted;
                        return Ok(server);
                    }
                    let what = format!("{address} is not what target_session_attrs asks for");
                    last = Some(Fatal::new(FatalKind::ConnectFailed, what).into());
                }
                Ok(Err(failure)) if failure.leaves_others() => last = Some(failure),
                Ok(Err(failure)) => return Err(failure),
                Err(_) => {
                    let reason = format!("{address} did not open a session within {:?}", database.connect_timeout());
                    last = Some(Fatal::new(FatalKind::NoAnswer, reason).into());
                }
            }
        }
        Err(last.expect("a host has an address, or an error"))
    }

    async fn log_in(
        database: &DatabaseConfig,
        host: &str,
        address: &Address,
        parameters: &[(String, String)],
        password: Option<&Secret>,
    ) -> Result<Self, NotOpened> {
        let encryption = database.encryption(host)?;
        let user =
            parameters.iter().find(|(name, _)| name == "user").map_or_else(String::new, |(_, user)| user.clone());
        let options = SessionOptions {
            purpose: Purpose::Session,
            parameters: parameters.to_vec(),
            user,
            password: password
                .map(|password| headrace_postgres::machine::Secret(password.reveal().as_bytes().to_vec())),
            tls: match encryption {
                Encryption::No => Tls::No,
                Encryption::Prefer(_) => Tls::Prefer,
                Encryption::Require(_) => Tls::Require,
            },
            binding: Binding::Prefer,
            methods: Vec::new(),
        };
        let mut write_buffer = WriteBuffer::new();
        let machine: Machine<Collector<Arc<Columns>, ServerError>> = Machine::new(options, 0, &mut write_buffer);
        let connection = Connection::new(Box::new(machine), write_buffer, encryption.into_settings());
        let mut client = Client::reach(address, &TcpOptions::default(), connection).await?;
        if let Err(fatal) = client.start(&TcpOptions::default(), ()).await {
            return Err(NotOpened { fatal, error: client.connection.machine.closing_error().cloned() });
        }
        let (connection, stream) = client.into_parts();
        let Cancellation::Message(message) = connection.machine.cancellation() else {
            return Err(Fatal::peer("the server has sent no BackendKeyData, which cancel requests need").into());
        };
        Ok(Self {
            stream,
            state: ServerState::new(connection.machine.parameters().clone(), SERVER_STATEMENTS),
            buffers: connection.buffers,
            wanted: TargetSession::Any,
            asked: None,
            cancel: Arc::new(Cancel { address: address.clone(), message, is_doubtful: AtomicBool::new(false) }),
            affinity: RuntimeAffinity::default(),
        })
    }

    /// Returns false if the server has become a primary, or a standby, since the session was opened, and that is not what
    /// `target_session_attrs` asks for. Versions before 14 do not report it.
    fn has_its_role(&self) -> bool {
        let is_standby = Role::reported(&self.state.parameters).or(self.asked).is_some_and(|role| role.is_standby);
        match self.wanted {
            TargetSession::Any | TargetSession::PreferStandby | TargetSession::ReadOnly => true,
            TargetSession::ReadWrite | TargetSession::Primary => !is_standby,
            TargetSession::Standby => is_standby,
        }
    }

    /// Whether it is what `target_session_attrs` asks for.
    async fn is(&mut self, wanted: TargetSession) -> Result<bool, Fatal> {
        if wanted == TargetSession::Any {
            return Ok(true);
        }
        let role = match Role::reported(&self.state.parameters) {
            Some(role) => role,
            None => {
                let recovers = "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'on' ELSE 'off' END";
                let is_standby = self.ask(recovers).await? == "on";
                let is_read_only = self.ask("SHOW default_transaction_read_only").await? == "on";
                // Not among what is reported: who takes it for that does not ask for it again.
                *self.asked.insert(Role { is_standby, is_read_only })
            }
        };
        Ok(role.is(wanted))
    }

    /// Makes the session as if it was new, but for the settings that are reported.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub async fn reset(&mut self) -> Result<(), Fatal> {
        if self.state.status != TransactionStatus::Idle {
            self.run("ROLLBACK").await?;
        }
        self.run("DISCARD ALL").await?;
        self.state.prepared.clear();
        self.state.own_settings.clear();
        self.state.plans.reset();
        Ok(())
    }

    /// Ends the session, and what the server does for it: that is cancelled until the server has noticed that nothing
    /// more comes. One CancelRequest may come before the statement has begun.
    ///
    /// # Errors
    /// [`Fatal`]: the server was not reached, or has not ended the session in time.
    pub async fn give_up(&mut self) -> Result<(), Fatal> {
        // What was not sent is not executed.
        drop(self.buffers.take_outgoing());
        self.stream.finish().map_err(|error| Fatal::gone(error.to_string()))?;
        let ended = async {
            loop {
                self.cancel.send().await?;
                if timeout(CANCEL_AGAIN, until_end(&mut self.stream, &mut self.buffers)).await.is_ok() {
                    return Ok(());
                }
            }
        };
        match timeout(RESET_TIMEOUT, ended).await {
            Ok(ended) => ended,
            Err(_) => Err(Fatal::new(FatalKind::NoAnswer, "the server did not end a session in time")),
        }
    }

    /// Runs a text whose rows are discarded, and waits for its end.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost, or the server refuses the text.
    pub async fn run(&mut self, sql: &str) -> Result<(), Fatal> {
        self.ask(sql).await.map(drop)
    }

    /// The same; returns the first value of the last row.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub async fn ask(&mut self, sql: &str) -> Result<String, Fatal> {
        let answer = self.answer(sql).await?;
        answer.map_err(|error| Fatal::peer(error.field(field::MESSAGE).to_owned()))
    }

    /// The same. If the server refuses the text, its error is the answer, and the connection can be used.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost.
    pub async fn answer(&mut self, sql: &str) -> Result<Result<String, ServerError>, Fatal> {
        self.answer_beside(sql, &mut WriteBuffer::new()).await
    }

    /// The same. Notifications of what the session listens to are its client's.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost.
    pub async fn answer_beside(
        &mut self,
        sql: &str,
        client: &mut WriteBuffer,
    ) -> Result<Result<String, ServerError>, Fatal> {
        frontend::query(self.buffers.write_buffer.tail(), "", sql);
        self.state.prepared.set_unnamed(None);
        let mut value = String::new();
        let last_row = |body: &[u8]| value = String::from_utf8_lossy(body.get(6..).unwrap_or_default()).into_owned();
        match timeout(RESET_TIMEOUT, self.until_ready(client, last_row)).await {
            Ok(done) => Ok(done?.map(|()| value)),
            Err(_) => Err(Fatal::new(FatalKind::NoAnswer, "the server did not answer in time")),
        }
    }

    /// The second column of the first row of a query with one parameter, if there is one and it is not null.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost.
    pub async fn value_of(&mut self, sql: &str, parameter: &str) -> Result<Result<Option<String>, ServerError>, Fatal> {
        let out = self.buffers.write_buffer.tail();
        frontend::parse(out, "", sql, &[]);
        let mut value = (parameter.len() as i32).to_be_bytes().to_vec();
        value.extend_from_slice(parameter.as_bytes());
        frontend::bind_encoded(out, "", &[0], &value);
        frontend::execute(out, "", 1);
        frontend::sync(out);
        self.state.prepared.set_unnamed(None);
        let mut found = None;
        let first_row = |body: &[u8]| {
            found.get_or_insert_with(|| second_of_row(body));
        };
        let done = match timeout(RESET_TIMEOUT, self.until_ready(&mut WriteBuffer::new(), first_row)).await {
            Ok(done) => done?,
            Err(_) => return Err(Fatal::new(FatalKind::NoAnswer, "the server did not answer in time")),
        };
        Ok(done.map(|()| found.flatten()))
    }

    async fn until_ready(
        &mut self,
        client: &mut WriteBuffer,
        mut row: impl FnMut(&[u8]),
    ) -> Result<Result<(), ServerError>, Fatal> {
        let mut refused = None;
        loop {
            while let Some((tag, length)) = header(self.buffers.read_buffer.unread())? {
                if self.buffers.read_buffer.unread().len() < length {
                    self.buffers.read_buffer.want(length);
                    break;
                }
                let body = &self.buffers.read_buffer.unread()[5..length];
                match tag {
                    backend::ERROR_RESPONSE => refused = Some(ServerError::parse(body)?),
                    backend::DATA_ROW => row(body),
                    backend::NOTIFICATION_RESPONSE => {
                        client.tail().extend_from_slice(&self.buffers.read_buffer.unread()[..length]);
                    }
                    backend::PARAMETER_STATUS => {
                        let (name, value) = parameter_status(body)?;
                        self.state.parameters.insert(name, value);
                    }
                    backend::READY_FOR_QUERY => {
                        self.state.status = transaction_status(body)?;
                        self.buffers.read_buffer.consume(length);
                        return Ok(refused.map_or(Ok(()), Err));
                    }
                    _ => {}
                }
                self.buffers.read_buffer.consume(length);
            }
            if self.stream.exchange(&mut self.buffers, true).await? == Progress::Eof {
                return Err(Fatal::end_of_input());
            }
        }
    }
}

impl ServerConnection for Server {
    type PoolState = PoolState;

    async fn open(pool: &Pool, class: TrafficClass) -> Result<Self, NotOpened> {
        let mut server = Self::connect(&pool.database(), &pool.key.startup, pool.key.password.as_ref()).await?;
        server.affinity = RuntimeAffinity::of(class);
        pool.state.startup_replies.opened(&server.state.defaults);
        if pool.key.standby.is_some() {
            // SHOW is executed even where it is SERIALIZABLE.
            let isolation = server.ask("SHOW default_transaction_isolation").await?;
            pool.state.is_serializable.store(isolation == "serializable", Ordering::Relaxed);
        }
        Ok(server)
    }

    fn address(&self) -> String {
        self.cancel.address.to_string()
    }

    fn process_id(&self) -> Option<i32> {
        self.cancel.process_id()
    }

    fn is_doubtful(&self) -> bool {
        self.cancel.is_doubtful.load(Ordering::Relaxed)
    }

    fn is_quiet(&mut self) -> bool {
        self.has_its_role()
            && matches!(self.stream.pull_available(&mut self.buffers), Ok(None))
            && self.buffers.read_buffer.is_empty()
    }

    async fn is_alive(&mut self) -> bool {
        self.run("").await.is_ok()
    }

    fn close(self) {}

    fn class(&self) -> TrafficClass {
        self.affinity.class()
    }

    fn move_to(&mut self, class: TrafficClass) {
        self.affinity.move_to(class, &mut self.stream);
    }
}

/// The second column of a DataRow; `None` if it is null or not there.
fn second_of_row(body: &[u8]) -> Option<String> {
    let mut rest = body.get(2..)?;
    for column in 0..2 {
        let (length, values) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let value = values.get(..length.unwrap_or(0))?;
        if column == 1 {
            return length.map(|_| String::from_utf8_lossy(value).into_owned());
        }
        rest = &values[value.len()..];
    }
    None
}

/// Receives, and throws away, until the server has closed the connection.
async fn until_end(stream: &mut Stream, buffers: &mut Buffers) {
    while let Ok(Progress::Received | Progress::Sent) = stream.exchange(buffers, true).await {
        let received = buffers.read_buffer.unread().len();
        buffers.read_buffer.consume(received);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::thread;

    /// Serves one session as a server before version 14: it reports neither, and answers what it is asked.
    fn older_server(listener: UnixListener, is_standby: bool) {
        let (mut stream, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        stream.read_exact(&mut startup).unwrap();
        let ready = b"Z\0\0\0\x05I";
        let startup = [&b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02"[..], ready].concat();
        stream.write_all(&startup).unwrap();
        let mut header = [0; 5];
        while stream.read_exact(&mut header).is_ok() && header[0] == b'Q' {
            let length = u32::from_be_bytes(header[1..].try_into().unwrap());
            let mut sql = vec![0; length as usize - 4];
            stream.read_exact(&mut sql).unwrap();
            let value = if is_standby && sql.starts_with(b"SELECT CASE WHEN pg_catalog.pg_is_in_recovery()") {
                "on"
            } else {
                "off"
            };
            let mut row = vec![0, 1];
            row.extend_from_slice(&(value.len() as u32).to_be_bytes());
            row.extend_from_slice(value.as_bytes());
            let mut answer = vec![b'D'];
            answer.extend_from_slice(&(row.len() as u32 + 4).to_be_bytes());
            answer.extend_from_slice(&row);
            answer.extend_from_slice(b"C\0\0\0\x0dSELECT 1\0");
            answer.extend_from_slice(ready);
            stream.write_all(&answer).unwrap();
        }
    }

    #[tokio::test]
    async fn role_that_a_server_was_asked_is_not_taken_for_a_setting_that_it_reports() {
        let folder = std::env::temp_dir().join(format!("headraced-role-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (wanted, is_standby, fits) in
            [("primary", false, true), ("primary", true, false), ("standby", true, true), ("read-write", false, true)]
        {
            let path = folder.join(".s.PGSQL.5432");
            let _ = std::fs::remove_file(&path);
            let listener = UnixListener::bind(&path).unwrap();
            let serving = thread::spawn(move || older_server(listener, is_standby));
            let entry = format!("host = {folder:?}\ntarget_session_attrs = {wanted:?}\nqueue_wait = 0.01");
            let database = DatabaseConfig::of_client(&entry).unwrap();
            let parameters = ["user", "database"].map(|name| (name.to_owned(), "jo".to_owned()));
            let opened = Server::connect(&database, &parameters, None).await;
            assert_eq!(opened.is_ok(), fits, "{wanted} {is_standby}: {:?}", opened.err());
            if let Ok(server) = opened {
                assert!(server.state.parameters.is_empty(), "{:?}", server.state.parameters);
                assert!(server.has_its_role());
            }
            serving.join().unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
    #[tokio::test]
    async fn a_cancel_request_that_is_given_up_is_in_doubt() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let cancel = Cancel { address, message: vec![0; 16], is_doubtful: AtomicBool::new(false) };
        tokio::select! {
            received = async { listener.accept().await?.0.readable().await } => received.unwrap(),
            sent = cancel.send() => panic!("the server has not answered: {sent:?}"),
        }
        assert!(cancel.is_doubtful.load(Ordering::Relaxed));
    }
}
