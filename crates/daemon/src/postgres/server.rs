//! One connection to a server, which is lent to one client after the other.

use super::relay::ServerState;
use crate::config::Database;
use crate::limits::{CONNECT_TIMEOUT, RESET_TIMEOUT, SERVER_STATEMENTS};
use headrace_connection::{Buffers, Connection, TlsSettings};
use headrace_core::rows::Collector;
use headrace_core::{Cancellation, Fatal, FatalKind, Session, TransactionStatus, WriteBuffer};
use headrace_io::tokio::{Client, Stream, cancel};
use headrace_io::{Address, Progress, TcpOptions};
use headrace_postgres::machine::{Binding, Columns, Machine, Options, Purpose, Secret, Tls};
use headrace_postgres::messages::backend::{ServerError, header, parameter_status, transaction_status};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{backend, field};
use headrace_tls::{Roots, TlsConfig, Verify};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

/// An open session of a server.
#[derive(Debug)]
pub struct Server {
    /// Its socket.
    pub stream: Stream,
    /// What was received and what is to be sent.
    pub buffers: Buffers,
    /// What the session has.
    pub state: ServerState,
    /// How its statement is cancelled.
    pub cancel: Cancel,
    /// When it was last used.
    pub used: Instant,
}

/// Cancels whatever statement runs on a server connection.
#[derive(Clone, Debug)]
pub struct Cancel {
    address: Address,
    message: Vec<u8>,
}

impl Cancel {
    /// Sends CancelRequest, and waits until the server has acted on it.
    ///
    /// # Errors
    /// [`Fatal`]: the server was not reached.
    pub async fn send(&self) -> Result<(), Fatal> {
        match timeout(RESET_TIMEOUT, cancel(&self.address, &TcpOptions::default(), self.message.clone())).await {
            Ok(sent) => sent,
            Err(_) => Err(Fatal::new(FatalKind::NoAnswer, "the server did not take a CancelRequest in time")),
        }
    }
}

