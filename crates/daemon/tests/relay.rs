//! What becomes of the messages between clients and servers, whole and cut into pieces.

use headrace_core::{ReadBuffer, TransactionStatus, WriteBuffer};
use headrace_daemon::postgres::relay::{Refused, Relay, ServerState, Then};
use headrace_daemon::postgres::statements::Catalog;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{Target, backend, frontend as client};
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
        }
    }

    /// The same of a client that was welcomed with this time zone, on a session whose own is UTC.
    pub fn in_zone(zone: &str) -> Self {
        let parameters = BTreeMap::from([("TimeZone".into(), zone.into())]);
        Self { relay: Relay::new(Arc::default(), parameters), ..Self::new(&Arc::default()) }
    }

    pub fn client(&mut self, bytes: &[u8]) -> Result<Then, Refused> {
        self.from_client.extend(bytes);
        loop {
            let then = self.relay.from_client(&mut self.from_client, &mut self.server, &mut self.to_server)?;
            let in_flight = self.relay.in_flight();
            self.relay.settle(&self.server, &mut self.to_client);
            if !self.relay.is_waiting_for_replies() || self.relay.in_flight() == in_flight {
                return Ok(then);
            }
        }
    }

    /// The server answers, and what the client has sent goes on.
    pub fn answer(&mut self, bytes: &[u8]) {
        self.server(bytes);
        assert_eq!(self.client(b""), Ok(Then::Wait));
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
        frontend::describe(&mut self.0, Target::Portal, portal);
        self
    }
    pub fn close_portal(mut self, portal: &str) -> Self {
        frontend::close(&mut self.0, Target::Portal, portal);
        self
    }
    pub fn describe(mut self, statement: &str) -> Self {
        frontend::describe(&mut self.0, Target::Statement, statement);
        self
    }
    pub fn close(mut self, statement: &str) -> Self {
        frontend::close(&mut self.0, Target::Statement, statement);
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
fn converse(rounds: &[(Say, &[u8], &[u8])], sent: &[Say]) {
    let long = rounds.iter().map(|(said, replied, _)| said.0.len().max(replies(replied).len())).max().unwrap_or(1);
    for piece in 1..=long {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        for ((said, replied, told), sent) in rounds.iter().zip(sent) {
            for bytes in said.0.chunks(piece) {
                assert_eq!(pair.client(bytes), Ok(Then::Wait));
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
fn without_numbers(mut bytes: &[u8]) -> String {
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

#[test]
fn rows_pass_as_they_are() {
    converse(&[(say().query("select 1"), b"TDDCZI", b"TDDCZI")], &[say().query("select 1")]);
}

#[test]
fn statement_has_its_own_name_on_the_server_and_is_prepared_once() {
    let once = || say().parse("a", "select 1").describe("a").bind("a").execute().sync();
    let named = || say().parse("headraced_1", "select 1").describe("headraced_1").bind("headraced_1").execute().sync();
    let rounds = [(once(), &b"1tT2DCZI"[..], &b"1tT2DCZI"[..]), (say().bind("a").execute().sync(), b"2DCZI", b"2DCZI")];
    converse(&rounds, &[named(), say().bind("headraced_1").execute().sync()]);
}

#[test]
fn parse_of_a_known_text_is_answered_here_in_its_place() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").sync().0), Ok(Then::Wait));
    pair.server(&replies(b"1ZI"));
    pair.sent();
    pair.told();
    // Another client, on the same session.
    let mut other = Pair::new(&catalog);
    std::mem::swap(&mut other.server, &mut pair.server);
    let said = say().query("select 2").parse("b", "select 1").bind("b").execute().close("b").sync();
    assert_eq!(other.client(&said.0), Ok(Then::Wait));
    assert_eq!(other.relay.counters.spared, 1);
    other.server(&replies(b"TCZI"));
    // Its ParseComplete is sent together with what comes next.
    assert_eq!(other.told(), replies(b"TCZI"));
    other.server(&replies(b"2DCZI"));
    assert_eq!(other.told(), replies(b"12DC3ZI"));
    assert!(other.relay.is_settled(&other.server));
}

#[test]
fn client_that_sends_flush_does_not_wait_for_more_than_it_has_asked_for() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").sync().0), Ok(Then::Wait));
    pair.server(&replies(b"1ZI"));
    pair.sent();
    pair.told();
    // It reads ParseComplete, and sends Sync only then.
    assert_eq!(pair.client(&say().parse("b", "select 1").flush().bind("b").0), Ok(Then::Wait));
    assert_eq!(pair.told(), replies(b"1"));
    assert_eq!(without_numbers(&pair.sent()), without_numbers(&say().bind("headraced_1").0));
    assert_eq!(pair.client(&say().execute().sync().0), Ok(Then::Wait));
    pair.server(&replies(b"2DCZI"));
    assert_eq!(pair.told(), replies(b"2DCZI"));
    assert!(pair.relay.is_settled(&pair.server));
}

#[test]
fn statement_that_was_described_on_a_session_is_described_here() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    let described = |sync: bool| {
        let said = say().parse("a", "select 1").describe("a");
        if sync { said.sync() } else { said.flush() }
    };
    assert_eq!(pair.client(&described(true).0), Ok(Then::Wait));
    pair.server(&replies(b"1tTZI"));
    assert_eq!(pair.told(), replies(b"1tTZI"));
    pair.sent();
    // Others on the same session have the server only execute.
    for sync in [true, false] {
        let mut other = Pair::new(&catalog);
        std::mem::swap(&mut other.server, &mut pair.server);
        assert_eq!(other.client(&described(sync).0), Ok(Then::Wait));
        assert_eq!(other.told(), replies(if sync { b"1tTZI" } else { b"1tT" }));
        assert_eq!(other.sent(), b"");
        assert_eq!(other.relay.is_settled(&other.server), sync);
        assert_eq!(other.client(&say().bind("a").execute().sync().0), Ok(Then::Wait));
        assert_eq!(without_numbers(&other.sent()), without_numbers(&say().bind("headraced_1").execute().sync().0));
        other.server(&replies(b"2DCZI"));
        assert_eq!(other.told(), replies(b"2DCZI"));
        std::mem::swap(&mut other.server, &mut pair.server);
    }
    // A session that has not described it is asked.
    let mut other = Pair::new(&catalog);
    assert_eq!(other.client(&described(true).0), Ok(Then::Wait));
    let sent = say().parse("headraced_1", "select 1").describe("headraced_1").sync();
    assert_eq!(without_numbers(&other.sent()), without_numbers(&sent.0));
}

#[test]
fn changed_table_makes_the_server_describe_again() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    let described = || say().parse("a", "select * from t").describe("a").sync();
    assert_eq!(pair.client(&described().0), Ok(Then::Wait));
    pair.server(&replies(b"1tTZI"));
    assert_eq!(pair.client(&say().query("alter table t add b int").0), Ok(Then::Wait));
    let mut altered = Vec::new();
    frontend::message(&mut altered, backend::COMMAND_COMPLETE, |out| out.extend_from_slice(b"ALTER TABLE\0"));
    altered.extend(replies(b"ZI"));
    pair.server(&altered);
    pair.sent();
    let mut other = Pair::new(&catalog);
    std::mem::swap(&mut other.server, &mut pair.server);
    assert_eq!(other.client(&described().0), Ok(Then::Wait));
    let sent = say().parse("headraced_1", "select * from t").describe("headraced_1").sync();
    assert_eq!(without_numbers(&other.sent()), without_numbers(&sent.0));
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

/// Returns true if the server parses the text again for this client.
pub fn is_parsed(pair: &mut Pair, name: &str) -> bool {
    assert_eq!(pair.client(&say().parse(name, "select * from t").sync().0), Ok(Then::Wait));
    let sent = pair.sent();
    let status = if pair.server.status == TransactionStatus::Idle { b'I' } else { b'T' };
    let (mut tags, mut at) = (Vec::new(), 0);
    while at < sent.len() {
        tags.push(sent[at]);
        at += 1 + u32::from_be_bytes(sent[at + 1..at + 5].try_into().expect("four bytes")) as usize;
    }
    for tag in &tags {
        pair.server(&match *tag {
            client::PARSE => replies(&[backend::PARSE_COMPLETE]),
            client::CLOSE => replies(&[backend::CLOSE_COMPLETE]),
            _ => replies(&[backend::READY_FOR_QUERY, status]),
        });
    }
    pair.told();
    tags.contains(&client::PARSE)
}

#[test]
fn changed_schema_has_texts_parsed_again() {
    for tag in ["ALTER TABLE", "DROP TABLE", "CREATE VIEW", "DO"] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        let says = |pair: &mut Pair, sql: &str, tag: &str, status: u8| {
            assert_eq!(pair.client(&say().query(sql).0), Ok(Then::Wait));
            pair.server(&completed(tag, status));
            pair.sent();
        };
        assert!(is_parsed(&mut pair, "a"));
        assert!(!is_parsed(&mut pair, "b"));
        says(&mut pair, "begin", "BEGIN", b'T');
        assert!(!is_parsed(&mut pair, "c"));
        says(&mut pair, "...", tag, b'T');
        assert!(is_parsed(&mut pair, "d"), "{tag}");
        assert!(!is_parsed(&mut pair, "e"));
        says(&mut pair, "rollback", "ROLLBACK", b'I');
        assert!(is_parsed(&mut pair, "f"), "what was changed is as before {tag}");
        assert!(!is_parsed(&mut pair, "g"));
        says(&mut pair, "commit", "COMMIT", b'I');
        assert!(!is_parsed(&mut pair, "h"));
    }
}

#[test]
fn temporary_table_has_texts_parsed_again_for_its_own_client_only() {
    let catalog = Arc::new(Catalog::default());
    let (mut pair, mut other) = (Pair::new(&catalog), Pair::new(&catalog));
    assert!(is_parsed(&mut pair, "a"));
    assert!(is_parsed(&mut other, "a"));
    assert_eq!(pair.client(&say().query("create temp table t (a int)").0), Ok(Then::Wait));
    pair.server(&completed("CREATE TABLE", b'I'));
    pair.sent();
    assert!(!is_parsed(&mut other, "b"));
    assert!(is_parsed(&mut pair, "b"));
}

#[test]
fn sync_after_something_that_was_passed_on_is_passed_on() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").bind("a").execute().flush().0), Ok(Then::Wait));
    pair.server(&replies(b"12DC"));
    pair.sent();
    // The transaction of what was executed ends with it.
    assert_eq!(pair.client(&say().close("a").sync().0), Ok(Then::Wait));
    assert_eq!(pair.sent(), say().sync().0);
    pair.server(&replies(b"ZI"));
    assert_eq!(pair.told(), replies(b"12DC3ZI"));
}

#[test]
fn statement_that_the_session_lacks_is_prepared_before_it_is_used() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").sync().0), Ok(Then::Wait));
    pair.server(&replies(b"1ZI"));
    pair.sent();
    pair.told();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(Then::Wait));
    let expected = say().parse("headraced_1", "select 1").bind("headraced_1").execute().sync();
    assert_eq!(without_numbers(&pair.sent()), without_numbers(&expected.0));
    pair.server(&replies(b"12DCZI"));
    assert_eq!(pair.told(), replies(b"2DCZI"));
}

