//! Databases of the configuration that are given as a URL.

use toml::{Table, Value};
use zeroize::Zeroizing;

/// Replaces `url` of each database of a configuration. Returns true if anything was replaced.
///
/// # Errors
/// What is wrong with a URL.
pub fn expand_all(config: &mut Table) -> Result<bool, String> {
    let Some(Value::Table(databases)) = config.get_mut("databases") else { return Ok(false) };
    let mut any = false;
    for (name, database) in databases {
        if let Value::Table(database) = database {
            any |= expand(database).map_err(|what| format!("databases.{name}: {what}"))?;
        }
    }
    Ok(any)
}

/// Replaces `url` by the settings that it stands for, and adds the port that the kind of server has by default. Returns
/// true if anything has changed.
///
/// # Errors
/// What is wrong with the URL.
pub fn expand(database: &mut Table) -> Result<bool, String> {
    let before = database.len();
    let is_url = match database.remove("url") {
        None => false,
        Some(Value::String(url)) => {
            let url = Zeroizing::new(url);
            for (key, value) in read(&url).map_err(|what| format!("url {what}"))? {
                database.entry(key).or_insert(value);
            }
            true
        }
        Some(_) => return Err("url is not a text".into()),
    };
    let port = database.get("driver").and_then(Value::as_str).and_then(default_port);
    if let Some(port) = port {
        database.entry("port").or_insert(Value::Integer(port));
    }
    Ok(is_url || database.len() != before)
}

fn default_port(driver: &str) -> Option<i64> {
    Some(match driver {
        "mysql" | "mariadb" => 3306,
        "informix" => 9088,
        "cubrid" => 33_000,
        _ => return None,
    })
}

/// `driver://user:password@host:port/database?server=name`. The last `@` ends the password, which may have a `/`. What is
/// wrong is said without the text, in which a part of a password may be where nobody expects it.
fn read(url: &str) -> Result<Vec<(String, Value)>, String> {
    let (driver, rest) = url.split_once("://").ok_or("has no driver://")?;
    let driver = if driver == "postgres" { "postgresql" } else { driver };
    if driver != "postgresql" && default_port(driver).is_none() {
        return Err(format!("is of {driver:?}: postgresql, mysql, mariadb, informix and cubrid are known"));
    }
    let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
    if options.contains('@') {
        return Err("has an @ after the ?: write %3F for a ? in the password, and %40 for an @ in an option".into());
    }
    let (user, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
    let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').unwrap_or("")),
        None => place.split_once(':').unwrap_or((place, "")),
    };
    let mut found = vec![("driver".to_owned(), Value::String(driver.into()))];
    for (key, value) in [("host", host), ("user", user), ("password", password), ("dbname", database)] {
        if !value.is_empty() {
            found.push((key.into(), Value::String(decoded(value)?)));
        }
    }
    if !port.is_empty() {
        let number = port.parse::<u16>().map_err(|_| "has a port that is not a number")?;
        found.push(("port".into(), Value::Integer(number.into())));
    }
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        found.push((key.into(), Value::String(decoded(value)?)));
    }
    Ok(found)
}

/// A text with `%20` for a blank.
///
/// # Errors
/// What is wrong with it.
pub fn decoded(text: &str) -> Result<String, String> {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.bytes());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(bytes.next()), digit(bytes.next())) else {
            return Err("has a % that two hexadecimal digits do not follow".into());
        };
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).map_err(|_| "is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_stands_for_settings_that_others_override() {
        let text = "[databases.a]\nurl = \"mariadb://jo:p%40ss@db:3307/shop\"\npool_size = 3\nuser = \"al\"\n\
                    [databases.b]\nurl = \"informix://[::1]/stores?server=ol\"\n[databases.c]\nhost = \"x\"\n";
        let mut config: Table = text.parse().unwrap();
        assert_eq!(expand_all(&mut config), Ok(true));
        assert_eq!(expand_all(&mut config), Ok(false));
        let expected = "[databases.a]\ndriver = \"mariadb\"\nhost = \"db\"\nport = 3307\nuser = \"al\"\n\
                        password = \"p@ss\"\ndbname = \"shop\"\npool_size = 3\n[databases.b]\ndriver = \"informix\"\n\
                        host = \"::1\"\nport = 9088\ndbname = \"stores\"\nserver = \"ol\"\n[databases.c]\nhost = \"x\"\n";
        assert_eq!(config, expected.parse::<Table>().unwrap());
        for bad in ["x", "oracle://h/d", "mysql://h:x/d", "mysql://h/%zz", "mysql://u:a?b@h/d", "mysql://u:a@b?c@h/d"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_password_may_have_what_begins_other_parts() {
        for password in ["geheim/wort", "a@b", "a:b", "/@:"] {
            let found: Table = read(&format!("postgresql://u:{password}@h:1/d")).unwrap().into_iter().collect();
            let found = ["user", "password", "host", "dbname"].map(|key| found[key].as_str());
            assert_eq!(found, [Some("u"), Some(password), Some("h"), Some("d")]);
        }
    }
}
