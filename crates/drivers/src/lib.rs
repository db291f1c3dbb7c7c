//! What a database is to those who connect to it: its name, the schemes of its URLs, its port, and its settings.
//!
//! One URL has one meaning, whichever product it is given to. What a product lacks is an error that names the setting.
//! No setting is read from the environment here, and nothing is connected.

mod database;
mod databases;
mod setting;
mod settings;
mod tls;
mod url;

pub use database::{Database, Login, Repeats, Unusable};
pub use databases::*;
pub use setting::{Product, Setting, SettingKind};
pub use settings::{Place, Settings};
pub use tls::{Encryption, SslMode, Tls};
pub use url::{Parts, decode};

/// A kind of server.
#[derive(Debug)]
pub struct Driver {
    /// Its word in configurations and reports, which no other has.
    pub name: &'static str,
    /// Its name, as its vendor writes it.
    pub title: &'static str,
    /// The schemes of its URLs.
    pub schemes: &'static [&'static str],
    /// The TCP port that its servers listen on by default.
    pub port: u16,
    /// Its Unix sockets.
    pub sockets: Sockets,
    /// Clients ask the server whether it has TLS before they begin with it.
    pub negotiates_tls: bool,
    /// The names of the settings that are about TLS.
    pub tls: TlsNames,
    /// Without a user, that of the operating system logs in.
    pub has_system_user: bool,
    /// Names in capital letters are variables of the session.
    pub has_session_variables: bool,
    /// The case of letters does not matter in the other names that settings have.
    pub ignores_case_of_aliases: bool,
    /// What URLs for other drivers have, name and value, and what it is here.
    pub rewritten: &'static [[&'static str; 4]],
    /// All settings, in the order of the documentation.
    pub settings: &'static [Setting],
}

/// The Unix sockets of a kind of server.
#[derive(Clone, Copy, Debug)]
pub enum Sockets {
    /// It has none.
    None,
    /// A host that begins with a slash is the folder of one, whose name is this and the port.
    InFolder {
        /// What stands before the port.
        prefix: &'static str,
        /// The folders that are searched if no host is given.
        folders: &'static [&'static str],
    },
    /// A setting has the path.
    OfSetting {
        /// The setting.
        name: &'static str,
        /// The paths that are tried if neither a host nor a port is given.
        paths: &'static [&'static str],
    },
}

/// The names of the settings that are about TLS.
#[derive(Clone, Copy, Debug)]
pub struct TlsNames {
    /// The mode.
    pub mode: &'static str,
    /// The file of trusted certificates.
    pub roots: &'static str,
    /// The files of the client's own certificate and of its key; `None` if the driver sends no certificate.
    pub client: Option<[&'static str; 2]>,
    /// The switch that is short for `verify-full`.
    pub switch: Option<&'static str>,
}

impl Driver {
    /// The driver of a URL's scheme, in any case of letters.
    pub fn of_scheme(scheme: &str) -> Option<&'static Self> {
        DRIVERS.iter().copied().find(|driver| driver.schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known)))
    }

    /// The driver of this name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        DRIVERS.iter().copied().find(|driver| driver.name == name)
    }

    /// Returns true if a product has it: some of its settings are the product's.
    pub fn is_of(&self, product: Product) -> bool {
        self.settings.iter().any(|setting| setting.is_of(product))
    }

    /// The name of the setting that names the database.
    pub fn database_setting(&self) -> &'static str {
        self.setting("database").map_or("database", |setting| setting.name)
    }

    /// A setting by its name or another one that it has.
    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.is_called(name, self.ignores_case_of_aliases))
    }
}

impl PartialEq for Driver {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Driver {}

/// The beginnings of all URLs, for an error.
pub fn schemes() -> String {
    let all: Vec<String> =
        DRIVERS.iter().flat_map(|driver| driver.schemes).map(|scheme| format!("{scheme}://")).collect();
    let (last, others) = all.split_last().expect("there are databases");
    format!("{} or {last}", others.join(", "))
}

/// What is wrong with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A value is wrong, or settings contradict each other.
    Invalid(String),
    /// There is such a setting, but not here.
    Unsupported(String),
}

impl Error {
    fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(message) | Self::Unsupported(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
