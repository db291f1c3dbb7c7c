//! Texts of TOML that may hold passwords: no mistake in them is quoted, and what was read is overwritten.

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use zeroize::Zeroize;

/// Reads a text in which `expand` may replace something; it returns true if it has. Otherwise the text itself is read,
/// which names the line of a mistake.
///
/// # Errors
/// What is wrong with the text, or the error of `expand`.
pub fn read<T: DeserializeOwned>(text: &str, expand: fn(&mut Table) -> Result<bool, String>) -> Result<T, String> {
    let mut table = Wiped(toml::from_str(text).unwrap_or_default());
    let found = match expand(&mut table.0)? {
        true => std::mem::take(&mut table.0).try_into(),
        false => toml::from_str(text),
    };
    found.map_err(|error| told(&error, text))
}

/// What is wrong with a TOML text, and in which line, without the line itself.
fn told(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = without_value(error.message());
    match line {
        Some(line) => format!("line {line}: {message}"),
        None => message,
    }
}

/// A message of serde without the value in it, which may be a password: `Unexpected` is written as the kind of the value,
/// and the value in quotes, before what was expected.
fn without_value(message: &str) -> String {
    let is_quoting = ["invalid type: ", "invalid value: "].iter().any(|start| message.starts_with(start));
    match (message.find(['`', '"']), message.rfind(", expected ")) {
        (Some(begin), Some(end)) if is_quoting && begin < end => {
            format!("{}{}", message[..begin].trim_end(), &message[end..])
        }
        _ => message.to_owned(),
    }
}

/// A table whose texts are overwritten when it is dropped.
struct Wiped(Table);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|(_, value)| wipe(value));
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(values) => values.iter_mut().for_each(wipe),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| wipe(value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::url;
    use super::*;
    use crate::config::DatabaseConfig;

    #[test]
    fn mistakes_are_told_without_values() {
        for (text, expected) in [
            ("host = 'h'\npassword = 4711", "line 2: invalid type: integer, expected a string"),
            ("host = 'h'\npassword = 47.11", "line 2: invalid type: floating point, expected a string"),
            (
                "host = 'h'\npassword_command = 'echo `a`, expected \"b\"'",
                "line 2: invalid type: string, expected a sequence",
            ),
            ("url = 'mysql://h'\npassword = 4711", "invalid type: integer, expected a string"),
            ("host = 'h'\npol_size = 1", "line 2: unknown field `pol_size`, expected one of"),
            ("url = 'mysql://u:geheim/wort@h:geheim/d'", "url: malformed URL: in the user and the password"),
            ("host = 'h:geheim'", "host: the port is not a number"),
        ] {
            let told = DatabaseConfig::of_client(text).map(drop).unwrap_err();
            assert!(told.starts_with(expected), "{told}");
            assert!(!told.contains("4711") && !told.contains("geheim"), "{told}");
        }
    }

    #[test]
    fn what_was_read_is_overwritten() {
        let mut value = Value::Table("a = 'x'\nb = ['y', { c = 'z' }]".parse().unwrap());
        wipe(&mut value);
        assert_eq!(value, Value::Table("a = ''\nb = ['', { c = '' }]".parse().unwrap()));
        let read: DatabaseConfig = read("url = 'mysql://u:p@h/d'", url::expand).unwrap();
        assert_eq!(read.host, "h");
    }
}
