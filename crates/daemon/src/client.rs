//! One client, from its first byte to its last.

use crate::console;
use crate::hub::{ConnectRequest, Hub, Lending, TARGET};
use crate::limits::FAREWELL;
use crate::log::Rate;
use crate::login::Admission;
use crate::postgres::relay::ends_in_terminate;
use crate::postgres::session;
use crate::registry::{self, ClientInfo};
use crate::replies::{self, CANCELLED, Ended, NOT_ALLOWED, PROTOCOL_VIOLATION, TOO_MANY_CLIENTS};
use crate::secret::Secret;
use crate::spare;
use crate::startup::{First, first, password, response};
use headrace_connection::Buffers;
use headrace_core::Fatal;
use headrace_core::limits::{READ_BUFFER_BYTES, WRITE_BUFFER_HIGH_BYTES};
use headrace_io::Progress;
use headrace_io::tokio::Stream;
use headrace_postgres::messages::tag::frontend;
use headrace_tls::TlsConnection;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::time::timeout;

/// Who is at the other end of a client's socket.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The number of its process.
    pub process: Option<i32>,
    /// The number of its user, as the system counts it, if it comes from a Unix socket.
    pub user: Option<u32>,
    /// The daemon's own user.
    pub own: bool,
    /// Where it comes from, if that is TCP.
    pub address: Option<SocketAddr>,
}

/// The lines of the log about clients, each kind not too often.
#[derive(Debug, Default)]
pub struct ClientLog {
    refused: Rate,
    ended: Rate,
    connected: Rate,
    disconnected: Rate,
}

impl ClientLog {
    /// A client is not let in.
    pub fn refused(&self, peer: &Peer, ended: &Ended) {
        let Some(left_out) = self.refused.allows() else { return };
        let (from, sqlstate, reason) = (peer.from(), ended.sqlstate, ended.message.as_str());
        tracing::warn!(from, sqlstate, reason, left_out, "a client was refused");
    }

    /// The daemon has ended the connection of a client.
    pub fn ended(&self, client: &registry::Client, ended: &Ended) {
        let Some(left_out) = self.ended.allows() else { return };
        let (sqlstate, reason) = (ended.sqlstate, ended.message.as_str());
        let (client, user, database) = (client.number, client.info.user.as_str(), client.info.database.as_str());
        tracing::warn!(client, user, database, sqlstate, reason, left_out, "the connection of a client was ended");
    }

    fn connected(&self, peer: &Peer, client: &registry::Client) {
        let Some(left_out) = self.connected.allows() else { return };
        let (user, database) = (client.info.user.as_str(), client.info.database.as_str());
        let (client, application, from) = (client.number, client.info.application.as_str(), peer.from());
        tracing::info!(client, from, user, database, application, left_out, "a client has connected");
    }

    fn disconnected(&self, client: &registry::Client) {
        let Some(left_out) = self.disconnected.allows() else { return };
        let seconds = client.since.elapsed().as_secs_f64();
        tracing::info!(client = client.number, seconds, left_out, "a client has left");
    }
}

impl Peer {
    /// Where it comes from: an address, or a process of this system and its user.
    fn from(&self) -> String {
        match (self.address, self.process, self.user) {
            (Some(address), ..) => address.to_string(),
            (None, Some(process), Some(user)) => format!("process {process} of user {user}"),
            _ => "the Unix socket".to_owned(),
        }
    }
}

/// Serves a client until it leaves.
pub async fn serve(stream: Stream, peer: Peer, hub: Arc<Hub>) {
    let mut client = Client { stream, buffers: Buffers::new() };
    // Clients that have proved nothing yet must not take the places of others.
    let login = match peer.address.map(|_| Arc::clone(&hub.logins).try_acquire_owned()) {
        Some(Err(_)) => {
            let ended = Ended::new(TOO_MANY_CLIENTS, "headraced: too many clients are logging in");
            return Box::pin(client.turn_away(&hub, &peer, &ended)).await;
        }
        place => place,
    };
    let limit = hub.config().daemon.client_login_timeout();
    // What is needed for the login, or to serve one kind of database, is not kept with the task of each client.
    let started = timeout(limit, Box::pin(client.start(&hub, &peer))).await;
    drop(login);
    let (client_info, admitted) = match started {
        Ok(Ok(Some(admitted))) => (admitted.client_info(&peer, client.buffers.tls().is_some()), admitted),
        Ok(Ok(None)) => return,
        Ok(Err(ended)) => return Box::pin(client.turn_away(&hub, &peer, &ended)).await,
        Err(_) => {
            let what = "headraced: the login has taken longer than client_login_timeout";
            return Box::pin(client.turn_away(&hub, &peer, &Ended::new(CANCELLED, what))).await;
        }
    };
    let entered = hub.registry.enter(client_info);
    let is_logged = hub.config().daemon.log_connections;
    if is_logged {
        hub.client_log.connected(&peer, &entered.client);
    }
    let (client, ended) = match admitted {
        Admitted::Console { access, .. } => {
            let ended = Box::pin(console::serve(&mut client, access, &hub, &entered)).await;
            (client, ended)
        }
        Admitted::Client(asked, password) => match hub.lending(asked, password) {
            Lending::Postgres(wanted) => Box::pin(session::serve(client, wanted, &hub, &entered)).await,
            Lending::Front(wanted) => {
                let ended = wanted.serve(&mut client, &hub, &entered).await;
                (client, ended)
            }
        },
    };
    match &ended {
        Err(ended) if !ended.is_of_all() => hub.client_log.ended(&entered.client, ended),
        _ if is_logged => hub.client_log.disconnected(&entered.client),
        _ => {}
    }
    drop(entered);
    if let Err(ended) = ended {
        Box::pin(client.refuse(&ended)).await;
    }
}

