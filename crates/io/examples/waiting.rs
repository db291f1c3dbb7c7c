//! Compares ways to wait for a short answer: the measurement behind `Link::exchange`.
//!
//!     cargo run --release -p headrace-io --example waiting
//!
//! A question of 60 bytes and an answer of 100 travel between two threads, over loopback TCP and a Unix socket. The
//! ways take turns, and the median of the rounds is printed in microseconds per question and answer.
#![forbid(unsafe_code)]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

const QUESTION: usize = 60;
const ANSWER: usize = 100;
const ROUNDS: usize = 31;
const PER_ROUND: u32 = 2_000;

/// Waits for an answer in one of the ways.
type Way = fn(&Socket, &mut [u8]) -> io::Result<usize>;

fn wait_until_readable(socket: &Socket) -> io::Result<()> {
    let limit = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&limit))?;
    Ok(())
}

fn blocking_recv(socket: &Socket, answer: &mut [u8]) -> io::Result<usize> {
    Ok(recv(socket, answer, RecvFlags::empty())?.0)
}

fn poll_then_recv(socket: &Socket, answer: &mut [u8]) -> io::Result<usize> {
    wait_until_readable(socket)?;
    Ok(recv(socket, answer, RecvFlags::DONTWAIT)?.0)
}

fn try_poll_recv(socket: &Socket, answer: &mut [u8]) -> io::Result<usize> {
    match recv(socket, &mut *answer, RecvFlags::DONTWAIT) {
        Err(Errno::AGAIN) => poll_then_recv(socket, answer),
        other => Ok(other?.0),
    }
}

fn echo(mut peer: impl Read + Write + Send + 'static) -> thread::JoinHandle<io::Result<()>> {
    thread::spawn(move || {
        let (mut question, answer) = ([0; QUESTION], [7; ANSWER]);
        while peer.read_exact(&mut question).is_ok() {
            peer.write_all(&answer)?;
        }
        Ok(())
    })
}

fn round(socket: &Socket, way: Way) -> io::Result<f64> {
    let (question, mut answer) = ([7; QUESTION], [0; 4096]);
    let start = Instant::now();
    for _ in 0..PER_ROUND {
        send(socket, &question, SendFlags::DONTWAIT)?;
        let mut received = 0;
        while received < ANSWER {
            received += way(socket, &mut answer)?;
        }
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(PER_ROUND))
}

fn measure(name: &str, socket: &Socket) -> io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let ways: [(&str, Way); 3] =
        [("blocking recv", blocking_recv), ("poll, recv", poll_then_recv), ("recv, poll, recv", try_poll_recv)];
    let mut times = [const { Vec::new() }; 3];
    for turn in 0..ROUNDS {
        for i in 0..ways.len() {
            let i = (turn + i) % ways.len();
            times[i].push(round(socket, ways[i].1)?);
        }
    }
    for ((way, _), times) in ways.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let quartiles = (times[ROUNDS / 4], times[ROUNDS / 2], times[ROUNDS * 3 / 4]);
        println!("{name:5} {way:17} {:6.2} us   (quartiles {:.2}, {:.2})", quartiles.1, quartiles.0, quartiles.2);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let local = TcpStream::connect(listener.local_addr()?)?;
    let remote = listener.accept()?.0;
    local.set_nodelay(true)?;
    remote.set_nodelay(true)?;
    let (unix_ours, unix_theirs) = UnixStream::pair()?;
    let pairs = [
        ("TCP", Socket::from(OwnedFd::from(local)), echo(remote)),
        ("Unix", Socket::from(OwnedFd::from(unix_ours)), echo(unix_theirs)),
    ];
    for (name, socket, peer) in pairs {
        measure(name, &socket)?;
        drop(socket);
        peer.join().map_err(|_| "the echo panicked")??;
    }
    Ok(())
}
