//! From the greeting to the first OK packet: capabilities, TLS, authentication.

use crate::auth::{Authenticator, Channel, Plugin, Secret, ServerKey};
use crate::errors::Numbering;
use crate::limits;
use crate::packets::capabilities::Capabilities;
use crate::packets::compress::Algorithm;
use crate::packets::frame;
use crate::packets::handshake::{ClientHello, HandshakeResponse41, HandshakeV10, auth_switch_request};
use crate::packets::header;
use crate::packets::reply::{Completion, ServerError, StateChange};
use headrace_core::{Certificate, Fatal, FatalKind, WriteBuffer};

/// Whether the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    No,
    /// If the server offers it.
    Prefer,
    /// Fail without it.
    Require,
}

/// utf8mb4_general_ci, which has this number on every server since 5.5.3.
const UTF8MB4_GENERAL_CI: u8 = 45;
/// utf8mb4_0900_ai_ci, the default of MySQL 8.
const UTF8MB4_0900_AI_CI: u8 = 255;

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The user's name.
    pub user: String,
    /// The password, if there is one.
    pub password: Option<Secret>,
    /// The schema to begin in.
    pub database: Option<String>,
    /// Encryption.
    pub tls: Tls,
    /// The connection is a Unix socket, which nobody outside this machine can read.
    pub local: bool,
    /// Accept an unverified certificate if the server proves that it has the stored hash of the password, and has
    /// this certificate: MariaDB's zero-configuration TLS (11.4 and later). Code that sets this must pass the
    /// certificate's fingerprint to [`super::Machine::tls_ready`].
    pub certificate_by_password: bool,
    /// The plugins that may be used; empty allows all.
    pub plugins: Vec<Plugin>,
    /// What to do if a password has to be encrypted with the server's RSA key.
    pub server_key: ServerKey,
    /// Compression, if the server offers it.
    pub compression: Option<Algorithm>,
    /// `CLIENT_FOUND_ROWS`: an UPDATE counts the rows it found.
    pub found_rows: bool,
    /// `CLIENT_MULTI_STATEMENTS`: COM_QUERY may contain several statements.
    pub multi_statements: bool,
    /// `CLIENT_LOCAL_FILES`: LOAD DATA LOCAL may be used, for data that response handlers hand over.
    pub local_infile: bool,
    /// `CLIENT_INTERACTIVE`
    pub interactive: bool,
    /// The number of the connection's collation; by default utf8mb4's own on that server.
    pub collation: Option<u8>,
    /// Connection attributes. `_client_name` and `_client_version` are added if they are missing.
    /// With [`own_number`](super::own_number) among them, KILL QUERY is sent to no other server.
    pub attributes: Vec<(String, String)>,
    /// The number of replies that may be outstanding when another request is started, or another row of a batch is
    /// sent. With 1 there is no pipelining between requests, and statements are prepared before they are executed; only
    /// commands that belong together (the guard of a batch and its rows, a cursor and its first fetch) are still sent
    /// together.
    pub in_flight: usize,
    /// Capabilities to leave out even if the server offers them, for proxies that offer what they do not support.
    pub without: Capabilities,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            user: String::new(),
            password: None,
            database: None,
            tls: Tls::No,
            local: false,
            certificate_by_password: false,
            plugins: Vec::new(),
            server_key: ServerKey::Refuse,
            compression: None,
            found_rows: false,
            multi_statements: false,
            local_infile: false,
            interactive: false,
            collation: None,
            attributes: Vec::new(),
            in_flight: limits::COMMANDS_IN_FLIGHT,
            without: Capabilities::empty(),
        }
    }
}

/// The result of a startup.
#[derive(Debug)]
pub(super) enum Progress {
    Going,
    Ready(Completion, Vec<StateChange>),
    Refused(ServerError),
}

