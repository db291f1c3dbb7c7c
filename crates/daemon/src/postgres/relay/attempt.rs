//! A group of messages that is sent together with the question whether its statement still fits.
//!
//! Who prepares a text that others have prepared must not get a statement that does not fit its tables any more, so the
//! server is asked first ([`Relay::validates`]). Where the client executes the statement in the same group it need not
//! wait for the answer: Describe is sent before the group, in the same write. The server describes a statement by the
//! columns with which it was parsed, or refuses it. In the second case it skips the group up to its Sync, so nothing of
//! it was executed, and nothing of it was answered; then it is passed on again, and the text is parsed.
//!
//! The group has to have been received as a whole, and to be about nothing but this statement, which changes nothing of
//! what the daemon tracks of a session ([`whole_group`]): then what is undone is what any error undoes. Nothing after
//! it is passed on before the server has described the statement.
//!
//! An error that is not about the statement (a cancelled query, a lock that was not available) is the client's.
//!
//! Not in the table: a group whose Parse and Describe are to be answered before the client goes on, as one with Flush
//! is. It would have to be told what was never asked for. Nor one with Close, which ends a statement or portal that would
//! have to be there again when the group is repeated. Both ask separately, and wait.

use super::framing::{bind_names, client_header, name_of};
use crate::limits::{ATTEMPT_BYTES, ATTEMPT_MESSAGES};
use headrace_core::transitions::Transitions;
use headrace_postgres::messages::tag::{StatementOrPortal, frontend as client};
use headrace_postgres::sql::{Effects, Facts};

headrace_core::names! {
    /// What has become of such a group.
    pub enum AttemptState {
        Nothing = "there is none whose outcome is not known",
        Asked = "Describe and the group were sent, and nothing was answered",
        Refused = "the statement does not fit, and the server skips the group up to its Sync",
        Again = "the group is passed on again, with its Parse",
    }
}

headrace_core::names! {
    /// An event that decides it.
    pub enum AttemptEvent {
        Ask = "Describe is sent, and the group after it",
        Fits = "the server has described the statement",
        Differs = "ErrorResponse to Describe: the statement does not fit",
        Fails = "another ErrorResponse to Describe, which is the client's",
        Ready = "ReadyForQuery after the group that was skipped",
        Passed = "all of it was passed on",
    }
}

/// The transitions.
pub static TRANSITIONS: Transitions<AttemptState, AttemptEvent> = {
    use AttemptEvent::*;
    use AttemptState::*;
    Transitions {
        machine: "relay-attempt",
        rows: &[
            (Nothing, Ask, Asked),
            (Asked, Fits, Nothing),
            (Asked, Differs, Refused),
            (Asked, Fails, Nothing),
            (Refused, Ready, Again),
            (Again, Passed, Nothing),
        ],
    }
};

/// The group, as long as it may have to be passed on again.
#[derive(Debug, Default)]
pub enum Attempt {
    #[default]
    Nothing,
    Asked(Vec<u8>),
    Refused(Vec<u8>),
    Again(Vec<u8>),
}

impl Attempt {
    fn state(&self) -> AttemptState {
        match self {
            Self::Nothing => AttemptState::Nothing,
            Self::Asked(_) => AttemptState::Asked,
            Self::Refused(_) => AttemptState::Refused,
            Self::Again(_) => AttemptState::Again,
        }
    }

    fn go(&mut self, event: AttemptEvent, to: Self) {
        TRANSITIONS.take(self.state(), event, to.state());
        *self = to;
    }

    /// Returns true if there is no group whose outcome is not known.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Returns true if the server has not described the statement.
    pub fn is_asked(&self) -> bool {
        matches!(self, Self::Asked(_))
    }

