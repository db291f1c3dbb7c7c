//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677; manual, "SCRAM-SHA-256 Authentication"), without I/O.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use postgres_protocol::authentication::sasl::{SCRAM_SHA_256, SCRAM_SHA_256_PLUS};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::LazyLock;
use subtle::ConstantTimeEq;

/// The mechanism's name at the beginning of a verifier.
const PREFIX: &str = "SCRAM-SHA-256$";
/// Iterations of verifiers that the daemon makes, as PostgreSQL has it.
const ITERATIONS: u32 = 4096;
/// Bytes of a hash.
const HASH: usize = 32;
/// Bytes of the server's part of a nonce, and of a salt.
const RANDOM: usize = 18;

/// What is kept of a password: enough to check it, not enough to log in with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: [u8; HASH],
    server_key: [u8; HASH],
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(...)")
    }
}

impl Verifier {
    /// Of a password, or of a verifier as PostgreSQL keeps it in `pg_authid`.
    ///
    /// # Errors
    /// The text looks like a verifier and is none, or is empty.
    pub fn of(secret: &str) -> Result<Self, &'static str> {
        if secret.is_empty() {
            return Err("the password is empty");
        }
        if secret.starts_with(PREFIX) {
            return Self::read(secret).ok_or("the SCRAM-SHA-256 verifier is malformed");
        }
        let made = postgres_protocol::password::scram_sha_256(secret.as_bytes());
        Self::read(&made).ok_or("no SCRAM-SHA-256 verifier can be made of the password")
    }

    /// Reads `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`, and nothing else.
    pub fn read(text: &str) -> Option<Self> {
        let (parameters, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let ((iterations, salt), (stored, server)) = (parameters.split_once(':')?, keys.split_once(':')?);
        let key = |text: &str| STANDARD.decode(text).ok()?.try_into().ok();
        let iterations = iterations.parse().ok().filter(|n| *n > 0)?;
        let salt = STANDARD.decode(salt).ok().filter(|salt| !salt.is_empty())?;
        Some(Self { iterations, salt, stored_key: key(stored)?, server_key: key(server)? })
    }

    /// For a user that does not exist: the same conversation each time, which no password ends well.
    pub fn of_nobody(user: &str, secret: &[u8; HASH]) -> Self {
        let salt = hmac(secret, user.as_bytes());
        let unknown = hmac(secret, &salt);
        Self { iterations: ITERATIONS, salt: salt[..16].to_vec(), stored_key: unknown, server_key: unknown }
    }
}

/// Stands for a text in which a password may be, as long as this process runs: that of the same text is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; HASH]);

impl Fingerprint {
    /// Of a password, a verifier, or a text with one.
    pub fn of(secret: &str) -> Self {
        static KEY: LazyLock<[u8; HASH]> = LazyLock::new(random);
        Self(hmac(&*KEY, secret.as_bytes()))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

/// Bytes that nobody can guess.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    bytes
}

/// Why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not speaking SCRAM.
    Malformed(&'static str),
    /// The password is wrong, or there is no such user.
    Wrong,
}

/// The mechanisms that a client is offered: with channel binding if there is something to bind to.
pub fn mechanisms(binds: bool) -> &'static [&'static str] {
    if binds { &[SCRAM_SHA_256_PLUS, SCRAM_SHA_256] } else { &[SCRAM_SHA_256] }
}

/// A login that waits for the client's proof.
#[derive(Debug)]
pub struct Exchange {
    verifier: Verifier,
    client_first_bare: String,
    server_first: String,
    nonce: String,
    /// What the client has to repeat of its first message, with the channel binding.
    bound: Vec<u8>,
}

