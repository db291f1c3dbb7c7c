//! Queries of a pipeline: sent before the earlier ones are answered, and never with rows of one another.

use crate::support::bytes;
use crate::support::session::{Conversation, EOT, NEXT_BLOCK};
use headrace_core::{Discarded, IfUnsent, Modes, Session as _, Verb};
use headrace_informix::machine::Request;
use headrace_testkit::{Shared, TestValue as V, Trace, unhex};

pub type SharedReplies = Shared;

pub const SELECT: &str = "select a from t where a > ?";
const OTHER: &str = "select a from t where a < ?";

/// SQ_DESCRIBE of the query, prepared as this statement.
pub fn described(id: u8) -> Vec<u8> {
    let mut reply = bytes("reply", "prep_select_032");
    reply[5] = id;
    reply
}

pub fn row(n: i64) -> Vec<u8> {
    unhex(&format!("000e000000000004{n:08x}"))
}

pub fn done(rows: i64) -> Vec<u8> {
    unhex(&format!("000f0000{rows:08x}0000000000000000000c"))
}

/// The messages that open the cursor of a statement, with its parameter.
pub fn opened(sent: &Trace, id: u8, parameter: i64) -> Option<usize> {
    let (id, bind) = (format!("SQ_ID {id}"), format!("SQ_BIND {parameter}"));
    sent.find(&[&id, "SQ_CURNAME", &bind, "SQ_OPEN", &id, "SQ_NFETCH"])
}

/// The number of times that the cursor of a statement is closed, or the statement released.
pub fn count(sent: &Trace, id: u8, message: &str) -> usize {
    sent.count(&[&format!("SQ_ID {id}"), message, "SQ_EOT"])
}

/// A session that has prepared the query as statement 0.
pub fn warm() -> Conversation {
    let mut session = Conversation::start();
    session.execute(SELECT, vec![V::Int(0)], false);
    session.feed(&described(0)).unwrap();
    session.feed(&[row(1), done(1)].concat()).unwrap();
    session.feed(&unhex(EOT)).unwrap();
    session.sent();
    session
}

/// One that has also prepared another query, as statement 1: the two need no duplicates to run concurrently.
fn warm_twice() -> Conversation {
    let mut session = warm();
    session.execute(OTHER, vec![V::Int(0)], false);
    session.feed(&described(1)).unwrap();
    session.feed(&[row(1), done(1), unhex(EOT)].concat()).unwrap();
    session.sent();
    session
}

pub fn ask(session: &mut Conversation, parameters: std::ops::Range<i64>) -> Vec<SharedReplies> {
    parameters.map(|n| session.execute(SELECT, vec![V::Int(n)], false)).collect()
}

/// Answers the first of many with one row, and describes the four duplicates that were prepared for the others.
pub fn describe_duplicates(session: &mut Conversation) {
    session.feed(&[row(1), done(1)].concat()).unwrap();
    session.feed(&(1..=4).flat_map(described).collect::<Vec<u8>>()).unwrap();
}

pub fn ends(asked: &[SharedReplies]) -> Vec<Option<String>> {
    asked.iter().map(|received| received.get().end.clone()).collect()
}

pub fn rows(asked: &SharedReplies) -> Vec<String> {
    asked.get().rows.iter().map(|row| row.join(",")).collect()
}

