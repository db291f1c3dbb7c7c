//! A link on real sockets.

use headrace_connection::Buffers;
use headrace_core::FatalKind;
use headrace_core::ReadBuffer;
use headrace_io::limits::{TICK, WRITE_BUFFER_HIGH_BYTES};
use headrace_io::{Address, Connecting, Link, Liveness, Progress, TcpOptions};
use socket2::{SockRef, Socket};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// One end of a connection within the process: a Unix socket where the system has pairs of them, or TCP.
#[cfg(unix)]
type Local = UnixStream;
#[cfg(windows)]
type Local = TcpStream;

#[cfg(unix)]
fn both_ends() -> (Local, Local) {
    UnixStream::pair().unwrap()
}

#[cfg(windows)]
fn both_ends() -> (Local, Local) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (local, listener.accept().unwrap().0)
}

fn local_pair() -> (Link, Local) {
    let (local, remote) = both_ends();
    (Link::from_socket(Socket::from(local)).unwrap(), remote)
}

fn tcp_pair() -> (Link, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let link = Link::connect(&address, Some(Duration::from_secs(5)), &TcpOptions::default()).unwrap();
    (link, listener.accept().unwrap().0)
}

/// A path for a Unix socket that is removed after the test.
#[cfg(unix)]
struct SocketPath(PathBuf);

#[cfg(unix)]
impl SocketPath {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("headrace-io-{}-{name}", std::process::id())))
    }
}

#[cfg(unix)]
impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

fn take(read_buffer: &mut ReadBuffer, into: &mut Vec<u8>) {
    into.extend_from_slice(read_buffer.unread());
    read_buffer.consume(read_buffer.unread().len());
}

/// Exchanges until `len` bytes were received, or `limit` has passed.
fn gather(link: &mut Link, buffers: &mut Buffers, len: usize, limit: Duration) -> Vec<u8> {
    let mut received = Vec::with_capacity(len);
    let deadline = Instant::now() + limit;
    while received.len() < len {
        let progress = link.exchange(buffers, Some(deadline), 0).unwrap();
        assert!(!matches!(progress, Progress::Timeout | Progress::Eof), "{progress:?} after {} bytes", received.len());
        take(&mut buffers.read_buffer, &mut received);
    }
    received
}

#[test]
fn an_echo_larger_than_every_buffer_does_not_deadlock() {
    const LEN: usize = 64 * 1024 * 1024;
    fn echo(mut peer: impl Read + Write + Send + 'static) -> thread::JoinHandle<()> {
        // A peer that writes before it reads on, as a database does with the replies to a batch.
        thread::spawn(move || {
            let mut block = vec![0; 8192];
            loop {
                match peer.read(&mut block).unwrap() {
                    0 => break,
                    n => peer.write_all(&block[..n]).unwrap(),
                }
            }
        })
    }
    let (unix, unix_peer) = local_pair();
    let (tcp, tcp_peer) = tcp_pair();
    // TCP over loopback crawls by probe timers when its buffers are smaller than its segments.
    let small = if cfg!(unix) { 4096 } else { 128 * 1024 };
    for (end, size) in [(SockRef::from(&unix_peer), small), (SockRef::from(&tcp_peer), 128 * 1024)] {
        end.set_send_buffer_size(size).unwrap();
        end.set_recv_buffer_size(size).unwrap();
    }
    let sent = pattern(LEN);
    for (mut link, peer) in [(unix, echo(unix_peer)), (tcp, echo(tcp_peer))] {
        let mut buffers = Buffers::new();
        buffers.write_buffer.tail().extend_from_slice(&sent);
        assert!(gather(&mut link, &mut buffers, LEN, Duration::from_secs(120)) == sent);
        drop(link);
        peer.join().unwrap();
    }
}

#[test]
fn both_ends_may_talk_at_once() {
    const LEN: usize = 16 * 1024 * 1024;
    let (local, remote) = both_ends();
    for end in [SockRef::from(&local), SockRef::from(&remote)] {
        end.set_send_buffer_size(4096).unwrap();
    }
    let talk = |stream: Local| {
        thread::spawn(move || {
            let mut link = Link::from_socket(Socket::from(stream)).unwrap();
            let mut buffers = Buffers::new();
            buffers.write_buffer.tail().extend_from_slice(&pattern(LEN));
            let received = gather(&mut link, &mut buffers, LEN, Duration::from_secs(60));
            assert!(received == pattern(LEN));
            while !buffers.write_buffer.is_empty() {
                link.send(&mut buffers).unwrap();
            }
            link
        })
    };
    let (one, other) = (talk(local), talk(remote));
    // Neither is dropped before both have all.
    let _ends = (one.join().unwrap(), other.join().unwrap());
}

