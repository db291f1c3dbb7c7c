//! When a client has a session of the server, and what becomes of the session after it.

use super::backend::Backend;
use super::cancelling::cancel_until;
use super::portal::Portal;
use super::replies::Failure;
use super::requests::{all, has_executed};
use super::server::Lent;
use super::session::FrontSession;
use super::transactions::Block;
use crate::config::PoolMode;
use crate::limits::{FRONT_READ_AHEAD_BYTES, RESET_TIMEOUT};
use crate::registry::Activity;
use crate::replies::{CANCELLED, Ended, SERVER_LOST};
use crate::spare;
use crate::traffic::TrafficClass;
use headrace_core::{IfUnsent, TransactionStatus, Verb};
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

impl<B: Backend> FrontSession<'_, B> {
    /// Has a session of the server, unless the client cancels what it waits for.
    pub(super) async fn borrow(&mut self) -> Result<Result<(), Failure>, Ended> {
        if self.lent.is_some() {
            return Ok(Ok(()));
        }
        if self.hub.is_outdated(&self.clock) {
            self.clock = self.hub.clock(&self.pool);
        }
        self.of.set_activity(Activity::Waiting);
        let pool = Arc::clone(&self.pool);
        spare::give_back_but_request(&mut self.client.buffers);
        let lending = pool.lend(TrafficClass::Interactive);
        tokio::pin!(lending);
        let lent = loop {
            let client = &mut *self.client;
            let reads = client.buffers.read_buffer.unread().len() < FRONT_READ_AHEAD_BYTES;
            tokio::select! {
                biased;
                lent = &mut lending => break lent?,
                () = self.of.interrupt.notified() => {
                    self.of.set_activity(Activity::Idle);
                    let what = "headraced: the request was cancelled while it waited for a session";
                    return Ok(Err(Failure::new(CANCELLED, what)));
                }
                moved = client.stream.exchange(&mut client.buffers, reads), if !self.is_gone => {
                    if self.has_left(&moved) {
                        return Err(self.client_has_left());
                    }
                }
                ended = self.of.killed() => return Err(ended),
            }
        };
        spare::take_beside_request(&mut self.client.buffers);
        lent.is_lent_to(self.of.number, Instant::now());
        self.of.set_activity(self.pinned.map_or(Activity::Active, Activity::Pinned));
        self.lent = Some(lent);
        self.refresh_dialect();
        Ok(Ok(()))
    }

    /// Nobody reads what it is told.
    pub(super) fn client_has_left(&mut self) -> Ended {
        self.leaving = true;
        Ended::new(SERVER_LOST, "headraced: the client has left")
    }

    /// Gives the session back between transactions.
    pub(super) fn release(&mut self) {
        // What its messages have left in the session is reset by [`Self::leave`] only.
        let keeps = self.pool.mode == PoolMode::Session && self.has_begun;
        let busy = !self.queue.is_empty() || self.pinned.is_some() || self.portals.values().any(Portal::is_unfinished);
        if keeps || busy || self.status() != TransactionStatus::Idle {
            return;
        }
        if let Some(lent) = self.lent.take() {
            self.of.set_activity(Activity::Idle);
            self.pool.take_back(lent, Instant::now());
        }
    }

    /// Ends what the client has left behind.
    pub(super) async fn leave(&mut self) {
        self.statements.clear();
        let Some(mut lent) = self.lent.take() else { return };
        // A BEGIN may be in flight that is in no queue.
        let unfinished = !lent.server.client.connection.machine.is_idle();
        if unfinished || lent.server.client.connection.ended().is_some() {
            // Nobody waits for what it does.
            let portals = self.portals.drain().filter_map(|(_, portal)| portal.running);
            for running in self.queue.drain(..).map(|item| item.running).chain(portals) {
                lent.server.client.connection.machine.discard(running.id);
            }
            let idle = cancel_until(&mut lent.server, &self.pool, |connection| connection.machine.is_idle());
            if let Ok(Ok(())) = timeout(RESET_TIMEOUT, idle).await {
                self.pool.stats.cancelled.add(1);
            }
            return lent.close();
        }
        let used = self.pinned.is_some() || self.pool.mode == PoolMode::Session;
        if let Some(lent) = self.cleaned(lent, used).await {
            self.pool.take_back(lent, Instant::now());
        }
    }

    /// DISCARD ALL: the session is as it was when it was opened, or the next statement has another one.
    pub(super) async fn discard(&mut self) -> Result<Result<(), Failure>, Ended> {
        self.settle().await?;
        if self.is_in_transaction() {
            return Ok(Err(Failure::new("25001", "DISCARD ALL cannot run inside a transaction block")));
        }
        self.close_portals().await?;
        let used = self.pinned.is_some() || self.pool.mode == PoolMode::Session && self.has_begun;
        if let Some(lent) = self.lent.take_if(|_| used) {
            self.lent = self.cleaned(lent, used).await;
        }
        self.unpin();
        self.refresh_dialect();
        Ok(Ok(()))
    }

    /// A session without what its client has left there: its transaction, and what was `used` of the session. `None` if
    /// only its end undoes that, or it cannot be undone soon.
    async fn cleaned(&mut self, mut lent: Lent<B>, used: bool) -> Option<Lent<B>> {
        let open =
            self.block != Block::None || lent.server.client.connection.machine.transaction() != TransactionStatus::Idle;
        let reset = match used || self.survives_reset {
            true => B::reset(self.pool.name()).filter(|_| !self.survives_reset),
            false => Some(Vec::new()),
        };
        let Some(reset) = reset else {
            lent.close();
            return None;
        };
        let cleaning = async {
            if open && !has_executed(&mut lent.server.client, &Verb::Rollback(IfUnsent::RollBack)).await {
                return false;
            }
            lent.server.mark_block(false);
            all(&mut lent.server.client, reset).await
        };
        match timeout(RESET_TIMEOUT, cleaning).await {
            Ok(true) => Some(lent),
            _ => {
                lent.close();
                None
            }
        }
    }
}
