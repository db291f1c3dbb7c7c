//! The passwords of clients on TCP, as the server of their database has them: asked on a connection of the daemon's own.

use crate::config::{AuthQuery, DatabaseConfig};
use crate::limits::{VERIFIER_LIFETIME, VERIFIERS};
use crate::lock;
use crate::pool::ServerConnection as _;
use crate::postgres::server::{NotOpened, Server};
use crate::scram::Verifier;
use headrace_core::Fatal;
use headrace_postgres::messages::tag::field;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What is known of the passwords of all databases.
#[derive(Debug, Default)]
pub struct Verifiers {
    known: Mutex<HashMap<(String, String), Known>>,
    /// The connections, by database. Each is asked one question at a time.
    servers: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Asking>>>>>,
}

/// A connection that is asked, which no pool has.
#[derive(Debug)]
struct Asking {
    server: Server,
    used: Instant,
    /// When it is to be replaced.
    ends: Instant,
}

/// An answer of a server.
#[derive(Debug)]
struct Known {
    verifier: Option<Verifier>,
    since: Instant,
}

impl Known {
    fn holds(&self) -> bool {
        self.since.elapsed() < VERIFIER_LIFETIME
    }
}

impl Verifiers {
    /// The verifier of a user; `None` if the server has none by which it may log in.
    ///
    /// # Errors
    /// [`NotOpened`]: the server cannot be asked.
    pub async fn of(&self, name: &str, database: &DatabaseConfig, user: &str) -> Result<Option<Verifier>, NotOpened> {
        let Some(auth) = &database.auth_query else { return Ok(None) };
        let key = (name.to_owned(), user.to_owned());
        if let Some(known) = lock(&self.known).get(&key).filter(|known| known.holds()) {
            return Ok(known.verifier.clone());
        }
        let place = Arc::clone(lock(&self.servers).entry(name.to_owned()).or_default());
        let mut server = place.lock().await;
        // Others have waited for the same.
        if let Some(known) = lock(&self.known).get(&key).filter(|known| known.holds()) {
            return Ok(known.verifier.clone());
        }
        let found = ask(&mut server, name, database, auth, user).await?;
        let verifier = found.as_deref().and_then(|text| match Verifier::read(text) {
            Some(verifier) => Some(verifier),
            None => {
                tracing::warn!(database = name, user, "the auth_query has found what is not a SCRAM-SHA-256 verifier");
                None
            }
        });
        let mut known = lock(&self.known);
        if known.len() >= VERIFIERS {
            known.retain(|_, known| known.holds());
        }
        if known.len() < VERIFIERS {
            known.insert(key, Known { verifier: verifier.clone(), since: Instant::now() });
        }
        Ok(verifier)
    }

    /// A password was wrong: it may have been changed, and the server is asked for the next login.
    pub fn forget(&self, name: &str, user: &str) {
        lock(&self.known).remove(&(name.to_owned(), user.to_owned()));
    }

    /// The configuration has changed.
    pub fn clear(&self) {
        lock(&self.known).clear();
        lock(&self.servers).clear();
    }

    /// Forgets what does not hold any more, and closes connections that were not used for a while.
    pub fn expire(&self, of: impl Fn(&str) -> Option<std::time::Duration>) {
        lock(&self.known).retain(|_, known| known.holds());
        lock(&self.servers).retain(|name, place| {
            let Ok(mut server) = place.try_lock() else { return true };
            let idle = of(name);
            server.take_if(|server| idle.is_none_or(|idle| server.used.elapsed() >= idle));
            server.is_some()
        });
    }
}

async fn ask(
    place: &mut Option<Asking>,
    name: &str,
    database: &DatabaseConfig,
    auth: &AuthQuery,
    user: &str,
) -> Result<Option<String>, NotOpened> {
    if let Some(mut asking) = place.take().filter(|asking| Instant::now() < asking.ends)
        && asking.server.is_quiet()
        // It may have been lost since.
        && let Ok(found) = asking.server.value_of(&auth.query, user).await
    {
        asking.used = Instant::now();
        *place = Some(asking);
        return answered(name, found);
    }
    let dbname = auth.dbname.as_deref().or(database.dbname.as_deref()).unwrap_or(name);
    // No user's own functions and operators are to be found in the query.
    let parameters = [
        ("user", auth.user.as_str()),
        ("database", dbname),
        ("application_name", "headraced auth_query"),
        ("search_path", "pg_catalog"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let password = auth.password()?;
    let mut server = Server::connect(&database.asking(), &parameters, password.as_ref()).await?;
    let found = server.value_of(&auth.query, user).await?;
    let now = Instant::now();
    *place = Some(Asking { server, used: now, ends: now + database.one_lifetime() });
    answered(name, found)
}

type Found = Result<Option<String>, headrace_postgres::messages::backend::ServerError>;

fn answered(name: &str, found: Found) -> Result<Option<String>, NotOpened> {
    found.map_err(|error| {
        let what = error.field(field::MESSAGE).to_owned();
        tracing::error!(database = name, what, "the server refuses the auth_query");
        Fatal::peer(format!("the server refuses the auth_query: {what}")).into()
    })
}
