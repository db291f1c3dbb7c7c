//! Databases of the configuration that are given as a URL.

use super::database::is_number;
use headrace_drivers::{Database as _, Driver, Error, Place, Postgres, Product, SettingKind, Settings, Sockets};
use toml::{Table, Value};
use zeroize::Zeroizing;

/// Names of MySQL for fields that the configuration has by those of libpq, too.
const OTHER_NAMES: [[&str; 2]; 4] =
    [["ssl_mode", "sslmode"], ["ssl_ca", "sslrootcert"], ["ssl_cert", "sslcert"], ["ssl_key", "sslkey"]];

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
            for (field, value) in read(&url).map_err(|what| format!("url: {what}"))? {
                let is_given = OTHER_NAMES.iter().any(|[other, name]| *name == field && database.contains_key(*other));
                if !is_given {
                    database.entry(field).or_insert(value);
                }
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
    let driver = Driver::of_scheme(driver).filter(|driver| **driver != *Postgres::DRIVER)?;
    Some(driver.port.into())
}

/// The fields that a URL stands for.
fn read(url: &str) -> Result<Vec<(String, Value)>, Error> {
    let mut settings = Settings::of_url(url, Product::Daemon)?;
    let mut found = vec![("driver".to_owned(), Value::String(settings.driver.name.into()))];
    let places = settings.places()?;
    let port = places.first().map_or(settings.driver.port, |place| place.port);
    let hosts: Vec<String> = places.iter().map(|place| host(place, port, settings.driver)).collect();
    found.push(("host".into(), Value::String(hosts.join(","))));
    if settings.take("port").is_some() {
        found.push(("port".into(), Value::Integer(port.into())));
    }
    for place in ["host", "socket"] {
        settings.take(place);
    }
    for (setting, value) in settings.clone().into_values() {
        let Some(field) = setting.daemon else { continue };
        let value = match (setting.kind, value.parse::<f64>()) {
            (SettingKind::Switch, _) => Value::Boolean(settings.switch(setting.name, false)?),
            (SettingKind::Seconds, Ok(seconds)) => Value::Float(seconds),
            (SettingKind::Seconds, Err(_)) => {
                return Err(Error::Invalid(format!("{field} is not a number of seconds")));
            }
            _ => Value::String(value),
        };
        found.push((field.into(), value));
    }
    Ok(found)
}

/// A host as the setting of that name has it, with its port if that is another one than `port`.
fn host(place: &Place, port: u16, driver: &Driver) -> String {
    match (&place.socket, driver.sockets) {
        (Some(path), Sockets::InFolder { .. }) => {
            folder(&path.parent().unwrap_or(path).to_string_lossy(), place.port, port)
        }
        (Some(path), _) => folder(&path.to_string_lossy(), port, port),
        (None, _) if place.port == port => place.host.clone(),
        (None, _) if place.host.contains(':') => format!("[{}]:{}", place.host, place.port),
        (None, _) => format!("{}:{}", place.host, place.port),
    }
}

/// A folder, or a socket, whose own name may end as if that were a port.
fn folder(path: &str, port: u16, usual: u16) -> String {
    let has_number = path.rsplit_once(':').is_some_and(|(_, end)| is_number(end));
    if port == usual && !has_number { path.to_owned() } else { format!("{path}:{port}") }
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
        let expected = "[databases.a]\ndriver = \"mysql\"\nhost = \"db\"\nport = 3307\nuser = \"al\"\n\
                        password = \"p@ss\"\ndbname = \"shop\"\npool_size = 3\n[databases.b]\ndriver = \"informix\"\n\
                        host = \"::1\"\nport = 9088\ndbname = \"stores\"\nserver = \"ol\"\n[databases.c]\nhost = \"x\"\n";
        assert_eq!(config, expected.parse::<Table>().unwrap());
        for (beside, expected) in [
            ("ssl_mode = 'verify-ca'\nsslrootcert = '/a'", "ssl_mode='verify-ca'\nsslrootcert='/a'"),
            ("sslmode = 'disable'", "sslmode='disable'\nsslrootcert='/x'"),
            ("ssl_ca = '/a'", "sslmode='verify-full'\nssl_ca='/a'"),
        ] {
            let url = "url='mysql://h/d?sslmode=verify-full&ssl_ca=/x'";
            let mut config: Table = format!("[databases.a]\n{url}\n{beside}").parse().unwrap();
            assert_eq!(expand_all(&mut config), Ok(true));
            let all = format!("[databases.a]\ndriver='mysql'\nhost='h'\ndbname='d'\nport=3306\n{expected}");
            assert_eq!(config, all.parse::<Table>().unwrap(), "{beside}");
        }
        for bad in ["x", "oracle://h/d", "mysql://h:x/d", "mysql://h/%zz", "mysql://u:a?b@h/d", "mysql://u:a@b?c@h/d"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn fields_have_the_types_of_the_configuration() {
        for (url, expected) in [
            (
                "mysql://h/d?ssl_mode=REQUIRED&connect_timeout=2.5",
                "host='h'\ndbname='d'\nsslmode='REQUIRED'\nconnect_timeout=2.5",
            ),
            ("mysql://u@localhost/d?unix_socket=/tmp/s", "host='/tmp/s'\nuser='u'\ndbname='d'"),
            (
                "mysql://h/d?charset=utf8mb4&sslmode=verify-ca&ssl_ca=/x",
                "host='h'\ndbname='d'\nsslmode='verify-ca'\nsslrootcert='/x'",
            ),
            ("postgresql://a:1,[::1]:2,c:1/d", "host='a,[::1]:2,c'\nport=1\ndbname='d'"),
            ("postgresql:///d?host=/tmp&port=7", "host='/tmp'\nport=7\ndbname='d'"),
            ("postgresql:///d?host=/a,/b,/c:1&port=1,2,1", "host='/a,/b:2,/c:1:1'\nport=1\ndbname='d'"),
            ("mysql://h/d?socket=/tmp/s:3", "host='/tmp/s:3:0'\ndbname='d'"),
            (
                "postgresql://h,i/d?standby_reads=1&max_lag=2.5&read_only=off",
                "host='h,i'\ndbname='d'\nstandby_reads=true\nmax_lag=2.5\nread_only=false",
            ),
            ("postgresql://h/d?target_session_attrs=primary", "host='h'\ndbname='d'\ntarget_session_attrs='primary'"),
        ] {
            let mut expected: Table = expected.parse().unwrap();
            let driver = url.split_once(':').unwrap().0;
            expected.insert("driver".into(), driver.into());
            assert_eq!(read(url).unwrap().into_iter().collect::<Table>(), expected, "{url}");
        }
        let error = read("postgresql://h/d?keepalives=0").unwrap_err().to_string();
        assert_eq!(error, "keepalives is a setting of headrace for Python, which headraced does not have");
    }
}
