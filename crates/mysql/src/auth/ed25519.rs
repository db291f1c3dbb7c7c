//! The plugins that sign: client_ed25519 and parsec. MariaDB: "Authentication plugin - ed25519", "Authentication
//! plugin - PARSEC".

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use headrace_core::Fatal;
use sha2::{Digest, Sha512};

/// Signs `nonce` with the SHA-512 of the password as key, and returns the signature and the public key. In the standard
/// scheme a random seed of 32 bytes takes the password's place.
pub(super) fn sign_with_hashed_password(password: &[u8], nonce: &[u8; 32]) -> ([u8; 64], [u8; 32]) {
    let secret = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    let public = VerifyingKey::from(&secret);
    (raw_sign::<Sha512>(&secret, nonce, &public).to_bytes(), public.to_bytes())
}

/// The answer of parsec (the client's 32 `random` bytes, and the signature of both sides' nonces), and what the server
/// stores. `ext_salt` is the letter P, the logarithm of the iterations over 1024, and the salt.
pub(super) fn parsec(
    password: &[u8],
    ext_salt: &[u8],
    nonce: &[u8; 32],
    random: &[u8; 32],
) -> Result<(Vec<u8>, Vec<u8>), Fatal> {
    // The server chooses the iteration count; more than 8192 would let it keep the client busy.
    let [b'P', factor @ 0..=3, salt @ ..] = ext_salt else {
        return Err(Fatal::peer("the server's salt for parsec is malformed"));
    };
    let seed: [u8; 32] = pbkdf2::pbkdf2_hmac_array::<Sha512, 32>(password, salt, 1024 << factor);
    let key = SigningKey::from_bytes(&seed);
    let signature = key.sign(&[*nonce, *random].concat());
    let answer = [&random[..], &signature.to_bytes()[..]].concat();
    Ok((answer, [ext_salt, key.verifying_key().as_bytes()].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signature, Verifier};

    #[test]
    fn the_signature_suits_the_public_key() {
        let nonce = [5; 32];
        let (signature, public) = sign_with_hashed_password(b"secret", &nonce);
        let key = VerifyingKey::from_bytes(&public).unwrap();
        key.verify(&nonce, &Signature::from_bytes(&signature)).unwrap();
        assert!(key.verify(&[6; 32], &Signature::from_bytes(&signature)).is_err());
        // ed25519_password('secret') of any MariaDB, in hexadecimal, begins so.
        assert_eq!(public[..8], [0x64, 0x88, 0x14, 0x44, 0x45, 0x20, 0xe4, 0xf5]);
    }

    #[test]
    fn parsec_signs_both_nonces() {
        let mut ext_salt = b"P\0".to_vec();
        ext_salt.extend_from_slice(&[9; 18]);
        let (answer, stored) = parsec(b"secret", &ext_salt, &[1; 32], &[2; 32]).unwrap();
        assert_eq!(&answer[..32], &[2; 32]);
        let key = VerifyingKey::from_bytes(stored[20..].try_into().unwrap()).unwrap();
        let signature = Signature::from_slice(&answer[32..]).unwrap();
        key.verify(&[[1u8; 32], [2; 32]].concat(), &signature).unwrap();
        for bad in [&b""[..], b"P", b"Q\0salt", b"P\x04salt"] {
            assert!(parsec(b"secret", bad, &[1; 32], &[2; 32]).is_err());
        }
    }
}
