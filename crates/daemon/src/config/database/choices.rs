//! The words that settings of a database are given by.

use headrace_drivers::{DRIVERS, Database as _, Postgres, Product};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The kind of a database's server, which the configuration names as URLs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver(pub &'static headrace_drivers::Driver);

impl Driver {
    /// The word of the configuration.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Clients are lent its connections, not what the daemon makes of them.
    pub fn is_postgres(self) -> bool {
        self.0 == Postgres::DRIVER
    }
}

impl Default for Driver {
    fn default() -> Self {
        Self(Postgres::DRIVER)
    }
}

impl<'de> Deserialize<'de> for Driver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let drivers = || DRIVERS.iter().filter(|driver| driver.is_of(Product::Daemon));
        let found = drivers().find(|driver| driver.schemes.contains(&name.as_str()));
        found.map(|driver| Self(driver)).ok_or_else(|| {
            let known: Vec<_> = drivers().map(|driver| format!("`{}`", driver.name)).collect();
            D::Error::custom(format!("unknown driver, expected one of {}", known.join(", ")))
        })
    }
}

impl Serialize for Driver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// When a server connection goes back to its pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolMode {
    /// At the end of each transaction.
    #[default]
    Transaction,
    /// When the client leaves.
    Session,
    /// At the end of each statement; transactions of several statements are refused.
    Statement,
}

impl PoolMode {
    /// The word of the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Session => "session",
            Self::Statement => "statement",
        }
    }
}

/// Which servers will do; libpq's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetSession {
    /// All.
    #[default]
    Any,
    /// Those that can be written to.
    ReadWrite,
    /// Those that cannot.
    ReadOnly,
    /// Those that are not in recovery.
    Primary,
    /// Those that are.
    Standby,
    /// A standby, or any if there is none.
    PreferStandby,
}

/// In which order the hosts are tried; libpq's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBalance {
    /// That of the configuration.
    #[default]
    Disable,
    /// Another one for each server connection.
    Random,
}
