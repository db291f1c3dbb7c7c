//! Whether what a client has sent is a transaction that it has declared to be read-only, which a standby can execute.
//!
//! Declared is what the server itself is told: READ ONLY in BEGIN, or `default_transaction_read_only` as the client has it.
//! What a statement does is not guessed. Everything that was received of the group decides, so that nothing of it would
//! have to be executed elsewhere: in doubt the answer is no.

use super::framing::{client_header, name_of, text_of};
use super::{Relay, is_settable};
use crate::postgres::own_settings::may_follow;
use headrace_postgres::messages::tag::frontend as client;
use headrace_postgres::sql::{Declared, declared, may_begin};
use std::collections::HashMap;

/// The setting by which a client declares all of its transactions.
const BY_DEFAULT: &str = "default_transaction_read_only";
/// Standbys have no SERIALIZABLE (manual, "Hot Standby").
const ISOLATION: &str = "default_transaction_isolation";

impl Relay {
    /// Returns true if the transaction that begins with what was received is declared to be read-only. The client has no
    /// server connection, and nothing is under way.
    pub fn is_declared_read_only(&self, input: &[u8]) -> bool {
        if !self.to_server.is_none() || !self.group.is_complete() || self.client.shared_settings().is_none() {
            return false;
        }
        let by_default = self.client.settings.values.get(BY_DEFAULT).is_some_and(|value| value == "on");
        let is_serializable = self.own_settings().get(ISOLATION).is_some_and(|value| value == "serializable");
        let Some(texts) = self.texts(input) else { return false };
        if is_serializable || texts.is_empty() {
            return by_default && !is_serializable;
        }
        // What has declared nothing is read no further.
        if !by_default && !may_begin(&texts[0]) {
            return false;
        }
        let mut course = Course { by_default, at: At::Start, alone: false, any: false };
        texts.iter().all(|sql| {
            declared(sql, follows).is_some_and(|statements| statements.into_iter().all(|next| course.takes(next)))
        }) && (by_default || course.at != At::Start)
    }

    /// The texts that are executed, in order; `None` if not all are known.
    fn texts(&self, mut input: &[u8]) -> Option<Vec<String>> {
        let (mut parsed, mut portals, mut texts) = (HashMap::new(), HashMap::new(), Vec::new());
        while let Some((tag, length)) = client_header(input).ok()? {
            let body = input.get(5..length)?;
            input = &input[length..];
            match tag {
                client::QUERY => {
                    texts.push(text_of(body.strip_suffix(b"\0").unwrap_or(body)));
                    return Some(texts);
                }
                client::PARSE => {
                    let (name, rest) = name_of(body)?;
                    parsed.insert(name, text_of(name_of(rest)?.0));
                }
                client::BIND => {
                    let (portal, rest) = name_of(body)?;
                    let (name, _) = name_of(rest)?;
                    let text = match parsed.get(name) {
                        Some(text) => text.clone(),
                        None => self.client.names.get(name)?.text().into_owned(),
                    };
                    portals.insert(portal, text);
                }
                client::EXECUTE => texts.push(portals.get(name_of(body)?.0)?.clone()),
                client::DESCRIBE | client::CLOSE | client::FLUSH => {}
                client::SYNC => return Some(texts),
                _ => return None,
            }
        }
        // Something of the last message is missing.
        input.is_empty().then_some(texts)
    }
}

/// A setting that would keep the connection is not made on a standby: its client could not write any more.
fn follows(name: &str) -> bool {
    is_settable(name) || may_follow(name)
}

/// What the statements so far have come to.
struct Course {
    /// Transactions are read-only unless it is said that they are not.
    by_default: bool,
    at: At,
    /// A setting has changed that may decide how the next statement is executed.
    alone: bool,
    any: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// No transaction block has begun.
    Start,
    Block,
    /// It has ended. What follows is another transaction.
    Ended,
}

impl Course {
    /// Returns false if the next statement must not be executed on a standby.
    fn takes(&mut self, next: Declared) -> bool {
        let is_first = !std::mem::replace(&mut self.any, true);
        if std::mem::replace(&mut self.alone, false) {
            return false;
        }
        match (self.at, next) {
            (At::Start, Declared::Begin { read_only, serializable }) => {
                self.at = At::Block;
                !serializable && read_only.unwrap_or(self.by_default)
            }
            (At::Start, Declared::Nothing) => self.by_default,
            (At::Start, Declared::Setting) => {
                self.alone = true;
                self.by_default && is_first
            }
            (At::Block, Declared::Nothing | Declared::Setting) => true,
            (At::Block, Declared::End) => {
                self.at = At::Ended;
                true
            }
            (At::Start, Declared::End | Declared::Modes)
            | (At::Block, Declared::Begin { .. } | Declared::Modes)
            | (At::Ended, _) => false,
        }
    }
}