#[test]
fn session_keeps_so_many_statements_and_closes_the_one_used_least() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    for (n, told) in [b"1ZI", b"1ZI"].into_iter().enumerate() {
        assert_eq!(pair.client(&say().parse(&format!("s{n}"), &format!("select {n}")).sync().0), Ok(Then::Wait));
        pair.server(&replies(told));
    }
    pair.sent();
    pair.told();
    assert_eq!(pair.client(&say().bind("s0").execute().parse("s2", "select 2").sync().0), Ok(Then::Wait));
    let sent = without_numbers(&pair.sent());
    assert!(sent.contains("CS<1>"), "{sent}");
    pair.server(&replies(b"2C31ZI"));
    assert_eq!(pair.told(), replies(b"2C1ZI"));
    assert_eq!(pair.server.prepared.len(), 2);
}

#[test]
fn statement_that_its_client_has_closed_is_parsed_again_and_then_shared() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    let prepare = || say().parse("a", "select 1").sync().0;
    for (said, replied, told) in
        [(prepare(), &b"1ZI"[..], &b"1ZI"[..]), (say().close("a").sync().0, b"", b"3ZI"), (prepare(), b"1ZI", b"1ZI")]
    {
        assert_eq!(pair.client(&said), Ok(Then::Wait));
        pair.server(&replies(replied));
        assert_eq!(pair.told(), replies(told));
    }
    assert_eq!(pair.relay.counters.prepared, 2);
    let mut other = Pair::new(&catalog);
    std::mem::swap(&mut other.server, &mut pair.server);
    assert_eq!(other.client(&prepare()), Ok(Then::Wait));
    assert_eq!(other.told(), replies(b"1ZI"));
}