impl Exchange {
    /// Reads client-first-message. `end_point` is the channel binding of the connection, if it has one.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn begin(
        mechanism: &str,
        message: &[u8],
        end_point: Option<&[u8]>,
        verifier: Verifier,
    ) -> Result<Self, Refusal> {
        Self::begin_with(mechanism, message, end_point, verifier, &STANDARD.encode(random::<RANDOM>()))
    }

    fn begin_with(
        mechanism: &str,
        message: &[u8],
        end_point: Option<&[u8]>,
        verifier: Verifier,
        own_nonce: &str,
    ) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(message).map_err(|_| Refusal::Malformed("a SCRAM message is not UTF-8"))?;
        let mut parts = text.splitn(3, ',');
        let (Some(flag), Some(identity), Some(bare)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Refusal::Malformed("the first SCRAM message is not complete"));
        };
        if !identity.is_empty() {
            return Err(Refusal::Malformed("SCRAM with an authorization identity is not possible"));
        }
        let mut bound = format!("{flag},,").into_bytes();
        match (mechanism, flag, end_point) {
            (SCRAM_SHA_256_PLUS, "p=tls-server-end-point", Some(hash)) => bound.extend_from_slice(hash),
            (SCRAM_SHA_256, "n", _) | (SCRAM_SHA_256, "y", None) => {}
            (SCRAM_SHA_256, "y", Some(_)) => {
                // Somebody in between has removed the mechanism with channel binding from the offer.
                return Err(Refusal::Malformed("channel binding was offered, and the client has not seen the offer"));
            }
            _ => return Err(Refusal::Malformed("the SCRAM mechanism and its channel binding do not fit together")),
        }
        let mut attributes = bare.split(',');
        let named = attributes.next().is_some_and(|name| name.starts_with("n="));
        let nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r="));
        let is_printable = |nonce: &&str| !nonce.is_empty() && nonce.bytes().all(|byte| byte.is_ascii_graphic());
        let Some(nonce) = nonce.filter(is_printable).filter(|_| named) else {
            return Err(Refusal::Malformed("the first SCRAM message has no name or no nonce"));
        };
        let nonce = format!("{nonce}{own_nonce}");
        let salt = STANDARD.encode(&verifier.salt);
        let server_first = format!("r={nonce},s={salt},i={}", verifier.iterations);
        Ok(Self { verifier, client_first_bare: bare.to_owned(), server_first, nonce, bound })
    }

    /// server-first-message.
    pub fn challenge(&self) -> &[u8] {
        self.server_first.as_bytes()
    }

    /// Checks client-final-message; returns server-final-message.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn finish(self, message: &[u8]) -> Result<Vec<u8>, Refusal> {
        let text = std::str::from_utf8(message).map_err(|_| Refusal::Malformed("a SCRAM message is not UTF-8"))?;
        let (without_proof, proof) =
            text.rsplit_once(",p=").ok_or(Refusal::Malformed("the second SCRAM message has no proof"))?;
        let mut attributes = without_proof.split(',');
        let bound = attributes.next().and_then(|bound| bound.strip_prefix("c="));
        if bound.and_then(|bound| STANDARD.decode(bound).ok()).as_deref() != Some(&self.bound[..]) {
            return Err(Refusal::Malformed("the channel binding of the SCRAM messages is not that of the connection"));
        }
        if attributes.next().and_then(|nonce| nonce.strip_prefix("r=")) != Some(&self.nonce) {
            return Err(Refusal::Malformed("the second SCRAM message has another nonce"));
        }
        let proof: [u8; HASH] = STANDARD
            .decode(proof)
            .ok()
            .and_then(|proof| proof.try_into().ok())
            .ok_or(Refusal::Malformed("the proof of the second SCRAM message is malformed"))?;
        let signed = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        let signature = hmac(&self.verifier.stored_key, signed.as_bytes());
        let client_key: [u8; HASH] = std::array::from_fn(|at| proof[at] ^ signature[at]);
        let stored_key: [u8; HASH] = Sha256::digest(client_key).into();
        if !bool::from(stored_key.ct_eq(&self.verifier.stored_key)) {
            return Err(Refusal::Wrong);
        }
        let answer = hmac(&self.verifier.server_key, signed.as_bytes());
        Ok(format!("v={}", STANDARD.encode(answer)).into_bytes())
    }
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; HASH] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};

    const END_POINT: &[u8] = b"the hash of a certificate";

    /// A login with the client of postgres-protocol.
    fn log_in(password: &str, verifier: Verifier, plus: bool) -> Result<(), Refusal> {
        let binding = match plus {
            true => ChannelBinding::tls_server_end_point(END_POINT.to_vec()),
            false => ChannelBinding::unsupported(),
        };
        let mut client = ScramSha256::new(password.as_bytes(), binding);
        let mechanism = if plus { SCRAM_SHA_256_PLUS } else { SCRAM_SHA_256 };
        let exchange = Exchange::begin(mechanism, client.message(), Some(END_POINT), verifier)?;
        client.update(exchange.challenge()).expect("the challenge is right");
        let answer = exchange.finish(client.message())?;
        client.finish(&answer).expect("the server has proved that it knows the password");
        Ok(())
    }

    #[test]
    fn right_password_and_no_other_is_let_in() {
        for plus in [false, true] {
            let verifier = || Verifier::of("correct horse").unwrap();
            assert_eq!(log_in("correct horse", verifier(), plus), Ok(()));
            assert_eq!(log_in("battery staple", verifier(), plus), Err(Refusal::Wrong));
            assert_eq!(log_in("", Verifier::of_nobody("nobody", &random()), plus), Err(Refusal::Wrong));
        }
    }

    #[test]
    fn example_of_the_specification_is_followed() {
        // RFC 7677, section 3.
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = pencil(&salt);
        let client_key = hmac(&salted, b"Client Key");
        let verifier = Verifier {
            iterations: 4096,
            salt,
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac(&salted, b"Server Key"),
        };
        let first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
        let own = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let exchange = Exchange::begin_with(SCRAM_SHA_256, first, None, verifier, own).unwrap();
        let challenge = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(exchange.challenge(), challenge.as_bytes());
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let answer = exchange.finish(last.as_bytes()).unwrap();
        assert_eq!(answer, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    /// SaltedPassword of the password `pencil`.
    fn pencil(salt: &[u8]) -> [u8; HASH] {
        let mut block = salt.to_vec();
        block.extend_from_slice(&1u32.to_be_bytes());
        let mut last = hmac(b"pencil", &block);
        let mut all = last;
        for _ in 1..4096 {
            last = hmac(b"pencil", &last);
            all = std::array::from_fn(|at| all[at] ^ last[at]);
        }
        all
    }

    #[test]
    fn what_is_not_scram_is_refused() {
        let begin = |mechanism, message: &str, end_point| {
            Exchange::begin(mechanism, message.as_bytes(), end_point, Verifier::of("x").unwrap()).map(drop)
        };
        for (mechanism, message, end_point) in [
            (SCRAM_SHA_256, "", None),
            (SCRAM_SHA_256, "n,,", None),
            (SCRAM_SHA_256, "n,,n=,r=", None),
            (SCRAM_SHA_256, "n,,r=abc", None),
            (SCRAM_SHA_256, "n,,m=ext,n=,r=abc", None),
            (SCRAM_SHA_256, "n,a=admin,n=,r=abc", None),
            (SCRAM_SHA_256, "n,,n=,r=a\u{7f}c", None),
            (SCRAM_SHA_256, "p=tls-server-end-point,,n=,r=abc", Some(END_POINT)),
            (SCRAM_SHA_256, "y,,n=,r=abc", Some(END_POINT)),
            (SCRAM_SHA_256_PLUS, "n,,n=,r=abc", Some(END_POINT)),
            (SCRAM_SHA_256_PLUS, "p=tls-unique,,n=,r=abc", Some(END_POINT)),
            (SCRAM_SHA_256_PLUS, "p=tls-server-end-point,,n=,r=abc", None),
            ("PLAIN", "n,,n=,r=abc", None),
        ] {
            let refused = begin(mechanism, message, end_point);
            assert!(matches!(refused, Err(Refusal::Malformed(_))), "{mechanism} {message}: {refused:?}");
        }
        assert_eq!(begin(SCRAM_SHA_256, "y,,n=,r=abc", None), Ok(()));
    }

    #[test]
    fn proof_has_to_be_of_this_conversation() {
        let verifier = Verifier::of("x").unwrap();
        let exchange = || Exchange::begin(SCRAM_SHA_256, b"n,,n=,r=abc", None, verifier.clone()).unwrap();
        let proof = STANDARD.encode([0; HASH]);
        for message in ["", ",p=", "c=biws,r=abc", &format!("c=biws,r=abc,p={proof}"), "c=biws,r=NONCE,p=AAAA"] {
            let exchange = exchange();
            let message = message.replace("NONCE", &exchange.nonce);
            assert!(matches!(exchange.finish(message.as_bytes()), Err(Refusal::Malformed(_))), "{message}");
        }
        let exchange = exchange();
        let message = format!("c=biws,r={},p={proof}", exchange.nonce);
        assert_eq!(exchange.finish(message.as_bytes()), Err(Refusal::Wrong));
    }

    #[test]
    fn verifiers_are_read_as_postgresql_keeps_them() {
        let kept = postgres_protocol::password::scram_sha_256(b"secret");
        assert_eq!(log_in("secret", Verifier::of(&kept).unwrap(), true), Ok(()));
        for wrong in ["", "SCRAM-SHA-256$", "SCRAM-SHA-256$0:AAAA$AAAA:AAAA", "SCRAM-SHA-256$4096:$x:y"] {
            assert!(Verifier::of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(format!("{:?}", Verifier::of(&kept)), "Ok(Verifier(...))");
    }
}
