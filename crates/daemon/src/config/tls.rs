//! TLS to servers.

use super::Database;
use headrace_connection::TlsSettings;
use headrace_core::{Fatal, FatalKind};
use headrace_tls::{ClientCert, Roots, TlsConfig, Verify};

/// How TLS is negotiated, and what is verified; libpq's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server has it; its certificate is not verified.
    Prefer,
    /// TLS; the server's certificate is not verified.
    Require,
    /// TLS, with a certificate of a trusted authority.
    VerifyCa,
    /// The same, for this host.
    VerifyFull,
}

impl SslMode {
    /// The settings of TLS for a host of a database; `None` without TLS.
    ///
    /// # Errors
    /// [`Fatal`]: settings that do not belong together.
    pub fn settings(self, database: &Database, host: &str) -> Result<Option<TlsSettings>, Fatal> {
        let verify = match self {
            Self::Disable => return Ok(None),
            Self::Prefer | Self::Require => Verify::None,
            Self::VerifyCa => Verify::Ca,
            Self::VerifyFull => Verify::Full,
        };
        let client = match (&database.sslcert, &database.sslkey) {
            (Some(certificates), Some(key)) => {
                Some(ClientCert { certificates: certificates.clone(), key: key.clone() })
            }
            (None, None) => None,
            _ => return Err(Fatal::new(FatalKind::UnusableSetting, "sslcert and sslkey are needed together")),
        };
        let roots = database.sslrootcert.clone().map_or(Roots::System, Roots::File);
        let config = TlsConfig { verify, roots, client, only_tls13: false, alpn: Vec::new(), sni: true };
        Ok(Some(TlsSettings { config, server_name: host.to_owned() }))
    }
}
