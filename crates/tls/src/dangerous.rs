//! Verifiers that check less than webpki does, or something else. [`NoVerification`] is used only if the user chose it
//! by name, and [`Opportunistic`] only if the certificate is then proven in another way.

use crate::names;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode, EncodeValue};
use x509_cert::spki::SubjectPublicKeyInfoOwned;

/// Accepts every certificate. That the peer has its private key is still checked.
///
/// webpki reads certificates of X.509 version 3 only; here the key of an older one is accepted, since nothing else of
/// the certificate is trusted (`openssl x509 -req` makes version 1 if no extensions are given).
#[derive(Debug)]
pub struct NoVerification {
    provider: Arc<CryptoProvider>,
}

impl NoVerification {
    /// With the algorithms of `provider`.
    pub fn new(provider: Arc<CryptoProvider>) -> Self {
        Self { provider }
    }

    fn is_signed_by(&self, key: &SubjectPublicKeyInfoOwned, message: &[u8], dss: &DigitallySignedStruct) -> bool {
        let mut kind = Vec::new();
        let (Ok(()), Some(bits)) = (key.algorithm.encode_value(&mut kind), key.subject_public_key.as_bytes()) else {
            return false;
        };
        let known = self.provider.signature_verification_algorithms.mapping;
        known.iter().filter(|(scheme, _)| *scheme == dss.scheme).flat_map(|(_, algorithms)| *algorithms).any(
            |algorithm| {
                algorithm.public_key_alg_id().as_ref() == kind
                    && algorithm.verify_signature(bits, message, dss.signature()).is_ok()
            },
        )
    }
}

/// The public key of a certificate of any version.
fn key_of(certificate: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoOwned> {
    Some(Certificate::from_der(certificate).ok()?.tbs_certificate().subject_public_key_info().clone())
}

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms).or_else(|error| {
            let key = key_of(cert).filter(|key| self.is_signed_by(key, message, dss));
            key.map(|_| HandshakeSignatureValid::assertion()).ok_or(error)
        })
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known).or_else(|error| {
            let key = key_of(cert).and_then(|key| key.to_der().ok()).map(SubjectPublicKeyInfoDer::from);
            let valid = key.and_then(|key| verify_tls13_signature_with_raw_key(message, &key, dss, known).ok());
            valid.ok_or(error)
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Checks the chain by webpki, with three differences, all of them as users of OpenSSL expect.
///
/// * A server's own certificate that is, byte for byte, one of the trusted ones is trusted: many servers use one
///   self-signed certificate, which webpki refuses as "CA used as end entity". Its dates and its name are still
///   checked.
/// * A certificate without alternative names is identified by its common name, see [`crate::names`], unless the names
///   that an authority may certify are constrained.
/// * With `any_name` a wrong name is not an error.
#[derive(Debug)]
pub struct OpenSslCompatible {
    inner: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
    any_name: bool,
}

impl OpenSslCompatible {
    /// See the type.
    pub fn new(inner: Arc<WebPkiServerVerifier>, trusted: Vec<CertificateDer<'static>>, any_name: bool) -> Self {
        Self { inner, trusted, any_name }
    }

    /// Continues after webpki has checked everything but the name, and rejected the name.
    fn other_name(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        error: Error,
    ) -> Result<ServerCertVerified, Error> {
        let by_common_name = || {
            names::common_name_is(certificate, name)
                // A pinned certificate is not its own authority.
                && !intermediates.iter().chain(&self.trusted).filter(|&ca| ca != certificate).any(names::is_constrained)
        };
        if self.any_name || by_common_name() { Ok(ServerCertVerified::assertion()) } else { Err(error) }
    }
}

/// Returns true if only the name was wrong: webpki checks names last.
fn is_wrong_name(error: &Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(error, Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
}

/// Returns true if only the trust was missing: webpki has looked at the dates before it finds either of these.
fn is_untrusted(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        Error::InvalidCertificate(CertificateError::Other(OtherError(other))) => {
            // Compared by its text, since rustls does not expose webpki's own type.
            other.to_string() == "CaUsedAsEndEntity"
        }
        _ => false,
    }
}

impl ServerCertVerifier for OpenSslCompatible {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut outcome = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        if matches!(&outcome, Err(error) if is_untrusted(error)) && self.trusted.contains(end_entity) {
            let parsed = rustls::server::ParsedCertificate::try_from(end_entity)?;
            outcome =
                rustls::client::verify_server_name(&parsed, server_name).map(|()| ServerCertVerified::assertion());
        }
        match outcome {
            Err(error) if is_wrong_name(&error) => self.other_name(end_entity, intermediates, server_name, error),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Verifies as [`OpenSslCompatible`] does and accepts as [`NoVerification`] does; a failed verification is recorded.
#[derive(Debug)]
pub struct Opportunistic {
    verifier: OpenSslCompatible,
    no_verification: NoVerification,
    unverified: Arc<AtomicBool>,
}

impl Opportunistic {
    /// `unverified` becomes true for a certificate that could not be verified.
    pub fn new(verifier: OpenSslCompatible, no_verification: NoVerification, unverified: Arc<AtomicBool>) -> Self {
        Self { verifier, no_verification, unverified }
    }
}

impl ServerCertVerifier for Opportunistic {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).or_else(|_| {
            self.unverified.store(true, Ordering::Relaxed);
            Ok(ServerCertVerified::assertion())
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.no_verification.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.no_verification.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.no_verification.supported_verify_schemes()
    }
}