#[test]
fn error_undoes_what_the_server_skips() {
    let rounds = [
        (say().parse("a", "wrong").bind("a").execute().sync(), &b"EZI"[..], &b"EZI"[..]),
        (say().parse("a", "select 1").bind("a").execute().sync(), b"12DCZI", b"12DCZI"),
        (say().bind("a").execute().parse("b", "select 2").sync(), b"2EZI", b"2EZI"),
        (say().parse("b", "select 2").bind("b").execute().sync(), b"12DCZI", b"12DCZI"),
    ];
    let sent = [
        say().parse("headraced_1", "wrong").bind("headraced_1").execute().sync(),
        say().parse("headraced_2", "select 1").bind("headraced_2").execute().sync(),
        say().bind("headraced_2").execute().parse("headraced_3", "select 2").sync(),
        say().parse("headraced_3", "select 2").bind("headraced_3").execute().sync(),
    ];
    converse(&rounds, &sent);
}

#[test]
fn what_comes_between_an_error_and_sync_goes_nowhere() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().parse("a", "wrong").0), Ok(Then::Wait));
    pair.server(&replies(b"E"));
    pair.sent();
    assert_eq!(pair.client(&say().bind("a").execute().query("select 1").0), Ok(Then::Wait));
    assert_eq!(pair.sent(), b"");
    assert!(!pair.relay.owes_nothing());
    assert_eq!(pair.client(&say().sync().0), Ok(Then::Wait));
    assert_eq!(pair.sent(), say().sync().0);
    pair.server(&replies(b"ZI"));
    assert!(pair.relay.is_settled(&pair.server));
}

#[test]
fn sync_during_copy_in_has_no_answer() {
    let begin = || say().parse("", "copy t from stdin").bind("").execute().sync();
    let rounds = [(begin(), &b"12G"[..], &b"12G"[..]), (say().copy(b"1\n").sync(), b"CZI", b"CZI")];
    converse(&rounds, &[begin(), say().copy(b"1\n").sync()]);
    // Everything at once.
    let all = || say().parse("", "copy t from stdin").bind("").execute().copy(b"1\n").sync();
    converse(&[(all(), b"12GCZI", b"12GCZI")], &[all()]);
}

