//! The console: a database called `pgbouncer` that has no server, with the commands of PgBouncer and the columns of its
//! tables (its documentation, "Admin console"), so that programs that watch a PgBouncer can watch this daemon.

mod command;
mod tables;
pub mod totals;

use crate::client::{Client, Peer};
use crate::config::Daemon;
use crate::front::messages::{Broken, Message, length};
use crate::front::replies::{self as rows, Failure};
use crate::hub::Hub;
use crate::leaving;
use crate::limits::LOOK;
use crate::orders::{Operator, Refusal};
use crate::registry::Entered;
use crate::replies::{self, CANCELLED, Ended, NOT_ALLOWED, PROTOCOL_VIOLATION};
use crate::takeover::Order;
use command::{Command, Table};
use headrace_core::TransactionStatus;
use headrace_io::Progress;
use headrace_postgres::messages::tag::backend as tag;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the database, and of the user that the daemon's own is.
pub const NAME: &str = "pgbouncer";

/// The version of PgBouncer whose columns the tables have.
const VERSION: &str = "1.26.1";

/// What a user of the console may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// See the tables.
    Stats,
    /// Give orders, too.
    Admin,
}

impl Access {
    /// What this user may do, who has proved who it is.
    ///
    /// # Errors
    /// [`Ended`]: nothing.
    pub fn of(daemon: &Daemon, peer: &Peer, user: &str) -> Result<Self, Ended> {
        let has = |users: &[String]| users.iter().any(|known| known == user);
        if has(&daemon.admin_users) || peer.own && user == NAME {
            Ok(Self::Admin)
        } else if has(&daemon.stats_users) {
            Ok(Self::Stats)
        } else {
            let what = format!("headraced: {user:?} may not use the console (admin_users, stats_users)");
            Err(Ended::new(NOT_ALLOWED, what))
        }
    }
}

/// The settings that a client is told, and that SHOW and SET accept, as clients ask for them.
const SETTINGS: [(&str, &str); 7] = [
    ("server_version", "1.26.1/bouncer"),
    ("client_encoding", "UTF8"),
    ("server_encoding", "UTF8"),
    ("DateStyle", "ISO"),
    ("TimeZone", "GMT"),
    ("standard_conforming_strings", "on"),
    ("is_superuser", "on"),
];

/// Serves a client until it leaves.
///
/// # Errors
/// [`Ended`]: the client is to be told why its connection ends.
pub async fn serve(client: &mut Client, access: Access, hub: &Arc<Hub>, entered: &Entered<'_>) -> Result<(), Ended> {
    let parameters: BTreeMap<String, String> =
        SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    replies::startup(client.buffers.write_buffer.tail(), &parameters, entered.key());
    let mut console = Console { client, access, hub, entered, is_skipping: false };
    console.run().await?;
    client.flush().await;
    Ok(())
}

struct Console<'a> {
    client: &'a mut Client,
    access: Access,
    hub: &'a Arc<Hub>,
    entered: &'a Entered<'a>,
    /// An error was sent for a message of the extended protocol: what comes up to Sync is passed over.
    is_skipping: bool,
}

