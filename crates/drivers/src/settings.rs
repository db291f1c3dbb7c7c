//! Settings of a connection, by the names of the tables.

use crate::url::check_port;
use crate::{Driver, Error, Parts, Product, Setting, SettingKind, Sockets, schemes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How alike two names are from which on one is shown for the other, as [`strsim::jaro_winkler`] counts.
const ALIKE: f64 = 0.85;
/// Bytes of the longest name that an error shows.
const NAME_BYTES: usize = 63;

/// Settings, of each the last value that was given.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// The database.
    pub driver: &'static Driver,
    /// Which product they are for: what it lacks is refused.
    product: Product,
    values: BTreeMap<&'static str, String>,
    /// Variables of the session, by their names.
    pub variables: BTreeMap<String, String>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.values.keys().collect();
        f.debug_struct("Settings").field("driver", &self.driver.name).field("names", &names).finish_non_exhaustive()
    }
}

impl Settings {
    /// No settings yet.
    pub fn new(driver: &'static Driver, product: Product) -> Self {
        Self { driver, product, values: BTreeMap::new(), variables: BTreeMap::new() }
    }

    /// The settings that a URL has. Of a name that is given twice the last value counts.
    ///
    /// # Errors
    /// It is malformed, of another scheme, or has a setting that the database or the product does not have.
    pub fn of_url(url: &str, product: Product) -> Result<Self, Error> {
        let parts = Parts::parse(url)?;
        let driver = Driver::of_scheme(&parts.scheme)
            .ok_or_else(|| Error::invalid(format!("the URL does not begin with {}", schemes())))?;
        let mut settings = Self::new(driver, product);
        let mut before = None;
        for (name, value) in parts.pairs {
            before = settings.add(&name, value, before)?;
        }
        Ok(settings)
    }

    /// Sets a value, which takes the place of an earlier one.
    ///
    /// # Errors
    /// The database or the product does not have the setting, or not this value.
    pub fn set(&mut self, name: &str, value: String) -> Result<(), Error> {
        self.add(name, value, None).map(drop)
    }

    /// Sets a value that the product chooses itself, whether or not its users can.
    pub fn choose(&mut self, name: &'static str, value: impl Into<String>) {
        debug_assert!(self.driver.setting(name).is_some_and(|setting| setting.name == name), "{name}");
        self.values.insert(name, value.into());
    }

