//! Settings of a database that contradict each other, or are out of their range.

use super::choices::{LoadBalance, PoolMode, TargetSession};
use super::{DatabaseConfig, TIMEOUTS};
use crate::config::{AuthQuery, May, check_seconds};

impl DatabaseConfig {
    pub(in crate::config) fn check(&self) -> Result<(), String> {
        if self.pool_size == 0 || self.max_connections == Some(0) || self.users.values().any(|u| u.pool_size == Some(0))
        {
            return Err("pool_size must be at least 1, and so must max_connections".into());
        }
        for (name, seconds) in [
            ("queue_wait", self.queue_wait),
            ("connect_timeout", self.connect_timeout),
            ("server_lifetime", self.lifetime()),
            ("server_idle", self.server_idle),
        ] {
            check_seconds(name, seconds, May::NotBeZero)?;
        }
        check_seconds("check_after", self.check_after, May::BeZero)?;
        check_seconds("max_lag", self.max_lag, May::BeZero)?;
        for (name, of_all, of_user) in TIMEOUTS {
            check_seconds(name, of_all(self), May::BeZero)?;
            self.users
                .values()
                .filter_map(of_user)
                .try_for_each(|seconds| check_seconds(name, seconds, May::BeZero))?;
        }
        if self.password_command.as_ref().is_some_and(Vec::is_empty) {
            return Err("password_command is empty".into());
        }
        let sources = [
            ("password", self.password.is_some()),
            ("password_file", self.password_file.is_some()),
            ("password_env", self.password_env.is_some()),
            ("password_command", self.password_command.is_some()),
            ("passfile", self.passfile.is_some()),
            ("ask_password", self.ask_password),
        ];
        let given: Vec<&str> = sources.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        if given.len() > 1 {
            return Err(format!("{} are given, but only one source of the password is possible", given.join(", ")));
        }
        self.auth_query.iter().try_for_each(AuthQuery::check)?;
        self.check_standby_reads()?;
        self.check_driver()?;
        self.tls()?;
        self.places().map(drop)
    }

    /// With `standby_reads` the entry has to be one that can be written to: everything else goes to the primary.
    fn check_standby_reads(&self) -> Result<(), String> {
        let role = self.target_session_attrs;
        let is_primary = matches!(role, TargetSession::Any | TargetSession::Primary | TargetSession::ReadWrite);
        match self.standby_reads && !(is_primary && self.host.contains(',')) {
            true => Err("standby_reads needs several hosts, of which target_session_attrs is not a standby".into()),
            false => Ok(()),
        }
    }

    /// Settings that the kind of server does not have are errors: they would have no effect.
    fn check_driver(&self) -> Result<(), String> {
        let name = self.driver.name();
        let lacks = |setting: &str, is_given: bool| match is_given {
            true => Err(format!("databases with driver = {name:?} do not support {setting}")),
            false => Ok(()),
        };
        lacks("server", self.server.is_some() && self.driver.0.setting("server").is_none())?;
        if self.driver.is_postgres() {
            return Ok(());
        }
        let statement = Some(PoolMode::Statement);
        let modes = self.users.values().map(|user| user.pool_mode).chain([Some(self.pool_mode)]);
        lacks("pool_mode = \"statement\"", modes.into_iter().any(|mode| mode == statement))?;
        lacks("load_balance_hosts", self.load_balance_hosts != LoadBalance::Disable)?;
        lacks("target_session_attrs", self.target_session_attrs != TargetSession::Any)?;
        lacks("standby_reads", self.standby_reads)?;
        lacks("read_only", self.read_only)?;
        lacks("auth_query", self.auth_query.is_some())
    }
}
