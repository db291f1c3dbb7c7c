//! The opening of a session: the hello, TLS, what to connect to, and the reply.

use crate::messages::login::{self, Answer, Connected, DbInfo, SESSION_BYTES, SessionId};
use crate::messages::server::ServerError;
use crate::messages::{self, CasInfo, HEADER_BYTES, Reader, change_mode, client, tran};
use crate::types::encode::coded;
use headrace_core::{CodeSet, Fatal, FatalKind, Mismatch, ReadBuffer, WriteBuffer};
use std::fmt;

/// A password, which is not shown.
#[derive(Clone, Default)]
pub struct Secret(pub Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The broker's host, which a broker on Windows has its processes listen on, too.
    pub host: String,
    /// The broker's port, to which a session that was lost is connected again.
    pub port: u16,
    /// The database.
    pub database: String,
    /// The user; empty is PUBLIC.
    pub user: String,
    /// The password.
    pub password: Option<Secret>,
    /// The connection is encrypted.
    pub tls: bool,
    /// The first two messages are sent together, which saves a round trip. Not for brokers on Windows: they answer the
    /// first with a port.
    pub sends_ahead: bool,
    /// The session to resume; zeros for a new one.
    pub session: SessionId,
    /// The broker may not give the CAS to another client between two transactions, so that statements outside of a
    /// transaction block are pipelined. It costs a round trip when the session is opened; and if every CAS of the
    /// broker (MAX_NUM_APPL_SERVER) is kept so, further clients wait until a session ends.
    pub keeps_cas: bool,
    /// The time limit of each statement in milliseconds; 0 for none.
    pub query_timeout_millis: i32,
    /// The code set of the database.
    pub codeset: CodeSet,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 0,
            database: String::new(),
            user: String::new(),
            password: None,
            tls: false,
            sends_ahead: true,
            session: [0; SESSION_BYTES],
            keeps_cas: false,
            query_timeout_millis: 0,
            codeset: CodeSet::Utf8,
        }
    }
}

impl SessionOptions {
    /// The second message.
    fn db_info(&self) -> Result<Vec<u8>, Fatal> {
        let unusable = |mismatch: Mismatch| Fatal::new(FatalKind::UnusableSetting, mismatch.message);
        let info = DbInfo {
            database: &coded(self.database.as_bytes(), self.codeset).map_err(unusable)?,
            user: &coded(self.user.as_bytes(), self.codeset).map_err(unusable)?,
            password: self.password.as_ref().map_or(b"", |Secret(password)| password),
            session: self.session,
        };
        let mut out = Vec::new();
        info.write(&mut out).map_err(|what| {
            let message =
                format!("the {what} is longer than the 31 bytes that CUBRID's login has for it, or has a NUL");
            Fatal::new(FatalKind::UnusableSetting, message)
        })?;
        Ok(out)
    }
}

#[derive(Debug)]
enum StartupState {
    /// The hello was sent.
    Greeted,
    /// TLS is to be put in place.
    AwaitsTls,
    /// The broker has named this port.
    Redirected(u16),
    /// The database info was sent.
    Connecting,
    /// The session is open: this number of replies is to come to what follows the login.
    Following(Connected, usize),
}

/// A session that is being opened.
#[derive(Debug)]
pub(super) struct Startup {
    state: StartupState,
    host: String,
    tls: bool,
    /// The database info was sent with the hello.
    is_ahead: bool,
    /// What the session is opened for.
    purpose: Purpose,
    keeps_cas: bool,
    /// Parameters that the session had before it was lost: they are those of the CAS.
    parameters: Vec<(i32, i32)>,
    codeset: CodeSet,
    db_info: Secret,
}

/// What a session is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be used at some time: until then the broker may give the CAS to another client.
    New,
    /// For requests that wait: the transaction that the login has opened is theirs.
    Resume,
}

/// What has come of the broker's bytes.
pub(super) enum Progress {
    /// Not enough.
    Going,
    /// The server refuses the session.
    Refused(ServerError),
    /// The session is open.
    Ready(Connected, CasInfo),
}

impl Startup {
    /// The session that is open, while replies to what follows the login are to come.
    pub fn following(&self) -> Option<&Connected> {
        match &self.state {
            StartupState::Following(connected, _) => Some(connected),
            _ => None,
        }
    }

    /// Ends the transaction of a session that is open, for which there is nothing to do.
    pub fn end_transaction(&mut self, connected: Connected, info: CasInfo, write_buffer: &mut WriteBuffer) {
        client::end_tran(write_buffer.tail(), info, tran::COMMIT);
        self.state = StartupState::Following(connected, 1);
    }

