//! Users of the system who may connect to the Unix socket besides the daemon's own.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one of them may do. The system proves who it is; a client only names the database user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LocalUser {
    /// The database users that it may be, where a database does not name its own; by default the one of its own name.
    names: Option<Vec<String>>,
    /// The databases that it may use; by default all of the configuration.
    databases: Option<Vec<String>>,
}

impl LocalUser {
    /// Returns true if it may use the database of this name.
    pub fn may_use(&self, database: &str) -> bool {
        self.databases.as_ref().is_none_or(|known| known.iter().any(|name| name == database))
    }

    /// Returns true if it may be the database user of this name.
    pub fn may_be(&self, user: &str) -> bool {
        self.names.as_ref().is_some_and(|known| known.iter().any(|name| name == user))
    }
}

/// The users of a configuration, by their numbers.
///
/// # Errors
/// A user that the system does not have, or that is there twice.
pub(super) fn by_number(users: &BTreeMap<String, LocalUser>) -> Result<BTreeMap<u32, LocalUser>, String> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut numbers = BTreeMap::new();
    for (name, user) in users {
        let (uid, user) = found(&passwd, name, user)?;
        if numbers.insert(uid, user).is_some() {
            return Err(format!("local_users.{name}: this user is there by its name and by its number"));
        }
    }
    Ok(numbers)
}

fn found(passwd: &str, name: &str, user: &LocalUser) -> Result<(u32, LocalUser), String> {
    let logins = || {
        passwd.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let (login, uid) = (fields.next()?, fields.nth(1)?);
            Some((uid.parse::<u32>().ok()?, login))
        })
    };
    let number = name.parse::<u32>().ok();
    // A login may be a number, and then is not that of another one.
    let known = logins().find(|(_, login)| *login == name).or_else(|| logins().find(|(uid, _)| Some(*uid) == number));
    let (uid, login) = known
        .or(number.map(|uid| (uid, name)))
        .ok_or_else(|| format!("local_users.{name}: the system has no such user"))?;
    let mut user = user.clone();
    user.names.get_or_insert_with(|| vec![login.to_owned()]);
    Ok((uid, user))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nlp:x:7:7::/:/bin/sh\njo:x:1000:1000::/home/jo:/bin/sh\n7:x:1001:1001::/:/bin/sh\n";

    #[test]
    fn a_user_is_only_itself_unless_the_configuration_says_more() {
        let all = LocalUser::default();
        let some = LocalUser { names: Some(vec!["app".into(), "report".into()]), databases: Some(vec!["shop".into()]) };
        let cases = [
            ("jo", &all, 1000, "jo", true),
            ("jo", &all, 1000, "postgres", false),
            ("1000", &all, 1000, "jo", true),
            ("1000", &all, 1000, "1000", false),
            // Nobody in passwd has this number, as where users come from a directory.
            ("4711", &all, 4711, "4711", true),
            ("jo", &some, 1000, "app", true),
            ("jo", &some, 1000, "jo", false),
            // A login that is a number is found before the number is taken for one.
            ("7", &all, 1001, "7", true),
        ];
        for (name, user, uid, asked, may) in cases {
            let (number, user) = found(PASSWD, name, user).unwrap();
            assert_eq!((number, user.may_be(asked)), (uid, may), "{name} as {asked}");
        }
        assert!(some.may_use("shop") && !some.may_use("other") && all.may_use("other"));
        assert!(found(PASSWD, "nobody of them", &all).is_err());
        let twice = ["root", "0"].map(|name| (name.to_owned(), all.clone()));
        assert!(by_number(&twice.into()).unwrap_err().contains("by its name and by its number"));
    }
}
