//! From the first byte to a session: CONREQ, then SQ_PROTOCOLS, SQ_INFO and SQ_DBOPEN in one flight, then the query for
//! the database's code set unless the user named it. If PAM asks questions, they come after SQ_PROTOCOLS, and nothing
//! is sent ahead of them.

use super::Machine;
use super::locale::{self, DEFAULT};
use super::statement::{Columns, Statement};
use crate::capabilities::{self, Capabilities, Feature};
use crate::codeset::CodeSet;
use crate::messages::login::{self, Answer, ConnectionRequest};
use crate::messages::server::{Message, ServerError};
use crate::messages::{client, tag};
use headrace_core::{Epoch, Fatal, FatalKind, ReadBuffer, WriteBuffer};
use std::fmt;
use std::sync::Arc;

/// A password that no Debug output shows.
#[derive(Clone)]
pub struct Secret(pub Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// The settings of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// The user.
    pub user: String,
    /// The password.
    pub password: Option<Secret>,
    /// DBSERVERNAME.
    pub server: String,
    /// The database; without one a DATABASE statement has to follow.
    pub database: Option<String>,
    /// Variables of the login (CLIENT_LOCALE, DB_LOCALE, DBDATE, DELIMIDENT, …).
    pub environment: Vec<(String, String)>,
    /// Variables of the session (OPTCOMPIND, PDQPRIORITY, …).
    pub session: Vec<(String, String)>,
    /// The code set of the database if it is known; otherwise it is queried.
    pub codeset: Option<CodeSet>,
    /// The connection is encrypted from its first byte.
    pub tls: bool,
    /// Questions at login are expected, so that nothing is sent ahead of them.
    pub pam: bool,
    /// The name of the program, as the server shows it.
    pub program: String,
    /// The client's host.
    pub host: String,
    /// The client's working directory.
    pub directory: String,
    /// The client's process.
    pub process_id: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartupState {
    Tls,
    Login,
    Protocols,
    Pam,
    Info,
    Database,
    LocalePrepare,
    LocaleFetch,
}

/// A session being set up.
#[derive(Debug)]
pub(super) struct Startup {
    options: SessionOptions,
    state: StartupState,
    error: Option<ServerError>,
    /// The answers to the questions at login were accepted.
    accepted: bool,
    /// The columns of the query for the locale, and its statement.
    locale: Option<(u16, Arc<Columns>)>,
}

impl Startup {
    pub(super) fn new(options: SessionOptions, write_buffer: &mut WriteBuffer) -> Result<Self, Fatal> {
        let mut startup = Self { options, state: StartupState::Tls, error: None, accepted: false, locale: None };
        startup.begin(write_buffer)?;
        Ok(startup)
    }

    fn begin(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if self.options.tls {
            self.state = StartupState::Tls;
            return Ok(());
        }
        self.state = StartupState::Login;
        self.log_in(write_buffer)
    }

    /// Starts again with the server that another one has redirected to; without a name the name of the first is used.
    pub(super) fn begin_again(&mut self, server: String, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if !server.is_empty() {
            self.options.server = server;
        }
        self.begin(write_buffer)
    }

    fn log_in(&self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let options = &self.options;
        let request = ConnectionRequest {
            user: &options.user,
            password: options.password.as_ref().map(|secret| secret.0.as_slice()),
            server: &options.server,
            environment: &options.environment,
            process_id: options.process_id,
            host: &options.host,
            directory: &options.directory,
            program: &options.program,
        };
        request.write(write_buffer.tail())
    }

    /// Settings of the session, and its database.
    fn open_session(&self, write_buffer: &mut WriteBuffer) {
        let out = write_buffer.tail();
        client::info_environment(out, &self.options.session);
        client::eot(out);
        if let Some(database) = &self.options.database {
            client::dbopen(out, database.as_bytes());
            client::eot(out);
        }
    }

    pub(super) fn awaits_tls(&self) -> bool {
        self.state == StartupState::Tls
    }

    pub(super) fn tls_ready(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if self.state == StartupState::Tls {
            self.state = StartupState::Login;
            self.log_in(write_buffer)?;
        }
        Ok(())
    }
}

impl<H: super::IfxHandler> Machine<H> {
    /// Continues the session; returns true if it has to be called again.
    pub(super) fn start(
        &mut self,
        startup: &mut Startup,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<Progress, Fatal> {
        match startup.state {
            // A server that redirects sends nothing else.
            _ if self.redirect.is_some() => Ok(Progress::Wait),
            StartupState::Tls => Ok(Progress::Wait),
            StartupState::Login => {
                let Some(total) = login::length(read_buffer.unread())? else { return Ok(Progress::Wait) };
                let Some(packet) = read_buffer.unread().get(..total) else {
                    read_buffer.want(total);
                    return Ok(Progress::Wait);
                };
                let answer = login::answer(packet)?;
                read_buffer.consume(total);
                self.logged_in(startup, answer, write_buffer)?;
                Ok(Progress::Again)
            }
            _ => {
                if !self.may_be_whole(read_buffer)? {
                    return Ok(Progress::Wait);
                }
                let (message, used) =
                    match crate::messages::server::read(read_buffer.unread(), self.capabilities, self.codeset) {
                        Ok(read) => read,
                        Err(Ok(total)) => {
                            self.needed = total;
                            self.may_be_whole(read_buffer)?;
                            return Ok(Progress::Wait);
                        }
                        Err(Err(fatal)) => return Err(fatal),
                    };
                let ready = self.set_up(startup, &message, write_buffer)?;
                read_buffer.consume(used);
                self.scan.reset();
                Ok(if ready { Progress::Ready } else { Progress::Again })
            }
        }
    }

    fn logged_in(
        &mut self,
        startup: &mut Startup,
        answer: Answer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        match answer {
            Answer::Accepted { banner, process_id } => {
                self.banner = banner;
                self.process_id = process_id;
            }
            Answer::Rejected { sqlcode, os_error, messages } => {
                let error = ServerError { sqlcode, isam: 0, offset: 0, token: startup.options.user.clone() };
                self.closing_error = Some(error);
                let mut reason = format!("the server rejected the connection with error {sqlcode}");
                if os_error != 0 {
                    reason += &format!(", operating system error {os_error}");
                }
                for message in messages {
                    reason += &format!("; {message}");
                }
                return Err(Fatal::new(FatalKind::LoginRefused, reason));
            }
            Answer::Redirect { server, host, port } => {
                self.redirect = Some((server, host, port));
                return Ok(());
            }
        }
        client::protocols(write_buffer.tail(), &capabilities::OFFER);
        client::eot(write_buffer.tail());
        if !startup.options.pam {
            startup.open_session(write_buffer);
        }
        startup.state = StartupState::Protocols;
        Ok(())
    }

    fn set_up(
        &mut self,
        startup: &mut Startup,
        message: &Message<'_>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<bool, Fatal> {
        match message {
            Message::Protocols(mask) if startup.state == StartupState::Protocols => {
                self.capabilities = Capabilities::negotiate(&capabilities::OFFER, mask);
                if self.capabilities.has(Feature::Pam) && !startup.options.pam {
                    // Groups that were sent ahead would be taken for answers: another connection has to wait for the
                    // questions.
                    self.asks_questions = true;
                    return Err(Fatal::new(
                        FatalKind::AuthenticationRefused,
                        "the server asks questions at login (PAM)",
                    ));
                }
            }
            Message::Challenge { style, text } if startup.state == StartupState::Pam => {
                self.challenge = Some((*style, DEFAULT.decode_string(text)));
            }
            Message::Accept if startup.state == StartupState::Pam => startup.accepted = true,
            Message::Err(error) => startup.error = Some(error.clone()),
            Message::Done { warnings, .. } if startup.state == StartupState::Database => self.opened(*warnings),
            Message::Describe(described) if startup.state == StartupState::LocalePrepare => {
                let sql = locale::QUERY.into();
                let statement = Statement::new(described.clone(), sql, Epoch::default(), self.capabilities, DEFAULT);
                startup.locale = statement.columns.map(|columns| (statement.id, columns));
            }
            Message::Tuple(row) if startup.state == StartupState::LocaleFetch => {
                if let Some((_, columns)) = &startup.locale {
                    self.locale = locale::in_row(columns, row)?;
                }
            }
            Message::Eot => return self.next_step(startup, write_buffer),
            Message::Done { .. } | Message::Cost | Message::XactStat { .. } => {}
            other => {
                return Err(Fatal::peer(format!(
                    "the server sent {} while the session was being set up",
                    other.name()
                )));
            }
        }
        Ok(false)
    }

    /// A group of the set-up is answered.
    fn next_step(&mut self, startup: &mut Startup, write_buffer: &mut WriteBuffer) -> Result<bool, Fatal> {
        let failed = startup.error.take();
        match (startup.state, failed) {
            (StartupState::LocalePrepare | StartupState::LocaleFetch, Some(_)) => startup.locale = None,
            (_, Some(error)) => {
                let reason = format!("the server refused the session with error {}", error.sqlcode);
                self.closing_error = Some(error);
                return Err(Fatal::new(FatalKind::LoginRefused, reason));
            }
            _ => {}
        }
        let out = write_buffer.tail();
        match startup.state {
            StartupState::Protocols if startup.options.pam && self.capabilities.has(Feature::Pam) => {
                client::plain(out, tag::SQ_ACK);
                client::eot(out);
                startup.state = StartupState::Pam;
            }
            StartupState::Protocols => {
                if startup.options.pam {
                    startup.open_session(write_buffer);
                }
                startup.state = StartupState::Info;
            }
            StartupState::Pam if startup.accepted => {
                startup.open_session(write_buffer);
                startup.state = StartupState::Info;
            }
            StartupState::Pam => {
                // Errors and messages are not questions, but are answered as such.
                if self.challenge.as_ref().is_some_and(|(style, _)| *style > 2) {
                    self.challenge = None;
                    client::response(out, b"");
                    client::eot(out);
                }
            }
            StartupState::Info if startup.options.database.is_some() => startup.state = StartupState::Database,
            StartupState::Database if startup.options.codeset.is_none() => {
                client::prepare(out, locale::QUERY.as_bytes(), 0, self.capabilities);
                client::eot(out);
                startup.state = StartupState::LocalePrepare;
            }
            StartupState::LocalePrepare if startup.locale.is_some() => {
                let id = startup.locale.as_ref().map_or(0, |(id, _)| *id);
                locale::fetch(out, id);
                startup.state = StartupState::LocaleFetch;
            }
            _ => {
                if let Some((id, _)) = startup.locale.take() {
                    self.clean_up(write_buffer, id, true, true);
                }
                self.given_codeset = startup.options.codeset;
                return self.settle_codeset().map(|()| true);
            }
        }
        Ok(false)
    }
}

/// The next step of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Wait,
    Again,
    Ready,
}
