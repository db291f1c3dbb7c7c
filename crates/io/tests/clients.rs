//! The blocking client and the one on tokio, with a protocol of lines: both do the same.

#[path = "../../connection/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use headrace_connection::Connection;
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{CancelledRequest, Fatal, FatalKind, Session as _};
use headrace_io::{Address, TcpOptions, blocking, tokio as on_tokio};
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use support::{Lines, Server, Stage, trusting};

const PATIENCE: Duration = Duration::from_secs(20);

/// Opens a session, sends a line, and returns the received lines once there are `count`.
type Asking = fn(&Address, Connection<Lines>, usize) -> Result<Vec<String>, Fatal>;

const LOOPS: [Asking; 2] = [
    |address, connection, wanted| {
        let (options, deadline) = (TcpOptions::default(), Some(Instant::now() + PATIENCE));
        let mut client = blocking::Client::open(address, &options, connection, (), deadline)?;
        client.connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
        assert!(client.drive((), deadline, |connection| connection.machine.lines.len() >= wanted)?);
        let lines = std::mem::take(&mut client.connection.machine.lines);
        client.close(());
        Ok(lines)
    },
    |address, connection, wanted| {
        run(async {
            let mut client = on_tokio::Client::open(address, &TcpOptions::default(), connection, ()).await?;
            client.connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
            assert!(client.drive((), |connection| connection.machine.lines.len() >= wanted).await?);
            let lines = std::mem::take(&mut client.connection.machine.lines);
            client.close(());
            Ok(lines)
        })
    },
];

fn plain() -> Connection<Lines> {
    Lines::connection(Stage::Greeting, None)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await }).expect("it takes too long")
}

/// Serves one connection.
fn serve<T: Send + 'static>(talk: impl FnOnce(TcpStream) -> T + Send + 'static) -> (Address, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    (address, thread::spawn(move || talk(listener.accept().unwrap().0)))
}

/// Sends a greeting, answers a line, and returns everything received.
fn answer(mut stream: TcpStream) -> String {
    stream.write_all(b"HELLO\n").unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut all = String::new();
    reader.read_line(&mut all).unwrap();
    stream.write_all(b"answer\n").unwrap();
    reader.read_to_string(&mut all).unwrap();
    all
}

#[test]
fn a_session_is_opened_used_and_closed_in_an_orderly_way() {
    for ask in LOOPS {
        let (address, server) = serve(answer);
        assert_eq!(ask(&address, plain(), 1).unwrap(), ["answer"]);
        assert_eq!(server.join().unwrap(), "question\nBYE\n");
    }
}

/// Takes a login, and the question after it; returns both.
fn greet(client: &mut (impl Read + Write)) -> [u8; 15] {
    let mut all = [0; 15];
    client.read_exact(&mut all[..6]).unwrap();
    client.write_all(b"HELLO\n").unwrap();
    client.read_exact(&mut all[6..]).unwrap();
    all
}

#[test]
fn a_session_is_encrypted_if_the_protocol_requests_it() {
    for ask in LOOPS {
        let Server { mut tls, pem, .. } = Server::new();
        let (address, server) = serve(move |mut stream| {
            let mut encrypted = rustls::Stream::new(&mut tls, &mut stream);
            let all = greet(&mut encrypted);
            encrypted.write_all(b"answer\n").unwrap();
            let mut rest = Vec::new();
            encrypted.read_to_end(&mut rest).unwrap();
            [&all[..], &rest].concat()
        });
        let connection = Lines::connection(Stage::Tls { request_first: false }, Some(trusting(&pem)));
        assert_eq!(ask(&address, connection, 1).unwrap(), ["answer"]);
        assert_eq!(server.join().unwrap(), b"login\nquestion\nBYE\n", "TLS was ended in an orderly way");
    }
}

#[test]
fn the_end_of_tls_is_the_end_of_input_where_the_socket_stays_open() {
    for ask in LOOPS {
        let Server { mut tls, pem, .. } = Server::new();
        let (received, keep_open) = mpsc::channel::<()>();
        let (address, server) = serve(move |mut stream| {
            greet(&mut rustls::Stream::new(&mut tls, &mut stream));
            // In one piece.
            tls.writer().write_all(b"answer\nERROR shutdown\n").unwrap();
            tls.send_close_notify();
            let mut last = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut last).unwrap();
            }
            stream.write_all(&last).unwrap();
            let _ = keep_open.recv();
        });
        let connection = Lines::connection(Stage::Tls { request_first: false }, Some(trusting(&pem)));
        let reason = ask(&address, connection, 2).unwrap_err();
        assert!(reason.message.contains("the server said: shutdown"), "{reason}");
        drop(received);
        server.join().unwrap();
    }
}

