//! What differs between the connections that pools lend.

use super::Pool;
use super::limit::ConnectionPermit;
use crate::config::DatabaseConfig;
use crate::gate::Passed;
use crate::postgres::server::NotOpened;
use crate::servers::OpenServer;
use crate::stats::Stats;
use crate::traffic::TrafficClass;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection to a server that a pool lends.
pub trait ServerConnection: Debug + Sized + Send + 'static {
    /// What a pool of such connections has read, for all of its clients.
    type PoolState: Debug + Default + Send + Sync;

    /// Connects and logs in, on the threads of this class of traffic.
    ///
    /// # Errors
    /// [`NotOpened`] with the reason, such as the server's own.
    fn open(pool: &Pool<Self>, class: TrafficClass) -> impl Future<Output = Result<Self, NotOpened>> + Send;
    /// Where its server is.
    fn address(&self) -> String;
    /// The process of the server, if it has said which.
    fn process_id(&self) -> Option<i32>;
    /// Returns true if the server has sent nothing since it was last used: what an idle session sends is that it ends.
    fn is_quiet(&mut self) -> bool;
    /// Asks the server for an answer: a network that has dropped the connection reports nothing.
    fn is_alive(&mut self) -> impl Future<Output = bool> + Send;
    /// Returns true if a cancel request may be on its way that would hit whatever the session executes when it comes.
    fn is_doubtful(&self) -> bool {
        false
    }
    /// Ends the session.
    fn close(self);
    /// The class of traffic that it was last used for.
    fn class(&self) -> TrafficClass {
        TrafficClass::Interactive
    }
    /// Comes to the threads of the caller, which are those of this class.
    fn move_to(&mut self, _class: TrafficClass) {}
}

/// A connection of a pool that is not lent.
#[derive(Debug)]
pub struct Pooled<S: ServerConnection> {
    /// The connection, where it stays: it is handed over for each transaction.
    pub server: Box<S>,
    /// What the pool keeps of it; after the connection, as its place is free for others once it is closed.
    pub(super) kept: Kept<S>,
}

/// What a pool keeps of one of its connections, which counts as open, and occupies a place, as long as this exists.
#[derive(Debug)]
pub(super) struct Kept<S: ServerConnection> {
    /// When it was last used.
    pub(super) used: Instant,
    /// When it is to be replaced, where connections are used this long, and which part of that this one is.
    ends: Instant,
    longest: Duration,
    part: f64,
    pub(super) open: Arc<OpenServer>,
    stats: Arc<Stats>,
    _place: ConnectionPermit<S>,
}

impl<S: ServerConnection> Drop for Kept<S> {
    fn drop(&mut self) {
        self.stats.open.add(-1);
        self.stats.servers.leave(&self.open);
    }
}

impl<S: ServerConnection> Kept<S> {
    /// Of a connection that was opened now.
    pub(super) fn new(server: &S, pool: &Pool<S>, place: ConnectionPermit<S>, passed: Passed) -> Self {
        pool.stats.open.add(1);
        pool.stats.opened.add(1);
        let open = pool.stats.servers.enter(server.address(), server.process_id(), passed);
        Self {
            used: open.opened,
            ends: open.opened,
            longest: Duration::ZERO,
            part: DatabaseConfig::part_of_lifetime(),
            open,
            stats: Arc::clone(&pool.stats),
            _place: place,
        }
    }

    /// Returns true if the connection is to be replaced, where connections are used this long.
    pub(super) fn is_old(&mut self, now: Instant, longest: Duration) -> bool {
        if self.longest != longest {
            (self.longest, self.ends) = (longest, self.open.opened + longest.mul_f64(self.part));
        }
        now >= self.ends || self.open.is_over()
    }
}

impl<S: ServerConnection> Pooled<S> {
    /// Ends the session; its place is free after that.
    pub(super) fn close(self) {
        (*self.server).close();
    }
}
