//! Verifiers that check less than everything. Each is used only where the user asked for it by name.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// Accepts every certificate, as libpq's sslmode=require does. That the peer holds its key is still checked.
#[derive(Debug)]
pub struct Anyone {
    provider: Arc<CryptoProvider>,
}

impl Anyone {
    /// With the algorithms of `provider`.
    pub fn new(provider: Arc<CryptoProvider>) -> Self {
        Self { provider }
    }
}

impl ServerCertVerifier for Anyone {
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
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Checks the chain by webpki, with two differences.
///
/// A server's own certificate that is, byte for byte, one of the trusted ones is trusted, as OpenSSL does: many
/// PostgreSQL servers use one self-signed certificate, which webpki refuses as "CA used as end entity". Its name and
/// its dates are then not looked at beyond what webpki could say, so only `verify-ca` accepts it without a name check.
/// And with `any_name` a wrong name is no error (libpq's verify-ca).
#[derive(Debug)]
pub struct Trusting {
    inner: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
    any_name: bool,
}

impl Trusting {
    /// See the type.
    pub fn new(inner: Arc<WebPkiServerVerifier>, trusted: Vec<CertificateDer<'static>>, any_name: bool) -> Self {
        Self { inner, trusted, any_name }
    }

    fn names(&self, certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
        if self.any_name {
            return Ok(());
        }
        let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
        rustls::client::verify_server_name(&parsed, name)
    }
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            Err(Error::InvalidCertificate(CertificateError::Other(_) | CertificateError::UnknownIssuer))
                if self.trusted.iter().any(|trusted| trusted == end_entity) =>
            {
                self.names(end_entity, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
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