/// Its state.
///
/// | from | event | to |
/// |---|---|---|
/// | Greeting | HandshakeV10, TLS agreed: SSLRequest sent | AwaitTls |
/// | Greeting | HandshakeV10, no TLS: HandshakeResponse41 sent | Authenticating |
/// | AwaitTls | the TLS layer is in place: HandshakeResponse41 sent | Authenticating |
/// | Authenticating | AuthSwitchRequest, AuthMoreData: answered | Authenticating |
/// | Authenticating | OK | (the session) |
#[derive(Debug)]
enum StartupState {
    Greeting,
    AwaitTls,
    Authenticating(Box<Authenticator>),
}

#[derive(Debug)]
pub(super) struct Startup {
    options: SessionOptions,
    state: StartupState,
    greeting: Option<HandshakeV10>,
    capabilities: Capabilities,
    channel: Channel,
    fingerprint: Option<[u8; 32]>,
    sequence: u8,
}

impl Startup {
    /// Checks for values that would break the handshake's fields.
    pub fn new(options: SessionOptions) -> Result<Self, Fatal> {
        let channel = if options.local { Channel::Local } else { Channel::Plain };
        for (what, text) in [("user", Some(&options.user)), ("database", options.database.as_ref())] {
            if text.is_some_and(|text| text.contains('\0')) {
                return Err(Fatal::new(
                    FatalKind::UnusableSetting,
                    format!("the {what}'s name must not hold a NUL character"),
                ));
            }
        }
        Ok(Self {
            options,
            state: StartupState::Greeting,
            greeting: None,
            capabilities: Capabilities::empty(),
            channel,
            fingerprint: None,
            sequence: 0,
        })
    }

    /// The server's greeting and the negotiated capabilities, for the session that begins.
    pub fn into_agreement(self) -> (Option<HandshakeV10>, Capabilities, SessionOptions) {
        (self.greeting, self.capabilities, self.options)
    }

    /// Returns true if the server waits for the TLS handshake and must not send anything before it.
    pub fn awaits_tls(&self) -> bool {
        matches!(self.state, StartupState::AwaitTls)
    }

    fn send(&mut self, write_buffer: &mut WriteBuffer, write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence = frame::packet(write_buffer.tail(), self.sequence, write);
    }

    /// One packet of the server.
    pub fn packet(&mut self, sequence: u8, payload: &[u8], write_buffer: &mut WriteBuffer) -> Result<Progress, Fatal> {
        if let [header::ERR, ..] = payload {
            let mariadb = self.greeting.as_ref().is_some_and(|greeting| greeting.mariadb);
            return Ok(Progress::Refused(ServerError::read(payload, Numbering::of(mariadb))?));
        }
        if sequence != self.sequence {
            return Err(Fatal::peer(format!(
                "the server sent packet number {sequence} where {} was due in the handshake",
                self.sequence
            )));
        }
        self.sequence = sequence.wrapping_add(1);
        match (&mut self.state, payload) {
            (StartupState::Greeting, _) => self.greeting(payload, write_buffer)?,
            (StartupState::Authenticating(authenticator), [header::OK, ..]) => {
                let (ok, changes) = Completion::read_ok(payload, self.capabilities)?;
                if let (true, Channel::Tls) = (self.options.certificate_by_password, self.channel) {
                    let scramble = self.greeting.as_ref().map_or(&[][..], |greeting| &greeting.auth_plugin_data);
                    let proven = self
                        .fingerprint
                        .as_ref()
                        .is_some_and(|print| authenticator.certificate_is_proven(&ok.info, scramble, print));
                    if !proven {
                        return Err(Fatal::new(
                            FatalKind::TlsRefused,
                            "the server did not prove with the password that its certificate is its own; \
                             name the certificate authority, or a user with a password and a plugin that can prove it",
                        ));
                    }
                }
                let info = if ok.info.first() == Some(&1) { Vec::new() } else { ok.info.clone() };
                return Ok(Progress::Ready(Completion { info, ..ok }, changes));
            }
            (StartupState::Authenticating(_), [header::AUTH_SWITCH_REQUEST, ..]) => {
                let (name, data) = auth_switch_request(payload)?;
                let mut authenticator = self.authenticator(&name)?;
                let answer = authenticator.start(&data)?;
                self.state = StartupState::Authenticating(Box::new(authenticator));
                self.send(write_buffer, |out| out.extend_from_slice(&answer));
            }
            (StartupState::Authenticating(authenticator), [header::AUTH_MORE_DATA, data @ ..]) => {
                if let Some(answer) = authenticator.more(data)? {
                    self.send(write_buffer, |out| out.extend_from_slice(&answer));
                }
            }
            // parsec's salt comes without the byte of AuthMoreData.
            (StartupState::Authenticating(authenticator), data) if authenticator.plugin() == Plugin::Parsec => {
                if let Some(answer) = authenticator.more(data)? {
                    self.send(write_buffer, |out| out.extend_from_slice(&answer));
                }
            }
            _ => return Err(Fatal::peer("the server sent a packet that has no place in the handshake")),
        }
        Ok(Progress::Going)
    }

