//! What a loop may ask of a protocol, and a protocol of its response handler.

use crate::queue::{Pending, Queue};
use crate::{Described, Diagnostics, Mismatch, Parameters, ReadBuffer, Run, Session, Verb, WriteBuffer, limits};
use std::sync::Arc;
use std::{error, fmt};

/// The connection cannot go on: the peer broke the protocol, refused us, or is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// What happened and what to do.
    pub message: String,
    /// What kind of thing happened, for programs.
    pub kind: FatalKind,
}

/// Why a connection could not be opened, or cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatalKind {
    /// The server could not be reached.
    ConnectFailed,
    /// A setting of the connection cannot be used, whatever the server: a certificate file that is missing, for one.
    UnusableSetting,
    /// No TLS where it is asked for, or a certificate that is not trusted.
    TlsRefused,
    /// The server's way to authenticate is not known or not allowed here, or needs what was not given.
    AuthenticationRefused,
    /// The server refused the session, by an error of its own.
    LoginRefused,
    /// The server, or what it has, is of a kind that cannot be spoken with.
    UnsupportedServer,
    /// The peer sent something that the protocol does not allow here.
    ProtocolViolation,
    /// The connection was reset, or closed without a word.
    ConnectionLost,
    /// The server said that it ends the session.
    SessionEnded,
    /// The server left something without an answer for too long.
    NoAnswer,
    /// The session was set to another encoding than ours.
    EncodingChanged,
    /// Nobody knows whether a transaction was committed, or it cannot be ended.
    TransactionInDoubt,
    /// It was closed on this side.
    Closed,
    /// The engine itself failed.
    InternalError,
}

impl FatalKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::ConnectFailed,
        Self::UnusableSetting,
        Self::TlsRefused,
        Self::AuthenticationRefused,
        Self::LoginRefused,
        Self::UnsupportedServer,
        Self::ProtocolViolation,
        Self::ConnectionLost,
        Self::SessionEnded,
        Self::NoAnswer,
        Self::EncodingChanged,
        Self::TransactionInDoubt,
        Self::Closed,
        Self::InternalError,
    ];

    /// Its name for programs, which stays.
    pub fn code(self) -> &'static str {
        match self {
            Self::ConnectFailed => "connect_failed",
            Self::UnusableSetting => "unusable_setting",
            Self::TlsRefused => "tls_refused",
            Self::AuthenticationRefused => "authentication_refused",
            Self::LoginRefused => "login_refused",
            Self::UnsupportedServer => "unsupported_server",
            Self::ProtocolViolation => "protocol_violation",
            Self::ConnectionLost => "connection_lost",
            Self::SessionEnded => "session_ended",
            Self::NoAnswer => "no_answer",
            Self::EncodingChanged => "encoding_changed",
            Self::TransactionInDoubt => "transaction_in_doubt",
            Self::Closed => "connection_closed",
            Self::InternalError => "internal_error",
        }
    }

    /// Returns true if there was a session, which is gone.
    pub fn is_gone(self) -> bool {
        use FatalKind::*;
        match self {
            ConnectFailed
            | UnusableSetting
            | TlsRefused
            | AuthenticationRefused
            | LoginRefused
            | UnsupportedServer
            | ProtocolViolation => false,
            ConnectionLost | SessionEnded | NoAnswer | EncodingChanged | TransactionInDoubt | Closed
            | InternalError => true,
        }
    }
}

impl Fatal {
    /// What happened, of its kind.
    pub fn new(kind: FatalKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), kind }
    }

    /// The peer broke the protocol. The message is cut to a bounded length: much of it may be the peer's.
    pub fn peer(message: impl Into<String>) -> Self {
        Self::new(FatalKind::ProtocolViolation, shortened(&message.into()))
    }

    /// The end of a transaction block failed with nobody to hear it: what came next would be in the block, and lost
    /// with it.
    pub fn end_failed(reason: &str) -> Self {
        let message = format!(
            "the end of a transaction block that was not waited for failed, so the connection is closed: {reason}"
        );
        Self::new(FatalKind::TransactionInDoubt, shortened(&message))
    }

    /// The connection is gone.
    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(FatalKind::ConnectionLost, message)
    }

    /// The server has ended the connection, and nobody had asked it to.
    pub fn end_of_input() -> Self {
        Self::gone("the server closed the connection unexpectedly")
    }
}

