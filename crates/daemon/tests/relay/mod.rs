//! What becomes of the messages between clients and servers, whole and cut into pieces.

mod declared;
mod described;
mod groups;
mod hostile;
mod passing;
mod plans;
mod settings;
mod statements;

use headrace_core::{ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_daemon::postgres::relay::{Refused, Relay, RelayStep, ServerState};
use headrace_daemon::postgres::statements::Catalog;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{StatementOrPortal, backend, frontend as client};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One client, and the session that is lent to it.
pub struct Pair {
    pub relay: Relay,
    pub server: ServerState,
    pub from_client: ReadBuffer,
    pub from_server: ReadBuffer,
    pub to_server: WriteBuffer,
    pub to_client: WriteBuffer,
    /// The server finds that statements fit which others have prepared, whenever it is asked.
    pub finds_all_fitting: bool,
}

impl Pair {
    pub fn new(catalog: &Arc<Catalog>) -> Self {
        Self {
            relay: Relay::new(Arc::clone(catalog), BTreeMap::new()),
            server: ServerState::new(BTreeMap::from([("TimeZone".into(), "UTC".into())]), 2),
            from_client: ReadBuffer::new(),
            from_server: ReadBuffer::new(),
            to_server: WriteBuffer::new(),
            to_client: WriteBuffer::new(),
            finds_all_fitting: true,
        }
    }

    /// The same of a client whose startup replies had this time zone, on a session whose own is UTC.
    pub fn in_zone(zone: &str) -> Self {
        let parameters = BTreeMap::from([("TimeZone".into(), zone.into())]);
        Self { relay: Relay::new(Arc::default(), parameters), ..Self::new(&Arc::default()) }
    }

    pub fn client(&mut self, bytes: &[u8]) -> Result<RelayStep, Refused> {
        self.from_client.extend(bytes);
        loop {
            let then = self.relay.from_client(&mut self.from_client, &mut self.server, &mut self.to_server)?;
            let in_flight = self.relay.in_flight();
            self.relay.settle(&self.server, &mut self.to_client);
            if self.finds_all_fitting && self.relay.is_waiting_for_replies() && self.has_asked() {
                self.server(&replies(b"ZI"));
                continue;
            }
            if !self.relay.is_waiting_for_replies() || self.relay.in_flight() == in_flight {
                return Ok(then);
            }
        }
    }

    /// Returns true if the last that was sent is the question whether a statement fits. It is not shown then.
    fn has_asked(&mut self) -> bool {
        let mut sent = self.to_server.take();
        let asked = texts(&sent).ends_with(&["D".into(), "S".into()]);
        if asked {
            let at = sent.windows(1).rposition(|tag| tag == [client::DESCRIBE]).expect("it is one of the tags");
            sent.truncate(at);
        }
        self.to_server.tail().extend(sent);
        asked
    }

    /// The server answers, and what the client has sent goes on.
    pub fn answer(&mut self, bytes: &[u8]) {
        self.server(bytes);
        assert_eq!(self.client(b""), Ok(RelayStep::Wait));
    }

    pub fn server(&mut self, bytes: &[u8]) {
        self.from_server.extend(bytes);
        let done = self.relay.from_server(&mut self.from_server, &mut self.server, &mut self.to_client);
        done.expect("the server keeps to the protocol");
    }

    pub fn sent(&mut self) -> Vec<u8> {
        self.to_server.take()
    }

    pub fn told(&mut self) -> Vec<u8> {
        self.to_client.take()
    }
}

/// The messages of a client, one after the other.
#[derive(Default)]
pub struct Say(pub Vec<u8>);

impl Say {
    pub fn parse(mut self, name: &str, sql: &str) -> Self {
        frontend::parse(&mut self.0, name, sql, &[]);
        self
    }
    pub fn bind(mut self, statement: &str) -> Self {
        frontend::bind_empty(&mut self.0, "", statement);
        self
    }
    pub fn bind_portal(mut self, portal: &str, statement: &str) -> Self {
        frontend::bind_empty(&mut self.0, portal, statement);
        self
    }
    pub fn describe_portal(mut self, portal: &str) -> Self {
        frontend::describe(&mut self.0, StatementOrPortal::Portal, portal);
        self
    }
    pub fn close_portal(mut self, portal: &str) -> Self {
        frontend::close(&mut self.0, StatementOrPortal::Portal, portal);
        self
    }
    pub fn describe(mut self, statement: &str) -> Self {
        frontend::describe(&mut self.0, StatementOrPortal::Statement, statement);
        self
    }
    pub fn close(mut self, statement: &str) -> Self {
        frontend::close(&mut self.0, StatementOrPortal::Statement, statement);
        self
    }
    pub fn execute(mut self) -> Self {
        frontend::execute(&mut self.0, "", 0);
        self
    }
    pub fn sync(mut self) -> Self {
        frontend::sync(&mut self.0);
        self
    }
    pub fn flush(mut self) -> Self {
        frontend::flush(&mut self.0);
        self
    }
    pub fn query(mut self, sql: &str) -> Self {
        frontend::query(&mut self.0, "", sql);
        self
    }
    pub fn copy(mut self, data: &[u8]) -> Self {
        frontend::copy_data(&mut self.0, data);
        frontend::copy_done(&mut self.0);
        self
    }
}

pub fn say() -> Say {
    Say::default()
}

/// Messages of a server by their tags; `E` is an error, and `Z` is followed by the status.
pub fn replies(tags: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut tags = tags.iter();
    while let Some(tag) = tags.next() {
        frontend::message(&mut out, *tag, |out| match *tag {
            backend::READY_FOR_QUERY => out.push(*tags.next().expect("a status")),
            backend::ERROR_RESPONSE => out.extend_from_slice(b"SERROR\0C42000\0Mno\0\0"),
            backend::COMMAND_COMPLETE => out.extend_from_slice(b"SELECT 1\0"),
            _ => {}
        });
    }
    out
}

/// Both sides in pieces of every size give what they give as a whole.
pub fn converse(rounds: &[(Say, &[u8], &[u8])], sent: &[Say]) {
    let long = rounds.iter().map(|(said, replied, _)| said.0.len().max(replies(replied).len())).max().unwrap_or(1);
    for piece in 1..=long {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        for ((said, replied, told), sent) in rounds.iter().zip(sent) {
            for bytes in said.0.chunks(piece) {
                assert_eq!(pair.client(bytes), Ok(RelayStep::Wait));
            }
            assert_eq!(without_numbers(&pair.sent()), without_numbers(&sent.0), "pieces of {piece}");
            for bytes in replies(replied).chunks(piece) {
                pair.server(bytes);
            }
            assert_eq!(pair.told(), replies(told), "pieces of {piece}");
        }
        assert!(pair.relay.owes_nothing());
    }
}

/// Messages by their tags and bodies. The numbers of the daemon's statements are counted over all tests: they become
/// the place of their first use.
pub fn without_numbers(mut bytes: &[u8]) -> String {
    let mut text = String::new();
    while let [tag, a, b, c, d, rest @ ..] = bytes {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        text.push(char::from(*tag));
        text.extend(rest[..length].iter().map(|byte| char::from(*byte)));
        bytes = &rest[length..];
    }
    let mut known: Vec<String> = Vec::new();
    let mut parts = text.split("headraced_");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let number = part[..end].to_owned();
        let at = known.iter().position(|other| *other == number).unwrap_or_else(|| {
            known.push(number);
            known.len() - 1
        });
        out.push_str(&format!("<{at}>{}", &part[end..]));
    }
    out
}

