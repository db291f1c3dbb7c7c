//! Authentication plugins. MySQL: "Authentication Methods"; MariaDB: "Plugins, Authentication plugins".
//!
//! [`Authenticator`] is one authentication exchange: the server's data in, the answer out. It never sends a password in
//! a form that an eavesdropper could read or replay.

mod ed25519;
mod sha;

use headrace_core::{Fatal, FatalKind};
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// A password. It is never printed.
#[derive(Clone, Default)]
pub struct Secret(pub Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

/// An authentication plugin of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// SHA-1 of the password and a scramble.
    MysqlNativePassword,
    /// SHA-256 of the password and a scramble; the password itself when the server has not cached its hash.
    CachingSha2Password,
    /// The password itself, over TLS or encrypted with the server's RSA key.
    Sha256Password,
    /// The password itself, over TLS only.
    MysqlClearPassword,
    /// MariaDB: a signature by a key that is the password's hash.
    ClientEd25519,
    /// MariaDB since 11.6: a signature by a key derived from the password with PBKDF2.
    Parsec,
}

const PLUGINS: [Plugin; 6] = [
    Plugin::MysqlNativePassword,
    Plugin::CachingSha2Password,
    Plugin::Sha256Password,
    Plugin::MysqlClearPassword,
    Plugin::ClientEd25519,
    Plugin::Parsec,
];

impl Plugin {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::MysqlNativePassword => "mysql_native_password",
            Plugin::CachingSha2Password => "caching_sha2_password",
            Plugin::Sha256Password => "sha256_password",
            Plugin::MysqlClearPassword => "mysql_clear_password",
            Plugin::ClientEd25519 => "client_ed25519",
            Plugin::Parsec => "parsec",
        }
    }

    /// The plugin of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        PLUGINS.into_iter().find(|plugin| plugin.name() == name)
    }

    /// Returns true if it can answer the data of the greeting, so that no switch is needed.
    pub fn answers_greeting(self) -> bool {
        !matches!(self, Plugin::ClientEd25519 | Plugin::Parsec)
    }
}

/// Who can read what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Anyone on the network path.
    Plain,
    /// A Unix socket: nobody outside this machine.
    Local,
    /// TLS.
    Tls,
}

/// What to do if a password has to be encrypted with the server's RSA key (sha256_password, caching_sha2_password
/// without TLS).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ServerKey {
    /// Refuse: a key that the server sends without TLS is not verified.
    #[default]
    Refuse,
    /// Request the key from the server and trust it (MySQL's `--get-server-public-key`). A man in the middle can then
    /// learn the password.
    Retrieve,
    /// This key, PEM (MySQL's `--server-public-key-path`).
    Known(String),
}

#[derive(Debug)]
enum AuthState {
    /// The plugin has answered; an OK, or a message of the plugin's own protocol, is expected.
    Answered,
    /// The server's RSA key was requested.
    AwaitKey,
    /// parsec: the salt was requested.
    AwaitSalt,
}

/// One authentication conversation.
pub struct Authenticator {
    plugin: Plugin,
    password: Option<Secret>,
    channel: Channel,
    server_key: ServerKey,
    data: Vec<u8>,
    state: AuthState,
    /// What the server stores of the password, if only the password's owner can compute it.
    stored: Option<Vec<u8>>,
}

