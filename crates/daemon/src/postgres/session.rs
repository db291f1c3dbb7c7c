//! A client whose database is PostgreSQL's, and the server connections that it is lent.

use super::pool::{Lent, Pool, Wanted};
use super::relay::{Relay, Then};
use crate::client::Client;
use crate::config::PoolMode;
use crate::hub::{Hub, Running};
use crate::replies::{self, DRAINING, Ended, SERVER_LOST};
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{Fatal, TransactionStatus};
use headrace_io::Progress;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a step of a client's connection ended.
enum Step {
    Moved,
    ClientLeft,
    ServerLost(Fatal),
    Draining,
}

/// Welcomes a client, and serves it until it leaves.
///
/// # Errors
/// [`Ended`]: the client is to be told why its connection ends.
pub async fn serve(
    client: &mut Client,
    wanted: Wanted,
    hub: &Arc<Hub>,
    key: (i32, i32),
    running: Running,
) -> Result<(), Ended> {
    let Wanted { pool, settings } = wanted;
    let parameters = match pool.welcome(&settings) {
        Some(parameters) => parameters,
        None => first_welcome(&pool, &settings).await?,
    };
    replies::welcome(client.buffers.write_buffer.tail(), &parameters, key.0, key.1);
    let relay = Relay::new(Arc::clone(&pool.catalog), parameters);
    let mut session = Session { client, relay, pool, running, lent: None, hub: Arc::clone(hub), leaving: false };
    let ended = session.run().await;
    session.give_back(false).await;
    if ended.is_ok() {
        client.flush().await;
    }
    ended
}

/// Opens or borrows a server connection to learn what the server makes of a client's settings.
async fn first_welcome(pool: &Pool, settings: &[(String, String)]) -> Result<BTreeMap<String, String>, Ended> {
    let mut lent = pool.lend().await?;
    let wanted: BTreeMap<String, String> = settings
        .iter()
        .map(|(name, value)| {
            let reported = lent.server.state.parameters.keys().find(|known| known.eq_ignore_ascii_case(name));
            (reported.unwrap_or(name).clone(), value.clone())
        })
        .collect();
    if let Err(fatal) = lent.server.adapt(&wanted).await {
        return Err(Ended::opening(&fatal));
    }
    let parameters = lent.server.state.parameters.clone();
    pool.remember(settings.to_vec(), &parameters);
    pool.take_back(lent);
    Ok(parameters)
}

struct Session<'a> {
    client: &'a mut Client,
    relay: Relay,
    pool: Arc<Pool>,
    running: Running,
    lent: Option<Lent>,
    hub: Arc<Hub>,
    /// The client has said goodbye after requests that were not answered yet.
    leaving: bool,
}