/// A reply to a Query, with this tag of CommandComplete and this status afterwards.
pub fn completed(tag: &str, status: u8) -> Vec<u8> {
    let mut out = Vec::new();
    frontend::message(&mut out, backend::COMMAND_COMPLETE, |out| {
        out.extend_from_slice(tag.as_bytes());
        out.push(0);
    });
    out.extend(replies(&[backend::READY_FOR_QUERY, status]));
    out
}

/// Returns true if the server parses the text for this client alone, not in place of what it has parsed for others.
pub fn is_parsed(pair: &mut Pair, name: &str) -> bool {
    assert_eq!(pair.client(&say().parse(name, "select * from t").sync().0), Ok(RelayStep::Wait));
    let sent = pair.sent();
    let status = if pair.server.status == TransactionStatus::Idle { b'I' } else { b'T' };
    let (mut closed, mut parsed, mut at) = (Vec::new(), false, 0);
    while at < sent.len() {
        let length = u32::from_be_bytes(sent[at + 1..at + 5].try_into().expect("four bytes")) as usize;
        let body = &sent[at + 5..at + 1 + length];
        let name = |from: usize| body[from..].split(|byte| *byte == 0).next().unwrap_or_default();
        pair.server(&match sent[at] {
            client::PARSE => {
                parsed |= !closed.contains(&name(0));
                replies(&[backend::PARSE_COMPLETE])
            }
            client::CLOSE => {
                closed.push(name(1));
                replies(&[backend::CLOSE_COMPLETE])
            }
            client::DESCRIBE => replies(b"tn"),
            client::BIND => replies(b"2"),
            client::EXECUTE => replies(b"C"),
            _ => replies(&[backend::READY_FOR_QUERY, status]),
        });
        at += 1 + length;
    }
    pair.told();
    parsed
}

/// The text of each Query, and the tags of other messages.
pub fn texts(bytes: &[u8]) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let length = u32::from_be_bytes(bytes[at + 1..at + 5].try_into().expect("four bytes")) as usize;
        let body = &bytes[at + 5..at + 1 + length];
        let text = body.split(|byte| *byte == 0).nth(usize::from(bytes[at] == client::PARSE)).unwrap_or_default();
        found.push(match bytes[at] {
            client::QUERY | client::PARSE => String::from_utf8_lossy(text).into_owned(),
            tag => char::from(tag).to_string(),
        });
        at += 1 + length;
    }
    found
}

/// ErrorResponse.
pub fn error(sqlstate: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = format!("SERROR\0VERROR\0C{sqlstate}\0M{text}\0\0");
    frontend::message(&mut out, backend::ERROR_RESPONSE, |out| out.extend_from_slice(fields.as_bytes()));
    out
}

/// A client with a statement that is called `n1`, and the name that it has on the server.
pub fn with_statement() -> (Pair, String) {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().parse("n1", "select 1").sync().0), Ok(RelayStep::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.told();
    let sent = pair.sent();
    let name = sent[5..].split(|byte| *byte == 0).next().unwrap_or_default();
    (pair, String::from_utf8_lossy(name).into_owned())
}

/// A description of one column of this type, in this format.
pub fn columns(oid: u8, format: u8) -> Vec<u8> {
    let mut out = Vec::new();
    frontend::message(&mut out, backend::ROW_DESCRIPTION, |out| {
        out.extend_from_slice(&[0, 1, b'a', 0, 0, 0, 64, 1, 0, 1, 0, 0, 0, oid, 0, 4, 255, 255, 255, 255, 0, format]);
    });
    out
}

/// The same of a statement.
pub fn description(oid: u8) -> Vec<u8> {
    [replies(b"t"), columns(oid, 0)].concat()
}

pub const TEXT: &str = "select a from t";