    /// Returns true if what comes after the group waits for the server's answer.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Asked(_) | Self::Refused(_))
    }

    /// Describe is sent, and this group after it.
    pub fn ask(&mut self, group: &[u8]) {
        self.go(AttemptEvent::Ask, Self::Asked(group.to_vec()));
    }

    /// The server has described a statement: the one that was asked for, if one was.
    pub fn fits(&mut self) {
        if self.is_asked() {
            self.go(AttemptEvent::Fits, Self::Nothing);
        }
    }

    /// It refuses to.
    pub fn differs(&mut self) {
        if let Self::Asked(group) = self {
            let group = std::mem::take(group);
            self.go(AttemptEvent::Differs, Self::Refused(group));
        }
    }

    /// The client is told of an error.
    pub fn fails(&mut self) {
        if self.is_asked() {
            self.go(AttemptEvent::Fails, Self::Nothing);
        }
    }

    /// The server is ready. Returns true if that is not the answer to what the client has sent.
    pub fn ready(&mut self) -> bool {
        let Self::Refused(group) = self else { return false };
        let group = std::mem::take(group);
        self.go(AttemptEvent::Ready, Self::Again(group));
        true
    }

    /// What is to be passed on again. It is not over before [`Attempt::passed`].
    pub fn again(&mut self) -> Option<Vec<u8>> {
        let Self::Again(group) = self else { return None };
        Some(std::mem::take(group))
    }

    /// It was passed on, but for this rest.
    pub fn passed(&mut self, rest: &[u8]) {
        match rest.is_empty() {
            true => self.go(AttemptEvent::Passed, Self::Nothing),
            false => *self = Self::Again(rest.to_vec()),
        }
    }
}

/// The bytes of the group at the beginning of what was received, if it can be sent with the question: all of it is there,
/// it prepares one statement by this name and executes it, and has nothing else.
pub(super) fn whole_group<'a>(received: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (mut at, mut is_bound) = (0, false);
    for number in 0..ATTEMPT_MESSAGES {
        let (tag, length) = client_header(&received[at..]).ok()??;
        let message = received.get(at..at + length)?;
        at += length;
        match (tag, &message[5..]) {
            _ if at > ATTEMPT_BYTES => return None,
            (client::PARSE, _) if number == 0 => {}
            (client::BIND, _) if bind_names(message, length).ok()??.1 == name => is_bound = true,
            (client::DESCRIBE, [target, _, ..]) if *target == StatementOrPortal::Portal as u8 => {}
            (client::DESCRIBE, [_, described @ ..]) if name_of(described)?.0 == name => {}
            (client::EXECUTE, _) => {}
            (client::SYNC, _) if is_bound => return Some(&received[..at]),
            _ => return None,
        }
    }
    None
}

/// Returns true if a text changes nothing that the daemon tracks of a session.
pub(super) fn is_plain(facts: &Facts) -> bool {
    facts.session_state.is_none() && facts.effects == Effects::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_postgres::messages::frontend;

    #[test]
    fn group_is_sent_with_the_question_if_it_is_about_one_statement() {
        let of = |letters: &str| {
            let mut out = Vec::new();
            for letter in letters.chars() {
                match letter {
                    'P' => frontend::parse(&mut out, "a", "select 1", &[]),
                    'B' => frontend::bind_empty(&mut out, "", "a"),
                    'O' => frontend::bind_empty(&mut out, "", "other"),
                    'D' => frontend::describe(&mut out, StatementOrPortal::Portal, ""),
                    'd' => frontend::describe(&mut out, StatementOrPortal::Statement, "a"),
                    'o' => frontend::describe(&mut out, StatementOrPortal::Statement, "other"),
                    'E' => frontend::execute(&mut out, "", 0),
                    'H' => frontend::flush(&mut out),
                    'C' => frontend::close(&mut out, StatementOrPortal::Statement, "a"),
                    'Q' => frontend::query(&mut out, "", "select 1"),
                    _ => frontend::sync(&mut out),
                }
            }
            out
        };
        for (letters, is_sent) in [
            ("PBES", true),
            ("PBDES", true),
            ("PdBES", true),
            ("PBEBES", true),
            ("PBE", false),
            ("PS", false),
            ("PdS", false),
            ("PHBES", false),
            ("POES", false),
            ("PoBES", false),
            ("PPBES", false),
            ("PBECS", false),
            ("PBEQ", false),
        ] {
            let group = of(letters);
            let found = whole_group(&group, b"a");
            assert_eq!(found.is_some(), is_sent, "{letters}");
            let more = [group.clone(), of("PBES")].concat();
            assert_eq!(
                whole_group(&more, b"a").map(<[u8]>::len),
                found.map(<[u8]>::len).or(None),
                "{letters} and more"
            );
            for end in 0..group.len() {
                assert_eq!(whole_group(&group[..end], b"a"), None, "{letters}, {end} bytes of it");
            }
        }
        assert_eq!(whole_group(&of(&format!("PB{}S", "E".repeat(ATTEMPT_MESSAGES))), b"a"), None);
        let mut long = Vec::new();
        frontend::parse(&mut long, "a", &"x".repeat(ATTEMPT_BYTES), &[]);
        assert_eq!(whole_group(&[long, of("BES")].concat(), b"a"), None);
    }
}
