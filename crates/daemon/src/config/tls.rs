//! How TLS to servers is written in the configuration.

use headrace_drivers::SslMode;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

/// Reads a mode by libpq's name or by MySQL's.
///
/// # Errors
/// There is no such mode.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SslMode>, D::Error> {
    let name = String::deserialize(from)?;
    let known = "sslmode is one of disable, prefer, require, verify-ca, verify-full";
    SslMode::of_name(&name).map(Some).ok_or_else(|| D::Error::custom(known))
}

/// Writes libpq's name of a mode.
///
/// # Errors
/// Those of the serializer.
#[expect(clippy::ref_option, reason = "as serde calls it")]
pub fn serialize<S: Serializer>(mode: &Option<SslMode>, to: S) -> Result<S::Ok, S::Error> {
    match mode {
        Some(mode) => to.serialize_str(mode.name()),
        None => to.serialize_none(),
    }
}
