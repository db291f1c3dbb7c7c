//! From the first byte to the first ReadyForQuery: TLS negotiation and authentication.

use crate::messages::backend::Body;
use crate::messages::frontend;
use crate::messages::tag::{authentication, tls_answer};
use headrace_core::{Fatal, FatalKind, NextStep, WriteBuffer};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use std::fmt;

/// Whether the connection is encrypted, and how that is negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    No,
    /// Send SSLRequest; continue in plain text if the server has no TLS.
    Prefer,
    /// Send SSLRequest; fail if the server has no TLS.
    Require,
    /// The connection is encrypted from its first byte (sslnegotiation=direct).
    Direct,
}

/// libpq's `channel_binding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Never.
    Disable,
    /// If the server offers it.
    Prefer,
    /// Fail without it.
    Require,
}

/// An authentication method, by the names of libpq's `require_auth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The password in clear text.
    Password,
    /// MD5 of password, user and salt.
    Md5,
    /// SCRAM-SHA-256, with or without channel binding.
    ScramSha256,
    /// The server requested no authentication.
    None,
}

impl Method {
    /// Its name in `require_auth`.
    pub fn name(self) -> &'static str {
        match self {
            Method::Password => "password",
            Method::Md5 => "md5",
            Method::ScramSha256 => "scram-sha-256",
            Method::None => "none",
        }
    }
}

/// A password. It is never printed.
#[derive(Clone)]
pub struct Secret(pub Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// A session.
    Session,
    /// To cancel the running statement of another session, with the message of its
    /// [`headrace_core::Session::cancellation`].
    Cancel(Vec<u8>),
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The purpose of the connection.
    pub purpose: Purpose,
    /// `user`, `database` and other parameters of StartupMessage, `user` among them.
    pub parameters: Vec<(String, String)>,
    /// The user's name.
    pub user: String,
    /// The password, if there is one.
    pub password: Option<Secret>,
    /// Encryption.
    pub tls: Tls,
    /// Channel binding.
    pub binding: Binding,
    /// The methods that `require_auth` allows; empty allows all.
    pub methods: Vec<Method>,
}

pub(super) enum StartupState {
    SslReply,
    AwaitTls,
    Auth,
    Scram(Box<ScramSha256>),
    ScramFinal,
    Settled,
    CancelSent,
}

pub(super) struct Startup {
    pub options: SessionOptions,
    pub state: StartupState,
    pub encrypted: bool,
    tls_server_end_point: Option<Vec<u8>>,
    bound: bool,
}

