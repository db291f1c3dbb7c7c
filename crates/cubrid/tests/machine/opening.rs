//! Opening, cancelling, losing and ending a session.

use crate::support::session::{CONNECTED, Conversation, greeting, options, resumed};
use crate::support::{array, error, frame, golden, inserted, prepared, trace};
use headrace_core::protocol::{Fatal, Protocol};
use headrace_core::{Cancellation, Certificate, FatalKind, NextStep, Session as _};
use headrace_cubrid::errors::ENDS_SESSION;
use headrace_cubrid::machine::{Loss, Secret, SessionOptions};
use headrace_cubrid::messages::server::Origin;
use headrace_testkit::{TestValue as V, hex, unhex};

#[test]
fn a_session_is_opened_whatever_the_split() {
    let whole = greeting();
    for cut in 0..=whole.len() {
        let mut session = Conversation::with(&options());
        let sent = session.write_buffer.take();
        assert_eq!(hex(&sent[..10]), "435542524b014cc00000");
        assert_eq!(trace(&sent[638..]), ["END_TRAN COMMIT"], "all messages in one");
        session.feed(&whole[..cut]).unwrap();
        assert_eq!(session.machine.is_ready(), cut == whole.len());
        session.feed(&whole[cut..]).unwrap();
        assert!(session.machine.is_ready() && session.write_buffer.is_empty(), "split at {cut}");
        assert_eq!((session.machine.process_id(), session.machine.in_transaction()), (19_963, false));
        assert_eq!(session.machine.broker().unwrap().protocol_version(), 12);
        assert!(session.machine.session_id().unwrap().starts_with(&[0xf0, 0xb0]));
    }
}

#[test]
fn the_login_is_that_of_a_recorded_session_and_its_refusals_are_reported() {
    for (name, code) in [("login_bad_db", -677), ("login_bad_user", -165), ("login_bad_password", -171)] {
        let (request, reply) = golden(name);
        let text = |at: usize| String::from_utf8_lossy(&request[at..at + 32]).trim_end_matches('\0').to_owned();
        let password = Some(Secret(text(74).into_bytes()));
        let mut session = Conversation::with(&SessionOptions {
            database: text(10),
            user: text(42),
            password,
            ..SessionOptions::default()
        });
        assert_eq!(hex(&session.write_buffer.take()[..638]), hex(&request), "{name}");
        let refused = session.feed(&reply).unwrap_err();
        assert_eq!((refused.kind, session.machine.closing_error().unwrap().code), (FatalKind::LoginRefused, code));
    }
    let mut session = Conversation::with(&options());
    assert_eq!(session.feed(&(-10_018i32).to_be_bytes()).unwrap_err().kind, FatalKind::LoginRefused);
    let mut session = Conversation::with(&options());
    assert!(session.feed(&(-1_018i32).to_be_bytes()).unwrap_err().message.contains("-10018"), "the old numbering");
}

#[test]
fn a_broker_that_names_a_port_is_followed() {
    for tls in [false, true] {
        let mut session = Conversation::with(&SessionOptions { tls, sends_ahead: false, ..options() });
        assert_eq!(session.write_buffer.take().len(), 10);
        session.feed(&33_001i32.to_be_bytes()).unwrap();
        let step = NextStep::Reconnect { server: "db.example", host: "db.example", port: 33_001 };
        assert_eq!(session.machine.next_step(), step);
        session.machine.reconnect(&mut session.write_buffer).unwrap();
        if tls {
            assert_eq!(session.machine.next_step(), NextStep::StartTls { request_first: false });
            session.machine.tls_ready(Certificate::default(), &mut session.write_buffer).unwrap();
        }
        assert_eq!(trace(&session.write_buffer.take()[628..]), ["END_TRAN COMMIT"], "no hello again");
        session.feed(&greeting()[4..]).unwrap();
        assert!(session.machine.is_ready());
        assert!(session.machine.reconnect(&mut session.write_buffer).is_err());
    }
}