/// A text for people, cut to [`limits::SHOWN_BYTES`] where it is longer.
pub fn shortened(text: &str) -> String {
    if text.len() <= limits::SHOWN_BYTES {
        return text.to_owned();
    }
    let end = (0..=limits::SHOWN_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}... ({} bytes)", &text[..end], text.len())
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for Fatal {}

/// How a request ended.
#[derive(Debug)]
pub enum Outcome<S, E> {
    /// Everything arrived.
    Done,
    /// The server said no.
    Server {
        /// The server's own words.
        error: S,
        /// The 0-based row of a batch that it was about.
        row: Option<u64>,
    },
    /// The response handler's own error: a value that does not fit, an iterator that raised.
    Client {
        /// The error.
        error: E,
        /// The 0-based row of a batch that it was about.
        row: Option<u64>,
    },
    /// An earlier request of the same pipeline failed, so the server skipped this one.
    Skipped,
    /// The connection ended first.
    Fatal(Fatal),
}

/// What became of a request whose response handler was forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// Nothing of it is with the server: it was not sent, or was answered already.
    Gone,
    /// The server has it, and nothing else that anyone waits for: a cancel request can hit nothing but it.
    Alone,
    /// The server has it, and other requests after it: a cancel request that comes late would hit one of them.
    Followed,
}

/// What a server says at the end of one result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary<'a> {
    /// The server's word for the statement (`INSERT 0 5`), or its name.
    pub tag: &'a [u8],
    /// Rows affected or returned, where the server says.
    pub rows: Option<u64>,
    /// The value that an INSERT made for a serial column, where the protocol says; it may be unsigned and of 64 bits.
    pub generated: Option<i128>,
    /// Warnings that can be asked for.
    pub warnings: u16,
    /// More rows can be fetched.
    pub suspended: bool,
    /// The only row holds the OUT parameters of a procedure.
    pub out_params: bool,
}

/// Whether a response handler takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Room {
    /// It does.
    More,
    /// Not for now: nothing further is received until it has room again, which [`Session::resume`] says.
    Full,
}

/// The side that asks: Python, Arrow, the daemon, a test.
///
/// A response handler travels with its request through the protocol's queue and is asleep there; whenever the protocol
/// needs it, it is woken with the context `Cx` that the loop was given (the proof that the interpreter is attached, or
/// nothing at all).
pub trait ResponseHandler: Sized {
    /// What it needs to be woken.
    type Cx<'a>: Copy;
    /// One row of parameters.
    type Params<'s, 'c: 's>: Parameters<Error = Self::Error>
    where
        Self: 's;
    /// An error of its own.
    type Error: From<crate::Mismatch>;
    /// What the protocol knows of a result's columns.
    type Columns: Described;
    /// The server's error.
    type ServerError: Diagnostics;

