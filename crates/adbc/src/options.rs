//! Values of options.

use crate::error::invalid;
use adbc_core::error::{Error, Result, Status};
use adbc_core::options::OptionValue;

/// The text of a value. Numbers have one, too.
///
/// # Errors
/// For bytes.
pub fn text(key: &impl AsRef<str>, value: &OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text.clone()),
        OptionValue::Int(number) => Ok(number.to_string()),
        OptionValue::Double(number) => Ok(number.to_string()),
        _ => Err(invalid(format!("the option {} takes text, not bytes", key.as_ref()))),
    }
}

/// A truth value: `true` or `false`.
///
/// # Errors
/// For any other value.
pub fn flag(key: &impl AsRef<str>, value: &OptionValue) -> Result<bool> {
    match text(key, value)?.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(invalid(format!("the option {} is \"true\" or \"false\", not {other:?}", key.as_ref()))),
    }
}

/// A number of at least 1.
///
/// # Errors
/// For any other value.
pub fn count(key: &impl AsRef<str>, value: &OptionValue) -> Result<usize> {
    let text = text(key, value)?;
    let number = text.parse::<usize>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| invalid(format!("the option {} is a number of at least 1, not {text:?}", key.as_ref())))
}

/// The error for an option that there is not.
pub fn unknown(what: &str, key: &str) -> Error {
    let shown = headrace_core::shortened(key);
    Error::with_message_and_status(format!("a {what} has no option {shown:?}"), Status::NotImplemented)
}

/// The error for an option without a value.
pub fn missing(key: &str) -> Error {
    let shown = headrace_core::shortened(key);
    Error::with_message_and_status(format!("the option {shown:?} is not set"), Status::NotFound)
}
