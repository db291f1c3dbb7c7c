//! TLS, as settings ask for it.

use crate::{Database as _, Driver, Error, MySql, Postgres, Settings};
use headrace_connection::TlsSettings;
use headrace_tls::{ClientCert, Roots, TlsConfig, Verify};
use std::path::{Path, PathBuf};

/// Whether TLS is used, and what is verified; libpq's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server has it; its certificate is not verified. libpq's `allow`, which tries without it first, is this
    /// too.
    Prefer,
    /// TLS; the server's certificate is not verified.
    Require,
    /// TLS, with a certificate of a trusted authority.
    VerifyCa,
    /// The same, for this host.
    VerifyFull,
}

impl SslMode {
    /// The mode that libpq, or MySQL, calls so.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "disable" | "disabled" => Self::Disable,
            "allow" | "prefer" | "preferred" => Self::Prefer,
            "require" | "required" => Self::Require,
            "verify-ca" | "verify_ca" => Self::VerifyCa,
            "verify-full" | "verify_identity" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// libpq's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }
}

/// Whether and how TLS is used, and how certificates are verified.
#[derive(Clone, Debug)]
pub enum Encryption {
    /// Not at all.
    No,
    /// If the server has it.
    Prefer(TlsSettings),
    /// In any case.
    Require(TlsSettings),
}

impl Encryption {
    /// The settings of TLS.
    pub fn into_settings(self) -> Option<TlsSettings> {
        match self {
            Self::No => None,
            Self::Prefer(settings) | Self::Require(settings) => Some(settings),
        }
    }

    /// The settings of TLS.
    pub fn settings(&self) -> Option<&TlsSettings> {
        match self {
            Self::No => None,
            Self::Prefer(settings) | Self::Require(settings) => Some(settings),
        }
    }
}

/// The settings of TLS that are given, which were checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    mode: SslMode,
    verify: Verify,
    roots: Roots,
    client: Option<ClientCert>,
    /// TLS over a Unix socket is possible.
    is_possible_on_this_machine: bool,
}

/// The name for the system's certificates, in the place of a file.
const SYSTEM: &str = "system";

impl Tls {
    /// Checks settings of a database.
    ///
    /// # Errors
    /// They contradict each other, or would verify less than they seem to.
    pub fn new(
        driver: &Driver,
        mode: Option<SslMode>,
        roots: Option<&Path>,
        certificate: Option<&Path>,
        key: Option<&Path>,
    ) -> Result<Self, Error> {
        let names = driver.tls;
        let is_like_libpq = driver == Postgres::DRIVER;
        let is_mysql = driver == MySql::DRIVER;
        let given = mode;
        let is_system = is_like_libpq && roots.is_some_and(|file| file == Path::new(SYSTEM));
        let file = roots.filter(|_| !is_system);
        if is_system && given.is_some_and(|mode| mode != SslMode::VerifyFull) {
            return Err(Error::invalid(format!(
                "{}=system needs {}=verify-full: anyone can have a certificate of a public authority, only the name \
                 distinguishes them",
                names.roots, names.mode
            )));
        }
        let mode = given.unwrap_or(match (is_system, driver.negotiates_tls) {
            (true, _) => SslMode::VerifyFull,
            _ if is_mysql && file.is_some() => SslMode::VerifyCa,
            (_, true) => SslMode::Prefer,
            (_, false) => SslMode::Disable,
        });
        if mode == SslMode::Prefer && !driver.negotiates_tls {
            return Err(Error::invalid(format!(
                "{}=prefer needs a server that negotiates TLS, which those of {} do not",
                names.mode, driver.title
            )));
        }
        // The system's authorities issue a certificate to anyone: without a look at the name they verify nothing.
        if mode == SslMode::VerifyCa && file.is_none() && !is_mysql {
            return Err(Error::invalid(format!(
                "{}=verify-ca needs the certificates to trust: give {}; with the system's use verify-full",
                names.mode, names.roots
            )));
        }
        let verify = match mode {
            // As libpq, for compatibility with its older releases.
            SslMode::Require if is_like_libpq && file.is_some() => Verify::Ca,
            SslMode::Disable | SslMode::Prefer | SslMode::Require => Verify::None,
            SslMode::VerifyCa => Verify::Ca,
            SslMode::VerifyFull => Verify::Full,
        };
        let client = match (certificate, key) {
            (Some(certificates), Some(key)) => Some(ClientCert { certificates: certificates.into(), key: key.into() }),
            (None, None) => None,
            _ => {
                let [certificate, key] = names.client.unwrap_or(["sslcert", "sslkey"]);
                return Err(Error::invalid(format!("{certificate} and {key} must be set together")));
            }
        };
        let roots = file.map_or(Roots::System, |file| Roots::File(file.to_owned()));
        Ok(Self { mode, verify, roots, client, is_possible_on_this_machine: is_mysql })
    }

    /// The settings of TLS among the settings of a connection.
    ///
    /// # Errors
    /// Those of [`Tls::new`].
    pub fn of(settings: &Settings) -> Result<Self, Error> {
        let names = settings.driver.tls;
        let file = |name: &'static str| settings.text(name).map(PathBuf::from);
        let mode = settings.text(names.mode).map(|text| {
            SslMode::of_name(text).ok_or_else(|| Error::invalid(format!("there is no {}={text}", names.mode)))
        });
        let mode = match (mode.transpose()?, names.switch) {
            (None, Some(switch)) if settings.switch(switch, false)? => Some(SslMode::VerifyFull),
            (mode, _) => mode,
        };
        let [certificate, key] = names.client.map_or([None, None], |names| names.map(file));
        let roots = file(names.roots);
        Self::new(settings.driver, mode, roots.as_deref(), certificate.as_deref(), key.as_deref())
    }

    /// TLS at a place. A Unix socket (`is_local`) is not encrypted, unless the server can, and that was insisted on.
    pub fn at(&self, host: &str, is_local: bool) -> Encryption {
        let is_out = is_local && (self.mode == SslMode::Prefer || !self.is_possible_on_this_machine);
        if self.mode == SslMode::Disable || is_out {
            return Encryption::No;
        }
        let config = TlsConfig {
            verify: self.verify,
            roots: self.roots.clone(),
            client: self.client.clone(),
            only_tls13: false,
            alpn: Vec::new(),
            sni: true,
        };
        let settings = TlsSettings { config, server_name: host.to_owned() };
        if self.mode == SslMode::Prefer { Encryption::Prefer(settings) } else { Encryption::Require(settings) }
    }
}
