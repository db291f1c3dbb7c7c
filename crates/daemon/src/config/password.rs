//! Where the password for a login comes from.

use super::DatabaseConfig;
use super::passfile;
use crate::limits::PASSWORD_COMMAND;
use crate::secret::Secret;
use headrace_core::{Fatal, FatalKind};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;
use tokio::time::timeout;
use zeroize::Zeroizing;

impl DatabaseConfig {
    /// The password for a login at one of the hosts, if there is one. Files and variables are read, and commands are
    /// run, for each login.
    ///
    /// # Errors
    /// [`Fatal`]: the source of the password fails.
    pub async fn password_for(&self, host: &str, port: u16, user: &str, dbname: &str) -> Result<Option<Secret>, Fatal> {
        if let Some(path) = &self.password_file {
            return in_file(path).map(Some);
        }
        if let Some(name) = &self.password_env {
            return in_environment(name).map(Some);
        }
        if let Some(command) = &self.password_command {
            return printed(command).await.map(Some);
        }
        if self.password.is_some() {
            return Ok(self.password.clone());
        }
        // libpq's file is for PostgreSQL's servers, unless another one is named.
        let default = || if self.driver.is_postgres() { default_passfile() } else { None };
        let Some(path) = self.passfile.clone().or_else(default) else { return Ok(None) };
        let host = if host.starts_with('/') { "localhost" } else { host };
        passfile::find(&path, [host, &port.to_string(), dbname, user])
            .map_err(|error| failed("passfile", path.display(), error))
    }
}

/// The first line of a `password_file`.
pub(super) fn in_file(path: &Path) -> Result<Secret, Fatal> {
    let text = std::fs::read_to_string(path).map_err(|error| failed("password_file", path.display(), error))?;
    Ok(first_line(&Zeroizing::new(text)))
}

/// The variable that `password_env` names.
pub(super) fn in_environment(name: &str) -> Result<Secret, Fatal> {
    env::var(name).map(Secret::new).map_err(|error| failed("password_env", name, error))
}

fn default_passfile() -> Option<PathBuf> {
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    named.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass")))
}

async fn printed(command: &[String]) -> Result<Secret, Fatal> {
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = match timeout(PASSWORD_COMMAND, program.output()).await {
        Ok(output) => output.map_err(|error| failed("password_command", &command[0], error))?,
        Err(_) => {
            let what = format!("the program did not end within {PASSWORD_COMMAND:?}");
            return Err(failed("password_command", &command[0], what));
        }
    };
    if !output.status.success() {
        return Err(failed("password_command", &command[0], output.status));
    }
    let text = Zeroizing::new(output.stdout);
    let text = std::str::from_utf8(&text).map_err(|error| failed("password_command", &command[0], error))?;
    Ok(first_line(text))
}

fn first_line(text: &str) -> Secret {
    Secret::new(text.lines().next().unwrap_or_default().to_owned())
}

fn failed(setting: &str, of: impl std::fmt::Display, what: impl std::fmt::Display) -> Fatal {
    Fatal::new(FatalKind::UnusableSetting, format!("{setting} {of}: {what}"))
}