#[test]
fn a_sender_with_more_to_send_does_not_wait_for_a_reply() {
    // The peer answers only at the end, as a database does whose own buffer does not fill before.
    const ROUNDS: usize = 20;
    let (mut link, mut peer) = tcp_pair();
    let reader = thread::spawn(move || {
        let mut all = vec![0; ROUNDS * WRITE_BUFFER_HIGH_BYTES];
        peer.read_exact(&mut all).unwrap();
        peer.write_all(b"done").unwrap();
        peer
    });
    let mut buffers = Buffers::new();
    let mut rounds = 0;
    let mut ticks = 0;
    while buffers.read_buffer.is_empty() {
        if buffers.write_buffer.is_empty() && rounds < ROUNDS {
            buffers.write_buffer.tail().resize(WRITE_BUFFER_HIGH_BYTES, 7);
            rounds += 1;
        }
        ticks += usize::from(link.exchange(&mut buffers, None, 0).unwrap() == Progress::Tick);
    }
    assert_eq!(buffers.read_buffer.unread(), b"done");
    assert!(ticks < ROUNDS / 2, "{ticks} ticks were slept through");
    reader.join().unwrap();
}

#[test]
fn an_answer_that_is_there_is_received_with_the_next_part_of_a_batch() {
    let (mut link, mut peer) = local_pair();
    let mut buffers = Buffers::new();
    peer.write_all(b"early").unwrap();
    let drain = thread::spawn(move || {
        let mut all = vec![0; WRITE_BUFFER_HIGH_BYTES];
        peer.read_exact(&mut all).unwrap();
        peer
    });
    buffers.write_buffer.tail().resize(WRITE_BUFFER_HIGH_BYTES, 7);
    while !buffers.write_buffer.is_empty() || buffers.read_buffer.is_empty() {
        link.exchange(&mut buffers, None, 0).unwrap();
    }
    assert_eq!(buffers.read_buffer.unread(), b"early");
    drain.join().unwrap();
}

#[test]
fn deadlines_and_ticks_come_in_time() {
    let (mut link, _peer) = local_pair();
    let mut buffers = Buffers::new();
    for wait in [0, 5, 50, 250] {
        let start = Instant::now();
        let deadline = start + Duration::from_millis(wait);
        while link.exchange(&mut buffers, Some(deadline), 0).unwrap() != Progress::Timeout {
            assert!(start.elapsed() < Duration::from_secs(5));
        }
        assert!(start.elapsed() >= Duration::from_millis(wait) && start.elapsed() < Duration::from_millis(wait + 150));
    }
    let start = Instant::now();
    assert_eq!(link.exchange(&mut buffers, None, 0).unwrap(), Progress::Tick);
    assert!(start.elapsed() >= TICK / 2 && start.elapsed() < TICK * 2);
}

// Windows' TCP takes whatever one call sends.
#[cfg(unix)]
#[test]
fn a_peer_that_reads_nothing_does_not_delay_the_deadline() {
    let (mut link, _peer) = local_pair();
    let mut buffers = Buffers::new();
    buffers.write_buffer.tail().resize(16 * 1024 * 1024, 7);
    let start = Instant::now();
    let deadline = Some(start + Duration::from_millis(150));
    while link.exchange(&mut buffers, deadline, 0).unwrap() != Progress::Timeout {
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    assert!(!buffers.write_buffer.is_empty());
    let start = Instant::now();
    assert_eq!(link.send(&mut buffers).unwrap(), Progress::Tick);
    assert!(start.elapsed() < TICK * 2);
}

#[test]
fn liveness_is_checked_without_a_round_trip() {
    let (mut link, mut peer) = local_pair();
    let mut buffers = Buffers::new();
    assert_eq!(link.peek(&buffers), Liveness::Quiet);
    peer.write_all(b"x").unwrap();
    assert_eq!(link.peek(&buffers), Liveness::Data);
    assert_eq!(link.exchange(&mut buffers, None, 0).unwrap(), Progress::Received);
    assert_eq!(buffers.read_buffer.unread(), b"x");
    drop(peer);
    assert_eq!(link.peek(&buffers), Liveness::Closed);
    assert_eq!(link.exchange(&mut buffers, None, 0).unwrap(), Progress::Eof);
    assert_eq!(link.exchange(&mut buffers, None, 0).unwrap(), Progress::Eof);
}

#[test]
fn a_reset_is_an_error() {
    let (mut link, peer) = tcp_pair();
    SockRef::from(&peer).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    let error = link.exchange(&mut Buffers::new(), None, 0).unwrap_err();
    assert_eq!(error.kind, FatalKind::ConnectionLost);
    assert_eq!(link.peek(&Buffers::new()), Liveness::Closed);
}

// A reset of TCP takes with it what was not received yet.
#[cfg(unix)]
#[test]
fn what_the_peer_sent_last_is_received_although_sending_fails() {
    let (mut link, mut peer) = local_pair();
    peer.write_all(b"last words").unwrap();
    drop(peer);
    let mut buffers = Buffers::new();
    buffers.write_buffer.tail().extend_from_slice(b"question");
    let error = link.exchange(&mut buffers, None, 0).unwrap_err();
    assert_eq!(error.kind, FatalKind::ConnectionLost);
    assert_eq!(buffers.read_buffer.unread(), b"last words");
}

#[test]
fn a_farewell_is_sent_and_does_not_wait() {
    let (link, mut peer) = local_pair();
    let mut buffers = Buffers::new();
    buffers.write_buffer.tail().extend_from_slice(b"bye");
    link.farewell(buffers.write_buffer.pending());
    let mut received = Vec::new();
    peer.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"bye");
    // Over TCP it leaves with the end, which comes at once, in one segment.
    let (link, mut peer) = tcp_pair();
    link.farewell(b"bye");
    received.clear();
    peer.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"bye");
    drop(link);
    let (link, peer) = local_pair();
    let (sender, returned) = mpsc::channel();
    let farewell = thread::spawn(move || {
        link.farewell(&vec![7; 16 * 1024 * 1024]);
        sender.send(()).unwrap();
    });
    // The peer does not read: waiting for it would not end. No shorter limit, as Wine is slow on a busy machine.
    returned.recv_timeout(Duration::from_secs(60)).unwrap();
    farewell.join().unwrap();
    drop(peer);
}