    fn authenticator(&self, name: &str) -> Result<Authenticator, Fatal> {
        let Some(plugin) = Plugin::of_name(name) else {
            return Err(Fatal::new(
                FatalKind::AuthenticationRefused,
                format!(
                    "the server asks for {name} authentication, which headrace does not support; \
                 give the account another plugin, such as caching_sha2_password or ed25519"
                ),
            ));
        };
        if !self.options.plugins.is_empty() && !self.options.plugins.contains(&plugin) {
            let allowed: Vec<_> = self.options.plugins.iter().map(|plugin| plugin.name()).collect();
            return Err(Fatal::new(
                FatalKind::AuthenticationRefused,
                format!("the server asks for {name} authentication, but only {} may be used", allowed.join(", ")),
            ));
        }
        let key = self.options.server_key.clone();
        let proves = matches!(plugin, Plugin::MysqlNativePassword | Plugin::ClientEd25519 | Plugin::Parsec);
        if self.options.certificate_by_password && self.channel == Channel::Tls && !proves {
            // The plugin might send the password itself, and the receiver is not verified.
            return Err(Fatal::new(FatalKind::TlsRefused, format!("{name} cannot prove the server's certificate")));
        }
        Ok(Authenticator::new(plugin, self.options.password.clone(), self.channel, key))
    }