#[test]
pub fn a_query_that_many_wait_for_is_prepared_for_them() {
    let mut session = warm();
    let asked = ask(&mut session, 0..6);
    let sent = session.sent();
    assert!(opened(&sent, 0, 0).is_some(), "{sent:?}");
    assert_eq!(sent.count(&["SQ_PREPARE select"]), 4, "prepared when four waited: {sent:?}");
    // The first is answered, and the copies are there: all of the others leave at once.
    session.feed(&[row(10), done(1)].concat()).unwrap();
    let sent = session.sent();
    assert!(sent.starts_with(&["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]) && opened(&sent, 0, 1).is_some(), "{sent:?}");
    session.feed(&(1..=4).flat_map(described).collect::<Vec<u8>>()).unwrap();
    let sent = session.sent();
    for (id, parameter) in [(4, 2), (3, 3), (2, 4), (1, 5)] {
        assert!(opened(&sent, id, parameter).is_some(), "{id} {sent:?}");
    }
    let replies: Vec<u8> = (1..6).flat_map(|n| [row(10 * n), row(10 * n + 1), done(2)].concat()).collect();
    session.feed(&[unhex(EOT), replies].concat()).unwrap();
    assert_eq!(rows(&asked[0]), ["10"]);
    for (n, asked) in asked.iter().enumerate().skip(1) {
        assert_eq!(rows(asked), [format!("{}", 10 * n), format!("{}", 10 * n + 1)]);
        assert_eq!(asked.get().end.as_deref(), Some("done"));
    }
    // Every cursor is closed, no statement released: the next pipeline finds them all.
    let sent = session.sent();
    for id in 0..=4 {
        assert_eq!(count(&sent, id, "SQ_CLOSE"), 1, "{id} {sent:?}");
    }
    assert!(!sent.contains(&["SQ_RELEASE"]), "{sent:?}");
    session.feed(&unhex(&EOT.repeat(5))).unwrap();
    ask(&mut session, 0..5);
    let sent = session.sent();
    assert_eq!((sent.count(&["SQ_NFETCH"]), sent.count(&["SQ_PREPARE"])), (5, 0), "{sent:?}");
}

#[test]
pub fn a_session_that_forgets_its_statements_releases_the_copies_too() {
    for (forgotten, released) in [(None, 1), (Some(SELECT), 1), (Some(OTHER), 0)] {
        let mut session = warm();
        ask(&mut session, 0..5);
        describe_duplicates(&mut session);
        session.feed(&[unhex(EOT), [row(1), done(1)].concat().repeat(4), unhex(&EOT.repeat(4))].concat()).unwrap();
        session.sent();
        match forgotten {
            Some(sql) => session.machine.forget_statement(sql),
            None => session.machine.forget_statements(),
        }
        session.ask(Request::Verb(Verb::Ping), Vec::new(), Vec::new());
        let sent = session.sent();
        for id in 0..=4 {
            assert_eq!(count(&sent, id, "SQ_RELEASE"), released, "{id} {sent:?}");
        }
    }
}

#[test]
pub fn a_long_result_is_read_on_after_the_others_and_goes_to_its_own_request() {
    for split in [false, true] {
        let mut session = warm_twice();
        let long = session.execute(SELECT, vec![V::Int(7)], false);
        let short = session.execute(OTHER, vec![V::Int(8)], false);
        let insert = session.execute("insert into t values (?,?,?)", vec![V::Int(1), V::Null, V::Null], false);
        let sent = session.sent();
        assert!(opened(&sent, 0, 7).is_some() && opened(&sent, 1, 8).is_some(), "{sent:?}");
        let say = |session: &mut Conversation, bytes: Vec<u8>| {
            let pieces: Vec<&[u8]> = if split { bytes.chunks(1).collect() } else { vec![&bytes] };
            for piece in pieces {
                session.feed(piece).unwrap();
            }
            session.sent()
        };
        // A block without an end: the next ones are requested after the concurrent query.
        let sent = say(&mut session, [row(1), row(2), unhex(EOT)].concat());
        assert_eq!(sent, NEXT_BLOCK.repeat(4));
        let sent = say(&mut session, [row(3), done(1)].concat());
        assert!(sent.is_empty(), "what changes rows waits until all are read");
        assert_eq!(ends(&[long.clone(), short.clone()]), [None, None], "in the order they were asked for");
        let sent = say(&mut session, [row(4), done(3)].concat());
        assert!(sent.contains(&["SQ_PREPARE insert"]), "{sent:?}");
        assert_eq!(rows(&long), ["1", "2", "4"]);
        assert_eq!(rows(&short), ["3"]);
        assert_eq!(ends(&[long, short, insert]), [Some("done".into()), Some("done".into()), None]);
    }
}

#[test]
pub fn an_error_belongs_to_one_query_only() {
    let mut session = warm();
    let asked = ask(&mut session, 0..5);
    describe_duplicates(&mut session);
    let failed = unhex("000dff0d0000000000000000000c");
    let good = [row(1), done(1)].concat();
    session.feed(&[unhex(EOT), good.clone(), failed, good.clone(), good].concat()).unwrap();
    let ends = ends(&asked);
    assert_eq!(ends.iter().filter(|end| end.as_deref() == Some("done")).count(), 4, "{ends:?}");
    assert_eq!(ends[2].as_deref(), Some("server -243 0"));
}

#[test]
pub fn copies_that_the_server_refuses_are_done_without() {
    let mut session = warm();
    let asked = ask(&mut session, 0..6);
    session.feed(&[row(1), done(1)].concat()).unwrap();
    session.feed(&unhex("000dff350000000000000000000c").repeat(4)).unwrap();
    session.sent();
    session.feed(&unhex(EOT)).unwrap();
    for _ in 1..6 {
        session.feed(&[row(1), done(1)].concat()).unwrap();
        let sent = session.sent();
        assert!(sent.starts_with(&["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]), "{sent:?}");
        session.feed(&unhex(EOT)).unwrap();
    }
    assert!(asked.iter().all(|received| received.get().end.as_deref() == Some("done")));
}

#[test]
pub fn queries_older_than_their_table_are_prepared_again() {
    let mut session = warm();
    let asked = ask(&mut session, 0..5);
    describe_duplicates(&mut session);
    session.sent();
    // One was still in time.
    let stale = unhex("000dfd3a00000000000000017400000c");
    session.feed(&[unhex(EOT), stale.clone(), row(7), done(1), stale.clone(), stale].concat()).unwrap();
    assert_eq!(ends(&asked), [Some("done".into()), None, Some("done".into()), None, None]);
    let sent = session.sent();
    for id in 0..=4 {
        assert!(count(&sent, id, "SQ_RELEASE") > 0, "{id} is released: {sent:?}");
    }
    assert_eq!(sent.count(&["SQ_PREPARE select"]), 1, "{sent:?}");
    // One CLOSE, of the cursor that was read, and five RELEASEs.
    session.feed(&unhex(&EOT.repeat(6))).unwrap();
    session.feed(&described(0)).unwrap();
    for n in 1..=3 {
        session.feed(&[row(n), done(1)].concat()).unwrap();
        session.feed(&unhex(EOT)).unwrap();
    }
    assert!(asked.iter().all(|received| received.get().end.as_deref() == Some("done")), "{:?}", ends(&asked));
    assert_eq!(rows(&asked[4]), ["3"]);
}

#[test]
pub fn a_discarded_query_that_is_older_than_its_table_is_not_prepared_again() {
    for discarded in [false, true] {
        let mut session = warm();
        session.execute(SELECT, vec![V::Int(7)], false);
        session.sent();
        if discarded {
            assert_eq!(session.machine.discard(2), Discarded::Alone);
        }
        session.feed(&unhex("000dfd3a00000000000000017400000c")).unwrap();
        let sent = session.sent();
        assert_eq!(sent.contains(&["SQ_PREPARE select"]), !discarded, "{sent:?}");
        if discarded {
            // CLOSE and RELEASE.
            session.feed(&unhex(&EOT.repeat(2))).unwrap();
            assert!(session.machine.is_idle() && session.sent().is_empty());
        }
    }
}

#[test]
pub fn a_discarded_request_gets_nothing_and_delays_no_other() {
    let mut session = warm();
    let asked = ask(&mut session, 0..5);
    describe_duplicates(&mut session);
    session.sent();
    assert_eq!(session.machine.in_flight(), 4);
    // The warming took number 1.
    assert_eq!(session.machine.discard(4), Discarded::Followed, "the server is at another one");
    session.feed(&[unhex(EOT), row(1), done(1), row(2), done(1), row(3), unhex(EOT)].concat()).unwrap();
    session.feed(&[row(4), done(1)].concat()).unwrap();
    // The replies to two CLOSEs come first.
    session.feed(&[unhex(&EOT.repeat(2)), row(5), done(2).repeat(4)].concat()).unwrap();
    assert_eq!(rows(&asked[3]), ["3", "5"]);
    assert_eq!((asked[2].get().rows.len(), asked[2].get().end.clone()), (0, None));
    assert_eq!(ends(&asked).iter().flatten().count(), 4, "{:?}", ends(&asked));
}

#[test]
pub fn an_abandoned_cursor_is_closed_before_its_statement_is_used_again() {
    let mut session = warm();
    let given_up = session.execute(SELECT, vec![V::Int(7)], false);
    session.feed(&[row(1), row(2), unhex(EOT)].concat()).unwrap();
    assert_eq!(session.sent().count(&["SQ_ID 0", "SQ_NFETCH"]), 4 + 1, "the next blocks are on their way");
    assert_eq!(session.machine.discard(2), Discarded::Alone, "the server is at it");
    let next = session.execute(SELECT, vec![V::Int(8)], false);
    session.feed(&[row(3), unhex(EOT)].concat()).unwrap();
    assert!(session.sent().is_empty(), "its cursor is still open");
    session.feed(&[row(4), done(4), unhex(EOT), unhex(EOT)].concat()).unwrap();
    let sent = session.sent();
    let closed = sent.find(&["SQ_ID 0", "SQ_CLOSE", "SQ_EOT"]).expect("closed");
    assert!(opened(&sent, 0, 8).is_some_and(|opened| opened > closed), "{sent:?}");
    session.feed(&[unhex(EOT), row(9), done(1)].concat()).unwrap();
    assert_eq!((rows(&next), next.get().end.as_deref()), (vec!["9".to_owned()], Some("done")));
    assert_eq!(given_up.get().end, None);
}

#[test]
pub fn the_first_request_with_nothing_in_flight_is_not_interrupted() {
    let mut session = warm_twice();
    session.execute(SELECT, vec![V::Int(7)], false);
    let beside = session.execute(OTHER, vec![V::Int(8)], false);
    session.sent();
    session.feed(&[row(1), row(2), unhex(EOT)].concat()).unwrap();
    session.sent();
    assert_eq!(session.machine.discard(3), Discarded::Followed, "the server is at the other one");
    session.feed(&[row(3), done(1)].concat()).unwrap();
    session.feed(&unhex(&EOT.repeat(4))).unwrap();
    assert_eq!((rows(&beside), beside.get().end.as_deref()), (vec!["3".to_owned()], Some("done")));
}

#[test]
fn the_last_of_several_abandoned_requests_may_be_interrupted() {
    let mut session = warm_twice();
    session.execute(SELECT, vec![V::Int(7)], false);
    session.execute(OTHER, vec![V::Int(8)], false);
    assert_eq!(session.machine.discard(3), Discarded::Followed, "the other one is wanted");
    assert_eq!(session.machine.discard(4), Discarded::Alone, "nothing that is wanted can be hit");
}

#[test]
pub fn the_abandoned_end_of_a_block_is_sent() {
    for (verb, is_sent) in [
        (Verb::Commit(IfUnsent::RollBack), true),
        (Verb::Rollback(IfUnsent::RollBack), true),
        (Verb::Commit(IfUnsent::Forget), false),
    ] {
        let mut session = Conversation::start();
        session.ask(Request::Verb(Verb::Begin(Modes::default())), Vec::new(), Vec::new());
        session.feed(&unhex(EOT)).unwrap();
        session.sent();
        session.machine.pause();
        session.ask(Request::Verb(verb), Vec::new(), Vec::new());
        assert_eq!(session.machine.discard(2), Discarded::Gone, "nothing of it was sent");
        session.machine.unpause();
        session.ask(Request::Verb(Verb::Ping), Vec::new(), Vec::new());
        let out = session.sent();
        assert_eq!(out.contains(&["SQ_RBWORK", "SQ_EOT"]), is_sent, "{out:?}");
    }
}
