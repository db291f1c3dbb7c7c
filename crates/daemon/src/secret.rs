//! Passwords: never printed, and overwritten when they are dropped.

use serde::Deserialize;
use std::fmt;
use zeroize::Zeroize;

/// A password.
#[derive(Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text of the password.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for a login.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_not_printed() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2".into()))), "Some(Secret(...))");
    }
}