#[test]
fn an_untrusted_peer_is_refused_with_an_alert() {
    for ask in LOOPS {
        let (Server { mut tls, .. }, others) = (Server::new(), Server::new().pem);
        let (address, server) =
            serve(move |mut stream| rustls::Stream::new(&mut tls, &mut stream).read(&mut [0]).unwrap_err().to_string());
        let connection = Lines::connection(Stage::Tls { request_first: false }, Some(trusting(&others)));
        assert_eq!(ask(&address, connection, 1).unwrap_err().kind, FatalKind::TlsRefused);
        let received = server.join().unwrap();
        assert!(received.contains("alert"), "{received}");
    }
}

#[test]
fn a_session_begins_again_where_a_server_names_another_one() {
    for ask in LOOPS {
        let (there, server) = serve(answer);
        let Address::Tcp(place) = there else { unreachable!("it listens on TCP") };
        let (here, first) = serve(move |mut stream| {
            stream.write_all(format!("MOVED localhost {}\n", place.port()).as_bytes()).unwrap();
            let mut rest = String::new();
            stream.read_to_string(&mut rest).unwrap();
            rest
        });
        assert_eq!(ask(&here, plain(), 1).unwrap(), ["answer"]);
        assert_eq!((first.join().unwrap(), server.join().unwrap()), (String::new(), "question\nBYE\n".into()));
    }
}

#[test]
fn redirects_in_a_circle_end_the_session() {
    for ask in LOOPS {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.write_all(format!("MOVED 127.0.0.1 {}\n", place.port()).as_bytes());
            }
        });
        let reason = ask(&Address::Tcp(place), plain(), 1).unwrap_err();
        assert!(reason.kind == FatalKind::ConnectFailed && reason.message.contains("redirect"), "{reason}");
    }
}