    fn greeting(&mut self, payload: &[u8], write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let greeting = HandshakeV10::read(payload)?;
        self.capabilities = self.wanted() & greeting.capabilities;
        if !greeting.capabilities.contains(Capabilities::LONG_PASSWORD) {
            // Both sides support MariaDB's extended capabilities, so both leave it unset.
            self.capabilities -= Capabilities::LONG_PASSWORD;
        }
        if self.capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            self.capabilities -= Capabilities::COMPRESS;
        }
        let offered = greeting.capabilities.contains(Capabilities::SSL);
        self.greeting = Some(greeting);
        if self.capabilities.contains(Capabilities::SSL) {
            let hello = self.hello();
            self.send(write_buffer, |out| hello.write(out));
            self.state = StartupState::AwaitTls;
            return Ok(());
        }
        if self.options.tls == Tls::Require && !offered {
            return Err(Fatal::new(
                FatalKind::TlsRefused,
                "the server does not offer TLS, but the TLS mode requires it",
            ));
        }
        self.respond(write_buffer)
    }

    fn wanted(&self) -> Capabilities {
        let options = &self.options;
        let mut wanted = Capabilities::LONG_PASSWORD
            | Capabilities::LONG_FLAG
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS
            | Capabilities::PLUGIN_AUTH
            | Capabilities::CONNECT_ATTRS
            | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | Capabilities::SESSION_TRACK
            | Capabilities::DEPRECATE_EOF
            | Capabilities::MARIADB_STMT_BULK_OPERATIONS
            | Capabilities::MARIADB_EXTENDED_METADATA
            | Capabilities::MARIADB_CACHE_METADATA;
        wanted.set(Capabilities::FOUND_ROWS, options.found_rows);
        wanted.set(Capabilities::CONNECT_WITH_DB, options.database.is_some());
        wanted.set(Capabilities::COMPRESS, options.compression == Some(Algorithm::Zlib));
        let zstd = matches!(options.compression, Some(Algorithm::Zstd(_)));
        wanted.set(Capabilities::ZSTD_COMPRESSION_ALGORITHM, zstd);
        wanted.set(Capabilities::LOCAL_FILES, options.local_infile);
        wanted.set(Capabilities::MULTI_STATEMENTS, options.multi_statements);
        wanted.set(Capabilities::INTERACTIVE, options.interactive);
        // Capabilities that the protocol requires stay.
        wanted -= options.without - (Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION);
        wanted.set(Capabilities::SSL, options.tls != Tls::No);
        wanted
    }

    fn hello(&self) -> ClientHello {
        let mysql8 = self.greeting.as_ref().is_some_and(|greeting| !greeting.mariadb && greeting.version().0 >= 8);
        let default = if mysql8 { UTF8MB4_0900_AI_CI } else { UTF8MB4_GENERAL_CI };
        ClientHello {
            capabilities: self.capabilities,
            max_packet_size: limits::MESSAGE_BYTES as u32,
            collation: self.options.collation.unwrap_or(default),
        }
    }

    /// The TLS layer is in place.
    pub fn tls_ready(&mut self, certificate: Certificate, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        if !self.awaits_tls() {
            return Ok(());
        }
        self.channel = Channel::Tls;
        self.fingerprint = certificate.fingerprint;
        if certificate.verified {
            // The certificate is verified; skip the fingerprint check by password (MariaDB zero-configuration TLS).
            self.options.certificate_by_password = false;
        }
        self.respond(write_buffer)
    }

    /// Sends HandshakeResponse41.
    fn respond(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let Some(greeting) = self.greeting.clone() else { return Err(Fatal::peer("there was no greeting")) };
        // Without CLIENT_PLUGIN_AUTH there is only one.
        let named = match greeting.auth_plugin_name.as_str() {
            "" => Plugin::MysqlNativePassword.name(),
            name => name,
        };
        // A plugin that is unknown, not allowed or cannot use the greeting's data answers with an empty response: the
        // server then requests a switch, or refuses.
        let (name, mut authenticator) = match self.authenticator(named) {
            Ok(authenticator) => (named.to_owned(), authenticator),
            Err(_) => {
                let plugin = self.options.plugins.first().copied().unwrap_or(Plugin::MysqlNativePassword);
                (plugin.name().to_owned(), self.authenticator(plugin.name())?)
            }
        };
        let suits = name == named && authenticator.plugin().answers_greeting();
        let answer = if suits { authenticator.start(&greeting.auth_plugin_data)? } else { Vec::new() };
        let mut attributes = self.options.attributes.clone();
        for (name, value) in [("_client_name", "headrace"), ("_client_version", env!("CARGO_PKG_VERSION"))] {
            if !attributes.iter().any(|(given, _)| given == name) {
                attributes.push((name.to_owned(), value.to_owned()));
            }
        }
        let response = HandshakeResponse41 {
            hello: self.hello(),
            username: &self.options.user,
            auth_response: &answer,
            database: self.options.database.as_deref(),
            client_plugin_name: &name,
            attributes: &attributes,
            zstd_level: match self.options.compression {
                Some(Algorithm::Zstd(level)) => level,
                _ => 0,
            },
        };
        self.sequence = frame::packet(write_buffer.tail(), self.sequence, |out| response.write(out));
        self.state = StartupState::Authenticating(Box::new(authenticator));
        Ok(())
    }
}
