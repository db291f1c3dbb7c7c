//! What operators order: on the second socket, and on the console.

use crate::chain::{Step, Successor};
use crate::console;
use crate::control::Reload;
use crate::gate::Paused;
use crate::hub::Hub;
use crate::registry;
use crate::takeover::{Answer, Closing, Order, Question};
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
    /// Another daemon has taken over from this one.
    TakenOver(Option<i32>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownDatabase(name) => write!(f, "there is no database {name:?} in the configuration"),
            Self::UnknownClient(number) => write!(f, "there is no client {number}"),
            Self::TakenOver(pid) => {
                let pid = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
                write!(f, "another daemon{pid} has taken over the socket: connect again, orders are given to that one")
            }
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
pub struct Operator {
    name: String,
    is_successor: bool,
}

impl Operator {
    /// Who has connected to the second socket.
    pub fn of_control(peer: std::io::Result<UCred>) -> Self {
        Self::named(match peer.map(|peer| (peer.pid(), peer.uid())) {
            Ok((Some(process), user)) => format!("process {process} of user {user}"),
            Ok((None, user)) => format!("user {user}"),
            Err(_) => "the control socket".to_owned(),
        })
    }

    /// A client of the console.
    pub fn of_console(client: &registry::Client) -> Self {
        let from = match (&client.info.address, client.info.peer) {
            (Some(address), _) => address.clone(),
            (None, Some(process)) => format!("process {process}"),
            (None, None) => "the Unix socket".to_owned(),
        };
        Self::named(format!("{:?} on the console, client {} from {from}", client.info.user, client.number))
    }

    /// A daemon that has taken over from this one.
    pub fn of_successor() -> Self {
        Self { is_successor: true, ..Self::named("an operator of the daemon that has taken over".to_owned()) }
    }

    /// Who has sent SIGHUP, which has no sender.
    pub fn of_signal() -> Self {
        Self::named("SIGHUP".to_owned())
    }

    fn named(name: String) -> Self {
        Self { name, is_successor: false }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Orders for a database, or for all of them. They are also for the clients of the daemon from which this one has taken over:
/// the table is in [`takeover`](crate::takeover).
impl Hub {
    /// Does what an operator orders.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn order(&self, order: Order, by: &Operator) -> Result<(), Refusal> {
        let _step = self.step(by)?;
        self.check(order.database())?;
        self.apply(&order, by);
        if let Some(predecessor) = self.chain.predecessor() {
            predecessor.order(order);
        }
        Ok(())
    }

    fn apply(&self, order: &Order, by: &Operator) {
        let database = order.database();
        let note = |done: &str| tracing::info!(%by, database = database.unwrap_or("(all)"), "{done}");
        match order {
            Order::Pause(_) | Order::Kill(_) => {
                // Server connections that are lent are closed when they come back, the others at once.
                self.gates.pause(database, true);
                self.expire_connections();
                note("paused");
            }
            Order::Resume(_) => {
                self.gates.pause(database, false);
                note("resumed");
            }
            Order::Reconnect(_) => {
                self.gates.reconnect(database);
                self.expire_connections();
                note("server connections are replaced");
            }
        }
        if matches!(order, Order::Kill(_)) {
            let clients = self.registry.all();
            let is_meant = |name: Option<&str>| name != Some(console::NAME) && (database.is_none() || name == database);
            clients.iter().filter(|client| is_meant(client.info.name.as_deref())).for_each(|client| client.kill());
            note("clients are ended");
        }
    }

    /// Ends the connection of a client, which may be one of an older daemon.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn kill_client(&self, number: i32, by: &Operator) -> Result<(), Refusal> {
        drop(self.step(by)?);
        let clients = self.registry.all();
        if let Some(client) = clients.iter().find(|client| client.number == number) {
            client.kill();
            tracing::info!(%by, client = number, "a client is ended");
            return Ok(());
        }
        let asked = match self.chain.predecessor() {
            Some(predecessor) => predecessor.ask(Question::KillClient(number)).await,
            None => None,
        };
        if asked == Some(Answer::KillClient(true)) { Ok(()) } else { Err(Refusal::UnknownClient(number)) }
    }

    /// Returns true if a database is paused; without a name, if any is.
    pub fn is_paused(&self, database: Option<&str>) -> bool {
        database.map_or_else(|| self.gates.are_any_paused(), |name| self.gates.is_paused(name))
    }

    /// Reads the configuration again.
    ///
    /// # Errors
    /// What is wrong with it, or [`Refusal`].
    pub fn read_again(&self, by: &Operator) -> Result<(), String> {
        let read = match self.step(by) {
            Ok(_step) => self.reloading.0.get().map_or(Ok(()), |reload| reload(self)),
            Err(refusal) => Err(refusal.to_string()),
        };
        match &read {
            Ok(()) => tracing::info!(%by, "the configuration was read again"),
            Err(reason) => tracing::error!(%by, reason, "the configuration stays as it is"),
        }
        read
    }

    /// The server connections that are to be closed, and are open, of this daemon and of those before it.
    pub async fn closing(&self, database: Option<&str>) -> Vec<Closing> {
        let daemon = std::process::id();
        let shown = self.shown();
        let pools = shown.iter().filter(|pool| database.is_none_or(|name| name == pool.database));
        let servers = pools.flat_map(|pool| pool.stats.servers.all()).filter(|server| server.is_over());
        let mut closing: Vec<Closing> = servers.map(|server| Closing { daemon, client: server.client().0 }).collect();
        if let Some(predecessor) = self.chain.predecessor() {
            match predecessor.ask(Question::Closing(database.map(str::to_owned))).await {
                Some(Answer::Closing(before)) => closing.extend(before),
                // It has not said that there are none.
                _ if !predecessor.is_gone() => closing.push(Closing { daemon: predecessor.before.pid, client: None }),
                _ => {}
            }
        }
        closing
    }

    /// Does what was ordered of the daemon that has taken over from this one. A database that neither the configuration of
    /// this one has, nor that of one before it, has no clients here.
    pub fn carry_out(&self, order: &Order, by: &Operator) {
        let _ = self.order(order.clone(), by);
    }

    /// Answers the daemon that has taken over from this one.
    pub async fn answer(&self, question: Question, by: &Operator) -> Answer {
        match question {
            Question::Closing(database) => Answer::Closing(self.closing(database.as_deref()).await),
            Question::KillClient(number) => Answer::KillClient(self.kill_client(number, by).await.is_ok()),
        }
    }

    /// Another daemon takes over: what is ordered from now on is ordered there. Returns what is paused by now.
    pub fn hand_over(&self, pid: Option<i32>) -> Paused {
        let mut step = self.chain.step();
        *step = Some(Successor { pid });
        self.gates.paused()
    }

    /// The daemon that has taken over is gone: this one is the one that serves.
    pub fn take_back(&self) {
        *self.chain.step() = None;
    }

    fn step(&self, by: &Operator) -> Result<Step<'_>, Refusal> {
        let step = self.chain.step();
        match *step {
            Some(successor) if !by.is_successor => Err(Refusal::TakenOver(successor.pid)),
            _ => Ok(step),
        }
    }

    fn check(&self, database: Option<&str>) -> Result<(), Refusal> {
        let Some(name) = database else { return Ok(()) };
        let is_before = || self.chain.predecessor().is_some_and(|predecessor| predecessor.may_have(name));
        match self.config().databases.contains_key(name) || is_before() {
            true => Ok(()),
            false => Err(Refusal::UnknownDatabase(name.to_owned())),
        }
    }
}
