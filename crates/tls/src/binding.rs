//! The tls-server-end-point channel binding.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use x509_cert::Certificate;
use x509_cert::der::asn1::ContextSpecific;
use x509_cert::der::{Decode, Encode, Error, Reader, SliceReader, TagNumber};
use x509_cert::spki::AlgorithmIdentifierOwned;

/// RFC 5929, section 4.1: the hash of the certificate by the hash function of its own signature, with SHA-256 in place
/// of MD5 and SHA-1. `None` if the signature uses no hash function, or an unknown one.
pub fn tls_server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let algorithm = parsed.signature_algorithm();
    Some(match algorithm.oid.to_string().as_str() {
        // md5, sha1, sha256 with RSA; sha1, sha256 with DSA; sha1, sha256 with ECDSA
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10040.4.3"
        | "2.16.840.1.101.3.4.3.2"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Sha256::digest(certificate).to_vec(),
        // sha224, sha384, sha512, each with RSA, ECDSA
        "1.2.840.113549.1.1.14" | "1.2.840.10045.4.3.1" => Sha224::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Sha384::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Sha512::digest(certificate).to_vec(),
        // RSASSA-PSS names its hash function in its parameters.
        "1.2.840.113549.1.1.10" => match pss_hash(algorithm)?.as_str() {
            "1.3.14.3.2.26" | "2.16.840.1.101.3.4.2.1" => Sha256::digest(certificate).to_vec(),
            "2.16.840.1.101.3.4.2.4" => Sha224::digest(certificate).to_vec(),
            "2.16.840.1.101.3.4.2.2" => Sha384::digest(certificate).to_vec(),
            "2.16.840.1.101.3.4.2.3" => Sha512::digest(certificate).to_vec(),
            _ => return None,
        },
        _ => return None,
    })
}

/// The hash function of RSASSA-PSS-params (RFC 8017, appendix A.2.3), SHA-1 if they name none.
fn pss_hash(algorithm: &AlgorithmIdentifierOwned) -> Option<String> {
    let parameters = algorithm.parameters.as_ref()?.to_der().ok()?;
    let hash: Result<_, Error> = SliceReader::new(&parameters).ok()?.sequence(|fields| {
        let hash = ContextSpecific::<AlgorithmIdentifierOwned>::decode_explicit(fields, TagNumber(0))?;
        // The mask and the salt do not matter here.
        fields.read_slice(fields.remaining_len())?;
        Ok(hash)
    });
    Some(hash.ok()?.map_or_else(|| "1.3.14.3.2.26".to_owned(), |hash| hash.value.oid.to_string()))
}

#[cfg(test)]
mod tests {
    use super::tls_server_end_point;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use std::path::Path;

    #[test]
    fn end_point_hashes_are_those_that_openssl_computes() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let expected = std::fs::read_to_string(folder.join("end-points.txt")).unwrap();
        let mut seen = 0;
        for (file, hash) in expected.lines().filter_map(|line| line.split_once(' ')).filter(|(file, _)| *file != "#") {
            let certificate = CertificateDer::from_pem_file(folder.join(file)).unwrap();
            let ours = tls_server_end_point(&certificate).map_or_else(
                || "none".to_owned(),
                |hash| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            );
            assert_eq!(ours, hash, "{file}");
            seen += 1;
        }
        assert_eq!(seen, 14);
        assert_eq!(tls_server_end_point(b"no certificate"), None);
    }
}
