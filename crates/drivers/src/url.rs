//! The parts of a URL: `scheme://user:password@host:port,host:port/database?name=value`.
//!
//! Errors name a part, and never show text that could be a piece of a password: a password that was not percent-encoded is
//! the most frequent mistake.

use crate::Error;
use percent_encoding::percent_decode_str;

const NOT_ENCODED: &str = "malformed URL: in the user and the password the characters / ? # @ : must be \
                           percent-encoded, as %2F %3F %23 %40 %3A";

/// The parts of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The scheme, in small letters.
    pub scheme: String,
    /// Names and values in order, without those that are not given: `user`, `password`, `host` and `port` (lists with
    /// commas), `database`, and what stands after the question mark.
    pub pairs: Vec<(String, String)>,
}

impl Parts {
    /// Reads a URL; blanks around it are not part of it.
    ///
    /// # Errors
    /// It is malformed.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (scheme, rest) = text.trim().split_once("://").ok_or_else(|| {
            Error::invalid("malformed URL: it is written scheme://user:password@host:port/database?name=value")
        })?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let (login, hosts) = authority.rsplit_once('@').map_or((None, authority), |(login, at)| (Some(login), at));
        // An @ further on may be the one that ends the user and the password: what stands before it is no host then.
        if path.contains('@') {
            return Err(Error::invalid(NOT_ENCODED));
        }
        let is_astray = login.is_none() && rest.contains('@');
        let mut pairs = Vec::new();
        let mut add = |name: &str, value: String| pairs.push((name.to_owned(), value));
        if let Some(login) = login {
            let (user, password) = login.split_once(':').map_or((login, None), |(user, rest)| (user, Some(rest)));
            if !user.is_empty() {
                add("user", decode(user, "user")?);
            }
            if let Some(password) = password {
                add("password", decode(password, "password")?);
            }
        }
        let (names, ports) = read_hosts(hosts).map_err(|error| match is_astray {
            true => Error::invalid(NOT_ENCODED),
            false => error,
        })?;
        for (name, list) in [("host", names), ("port", ports)] {
            if list.iter().any(|one| !one.is_empty()) {
                add(name, list.join(","));
            }
        }
        if !path.is_empty() {
            add("database", decode(path, "database")?);
        }
        for pair in query.split('&').filter(|_| !query.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Error::invalid("malformed parameters in the URL: they are written name=value, with & between them")
            })?;
            add(&decode(name, "parameters")?, decode(value, "parameters")?);
        }
        Ok(Self { scheme: scheme.to_ascii_lowercase(), pairs })
    }
}

/// The names of hosts, and their ports, empty where there is none.
fn read_hosts(text: &str) -> Result<(Vec<String>, Vec<String>), Error> {
    let brackets = || Error::invalid("malformed host in the URL: an IPv6 address stands in brackets, as in [::1]:5432");
    let mut found = (Vec::new(), Vec::new());
    for one in text.split(',').filter(|_| !text.is_empty()) {
        let (name, port) = match one.strip_prefix('[') {
            Some(rest) => {
                let (name, after) = rest.split_once(']').ok_or_else(brackets)?;
                match after.strip_prefix(':') {
                    Some(port) => (name, port),
                    None if after.is_empty() => (name, ""),
                    None => return Err(brackets()),
                }
            }
            None => one.split_once(':').unwrap_or((one, "")),
        };
        if port.contains(':') {
            return Err(brackets());
        }
        let port = decode(port, "port")?;
        if !port.is_empty() {
            check_port(&port).ok_or_else(|| Error::invalid("the port in the URL is not a number from 1 to 65535"))?;
        }
        found.0.push(decode(name, "host")?);
        found.1.push(port);
    }
    Ok(found)
}

/// The number of a port.
pub(crate) fn check_port(text: &str) -> Option<u16> {
    // A number for parse() may have a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok().filter(|port| *port > 0))?
}

/// Undoes the percent-encoding of a part, which errors call `what`.
///
/// # Errors
/// It is malformed, not UTF-8, or has a NUL character.
pub fn decode(text: &str, what: &str) -> Result<String, Error> {
    let is_whole = |after: &str| after.len() >= 2 && after.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_whole) {
        return Err(Error::invalid(format!(
            "malformed percent-encoding in the {what} of the URL; a % itself is written %25"
        )));
    }
    let decoded = percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| Error::invalid(format!("the percent-encoding in the {what} of the URL is not UTF-8")))?;
    if decoded.contains('\0') {
        return Err(Error::invalid(format!("the {what} of the URL holds a NUL character")));
    }
    Ok(decoded.into_owned())
}
