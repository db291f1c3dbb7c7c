//! The messages that a client sent, by their names.

use std::fmt;

/// The messages that a client sent, each by its name, as the protocol's manual spells it, and its main content where a
/// test may compare it: `COM_QUERY select 1`.
///
/// An expected message is given by its name alone, or in full.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trace(Vec<String>);

impl Trace {
    /// Decodes what was sent. `first` returns the first of many messages, and its length in bytes; `None` if it is
    /// incomplete or unknown.
    ///
    /// # Panics
    /// If `first` returns `None`.
    pub fn read(sent: &[u8], mut first: impl FnMut(&[u8]) -> Option<(String, usize)>) -> Self {
        let (mut rest, mut messages) = (sent, Vec::new());
        while !rest.is_empty() {
            let Some((message, len)) = first(rest) else { panic!("{messages:?} and then {rest:02x?} were sent") };
            messages.push(message);
            rest = &rest[len..];
        }
        Self(messages)
    }

    /// Returns true if nothing was sent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The messages.
    pub fn messages(&self) -> &[String] {
        &self.0
    }

    /// The index of the first occurrence of these messages in a row.
    pub fn find(&self, expected: &[&str]) -> Option<usize> {
        self.0.windows(expected.len()).position(|part| are(part, expected))
    }

    /// Returns true if these messages were sent, one right after the other.
    pub fn contains(&self, expected: &[&str]) -> bool {
        self.find(expected).is_some()
    }

    /// The number of occurrences of these messages in a row.
    pub fn count(&self, expected: &[&str]) -> usize {
        self.0.windows(expected.len()).filter(|part| are(part, expected)).count()
    }

    /// Returns true if these messages were sent first.
    pub fn starts_with(&self, expected: &[&str]) -> bool {
        self.0.get(..expected.len()).is_some_and(|part| are(part, expected))
    }

    /// Returns true if these messages were sent last.
    pub fn ends_with(&self, expected: &[&str]) -> bool {
        self.0.len().checked_sub(expected.len()).is_some_and(|at| are(&self.0[at..], expected))
    }
}

fn are(messages: &[String], expected: &[&str]) -> bool {
    let is = |message: &String, expected: &str| {
        message.strip_prefix(expected).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    messages.len() == expected.len() && messages.iter().zip(expected).all(|(message, expected)| is(message, expected))
}

impl<const N: usize> PartialEq<[&str; N]> for Trace {
    fn eq(&self, expected: &[&str; N]) -> bool {
        are(&self.0, expected)
    }
}

impl PartialEq<Vec<&str>> for Trace {
    fn eq(&self, expected: &Vec<&str>) -> bool {
        are(&self.0, expected)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_matches_by_its_name_or_in_full() {
        let first = |bytes: &[u8]| Some((format!("BYTE {}", bytes[0]), 1));
        let trace = Trace::read(&[1, 2, 1], first);
        assert_eq!(trace, ["BYTE 1", "BYTE", "BYTE 1"]);
        assert_ne!(trace, ["BYTE 1", "BYT", "BYTE 1"]);
        assert_ne!(trace, ["BYTE", "BYTE"]);
        assert_eq!(
            (trace.count(&["BYTE 1"]), trace.count(&["BYTE", "BYTE"]), trace.find(&["BYTE 2"])),
            (2, 2, Some(1))
        );
        assert!(trace.starts_with(&["BYTE 1", "BYTE 2"]) && trace.ends_with(&["BYTE 2", "BYTE 1"]));
        assert!(!trace.starts_with(&["BYTE"; 4]) && !trace.ends_with(&["BYTE"; 4]) && !trace.contains(&["BYTE 3"]));
    }
}
