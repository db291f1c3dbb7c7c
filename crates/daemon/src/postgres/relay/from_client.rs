//! The client's messages on their way to the server.

use super::{Expected, Refused, Relay, ServerState, Then, client_header, pass};
use crate::limits::WHOLE_MESSAGE;
use crate::postgres::server::is_settable;
use crate::postgres::statements::{Catalog, PREFIX, Statement};
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{Target, backend, frontend as client};
use headrace_postgres::sql::{begins_block, leaves};
use std::sync::Arc;

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
            if self.gives_way
                && !self.unsynced
                && !self.expected.is_empty()
                && server.status == TransactionStatus::Idle
                // The server waits for the data of a COPY before it answers.
                && !matches!(tag, client::COPY_DATA | client::COPY_DONE | client::COPY_FAIL)
            {
                self.waits_for_replies = true;
                return Ok(Then::Wait);
            }
            if tag == client::SYNC && self.copies_in {
                self.skipped = length;
                continue;
            }
            if self.skipping && !matches!(tag, client::SYNC | client::TERMINATE) {
                self.skipped = length;
                continue;
            }
            self.requests += usize::from(matches!(tag, client::SYNC | client::QUERY));
            if tag == client::SYNC && self.is_answered_here(output) {
                self.expected.push_back(Expected::Ready);
                (self.unsynced, self.flushed, self.skipped) = (false, false, length);
                continue;
            }
            match tag {
                client::SYNC => (self.unsynced, self.skipping, self.flushed) = (false, false, false),
                client::QUERY => self.flushed = false,
                client::FLUSH => {
                    self.flushed = true;
                    if self.expected.iter().all(Expected::is_own) {
                        self.skipped = length;
                        continue;
                    }
                }
                client::BIND | client::EXECUTE | client::PARSE | client::DESCRIBE | client::CLOSE => {
                    self.unsynced = true
                }
                _ => {}
            }
            match tag {
                client::TERMINATE => return Ok(Then::Terminate),
                client::COPY_DATA => self.to_server = length,
                client::BIND => {
                    let Some(names) = bind_names(input.unread(), length)? else { return wait(input, length) };
                    self.bind(names, length, input, server, output);
                }
                client::EXECUTE
                | client::SYNC
                | client::FLUSH
                | client::COPY_DONE
                | client::COPY_FAIL
                | client::FUNCTION_CALL => {
                    match tag {
                        client::EXECUTE => self.expected.push_back(Expected::Execute),
                        client::SYNC => self.expected.push_back(Expected::Sync),
                        client::FUNCTION_CALL => self.expected.push_back(Expected::Query),
                        client::COPY_DONE | client::COPY_FAIL => {
                            self.copies_in = false;
                            self.expected.push_back(Expected::CopyEnd);
                        }
                        _ => {}
                    }
                    self.to_server = length;
                    if tag == client::SYNC {
                        self.synced = output.mark() + length as u64;
                    }
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
    fn is_answered_here(&self, output: &WriteBuffer) -> bool {
        self.synced == output.mark()
            && !self.skipping
            && !self.copies_in
            && !self.expected.is_empty()
            && self.expected.iter().all(Expected::is_own)
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
                let sql = text_of(body.strip_suffix(b"\0").unwrap_or(body));
                self.note(&sql, server)?;
                self.names.remove(&b""[..]);
                server.prepared.unnamed = None;
                match self.deallocated(&sql) {
                    Some(name) => self.deallocate(&name, output),
                    None => output.tail().extend_from_slice(message),
                }
                self.synced = output.mark();
                self.expected.push_back(Expected::Query);
            }
            client::PARSE => {
                let (name, rest) = name_of(body).ok_or_else(|| malformed("Parse"))?;
                let (sql, _) = name_of(rest).ok_or_else(|| malformed("Parse"))?;
                let sql = text_of(sql);
                self.note(&sql, server)?;
                self.parse(name, rest, &sql, server, output);
            }
            client::DESCRIBE | client::CLOSE => {
                let [target, name @ ..] = body else { return Err(malformed("Describe or Close")) };
                let (name, _) = name_of(name).ok_or_else(|| malformed("Describe or Close"))?;
                if *target != Target::Statement as u8 {
                    output.tail().extend_from_slice(message);
                    let close = tag == client::CLOSE;
                    self.expected.push_back(if close { Expected::Close(None) } else { Expected::Describe(None) });
                } else if tag == client::CLOSE {
                    let previous = self.close(name);
                    if name.is_empty() {
                        server.prepared.unnamed = None;
                    }
                    self.expected.push_back(Expected::Made(backend::CLOSE_COMPLETE, Some((name.to_vec(), previous))));
                } else {
                    let statement = self.names.get(name).filter(|_| !name.is_empty()).cloned();
                    let name = self.on_server(name, server, output);
                    // In a transaction that has failed the server describes nothing that returns rows.
                    let known = statement.as_ref().filter(|_| server.status != TransactionStatus::Failed);
                    if let Some(description) = known.and_then(|statement| server.prepared.description(statement)) {
                        self.expected.push_back(Expected::Known(description));
                        return Ok(());
                    }
                    frontend::message(output.tail(), client::DESCRIBE, |out| {
                        out.push(Target::Statement as u8);
                        out.extend_from_slice(&name);
                        out.push(0);
                    });
                    self.expected.push_back(Expected::Describe(statement));
                }
            }
            _ => unreachable!("the caller passes only these"),
        }
        Ok(())
    }

    /// Notes what a text leaves behind. A setting follows its client if the server reports it and anybody may set it;
    /// others, like session_authorization, do not.
    fn note(&mut self, sql: &str, server: &ServerState) -> Result<(), Refused> {
        if self.refuses_transactions && begins_block(sql) {
            return Err(Refused::Transaction);
        }
        if self.pinned.is_none() {
            let follows = |name: &str| {
                is_settable(name) && server.parameters.keys().any(|known| known.eq_ignore_ascii_case(name))
            };
            self.pinned = leaves(sql, follows);
        }
        Ok(())
    }

    fn parse(&mut self, name: &[u8], body: &[u8], sql: &str, server: &mut ServerState, output: &mut WriteBuffer) {
        if let Some(gone) = self.deallocated(sql) {
            // DEALLOCATE through the extended protocol, of a statement whose name only the client knows.
            self.placeholder(output);
            self.close(&gone);
            let statement = Catalog::unshared(format!("DEALLOCATE {PREFIX}gone\0\0\0").as_bytes());
            let previous = self.names.insert(name.to_vec(), Arc::clone(&statement));
            self.send_parse(b"", &statement.body, output);
            server.prepared.unnamed = Some(statement.id());
            let undo = Some((name.to_vec(), previous));
            self.expected.push_back(Expected::Parse { statement: None, shown: true, undo });
            return;
        }
        if name.is_empty() {
            let statement = Catalog::unshared(body);
            server.prepared.unnamed = Some(statement.id());
            let previous = self.names.insert(Vec::new(), Arc::clone(&statement));
            self.send_parse(b"", body, output);
            let undo = Some((Vec::new(), previous));
            self.expected.push_back(Expected::Parse { statement: None, shown: true, undo });
            return;
        }
        if let Some(statement) = self.names.get(name).cloned() {
            // The server's own error says that it exists already, if it exists there.
            self.prepare(&statement, server, output);
            self.send_parse(&statement.name, body, output);
            self.expected.push_back(Expected::Parse { statement: None, shown: true, undo: None });
            return;
        }
        let mut statement = self.catalog.named(body);
        if self.closed.remove(&statement.id()) {
            self.catalog.forget(&statement);
            statement = self.catalog.named(body);
        }
        self.names.insert(name.to_vec(), Arc::clone(&statement));
        let undo = Some((name.to_vec(), None));
        if server.prepared.has(&statement) {
            self.spared += 1;
            self.expected.push_back(Expected::Made(backend::PARSE_COMPLETE, undo));
            return;
        }
        self.make_room(&statement, server, output);
        self.send_parse(&statement.name, &statement.body, output);
        self.prepared += 1;
        self.expected.push_back(Expected::Parse { statement: Some(statement), shown: true, undo });
    }

    fn bind(
        &mut self,
        (portal, name, after): (Vec<u8>, Vec<u8>, usize),
        length: usize,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) {
        let statement = self.names.get(&name).cloned();
        let name = self.on_server(&name, server, output);
        let rest = length - after;
        let out = output.tail();
        out.push(client::BIND);
        out.extend_from_slice(&((4 + portal.len() + 1 + name.len() + 1 + rest) as u32).to_be_bytes());
        out.extend_from_slice(&portal);
        out.push(0);
        out.extend_from_slice(&name);
        out.push(0);
        input.consume(after);
        self.to_server = rest;
        self.expected.push_back(Expected::Bind(statement));
    }

    /// The name on the server of what the client calls `name`, which is prepared there if it is not. A name that the
    /// client has not defined is left as it is: the server says that it does not exist.
    fn on_server(&mut self, name: &[u8], server: &mut ServerState, output: &mut WriteBuffer) -> Vec<u8> {
        let Some(statement) = self.names.get(name).cloned() else { return name.to_vec() };
        if !name.is_empty() {
            self.prepare(&statement, server, output);
            return statement.name.clone();
        }
        if server.prepared.unnamed != Some(statement.id()) {
            server.prepared.unnamed = Some(statement.id());
            self.send_parse(b"", &statement.body, output);
            self.prepared_again += 1;
            self.expected.push_back(Expected::Parse { statement: None, shown: false, undo: None });
        }
        Vec::new()
    }

    fn prepare(&mut self, statement: &Arc<Statement>, server: &mut ServerState, output: &mut WriteBuffer) {
        if server.prepared.has(statement) {
            return;
        }
        self.make_room(statement, server, output);
        self.send_parse(&statement.name, &statement.body, output);
        self.prepared_again += 1;
        self.expected.push_back(Expected::Parse { statement: Some(Arc::clone(statement)), shown: false, undo: None });
    }

    fn make_room(&mut self, statement: &Arc<Statement>, server: &mut ServerState, output: &mut WriteBuffer) {
        let mut closed = std::mem::take(&mut server.stale);
        closed.extend(server.prepared.add(statement));
        for statement in closed {
            frontend::message(output.tail(), client::CLOSE, |out| {
                out.push(Target::Statement as u8);
                out.extend_from_slice(&statement.name);
                out.push(0);
            });
            self.expected.push_back(Expected::Close(Some(statement)));
        }
    }

    pub(super) fn send_parse(&self, name: &[u8], body: &[u8], output: &mut WriteBuffer) {
        frontend::message(output.tail(), client::PARSE, |out| {
            out.extend_from_slice(name);
            out.push(0);
            out.extend_from_slice(body);
        });
    }
}

fn wait(input: &mut ReadBuffer, length: usize) -> Result<Then, Refused> {
    input.want(length.min(WHOLE_MESSAGE));
    Ok(Then::Wait)
}

fn malformed(message: &str) -> Refused {
    Refused::Malformed(format!("a {message} message is too short"))
}

/// A name that ends with a zero byte, and what follows.
fn name_of(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The portal and the statement of a Bind, and where they end; `None` if they have not been received.
#[expect(clippy::type_complexity, reason = "used once, where it is taken apart")]
fn bind_names(bytes: &[u8], length: usize) -> Result<Option<(Vec<u8>, Vec<u8>, usize)>, Refused> {
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