impl Session<'_> {
    async fn run(&mut self) -> Result<(), Ended> {
        loop {
            if self.lent.is_none() {
                if self.relay.says_goodbye(&self.client.buffers.read_buffer) {
                    return Ok(());
                }
                if self.relay.needs_server(&self.client.buffers.read_buffer) {
                    self.borrow().await?;
                }
            }
            self.leaving |= self.relay_messages()?;
            if self.leaving && self.lent.as_ref().is_none_or(|_| self.relay.has_all_replies()) {
                return Ok(());
            }
            if self.pool.mode() == PoolMode::Transaction
                && self.lent.as_ref().is_some_and(|lent| self.relay.is_settled(&lent.server.state))
            {
                self.give_back(true).await;
                if self.relay.needs_server(&self.client.buffers.read_buffer) {
                    continue;
                }
            }
            match self.step().await {
                Step::Moved => {}
                Step::ClientLeft => return Ok(()),
                Step::ServerLost(fatal) => return self.server_lost(&fatal),
                Step::Draining => return Err(Ended::new(DRAINING, "headraced: the daemon ends; connect again")),
            }
        }
    }

    async fn borrow(&mut self) -> Result<(), Ended> {
        let mut lent = self.pool.lend().await?;
        if lent.server.adapt(&self.relay.parameters).await.is_err() {
            // It may have been lost while nobody used it.
            drop(lent);
            lent = self.pool.lend().await?;
            let adapted = lent.server.adapt(&self.relay.parameters).await;
            adapted.map_err(|fatal| Ended::opening(&fatal))?;
        }
        *self.running.lock().await = Some(lent.server.cancel.clone());
        self.lent = Some(lent);
        Ok(())
    }

    /// Translates what was received; returns true if the client has said goodbye.
    fn relay_messages(&mut self) -> Result<bool, Ended> {
        let Some(lent) = &mut self.lent else { return Ok(false) };
        if self.leaving {
            let after = self.client.buffers.read_buffer.unread().len();
            self.client.buffers.read_buffer.consume(after);
        }
        let (client, server) = (&mut self.client.buffers, &mut lent.server);
        let then =
            self.relay.from_client(&mut client.read_buffer, &mut server.state, &mut server.buffers.write_buffer)?;
        let received =
            self.relay.from_server(&mut server.buffers.read_buffer, &mut server.state, &mut client.write_buffer);
        received.map_err(|fatal| Ended::new(SERVER_LOST, format!("headraced: {fatal}")))?;
        Ok(then == Then::Terminate)
    }

    /// Moves bytes until something has happened.
    async fn step(&mut self) -> Step {
        let client = &mut *self.client;
        let room_to_client = client.buffers.write_buffer.len() < WRITE_BUFFER_HIGH_BYTES;
        let Some(lent) = &mut self.lent else {
            let mut draining = self.hub.draining.clone();
            return tokio::select! {
                moved = client.stream.exchange(&mut client.buffers, true) => of_client(moved),
                _ = draining.wait_for(|draining| *draining) => Step::Draining,
            };
        };
        let room_to_server = lent.server.buffers.write_buffer.len() < WRITE_BUFFER_HIGH_BYTES;
        tokio::select! {
            moved = client.stream.exchange(&mut client.buffers, room_to_server) => of_client(moved),
            moved = lent.server.stream.exchange(&mut lent.server.buffers, room_to_client) => match moved {
                Ok(Progress::Eof) => Step::ServerLost(Fatal::end_of_input()),
                Ok(_) => Step::Moved,
                Err(fatal) => Step::ServerLost(fatal),
            },
        }
    }

    /// The server has closed the connection. What it sent before has been passed on; if that was its reason, nothing
    /// has to be added.
    fn server_lost(&mut self, fatal: &Fatal) -> Result<(), Ended> {
        let _ = self.relay_messages();
        let what = if self.relay.owes_nothing() {
            "nothing was under way"
        } else {
            "whether what was under way has been done is not known"
        };
        self.lent = None;
        Err(Ended::new(SERVER_LOST, format!("headraced: the server connection was lost, {what}: {fatal}")))
    }

    /// Gives the server connection back, as good as new, or closes it.
    async fn give_back(&mut self, settled: bool) {
        // Waits for a CancelRequest that is under way.
        *self.running.lock().await = None;
        let Some(mut lent) = self.lent.take() else { return };
        if settled {
            return self.pool.take_back(lent);
        }
        if !self.relay.owes_nothing() || !lent.server.buffers.write_buffer.is_empty() {
            // Nobody waits for what it does.
            let _ = lent.server.cancel.send().await;
            return;
        }
        let left = self.relay.pinned().is_some()
            || lent.server.state.status != TransactionStatus::Idle
            || self.pool.mode() == PoolMode::Session;
        if !left || lent.server.reset().await.is_ok() {
            self.pool.take_back(lent);
        }
    }
}

fn of_client(moved: Result<Progress, Fatal>) -> Step {
    match moved {
        Ok(Progress::Eof) | Err(_) => Step::ClientLeft,
        Ok(_) => Step::Moved,
    }
}