#[test]
fn copy_in_of_the_extended_protocol_keeps_its_session_up_to_the_last_sync() {
    let begin = || say().parse("", "copy t from stdin").bind("").execute();
    for (end, reply) in [(say().copy(b"1\n"), &b"C"[..]), (say(), b"E")] {
        // The first Sync comes before the server has answered, or after.
        for early in [true, false] {
            let mut pair = Pair::new(&Arc::new(Catalog::default()));
            let first = if early { begin().sync() } else { begin() };
            assert_eq!(pair.client(&first.0), Ok(Then::Wait));
            pair.server(&replies(b"12G"));
            if !early {
                pair.sent();
                assert_eq!(pair.client(&say().sync().0), Ok(Then::Wait));
                assert_eq!(pair.sent(), b"", "the server would ignore it");
            }
            assert_eq!(pair.client(&end.0), Ok(Then::Wait));
            pair.server(&replies(reply));
            assert!(!pair.relay.is_settled(&pair.server), "the server waits for Sync");
            pair.sent();
            assert_eq!(pair.client(&say().sync().0), Ok(Then::Wait));
            assert_eq!(pair.sent(), say().sync().0);
            pair.server(&replies(b"ZI"));
            assert!(pair.relay.is_settled(&pair.server));
        }
    }
}

#[test]
fn data_of_a_copy_is_passed_on_while_others_wait_for_their_turn() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    pair.relay.gives_way = true;
    assert_eq!(pair.client(&say().query("copy t from stdin").0), Ok(Then::Wait));
    pair.server(&replies(b"G"));
    pair.sent();
    assert_eq!(pair.client(&say().copy(b"1\n").query("select 1").0), Ok(Then::Wait));
    assert_eq!(pair.sent(), say().copy(b"1\n").0);
    assert!(pair.relay.is_waiting_for_replies());
}

#[test]
fn value_of_a_function_is_passed_on_as_it_comes() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    let (mut asked, mut replied) = (Vec::new(), Vec::new());
    frontend::message(&mut asked, client::FUNCTION_CALL, |out| out.extend_from_slice(&954_u32.to_be_bytes()));
    frontend::message(&mut replied, backend::FUNCTION_CALL_RESPONSE, |out| out.extend_from_slice(&[0; 100]));
    assert_eq!(pair.client(&asked), Ok(Then::Wait));
    assert_eq!(pair.sent(), asked);
    for piece in replied.chunks(40) {
        pair.server(piece);
        assert_eq!(pair.told(), piece);
    }
    pair.server(&replies(b"ZI"));
    assert!(pair.relay.is_settled(&pair.server), "loread() leaves nothing");
}

#[test]
fn session_is_settled_when_nothing_is_owed_and_no_transaction_is_open() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    for (said, replied, settled) in [
        (say().query("begin"), &b"CZT"[..], false),
        (say().query("select 1"), b"TDCZT", false),
        (say().query("wrong"), b"EZE", false),
        (say().query("rollback"), b"CZI", true),
        (say().parse("", "select 1"), b"1", false),
        (say().sync(), b"ZI", true),
        (say().query("set timezone to 'UTC'"), b"CZI", true),
        (say().query("listen a"), b"CZI", false),
    ] {
        assert_eq!(pair.client(&said.0), Ok(Then::Wait));
        pair.server(&replies(replied));
        assert_eq!(pair.relay.is_settled(&pair.server), settled, "{:?}", String::from_utf8_lossy(&said.0));
    }
    assert_eq!(pair.relay.pinned(), Some("LISTEN"));
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

/// An error of a session that ends.
fn fatal() -> Vec<u8> {
    let mut out = Vec::new();
    let fields = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0";
    frontend::message(&mut out, backend::ERROR_RESPONSE, |out| out.extend_from_slice(fields));
    out
}

#[test]
fn replies_made_here_do_not_wait_for_what_waits_for_them() {
    for known in [say().describe("n2").sync(), say().close("n2").sync(), say().parse("n3", "select 1").sync()] {
        for text in ["reset timezone", "discard temp", "deallocate all", "set timezone to default"] {
            let mut pair = Pair::new(&Arc::new(Catalog::default()));
            assert_eq!(pair.client(&say().parse("n2", "select 1").describe("n2").sync().0), Ok(Then::Wait));
            pair.answer(&replies(b"1tTZI"));
            pair.sent();
            pair.told();
            let said = [known.0.clone(), say().parse("n1", text).bind("n1").execute().sync().0].concat();
            assert_eq!(pair.client(&said), Ok(Then::Wait));
            assert_eq!(pair.told().last(), Some(&b'I'), "ReadyForQuery of the first group");
            let sent = texts(&pair.sent());
            assert_eq!(sent[sent.len() - 3..], ["B", "E", "H"], "{text}");
        }
    }
}

