//! The plugins that hash: mysql_native_password, caching_sha2_password, and RSA for the latter and sha256_password.
//! MySQL: "Native Authentication", "Caching_sha2_password information".

use getrandom::SysRng;
use headrace_core::{Fatal, FatalKind};
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, PublicKey, rand_core::UnwrapErr};
use sha1::Sha1;
use sha2::{Digest, Sha256};

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password))); nothing for no password.
pub(super) fn native(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mask = Sha1::new().chain_update(scramble).chain_update(native_stored(password)).finalize();
    xor(&Sha1::digest(password), &mask)
}

/// What the server stores: SHA1(SHA1(password)).
pub(super) fn native_stored(password: &[u8]) -> Vec<u8> {
    Sha1::digest(Sha1::digest(password)).to_vec()
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + scramble); nothing for no password.
pub(super) fn caching(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let inner = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(inner)).chain_update(scramble).finalize();
    xor(&inner, &mask)
}

/// The password with its NUL, XORed with the repeated scramble, encrypted with RSA-OAEP (SHA-1). Without the scramble
/// an eavesdropper could replay the same bytes.
pub(super) fn rsa_encrypted(password: &[u8], scramble: &[u8], pem: &str) -> Result<Vec<u8>, Fatal> {
    // MySQL ends its file with a NUL.
    let padding = |c: char| c.is_whitespace() || c == '\0';
    let unusable = |error: &dyn std::fmt::Display| {
        Fatal::new(FatalKind::AuthenticationRefused, format!("the server's RSA public key: {error}"))
    };
    let key = PublicKey::from_public_key_pem(pem.trim_matches(padding)).map_err(|error| unusable(&error))?;
    let plain: Vec<u8> = password.iter().chain(&[0]).zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
    key.encrypt(&mut UnwrapErr(SysRng), Oaep::<Sha1>::new(), &plain).map_err(|error| unusable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::pkcs8::{EncodePublicKey, LineEnding};
    use rsa::{PrivateKey, traits::PublicKeyParts};

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_server_finds_its_stored_hash_in_the_answer() {
        // The server's side: from the answer and the stored hash it recovers SHA1(password), whose hash is the stored
        // one.
        let scramble = b"abcdefghijklmnopqrst";
        let answer = native(b"tiger", scramble);
        let stored = native_stored(b"tiger");
        let mask = Sha1::new().chain_update(scramble).chain_update(&stored).finalize();
        assert_eq!(Sha1::digest(xor(&answer, &mask)).to_vec(), stored);
        // PASSWORD('tiger') of any MySQL or MariaDB.
        assert_eq!(hex(&stored), "f2f68d0bb27a773c1d944270e5fafed515a3fa40");
        let answer = caching(b"tiger", scramble);
        let stored = Sha256::digest(Sha256::digest(b"tiger"));
        let mask = Sha256::new().chain_update(stored).chain_update(scramble).finalize();
        assert_eq!(Sha256::digest(xor(&answer, &mask)), stored);
        assert!(native(b"", scramble).is_empty() && caching(b"", scramble).is_empty());
    }

    #[test]
    fn only_the_private_key_decrypts_the_password() {
        let private = PrivateKey::new(&mut UnwrapErr(SysRng), 1024).unwrap();
        let pem = private.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let scramble = b"abcdefghijklmnopqrst";
        let password = b"a password longer than the scramble";
        let ciphertext = rsa_encrypted(password, scramble, &format!("{pem}\n\0")).unwrap();
        assert_eq!(ciphertext.len(), private.size());
        let plain = private.decrypt(Oaep::<Sha1>::new(), &ciphertext).unwrap();
        let plain: Vec<u8> = plain.iter().zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
        assert_eq!(plain, b"a password longer than the scramble\0");
        assert!(rsa_encrypted(b"x", scramble, "garbage").is_err());
        assert!(rsa_encrypted(&[b'x'; 200], scramble, &pem).is_err(), "too long for the key");
    }
}
