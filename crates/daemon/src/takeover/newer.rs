//! The daemon that starts, and takes over from one that serves.

use super::older::MOST_SOCKETS;
use super::{Answer, Handed, Line, Order, Question, UPGRADE};
use crate::gate::Paused;
use crate::limits::{ANSWER, FAREWELL, REQUEST_BYTES, TAKEOVER};
use crate::lock;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::geteuid;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

/// What was received.
#[derive(Debug)]
pub struct Taken {
    /// What the older daemon has sent.
    pub handed: Handed,
    /// Where clients connect.
    pub clients: UnixListener,
    /// The second socket.
    pub control: UnixListener,
    /// The lock of both, held.
    pub lock: File,
    /// Those of TCP, with their addresses as they were configured.
    pub tcp: Vec<(String, TcpListener)>,
}

/// The conversation with the older daemon, before it has given the sockets up.
#[derive(Debug)]
pub struct Offer(UnixStream);

/// Asks the daemon that serves the second socket `control` for its sockets; `None` if none serves.
///
/// # Errors
/// Why there are none.
pub async fn ask(control: &Path) -> Result<Option<(Taken, Offer)>, String> {
    let Ok(mut stream) = UnixStream::connect(control).await else { return Ok(None) };
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw()) {
        return Err(format!("{} belongs to a process of another user", control.display()));
    }
    let answer = async {
        let request =
            format!("POST /takeover HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: {UPGRADE}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        receive(&stream).await
    };
    let (text, sockets) = match timeout(TAKEOVER, answer).await {
        Ok(received) => received.map_err(|error| format!("the daemon that serves gives no sockets: {error}"))?,
        Err(_) => return Err(format!("the daemon that serves has given no sockets within {TAKEOVER:?}")),
    };
    let handed = read(&text)?;
    let missing = || "the daemon that serves has given too few sockets".to_owned();
    if sockets.len() != handed.addresses.len() + 3 {
        return Err(missing());
    }
    let mut sockets = sockets.into_iter();
    let mut next = || sockets.next().ok_or_else(missing);
    let (clients, control, lock) = (next()?.into(), next()?.into(), next()?.into());
    let tcp = handed.addresses.iter().cloned().zip(sockets.map(TcpListener::from)).collect();
    Ok(Some((Taken { handed, clients, control, lock, tcp }, Offer(stream))))
}

/// Receives up to the end of the answer, with the sockets that come with it.
async fn receive(stream: &UnixStream) -> io::Result<(String, Vec<OwnedFd>)> {
    let (mut text, mut sockets) = (Vec::new(), Vec::new());
    loop {
        let mut piece = [0; REQUEST_BYTES];
        let read = stream
            .async_io(Interest::READABLE, || {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_SOCKETS))];
                let mut ancillary = RecvAncillaryBuffer::new(&mut space);
                let received = loop {
                    match recvmsg(stream, &mut [IoSliceMut::new(&mut piece)], &mut ancillary, RecvFlags::empty()) {
                        Err(Errno::INTR) => {}
                        received => break received?,
                    }
                };
                for message in ancillary.drain() {
                    if let RecvAncillaryMessage::ScmRights(rights) = message {
                        sockets.extend(rights);
                    }
                }
                Ok(received.bytes)
            })
            .await?;
        text.extend_from_slice(&piece[..read]);
        // The answer of a refusal has its text after the head, and then the connection ends.
        if read == 0 || text.starts_with(b"HTTP/1.1 101") && text.ends_with(b"\n") && !text.ends_with(b"\r\n") {
            break;
        }
    }
    // A program that the daemon runs is not to have them.
    for socket in &sockets {
        fcntl_setfd(socket, FdFlags::CLOEXEC)?;
    }
    Ok((String::from_utf8_lossy(&text).into_owned(), sockets))
}

fn read(text: &str) -> Result<Handed, String> {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    if !head.starts_with("HTTP/1.1 101 ") || !head.contains(UPGRADE) {
        let status = head.lines().next().unwrap_or_default();
        let said =
            if status.contains(" 409 ") { body.trim() } else { "it cannot: it is of another version; stop it first" };
        return Err(format!("the daemon that serves gives no sockets: {said}"));
    }
    serde_json::from_str(body).map_err(|error| format!("the daemon that serves: {error}"))
}

impl Offer {
    /// This daemon is ready to serve. Returns when the older one does not accept any more, with what it has paused since it
    /// has handed over; `None` if it has ended.
    ///
    /// # Errors
    /// Another one was faster, or this one too slow.
    pub async fn accept(mut self, before: Before) -> Result<Option<(Arc<Predecessor>, Option<Paused>)>, String> {
        if self.0.write_all(Line::Ready.text().as_bytes()).await.is_err() {
            // It has ended, or refused before.
        }
        let (reader, writer) = self.0.into_split();
        let mut reader = BufReader::new(reader);
        let mut line = String::new();
        let read = timeout(TAKEOVER, reader.read_line(&mut line)).await;
        match read {
            Ok(Ok(read)) if read > 0 => match Line::read(&line) {
                Some(Line::Yours(paused)) => Ok(Some((Predecessor::new(reader, writer, before), paused))),
                _ => Err("another daemon has taken over before, or this one was not ready in time".to_owned()),
            },
            // It has ended without a word, and has left everything to this one.
            Ok(_) => Ok(None),
            Err(_) => Err(format!("the daemon that serves has not answered within {TAKEOVER:?}")),
        }
    }
}