impl Server {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`Fatal`] with the reason, such as the server's own.
    pub async fn open(database: &Database, parameters: &[(String, String)]) -> Result<Self, Fatal> {
        match timeout(CONNECT_TIMEOUT, Self::log_in(database, parameters)).await {
            Ok(opened) => opened,
            Err(_) => {
                let reason = format!("the server did not open a session within {} s", CONNECT_TIMEOUT.as_secs());
                Err(Fatal::new(FatalKind::NoAnswer, reason))
            }
        }
    }

    async fn log_in(database: &Database, parameters: &[(String, String)]) -> Result<Self, Fatal> {
        let tls = database.sslmode.settings(database);
        let user =
            parameters.iter().find(|(name, _)| name == "user").map_or_else(String::new, |(_, user)| user.clone());
        let options = Options {
            purpose: Purpose::Session,
            parameters: parameters.to_vec(),
            user,
            password: database.password()?.map(|password| Secret(password.into_bytes())),
            tls: if tls.is_some() { Tls::Require } else { Tls::No },
            binding: Binding::Prefer,
            methods: Vec::new(),
        };
        let mut write_buffer = WriteBuffer::new();
        let machine: Machine<Collector<Arc<Columns>, ServerError>> = Machine::new(options, 0, &mut write_buffer);
        let connection = Connection::new(Box::new(machine), write_buffer, tls);
        let address = database.address().await?;
        let client = Client::open(&address, &TcpOptions::default(), connection, ()).await?;
        let (connection, stream) = client.into_parts();
        let Cancellation::Message(message) = connection.machine.cancellation() else {
            return Err(Fatal::peer("the session has no key to cancel by"));
        };
        Ok(Self {
            stream,
            state: ServerState::new(connection.machine.parameters().clone(), SERVER_STATEMENTS),
            buffers: connection.buffers,
            cancel: Cancel { address, message },
            used: Instant::now(),
        })
    }

    /// Makes the session as if it was new, but for the settings that are reported.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub async fn reset(&mut self) -> Result<(), Fatal> {
        if self.state.status != TransactionStatus::Idle {
            self.run("ROLLBACK").await?;
        }
        self.run("DISCARD ALL").await?;
        self.state.prepared.clear();
        Ok(())
    }

    /// Gives the session the settings of a client, where they differ.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub async fn adapt(&mut self, wanted: &BTreeMap<String, String>) -> Result<(), Fatal> {
        let mut sql = String::new();
        for (name, value) in wanted {
            if is_settable(name) && self.state.parameters.get(name).is_some_and(|own| own != value) {
                sql.push_str(&format!("SET SESSION {name} TO '{}';", value.replace('\'', "''")));
            }
        }
        if sql.is_empty() { Ok(()) } else { self.run(&sql).await }
    }

    /// Runs a text whose rows nobody wants, and waits for its end.
    ///
    /// # Errors
    /// [`Fatal`]: the connection is lost, or the server refuses the text.
    pub async fn run(&mut self, sql: &str) -> Result<(), Fatal> {
        frontend::query(self.buffers.write_buffer.tail(), "", sql);
        match timeout(RESET_TIMEOUT, self.until_ready()).await {
            Ok(done) => done,
            Err(_) => Err(Fatal::new(FatalKind::NoAnswer, "the server did not answer in time")),
        }
    }

    async fn until_ready(&mut self) -> Result<(), Fatal> {
        let mut refused = None;
        loop {
            while let Some((tag, length)) = header(self.buffers.read_buffer.unread())? {
                if self.buffers.read_buffer.unread().len() < length {
                    self.buffers.read_buffer.want(length);
                    break;
                }
                let body = &self.buffers.read_buffer.unread()[5..length];
                match tag {
                    backend::ERROR_RESPONSE => refused = Some(ServerError::parse(body)?),
                    backend::PARAMETER_STATUS => {
                        let (name, value) = parameter_status(body)?;
                        self.state.parameters.insert(name, value);
                    }
                    backend::READY_FOR_QUERY => {
                        self.state.status = transaction_status(body)?;
                        self.buffers.read_buffer.consume(length);
                        return match refused {
                            None => Ok(()),
                            Some(error) => Err(Fatal::peer(error.field(field::MESSAGE).to_owned())),
                        };
                    }
                    _ => {}
                }
                self.buffers.read_buffer.consume(length);
            }
            if self.stream.exchange(&mut self.buffers, true).await? == Progress::Eof {
                return Err(Fatal::end_of_input());
            }
        }
    }

    /// Returns true if the server has sent nothing since it was last used: what an idle session sends is that it ends,
    /// or a change of a setting.
    pub fn is_quiet(&mut self) -> bool {
        matches!(self.stream.pull_available(&mut self.buffers), Ok(None)) && self.buffers.read_buffer.is_empty()
    }
}

/// The settings that a server reports and a client can change (manual, "Asynchronous Operations").
const SETTABLE: [&str; 8] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "IntervalStyle",
    "search_path",
    "standard_conforming_strings",
    "TimeZone",
];

/// Returns true if a setting is one that a server reports, and a client can change.
pub fn is_settable(name: &str) -> bool {
    SETTABLE.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// How TLS is negotiated, and what is verified; libpq's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// No TLS.
    #[default]
    Disable,
    /// TLS, with whoever is there.
    Require,
    /// TLS, with a certificate of a trusted authority.
    VerifyCa,
    /// The same, for this host.
    VerifyFull,
}

impl SslMode {
    /// The settings of TLS for a database; `None` without TLS.
    pub fn settings(self, database: &Database) -> Option<TlsSettings> {
        let verify = match self {
            Self::Disable => return None,
            Self::Require => Verify::None,
            Self::VerifyCa => Verify::Ca,
            Self::VerifyFull => Verify::Full,
        };
        let roots = database.sslrootcert.clone().map_or(Roots::System, Roots::File);
        let config = TlsConfig { verify, roots, client: None, only_tls13: false, alpn: Vec::new(), sni: true };
        Some(TlsSettings { config, server_name: database.host.clone() })
    }
}
