//! Where the server itself is asked for the passwords of clients on TCP.

use super::DatabaseConfig;
use super::password::{in_environment, in_file};
use crate::secret::Secret;
use headrace_core::Fatal;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is asked by default: who may log in, and whose password has not expired.
const QUERY: &str = "SELECT rolname, CASE WHEN rolvaliduntil < pg_catalog.now() THEN NULL ELSE rolpassword END \
                     FROM pg_catalog.pg_authid WHERE rolname = $1 AND rolcanlogin";

/// How the verifier of a user's password is found on the server.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AuthQuery {
    /// The user on the server who may ask.
    pub user: String,
    /// The database on the server where it asks; by default that of the clients.
    pub dbname: Option<String>,
    /// The query, with the name of the client as `$1`. Its first row has the name and the verifier.
    #[serde(default = "query")]
    pub query: String,
    /// The password of the user.
    #[serde(skip_serializing)]
    password: Option<Secret>,
    /// A file with it in its first line.
    password_file: Option<PathBuf>,
    /// A variable of the daemon's environment with it.
    password_env: Option<String>,
}

fn query() -> String {
    QUERY.to_owned()
}

impl AuthQuery {
    pub(super) fn check(&self) -> Result<(), String> {
        let given = [self.password.is_some(), self.password_file.is_some(), self.password_env.is_some()];
        if given.iter().filter(|given| **given).count() > 1 {
            return Err("auth_query: more than one of password, password_file and password_env is given".into());
        }
        Ok(())
    }

    /// The password; without one that of the database's passfile, if there is one there.
    ///
    /// # Errors
    /// [`Fatal`]: it cannot be read.
    pub fn password(&self) -> Result<Option<Secret>, Fatal> {
        match (&self.password_file, &self.password_env) {
            (Some(path), _) => in_file(path).map(Some),
            (_, Some(name)) => in_environment(name).map(Some),
            _ => Ok(self.password.clone()),
        }
    }
}

impl DatabaseConfig {
    /// The settings of the connection on which the server is asked: those of the database, but the password of its users.
    pub fn asking(&self) -> Self {
        let mut own = self.clone();
        (own.password, own.password_file, own.password_env, own.password_command) = (None, None, None, None);
        own.ask_password = false;
        own
    }
}