    /// Whose request it is. Requests of two lanes are never in flight together, so that a cancel request for one cannot
    /// hit the other; those of one lane are pipelined.
    fn lane(&self) -> u64 {
        0
    }
    /// Returns true if it takes its rows block by block, so that nobody else may receive them: all of them would be
    /// kept in memory.
    fn is_stream(&self) -> bool {
        false
    }
    /// Advances a batch to its next row of parameters; false after the last.
    fn next_row(&mut self, cx: Self::Cx<'_>) -> Result<bool, Self::Error>;
    /// The current row of parameters.
    fn params<'s, 'c: 's>(&'s mut self, cx: Self::Cx<'c>) -> Self::Params<'s, 'c>;
    /// The columns of the rows to come, before the first of each result that has rows.
    fn columns(&mut self, cx: Self::Cx<'_>, columns: &Self::Columns);
    /// Takes rows, in the way that suits it: once for each run of rows that is in the read buffer.
    ///
    /// # Errors
    /// [`Fatal`] that the run has met with.
    fn rows<R: Run>(&mut self, cx: Self::Cx<'_>, run: &mut R) -> Result<Room, Fatal>;
    /// Starts a batch over from its first row, if that is still possible.
    fn rewind(&mut self, cx: Self::Cx<'_>) -> bool;
    /// A bulk transfer can begin: whether it is binary as a whole, and how many columns it has.
    fn bulk_ready(&mut self, cx: Self::Cx<'_>, binary: bool, columns: usize);
    /// A block of a bulk transfer out of the server.
    fn block(&mut self, cx: Self::Cx<'_>, bytes: &[u8]) -> Room;
    /// One result is complete.
    fn result(&mut self, cx: Self::Cx<'_>, summary: Summary<'_>);
    /// The request is over.
    fn finish(self, cx: Self::Cx<'_>, outcome: Outcome<Self::ServerError, Self::Error>);
}

/// A wire protocol: requests in, bytes out; bytes in, replies out. No I/O, no clock, no threads.
///
/// What does not depend on its requests and response handlers is in [`Session`].
pub trait Protocol: Session {
    /// Who asks.
    type Handler: ResponseHandler;
    /// What can be asked.
    type Request;
    /// A request in the queue.
    type Pending: Pending<Handler = Self::Handler>;

    /// The requests that wait or are in flight.
    fn queue(&self) -> &Queue<Self::Pending>;
    /// Mutable access to the same.
    fn queue_mut(&mut self) -> &mut Queue<Self::Pending>;
    /// Queues a request, and returns the number by which it is known.
    fn submit(&mut self, request: Self::Request, handler: Self::Handler) -> u64;
    /// The requests of a verb, to be submitted one after the other.
    ///
    /// # Errors
    /// [`Mismatch`]: a name that cannot be one, or what this database does not have.
    fn of_verb(verb: &Verb) -> Result<Vec<Self::Request>, Mismatch>;
    /// The text of a request that is text as it is: one statement, or several. Its result is a list.
    fn text(request: &Self::Request) -> Option<&Arc<str>>;
    /// Encodes queued requests until the write buffer is full, the queue empty, or a reply is needed first.
    fn transmit(&mut self, cx: <Self::Handler as ResponseHandler>::Cx<'_>, write_buffer: &mut WriteBuffer);
    /// Handles every whole message in the read buffer; what has to be answered at once goes to the write buffer. Where
    /// a response handler is full it ends early, with bytes left in the read buffer: see [`Session::full`].
    ///
    /// # Errors
    /// [`Fatal`]: the connection must be closed; [`Protocol::abort`] tells everyone who waits.
    fn receive(
        &mut self,
        cx: <Self::Handler as ResponseHandler>::Cx<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal>;
    /// Ends every request with `reason`, and the session with them.
    fn abort(&mut self, cx: <Self::Handler as ResponseHandler>::Cx<'_>, reason: &Fatal);

    /// The number of the first request whose response handler `is` the one looked for.
    fn find(&self, is: impl FnMut(&Self::Handler) -> bool) -> Option<u64> {
        self.queue().find(is)
    }
    /// The response handler of the request that the server is working on.
    fn current_handler(&self) -> Option<&Self::Handler> {
        self.queue().first()?.slot().handler.as_ref()
    }
    /// The same, to be told something.
    fn current_handler_mut(&mut self) -> Option<&mut Self::Handler> {
        self.queue_mut().first_mut()?.slot_mut().handler.as_mut()
    }
    /// The response handler of request `id`.
    fn handler_mut(&mut self, id: u64) -> Option<&mut Self::Handler> {
        self.queue_mut().handler_mut(id)
    }
    /// The error with which the server ended or refused the session.
    fn closing_error(&self) -> Option<&<Self::Handler as ResponseHandler>::ServerError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_sent_is_cut_at_a_character() {
        let long = format!("it sent {}", "ä".repeat(100_000));
        let fatal = Fatal::peer(long.clone());
        assert!(fatal.message.len() < limits::SHOWN_BYTES + 30);
        assert!(fatal.message.starts_with("it sent ää") && fatal.message.ends_with("ä... (200008 bytes)"));
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn each_kind_has_a_code_of_its_own() {
        let mut codes: Vec<_> = FatalKind::ALL.iter().map(|kind| kind.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), FatalKind::ALL.len());
        let reference = include_str!("../../../docs/reference/errors.md");
        for code in codes {
            assert!(
                reference.contains(&format!("\n### {code}\n")),
                "{code} has no heading in docs/reference/errors.md"
            );
        }
    }
}
