//! What operators order: on the second socket, and on the console.

use crate::console;
use crate::control::Reload;
use crate::hub::Hub;
use crate::registry;
use crate::takeover::Order;
use std::fmt;
use std::sync::OnceLock;
use tokio::net::unix::UCred;

/// Why an order is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such database in the configuration.
    UnknownDatabase(String),
    /// No client has this number.
    UnknownClient(i32),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownDatabase(name) => write!(f, "there is no database {name:?} in the configuration"),
            Self::UnknownClient(number) => write!(f, "there is no client {number}"),
        }
    }
}

/// How the configuration is read again.
#[derive(Default)]
pub struct Reloading(OnceLock<Reload>);

impl fmt::Debug for Reloading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reloading(..)")
    }
}

impl Reloading {
    /// From now on it can be.
    pub fn set(&self, reload: Reload) {
        let _ = self.0.set(reload);
    }
}

/// Who orders something, as the log has it.
#[derive(Clone, Debug)]
pub struct Operator(String);

impl Operator {
    /// Who has connected to the second socket.
    pub fn of_control(peer: std::io::Result<UCred>) -> Self {
        Self(match peer.map(|peer| (peer.pid(), peer.uid())) {
            Ok((Some(process), user)) => format!("process {process} of user {user}"),
            Ok((None, user)) => format!("user {user}"),
            Err(_) => "the control socket".to_owned(),
        })
    }

    /// A client of the console.
    pub fn of_console(client: &registry::Client) -> Self {
        let from = match (&client.address, client.peer) {
            (Some(address), _) => address.clone(),
            (None, Some(process)) => format!("process {process}"),
            (None, None) => "the Unix socket".to_owned(),
        };
        Self(format!("{:?} on the console, client {} from {from}", client.user, client.number))
    }

    /// A daemon that has taken over from this one.
    pub fn of_successor() -> Self {
        Self("an operator of the daemon that has taken over".to_owned())
    }

    /// Who has sent SIGHUP, which has no sender.
    pub fn of_signal() -> Self {
        Self("SIGHUP".to_owned())
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Orders for a database, or for all of them. They are also for the clients of the daemon from which this one has taken over.
impl Hub {
    /// Server connections are not lent any more. Those that are lent are closed when they come back, the others at once.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn pause(&self, database: Option<&str>, by: &Operator) -> Result<(), Refusal> {
        self.check(database)?;
        self.gates.pause(database, true);
        self.expire_connections();
        tracing::info!(%by, database = of(database), "paused");
        self.pass_on(Order::Pause(database.map(str::to_owned)));
        Ok(())
    }

    /// Server connections are lent again.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn resume(&self, database: Option<&str>, by: &Operator) -> Result<(), Refusal> {
        self.check(database)?;
        self.gates.pause(database, false);
        tracing::info!(%by, database = of(database), "resumed");
        self.pass_on(Order::Resume(database.map(str::to_owned)));
        Ok(())
    }

    /// Server connections are closed, each as soon as no client has it; others are opened for whoever needs one.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn reconnect(&self, database: Option<&str>, by: &Operator) -> Result<(), Refusal> {
        self.check(database)?;
        self.gates.reconnect(database);
        self.expire_connections();
        tracing::info!(%by, database = of(database), "server connections are replaced");
        self.pass_on(Order::Reconnect(database.map(str::to_owned)));
        Ok(())
    }

    /// Pauses a database, and ends the connections of its clients.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn kill(&self, database: Option<&str>, by: &Operator) -> Result<(), Refusal> {
        self.pause(database, by)?;
        let clients = self.registry.all();
        let is_meant = |name: Option<&str>| name != Some(console::NAME) && (database.is_none() || name == database);
        clients.iter().filter(|client| is_meant(client.name.as_deref())).for_each(|client| client.kill());
        tracing::info!(%by, database = of(database), "clients are ended");
        self.pass_on(Order::Kill(database.map(str::to_owned)));
        Ok(())
    }

    /// Ends the connection of a client.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn kill_client(&self, number: i32, by: &Operator) -> Result<(), Refusal> {
        let clients = self.registry.all();
        let client = clients.iter().find(|client| client.number == number).ok_or(Refusal::UnknownClient(number))?;
        client.kill();
        tracing::info!(%by, client = number, "a client is ended");
        Ok(())
    }

    /// Returns true if a database is paused; without a name, if any is.
    pub fn is_paused(&self, database: Option<&str>) -> bool {
        database.map_or_else(|| self.gates.are_any_paused(), |name| self.gates.is_paused(name))
    }

    /// Reads the configuration again.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_again(&self, by: &Operator) -> Result<(), String> {
        let read = self.reloading.0.get().map_or(Ok(()), |reload| reload(self));
        match &read {
            Ok(()) => tracing::info!(%by, "the configuration was read again"),
            Err(reason) => tracing::error!(%by, reason, "the configuration stays as it is"),
        }
        read
    }

    /// The number of server connections that are open; with `only_old` of those that are to be closed.
    pub fn open_connections(&self, database: Option<&str>, only_old: bool) -> usize {
        let shown = self.shown();
        let pools = shown.iter().filter(|pool| database.is_none_or(|name| name == pool.database));
        pools.flat_map(|pool| pool.stats.servers.all()).filter(|server| !only_old || server.is_over()).count()
    }

    fn pass_on(&self, order: Order) {
        if let Some(predecessor) = self.predecessor() {
            predecessor.order(order);
        }
    }

    /// Does what was ordered of the daemon that has taken over from this one. A database that is not in the configuration of
    /// this one has no clients here.
    pub fn carry_out(&self, order: Order, by: &Operator) {
        let _ = match &order {
            Order::Pause(database) => self.pause(database.as_deref(), by),
            Order::Resume(database) => self.resume(database.as_deref(), by),
            Order::Reconnect(database) => self.reconnect(database.as_deref(), by),
            Order::Kill(database) => self.kill(database.as_deref(), by),
        };
    }

    fn check(&self, database: Option<&str>) -> Result<(), Refusal> {
        match database {
            Some(name) if !self.config().databases.contains_key(name) => Err(Refusal::UnknownDatabase(name.to_owned())),
            _ => Ok(()),
        }
    }
}

fn of(database: Option<&str>) -> &str {
    database.unwrap_or("(all)")
}
