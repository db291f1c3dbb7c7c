//! What distinguishes pools.

use crate::config::DatabaseConfig;
use crate::secret::Secret;
use std::collections::{BTreeMap, HashSet};

/// The startup parameters that a pool's server connections are opened with: what distinguishes pools.
pub type Parameters = Vec<(String, String)>;

/// What distinguishes pools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The name of the database, or a hash of what the client has named as its server.
    pub name: String,
    /// A client has named the server.
    pub of_client: bool,
    /// The startup parameters.
    pub startup: Parameters,
    /// The password that the client was asked for: who has another shares nothing.
    pub password: Option<Secret>,
    /// The one host of a pool of a standby, for transactions that are declared to be read-only.
    pub standby: Option<String>,
}

impl Key {
    /// A startup parameter; empty if there is none of this name.
    pub fn of(&self, name: &str) -> &str {
        self.startup.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The user and the name of the database, or the server that the client has named, for people. Pools that differ in
    /// something else are numbered.
    pub fn label(&self, database: &DatabaseConfig, taken: &HashSet<String>) -> String {
        let mut label = format!("{}@{}", self.of("user"), self.database(database));
        if let Some(standby) = &self.standby {
            label.push_str(&format!(" (standby {standby})"));
        }
        if !taken.contains(&label) {
            return label;
        }
        let mut numbered = (2_usize..).map(|n| format!("{label} ({n})"));
        numbered.find(|label| !taken.contains(label)).expect("there are fewer pools than numbers")
    }

    /// The name of the database, or the server that the client has named, for people.
    pub fn database(&self, database: &DatabaseConfig) -> String {
        if !self.of_client {
            return self.name.clone();
        }
        let places = database.places().unwrap_or_default();
        let places: Vec<String> = places.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        format!("{}/{}", places.join(","), self.of("database"))
    }

    /// The startup parameters other than the user and the database.
    pub fn others(&self) -> BTreeMap<String, String> {
        self.startup.iter().filter(|(name, _)| !matches!(name.as_str(), "user" | "database")).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_servers_that_clients_name_have_each_port_once() {
        let startup = vec![("user".into(), "jo".into()), ("database".into(), "shop".into())];
        let key = Key { name: "hash".into(), of_client: true, startup, password: None, standby: None };
        let mut taken = HashSet::new();
        for (host, label) in [
            ("db:7,other", "jo@db:7,other:5432/shop"),
            ("db", "jo@db:5432/shop"),
            ("db:5432", "jo@db:5432/shop (2)"),
            ("db", "jo@db:5432/shop (3)"),
        ] {
            let database = DatabaseConfig::of_client(&format!("host = {host:?}")).unwrap();
            let found = key.label(&database, &taken);
            assert_eq!(found, label);
            taken.insert(found);
        }
    }
}
