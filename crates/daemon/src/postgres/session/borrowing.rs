//! How a client gets a server connection: of the primary, or of a standby for a transaction that is declared to be
//! read-only.

use super::ClientSession;
use crate::pool::NotLent;
use crate::postgres::own_settings;
use crate::postgres::pool::Lent;
use crate::registry::Activity;
use crate::replies::{Ended, SERVER_LOST};
use crate::spare;
use headrace_core::limits::READ_BUFFER_BYTES;
use headrace_io::Progress;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

/// What came first while a client waited for a server connection.
pub(super) enum Borrowed {
    /// The connection.
    Lent,
    /// The end of what it was needed for.
    Cancelled,
    ClientLeft,
}

impl ClientSession {
    /// Waits for a server connection, and for what the client does meanwhile.
    pub(super) async fn borrow(&mut self) -> Result<Borrowed, Ended> {
        self.of.take_cancel().await;
        if self.hub.is_outdated(&self.clock) {
            self.clock = self.hub.clock(&self.primary);
        }
        if self.standbys.is_some() {
            if let Some(borrowed) = Box::pin(self.borrow_from_standby()).await? {
                return Ok(borrowed);
            }
            self.pool = Arc::clone(&self.primary);
            self.relay.is_on_standby = false;
        }
        let now = Instant::now();
        match self.pool.try_lend(self.traffic.class(), now) {
            Some(lent) => self.begin_with(lent, now).await?,
            None => match Box::pin(self.wait_for_server()).await? {
                Ok(lent) => self.begin_with(lent?, Instant::now()).await?,
                Err(other) => return Ok(other),
            },
        }
        Ok(Borrowed::Lent)
    }

    /// The same of a standby, if what the client has sent is declared to be read-only, and one will do. What fails before the
    /// client's messages are passed on, has another one tried. Only if all are in use one is waited for, and after that
    /// the primary.
    async fn borrow_from_standby(&mut self) -> Result<Option<Borrowed>, Ended> {
        let Some(standbys) = self.standbys.clone() else { return Ok(None) };
        if !self.relay.is_declared_read_only(self.client.buffers.read_buffer.unread()) {
            return Ok(None);
        }
        let mut fit = match self.meanwhile(standbys.in_turn()).await? {
            Ok(fit) => fit,
            Err(other) => return Ok(Some(other)),
        };
        let class = self.traffic.class();
        fit.retain(|pool| !pool.is_serializable());
        while !fit.is_empty() {
            let free = fit.iter().position(|pool| !pool.is_exhausted());
            self.pool = fit.remove(free.unwrap_or(0));
            let lent = match self.pool.try_lend(class, Instant::now()) {
                Some(lent) => lent,
                None => match self.wait_for_server().await? {
                    Ok(Ok(lent)) => lent,
                    Ok(Err(NotLent::Failed(_))) => continue,
                    Ok(Err(NotLent::QueueFull | NotLent::QueueTimeout)) => return Ok(None),
                    Err(other) => return Ok(Some(other)),
                },
            };
            if self.pool.is_serializable() {
                // It was opened now.
                self.pool.take_back(lent, Instant::now());
                continue;
            }
            if self.begin_with(lent, Instant::now()).await.is_ok() {
                self.relay.is_on_standby = true;
                return Ok(Some(Borrowed::Lent));
            }
        }
        Ok(None)
    }

    /// Waits for a server connection, unless something else comes first.
    async fn wait_for_server(&mut self) -> Result<Result<Result<Lent, NotLent>, Borrowed>, Ended> {
        self.of.set_activity_at(Activity::Waiting, Instant::now());
        let (pool, class) = (Arc::clone(&self.pool), self.traffic.class());
        spare::give_back_but_request(&mut self.client.buffers);
        let found = self.meanwhile(pool.lend(class)).await;
        spare::take_beside_request(&mut self.client.buffers);
        found
    }

    /// Waits for something that is needed to go on, unless something else comes first.
    async fn meanwhile<T>(&mut self, needed: impl Future<Output = T>) -> Result<Result<T, Borrowed>, Ended> {
        let of = &self.of;
        tokio::pin!(needed);
        loop {
            let client = &mut self.client;
            let reads = client.buffers.read_buffer.unread().len() < READ_BUFFER_BYTES;
            tokio::select! {
                biased;
                found = &mut needed => return Ok(Ok(found)),
                moved = client.stream.exchange(&mut client.buffers, reads), if !self.is_gone => {
                    if let Ok(Progress::Eof) | Err(_) = moved {
                        if !self.relay.ends_in_terminate(&client.buffers.read_buffer) {
                            return Ok(Err(Borrowed::ClientLeft));
                        }
                        self.is_gone = true;
                    }
                }
                () = of.interrupt.notified() => {
                    let (input, output) = (&self.client.buffers.read_buffer, &mut self.client.buffers.write_buffer);
                    if self.relay.cancelled(input, output)? {
                        of.set_activity(Activity::Idle);
                        return Ok(Err(Borrowed::Cancelled));
                    }
                }
                ended = of.killed() => return Err(ended),
            }
        }
    }

    /// The client has this server connection from now on.
    async fn begin_with(&mut self, mut lent: Lent, now: Instant) -> Result<(), Ended> {
        lent.is_lent_to(self.of.number, now);
        if lent.server.state.own_settings != *self.relay.own_settings() {
            Box::pin(self.give_own_settings(&mut lent)).await?;
        }
        self.relay.adapt(&mut lent.server.state, &mut lent.server.buffers.write_buffer);
        self.sent_before = lent.server.buffers.write_buffer.mark();
        self.relay.requests = 0;
        self.lent = Some(lent);
        self.of.set_activity_at(Activity::Active, now);
        self.adapting = true;
        Ok(())
    }

    /// Gives a session the settings of the client that the server does not report. The client's messages wait for that: without
    /// them they would mean something else.
    async fn give_own_settings(&self, lent: &mut Lent) -> Result<(), Ended> {
        let wanted = self.relay.own_settings();
        let sql = own_settings::adaptation(&lent.server.state.own_settings, wanted);
        let answer = lent.server.answer(&sql).await;
        answer.map_err(|fatal| Ended::new(SERVER_LOST, format!("headraced: {fatal}")))?.map_err(Ended::of_server)?;
        lent.server.state.own_settings.clone_from(wanted);
        Ok(())
    }
}