/// Nothing of what the server stores of the password is printed.
impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Authenticator {
    /// A conversation by `plugin`.
    pub fn new(plugin: Plugin, password: Option<Secret>, channel: Channel, server_key: ServerKey) -> Self {
        Self { plugin, password, channel, server_key, data: Vec::new(), state: AuthState::Answered, stored: None }
    }

    /// The plugin.
    pub fn plugin(&self) -> Plugin {
        self.plugin
    }

    fn password(&self) -> &[u8] {
        self.password.as_ref().map_or(&[], |secret| &secret.0)
    }

    /// The scramble of plugins that take the first 20 bytes, which a NUL may follow.
    fn scramble(&self) -> Result<&[u8], Fatal> {
        self.data
            .get(..20)
            .ok_or_else(|| Fatal::peer(format!("the server's data for {} are too short", self.plugin.name())))
    }

    fn nonce(&self) -> Result<&[u8; 32], Fatal> {
        self.data
            .as_slice()
            .try_into()
            .map_err(|_| Fatal::peer(format!("the server's data for {} are not 32 bytes", self.plugin.name())))
    }

    /// Answers the server's first data, from the greeting or from AuthSwitchRequest.
    ///
    /// # Errors
    /// [`Fatal`] when the data are malformed, or the password cannot be sent safely.
    pub fn start(&mut self, data: &[u8]) -> Result<Vec<u8>, Fatal> {
        self.data = data.to_vec();
        let password = self.password();
        match self.plugin {
            Plugin::MysqlNativePassword => {
                let answer = sha::native(password, self.scramble()?);
                self.stored = Some(sha::native_stored(self.password()));
                Ok(answer)
            }
            Plugin::CachingSha2Password => Ok(sha::caching(password, self.scramble()?)),
            Plugin::Sha256Password if password.is_empty() => Ok(vec![0]),
            Plugin::Sha256Password => self.full(),
            Plugin::MysqlClearPassword if self.channel == Channel::Tls => Ok(cleartext(password)),
            Plugin::MysqlClearPassword => Err(Fatal::new(
                FatalKind::AuthenticationRefused,
                "the server asks for the password in clear text (mysql_clear_password), which is sent over TLS only",
            )),
            Plugin::ClientEd25519 => {
                let (signature, public) = ed25519::sign_with_hashed_password(password, self.nonce()?);
                self.stored = Some(public.to_vec());
                Ok(signature.to_vec())
            }
            Plugin::Parsec => {
                self.nonce()?;
                self.state = AuthState::AwaitSalt;
                Ok(Vec::new())
            }
        }
    }

    /// Answers AuthMoreData (without its first byte); `None` if there is nothing to answer.
    ///
    /// # Errors
    /// [`Fatal`] as for [`Authenticator::start`].
    pub fn more(&mut self, data: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
        match (&self.state, self.plugin, data) {
            (AuthState::AwaitKey, _, pem) => {
                let pem = String::from_utf8_lossy(pem).into_owned();
                self.state = AuthState::Answered;
                self.encrypted(&pem).map(Some)
            }
            (AuthState::AwaitSalt, Plugin::Parsec, ext_salt) => {
                let mut random = [0; 32];
                getrandom::fill(&mut random).map_err(|error| {
                    Fatal::new(
                        FatalKind::AuthenticationRefused,
                        format!("the system returns no random numbers: {error}"),
                    )
                })?;
                let (answer, stored) = ed25519::parsec(self.password(), ext_salt, self.nonce()?, &random)?;
                self.state = AuthState::Answered;
                self.stored = Some(stored);
                Ok(Some(answer))
            }
            // fast_auth_success: the OK packet follows.
            (_, Plugin::CachingSha2Password, [3]) => Ok(None),
            // perform_full_authentication
            (_, Plugin::CachingSha2Password, [4]) => self.full().map(Some),
            _ => Err(Fatal::peer(format!("the server sent data that {} does not expect", self.plugin.name()))),
        }
    }

    /// The password itself, in a form that suits the channel.
    fn full(&mut self) -> Result<Vec<u8>, Fatal> {
        // For sha256_password the server counts a Unix socket as anything else.
        let trusted = match self.channel {
            Channel::Tls => true,
            Channel::Local => self.plugin != Plugin::Sha256Password,
            Channel::Plain => false,
        };
        if trusted {
            return Ok(cleartext(self.password()));
        }
        match self.server_key.clone() {
            ServerKey::Known(pem) => self.encrypted(&pem),
            ServerKey::Retrieve => {
                self.state = AuthState::AwaitKey;
                // request_public_key, which has another number in each of the two plugins.
                Ok(vec![if self.plugin == Plugin::Sha256Password { 1 } else { 2 }])
            }
            ServerKey::Refuse => Err(Fatal::new(
                FatalKind::AuthenticationRefused,
                format!(
                    "{} needs TLS here, or the server's RSA public key: set ssl_mode=REQUIRED or server_public_key_path, or \
                     request its key with get_server_public_key=true",
                    self.plugin.name()
                ),
            )),
        }
    }

    fn encrypted(&self, pem: &str) -> Result<Vec<u8>, Fatal> {
        sha::rsa_encrypted(self.password(), self.scramble()?, pem)
    }

    /// Returns true if `info`, the text of the final OK packet, proves that the server has the stored hash of the
    /// password and has the certificate of this connection: SHA-256 of the stored hash, the greeting's scramble and the
    /// certificate's SHA-256 `fingerprint`, in hexadecimal after a byte 1. MariaDB: "Zero-configuration TLS".
    pub fn certificate_is_proven(&self, info: &[u8], greeting_scramble: &[u8], fingerprint: &[u8; 32]) -> bool {
        let (Some(stored), [1, proof @ ..]) = (&self.stored, info) else { return false };
        // The hash of an empty password is public.
        if self.password().is_empty() {
            return false;
        }
        let scramble = if self.plugin == Plugin::MysqlNativePassword { &self.data } else { greeting_scramble };
        let Some(scramble) = scramble.get(..20) else { return false };
        let digest = Sha256::new().chain_update(stored).chain_update(scramble).chain_update(fingerprint).finalize();
        let expected: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        bool::from(expected.as_bytes().ct_eq(&proof.to_ascii_lowercase()))
    }
}

