//! Messages that are passed on, in groups and whole.

use crate::relay::{Pair, converse, replies, say, texts, without_numbers};
use headrace_daemon::postgres::relay::RelayStep;
use headrace_daemon::postgres::statements::Catalog;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::backend;
use headrace_postgres::messages::tag::frontend as client;
use std::sync::Arc;

#[test]
fn rows_pass_as_they_are() {
    converse(&[(say().query("select 1"), b"TDDCZI", b"TDDCZI")], &[say().query("select 1")]);
}

#[test]
fn client_that_sends_flush_does_not_wait_for_more_than_it_has_asked_for() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").sync().0), Ok(RelayStep::Wait));
    pair.server(&replies(b"1ZI"));
    pair.sent();
    pair.told();
    // It reads ParseComplete, and sends Sync only then.
    assert_eq!(pair.client(&say().parse("b", "select 1").flush().bind("b").0), Ok(RelayStep::Wait));
    assert_eq!(pair.told(), replies(b"1"));
    assert_eq!(without_numbers(&pair.sent()), without_numbers(&say().bind("headraced_1").0));
    assert_eq!(pair.client(&say().execute().sync().0), Ok(RelayStep::Wait));
    pair.server(&replies(b"2DCZI"));
    assert_eq!(pair.told(), replies(b"2DCZI"));
    assert!(pair.relay.is_settled(&pair.server));
}

#[test]
fn sync_after_something_that_was_passed_on_is_passed_on() {
    let catalog = Arc::new(Catalog::default());
    let mut pair = Pair::new(&catalog);
    assert_eq!(pair.client(&say().parse("a", "select 1").bind("a").execute().flush().0), Ok(RelayStep::Wait));
    pair.server(&replies(b"12DC"));
    pair.sent();
    // The transaction of what was executed ends with it.
    assert_eq!(pair.client(&say().close("a").sync().0), Ok(RelayStep::Wait));
    assert_eq!(pair.sent(), say().sync().0);
    pair.server(&replies(b"ZI"));
    assert_eq!(pair.told(), replies(b"12DC3ZI"));
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
    assert_eq!(pair.client(&say().parse("a", "wrong").0), Ok(RelayStep::Wait));
    pair.server(&replies(b"E"));
    pair.sent();
    assert_eq!(pair.client(&say().bind("a").execute().query("select 1").0), Ok(RelayStep::Wait));
    assert_eq!(pair.sent(), b"");
    assert!(!pair.relay.owes_nothing());
    assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
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
            assert_eq!(pair.client(&first.0), Ok(RelayStep::Wait));
            pair.server(&replies(b"12G"));
            if !early {
                pair.sent();
                assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
                assert_eq!(pair.sent(), b"", "the server would ignore it");
            }
            assert_eq!(pair.client(&end.0), Ok(RelayStep::Wait));
            pair.server(&replies(reply));
            assert!(!pair.relay.is_settled(&pair.server), "the server waits for Sync");
            pair.sent();
            assert_eq!(pair.client(&say().sync().0), Ok(RelayStep::Wait));
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
    assert_eq!(pair.client(&say().query("copy t from stdin").0), Ok(RelayStep::Wait));
    pair.server(&replies(b"G"));
    pair.sent();
    assert_eq!(pair.client(&say().copy(b"1\n").query("select 1").0), Ok(RelayStep::Wait));
    assert_eq!(pair.sent(), say().copy(b"1\n").0);
    assert!(pair.relay.is_waiting_for_replies());
}

