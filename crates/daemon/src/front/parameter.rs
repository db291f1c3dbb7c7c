//! A client's parameter as a value.

use super::types::UNKNOWN;
use headrace_io::rows::{Datum, DatumRows, value as one_value};
use headrace_postgres::types::{Decoder, Format, Oid, TypeRegistry, oid};

/// The value of a parameter, from the form that the client has sent it in.
///
/// # Errors
/// What is wrong with it.
pub fn parameter(registry: &TypeRegistry, oid: Oid, format: Format, value: Option<&[u8]>) -> Result<Datum, String> {
    let Some(bytes) = value else { return Ok(Datum::Null) };
    if !registry.knows(oid) || is_textual(oid) {
        let text = std::str::from_utf8(bytes).map_err(|_| "a text is not valid UTF-8".to_owned())?;
        return Ok(Datum::Text(text.to_owned()));
    }
    let decoder = match format {
        Format::Text => Decoder::new_text(registry, oid, -1),
        Format::Binary => Decoder::new_binary(registry, oid),
    };
    match one_value(|sink: &mut DatumRows<'_>| decoder.decode(bytes, sink)) {
        // The server may read it: 1e5, or a date in another style.
        Some(Datum::Invalid(_)) if format == Format::Text => {
            let text = std::str::from_utf8(bytes).map_err(|_| "a text is not valid UTF-8".to_owned())?;
            Ok(match (oid, text.to_ascii_lowercase().as_str()) {
                (oid::BOOL, "true" | "yes" | "on" | "1" | "y") => Datum::Bool(true),
                (oid::BOOL, "false" | "no" | "off" | "0" | "n") => Datum::Bool(false),
                _ => Datum::Text(text.to_owned()),
            })
        }
        Some(Datum::Invalid(_)) => Err(format!("the value is not of type {}", registry.name(oid))),
        Some(datum) => Ok(datum),
        None => Err(format!("a value of type {} cannot be read", registry.name(oid))),
    }
}

/// Types whose values are text in both formats: those of users, which the daemon has not read, are among them.
fn is_textual(oid: Oid) -> bool {
    matches!(oid, 0 | oid::TEXT | oid::VARCHAR | oid::BPCHAR | UNKNOWN | 18 | 19)
}