impl fmt::Debug for Startup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Startup").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Startup {
    pub fn new(options: SessionOptions, write_buffer: &mut WriteBuffer) -> Self {
        let mut startup =
            Self { state: StartupState::Auth, encrypted: false, tls_server_end_point: None, bound: false, options };
        match startup.options.tls {
            Tls::No => startup.hello(write_buffer),
            Tls::Prefer | Tls::Require => {
                frontend::ssl_request(write_buffer.tail());
                startup.state = StartupState::SslReply;
            }
            Tls::Direct => {
                startup.state = StartupState::AwaitTls;
            }
        }
        startup
    }

    pub fn next_step(&self) -> NextStep<'_> {
        match self.state {
            StartupState::AwaitTls => NextStep::StartTls { request_first: false },
            StartupState::CancelSent => NextStep::CancelWritten,
            _ => NextStep::Exchange,
        }
    }

    fn hello(&mut self, write_buffer: &mut WriteBuffer) {
        if let Purpose::Cancel(message) = &self.options.purpose {
            write_buffer.tail().extend_from_slice(message);
            self.state = StartupState::CancelSent;
            return;
        }
        let parameters = self.options.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        frontend::startup(write_buffer.tail(), parameters);
        self.state = StartupState::Auth;
    }

    /// The one byte that answers SSLRequest. Nothing may follow it: bytes that came before the handshake could be an
    /// attacker's (CVE-2021-23222).
    pub fn ssl_reply(&mut self, unread: &[u8], write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        match unread {
            [tls_answer::WILLING] => {
                self.state = StartupState::AwaitTls;
                Ok(())
            }
            [tls_answer::WILLING, ..] => Err(Fatal::peer(
                "the server sent data before the TLS handshake; this may be a man-in-the-middle attack",
            )),
            [tls_answer::UNWILLING, ..] if self.options.tls == Tls::Prefer => {
                self.hello(write_buffer);
                Ok(())
            }
            [tls_answer::UNWILLING, ..] => {
                Err(Fatal::new(FatalKind::TlsRefused, "the server does not offer TLS, but sslmode requires it"))
            }
            [tls_answer::ERROR, ..] => Err(Fatal::new(
                FatalKind::TlsRefused,
                "the server answered the TLS request with an error; is it too busy?",
            )),
            _ => Err(Fatal::new(
                FatalKind::TlsRefused,
                "the server gave no proper answer to the TLS request; is this a PostgreSQL server?",
            )),
        }
    }

    pub fn tls_ready(&mut self, tls_server_end_point: Option<Vec<u8>>, write_buffer: &mut WriteBuffer) {
        self.encrypted = true;
        self.tls_server_end_point = tls_server_end_point;
        self.hello(write_buffer);
    }

    fn allow(&self, method: Method) -> Result<(), Fatal> {
        if self.options.binding == Binding::Require && method != Method::ScramSha256 {
            return Err(Fatal::new(
                FatalKind::AuthenticationRefused,
                format!("channel_binding=require, but the server asks for {} authentication without it", method.name()),
            ));
        }
        if self.options.methods.is_empty() || self.options.methods.contains(&method) {
            return Ok(());
        }
        let allowed: Vec<_> = self.options.methods.iter().map(|m| m.name()).collect();
        Err(Fatal::new(
            FatalKind::AuthenticationRefused,
            format!(
                "the server asks for {} authentication, but require_auth allows only {}",
                method.name(),
                allowed.join(", ")
            ),
        ))
    }

    fn secret(&self) -> Result<&[u8], Fatal> {
        match &self.options.password {
            Some(secret) => Ok(&secret.0),
            None => {
                Err(Fatal::new(FatalKind::AuthenticationRefused, "the server asks for a password, but none was given"))
            }
        }
    }

    /// An Authentication message.
    pub fn authentication(&mut self, body: &[u8], write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let mut body = Body::new("Authentication", body);
        match (body.u32()?, &mut self.state) {
            (authentication::OK, StartupState::Auth) => {
                self.allow(Method::None)?;
                self.state = StartupState::Settled;
            }
            (authentication::OK, StartupState::ScramFinal | StartupState::Settled) => {
                self.state = StartupState::Settled
            }
            (authentication::CLEARTEXT_PASSWORD, StartupState::Auth) => {
                self.allow(Method::Password)?;
                frontend::password(write_buffer.tail(), self.secret()?);
                self.state = StartupState::Settled;
            }
            (authentication::MD5_PASSWORD, StartupState::Auth) => {
                self.allow(Method::Md5)?;
                let salt = body.bytes(4)?.try_into().expect("four bytes were read");
                let answer = md5_hash(self.options.user.as_bytes(), self.secret()?, salt);
                frontend::password(write_buffer.tail(), answer.as_bytes());
                self.state = StartupState::Settled;
            }
            (authentication::SASL, StartupState::Auth) => {
                self.allow(Method::ScramSha256)?;
                self.sasl(&mut body, write_buffer)?;
            }
            (authentication::SASL_CONTINUE, StartupState::Scram(scram)) => {
                scram.update(body.rest()).map_err(|e| Fatal::peer(format!("SCRAM authentication failed: {e}")))?;
                frontend::sasl_response(write_buffer.tail(), scram.message());
            }
            (authentication::SASL_FINAL, StartupState::Scram(scram)) => {
                scram.finish(body.rest()).map_err(|e| {
                    Fatal::peer(format!("the server could not prove that it has the password (SCRAM): {e}"))
                })?;
                self.state = StartupState::ScramFinal;
            }
            (
                kind @ (authentication::OK
                | authentication::CLEARTEXT_PASSWORD
                | authentication::MD5_PASSWORD
                | authentication::SASL
                | authentication::SASL_CONTINUE
                | authentication::SASL_FINAL),
                _,
            ) => {
                return Err(Fatal::peer(format!("the server sent authentication message {kind} out of order")));
            }
            (kind, _) => {
                let name = match kind {
                    authentication::GSS | authentication::GSS_CONTINUE => "GSSAPI",
                    authentication::SSPI => "SSPI",
                    authentication::KERBEROS_V5 => "Kerberos V5",
                    _ => "an unknown kind of",
                };
                return Err(Fatal::new(
                    FatalKind::AuthenticationRefused,
                    format!(
                        "the server asks for {name} authentication (code {kind}), which headrace does not support; \
                     choose scram-sha-256 or cert in pg_hba.conf"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn sasl(&mut self, body: &mut Body<'_>, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let (mut plain, mut plus) = (false, false);
        loop {
            match body.cstr()? {
                b"" => break,
                name if name == SCRAM_SHA_256.as_bytes() => plain = true,
                name if name == SCRAM_SHA_256_PLUS.as_bytes() => plus = true,
                _ => {}
            }
        }
        let wanted = self.options.binding != Binding::Disable;
        let (mechanism, binding) = match &self.tls_server_end_point {
            Some(hash) if plus && wanted => {
                self.bound = true;
                (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash.clone()))
            }
            _ if self.options.binding == Binding::Require => {
                return Err(Fatal::new(
                    FatalKind::AuthenticationRefused,
                    "channel_binding=require, but the server offers no SCRAM-SHA-256-PLUS on this connection",
                ));
            }
            Some(_) if plain && wanted => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            _ if plain => (SCRAM_SHA_256, ChannelBinding::unsupported()),
            _ => {
                return Err(Fatal::new(
                    FatalKind::AuthenticationRefused,
                    "the server offers no SASL mechanism that headrace supports",
                ));
            }
        };
        let scram = ScramSha256::new(self.secret()?, binding);
        frontend::sasl_initial_response(write_buffer.tail(), mechanism, scram.message());
        self.state = StartupState::Scram(Box::new(scram));
        Ok(())
    }
}
