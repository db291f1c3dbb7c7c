//! A database: what to connect to.

use crate::connection::HeadraceConnection;
use crate::databases::{dialect, open};
use crate::error::invalid;
use crate::limits;
use crate::link::Link;
use crate::options::{count, missing, text, unknown};
use crate::target::Target;
use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Optionable};
use headrace_arrow::{ArrowOptions, Nanoseconds, Numeric};
use std::collections::BTreeMap;

/// The prefix of the options that are the driver's own.
pub const PREFIX: &str = "headrace.";
/// The option for exact numbers without a precision.
pub const NUMERIC: &str = "headrace.numeric";
/// The option for values that Arrow cannot represent.
pub const UNREPRESENTABLE: &str = "headrace.unrepresentable";
/// The option for values of nanoseconds that are sent.
pub const NANOSECONDS: &str = "headrace.nanoseconds";
/// The option for the rows of a batch.
pub const BATCH_ROWS: &str = "headrace.batch_rows";
/// The option for the bytes of a batch.
pub const BATCH_BYTES: &str = "headrace.batch_bytes";

/// A database.
#[derive(Clone, Debug)]
pub struct HeadraceDatabase {
    uri: Option<String>,
    username: Option<String>,
    password: Option<Secret>,
    /// Parameters of the URI as options.
    settings: BTreeMap<String, String>,
    arrow: ArrowOptions,
}

impl Default for HeadraceDatabase {
    fn default() -> Self {
        Self {
            uri: None,
            username: None,
            password: None,
            settings: BTreeMap::new(),
            arrow: ArrowOptions { batch_bytes: limits::BATCH_BYTES, ..ArrowOptions::default() },
        }
    }
}

/// A password, which is not shown.
#[derive(Clone)]
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl HeadraceDatabase {
    /// Checks the options together.
    ///
    /// # Errors
    /// There is no URI, or it is wrong.
    pub fn check(&self) -> Result<()> {
        self.target().map(drop)
    }

    fn target(&self) -> Result<Target> {
        let uri =
            self.uri.as_deref().ok_or_else(|| invalid("the option \"uri\" is missing: postgresql://..., for one"))?;
        let password = self.password.as_ref().map(|secret| secret.0.clone());
        Target::new(uri, self.username.clone(), password, &self.settings)
    }
}

/// Sets one of the options for record batches; returns false if the key is none of them.
///
/// # Errors
/// The value is wrong.
pub fn set_arrow(options: &mut ArrowOptions, key: &str, value: &OptionValue) -> Result<bool> {
    match key {
        NUMERIC => {
            options.numeric = match text(&key, value)?.as_str() {
                "decimal" => Numeric::Decimal,
                "string" => Numeric::Text,
                "float64" => Numeric::Float64,
                other => return Err(invalid(format!("{NUMERIC} is decimal, string or float64, not {other:?}"))),
            }
        }
        UNREPRESENTABLE => {
            options.null_unrepresentable = match text(&key, value)?.as_str() {
                "raise" => false,
                "none" => true,
                other => return Err(invalid(format!("{UNREPRESENTABLE} is raise or none, not {other:?}"))),
            }
        }
        NANOSECONDS => {
            options.nanoseconds = match text(&key, value)?.as_str() {
                "raise" => Nanoseconds::Refused,
                "truncate" => Nanoseconds::Truncated,
                other => return Err(invalid(format!("{NANOSECONDS} is raise or truncate, not {other:?}"))),
            }
        }
        BATCH_ROWS => options.batch_rows = count(&key, value)?,
        BATCH_BYTES => {
            let bytes = count(&key, value)?;
            let most = headrace_arrow::limits::ARROW_BATCH_BYTES_MAX;
            if bytes > most {
                return Err(invalid(format!("{BATCH_BYTES} is at most {most}")));
            }
            options.batch_bytes = bytes;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The value of one of the options for record batches.
pub fn get_arrow(options: &ArrowOptions, key: &str) -> Option<String> {
    Some(match key {
        NUMERIC => match options.numeric {
            Numeric::Decimal => "decimal",
            Numeric::Text => "string",
            Numeric::Float64 => "float64",
        }
        .to_owned(),
        UNREPRESENTABLE => if options.null_unrepresentable { "none" } else { "raise" }.to_owned(),
        NANOSECONDS => match options.nanoseconds {
            Nanoseconds::Refused => "raise",
            Nanoseconds::Truncated => "truncate",
        }
        .to_owned(),
        BATCH_ROWS => options.batch_rows.to_string(),
        BATCH_BYTES => options.batch_bytes.to_string(),
        _ => return None,
    })
}

impl Optionable for HeadraceDatabase {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, value: OptionValue) -> Result<()> {
        match &key {
            OptionDatabase::Uri => self.uri = Some(text(&key, &value)?),
            OptionDatabase::Username => self.username = Some(text(&key, &value)?),
            OptionDatabase::Password => self.password = Some(Secret(text(&key, &value)?)),
            OptionDatabase::Other(name) => {
                if set_arrow(&mut self.arrow, name, &value)? {
                    return Ok(());
                }
                let Some(parameter) = name.strip_prefix(PREFIX) else { return Err(unknown("database", name)) };
                self.settings.insert(parameter.to_owned(), text(&key, &value)?);
            }
            _ => return Err(unknown("database", key.as_ref())),
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        let found = match &key {
            // The URI may have a password in it.
            OptionDatabase::Uri | OptionDatabase::Password => None,
            OptionDatabase::Username => self.username.clone(),
            OptionDatabase::Other(name) => get_arrow(&self.arrow, name)
                .or_else(|| self.settings.get(name.strip_prefix(PREFIX).unwrap_or_default()).cloned()),
            _ => None,
        };
        found.ok_or_else(|| missing(key.as_ref()))
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        self.get_option_string(key).map(String::into_bytes)
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        number(key.as_ref(), &self.get_option_string(key.clone())?)
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        number(key.as_ref(), &self.get_option_string(key.clone())?)
    }
}

/// The number that an option is.
///
/// # Errors
/// It is none.
pub fn number<T: std::str::FromStr>(key: &str, text: &str) -> Result<T> {
    text.parse()
        .map_err(|_| Error::with_message_and_status(format!("the option {key} is not a number"), Status::NotFound))
}

impl Database for HeadraceDatabase {
    type ConnectionType = HeadraceConnection;

    fn new_connection(&self) -> Result<HeadraceConnection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<HeadraceConnection> {
        let target = self.target()?;
        let session = open(&target)?;
        let link = Link::new(session, dialect(target.driver())?);
        let mut connection = HeadraceConnection::new(link, self.arrow);
        for (key, value) in options {
            connection.set_option(key, value)?;
        }
        Ok(connection)
    }
}
