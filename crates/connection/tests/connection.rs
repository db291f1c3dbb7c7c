//! A connection as a driver loop sees it: bytes in, bytes out.

mod support;

use headrace_connection::Limits;
use headrace_core::{Fatal, FatalKind, NextStep, Session as _};
use std::time::Duration;
use support::{Lines, Server, Stage, read, trusting, written};

#[test]
fn without_tls_bytes_are_read_where_the_protocol_reads_them() {
    let mut connection = Lines::connection(Stage::Greeting, None);
    connection.connected().unwrap();
    let buffers = &mut connection.buffers;
    buffers.make_room();
    buffers.landing()[..6].copy_from_slice(b"HELLO\n");
    let landed = buffers.landing().as_ptr();
    buffers.received(6).unwrap();
    assert_eq!(buffers.read_buffer.unread().as_ptr(), landed, "the bytes were copied");
    buffers.write_buffer.tail().extend_from_slice(b"question\n");
    let pending = buffers.write_buffer.pending().as_ptr();
    assert_eq!(buffers.outgoing().unwrap().as_ptr(), pending, "the bytes were copied");
    connection.handle(()).unwrap();
    assert_eq!(connection.next_step(), NextStep::Ready);
}

#[test]
fn tls_starts_when_the_protocol_requests_it_however_the_bytes_are_cut() {
    for request_first in [false, true] {
        for portion in [1, 7, usize::MAX] {
            let mut server = Server::new();
            let mut connection = Lines::connection(Stage::Tls { request_first }, Some(trusting(&server.pem)));
            connection.connected().unwrap();
            let plaintext: &[u8] = if request_first { b"TLS, please\n" } else { b"" };
            while connection.next_step() != NextStep::Ready {
                server.receive(&written(&mut connection, portion), plaintext.len()).unwrap();
                let greeting: &[u8] = if server.received.is_empty() { b"" } else { b"HELLO\nfirst\n" };
                let answer = server.send(greeting);
                read(&mut connection, &answer, portion).unwrap();
            }
            assert_eq!((&server.plaintext[..], &server.received[..]), (plaintext, &b"login\n"[..]));
            assert!(connection.machine.certificate.as_ref().is_some_and(|certificate| certificate.verified));
            assert_eq!(connection.machine.lines, ["first"]);
        }
    }
}

#[test]
fn a_loop_that_takes_all_at_once_sends_the_same() {
    let mut server = Server::new();
    let mut connection = Lines::connection(Stage::Tls { request_first: true }, Some(trusting(&server.pem)));
    connection.connected().unwrap();
    while connection.next_step() != NextStep::Ready {
        let bytes = connection.buffers.take_outgoing().unwrap();
        server.receive(&bytes, 12).unwrap();
        let greeting: &[u8] = if server.received.is_empty() { b"" } else { b"HELLO\n" };
        let answer = server.send(greeting);
        read(&mut connection, &answer, usize::MAX).unwrap();
    }
    assert_eq!((&server.plaintext[..], &server.received[..]), (&b"TLS, please\n"[..], &b"login\n"[..]));
}

#[test]
fn an_untrusted_peer_receives_an_alert_and_nothing_else() {
    let mut server = Server::new();
    let other = Server::new();
    let mut connection = Lines::connection(Stage::Tls { request_first: false }, Some(trusting(&other.pem)));
    connection.connected().unwrap();
    connection.buffers.write_buffer.tail().extend_from_slice(b"a secret\n");
    let refused = loop {
        server.receive(&written(&mut connection, usize::MAX), 0).unwrap();
        let answer = server.send(b"");
        if let Err(refused) = read(&mut connection, &answer, usize::MAX) {
            break refused;
        }
    };
    assert_eq!(refused.kind, FatalKind::TlsRefused);
    let alert = server.receive(&written(&mut connection, usize::MAX), 0).unwrap_err();
    assert!(matches!(alert, rustls::Error::AlertReceived(_)), "{alert}");
    assert_eq!((server.received.len(), written(&mut connection, usize::MAX).len()), (0, 0));
}

#[test]
fn the_end_of_a_peers_tls_is_the_end_of_input() {
    let mut server = Server::new();
    let mut connection = Lines::connection(Stage::Tls { request_first: false }, Some(trusting(&server.pem)));
    connection.connected().unwrap();
    while server.received.is_empty() {
        server.receive(&written(&mut connection, usize::MAX), 0).unwrap();
        let answer = server.send(b"");
        read(&mut connection, &answer, usize::MAX).unwrap();
    }
    let mut last = server.send(b"HELLO\nanswer\nFULL\nERROR shutdown\n");
    server.tls.send_close_notify();
    last.extend_from_slice(&server.send(b""));
    assert!(!connection.buffers.is_at_end());
    read(&mut connection, &last, usize::MAX).unwrap();
    assert!(connection.buffers.is_at_end());
    assert_eq!(connection.machine.lines, ["answer"], "a response handler is full, so the end has not come");
    connection.machine.resume(1);
    assert!(connection.is_due());
    let fatal = connection.handle(()).unwrap_err();
    let reason = connection.end((), &fatal).message;
    assert_eq!(reason, "the server closed the connection unexpectedly (the server said: shutdown)");
}

#[test]
fn tls_without_settings_is_refused() {
    let mut connection = Lines::connection(Stage::Tls { request_first: false }, None);
    assert_eq!(connection.connected().unwrap_err().kind, FatalKind::UnusableSetting);
    assert_eq!(written(&mut connection, usize::MAX), b"");
}