fn cleartext(password: &[u8]) -> Vec<u8> {
    let mut out = password.to_vec();
    out.push(0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAMBLE: &[u8; 20] = b"abcdefghijklmnopqrst";

    fn authenticator(plugin: Plugin, password: &str, channel: Channel, key: ServerKey) -> Authenticator {
        Authenticator::new(plugin, Some(Secret(password.into())), channel, key)
    }

    #[test]
    fn names() {
        for plugin in PLUGINS {
            assert_eq!(Plugin::of_name(plugin.name()), Some(plugin));
        }
        assert_eq!(Plugin::of_name("dialog"), None);
        assert_eq!(format!("{:?}", Secret(b"tiger".to_vec())), "Secret(...)");
    }

    #[test]
    fn a_cleartext_password_needs_tls() {
        for channel in [Channel::Plain, Channel::Local] {
            assert!(authenticator(Plugin::MysqlClearPassword, "x", channel, ServerKey::Refuse).start(b"").is_err());
        }
        let mut over_tls = authenticator(Plugin::MysqlClearPassword, "x", Channel::Tls, ServerKey::Refuse);
        assert_eq!(over_tls.start(b"").unwrap(), b"x\0");
    }

    #[test]
    fn caching_sha2_is_fast_or_full_and_never_sends_the_password_in_clear_text() {
        let mut fast = authenticator(Plugin::CachingSha2Password, "x", Channel::Plain, ServerKey::Refuse);
        assert_eq!(fast.start(SCRAMBLE).unwrap().len(), 32);
        assert_eq!(fast.more(&[3]).unwrap(), None);
        assert!(fast.more(&[4]).unwrap_err().message.contains("RSA"));
        for channel in [Channel::Local, Channel::Tls] {
            let mut full = authenticator(Plugin::CachingSha2Password, "x", channel, ServerKey::Refuse);
            full.start(SCRAMBLE).unwrap();
            assert_eq!(full.more(&[4]).unwrap().unwrap(), b"x\0");
        }
        let mut asks = authenticator(Plugin::CachingSha2Password, "x", Channel::Plain, ServerKey::Retrieve);
        asks.start(SCRAMBLE).unwrap();
        assert_eq!(asks.more(&[4]).unwrap().unwrap(), [2]);
        assert!(asks.more(b"no key").unwrap_err().message.contains("RSA public key"));
        let mut none = authenticator(Plugin::CachingSha2Password, "", Channel::Plain, ServerKey::Refuse);
        assert_eq!(none.start(SCRAMBLE).unwrap(), b"");
        assert!(none.more(&[9]).is_err());
    }

    #[test]
    fn sha256_password_sends_the_password_or_requests_the_key() {
        let plugin = Plugin::Sha256Password;
        assert_eq!(authenticator(plugin, "x", Channel::Tls, ServerKey::Refuse).start(SCRAMBLE).unwrap(), b"x\0");
        assert_eq!(authenticator(plugin, "x", Channel::Plain, ServerKey::Retrieve).start(SCRAMBLE).unwrap(), [1]);
        assert_eq!(authenticator(plugin, "", Channel::Plain, ServerKey::Refuse).start(SCRAMBLE).unwrap(), [0]);
        assert!(authenticator(plugin, "x", Channel::Plain, ServerKey::Refuse).start(SCRAMBLE).is_err());
        // Unlike for caching_sha2_password, a Unix socket is not safe enough for the server.
        assert_eq!(authenticator(plugin, "x", Channel::Local, ServerKey::Retrieve).start(SCRAMBLE).unwrap(), [1]);
        assert!(authenticator(plugin, "x", Channel::Local, ServerKey::Refuse).start(SCRAMBLE).is_err());
    }

    #[test]
    fn short_data_are_refused() {
        for plugin in [Plugin::MysqlNativePassword, Plugin::CachingSha2Password, Plugin::ClientEd25519, Plugin::Parsec]
        {
            let error = authenticator(plugin, "x", Channel::Tls, ServerKey::Refuse).start(b"short").unwrap_err();
            assert!(error.message.contains(plugin.name()));
        }
    }

    #[test]
    fn a_certificate_is_verified_by_the_password() {
        let mut session = authenticator(Plugin::MysqlNativePassword, "secret", Channel::Tls, ServerKey::Refuse);
        session.start(SCRAMBLE).unwrap();
        let fingerprint = [7; 32];
        let digest = Sha256::new()
            .chain_update(sha::native_stored(b"secret"))
            .chain_update(SCRAMBLE)
            .chain_update(fingerprint)
            .finalize();
        let mut info = vec![1];
        digest.iter().for_each(|byte| info.extend_from_slice(format!("{byte:02X}").as_bytes()));
        assert!(session.certificate_is_proven(&info, SCRAMBLE, &fingerprint));
        assert!(!session.certificate_is_proven(&info, SCRAMBLE, &[8; 32]));
        assert!(!session.certificate_is_proven(&info[1..], SCRAMBLE, &fingerprint));
        assert!(!session.certificate_is_proven(b"", SCRAMBLE, &fingerprint));
        let mut empty = authenticator(Plugin::MysqlNativePassword, "", Channel::Tls, ServerKey::Refuse);
        empty.start(SCRAMBLE).unwrap();
        assert!(!empty.certificate_is_proven(&info, SCRAMBLE, &fingerprint));
    }
}