/// Refuses a client because there are too many.
pub async fn turn_away(stream: Stream, peer: &Peer, hub: &Hub) {
    let ended = Ended::new(TOO_MANY_CLIENTS, "headraced: the number of clients has reached max_clients");
    Client { stream, buffers: Buffers::new() }.turn_away(hub, peer, &ended).await;
}

/// A client that has proved who it is.
enum Admitted {
    /// It has a database, and may have been asked for a password.
    Client(Box<ConnectRequest>, Option<Secret>),
    /// It is an operator.
    Console { user: String, application: String, access: console::Access },
}

impl Admitted {
    fn client_info(&self, peer: &Peer, tls: bool) -> ClientInfo {
        match self {
            Self::Client(asked, _) => asked.client_info(peer, tls),
            Self::Console { user, application, .. } => ClientInfo {
                peer: peer.process,
                address: peer.address.map(|address| address.to_string()),
                tls,
                name: Some(console::NAME.to_owned()),
                database: console::NAME.to_owned(),
                user: user.clone(),
                application: application.clone(),
            },
        }
    }
}

/// Returns true if a StartupMessage asks for the console.
fn is_for_console(parameters: &[(String, String)]) -> bool {
    named(parameters).1 == console::NAME && !parameters.iter().any(|(name, _)| name == TARGET)
}

/// The user and the database that a StartupMessage names.
pub fn named(parameters: &[(String, String)]) -> (String, String) {
    let named = |name: &str| parameters.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.clone());
    let user = named("user").unwrap_or_default();
    let database = named("database").unwrap_or_else(|| user.clone());
    (user, database)
}

/// A client of the console.
fn operator(hub: &Hub, peer: &Peer, parameters: &[(String, String)]) -> Result<Admitted, Ended> {
    let (user, _) = named(parameters);
    let access = console::Access::of(&hub.config().daemon, peer, &user)?;
    let application = parameters.iter().find(|(name, _)| name == "application_name");
    let application = application.map_or_else(String::new, |(_, value)| value.clone());
    Ok(Admitted::Console { user, application, access })
}

/// The socket of a client.
#[derive(Debug)]
pub struct Client {
    /// The socket.
    pub stream: Stream,
    /// Received bytes, and bytes to be sent.
    pub buffers: Buffers,
}

impl Client {
    /// Reads up to the StartupMessage, and has a client of TCP log in. `None` if the client has connected for something
    /// else.
    async fn start(&mut self, hub: &Arc<Hub>, peer: &Peer) -> Result<Option<Admitted>, Ended> {
        loop {
            let found = first(self.buffers.read_buffer.unread());
            match found.map_err(|what| Ended::new(PROTOCOL_VIOLATION, format!("headraced: {what}")))? {
                Some((message, length)) => {
                    // A password may be in what a client names as its server.
                    self.buffers.read_buffer.wipe(length);
                    match message {
                        First::Tls => self.encrypt(hub, peer)?,
                        First::Gss => self.buffers.write_buffer.tail().push(b'N'),
                        First::Cancel(process_id, secret) => {
                            hub.cancel(process_id, secret).await;
                            return Ok(None);
                        }
                        First::Terminate => return Ok(None),
                        First::Startup { minor, parameters, options } => {
                            if minor > 0 || !options.is_empty() {
                                replies::negotiate(self.buffers.write_buffer.tail(), &options);
                            }
                            return self.connect_request(hub, peer, parameters).await.map(Some);
                        }
                    }
                }
                None => match self.stream.exchange(&mut self.buffers, true).await {
                    Ok(Progress::Eof) | Err(_) => return Ok(None),
                    Ok(_) => {}
                },
            }
        }
    }

