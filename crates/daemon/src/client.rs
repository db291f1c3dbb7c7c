//! One client, from its first byte to its last.

use crate::front::fronts;
use crate::hub::{Hub, Wanted};
use crate::limits::STARTUP_TIMEOUT;
use crate::postgres::session;
use crate::replies::{self, Ended, PROTOCOL_VIOLATION};
use crate::startup::{First, first};
use headrace_connection::Buffers;
use headrace_io::Progress;
use headrace_io::tokio::Stream;
use std::sync::Arc;
use tokio::time::timeout;

/// Serves a client until it leaves.
pub async fn serve(stream: Stream, hub: Arc<Hub>) {
    let mut client = Client { stream, buffers: Buffers::new() };
    let started = match timeout(STARTUP_TIMEOUT, client.start(&hub)).await {
        Ok(Ok(Some(wanted))) => wanted,
        Ok(Ok(None)) | Err(_) => return,
        Ok(Err(ended)) => return client.refuse(&ended).await,
    };
    let (process_id, secret, running) = hub.enter();
    let ended = match started {
        Wanted::Postgres(wanted) => session::serve(&mut client, wanted, &hub, (process_id, secret), running).await,
        Wanted::Front(wanted) => fronts::serve(&mut client, wanted, &hub, (process_id, secret)).await,
    };
    hub.leave(process_id);
    if let Err(ended) = ended {
        client.refuse(&ended).await;
    }
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
    async fn start(&mut self, hub: &Arc<Hub>) -> Result<Option<Wanted>, Ended> {
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
                            return hub.wanted(parameters).map(Some);
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

    async fn refuse(mut self, ended: &Ended) {
        ended.write(self.buffers.write_buffer.tail());
        self.flush().await;
    }

    /// Sends what is left. A client that is gone, or never reads, is not waited for.
    pub async fn flush(&mut self) {
        let _ = timeout(STARTUP_TIMEOUT, async {
            while !self.buffers.write_buffer.is_empty() {
                match self.stream.exchange(&mut self.buffers, true).await {
                    Ok(Progress::Eof) | Err(_) => return,
                    Ok(_) => self.buffers.read_buffer.consume(self.buffers.read_buffer.unread().len()),
                }
            }
        })
        .await;
    }
}