#[test]
fn text_under_a_taken_name_does_not_become_a_shared_statement() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("n1", "select 1").sync().0), Ok(Then::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.sent();
    // Another session, which has not prepared it. The hidden Parse is skipped with its group.
    pair.server = ServerState::new(BTreeMap::new(), 2);
    let said = say().describe("nosuch").bind("n1").execute().sync().parse("n1", "select 2").sync();
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["D", "select 1", "B", "E", "S"]);
    pair.answer(&replies(b"EZI"));
    assert_eq!(texts(&pair.sent()), ["select 1", "select 2", "S"], "the name is taken on the server before");
    pair.answer(&replies(b"1EZI"));
    assert!(pair.relay.is_settled(&pair.server));
}

/// ErrorResponse.
fn error(sqlstate: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = format!("SERROR\0VERROR\0C{sqlstate}\0M{text}\0\0");
    frontend::message(&mut out, backend::ERROR_RESPONSE, |out| out.extend_from_slice(fields.as_bytes()));
    out
}

/// A client with a statement that is called `n1`, and the name that it has on the server.
fn with_statement() -> (Pair, String) {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().parse("n1", "select 1").sync().0), Ok(Then::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.told();
    let sent = pair.sent();
    let name = sent[5..].split(|byte| *byte == 0).next().unwrap_or_default();
    (pair, String::from_utf8_lossy(name).into_owned())
}

#[test]
fn errors_have_the_names_of_the_client() {
    for said in [say().parse("n1", "select 2").sync(), say().bind("n1").sync()] {
        let (mut pair, name) = with_statement();
        assert_eq!(pair.client(&said.0), Ok(Then::Wait));
        pair.answer(&[error("42P05", &format!("statement \"{name}\" is the culprit")), replies(b"ZI")].concat());
        assert_eq!(pair.told(), [error("42P05", "statement \"n1\" is the culprit"), replies(b"ZI")].concat());
        pair.sent();
        assert_eq!(pair.client(&say().bind("n1").sync().0), Ok(Then::Wait));
        assert_eq!(texts(&pair.sent()), ["B", "S"], "it is what it was");
    }
}

#[test]
fn statement_of_others_is_not_deallocated() {
    let (mut pair, name) = with_statement();
    pair.sent();
    let sql = format!("deallocate {name}");
    let said = say().query(&sql).parse("", &sql).bind("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    let foreign = format!("DEALLOCATE \"{}\"", name.replace('_', "_?"));
    assert_eq!(texts(&pair.sent()).concat(), foreign);
    pair.answer(&[error("26000", "no such statement"), replies(b"ZI")].concat());
    assert_eq!(texts(&pair.sent())[0], foreign);
}

#[test]
fn description_that_comes_after_another_parse_was_sent_is_not_that_of_the_server() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().parse("a", TEXT).sync().0), Ok(Then::Wait));
    pair.answer(&replies(b"1ZI"));
    pair.sent();
    // The session has room for two statements, so the first is closed and prepared again.
    let said = say().describe("a").parse("b", "select 2").parse("c", "select 3").bind("a").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["D", "select 2", "C", "select 3", "C", TEXT, "B", "E", "S"]);
    pair.answer(&[description(23), replies(b"131312DCZI")].concat());
    assert_eq!(pair.client(&say().describe("a").sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["D", "S"], "the server is asked for it");
}

#[test]
fn statement_that_a_function_has_deallocated_is_prepared_again() {
    let (mut pair, _) = with_statement();
    assert_eq!(pair.client(&say().bind("n1").execute().sync().0), Ok(Then::Wait));
    pair.answer(&[error("26000", "prepared statement does not exist"), replies(b"ZI")].concat());
    pair.sent();
    assert_eq!(pair.client(&say().bind("n1").execute().sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["select 1", "B", "E", "S"]);
}

#[test]
fn name_whose_statement_a_function_has_deallocated_is_free() {
    let (mut pair, _) = with_statement();
    assert_eq!(pair.client(&say().parse("n1", "select 2").sync().bind("n1").sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["select 2", "S"]);
    pair.answer(&replies(b"1ZI"));
    assert_eq!(pair.told(), replies(b"1ZI"));
    assert_eq!(texts(&pair.sent()), ["C", "select 2", "B", "S"], "under a name that is nobody else's");
}

#[test]
fn end_of_a_session_that_owes_nothing_is_no_reply() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().query("select 1").0), Ok(Then::Wait));
    pair.server(&[replies(b"TDCZI"), fatal()].concat());
    assert_eq!(pair.told(), replies(b"TDCZI"));
    assert!(pair.relay.is_settled(&pair.server) && !pair.relay.has_sent_fatal_error());
    assert!(!pair.server.can_be_lent_again());
    // In a transaction the client has lost something.
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().query("begin").0), Ok(Then::Wait));
    pair.server(&[replies(b"CZT"), fatal()].concat());
    assert_eq!(pair.told(), [replies(b"CZT"), fatal()].concat());
    assert!(pair.relay.has_sent_fatal_error());
}

#[test]
fn client_with_a_session_of_its_own_is_told_why_it_ends() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    pair.relay.keeps_server = true;
    assert_eq!(pair.client(&say().query("select 1").0), Ok(Then::Wait));
    pair.server(&[replies(b"TDCZI"), fatal()].concat());
    assert_eq!(pair.told(), [replies(b"TDCZI"), fatal()].concat());
    assert!(pair.relay.has_sent_fatal_error());
}

