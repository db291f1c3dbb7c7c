//! The daemon that serves, and another one takes over from.

use super::{Handed, Line, UPGRADE};
use crate::gate::Paused;
use crate::hub::Hub;
use crate::limits::TAKEOVER;
use crate::orders::Operator;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Interest, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// Sockets that one message can have in Linux (`SCM_MAX_FD`).
pub const MOST_SOCKETS: usize = 253;

/// The daemon that takes over.
#[derive(Debug)]
pub struct Successor {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: Arc<Mutex<OwnedWriteHalf>>,
    /// The databases that it takes for paused.
    paused: Paused,
    /// Its process, if the system reports it.
    pub pid: Option<i32>,
}

/// What it has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It accepts clients.
    Serving,
    /// This daemon may not take the sockets back.
    Release,
    /// The same, and its clients are to leave.
    End,
    /// It has ended without a word.
    Lost,
}

/// Offers the sockets to a process that has asked for them; returns it when it is ready to serve.
pub async fn offer(stream: UnixStream, handed: Handed, sockets: Vec<OwnedFd>) -> Option<Successor> {
    let ready = async {
        send(&stream, &handed, &sockets).await.ok()?;
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let (reader, writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        let writer = Arc::new(Mutex::new(writer));
        let limit = timeout(TAKEOVER, lines.next_line()).await;
        match limit {
            Ok(Ok(Some(line))) if Line::read(&line) == Some(Line::Ready) => {
                Some(Successor { lines, writer, paused: handed.paused.clone(), pid })
            }
            Ok(_) => None,
            Err(_) => {
                let _ = write(&writer, &Line::Refused).await;
                None
            }
        }
    };
    let found = ready.await;
    if found.is_none() {
        tracing::warn!("a daemon has asked for the sockets, and was not ready to serve");
    }
    found
}

/// Another one was faster.
pub async fn refuse(mut stream: UnixStream) {
    let text = "another daemon is taking over already\n";
    let answer = format!("HTTP/1.1 409 Conflict\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len());
    let _ = timeout(TAKEOVER, stream.write_all(answer.as_bytes())).await;
}

async fn send(stream: &UnixStream, handed: &Handed, sockets: &[OwnedFd]) -> io::Result<()> {
    let json = serde_json::to_string(handed)?;
    let head = format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: {UPGRADE}\r\nConnection: Upgrade\r\n\r\n{json}\n");
    let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
    let sent = stream
        .async_io(Interest::WRITABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_SOCKETS))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !ancillary.push(SendAncillaryMessage::ScmRights(&sockets)) {
                return Err(io::Error::other("there are too many sockets"));
            }
            loop {
                match sendmsg(stream, &[IoSlice::new(head.as_bytes())], &mut ancillary, SendFlags::empty()) {
                    Err(Errno::INTR) => {}
                    sent => return sent.map_err(io::Error::from),
                }
            }
        })
        .await?;
    let mut rest = &head.as_bytes()[sent..];
    while !rest.is_empty() {
        stream.writable().await?;
        match stream.try_write(rest) {
            Ok(more) => rest = &rest[more..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn write(writer: &Mutex<OwnedWriteHalf>, line: &Line) -> io::Result<()> {
    writer.lock().await.write_all(line.text().as_bytes()).await
}

impl Successor {
    /// The sockets are its own, and this daemon does not accept any more. These databases are paused by now.
    ///
    /// # Errors
    /// It has ended.
    pub async fn yours(&self, paused: Paused) -> io::Result<()> {
        write(&self.writer, &Line::Yours((paused != self.paused).then_some(paused))).await
    }

    /// This daemon has forgotten the sockets.
    pub async fn released(&self) {
        let _ = write(&self.writer, &Line::Released).await;
    }

    /// Waits for what it sends, and cancels meanwhile what clients of this daemon have asked it to, and does what operators
    /// have ordered it.
    pub async fn next_report(&mut self, hub: &Arc<Hub>) -> Said {
        loop {
            let Ok(Some(line)) = self.lines.next_line().await else { return Said::Lost };
            match Line::read(&line) {
                Some(Line::Serving) => return Said::Serving,
                Some(Line::Release) => return Said::Release,
                Some(Line::End) => return Said::End,
                Some(Line::Cancel { number, process_id, secret }) => {
                    let (hub, writer) = (Arc::clone(hub), Arc::clone(&self.writer));
                    tokio::spawn(async move {
                        hub.cancel(process_id, secret).await;
                        let _ = write(&writer, &Line::Done(number)).await;
                    });
                }
                Some(Line::Order(order)) => hub.carry_out(&order, &Operator::of_successor()),
                Some(Line::Ask(number, question)) => {
                    let (hub, writer) = (Arc::clone(hub), Arc::clone(&self.writer));
                    tokio::spawn(async move {
                        let answer = hub.answer(question, &Operator::of_successor()).await;
                        let _ = write(&writer, &Line::Said(number, answer)).await;
                    });
                }
                _ => {}
            }
        }
    }
}
