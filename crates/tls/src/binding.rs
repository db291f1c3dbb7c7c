//! The tls-server-end-point channel binding.

use sha2::{Digest, Sha256, Sha384, Sha512};
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// RFC 5929, section 4.1, with the signature algorithms that name their hash function.
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    match parsed.signature_algorithm.oid.to_string().as_str() {
        // md5, sha1, sha256 with RSA; sha1, sha256 with DSA and ECDSA
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10040.4.3"
        | "2.16.840.1.101.3.4.3.2"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Some(Sha256::digest(certificate).to_vec()),
        // sha384 with RSA, ECDSA
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Some(Sha384::digest(certificate).to_vec()),
        // sha512 with RSA, ECDSA
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}
