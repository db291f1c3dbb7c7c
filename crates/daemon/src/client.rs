//! One client, from its first byte to its last.

use crate::front::fronts;
use crate::hub::{Asked, Hub, Wanted};
use crate::limits::STARTUP_TIMEOUT;
use crate::postgres::session;
use crate::replies::{self, Ended, NOT_ALLOWED, PROTOCOL_VIOLATION, TOO_MANY_CLIENTS};
use crate::secret::Secret;
use crate::startup::{First, first, password};
use headrace_connection::Buffers;
use headrace_io::Progress;
use headrace_io::tokio::Stream;
use std::sync::Arc;
use tokio::time::timeout;

/// Who is at the other end of a client's socket.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The number of its process.
    pub process: Option<i32>,
    /// The daemon's own user.
    pub own: bool,
}

/// Serves a client until it leaves.
pub async fn serve(stream: Stream, peer: Peer, hub: Arc<Hub>) {
    let mut client = Client { stream, buffers: Buffers::new() };
    let (asked, password) = match timeout(STARTUP_TIMEOUT, client.start(&hub, peer.own)).await {
        Ok(Ok(Some(found))) => found,
        Ok(Ok(None)) | Err(_) => return,
        Ok(Err(ended)) => {
            hub.refused.add(1);
            return client.refuse(&ended).await;
        }
    };
    let entered = hub.registry.enter(asked.newcomer(peer.process));
    let ended = match hub.wanted(asked, password) {
        Wanted::Postgres(wanted) => session::serve(&mut client, wanted, &hub, &entered).await,
        Wanted::Front(wanted) => fronts::serve(&mut client, wanted, &hub, &entered).await,
    };
    drop(entered);
    if let Err(ended) = ended {
        client.refuse(&ended).await;
    }
}

/// Refuses a client because there are too many.
pub async fn turn_away(stream: Stream, hub: &Hub) {
    hub.refused.add(1);
    let client = Client { stream, buffers: Buffers::new() };
    client
        .refuse(&Ended::new(TOO_MANY_CLIENTS, "headraced: as many clients are connected as max_clients allows"))
        .await;
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
    /// Reads up to the StartupMessage. `None` if that is not what the client wants.
    async fn start(&mut self, hub: &Arc<Hub>, own: bool) -> Result<Option<(Asked, Option<Secret>)>, Ended> {
        loop {
            let found = first(self.buffers.read_buffer.unread());
            match found.map_err(|what| Ended::new(PROTOCOL_VIOLATION, format!("headraced: {what}")))? {
                Some((message, length)) => {
                    self.buffers.read_buffer.consume(length);
                    match message {
                        // A Unix socket needs none.
                        First::Encryption => self.buffers.write_buffer.tail().push(b'N'),
                        First::Cancel(process_id, secret) => {
                            hub.cancel(process_id, secret).await;
                            return Ok(None);
                        }
                        First::Startup { minor, parameters, options } => {
                            if minor > 0 || !options.is_empty() {
                                replies::negotiate(self.buffers.write_buffer.tail(), &options);
                            }
                            let asked = hub.asked(parameters, own)?;
                            let password = if asked.database.ask_password { self.password().await? } else { None };
                            return Ok(Some((asked, password)));
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

    async fn refuse(mut self, ended: &Ended) {
        ended.write(self.buffers.write_buffer.tail());
        self.flush().await;
    }

    /// Sends what is left. A client that is gone, or never reads, is not waited for.
    pub async fn flush(&mut self) {
        let _ = timeout(STARTUP_TIMEOUT, self.stream.send_all(&mut self.buffers)).await;
        // A socket that is closed with bytes that nobody has read is an error at the other side.
        while let Ok(Some(Progress::Received)) = self.stream.pull_available(&mut self.buffers) {
            self.buffers.read_buffer.consume(self.buffers.read_buffer.unread().len());
        }
    }
}
