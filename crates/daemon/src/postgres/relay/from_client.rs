//! The client's messages on their way to the server.

use super::expected::Expected;
use super::group::Event;
use super::names::Change;
use super::preparing::Checked;
use super::{Refused, Relay, ServerState, Then, client_header, is_settable, pass};
use crate::limits::{REPLIES, WHOLE_MESSAGE};
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{Target, frontend as client};
use headrace_postgres::sql::{Effects, begins_block, effects, leaves, outlasts_discard};

impl Relay {
    /// Passes the client's messages on, while there is room to send.
    ///
    /// # Errors
    /// [`Refused`]: the client has to be told, and closed.
    pub fn from_client(
        &mut self,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<Then, Refused> {
        self.waits_for_replies = false;
        self.adapt_again(server, output);
        while output.len() < WRITE_BUFFER_HIGH_BYTES {
            if self.to_server > 0 {
                if !pass(input, output, &mut self.to_server) {
                    return Ok(Then::Wait);
                }
                continue;
            }
            if self.skipped > 0 {
                let n = self.skipped.min(input.unread().len());
                if n == 0 {
                    return Ok(Then::Wait);
                }
                input.consume(n);
                self.skipped -= n;
                continue;
            }
            let Some((tag, length)) = client_header(input.unread())? else { return Ok(Then::Wait) };
            // The server waits for the data of a COPY before it answers.
            let copies = matches!(tag, client::COPY_DATA | client::COPY_DONE | client::COPY_FAIL);
            if !copies && self.holds_back(server, output) {
                return Ok(self.wait_for_replies());
            }
            if tag == client::SYNC && self.copies_in {
                self.skipped = length;
                continue;
            }
            if self.group.is_skipped() && !matches!(tag, client::SYNC | client::TERMINATE) {
                self.skipped = length;
                continue;
            }
            self.requests += usize::from(matches!(tag, client::SYNC | client::QUERY));
            if tag == client::SYNC && self.is_answered_here() {
                self.end_group(Event::SyncHere, Expected::Ready);
                self.skipped = length;
                continue;
            }
            if tag == client::FLUSH && !self.expected.are_owed() {
                self.skipped = length;
                continue;
            }
            if matches!(tag, client::BIND | client::EXECUTE | client::PARSE | client::DESCRIBE | client::CLOSE) {
                self.group.go(Event::Begun);
            }
            match tag {
                client::TERMINATE => return Ok(Then::Terminate),
                client::COPY_DATA => self.to_server = length,
                client::BIND => {
                    let Some(names) = bind_names(input.unread(), length)? else { return wait(input, length) };
                    if self.relies_on_others(&names.1) || self.is_bound_alone(&names.1) {
                        return Ok(self.wait_for_replies());
                    }
                    match self.check(&names.1, server, output) {
                        Checked::Fits(prepared) => self.bind(names, prepared, length, input, server, output),
                        Checked::Waits => return Ok(self.wait_for_replies()),
                        // The server skips what comes after it in its group.
                        Checked::Differs => self.skipped = length,
                    }
                }
                client::EXECUTE if !self.awaited.is_empty() => {
                    if input.unread().len() < length {
                        return wait(input, length);
                    }
                    let (portal, _) = name_of(&input.unread()[5..length]).ok_or_else(|| malformed("Execute"))?;
                    let at = self.awaited.iter().position(|(awaited, _)| awaited == portal);
                    output.tail().extend_from_slice(&input.unread()[..length]);
                    input.consume(length);
                    self.expect(Expected::Execute);
                    if let Some(at) = at {
                        let (_, statement) = self.awaited.swap_remove(at);
                        self.deallocating = self.deallocated(&statement);
                        self.takes_effect(&statement.effects);
                        self.restore(&statement.effects.resets, server, output);
                        frontend::flush(output.tail());
                    }
                }
                client::FUNCTION_CALL if input.unread().len() < FUNCTION_BYTES.min(length) => {
                    return wait(input, FUNCTION_BYTES.min(length));
                }
                client::EXECUTE
                | client::SYNC
                | client::FLUSH
                | client::COPY_DONE
                | client::COPY_FAIL
                | client::FUNCTION_CALL => {
                    match tag {
                        client::EXECUTE => self.expect(Expected::Execute),
                        client::SYNC => self.end_group(Event::Sync, Expected::Sync),
                        client::FUNCTION_CALL => {
                            if !is_large_object(&input.unread()[..FUNCTION_BYTES.min(length)]) {
                                self.pinned.get_or_insert(FUNCTION_CALL);
                                server.spoiled.get_or_insert(FUNCTION_CALL);
                            }
                            self.end_group(Event::Query, Expected::Function);
                        }
                        client::COPY_DONE | client::COPY_FAIL => {
                            self.copies_in = false;
                            self.expect(Expected::CopyEnd);
                        }
                        _ => {}
                    }
                    self.to_server = length;
                }
                client::QUERY | client::PARSE | client::DESCRIBE | client::CLOSE => {
                    if length > WHOLE_MESSAGE {
                        let name = client::name(tag).unwrap_or_default();
                        return Err(Refused::TooLarge(format!(
                            "a {name} message of {length} bytes is larger than the daemon passes on ({WHOLE_MESSAGE})"
                        )));
                    }
                    if input.unread().len() < length {
                        return wait(input, length);
                    }
                    if self.must_wait(tag, &input.unread()[5..length], server) {
                        return Ok(self.wait_for_replies());
                    }
                    if tag == client::PARSE && self.validates(&input.unread()[5..length], server, output) {
                        return Ok(self.wait_for_replies());
                    }
                    let message = input.unread()[..length].to_vec();
                    input.consume(length);
                    self.whole(tag, &message, server, output)?;
                }
                _ => {
                    let tag = char::from(tag);
                    return Err(Refused::Malformed(format!("a message of type {tag:?} is none that a client sends")));
                }
            }
        }
        Ok(Then::Wait)
    }

    /// Returns true if nothing that the client has sent since its last Sync was passed on, and the server owes nothing:
    /// then it has nothing to say to the next Sync either.
    fn is_answered_here(&self) -> bool {
        self.group.leaves_sync_here() && !self.copies_in && !self.expected.is_empty() && !self.expected.are_owed()
    }

    fn wait_for_replies(&mut self) -> Then {
        self.waits_for_replies = true;
        Then::Wait
    }

    /// Returns true if nothing more is passed on before the server has answered.
    fn holds_back(&mut self, server: &ServerState, output: &mut WriteBuffer) -> bool {
        if self.expected.is_empty() {
            (self.waits_for_effects, self.hurried) = (false, false);
            return false;
        }
        if self.expected.len() >= REPLIES {
            if !self.hurried && !self.group.is_complete() {
                frontend::flush(output.tail());
            }
            self.hurried = true;
            return true;
        }
        self.hurried = false;
        let is_between = self.group.is_complete() && server.status == TransactionStatus::Idle;
        self.waits_for_effects || self.gives_way && is_between
    }

    /// Returns true if a message relies on one of an earlier group that the server may skip.
    fn must_wait(&self, tag: u8, body: &[u8], server: &ServerState) -> bool {
        if self.expected.is_empty() {
            return false;
        }
        let is_uncertain = |name: &[u8]| !name.is_empty() && self.names.is_uncertain(name, self.group.number());
        let groups = self.expected.have_groups();
        match (tag, body) {
            // What comes before it is not to be taken for what it does.
            (client::QUERY, sql) => groups && is_awaited(&effects(&text_of(sql.strip_suffix(b"\0").unwrap_or(sql)))),
            (client::PARSE, body) => {
                let Some((name, rest)) = name_of(body) else { return false };
                // Of an unnamed one nobody asks whether it is there. A name that is taken has to be so on the server: it
                // is that of others, too. A transaction that has failed may have been ended meanwhile.
                !name.is_empty()
                    && (self.relies_on_others(name)
                        || !self.altered.is_empty() && self.is_shared_uncertainly(rest)
                        || groups && server.status == TransactionStatus::Failed)
            }
            (client::DESCRIBE, [b'S', name @ ..]) => name_of(name).is_some_and(|(name, _)| self.relies_on_others(name)),
            (client::CLOSE, [b'S', name @ ..]) => name_of(name).is_some_and(|(name, _)| is_uncertain(name)),
            _ => false,
        }
    }

    /// Returns true if others have a text prepared, or not, depending on a message of an earlier group.
    fn is_shared_uncertainly(&self, body: &[u8]) -> bool {
        let shared = self.shared_settings().map(|_| self.statement(body));
        shared.is_some_and(|statement| self.is_uncertain(statement.id()))
    }

    /// Returns true if a statement is bound only when everything before its group was answered.
    fn is_bound_alone(&self, name: &[u8]) -> bool {
        self.expected.have_groups() && self.names.get(name).is_some_and(|statement| is_awaited(&statement.effects))
    }

    fn relies_on_others(&self, name: &[u8]) -> bool {
        !self.expected.is_empty()
            && (self.names.is_uncertain(name, self.group.number())
                || self.names.get(name).is_some_and(|statement| self.is_uncertain(statement.id())))
    }

    /// A text is passed on that does this.
    pub(super) fn takes_effect(&mut self, effects: &Effects) {
        if effects.settings {
            self.settings.may_change();
        }
        self.creates |= effects.creates;
        self.waits_for_effects |= is_awaited(effects);
    }

    fn whole(
        &mut self,
        tag: u8,
        message: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<(), Refused> {
        let body = &message[5..];
        match tag {
            client::QUERY => {
                let text = body.strip_suffix(b"\0").unwrap_or(body);
                let sql = text_of(text);
                self.note(&sql, server)?;
                let effects = effects(&sql);
                server.prepared.set_unnamed(None);
                let restored = match effects.resets.is_empty() {
                    true => None,
                    false => self.restored(&sql, std::str::from_utf8(text).is_ok(), server),
                };
                let mut spliced = None;
                match (self.deallocated_by(&sql), restored) {
                    (Some(name), _) => self.deallocate(name, output),
                    (None, Some((sql, parts))) => {
                        frontend::query(output.tail(), "", &sql);
                        spliced = Some(Box::new(parts));
                    }
                    (None, None) => output.tail().extend_from_slice(message),
                }
                self.takes_effect(&effects);
                let change = Change { name: Vec::new(), to: None };
                self.names.sent(&change, self.group.number());
                self.end_group(Event::Query, Expected::Query(change, spliced));
            }
            client::PARSE => {
                let (name, rest) = name_of(body).ok_or_else(|| malformed("Parse"))?;
                let (sql, _) = name_of(rest).ok_or_else(|| malformed("Parse"))?;
                self.note(&text_of(sql), server)?;
                self.parse(name, rest, server, output);
            }
            client::DESCRIBE | client::CLOSE => {
                let [target, name @ ..] = body else { return Err(malformed("Describe or Close")) };
                let (name, _) = name_of(name).ok_or_else(|| malformed("Describe or Close"))?;
                if *target != Target::Statement as u8 {
                    output.tail().extend_from_slice(message);
                    let portal = name.to_vec();
                    let is_close = tag == client::CLOSE;
                    self.expect(if is_close {
                        Expected::ClosePortal(portal)
                    } else {
                        Expected::DescribePortal(portal)
                    });
                } else if tag == client::CLOSE {
                    self.close(name, output);
                } else {
                    self.describe(name, server, output);
                }
            }
            _ => unreachable!("the caller passes only these"),
        }
        Ok(())
    }

    /// Notes what a text leaves behind. A setting follows its client if the server reports it and anybody may set it;
    /// others, like session_authorization, do not.
    fn note(&mut self, sql: &str, server: &mut ServerState) -> Result<(), Refused> {
        if self.refuses_transactions && begins_block(sql) {
            return Err(Refused::Transaction);
        }
        if self.pinned.is_none() {
            let follows = |name: &str| {
                is_settable(name) && server.parameters.keys().any(|known| known.eq_ignore_ascii_case(name))
            };
            self.pinned = leaves(sql, follows);
        }
        if self.pinned.is_some() && server.spoiled.is_none() {
            server.spoiled = outlasts_discard(sql);
        }
        Ok(())
    }
}

/// A function of which nothing but its number is known.
const FUNCTION_CALL: &str = "a FunctionCall";

/// Bytes of a FunctionCall up to the end of the function's oid.
const FUNCTION_BYTES: usize = 9;

/// The functions of large objects (`pg_proc.dat`), which leave nothing after their transaction.
const LARGE_OBJECTS: [u32; 15] = [715, 764, 765, 767, 952, 954, 955, 956, 957, 958, 964, 1004, 3170, 3171, 3172];

/// Returns true if a FunctionCall is one of a large object, as clients send them.
fn is_large_object(start: &[u8]) -> bool {
    let oid = start.get(5..FUNCTION_BYTES).and_then(|oid| oid.try_into().ok()).map(u32::from_be_bytes);
    oid.is_some_and(|oid| LARGE_OBJECTS.contains(&oid))
}

/// Returns true if what comes after a text with these effects means something else by them.
pub(super) fn is_awaited(effects: &Effects) -> bool {
    effects.deallocates || !effects.resets.is_empty()
}

fn wait(input: &mut ReadBuffer, length: usize) -> Result<Then, Refused> {
    input.want(length.min(WHOLE_MESSAGE));
    Ok(Then::Wait)
}

fn malformed(message: &str) -> Refused {
    Refused::Malformed(format!("a {message} message is too short"))
}

/// A name that ends with a zero byte, and what follows.
pub(super) fn name_of(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The portal and the statement of a Bind, and where they end; `None` if they have not been received.
#[expect(clippy::type_complexity, reason = "used once, where it is taken apart")]
pub(super) fn bind_names(bytes: &[u8], length: usize) -> Result<Option<(Vec<u8>, Vec<u8>, usize)>, Refused> {
    let there = &bytes[5..bytes.len().min(length)];
    let found =
        name_of(there).and_then(|(portal, rest)| name_of(rest).map(|(statement, after)| (portal, statement, after)));
    match found {
        Some((portal, statement, after)) => {
            Ok(Some((portal.to_vec(), statement.to_vec(), 5 + there.len() - after.len())))
        }
        None if bytes.len() >= length || there.len() > WHOLE_MESSAGE => Err(malformed("Bind")),
        None => Ok(None),
    }
}