#[test]
fn tls_comes_after_the_hello_and_before_the_password() {
    let mut session = Conversation::with(&SessionOptions { tls: true, ..options() });
    assert_eq!(hex(&session.write_buffer.take()), "4355425253014cc00000");
    session.feed(&[0; 4]).unwrap();
    assert_eq!(session.machine.next_step(), NextStep::StartTls { request_first: false });
    assert!(session.write_buffer.is_empty());
    let mut attacked = Conversation::with(&SessionOptions { tls: true, ..options() });
    assert!(attacked.feed(&[0; 5]).is_err(), "a byte before the handshake");
    session.machine.tls_ready(Certificate::default(), &mut session.write_buffer).unwrap();
    assert_eq!(trace(&session.write_buffer.take()[628..]), ["END_TRAN COMMIT"]);
    session.feed(&greeting()[4..]).unwrap();
    assert!(session.machine.is_ready());
}

#[test]
fn a_session_whose_first_transaction_does_not_end_is_not_opened() {
    let mut session = Conversation::with(&options());
    let refused = session.feed(&[resumed(), error(0, -2, -111)].concat()).unwrap_err();
    assert_eq!((refused.kind, session.machine.closing_error().unwrap().code), (FatalKind::LoginRefused, -111));
}

#[test]
fn other_servers_are_refused() {
    let connected = unhex(&CONNECTED.replace(' ', ""));
    for (at, value, reason) in [(12, 7, "not in front of"), (16, 0x47, "version 7"), (16, 0x02, "version 0")] {
        let mut other = connected.clone();
        other[at] = value;
        let refused = Conversation::with(&options()).feed(&[&[0; 4], &other[..]].concat()).unwrap_err();
        assert_eq!(refused.kind, FatalKind::UnsupportedServer);
        assert!(refused.message.contains(reason), "{}", refused.message);
    }
    let long = SessionOptions { user: "u".repeat(32), ..options() };
    let mut out = headrace_core::WriteBuffer::new();
    let refused =
        headrace_cubrid::machine::Machine::<crate::support::TestHandler>::new(&long, 2, &mut out).unwrap_err();
    assert_eq!(refused.kind, FatalKind::UnusableSetting);
}

#[test]
fn a_cancel_request_names_the_process() {
    let session = Conversation::with(&options());
    assert_eq!(session.machine.cancellation(), Cancellation::Impossible);
    let session = Conversation::start();
    assert_eq!(session.machine.cancellation(), Cancellation::Message(unhex("58314cc0000000004dfb")));
}

#[test]
fn a_connection_that_was_lost_between_transactions_was_released() {
    let lost = Fatal::end_of_input();
    let mut session = Conversation::start();
    let received = session.execute("insert into t values (1)", vec![]);
    session.machine.abort((), &lost);
    assert_eq!(session.machine.loss(), Some(Loss::Released));
    assert!(received.get().end.unwrap().contains("KEEP_CONNECTION=AUTO"));
    // After PREPARE a transaction is open.
    let mut session = Conversation::start();
    let received = session.execute("insert into t values (1)", vec![]);
    session.feed(&prepared(1, 20, 0)).unwrap();
    session.machine.abort((), &lost);
    assert_eq!(session.machine.loss(), Some(Loss::Unknown));
    assert!(!received.get().end.unwrap().contains("KEEP_CONNECTION=AUTO"));
    // A part of the reply has come.
    let mut session = Conversation::start();
    session.execute("insert into t values (1)", vec![]);
    session.feed(&prepared(1, 20, 0)[..5]).unwrap();
    session.machine.abort((), &lost);
    assert_eq!(session.machine.loss(), Some(Loss::Unknown));
    // Closed on this side.
    let mut session = Conversation::start();
    session.machine.abort((), &Fatal::new(FatalKind::Closed, "closed"));
    assert_eq!(session.machine.loss(), None);
}

#[test]
fn the_end_is_announced_and_what_the_server_announces_is_reported() {
    let mut session = Conversation::start();
    session.machine.terminate(&mut session.write_buffer);
    assert_eq!(session.sent(), ["CON_CLOSE"]);
    assert_eq!(session.machine.next_step(), NextStep::Close);
    let mut session = Conversation::start();
    let ended = session.feed(&error(0, -1, -10_003)).unwrap_err();
    assert_eq!(ended.kind, FatalKind::SessionEnded);
    assert_eq!(session.machine.closing_error().unwrap().code, -10_003);
    let mut session = Conversation::start();
    assert_eq!(session.feed(&frame(0, &[0; 4])).unwrap_err().kind, FatalKind::ProtocolViolation);
}