    /// Answers an SSLRequest. A Unix socket needs no encryption.
    fn encrypt(&mut self, hub: &Hub, peer: &Peer) -> Result<(), Ended> {
        let config = hub.config();
        let Some(identity) = config.daemon.identity.as_ref().filter(|_| peer.address.is_some()) else {
            self.buffers.write_buffer.tail().push(b'N');
            return Ok(());
        };
        // Somebody in between may have put it there.
        if self.buffers.tls().is_some() || !self.buffers.read_buffer.is_empty() {
            let what = "headraced: after the request for encryption something was sent that is not encrypted";
            return Err(Ended::new(PROTOCOL_VIOLATION, what));
        }
        let tls = TlsConnection::accept(identity).map_err(|fatal| Ended::new(NOT_ALLOWED, fatal.message))?;
        self.buffers.write_buffer.tail().push(b'S');
        self.buffers.start_tls(tls, true);
        Ok(())
    }

    /// What a client asks for, once it has proved who it is.
    async fn connect_request(
        &mut self,
        hub: &Hub,
        peer: &Peer,
        parameters: Vec<(String, String)>,
    ) -> Result<Admitted, Ended> {
        let Some(address) = peer.address else {
            if !peer.own {
                hub.check_local_database(peer.user, &parameters)?;
            }
            if is_for_console(&parameters) {
                if !peer.own {
                    hub.check_local_name(peer.user, &named(&parameters).0)?;
                }
                return operator(hub, peer, &parameters);
            }
            let asked = hub.connect_request(parameters, peer.own)?;
            if !peer.own {
                hub.check_local_user(peer.user, &asked)?;
            }
            let password = if asked.database.ask_password { self.password().await? } else { None };
            return Ok(Admitted::Client(Box::new(asked), password));
        };
        if self.buffers.tls().is_none() && !address.ip().is_loopback() && !hub.config().daemon.allow_plaintext {
            return Err(Ended::new(NOT_ALLOWED, "headraced: clients on other machines need TLS (sslmode=require)"));
        }
        let (user, database) = named(&parameters);
        let admission = self.log_in(hub, &user, &database).await?;
        let may_use = || hub.config().clients.get(&user).is_some_and(|account| account.may_use(&database));
        if admission == Admission::Account && !may_use() {
            let what = format!("headraced: client {user:?} may not use database {database:?}");
            return Err(Ended::new(NOT_ALLOWED, what));
        }
        if is_for_console(&parameters) {
            return operator(hub, peer, &parameters);
        }
        let asked = hub.connect_request(parameters, false)?;
        if asked.database.ask_password {
            let what = "headraced: passwords of servers are asked for on the Unix socket only (ask_password)";
            return Err(Ended::new(NOT_ALLOWED, what));
        }
        Ok(Admitted::Client(Box::new(asked), None))
    }

    /// The body of the next message, which answers a question of the login.
    pub(crate) async fn response(&mut self) -> Result<Vec<u8>, Ended> {
        loop {
            let found = response(self.buffers.read_buffer.unread());
            let found = found.map_err(|what| Ended::new(PROTOCOL_VIOLATION, format!("headraced: {what}")))?;
            if let Some((body, length)) = found {
                let body = body.to_vec();
                self.buffers.read_buffer.consume(length);
                return Ok(body);
            }
            if let Ok(Progress::Eof) | Err(_) = self.stream.exchange(&mut self.buffers, true).await {
                return Err(Ended::new(NOT_ALLOWED, "headraced: the client has sent no password"));
            }
        }
    }

    /// Asks for the password, and waits for it. A Unix socket of this user needs no encryption.
    async fn password(&mut self) -> Result<Option<Secret>, Ended> {
        replies::ask_password(self.buffers.write_buffer.tail());
        loop {
            let input = &mut self.buffers.read_buffer;
            match password(input.unread())
                .map_err(|what| Ended::new(PROTOCOL_VIOLATION, format!("headraced: {what}")))?
            {
                Some((password, length)) => {
                    input.wipe(length);
                    return Ok(Some(password));
                }
                None => match self.stream.exchange(&mut self.buffers, true).await {
                    Ok(Progress::Eof) | Err(_) => {
                        return Err(Ended::new(NOT_ALLOWED, "headraced: the client has sent no password"));
                    }
                    Ok(_) => {}
                },
            }
        }
    }

