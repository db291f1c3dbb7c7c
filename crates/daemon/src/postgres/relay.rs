//! The messages between one client and the server connection that is lent to it, without I/O.
//!
//! Rows are passed on as bytes. What changes on the way are the names of prepared statements: a client's name is its
//! own, and on the server a text has one name for all clients. A statement that the client has and the server
//! connection does not is prepared there before its first use, and its ParseComplete goes no further. ParseComplete and
//! CloseComplete that the server does not send are put in, each in its place among the replies.

use super::server::is_settable;
use super::statements::{Catalog, OnServer, PREFIX, Statement};
use crate::limits::WHOLE_MESSAGE;
use crate::replies;
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{Fatal, ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_postgres::messages::backend::{
    ServerError, command_complete, header, parameter_status, transaction_status,
};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{Target, backend, frontend as client};
use headrace_postgres::sql::{begins_block, leaves};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Errors that are counted by SQLSTATE while a server connection is lent.
const ERRORS: usize = 64;

/// What a server connection has, independent of the client that it is lent to.
#[derive(Debug)]
pub struct ServerState {
    /// The prepared statements.
    pub prepared: OnServer,
    /// The settings that the server reports, and their values.
    pub parameters: BTreeMap<String, String>,
    /// The status of the transaction, of the last ReadyForQuery.
    pub status: TransactionStatus,
    /// Statements that do not fit their tables any more, to be closed before anything is prepared.
    stale: Vec<Arc<Statement>>,
}

impl ServerState {
    /// Of a session that was just opened.
    pub fn new(parameters: BTreeMap<String, String>, statements: usize) -> Self {
        Self { prepared: OnServer::new(statements), parameters, status: TransactionStatus::Idle, stale: Vec::new() }
    }

    /// The SQL that gives the session the settings of a client, where they differ.
    pub fn adaptation(&self, wanted: &BTreeMap<String, String>) -> Option<String> {
        let mut sql = String::new();
        for (name, value) in wanted {
            if !is_settable(name) || self.parameters.get(name).is_none_or(|own| own == value) {
                continue;
            }
            // In this form a backslash means the same whatever standard_conforming_strings is.
            let value = value.replace('\\', "\\\\").replace('\'', "''");
            // SET would take the whole list for one name.
            sql.push_str(&match name.eq_ignore_ascii_case("search_path") {
                true => format!("SELECT pg_catalog.set_config('search_path', E'{value}', false);"),
                false => format!("SET SESSION {name} TO E'{value}';"),
            });
        }
        (!sql.is_empty()).then_some(sql)
    }
}

/// A reply that the server owes, or one that is put in among them.
#[derive(Debug)]
enum Expected {
    /// ParseComplete. `shown` is false if the client has not sent this Parse.
    Parse { statement: Option<Arc<Statement>>, shown: bool, undo: Option<Undo> },
    /// BindComplete.
    Bind(Option<Arc<Statement>>),
    /// RowDescription or NoData, after ParameterDescription if it is a statement's.
    Describe,
    /// CommandComplete, EmptyQueryResponse or PortalSuspended.
    Execute,
    /// CloseComplete, shown or of a statement that makes room.
    Close(Option<Arc<Statement>>),
    /// A message that the daemon puts in.
    Made(u8, Option<Undo>),
    /// ReadyForQuery after Sync.
    Sync,
    /// ReadyForQuery after Query or FunctionCall.
    Query,
    /// None: the client has ended a COPY here.
    CopyEnd,
    /// All that comes up to ReadyForQuery is the daemon's own affair.
    Own,
}

/// What a client's name meant before a message that the server then did not execute.
type Undo = (Vec<u8>, Option<Arc<Statement>>);

/// Why a client's message is not passed on.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The client is not speaking the protocol.
    Malformed(String),
    /// A message is larger than the daemon keeps in memory.
    TooLarge(String),
    /// A transaction begins where the server connection goes back after each statement.
    Transaction,
}

/// What is left after the messages of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// More bytes are needed, or room to send.
    Wait,
    /// The client has said goodbye.
    Terminate,
}