/// What is known of the older daemon.
#[derive(Clone, Debug)]
pub struct Before {
    /// Its process.
    pub pid: u32,
    /// The names of the databases of its configuration, and of those before it; `None` if it has not said.
    pub databases: Option<Vec<String>>,
}

/// The daemon from which this one has taken over, as long as it has clients.
#[derive(Debug)]
pub struct Predecessor {
    /// What is known of it.
    pub before: Before,
    waiting: Mutex<Waiting>,
    /// What it is sent, in this order.
    lines: mpsc::UnboundedSender<Line>,
    /// True once it has forgotten the sockets.
    has_released: watch::Sender<bool>,
    is_gone: watch::Sender<bool>,
}

/// Who waits for an answer of it.
#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    by_number: HashMap<u64, oneshot::Sender<Option<Answer>>>,
}

impl Predecessor {
    fn new(reader: BufReader<OwnedReadHalf>, mut writer: OwnedWriteHalf, before: Before) -> Arc<Self> {
        let (lines, mut made) = mpsc::unbounded_channel::<Line>();
        tokio::spawn(async move {
            while let Some(line) = made.recv().await {
                // It may be gone, which is found out by the one who listens.
                let _ = writer.write_all(line.text().as_bytes()).await;
            }
        });
        let predecessor = Arc::new(Self {
            before,
            waiting: Mutex::default(),
            lines,
            has_released: watch::Sender::new(false),
            is_gone: watch::Sender::new(false),
        });
        tokio::spawn(Arc::clone(&predecessor).listen(reader));
        predecessor
    }

    async fn listen(self: Arc<Self>, reader: BufReader<OwnedReadHalf>) {
        let answered = |number: u64, answer: Option<Answer>| {
            if let Some(waits) = lock(&self.waiting).by_number.remove(&number) {
                let _ = waits.send(answer);
            }
        };
        let mut lines = reader.lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match Line::read(&line) {
                Some(Line::Done(number)) => answered(number, None),
                Some(Line::Said(number, answer)) => answered(number, Some(answer)),
                Some(Line::Released) => drop(self.has_released.send_replace(true)),
                _ => {}
            }
        }
        self.has_released.send_replace(true);
        self.is_gone.send_replace(true);
        // Who waits for an answer need not wait any longer.
        lock(&self.waiting).by_number.clear();
    }

    fn say(&self, line: Line) {
        // Without a receiver nobody is left for whom it would be.
        let _ = self.lines.send(line);
    }

    /// Returns true if it may have a database of this name, or those before it.
    pub fn may_have(&self, database: &str) -> bool {
        self.before.databases.as_ref().is_none_or(|names| names.iter().any(|name| name == database))
    }

    /// This daemon accepts clients.
    pub fn serving(&self) {
        self.say(Line::Serving);
    }

    /// Has it cancel what one of its clients runs, and waits until it has.
    pub async fn cancel(&self, process_id: i32, secret: i32) {
        self.answer(FAREWELL, |number| Line::Cancel { number, process_id, secret }).await;
    }

    /// Asks it; `None` if it has not answered in time, or has ended.
    pub async fn ask(&self, question: Question) -> Option<Answer> {
        self.answer(ANSWER, |number| Line::Ask(number, question)).await
    }

    async fn answer(&self, limit: Duration, line: impl FnOnce(u64) -> Line) -> Option<Answer> {
        let (answered, waits) = oneshot::channel();
        let number = {
            let mut waiting = lock(&self.waiting);
            waiting.last += 1;
            let number = waiting.last;
            waiting.by_number.insert(number, answered);
            number
        };
        let _forgotten = Asked { number, of: self };
        if self.is_gone() {
            return None;
        }
        self.say(line(number));
        timeout(limit, waits).await.ok()?.ok()?
    }

    /// Has it do what an operator has ordered, for the clients that it has.
    pub fn order(&self, order: Order) {
        self.say(Line::Order(order));
    }

    /// This daemon is itself taken over from: the older one is not to take the sockets back.
    pub async fn release(&self) {
        self.forget(Line::Release).await;
    }

    /// This daemon ends, and so is the older one.
    pub async fn end(&self) {
        self.forget(Line::End).await;
    }

    async fn forget(&self, line: Line) {
        self.say(line);
        let mut released = self.has_released.subscribe();
        let _ = timeout(TAKEOVER, released.wait_for(|released| *released)).await;
    }

    /// Returns true if it has ended.
    pub fn is_gone(&self) -> bool {
        *self.is_gone.borrow()
    }

    /// Waits until it has ended.
    pub async fn gone(&self) {
        let _ = self.is_gone.subscribe().wait_for(|gone| *gone).await;
    }
}

/// Somebody waits for the answer to a question of this number.
struct Asked<'a> {
    number: u64,
    of: &'a Predecessor,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        lock(&self.of.waiting).by_number.remove(&self.number);
    }
}
