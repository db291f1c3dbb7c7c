//! Who may log in over TCP.

use crate::scram::Verifier;
use crate::secret::Secret;
use serde::Deserialize;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// A client that logs in over TCP. Of its password only what SCRAM needs to check it is kept.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The password, or a verifier as `pg_authid` has it.
    password: Option<Secret>,
    /// A file with it in its first line.
    password_file: Option<PathBuf>,
    /// A variable of the daemon's environment with it.
    password_env: Option<String>,
    /// The databases that it may use; by default all.
    databases: Option<Vec<String>>,
    #[serde(skip)]
    verifier: Option<Verifier>,
}

impl Account {
    /// Reads the password.
    pub(super) fn prepare(&mut self) -> Result<(), String> {
        let secret = match (self.password.take(), &self.password_file, &self.password_env) {
            (Some(password), None, None) => password,
            (None, Some(path), None) => {
                let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                Secret::new(Zeroizing::new(text).lines().next().unwrap_or_default().to_owned())
            }
            (None, None, Some(name)) => {
                Secret::new(std::env::var(name).map_err(|error| format!("password_env {name}: {error}"))?)
            }
            _ => return Err("one of password, password_file and password_env must be given".into()),
        };
        self.verifier = Some(Verifier::of(secret.reveal())?);
        Ok(())
    }

    /// What its password is checked with.
    pub fn verifier(&self) -> Option<&Verifier> {
        self.verifier.as_ref()
    }

    /// Returns true if it may use the database of this name.
    pub fn may_use(&self, database: &str) -> bool {
        self.databases.as_ref().is_none_or(|known| known.iter().any(|name| name == database))
    }
}