    /// Sets a value; returns the setting. After a secret, a name may be a piece of it, and is not shown.
    fn add(&mut self, name: &str, value: String, before: Option<&Setting>) -> Result<Option<&'static Setting>, Error> {
        let rewritten = self.driver.rewritten.iter().find(|[from, was, ..]| *from == name && *was == value);
        let (name, value) = match rewritten {
            Some([_, _, to, is]) => (*to, (*is).to_owned()),
            None => (name, value),
        };
        let Some(setting) = self.driver.setting(name) else {
            if self.driver.has_session_variables && is_word(name) && name.bytes().all(|byte| !byte.is_ascii_lowercase())
            {
                if self.product == Product::Daemon {
                    return Err(self.lacks(name, Product::Python));
                }
                self.variables.insert(name.to_owned(), value);
                return Ok(None);
            }
            return Err(self.unknown(name, before));
        };
        let name = setting.name;
        match setting.kind {
            SettingKind::Refused(_) | SettingKind::Only(..) if value.is_empty() => return Ok(Some(setting)),
            SettingKind::Refused(reason) => return Err(Error::Unsupported(format!("{name}: {reason}"))),
            SettingKind::Only(values, reason) if !values.contains(&value.to_ascii_lowercase().as_str()) => {
                return Err(Error::Unsupported(format!("{name}: {reason}")));
            }
            SettingKind::Choice(values, others)
                if !value.is_empty() && !values.contains(&value.as_str()) && !others.contains(&value.as_str()) =>
            {
                return Err(Error::invalid(format!("{name} is not one of {}", values.join(", "))));
            }
            SettingKind::Only(..) | SettingKind::Ignored => return Ok(Some(setting)),
            _ => {}
        }
        if !setting.is_of(self.product) {
            return Err(self.lacks(name, if setting.is_of_python { Product::Python } else { Product::Daemon }));
        }
        self.values.insert(name, value);
        Ok(Some(setting))
    }

    fn lacks(&self, name: &str, of: Product) -> Error {
        let (one, other) = (of.name(), self.product.name());
        Error::Unsupported(format!("{name} is a setting of {one}, which {other} does not have"))
    }

    fn unknown(&self, name: &str, before: Option<&Setting>) -> Error {
        if !is_word(name) || before.is_some_and(|setting| setting.kind == SettingKind::Secret) {
            return Error::invalid("malformed parameters in the URL: they are written name=value, with & between them");
        }
        let names = self.driver.settings.iter().filter(|setting| setting.is_of(self.product));
        let near = names
            .map(|setting| (strsim::jaro_winkler(setting.name, name), setting.name))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        let near = near.map(|(_, near)| format!("; did you mean '{near}'?")).unwrap_or_default();
        Error::invalid(format!("unknown connection setting '{name}'{near}"))
    }

    /// Takes a value out.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    /// The settings that are given, by their names.
    pub fn into_values(self) -> impl Iterator<Item = (&'static Setting, String)> {
        let driver = self.driver;
        self.values.into_iter().filter_map(|(name, value)| Some((driver.setting(name)?, value)))
    }

    /// A text; `None` if it is empty or not given.
    pub fn text(&self, name: &str) -> Option<&str> {
        debug_assert!(self.driver.setting(name).is_some_and(|setting| setting.name == name), "{name}");
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// On or off; without it, `default`.
    ///
    /// # Errors
    /// It is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool, Error> {
        match self.text(name).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(default),
            Some("1" | "true" | "on" | "yes") => Ok(true),
            Some("0" | "false" | "off" | "no") => Ok(false),
            Some(_) => Err(Error::invalid(format!("{name} is neither 1 nor 0"))),
        }
    }

    /// A number of seconds, or of milliseconds; a negative one is 0.
    ///
    /// # Errors
    /// It is not a number.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, Error> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let is_milliseconds =
            self.driver.setting(name).is_some_and(|setting| setting.kind == SettingKind::Milliseconds);
        let number = text.parse::<f64>().ok().map(|number| number.max(0.0) / if is_milliseconds { 1e3 } else { 1.0 });
        let found = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let unit = if is_milliseconds { "milliseconds" } else { "seconds" };
        found.map(Some).ok_or_else(|| Error::invalid(format!("{name} is not a number of {unit}")))
    }

    /// A whole number.
    ///
    /// # Errors
    /// It is not a whole number of at least 0.
    pub fn number(&self, name: &str) -> Result<Option<u32>, Error> {
        let parsed = self.text(name).map(str::parse).transpose();
        parsed.map_err(|_| Error::invalid(format!("{name} is not a whole number of at least 0")))
    }

    /// Where to connect, in order. There is one port for all hosts, or one for each.
    ///
    /// # Errors
    /// There is another number of ports, or one is not a number.
    pub fn places(&self) -> Result<Vec<Place>, Error> {
        let list = |name| -> Vec<&str> {
            self.text(name).map(|text| text.split(',').map(str::trim).collect()).unwrap_or_default()
        };
        let (mut names, ports) = (list("host"), list("port"));
        if let Sockets::OfSetting { name, paths } = self.driver.sockets {
            let is_here = || names.iter().all(|name| name.is_empty()) && ports.is_empty();
            let by_default = || paths.iter().copied().find(|path| is_here() && Path::new(path).exists());
            if let Some(path) = self.text(name).or_else(by_default) {
                return Ok(vec![Place { host: String::new(), port: 0, socket: Some(path.into()) }]);
            }
        }
        if names.is_empty() {
            names.push("");
        }
        if ports.len() > 1 && ports.len() != names.len() {
            return Err(Error::invalid(format!("{} hosts, but {} ports are given", names.len(), ports.len())));
        }
        let port = |at: usize| match ports.get(if ports.len() > 1 { at } else { 0 }) {
            None | Some(&"") => Ok(self.driver.port),
            Some(text) => check_port(text).ok_or_else(|| Error::invalid("port is not a number from 1 to 65535")),
        };
        names.into_iter().enumerate().map(|(at, host)| Ok(self.place(host, port(at)?))).collect()
    }

    fn place(&self, host: &str, port: u16) -> Place {
        if let Sockets::InFolder { prefix, folders } = self.driver.sockets {
            let path = |folder: &str| Path::new(folder).join(format!("{prefix}{port}"));
            let socket = match host {
                "" => folders.iter().map(|folder| path(folder)).find(|path| path.exists()),
                _ => host.starts_with('/').then(|| path(host)),
            };
            if socket.is_some() {
                return Place { host: String::new(), port, socket };
            }
        }
        Place { host: if host.is_empty() { "localhost" } else { host }.to_owned(), port, socket: None }
    }
}

/// A place to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name or the address of the host; empty for a Unix socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The Unix socket.
    pub socket: Option<PathBuf>,
}

/// Returns true if a text is a name of a setting, so that it may be shown.
fn is_word(name: &str) -> bool {
    (1..=NAME_BYTES).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}
