//! A row of the tables of settings.

/// What has settings: each setting lists in which of these it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// The drivers for Python.
    Python,
    /// The ADBC driver.
    Adbc,
    /// headraced, of its connections to servers.
    Daemon,
}

impl Product {
    /// Its name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "headrace for Python",
            Self::Adbc => "the ADBC driver",
            Self::Daemon => "headraced",
        }
    }
}

/// The values of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// Text.
    Text,
    /// Text that is never shown.
    Secret,
    /// A file or a folder.
    Path,
    /// Texts, separated by commas.
    List,
    /// On or off.
    Switch,
    /// A number of seconds, which may have a fraction.
    Seconds,
    /// A number of milliseconds.
    Milliseconds,
    /// A whole number of at least 0.
    Number,
    /// One of these, and by other names for the same, which follow.
    Choice(&'static [&'static str], &'static [&'static str]),
    /// A setting of other drivers that may only have the value that holds anyway: its values, in small letters, and the
    /// reason.
    Only(&'static [&'static str], &'static str),
    /// A setting of other drivers that changes nothing here.
    Ignored,
    /// A setting of other drivers that is refused, and the reason.
    Refused(&'static str),
    /// An object of Python, which no URL has.
    Object,
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in URLs, and as a keyword of Python.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// Its values.
    pub kind: SettingKind,
    /// What it is if nobody has set it; empty if nothing, or if that depends.
    pub default: &'static str,
    /// The variable of the environment that the drivers for Python take it from.
    pub environment: Option<&'static str>,
    /// The name of its field in headraced's configuration, if it has one.
    pub daemon: Option<&'static str>,
    /// The drivers for Python have it.
    pub is_of_python: bool,
    /// The ADBC driver has it.
    pub is_of_adbc: bool,
    /// The sentence of the documentation.
    pub text: &'static str,
}

impl Setting {
    /// A setting of the drivers for Python.
    pub(crate) const fn new(name: &'static str, kind: SettingKind, text: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            kind,
            default: "",
            environment: None,
            daemon: None,
            is_of_python: true,
            is_of_adbc: false,
            text,
        }
    }

    /// A setting of headraced alone, whose configuration has it by the same name.
    pub(crate) const fn of_daemon(name: &'static str, kind: SettingKind, text: &'static str) -> Self {
        Self { daemon: Some(name), is_of_python: false, ..Self::new(name, kind, text) }
    }

    /// The same with other names.
    pub(crate) const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// The same with a default.
    pub(crate) const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// The same with a variable of the environment.
    pub(crate) const fn env(self, variable: &'static str) -> Self {
        Self { environment: Some(variable), ..self }
    }

    /// The same, of the ADBC driver too.
    pub(crate) const fn adbc(self) -> Self {
        Self { is_of_adbc: true, ..self }
    }

    /// The same, of headraced too, whose configuration calls it `field`.
    pub(crate) const fn daemon(self, field: &'static str) -> Self {
        Self { daemon: Some(field), ..self }
    }

    /// Returns true if this is one of its names.
    pub(crate) fn is_called(&self, name: &str, ignores_case_of_aliases: bool) -> bool {
        let is_alias = |alias: &&str| *alias == name || ignores_case_of_aliases && alias.eq_ignore_ascii_case(name);
        self.name == name || self.aliases.iter().any(is_alias)
    }

    /// Returns true if a product acts on it, or accepts it as what is so anyway.
    pub fn is_of(&self, product: Product) -> bool {
        match (self.kind, product) {
            (SettingKind::Only(..) | SettingKind::Ignored, _) => true,
            (_, Product::Python) => self.is_of_python,
            (SettingKind::Refused(_), _) => false,
            (_, Product::Adbc) => self.is_of_adbc,
            (_, Product::Daemon) => self.daemon.is_some(),
        }
    }
}