/// One client's side.
#[derive(Debug)]
pub struct Relay {
    catalog: Arc<Catalog>,
    names: HashMap<Vec<u8>, Arc<Statement>>,
    expected: VecDeque<Expected>,
    /// The client has sent messages of the extended protocol, and no Sync after them.
    unsynced: bool,
    /// An error makes the server skip what comes before the client's next Sync, so it need not be sent.
    skipping: bool,
    /// Bytes of the client's message that is skipped.
    skipped: usize,
    /// Bytes of the client's message that is passed on piece by piece.
    to_server: usize,
    /// The same of the server's.
    to_client: usize,
    /// Why the server connection has to stay with this client.
    pinned: Option<&'static str>,
    /// The settings that the server reports, as this client has them.
    pub parameters: BTreeMap<String, String>,
    /// Statements that were prepared on a server connection because the client had them from another.
    pub prepared_again: u64,
    /// Parse messages that the server did not have to see.
    pub spared: u64,
    /// Those that it has seen.
    pub prepared: u64,
    /// Bytes received from servers.
    pub received: u64,
    /// SQLSTATEs of errors.
    pub errors: Vec<String>,
    /// Requests since the server connection was lent.
    pub requests: usize,
    /// A text that begins a transaction is refused.
    pub refuses_transactions: bool,
    /// After a request outside of a transaction nothing is passed on until it was answered, so that the server
    /// connection can be lent to somebody else.
    pub gives_way: bool,
    waits_for_replies: bool,
}

impl Relay {
    /// A client that has just been welcomed with these settings.
    pub fn new(catalog: Arc<Catalog>, parameters: BTreeMap<String, String>) -> Self {
        Self {
            catalog,
            names: HashMap::new(),
            expected: VecDeque::new(),
            unsynced: false,
            skipping: false,
            skipped: 0,
            to_server: 0,
            to_client: 0,
            pinned: None,
            parameters,
            prepared_again: 0,
            spared: 0,
            prepared: 0,
            received: 0,
            errors: Vec::new(),
            requests: 0,
            refuses_transactions: false,
            gives_way: false,
            waits_for_replies: false,
        }
    }

    /// Gives the server connection that was just lent this client's settings, ahead of the client's own messages.
    pub fn adapt(&mut self, server: &mut ServerState, output: &mut WriteBuffer) {
        if let Some(sql) = server.adaptation(&self.parameters) {
            frontend::query(output.tail(), "", &sql);
            self.expected.push_back(Expected::Own);
        }
    }

    /// Returns true if nothing more is read from the client's messages before the server has answered.
    pub fn is_waiting_for_replies(&self) -> bool {
        self.waits_for_replies
    }

    /// Returns true if a server connection is needed for what the client has sent. It is not for a part of a header, nor
    /// for a part of a Query, which [`Relay::from_client`] would leave where it is.
    pub fn needs_server(&self, input: &mut ReadBuffer) -> bool {
        if self.skipping || self.skipped > 0 {
            // A cancelled request is not complete yet.
            return false;
        }
        if self.to_server > 0 {
            return true;
        }
        match client_header(input.unread()) {
            Ok(None | Some((client::TERMINATE, _))) => false,
            Ok(Some((client::QUERY, length))) if input.unread().len() < length && length <= WHOLE_MESSAGE => {
                input.want(length);
                false
            }
            // What is refused is refused by `from_client`.
            Ok(Some(_)) | Err(_) => true,
        }
    }

    /// Returns true if the client has said goodbye, while it has no server connection.
    pub fn says_goodbye(&self, input: &ReadBuffer) -> bool {
        self.to_server == 0 && input.unread().first() == Some(&client::TERMINATE)
    }

    /// Returns true if the server owes nothing, so that the connection can be lent to another client.
    pub fn is_settled(&self, server: &ServerState) -> bool {
        self.owes_nothing() && server.status == TransactionStatus::Idle && self.pinned.is_none()
    }

    /// Returns true if every request was answered, and none has begun.
    pub fn owes_nothing(&self) -> bool {
        self.expected.is_empty() && !self.unsynced && self.to_server == 0 && self.skipped == 0 && self.to_client == 0
    }

    /// Returns true if every request was answered, whether or not more have begun.
    pub fn has_all_replies(&self) -> bool {
        self.expected.is_empty() && self.to_client == 0
    }

    /// Returns true if a part of a message was passed on to the client: what is sent next would be taken for its rest.
    pub fn is_within_message(&self) -> bool {
        self.to_client > 0
    }