#[test]
fn input_before_a_loss_is_handled_and_pending_requests_receive_the_closing_error() {
    let mut connection = Lines::connection(Stage::Ready, None);
    connection.buffers.read_buffer.extend(b"answer\nERROR shutdown\nhalf a li");
    let reason = connection.lost((), &Fatal::gone("the server closed the connection")).unwrap_err();
    assert_eq!(connection.machine.lines, ["answer"]);
    assert_eq!(reason.message, "the server closed the connection (the server said: shutdown)");
    assert_eq!(connection.machine.received.join(";"), reason.message);
    connection.end((), &Fatal::gone("and again"));
    assert_eq!(connection.ended(), Some(&reason), "the first reason stays");
    assert_eq!(connection.next_step(), NextStep::Close);
}

#[test]
fn what_came_after_a_full_handler_before_a_loss_counts() {
    let mut connection = Lines::connection(Stage::Ready, None);
    connection.buffers.read_buffer.extend(b"answer\nFULL\nafter\nFULL\nERROR shutdown\n");
    connection.handle(()).unwrap();
    assert!(!connection.may_read());
    let reason = connection.lost((), &Fatal::gone("the connection to the server was lost")).unwrap_err();
    assert_eq!(connection.machine.lines, ["answer", "after"]);
    assert_eq!(reason.message, "the connection to the server was lost (the server said: shutdown)");
}

#[test]
fn a_protocol_violation_is_reported_before_the_end_of_input() {
    let mut connection = Lines::connection(Stage::Ready, None);
    connection.buffers.read_buffer.extend(b"BAD\n");
    let reason = connection.lost((), &Fatal::gone("the server closed the connection")).unwrap_err();
    assert_eq!(reason.kind, FatalKind::ProtocolViolation);
}

#[test]
fn no_closing_message_is_put_into_a_message_that_is_half_sent() {
    let mut connection = Lines::connection(Stage::Ready, None);
    connection.write_terminate();
    assert_eq!(written(&mut connection, usize::MAX), b"BYE\n");
    let mut connection = Lines::connection(Stage::Ready, None);
    connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
    connection.buffers.sent(3);
    connection.write_terminate();
    assert_eq!(written(&mut connection, usize::MAX), b"");
}

#[test]
fn the_closing_message_takes_the_place_of_what_was_not_sent() {
    let mut connection = Lines::connection(Stage::Ready, None);
    connection.buffers.write_buffer.tail().extend_from_slice(b"first\n");
    connection.buffers.sent(6);
    connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
    connection.write_terminate();
    assert_eq!(written(&mut connection, usize::MAX), b"BYE\n");
}

#[test]
fn a_redirected_session_starts_from_the_beginning() {
    let (mut first, mut second) = (Server::new(), Server::named("db2.example.com"));
    let both = first.pem.clone() + &second.pem;
    let mut connection = Lines::connection(Stage::Tls { request_first: false }, Some(trusting(&both)));
    connection.connected().unwrap();
    while !matches!(connection.next_step(), NextStep::Reconnect { .. }) {
        first.receive(&written(&mut connection, usize::MAX), 0).unwrap();
        let greeting: &[u8] = if first.received.is_empty() { b"" } else { b"MOVED db2.example.com 1526\nhalf a li" };
        let answer = first.send(greeting);
        read(&mut connection, &answer, usize::MAX).unwrap();
    }
    assert_eq!(connection.next_step(), NextStep::Reconnect { server: "other", host: "db2.example.com", port: 1526 });
    connection.buffers.write_buffer.tail().extend_from_slice(b"for the first server\n");
    connection.connected().unwrap();
    assert!(
        connection.buffers.tls().is_some_and(|tls| tls.is_handshaking()) && connection.buffers.read_buffer.is_empty()
    );
    while connection.next_step() != NextStep::Ready {
        second.receive(&written(&mut connection, usize::MAX), 0).unwrap();
        let greeting: &[u8] = if second.received.is_empty() { b"" } else { b"HELLO\n" };
        let answer = second.send(greeting);
        read(&mut connection, &answer, usize::MAX).unwrap();
    }
    assert_eq!(second.received, b"login\n");
}

#[test]
fn nothing_is_read_while_a_response_handler_is_full() {
    let mut connection = Lines::connection(Stage::Ready, None);
    assert!(connection.may_read() && !connection.is_due());
    read(&mut connection, b"one\nFULL\ntwo\n", usize::MAX).unwrap();
    assert!(!connection.may_read() && !connection.is_due());
    assert_eq!(connection.machine.lines, ["one"]);
    connection.machine.resume(1);
    assert!(connection.may_read() && connection.is_due());
    connection.handle(()).unwrap();
    assert!(!connection.is_due());
    assert_eq!(connection.machine.lines, ["one", "two"]);
}

#[test]
fn how_long_nothing_may_move_depends_on_what_is_waited_for() {
    let mut connection = Lines::connection(Stage::Ready, None);
    let limits = Limits { read: Some(Duration::from_secs(5)), write: Some(Duration::from_secs(2)) };
    assert_eq!(connection.silence(Limits::default()), None);
    let silence = connection.silence(limits).unwrap();
    assert_eq!((silence.limit, silence.reason().kind), (Duration::from_secs(5), FatalKind::NoAnswer));
    connection.buffers.write_buffer.tail().push(b'x');
    let silence = connection.silence(limits).unwrap();
    assert!(silence.limit == Duration::from_secs(2) && silence.reason().message.contains("write_timeout=2 s"));
}