#[test]
fn options_are_set_on_the_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = TcpOptions {
        keepalive: true,
        keepalive_idle: Some(Duration::from_secs(77)),
        keepalive_interval: Some(Duration::from_secs(7)),
        keepalive_count: Some(5),
        user_timeout: Some(Duration::from_secs(9)),
    };
    let link = Link::connect(&Address::Tcp(listener.local_addr().unwrap()), None, &options).unwrap();
    let socket = SockRef::from(&link);
    assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
    // Windows takes them, and has no call that returns them.
    #[cfg(unix)]
    assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(77));
    #[cfg(unix)]
    assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(7));
    assert_eq!(socket.tcp_keepalive_retries().unwrap(), 5);
    #[cfg(target_os = "linux")]
    assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(9)));
}

#[test]
fn a_closed_port_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    drop(listener);
    for timeout in [None, Some(Duration::from_secs(5))] {
        let error = Link::connect(&address, timeout, &TcpOptions::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_path_without_a_socket_and_one_that_is_too_long_are_errors() {
    let absent = Address::Unix("/nonexistent/socket".into());
    let error = Link::connect(&absent, None, &TcpOptions::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let long = Address::Unix(format!("/{}", "x".repeat(200)).into());
    Link::connect(&long, None, &TcpOptions::default()).unwrap_err();
}

/// A listener whose queue is full, so that a connection stays pending.
fn full_listener() -> (Socket, Vec<Socket>, Address) {
    let listener = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let waiting = (0..4)
        .map(|_| {
            let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            let _ = socket.connect(&address);
            socket
        })
        .collect();
    (listener, waiting, Address::Tcp(address.as_socket().unwrap()))
}

#[test]
fn a_connect_comes_back_for_interrupts_and_ends_at_its_deadline() {
    let (_listener, _waiting, address) = full_listener();
    let start = Instant::now();
    let mut connecting = Connecting::new(&address, &TcpOptions::default()).unwrap();
    assert!(connecting.step(None).unwrap().is_none());
    assert!(start.elapsed() < TICK * 2, "{:?}", start.elapsed());
    let deadline = Some(Instant::now() + Duration::from_millis(250));
    let error = loop {
        let step = Instant::now();
        match connecting.step(deadline) {
            Ok(done) => assert!(done.is_none() && step.elapsed() < TICK * 2),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    connecting.step(None).unwrap_err();
    let start = Instant::now();
    let error = Link::connect(&address, Some(Duration::from_millis(50)), &TcpOptions::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(start.elapsed() < Duration::from_millis(200));
}

#[cfg(unix)]
#[test]
fn a_unix_socket_whose_queue_is_full_is_waited_for() {
    let path = SocketPath::new("queue");
    let listener = Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    listener.bind(&socket2::SockAddr::unix(&path.0).unwrap()).unwrap();
    listener.listen(0).unwrap();
    let address = Address::Unix(path.0.clone());
    let _first = Link::connect(&address, None, &TcpOptions::default()).unwrap();
    let error = Link::connect(&address, Some(Duration::from_millis(50)), &TcpOptions::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    let listener = UnixListener::from(std::os::fd::OwnedFd::from(listener));
    let accepting = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        [listener.accept().unwrap().0, listener.accept().unwrap().0]
    });
    Link::connect(&address, Some(Duration::from_secs(5)), &TcpOptions::default()).unwrap();
    accepting.join().unwrap();
}

#[test]
fn a_timeout_beyond_all_clocks_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    Link::connect(&address, Some(Duration::MAX), &TcpOptions::default()).unwrap();
}

#[test]
fn half_a_connection_still_carries_what_is_under_way() {
    let (mut link, mut peer) = tcp_pair();
    peer.write_all(b"answer").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    let mut buffers = Buffers::new();
    assert_eq!(link.exchange(&mut buffers, None, 0).unwrap(), Progress::Received);
    assert_eq!(buffers.read_buffer.unread(), b"answer");
    assert_eq!(link.exchange(&mut buffers, None, 0).unwrap(), Progress::Eof);
}