    /// Writes the first message, or both.
    pub fn new(
        options: &SessionOptions,
        purpose: Purpose,
        parameters: Vec<(i32, i32)>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<Self, Fatal> {
        let mut db_info = options.db_info()?;
        if purpose == Purpose::New {
            // The CAS begins with a transaction (`CON_STATUS_IN_TRAN`, `src/broker/cas.c`), and as long as it has one no
            // other client gets it. CUBRID's own client ends it, too (`cci_connect`), with a round trip of its own.
            client::end_tran(&mut db_info, CasInfo::FIRST, tran::COMMIT);
        }
        let is_ahead = options.sends_ahead && !options.tls;
        login::hello(write_buffer.tail(), options.tls);
        if is_ahead {
            write_buffer.tail().extend_from_slice(&db_info);
        }
        Ok(Self {
            state: StartupState::Greeted,
            host: options.host.clone(),
            tls: options.tls,
            is_ahead,
            purpose,
            keeps_cas: options.keeps_cas,
            codeset: options.codeset,
            parameters,
            db_info: Secret(db_info),
        })
    }

    pub fn awaits_tls(&self) -> bool {
        matches!(self.state, StartupState::AwaitsTls)
    }

    /// Host and port of the CAS, if the broker has named one.
    pub fn redirect(&self) -> Option<(&str, u16)> {
        match self.state {
            StartupState::Redirected(port) => Some((&self.host, port)),
            _ => None,
        }
    }

    pub fn tls_ready(&mut self, write_buffer: &mut WriteBuffer) {
        if self.awaits_tls() {
            self.connect(write_buffer);
        }
    }

    /// The connection leads to the CAS that the broker has named; it expects no hello.
    pub fn reconnected(&mut self, write_buffer: &mut WriteBuffer) {
        self.is_ahead = false;
        self.accepted(write_buffer);
    }

    fn accepted(&mut self, write_buffer: &mut WriteBuffer) {
        if self.tls { self.state = StartupState::AwaitsTls } else { self.connect(write_buffer) }
    }

    fn connect(&mut self, write_buffer: &mut WriteBuffer) {
        if !self.is_ahead {
            write_buffer.tail().extend_from_slice(&self.db_info.0);
        }
        self.state = StartupState::Connecting;
    }

    /// Handles what has come.
    pub fn read(&mut self, read_buffer: &mut ReadBuffer, write_buffer: &mut WriteBuffer) -> Result<Progress, Fatal> {
        loop {
            let unread = read_buffer.unread();
            match self.state {
                StartupState::Greeted => {
                    let Some(answer) = Answer::read(unread)? else { return Ok(Progress::Going) };
                    read_buffer.consume(login::ANSWER_BYTES);
                    match answer {
                        Answer::Accepted => self.accepted(write_buffer),
                        Answer::Port(port) => self.state = StartupState::Redirected(port),
                        Answer::Refused(code) => return Ok(Progress::Refused(ServerError::cas(code))),
                    }
                }
                StartupState::AwaitsTls if !unread.is_empty() => {
                    return Err(Fatal::peer(
                        "the server sent data before the TLS handshake; this may be a man-in-the-middle attack",
                    ));
                }
                StartupState::AwaitsTls | StartupState::Redirected(_) => return Ok(Progress::Going),
                StartupState::Connecting | StartupState::Following(..) => {
                    let Some((length, info)) = messages::header(unread)? else { return Ok(Progress::Going) };
                    let total = HEADER_BYTES + length;
                    let Some(payload) = unread.get(HEADER_BYTES..total) else {
                        read_buffer.want(total);
                        return Ok(Progress::Going);
                    };
                    let (connected, due) = if let StartupState::Following(connected, due) = self.state {
                        let refused = ServerError::read(Reader::coded(payload, self.codeset))?;
                        read_buffer.consume(total);
                        if let Some(error) = refused {
                            return Ok(Progress::Refused(error));
                        }
                        (connected, due - 1)
                    } else {
                        let connected = Connected::read(Reader::coded(payload, self.codeset))?;
                        read_buffer.consume(total);
                        match connected {
                            Ok(connected) => (check(connected)?, self.follow(info, write_buffer)),
                            Err(error) => return Ok(Progress::Refused(error)),
                        }
                    };
                    if due == 0 {
                        return Ok(Progress::Ready(connected, info));
                    }
                    self.state = StartupState::Following(connected, due);
                }
            }
        }
    }

    /// Sends what follows the login, if it has not been sent with it. Returns the number of replies to come.
    fn follow(&self, info: CasInfo, write_buffer: &mut WriteBuffer) -> usize {
        for (parameter, value) in &self.parameters {
            client::set_db_parameter(write_buffer.tail(), info, *parameter, *value);
        }
        if self.keeps_cas {
            client::set_cas_change_mode(write_buffer.tail(), info, change_mode::KEEP);
        }
        self.parameters.len() + usize::from(self.keeps_cas) + usize::from(self.purpose == Purpose::New)
    }
}

/// Refuses a server whose replies have another layout, or that is not CUBRID.
fn check(connected: Connected) -> Result<Connected, Fatal> {
    let version = connected.broker.protocol_version();
    let message = if connected.broker.dbms != login::DBMS_CUBRID {
        format!("the broker is not in front of a CUBRID database (its kind is {})", connected.broker.dbms)
    } else if version < login::OLDEST_VERSION {
        format!("the server's protocol has version {version}; CUBRID 10.2 or later is needed")
    } else {
        return Ok(connected);
    };
    Err(Fatal::new(FatalKind::UnsupportedServer, message))
}
