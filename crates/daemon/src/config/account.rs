//! Who may log in over TCP.

use super::password::{in_environment, in_file};
use crate::scram::Verifier;
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
            (None, Some(path), None) => in_file(path).map_err(|fatal| fatal.message)?,
            (None, None, Some(name)) => in_environment(name).map_err(|fatal| fatal.message)?,
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