#[test]
fn settings_that_are_set_back_in_a_script_are_what_the_client_began_with() {
    for (sql, sent, shown) in [
        ("reset all", "reset all\n;SET SESSION TimeZone TO E'Asia/Tokyo'", &b"CZI"[..]),
        (
            "set timezone to default; set timezone to 'x' -- y",
            "set timezone to default\n;SET SESSION TimeZone TO E'Asia/Tokyo'; set timezone to 'x' -- y",
            b"CCZI",
        ),
        (
            "begin; set local time zone default",
            "begin; set local time zone default\n;SET LOCAL TimeZone TO E'Asia/Tokyo'",
            b"CCZT",
        ),
    ] {
        let mut pair = Pair::in_zone("Asia/Tokyo");
        assert_eq!(pair.client(&say().query(sql).0), Ok(Then::Wait));
        assert_eq!(texts(&pair.sent()), [sent]);
        let status = shown.last().copied().expect("a status");
        let all: Vec<u8> = sent.split(';').map(|_| b'C').chain([b'Z', status]).collect();
        pair.answer(&replies(&all));
        assert_eq!(pair.told(), replies(shown), "{sql}");
    }
    // The session's own is the client's.
    let mut pair = Pair::in_zone("UTC");
    assert_eq!(pair.client(&say().query("reset all; select 1").0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["reset all; select 1"]);
}

#[test]
fn script_that_sets_settings_back_too_often_is_passed_on_and_keeps_its_session() {
    let most = headrace_daemon::limits::RESETS;
    for (count, keeps) in [(most, false), (most + 1, true)] {
        let mut pair = Pair::in_zone("Asia/Tokyo");
        let script = "reset all;".repeat(count);
        assert_eq!(pair.client(&say().query(&script).0), Ok(Then::Wait));
        assert_eq!(texts(&pair.sent()) == [script], keeps, "{count}");
        assert_eq!(pair.relay.pinned().is_some(), keeps, "{count}");
    }
}

#[test]
fn settings_that_are_set_back_in_a_group_are_what_the_client_began_with() {
    let mut pair = Pair::in_zone("Asia/Tokyo");
    let said = say().parse("", "reset all").bind("").execute().parse("", "select 1").bind("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    let set = "SET SESSION TimeZone TO E'Asia/Tokyo'";
    assert_eq!(texts(&pair.sent()), ["reset all", "B", "E", "C", set, "B", "E", "C", "C", "H"]);
    pair.answer(&replies(b"12C312C33"));
    assert_eq!(pair.told(), replies(b"12C"));
    assert_eq!(texts(&pair.sent()), ["select 1", "B", "E", "S"]);
    pair.answer(&replies(b"12DCZI"));
    assert_eq!(pair.told(), replies(b"12DCZI"));
    // The RESET fails, and with it what follows.
    let mut pair = Pair::in_zone("Asia/Tokyo");
    assert_eq!(pair.client(&say().parse("", "reset all").bind("").execute().sync().0), Ok(Then::Wait));
    pair.answer(&replies(b"12E"));
    pair.answer(&replies(b"ZI"));
    assert_eq!(pair.told(), replies(b"12EZI"));
    assert!(pair.relay.is_settled(&pair.server));
}

#[test]
fn discard_all_is_done_whatever_fails_after_it() {
    let mut pair = Pair::in_zone("Asia/Tokyo");
    let said = say().parse("", "discard all").bind("").execute().parse("", "select 1/0").bind("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    // It is parsed again for its execution, as a DEALLOCATE is.
    assert_eq!(texts(&pair.sent()), ["discard all", "discard all", "B", "E", "H"]);
    pair.answer(&[replies(b"112"), completed("DISCARD ALL", b'I')[..17].to_vec()].concat());
    assert_eq!(texts(&pair.sent()), ["SET SESSION TimeZone TO E'Asia/Tokyo';"]);
    pair.answer(&replies(b"CZI"));
    assert_eq!(texts(&pair.sent()), ["select 1/0", "B", "E", "S"]);
    pair.answer(&replies(b"1EZI"));
    assert!(pair.relay.is_settled(&pair.server));
    assert_eq!(pair.told(), [replies(b"12"), completed("DISCARD ALL", b'I')[..17].to_vec(), replies(b"1EZI")].concat());
}

#[test]
fn discard_all_leaves_the_unnamed_statement_its_session() {
    for (unnamed, keeps) in [(true, true), (false, false)] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        assert_eq!(pair.client(&say().query("listen a").0), Ok(Then::Wait));
        pair.answer(&completed("LISTEN", b'I'));
        assert!(pair.relay.pinned().is_some());
        if unnamed {
            assert_eq!(pair.client(&say().parse("", "select 1").sync().0), Ok(Then::Wait));
            pair.answer(&replies(b"1ZI"));
        }
        assert_eq!(pair.client(&say().parse("d", "discard all").sync().0), Ok(Then::Wait));
        pair.answer(&replies(b"1ZI"));
        assert_eq!(pair.client(&say().bind("d").execute().sync().0), Ok(Then::Wait));
        pair.answer(&[replies(b"2"), completed("DISCARD ALL", b'I')[..17].to_vec()].concat());
        assert_eq!(pair.relay.pinned().is_some(), keeps);
    }
}

/// A description of one column of this type, in this format.
fn columns(oid: u8, format: u8) -> Vec<u8> {
    let mut out = Vec::new();
    frontend::message(&mut out, backend::ROW_DESCRIPTION, |out| {
        out.extend_from_slice(&[0, 1, b'a', 0, 0, 0, 64, 1, 0, 1, 0, 0, 0, oid, 0, 4, 255, 255, 255, 255, 0, format]);
    });
    out
}

/// The same of a statement.
fn description(oid: u8) -> Vec<u8> {
    [replies(b"t"), columns(oid, 0)].concat()
}

const TEXT: &str = "select a from t";

/// What a client sends to be told of a statement, each with the answer.
type WayToBeTold = Vec<(Say, Vec<u8>)>;

fn ways_to_be_told() -> [WayToBeTold; 4] {
    let by_portal = |format| {
        let said = say().parse("a", TEXT).bind("a").describe_portal("").execute().sync();
        vec![(said, [replies(b"12"), columns(23, format), replies(b"DCZI")].concat())]
    };
    [
        vec![(say().parse("a", TEXT).describe("a").sync(), [replies(b"1"), description(23), replies(b"ZI")].concat())],
        by_portal(0),
        by_portal(1),
        vec![
            (say().query("begin").parse("a", TEXT).bind_portal("p", "a").sync(), replies(b"CZT12ZT")),
            (
                say().bind_portal("q", "a").describe_portal("p").sync(),
                [replies(b"2"), columns(23, 1), replies(b"ZT")].concat(),
            ),
            (say().query("commit"), replies(b"CZI")),
        ],
    ]
}

/// A client that was told of a statement, and is lent a session that has not prepared it.
fn told_elsewhere(way: &WayToBeTold) -> Pair {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    for (said, answered) in way {
        assert_eq!(pair.client(&said.0), Ok(Then::Wait));
        pair.answer(answered);
        assert_eq!(pair.told(), *answered);
    }
    pair.sent();
    // The same session, which need not be asked.
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
    pair.answer(&replies(b"2DCZI"));
    pair.told();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), [TEXT, "D", "H"]);
    pair
}