    /// Sends what is left, and waits for what the client sends next; without buffers, once they are empty. As
    /// [`Stream::exchange`] it returns when a full write buffer has room: messages that came before wait for that.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost, or TLS fails.
    pub async fn receive(&mut self) -> Result<Progress, Fatal> {
        let was_full = is_full(&self.buffers);
        // An error is that of the exchange, too.
        while let Ok(unsent) = self.stream.push_available(&mut self.buffers) {
            if was_full && !is_full(&self.buffers) {
                return Ok(Progress::Sent);
            }
            if unsent || !spare::give_back(&mut self.buffers) {
                break;
            }
            self.stream.readable().await?;
            spare::take(&mut self.buffers);
            if let Some(progress) = self.stream.pull_available(&mut self.buffers)? {
                return Ok(progress);
            }
        }
        self.stream.exchange(&mut self.buffers, true).await
    }

    /// Waits for something that only this client needs, and keeps what it sends meanwhile. `None` if it leaves before.
    /// One that has ended its side of the connection after a message may wait for the answer.
    pub async fn while_connected<T>(&mut self, needed: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(needed);
        spare::give_back_but_request(&mut self.buffers);
        loop {
            let reads = self.buffers.read_buffer.unread().len() < READ_BUFFER_BYTES;
            tokio::select! {
                biased;
                found = &mut needed => return Some(found),
                moved = self.stream.exchange(&mut self.buffers, reads) => {
                    match moved {
                        Ok(Progress::Eof) if self.has_sent_more() => return Some(needed.await),
                        Err(_) if self.has_sent_more() && ends_in_terminate(self.buffers.read_buffer.unread()) => {
                            return Some(needed.await);
                        }
                        Ok(Progress::Eof) | Err(_) => return None,
                        Ok(_) => {}
                    }
                }
            }
        }
    }

    /// Returns true if the client has sent a message other than Terminate.
    fn has_sent_more(&self) -> bool {
        self.buffers.read_buffer.unread().first().is_some_and(|tag| *tag != frontend::TERMINATE)
    }

    /// Does not let it in.
    async fn turn_away(self, hub: &Hub, peer: &Peer, ended: &Ended) {
        hub.refused.add(1);
        hub.client_log.refused(peer, ended);
        self.refuse(ended).await;
    }

    async fn refuse(mut self, ended: &Ended) {
        ended.write(self.buffers.write_buffer.tail());
        self.flush().await;
    }

    /// Sends what is left. A client that is gone, or never reads, is not waited for.
    pub async fn flush(&mut self) {
        self.buffers.close_notify();
        let _ = timeout(FAREWELL, self.stream.send_all(&mut self.buffers)).await;
        // A socket that is closed with bytes that nobody has read is an error at the other side.
        while let Ok(Some(Progress::Received)) = self.stream.pull_available(&mut self.buffers) {
            self.buffers.read_buffer.consume(self.buffers.read_buffer.unread().len());
        }
    }
}

/// Nothing is received for it before some of what is to be sent was sent.
pub fn is_full(buffers: &Buffers) -> bool {
    buffers.write_buffer.len() >= WRITE_BUFFER_HIGH_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::leaving::Leaving;
    use std::time::Duration;
    use tokio::io::AsyncReadExt;
    use tokio::runtime::Handle;
    use tokio::sync::watch;

    /// Bytes of the task of a client without what serves one kind of database.
    const TASK_BYTES: usize = 1024;

    #[tokio::test]
    async fn task_of_a_client_is_small() {
        let (stream, _) = tokio::net::UnixStream::pair().expect("the system has sockets");
        let stream = Stream::local(stream).expect("it is one");
        let peer = Peer { process: None, user: None, own: true, address: None };
        let hub = Arc::new(Hub::new(Config::default(), Handle::current(), watch::channel(Leaving::Nobody).1));
        let task = serve(stream, peer, hub);
        assert!(size_of_val(&task) <= TASK_BYTES, "{} bytes", size_of_val(&task));
    }

    #[tokio::test]
    async fn a_message_that_waits_for_room_does_not_wait_for_the_next_one() {
        let (stream, mut peer) = tokio::net::UnixStream::pair().expect("the system has sockets");
        let mut client = Client { stream: Stream::local(stream).expect("it is one"), buffers: Buffers::new() };
        client.buffers.read_buffer.extend(b"it waits");
        client.buffers.write_buffer.tail().resize(WRITE_BUFFER_HIGH_BYTES, 0);
        tokio::spawn(async move { peer.read_exact(&mut vec![0; WRITE_BUFFER_HIGH_BYTES]).await });
        let moved = timeout(Duration::from_secs(60), client.receive()).await;
        assert!(matches!(moved, Ok(Ok(Progress::Sent))), "{moved:?}");
    }
}