impl Console<'_> {
    async fn run(&mut self) -> Result<(), Ended> {
        let mut left = self.hub.left.clone();
        loop {
            while let Some(message) = self.next()? {
                match Message::read(&message).map_err(broken)? {
                    Message::Terminate => return Ok(()),
                    Message::Query(text) => {
                        if self.query(text).await?.is_none() {
                            return Ok(());
                        }
                        self.ready();
                    }
                    Message::Sync => {
                        self.is_skipping = false;
                        self.ready();
                    }
                    Message::Flush => {}
                    _ if self.is_skipping => {}
                    _ => {
                        self.is_skipping = true;
                        let what = "headraced: the console has the simple protocol only, as that of PgBouncer";
                        self.fail(&Failure::unsupported(what));
                    }
                }
            }
            let client = &mut *self.client;
            tokio::select! {
                moved = client.stream.exchange(&mut client.buffers, true) => {
                    if let Ok(Progress::Eof) | Err(_) = moved {
                        return Ok(());
                    }
                }
                ended = leaving::due(&mut left) => return Err(ended),
                ended = self.entered.client.killed() => return Err(ended),
            }
        }
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Ended> {
        let read_buffer = &mut self.client.buffers.read_buffer;
        let unread = read_buffer.unread();
        let Some(length) = length(unread).map_err(broken)? else { return Ok(None) };
        if unread.len() < length {
            return Ok(None);
        }
        let message = unread[..length].to_vec();
        read_buffer.consume(length);
        Ok(Some(message))
    }

    fn out(&mut self) -> &mut Vec<u8> {
        self.client.buffers.write_buffer.tail()
    }

    fn ready(&mut self) {
        rows::ready(self.out(), TransactionStatus::Idle);
    }

    fn fail(&mut self, failure: &Failure) {
        failure.write(self.out());
    }

    /// Executes a text; `None` if the client has left meanwhile.
    async fn query(&mut self, text: &str) -> Result<Option<()>, Ended> {
        // One that has come before is for nothing that comes now.
        self.entered.client.take_cancel().await;
        let command = match Command::read(text) {
            Ok(Some(command)) => command,
            Ok(None) => {
                rows::bare(self.out(), tag::EMPTY_QUERY_RESPONSE);
                return Ok(Some(()));
            }
            Err(failure) => {
                self.fail(&failure);
                return Ok(Some(()));
            }
        };
        if command.orders() && self.access != Access::Admin {
            self.fail(&Failure::new("42501", "headraced: only admin_users may do this"));
            return Ok(Some(()));
        }
        let name = command.name();
        match self.carry_out(command).await? {
            Some(Ok(())) => rows::complete(self.out(), name),
            Some(Err(failure)) => self.fail(&failure),
            None => return Ok(None),
        }
        Ok(Some(()))
    }

    async fn carry_out(&mut self, command: Command) -> Result<Option<Result<(), Failure>>, Ended> {
        let refused = |refusal: Refusal| {
            let sqlstate = match refusal {
                Refusal::UnknownDatabase(_) => "3D000",
                Refusal::UnknownClient(_) => "42704",
                Refusal::TakenOver(_) => "57P01",
            };
            Failure::new(sqlstate, format!("headraced: {refusal}"))
        };
        let (hub, by) = (Arc::clone(self.hub), Operator::of_console(&self.entered.client));
        let done = match &command {
            Command::Show(Table::Help) => {
                let notice = Failure { detail: Some(command::HELP.into()), ..Failure::new("00000", "Console usage") };
                notice.write_notice(self.out());
                Ok(())
            }
            Command::Show(table) => {
                tables::write(self.out(), &hub, *table);
                Ok(())
            }
            Command::ShowSetting(at) => {
                let (name, value) = SETTINGS[*at];
                tables::write_setting(self.out(), name, value);
                Ok(())
            }
            Command::Set => Ok(()),
            Command::Reload => hub.read_again(&by).map_err(|what| Failure::new("F0000", format!("headraced: {what}"))),
            Command::Pause(database) => match hub.order(Order::Pause(database.clone()), &by) {
                Ok(()) => return self.wait(database.as_deref()).await,
                Err(refusal) => Err(refused(refusal)),
            },
            Command::WaitClose(database) => return self.wait(database.as_deref()).await,
            Command::Resume(database) if !hub.is_paused(database.as_deref()) => {
                let what = database.as_deref().map_or("no database".to_owned(), |name| format!("database {name}"));
                let is = if database.is_some() { "is not paused" } else { "is paused" };
                Err(Failure::new("55000", format!("headraced: {what} {is}")))
            }
            Command::Resume(database) => hub.order(Order::Resume(database.clone()), &by).map_err(refused),
            Command::Reconnect(database) => hub.order(Order::Reconnect(database.clone()), &by).map_err(refused),
            Command::Kill(database) => hub.order(Order::Kill(database.clone()), &by).map_err(refused),
            Command::KillClient(number) => hub.kill_client(*number, &by).await.map_err(refused),
        };
        Ok(Some(done))
    }

    /// Waits until the server connections of before are closed, those of older daemons included; `None` if the client
    /// leaves before.
    async fn wait(&mut self, database: Option<&str>) -> Result<Option<Result<(), Failure>>, Ended> {
        let (hub, of) = (self.hub, &self.entered.client);
        let closed = async {
            while !hub.closing(database).await.is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let waited = async {
            tokio::select! {
                biased;
                () = closed => Ok(()),
                () = of.interrupt.notified() => {
                    Err(Failure::new(CANCELLED, "headraced: the wait was cancelled; what was ordered remains"))
                }
            }
        };
        of.unless_killed(self.client.while_connected(waited)).await
    }
}

fn broken(what: Broken) -> Ended {
    let (Broken::Malformed(what) | Broken::TooLarge(what)) = what;
    Ended::new(PROTOCOL_VIOLATION, format!("headraced: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn console_is_for_its_users() {
        let daemon = Daemon {
            admin_users: vec!["root".into(), "both".into()],
            stats_users: vec!["watcher".into(), "both".into()],
            ..Daemon::default()
        };
        let peer = |own| Peer { process: None, user: None, own, address: None };
        for (own, user, expected) in [
            (true, "pgbouncer", Some(Access::Admin)),
            (false, "pgbouncer", None),
            (true, "jo", None),
            (true, "root", Some(Access::Admin)),
            (false, "root", Some(Access::Admin)),
            (false, "watcher", Some(Access::Stats)),
            (false, "both", Some(Access::Admin)),
            (false, "", None),
        ] {
            assert_eq!(Access::of(&daemon, &peer(own), user).ok(), expected, "{own} {user}");
        }
        assert!(SETTINGS[0].1.starts_with(VERSION));
    }
}