#[test]
fn statement_that_is_prepared_again_is_what_the_client_was_told() {
    for way in &ways_to_be_told() {
        let mut pair = told_elsewhere(way);
        pair.answer(&[replies(b"1"), description(23)].concat());
        assert_eq!(pair.told(), b"");
        assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
        pair.answer(&replies(b"2DCZI"));
        assert_eq!(pair.told(), replies(b"2DCZI"));
        // It is known there now.
        assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(Then::Wait));
        assert_eq!(texts(&pair.sent()), ["B", "E", "S"]);
    }
}

#[test]
fn statement_whose_columns_have_changed_is_refused_as_by_the_server() {
    ways_to_be_told().iter().for_each(is_refused_as_by_the_server);
}

fn is_refused_as_by_the_server(way: &WayToBeTold) {
    let mut pair = told_elsewhere(way);
    pair.answer(&[replies(b"1"), description(25)].concat());
    let sent = pair.sent();
    assert_eq!(texts(&sent), ["headraced_outdated", "E", "S"], "it is not executed");
    let mut refused = Vec::new();
    let fields = b"SERROR\0C42601\0Msyntax error\0\0";
    frontend::message(&mut refused, backend::ERROR_RESPONSE, |out| out.extend_from_slice(fields));
    pair.answer(&[refused, replies(b"ZI")].concat());
    let told = String::from_utf8_lossy(&pair.told()).into_owned();
    assert!(told.contains("C0A000\0Mcached plan must not change result type\0"), "{told}");
    assert!(told.contains("RRevalidateCachedQuery\0") && !told.contains("42601"), "{told}");
    assert!(pair.relay.is_settled(&pair.server));
    // The client prepares it again.
    assert_eq!(pair.client(&say().parse("b", "select a from t").describe("b").sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["C", "select a from t", "D", "S"]);
}

#[test]
fn portal_whose_bind_was_skipped_says_nothing_of_a_statement() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    let said = say().parse("a", TEXT).parse("b", "select b from t").query("begin");
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    pair.answer(&replies(b"11CZT"));
    assert_eq!(pair.client(&say().bind_portal("p", "a").sync().0), Ok(Then::Wait));
    pair.answer(&replies(b"2ZT"));
    let said = say().bind("nosuch").bind_portal("p", "b").sync().query("rollback to s").describe_portal("p").sync();
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    pair.answer(&[replies(b"EZECZT"), columns(23, 1), replies(b"ZT")].concat());
    assert_eq!(pair.client(&say().query("commit").0), Ok(Then::Wait));
    pair.answer(&replies(b"CZI"));
    pair.sent();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("b").execute().sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["select b from t", "B", "E", "S"], "the client was not told of it");
    pair.answer(&replies(b"12DCZI"));
    pair.sent();
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), [TEXT, "D", "H"], "it was told of this one");
}

