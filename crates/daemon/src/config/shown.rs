//! The configuration for those who ask: every setting but passwords, and what prints them.

use super::{Config, Daemon, DatabaseConfig};
use serde::Serialize;
use serde_json::Value;

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Where it is in the file, such as `databases.app`.
    pub section: String,
    /// Its name.
    pub name: String,
    /// Its value; empty if there is none.
    pub value: String,
    /// The value that it has by default.
    pub default: String,
}

impl Config {
    /// All settings.
    pub fn shown(&self) -> Vec<Setting> {
        let mut shown = Vec::new();
        put(&mut shown, "daemon", &of(&self.daemon), &of(&Daemon::default()));
        let by_default = DatabaseConfig::of_client("host = ''").map_or(Value::Null, |database| of(&database));
        for (name, database) in &self.databases {
            put(&mut shown, &format!("databases.{name}"), &of(database), &by_default);
        }
        for (name, account) in &self.clients {
            put(&mut shown, &format!("clients.{name}"), &of(account), &Value::Null);
        }
        for (name, user) in &self.local_users {
            put(&mut shown, &format!("local_users.{name}"), &of(user), &Value::Null);
        }
        shown
    }
}

fn of(section: &impl Serialize) -> Value {
    serde_json::to_value(section).unwrap_or_default()
}

fn put(shown: &mut Vec<Setting>, section: &str, values: &Value, by_default: &Value) {
    for (name, value) in values.as_object().into_iter().flatten() {
        let default = &by_default[name];
        match value {
            Value::Object(_) if name == "users" => {
                for (user, values) in value.as_object().into_iter().flatten() {
                    put(shown, &format!("{section}.users.{user}"), values, &Value::Null);
                }
            }
            _ => shown.push(Setting {
                section: section.to_owned(),
                name: name.clone(),
                value: text(value),
                default: text(default),
            }),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_shown_but_passwords() {
        let text = "[daemon]\nmax_clients = 7\nlog_format = 'json'\n[databases.app]\nhost = 'h,i'\npassword = 'geheim'\n\
                    [databases.app.users.jo]\npool_mode = 'session'\n[databases.other]\nhost = 'h'\n\
                    password_command = ['echo', 'geheim']\n[clients.al]\npassword = 'geheim'\ndatabases = ['app', 'b']\n";
        let config: Config = toml::from_str(text).expect("it is right");
        let shown = config.shown();
        assert!(!format!("{shown:?}").contains("geheim"));
        let found = |section: &str, name: &str| {
            let setting =
                shown.iter().find(|setting| (setting.section.as_str(), setting.name.as_str()) == (section, name));
            setting.map(|setting| (setting.value.as_str(), setting.default.as_str()))
        };
        for (section, name, expected) in [
            ("daemon", "max_clients", Some(("7", "10000"))),
            ("daemon", "log_format", Some(("json", "text"))),
            ("daemon", "listen", Some(("", ""))),
            ("databases.app", "host", Some(("h,i", ""))),
            ("databases.app", "pool_mode", Some(("transaction", "transaction"))),
            ("databases.app", "query_timeout", Some(("0.0", "0.0"))),
            ("databases.app.users.jo", "pool_mode", Some(("session", ""))),
            ("databases.app", "password", None),
            ("databases.other", "password_command", None),
            ("clients.al", "databases", Some(("app, b", ""))),
            ("clients.al", "password", None),
        ] {
            assert_eq!(found(section, name), expected, "{section} {name}");
        }
    }
}