    /// Why the server connection stays with this client until it leaves.
    pub fn pinned(&self) -> Option<&'static str> {
        self.pinned
    }

    /// The client has cancelled what it waits for, before a server connection was lent: its request ends with an error.
    /// Returns false if there is nothing to cancel.
    ///
    /// # Errors
    /// [`Refused`]: the client has to be told, and closed.
    pub fn cancelled(&mut self, input: &ReadBuffer, output: &mut WriteBuffer) -> Result<bool, Refused> {
        let Some((tag, length)) = client_header(input.unread())? else { return Ok(false) };
        if matches!(tag, client::SYNC | client::TERMINATE) {
            return Ok(false);
        }
        replies::cancelled(output.tail());
        match tag {
            client::QUERY | client::FUNCTION_CALL => {
                self.skipped = length;
                replies::idle(output.tail());
            }
            _ => self.skipping = true,
        }
        Ok(true)
    }

    /// Passes over what belongs to a request that was cancelled before a server connection was lent.
    ///
    /// # Errors
    /// As [`Relay::cancelled`].
    pub fn pass_over(&mut self, input: &mut ReadBuffer, output: &mut WriteBuffer) -> Result<(), Refused> {
        loop {
            if self.skipped > 0 {
                let n = self.skipped.min(input.unread().len());
                input.consume(n);
                self.skipped -= n;
                if self.skipped > 0 {
                    return Ok(());
                }
            }
            if !self.skipping {
                return Ok(());
            }
            let Some((tag, length)) = client_header(input.unread())? else { return Ok(()) };
            match tag {
                client::TERMINATE => self.skipping = false,
                client::SYNC => {
                    (self.skipping, self.skipped) = (false, length);
                    replies::idle(output.tail());
                }
                _ => self.skipped = length,
            }
        }
    }

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
            if self.gives_way
                && !self.unsynced
                && !self.expected.is_empty()
                && server.status == TransactionStatus::Idle
                && !input.is_empty()
            {
                self.waits_for_replies = true;
                return Ok(Then::Wait);
            }
            let Some((tag, length)) = client_header(input.unread())? else { return Ok(Then::Wait) };
            if self.skipping && !matches!(tag, client::SYNC | client::TERMINATE) {
                self.skipped = length;
                continue;
            }
            self.requests += usize::from(matches!(tag, client::SYNC | client::QUERY));
            match tag {
                client::SYNC => (self.unsynced, self.skipping) = (false, false),
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
                        client::COPY_DONE | client::COPY_FAIL => self.expected.push_back(Expected::CopyEnd),
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
                    self.expected.push_back(if close { Expected::Close(None) } else { Expected::Describe });
                } else if tag == client::CLOSE {
                    let previous = self.names.remove(name);
                    if name.is_empty() {
                        server.prepared.unnamed = None;
                    }
                    self.expected.push_back(Expected::Made(backend::CLOSE_COMPLETE, Some((name.to_vec(), previous))));
                } else {
                    let name = self.on_server(name, server, output);
                    frontend::message(output.tail(), client::DESCRIBE, |out| {
                        out.push(Target::Statement as u8);
                        out.extend_from_slice(&name);
                        out.push(0);
                    });
                    self.expected.push_back(Expected::Describe);
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
            self.names.remove(&gone[..]);
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
        let statement = self.catalog.named(body);
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

    fn send_parse(&self, name: &[u8], body: &[u8], output: &mut WriteBuffer) {
        frontend::message(output.tail(), client::PARSE, |out| {
            out.extend_from_slice(name);
            out.push(0);
            out.extend_from_slice(body);
        });
    }

    /// The statement that a text deallocates, if it is one that was prepared by Parse.
    fn deallocated(&self, sql: &str) -> Option<Vec<u8>> {
        let rest = sql.trim().trim_end_matches(';').trim_end();
        let (word, rest) = rest.split_at_checked(10)?;
        if !word.eq_ignore_ascii_case("deallocate") || !rest.starts_with(char::is_whitespace) {
            return None;
        }
        let rest = rest.trim();
        let name = match rest.split_at_checked(8) {
            Some((word, rest)) if word.eq_ignore_ascii_case("prepare ") => rest.trim(),
            _ => rest,
        };
        let name = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => name.to_ascii_lowercase(),
        };
        self.names.contains_key(name.as_bytes()).then(|| name.into_bytes())
    }

    /// DEALLOCATE of something that exists under this name and nobody needs: the reply and its effect on the transaction
    /// are the server's.
    fn deallocate(&mut self, name: &[u8], output: &mut WriteBuffer) {
        self.placeholder(output);
        self.names.remove(name);
        frontend::query(output.tail(), "", &format!("DEALLOCATE {PREFIX}gone"));
    }

    fn placeholder(&mut self, output: &mut WriteBuffer) {
        self.send_parse(format!("{PREFIX}gone").as_bytes(), b"\0\0\0", output);
        self.expected.push_back(Expected::Parse { statement: None, shown: false, undo: None });
    }

    /// Passes the server's messages on, while there is room to send.
    ///
    /// # Errors
    /// [`Fatal`]: what the server sends is not the protocol.
    pub fn from_server(
        &mut self,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        self.settle(output);
        while output.len() < WRITE_BUFFER_HIGH_BYTES {
            if self.to_client > 0 {
                if !pass(input, output, &mut self.to_client) {
                    return Ok(());
                }
                continue;
            }
            let Some((tag, length)) = header(input.unread())? else { return Ok(()) };
            if matches!(self.expected.front(), Some(Expected::Own)) {
                if input.unread().len() < length {
                    input.want(length);
                    return Ok(());
                }
                self.own_reply(tag, &input.unread()[5..length], server)?;
                input.consume(length);
                self.settle(output);
                continue;
            }
            self.received += length as u64;
            if matches!(tag, backend::DATA_ROW | backend::COPY_DATA | backend::ROW_DESCRIPTION) && !self.awaits(tag) {
                self.to_client = length;
                continue;
            }
            if input.unread().len() < length {
                input.want(length);
                return Ok(());
            }
            let shown = self.reply(tag, &input.unread()[5..length], server)?;
            if shown {
                output.tail().extend_from_slice(&input.unread()[..length]);
            }
            input.consume(length);
            self.settle(output);
        }
        Ok(())
    }

    /// A reply to what the daemon itself has sent.
    fn own_reply(&mut self, tag: u8, body: &[u8], server: &mut ServerState) -> Result<(), Fatal> {
        match tag {
            backend::ERROR_RESPONSE => {
                let error = ServerError::parse(body)?;
                let message = error.field(headrace_postgres::messages::tag::field::MESSAGE);
                return Err(Fatal::peer(format!("the settings of the client were refused: {message}")));
            }
            backend::PARAMETER_STATUS => {
                let (name, value) = parameter_status(body)?;
                server.parameters.insert(name, value);
            }
            backend::READY_FOR_QUERY => {
                self.expected.pop_front();
                server.status = transaction_status(body)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn awaits(&self, tag: u8) -> bool {
        tag == backend::ROW_DESCRIPTION && matches!(self.expected.front(), Some(Expected::Describe))
    }

    /// Notes what a message of the server says; returns true if the client sees it.
    fn reply(&mut self, tag: u8, body: &[u8], server: &mut ServerState) -> Result<bool, Fatal> {
        let front = self.expected.front();
        match tag {
            backend::PARSE_COMPLETE => {
                let Some(Expected::Parse { shown, .. }) = front else { return Err(unexpected(tag)) };
                let shown = *shown;
                self.expected.pop_front();
                return Ok(shown);
            }
            backend::CLOSE_COMPLETE => {
                let Some(Expected::Close(statement)) = front else { return Err(unexpected(tag)) };
                let shown = statement.is_none();
                self.expected.pop_front();
                return Ok(shown);
            }
            backend::BIND_COMPLETE if matches!(front, Some(Expected::Bind(_))) => drop(self.expected.pop_front()),
            backend::ROW_DESCRIPTION | backend::NO_DATA if matches!(front, Some(Expected::Describe)) => {
                self.expected.pop_front();
            }
            backend::COMMAND_COMPLETE | backend::EMPTY_QUERY_RESPONSE | backend::PORTAL_SUSPENDED => {
                if tag == backend::COMMAND_COMPLETE {
                    self.completed(command_complete(body)?, server);
                }
                if matches!(self.expected.front(), Some(Expected::Execute)) {
                    self.expected.pop_front();
                }
            }
            backend::COPY_IN_RESPONSE | backend::COPY_BOTH_RESPONSE if matches!(front, Some(Expected::Execute)) => {
                // A server that copies in ignores Sync up to the end of the data.
                while matches!(self.expected.get(1), Some(Expected::Sync)) {
                    self.expected.remove(1);
                }
            }
            backend::ERROR_RESPONSE => self.failed(body, server)?,
            backend::READY_FOR_QUERY => {
                let Some(Expected::Sync | Expected::Query) = front else { return Err(unexpected(tag)) };
                self.expected.pop_front();
                server.status = transaction_status(body)?;
            }
            backend::PARAMETER_STATUS => {
                let (name, value) = parameter_status(body)?;
                self.parameters.insert(name.clone(), value.clone());
                server.parameters.insert(name, value);
            }
            _ => {}
        }
        Ok(true)
    }

    fn completed(&mut self, tag: &[u8], server: &mut ServerState) {
        if tag == b"DISCARD ALL" || tag == b"DEALLOCATE ALL" {
            server.prepared.clear();
            server.stale.clear();
            self.names.clear();
        }
        if tag == b"DISCARD ALL" {
            self.pinned = None;
        }
    }

    /// In the extended protocol an error makes the server skip everything up to the next Sync: what was to be prepared
    /// there was not.
    fn failed(&mut self, body: &[u8], server: &mut ServerState) -> Result<(), Fatal> {
        let error = ServerError::parse(body)?;
        if self.errors.len() < ERRORS {
            self.errors.push(error.sqlstate().to_owned());
        }
        if let Some(Expected::Bind(Some(statement))) = self.expected.front()
            && error.sqlstate() == "0A000"
            && error.field(headrace_postgres::messages::tag::field::ROUTINE) == "RevalidateCachedQuery"
        {
            self.catalog.forget(statement);
            server.prepared.remove(statement.id());
            server.stale.push(Arc::clone(statement));
        }
        if matches!(self.expected.front(), None | Some(Expected::Query | Expected::Sync)) {
            return Ok(());
        }
        let mut undone = Vec::new();
        while !matches!(self.expected.front(), None | Some(Expected::Sync)) {
            let Some(skipped) = self.expected.pop_front() else { break };
            match skipped {
                Expected::Parse { statement, undo, shown } => {
                    if let Some(statement) = statement {
                        server.prepared.remove(statement.id());
                    } else if shown || undo.is_none() {
                        server.prepared.unnamed = None;
                    }
                    undone.extend(undo);
                }
                Expected::Close(Some(statement)) => server.stale.push(statement),
                Expected::Made(_, undo) => undone.extend(undo),
                _ => {}
            }
        }
        self.skipping = self.expected.is_empty();
        for (name, previous) in undone.into_iter().rev() {
            match previous {
                Some(statement) => drop(self.names.insert(name, statement)),
                None => drop(self.names.remove(&name)),
            }
        }
        Ok(())
    }

    /// Puts in the replies that are due.
    pub fn settle(&mut self, output: &mut WriteBuffer) {
        if self.to_client > 0 {
            return;
        }
        loop {
            match self.expected.front() {
                Some(Expected::Made(tag, _)) => frontend::message(output.tail(), *tag, |_| {}),
                Some(Expected::CopyEnd) => {}
                _ => return,
            }
            self.expected.pop_front();
        }
    }
}

/// Passes bytes of one message on; returns false if more have to be received first.
fn pass(input: &mut ReadBuffer, output: &mut WriteBuffer, left: &mut usize) -> bool {
    let there = input.unread();
    if there.is_empty() {
        return false;
    }
    let n = there.len().min(*left);
    output.tail().extend_from_slice(&there[..n]);
    input.consume(n);
    *left -= n;
    true
}

fn wait(input: &mut ReadBuffer, length: usize) -> Result<Then, Refused> {
    input.want(length.min(WHOLE_MESSAGE));
    Ok(Then::Wait)
}

fn client_header(bytes: &[u8]) -> Result<Option<(u8, usize)>, Refused> {
    let [tag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=headrace_core::limits::MESSAGE_BYTES).contains(&length) {
        return Err(Refused::Malformed(format!("a message has the impossible length {length}")));
    }
    Ok(Some((tag, length + 1)))
}

fn malformed(message: &str) -> Refused {
    Refused::Malformed(format!("a {message} message is too short"))
}

fn unexpected(tag: u8) -> Fatal {
    let name = backend::name(tag).unwrap_or("unknown message");
    Fatal::peer(format!("the server sent a {name} that was not asked for"))
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