#[test]
fn client_with_more_portals_than_are_remembered_keeps_its_session() {
    let most = headrace_daemon::limits::PORTALS;
    for (closes, keeps) in [(true, false), (false, true)] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        assert_eq!(pair.client(&say().parse("a", TEXT).query("begin").0), Ok(Then::Wait));
        pair.answer(&replies(b"1CZT"));
        for n in 0..=most {
            let bound = say().bind_portal(&format!("p{n}"), "a");
            let said = if closes { bound.close_portal(&format!("p{n}")) } else { bound };
            assert_eq!(pair.client(&said.sync().0), Ok(Then::Wait));
            pair.answer(&replies(if closes { b"23ZT" } else { b"2ZT" }));
        }
        assert_eq!(pair.relay.pinned().is_some(), keeps);
    }
}

#[test]
fn columns_that_are_those_of_a_cursor_are_not_compared() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    let said = say().parse("a", "fetch 1 from c").bind("a").describe_portal("").execute().sync();
    assert_eq!(pair.client(&said.0), Ok(Then::Wait));
    pair.answer(&[replies(b"12"), columns(23, 0), replies(b"DCZI")].concat());
    pair.sent();
    pair.server = ServerState::new(BTreeMap::new(), 2);
    assert_eq!(pair.client(&say().bind("a").execute().sync().0), Ok(Then::Wait));
    assert_eq!(texts(&pair.sent()), ["fetch 1 from c", "B", "E", "S"]);
}

#[test]
fn statement_of_others_is_checked_before_a_client_gets_it() {
    let catalog = Arc::new(Catalog::default());
    for changed in [false, true] {
        let (mut pair, mut other) = (Pair::new(&catalog), Pair::new(&catalog));
        assert_eq!(pair.client(&say().parse("a", "select a from t").describe("a").sync().0), Ok(Then::Wait));
        pair.answer(&[replies(b"1"), description(23), replies(b"ZI")].concat());
        std::mem::swap(&mut pair.server, &mut other.server);
        other.relay.checked_for = std::time::Duration::ZERO;
        assert_eq!(other.client(&say().parse("b", "select a from t").sync().0), Ok(Then::Wait));
        assert_eq!(texts(&other.sent()), ["D", "S"]);
        other.relay.checked_for = std::time::Duration::MAX;
        match changed {
            false => {
                other.answer(&[description(23), replies(b"ZI")].concat());
                assert_eq!(other.told(), replies(b"1ZI"));
                assert_eq!(other.sent(), b"");
            }
            true => {
                other.answer(&replies(b"EZI"));
                assert_eq!(other.told(), b"");
                assert_eq!(texts(&other.sent()), ["C", "select a from t", "S"]);
            }
        }
        catalog.clear();
    }
}

#[test]
fn what_no_client_sends_is_refused() {
    for bytes in [&b"z\0\0\0\x04"[..], b"Q\0\0\0\x03", b"P\0\0\0\x05a", b"B\0\0\0\x05a", b"D\0\0\0\x04"] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        assert!(matches!(pair.client(bytes), Err(Refused::Malformed(_))), "{bytes:?}");
    }
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert!(matches!(pair.client(b"Q\x10\0\0\0"), Err(Refused::TooLarge(_))));
    assert_eq!(client::TERMINATE, b'X');
    assert_eq!(Pair::new(&Arc::new(Catalog::default())).client(b"X\0\0\0\x04"), Ok(Then::Terminate));
}

/// Numbers that are the same in each run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Whatever both sides send, in whatever order and pieces, the relay goes on or refuses: it neither panics nor waits for
/// itself.
#[test]
fn nonsense_of_both_sides_is_passed_on_or_refused() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let tags: Vec<u8> = b"BCDEFHPQSXcdf".to_vec();
    let answers: Vec<u8> = b"123CDEGHIKNSTWZdnst".to_vec();
    for _ in 0..2000 {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        let mut alive = true;
        for _ in 0..40 {
            let mut bytes = Vec::new();
            let from_client = numbers.below(2) == 0;
            let tag = if from_client { tags[numbers.below(tags.len())] } else { answers[numbers.below(answers.len())] };
            let body: Vec<u8> = (0..numbers.below(12)).map(|_| b"S\0a\0P1I"[numbers.below(7)]).collect();
            frontend::message(&mut bytes, tag, |out| out.extend_from_slice(&body));
            if numbers.below(8) == 0 {
                let at = numbers.below(bytes.len());
                bytes[at] ^= 1 << numbers.below(8);
            }
            for piece in bytes.chunks(1 + numbers.below(9)) {
                if from_client {
                    alive &= pair.client(piece) == Ok(Then::Wait);
                } else {
                    pair.from_server.extend(piece);
                    let (input, server, output) = (&mut pair.from_server, &mut pair.server, &mut pair.to_client);
                    alive &= pair.relay.from_server(input, server, output).is_ok();
                }
            }
            pair.sent();
            pair.told();
            if !alive {
                break;
            }
        }
    }
}