#[test]
fn the_last_message_of_a_server_is_reported() {
    for ask in LOOPS {
        let (address, server) = serve(|mut stream| stream.write_all(b"HELLO\nfirst\nERROR shutdown\n").unwrap());
        let reason = ask(&address, plain(), 2).unwrap_err();
        assert_eq!(reason.kind, FatalKind::ConnectionLost);
        assert!(reason.message.contains("the server said: shutdown"), "{reason}");
        server.join().unwrap();
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    for ask in LOOPS {
        let address = Address::Tcp(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
        let reason = ask(&address, plain(), 1).unwrap_err();
        assert_eq!(reason.kind, FatalKind::ConnectFailed);
        assert!(reason.message.contains(&address.to_string()), "{reason}");
    }
}

#[test]
fn a_deadline_leaves_a_blocking_session_usable() {
    let (address, server) = serve(answer);
    let (options, soon) = (TcpOptions::default(), || Some(Instant::now() + Duration::from_millis(50)));
    let deadline = Some(Instant::now() + PATIENCE);
    let mut client = blocking::Client::open(&address, &options, plain(), (), deadline).unwrap();
    assert!(!client.drive((), soon(), |connection| !connection.machine.lines.is_empty()).unwrap());
    client.connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
    assert!(client.drive((), deadline, |connection| !connection.machine.lines.is_empty()).unwrap());
    client.close(());
    server.join().unwrap();
}

#[test]
fn a_future_that_is_dropped_loses_nothing() {
    let (address, server) = serve(answer);
    run(async {
        let mut client = on_tokio::Client::open(&address, &TcpOptions::default(), plain(), ()).await.unwrap();
        let waiting = client.drive((), |connection| !connection.machine.lines.is_empty());
        tokio::time::timeout(Duration::from_millis(50), waiting).await.unwrap_err();
        client.connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
        assert!(client.drive((), |connection| !connection.machine.lines.is_empty()).await.unwrap());
        client.close(());
    });
    assert_eq!(server.join().unwrap(), "question\nBYE\n");
}

#[test]
fn a_peer_that_answers_before_it_reads_on_does_not_block_a_large_batch() {
    let batch = [&b"-".repeat(99)[..], b"\n"].concat().repeat(WRITE_BUFFER_HIGH_BYTES / 5);
    let (address, server) = serve(|mut stream| {
        stream.write_all(b"HELLO\n").unwrap();
        let mut block = vec![0; 8192];
        // It ends when the client is gone, whether its close_notify can be answered or not.
        while let Ok(n @ 1..) = stream.read(&mut block)
            && stream.write_all(&block[..n]).is_ok()
        {}
    });
    run(async {
        let mut client = on_tokio::Client::open(&address, &TcpOptions::default(), plain(), ()).await.unwrap();
        client.connection.buffers.write_buffer.tail().extend_from_slice(&batch);
        let all = batch.len() / 100;
        assert!(client.drive((), |connection| connection.machine.lines.len() == all).await.unwrap());
        client.close(());
    });
    server.join().unwrap();
}

/// Opens a session with a server that then closes it, and drives a request for which nothing has to be sent.
type Unsent = fn(&Address, JoinHandle<()>) -> Result<bool, Fatal>;

const UNSENT: [Unsent; 2] = [
    |address, server| {
        let (options, deadline) = (TcpOptions::default(), Some(Instant::now() + PATIENCE));
        let mut client = blocking::Client::open(address, &options, plain(), (), deadline)?;
        server.join().unwrap();
        client.connection.machine.unsent = true;
        client.drive((), deadline, |connection| !connection.machine.received.is_empty())
    },
    |address, server| {
        run(async {
            let mut client = on_tokio::Client::open(address, &TcpOptions::default(), plain(), ()).await?;
            server.join().unwrap();
            client.connection.machine.unsent = true;
            client.drive((), |connection| !connection.machine.received.is_empty()).await
        })
    },
];

#[test]
fn a_request_for_which_nothing_has_to_be_sent_is_over_before_anything_is_received() {
    for drive in UNSENT {
        let (address, server) = serve(|mut stream| stream.write_all(b"HELLO\n").unwrap());
        assert!(drive(&address, server).unwrap());
    }
}

/// Opens a session with a cancelled request that was left to it, and waits for its answer and another one; returns what is
/// left then.
type Leaving = fn(&Address, Duration) -> Result<Option<CancelledRequest>, Fatal>;

const LEAVING: [Leaving; 2] = [
    |address, limit| {
        let (options, deadline) = (TcpOptions::default(), Some(Instant::now() + PATIENCE));
        let mut client = blocking::Client::open(address, &options, plain(), (), deadline)?;
        client.connection.machine.leave_cancelled(CancelledRequest { request: Some(1), until: Instant::now() + limit });
        for answers in 1..=2 {
            client.connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
            assert!(client.drive((), deadline, |connection| connection.machine.lines.len() == answers)?);
        }
        Ok(client.connection.machine.left())
    },
    |address, limit| {
        run(async {
            let mut client = on_tokio::Client::open(address, &TcpOptions::default(), plain(), ()).await?;
            client
                .connection
                .machine
                .leave_cancelled(CancelledRequest { request: Some(1), until: Instant::now() + limit });
            for answers in 1..=2 {
                client.connection.buffers.write_buffer.tail().extend_from_slice(b"question\n");
                assert!(client.drive((), |connection| connection.machine.lines.len() == answers).await?);
            }
            Ok(client.connection.machine.left())
        })
    },
];

#[test]
fn a_cancelled_request_that_was_left_is_over_once_it_is_answered() {
    for leave in LEAVING {
        let (address, server) = serve(|mut stream| {
            stream.write_all(b"HELLO\n").unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            for answer in ["cancelled\n", "answer\n"] {
                reader.read_line(&mut String::new()).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
            reader.read_line(&mut String::new()).unwrap();
        });
        assert_eq!(leave(&address, PATIENCE).unwrap(), None);
        server.join().unwrap();
    }
}

#[test]
fn a_session_ends_if_a_cancelled_request_that_was_left_is_not_answered_in_time() {
    for leave in LEAVING {
        let (address, server) = serve(|mut stream| {
            stream.write_all(b"HELLO\n").unwrap();
            let mut all = String::new();
            stream.read_to_string(&mut all).unwrap();
            all
        });
        let reason = leave(&address, Duration::from_millis(10)).unwrap_err();
        assert_eq!(reason, Fatal::cancel_unanswered());
        server.join().unwrap();
    }
}

type Cancel = fn(&Address, Vec<u8>) -> Result<(), Fatal>;

#[test]
fn a_cancel_message_is_over_once_the_server_has_received_it() {
    let cancels: [Cancel; 2] = [
        |address, message| blocking::cancel(address, &TcpOptions::default(), message, Some(Instant::now() + PATIENCE)),
        |address, message| run(on_tokio::cancel(address, &TcpOptions::default(), message, &mut false)),
    ];
    for cancel in cancels {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let (taken, over) = mpsc::channel();
        let server = thread::spawn(move || {
            let mut message = [0; 6];
            let (mut peer, _) = listener.accept().unwrap();
            peer.read_exact(&mut message).unwrap();
            taken.send(()).unwrap();
            message
        });
        cancel(&address, b"cancel".to_vec()).unwrap();
        assert!(over.try_recv().is_ok(), "the server closes the connection when it has the message");
        assert_eq!(&server.join().unwrap(), b"cancel");
    }
}

/// A server that goes away without an answer may have read the message, and act on it later.
#[test]
fn a_cancel_message_that_is_not_answered_is_in_doubt() {
    let refuse = |stream: TcpStream| {
        // What it has not read resets the connection.
        stream.peek(&mut [0; 6]).unwrap();
    };
    let (address, server) = serve(refuse);
    let deadline = Some(Instant::now() + PATIENCE);
    let lost = blocking::cancel(&address, &TcpOptions::default(), b"cancel".to_vec(), deadline).unwrap_err();
    assert_eq!(lost.kind, FatalKind::NoAnswer, "{lost:?}");
    server.join().unwrap();
    let mut is_doubtful = false;
    let (address, server) = serve(refuse);
    run(on_tokio::cancel(&address, &TcpOptions::default(), b"cancel".to_vec(), &mut is_doubtful)).unwrap_err();
    assert!(is_doubtful);
    server.join().unwrap();
}