#[test]
fn an_error_that_ends_the_session_closes_the_connection() {
    for (origin, code) in ENDS_SESSION {
        let indicator = if *origin == Origin::Cas { -1 } else { -2 };
        for begins in [false, true] {
            let mut session = if begins { Conversation::in_block() } else { Conversation::start() };
            let received = session.execute("insert into t values (1)", vec![]);
            let ended = session.feed(&error(0, indicator, *code)).unwrap_err();
            assert_eq!(ended.kind, FatalKind::SessionEnded, "{code}");
            assert!(!session.machine.survive_loss((), &ended));
            session.machine.abort((), &ended);
            assert_eq!(received.get().end, Some(format!("server {code}")));
        }
    }
    // Of a row of a batch, too.
    let mut session = Conversation::start();
    let received = session.batch(false, &[1, 2]);
    session.feed(&prepared(1, 20, 1)).unwrap();
    let ended = session.feed(&array(0, &[1, -111])).unwrap_err();
    session.machine.abort((), &ended);
    assert!(received.get().end.unwrap().contains("-111"));
    // Others leave it as it is.
    let mut session = Conversation::start();
    session.execute("insert into t values (1)", vec![]);
    session.feed(&error(0, -2, -670)).unwrap();
    assert!(session.machine.is_ready());
}

#[test]
fn a_cas_that_is_kept_takes_statements_without_waiting_and_is_given_back() {
    let mut kept = golden("cas_mode_keep").1;
    // It was recorded within a transaction.
    kept[4] = 0;
    let whole = [greeting(), kept].concat();
    for cut in 0..=whole.len() {
        let mut session = Conversation::with(&SessionOptions { keeps_cas: true, ..options() });
        session.write_buffer.take();
        session.feed(&whole[..cut]).unwrap();
        assert_eq!(session.machine.is_ready(), cut == whole.len());
        session.feed(&whole[cut..]).unwrap();
        assert!(session.machine.is_ready(), "split at {cut}");
        assert_eq!(session.sent(), ["SET_CAS_CHANGE_MODE 2"]);
    }
    let mut refused = Conversation::with(&SessionOptions { keeps_cas: true, ..options() });
    refused.feed(&greeting()).unwrap();
    assert_eq!(refused.feed(&error(0, -1, -10_100)).unwrap_err().kind, FatalKind::LoginRefused);
    let mut session = Conversation::with(&SessionOptions { keeps_cas: true, ..options() });
    session.feed(&whole).unwrap();
    session.write_buffer.take();
    let sql = "insert into t values (?)";
    let received = [1, 2, 3].map(|number| session.execute(sql, vec![V::Int(number)]));
    session.feed(&prepared(1, 20, 1)).unwrap();
    assert_eq!(session.sent(), ["PREPARE", "EXECUTE 1 autocommit", "EXECUTE 1 autocommit", "EXECUTE 1 autocommit"]);
    // Only the last one ends what is open.
    session.feed(&[inserted(1, 1), inserted(0, 1)].concat()).unwrap();
    session.feed(&inserted(1, 1)).unwrap();
    assert_eq!(session.sent(), ["END_TRAN COMMIT"]);
    session.feed(&frame(0, &[0; 4])).unwrap();
    assert!(received.iter().all(|received| received.get().end.as_deref() == Some("done")));
    session.machine.terminate(&mut session.write_buffer);
    assert_eq!(session.sent(), ["SET_CAS_CHANGE_MODE 1", "CON_CLOSE"]);
    let mut lost = Conversation::with(&SessionOptions { keeps_cas: true, ..options() });
    lost.feed(&whole).unwrap();
    lost.execute(sql, vec![V::Int(1)]);
    lost.machine.abort((), &Fatal::end_of_input());
    assert_eq!(lost.machine.loss(), Some(Loss::Unknown), "the broker has not taken it");
}

#[test]
fn without_statement_pooling_statements_end_with_the_transaction() {
    let mut connected = greeting();
    connected[4 + 14] = 0;
    let mut session = Conversation::with(&options());
    session.feed(&connected).unwrap();
    session.write_buffer.take();
    for _ in 0..2 {
        let received = session.execute("insert into t values (?)", vec![V::Int(1)]);
        assert_eq!(session.sent(), ["PREPARE insert into t values (?)"]);
        session.feed(&prepared(1, 20, 1)).unwrap();
        session.sent();
        session.feed(&inserted(0, 1)).unwrap();
        assert_eq!(received.get().end.as_deref(), Some("done"));
    }
}
