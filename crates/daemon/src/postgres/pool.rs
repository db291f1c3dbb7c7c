//! Pools of server connections of PostgreSQL.

use super::server::Server;
use super::startup_replies::{Settings, StartupReplies};
use super::statements::Catalog;
use crate::pool::{Key, NotLent, Parameters};
use crate::traffic::TrafficClass;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A pool.
pub type Pool = crate::pool::Pool<Server>;
/// A server connection that is lent.
pub type Lent = crate::pool::Lent<Server>;

/// What a pool has read of its server's sessions.
#[derive(Debug, Default)]
pub struct PoolState {
    /// The prepared statements of its clients.
    pub catalog: Arc<Catalog>,
    /// The startup replies of its clients.
    pub startup_replies: StartupReplies,
    /// Transactions of the session of a standby that was opened last are SERIALIZABLE by default, by a startup
    /// parameter, or as the user or the database is: a standby executes none of them.
    pub is_serializable: AtomicBool,
}

/// What a client asks for.
#[derive(Debug)]
pub struct PoolRequest {
    /// The pool of its server connections.
    pub pool: Arc<Pool>,
    /// Settings that the server reports: they are the client's own, not the pool's.
    pub settings: Parameters,
}

impl Pool {
    /// The key of a pool whose sessions are opened with those of a client's settings that the server does not report,
    /// which cannot follow the client from one session to the other; `None` if there are none. What is left are
    /// settings that the server reports. Versions before 18 do not report `search_path`.
    ///
    /// # Errors
    /// [`NotLent`]: the server was not reached to see what it reports.
    pub async fn apart(&self, settings: &mut Parameters) -> Result<Option<Key>, NotLent> {
        if settings.is_empty() {
            return Ok(None);
        }
        let reported = match self.state.startup_replies.defaults() {
            Some(reported) => reported,
            None => {
                let lent = self.lend(TrafficClass::Interactive).await?;
                self.take_back(lent, Instant::now());
                self.state.startup_replies.defaults().expect("a connection has been opened")
            }
        };
        let known = |name: &str| reported.keys().any(|other| other.eq_ignore_ascii_case(name));
        let (own, rest): (Parameters, Parameters) =
            std::mem::take(settings).into_iter().partition(|(name, _)| known(name));
        *settings = own;
        if rest.is_empty() {
            return Ok(None);
        }
        let mut key = self.key.clone();
        key.startup.extend(rest);
        Ok(Some(key))
    }

    /// Returns true if this pool of a standby can execute nothing. Where every session has ended since, the next one
    /// that is opened may be another.
    pub fn is_serializable(&self) -> bool {
        self.state.is_serializable.load(Ordering::Relaxed) && self.has_session()
    }

    /// The startup replies of a client that asks for these settings, if they are known. Where every session has ended
    /// since, the next one that is opened may have other defaults.
    pub fn startup_replies(&self, wanted: &Parameters) -> Option<Arc<Settings>> {
        if !self.has_session() {
            return None;
        }
        self.state.startup_replies.of(wanted)
    }
}
