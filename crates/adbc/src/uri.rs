//! URIs that name a database: `scheme://user:password@host:port,host:port/database?name=value`.
//!
//! Errors name a part, and never show text that could be a piece of a password.

use crate::error::invalid;
use adbc_core::error::{Error, Result};

/// The name of the driver.
const DRIVER: &str = "headrace";

/// The parts of a URI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uri {
    /// The scheme, in small letters.
    pub scheme: String,
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// Hosts, each with its port if it is given.
    pub hosts: Vec<(String, Option<u16>)>,
    /// The database.
    pub database: Option<String>,
    /// What stands after the question mark, in order.
    pub parameters: Vec<(String, String)>,
}

impl Uri {
    /// Reads a URI, before which the name of the driver may stand, by which programs find it: `headrace:mysql://...`.
    ///
    /// # Errors
    /// It is malformed.
    pub fn parse(text: &str) -> Result<Self> {
        let text = match text.split_once(':') {
            Some((name, rest)) if name.eq_ignore_ascii_case(DRIVER) && !rest.starts_with("//") => rest,
            _ => text,
        };
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| invalid("the uri is written scheme://user:password@host:port/database?name=value"))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let (login, hosts) = authority.rsplit_once('@').map_or((None, authority), |(login, at)| (Some(login), at));
        // An @ further on may be the one that ends the user and the password.
        let astray = login.is_none() && rest.contains('@');
        let mut uri = Self { scheme: scheme.to_ascii_lowercase(), ..Self::default() };
        if let Some(login) = login {
            let (user, password) = login.split_once(':').map_or((login, None), |(user, rest)| (user, Some(rest)));
            uri.user = Some(decode(user, "user")?).filter(|user| !user.is_empty());
            uri.password = password.map(|password| decode(password, "password")).transpose()?;
        }
        for one in hosts.split(',').filter(|one| !one.is_empty()) {
            uri.hosts.push(host(one, astray)?);
        }
        uri.database = Some(decode(path, "database")?).filter(|name| !name.is_empty());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                invalid("malformed parameters in the uri: they are written name=value, with & between them")
            })?;
            uri.parameters.push((decode(name, "parameters")?, decode(value, "parameters")?));
        }
        Ok(uri)
    }
}

fn host(text: &str, astray: bool) -> Result<(String, Option<u16>)> {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, after)) => (name, after.strip_prefix(':').filter(|_| !after.is_empty())),
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    let port =
        port.filter(|port| !port.is_empty()).map(|port| decode(port, "port")?.parse().map_err(|_| malformed(astray)));
    Ok((decode(name, "host")?, port.transpose()?))
}

fn malformed(astray: bool) -> Error {
    invalid(if astray {
        "malformed uri: in the user and the password the characters / ? # @ : must be percent-encoded, as %2F %3F %23 \
         %40 %3A"
    } else {
        "a port in the uri is not a number from 1 to 65535; an IPv6 address stands in brackets, as in [::1]:5432"
    })
}

/// Undoes percent-encoding.
fn decode(text: &str, what: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        // Not from_str_radix alone, which takes a sign.
        let digits = digits.filter(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok()).ok_or_else(|| {
            invalid(format!("malformed percent-encoding in the {what} of the uri; a % itself is written %25"))
        })?;
        bytes.push(byte);
        rest = &after[2..];
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| invalid(format!("the percent-encoding in the {what} of the uri is not UTF-8")))?;
    if text.contains('\0') {
        return Err(invalid(format!("the {what} of the uri has a NUL character")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_its_parts() {
        let uri = Uri::parse("PostgreSQL://jo:s%40crET@a,[::1]:5433/shop%20x?sslmode=require&a=%C3%A4").unwrap();
        assert_eq!(uri.scheme, "postgresql");
        assert_eq!((uri.user.as_deref(), uri.password.as_deref()), (Some("jo"), Some("s@crET")));
        assert_eq!(uri.hosts, [("a".to_owned(), None), ("::1".to_owned(), Some(5433))]);
        assert_eq!(uri.database.as_deref(), Some("shop x"));
        assert_eq!(uri.parameters, [("sslmode".into(), "require".into()), ("a".into(), "ä".into())]);
        assert_eq!(Uri::parse("Headrace:mysql://h/d").unwrap(), Uri::parse("mysql://h/d").unwrap());
        assert_eq!(Uri::parse("mysql://").unwrap(), Uri { scheme: "mysql".into(), ..Uri::default() });
    }

    #[test]
    fn errors_show_no_part_of_a_password() {
        for wrong in
            ["nothing", "a://b:sec%ret@c", "a://b:secret@c:x", "a://u:se/cret@h", "a://b:9x9secret", "a://b/?secret"]
        {
            let error = Uri::parse(wrong).map(|uri| format!("{uri:?}"));
            if let Err(error) = error {
                assert!(!error.message.contains("cret"), "{wrong}: {error}");
            }
        }
        assert!(Uri::parse("a://u:se/cr@h").is_ok() || Uri::parse("a://u:se/cr@h").is_err());
    }
}