#[test]
fn what_comes_after_a_transaction_waits_for_its_end_where_it_may_go_elsewhere() {
    let begin = || say().query("begin read only");
    for (is_on_standby, gives_way) in [(true, false), (false, true)] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        (pair.relay.is_on_standby, pair.relay.gives_way) = (is_on_standby, gives_way);
        let all = begin().query("select 1").query("commit").query("select 2");
        assert_eq!(pair.client(&all.0), Ok(RelayStep::Wait));
        assert_eq!(pair.sent(), begin().0, "whether a transaction begins is not known");
        pair.answer(&replies(b"CZT"));
        let rest = say().query("select 1").query("commit");
        let is_known = is_on_standby;
        assert_eq!(pair.sent(), if is_known { rest.0 } else { rest.query("select 2").0 });
        if is_known {
            pair.answer(&replies(b"CZT"));
            assert!(pair.sent().is_empty());
            pair.answer(&replies(b"CZI"));
            assert!(pair.sent().is_empty() && pair.relay.is_settled(&pair.server));
        }
    }
}

#[test]
fn requests_outside_of_a_transaction_are_not_passed_on_while_others_wait() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    pair.relay.gives_way = true;
    assert_eq!(pair.client(&say().query("select 1").query("select 2").0), Ok(RelayStep::Wait));
    assert_eq!(pair.sent(), say().query("select 1").0);
    pair.answer(&replies(b"CZI"));
    assert!(pair.sent().is_empty() && pair.relay.is_settled(&pair.server), "the connection is to be given back");
    pair.relay.requests = 0;
    pair.answer(b"");
    assert_eq!(pair.sent(), say().query("select 2").0);
}

#[test]
fn value_of_a_function_is_passed_on_as_it_comes() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    let (mut asked, mut replied) = (Vec::new(), Vec::new());
    frontend::message(&mut asked, client::FUNCTION_CALL, |out| out.extend_from_slice(&954_u32.to_be_bytes()));
    frontend::message(&mut replied, backend::FUNCTION_CALL_RESPONSE, |out| out.extend_from_slice(&[0; 100]));
    assert_eq!(pair.client(&asked), Ok(RelayStep::Wait));
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
        assert_eq!(pair.client(&said.0), Ok(RelayStep::Wait));
        pair.server(&replies(replied));
        assert_eq!(pair.relay.is_settled(&pair.server), settled, "{:?}", String::from_utf8_lossy(&said.0));
    }
    assert_eq!(pair.relay.pinned(), Some("LISTEN"));
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
            assert_eq!(pair.client(&say().parse("n2", "select 1").describe("n2").sync().0), Ok(RelayStep::Wait));
            pair.answer(&replies(b"1tTZI"));
            pair.sent();
            pair.told();
            let said = [known.0.clone(), say().parse("n1", text).bind("n1").execute().sync().0].concat();
            assert_eq!(pair.client(&said), Ok(RelayStep::Wait));
            assert_eq!(pair.told().last(), Some(&b'I'), "ReadyForQuery of the first group");
            let sent = texts(&pair.sent());
            assert_eq!(sent[sent.len() - 3..], ["B", "E", "H"], "{text}");
        }
    }
}

#[test]
fn end_of_a_session_that_owes_nothing_is_no_reply() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().query("select 1").0), Ok(RelayStep::Wait));
    pair.server(&[replies(b"TDCZI"), fatal()].concat());
    assert_eq!(pair.told(), replies(b"TDCZI"));
    assert!(pair.relay.is_settled(&pair.server) && !pair.relay.has_sent_fatal_error());
    assert!(!pair.server.can_be_lent_again());
    // In a transaction the client has lost something.
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert_eq!(pair.client(&say().query("begin").0), Ok(RelayStep::Wait));
    pair.server(&[replies(b"CZT"), fatal()].concat());
    assert_eq!(pair.told(), [replies(b"CZT"), fatal()].concat());
    assert!(pair.relay.has_sent_fatal_error());
}

#[test]
fn client_with_a_session_of_its_own_is_told_why_it_ends() {
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    pair.relay.keeps_server = true;
    assert_eq!(pair.client(&say().query("select 1").0), Ok(RelayStep::Wait));
    pair.server(&[replies(b"TDCZI"), fatal()].concat());
    assert_eq!(pair.told(), [replies(b"TDCZI"), fatal()].concat());
    assert!(pair.relay.has_sent_fatal_error());
}
