//! Who may log in over TCP.

use super::password::{in_environment, in_file};
use crate::scram::{Fingerprint, Verifier};
use crate::secret::Secret;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A client that logs in over TCP. Of its password only what SCRAM needs to check it is kept.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The password, or a verifier as `pg_authid` has it.
    #[serde(skip_serializing)]
    password: Option<Secret>,
    /// A file with it in its first line.
    password_file: Option<PathBuf>,
    /// A variable of the daemon's environment with it.
    password_env: Option<String>,
    /// Common names of the certificates that it may show: it needs one of them, also with a password.
    cert_names: Option<Vec<String>>,
    /// The databases that it may use; by default all.
    databases: Option<Vec<String>>,
    #[serde(skip)]
    verifier: Option<Verifier>,
    /// That of the secret which the verifier was made of.
    #[serde(skip)]
    fingerprint: Option<Fingerprint>,
}

impl Account {
    /// Reads the password.
    pub(super) fn prepare(&mut self) -> Result<(), String> {
        let secret = match (self.password.take(), &self.password_file, &self.password_env) {
            (Some(password), None, None) => password,
            (None, Some(path), None) => in_file(path).map_err(|fatal| fatal.message)?,
            (None, None, Some(name)) => in_environment(name).map_err(|fatal| fatal.message)?,
            (None, None, None) if self.cert_names.is_some() => return Ok(()),
            _ => return Err("one of password, password_file and password_env must be given, or cert_names".into()),
        };
        self.verifier = Some(Verifier::of(secret.reveal())?);
        self.fingerprint = Some(Fingerprint::of(secret.reveal()));
        Ok(())
    }

    /// Keeps the salt of an earlier configuration if the password is the same: that of a user who does not exist does not
    /// change either when the configuration is read again, and whoever logs in sees it.
    pub fn keep_salt(&mut self, before: &Self) {
        if self.fingerprint == before.fingerprint {
            self.verifier.clone_from(&before.verifier);
        }
    }

    /// Returns true if it is let in with a certificate only.
    pub fn needs_certificate(&self) -> bool {
        self.cert_names.is_some()
    }

    /// Returns true if a certificate with this common name is one of its own, or if it needs none.
    pub fn accepts(&self, certificate: Option<&str>) -> bool {
        self.cert_names.as_ref().is_none_or(|names| names.iter().any(|name| Some(name.as_str()) == certificate))
    }

    /// What its password is checked with; `None` if it has none.
    pub fn verifier(&self) -> Option<&Verifier> {
        self.verifier.as_ref()
    }

    /// Returns true if it may use the database of this name.
    pub fn may_use(&self, database: &str) -> bool {
        self.databases.as_ref().is_none_or(|known| known.iter().any(|name| name == database))
    }
}
