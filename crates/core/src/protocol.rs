//! The interface between a driver loop, a protocol and its response handlers.

use crate::column::ColumnKind;
use crate::pending::Pending;
use crate::queue::Queue;
use crate::{Described, Diagnostics, Mismatch, Parameters, ReadBuffer, Run, Session, Verb, WriteBuffer, limits};
use std::sync::Arc;
use std::{error, fmt};

/// The connection cannot continue: the peer violated the protocol, refused the session, or is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// What happened, and what the user can do about it.
    pub message: String,
    /// The kind of error, for programs.
    pub kind: FatalKind,
    /// The SQLSTATE of the error with which the server ended the session, if it sent one.
    pub sqlstate: Option<String>,
}

/// Declares the kinds of [`Fatal`], each with its name for programs.
macro_rules! fatal_kinds {
    ($($(#[$meaning:meta])* $kind:ident = $code:literal,)+) => {
        /// Why a connection could not be opened, or cannot continue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FatalKind {
            $($(#[$meaning])* $kind,)+
        }

        impl FatalKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// Its name for programs, which stays.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$kind => $code,)+
                }
            }
        }
    };
}

fatal_kinds! {
    /// The server could not be reached.
    ConnectFailed = "connect_failed",
    /// A setting of the connection cannot be used, whatever the server: a certificate file that is missing, for one.
    UnusableSetting = "unusable_setting",
    /// The server has no TLS although it is required, or its certificate is not trusted.
    TlsRefused = "tls_refused",
    /// The server's authentication method is unknown or not allowed, or needs a setting that is missing.
    AuthenticationRefused = "authentication_refused",
    /// The server refused the session with an error.
    LoginRefused = "login_refused",
    /// The server, or its database, is of a kind that is not supported.
    UnsupportedServer = "unsupported_server",
    /// The peer sent something that the protocol does not allow here.
    ProtocolViolation = "protocol_violation",
    /// The connection was reset, or closed without a message.
    ConnectionLost = "connection_lost",
    /// The server announced that it ends the session.
    SessionEnded = "session_ended",
    /// The server did not answer within the time limit.
    NoAnswer = "no_answer",
    /// The session was set to an encoding other than UTF-8.
    EncodingChanged = "encoding_changed",
    /// It is unknown whether a transaction was committed, or it cannot be ended.
    TransactionInDoubt = "transaction_in_doubt",
    /// It was closed on this side.
    Closed = "connection_closed",
    /// The engine itself failed.
    InternalError = "internal_error",
}

impl FatalKind {
    /// Returns true if there was a session, which has ended.
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
    /// An error of `kind` with a text that describes it.
    pub fn new(kind: FatalKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), kind, sqlstate: None }
    }

    /// The peer broke the protocol. The message is cut to a bounded length: much of it may be the peer's.
    pub fn peer(message: impl Into<String>) -> Self {
        Self::new(FatalKind::ProtocolViolation, shortened(&message.into()))
    }

    /// The end of a transaction block failed and no request waited for it: later statements would run in the block and
    /// be lost with it.
    pub fn end_failed(reason: &str) -> Self {
        let message = format!(
            "the end of a transaction block that was not waited for failed, so the connection is closed: {reason}"
        );
        Self::new(FatalKind::TransactionInDoubt, shortened(&message))
    }

    /// The connection has ended without an announcement.
    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(FatalKind::ConnectionLost, message)
    }

    /// The server has closed the connection unexpectedly.
    pub fn end_of_input() -> Self {
        Self::gone("the server closed the connection unexpectedly")
    }

    /// The error of a request that was in flight: if the connection has ended without the server's word, it may have
    /// been executed, or not.
    pub fn in_flight(&self) -> Self {
        let message = match self.kind {
            FatalKind::ConnectionLost | FatalKind::NoAnswer => {
                format!("{}; {IN_DOUBT}", self.message)
            }
            _ => self.message.clone(),
        };
        Self { message, ..self.clone() }
    }
}

/// The end of the error of a request that was in flight when its session ended.
pub const IN_DOUBT: &str = "it is unknown whether the statement in flight was executed";

/// A text for error messages, cut to [`limits::SHOWN_BYTES`].
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
    /// The server reported an error.
    Server {
        /// The server's error.
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

/// What happened to a request whose response handler was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// The server has nothing of it: it was not sent, or was answered already.
    Gone,
    /// The server is working on it, and on no request that still has a response handler: a cancel request can hit
    /// nothing else.
    Alone,
    /// The server is working on it, and later requests are in flight: a cancel request that arrives late would hit one
    /// of those. Or it is about to be answered, and the server does not survive a cancel request there.
    Followed,
    /// The server is working on it, and it ends a transaction block: it must not be cancelled. The caller closes the
    /// connection if it is not answered in time.
    Ending,
}

/// What a server reports at the end of one result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary<'a> {
    /// The server's command tag for the statement (`INSERT 0 5`), or its name.
    pub tag: &'a [u8],
    /// The number of rows affected or returned, if the server reports it.
    pub rows: Option<u64>,
    /// The value that an INSERT generated for a serial column, if the protocol reports it; it may be an unsigned number
    /// of 64 bits.
    pub generated: Option<i128>,
    /// The number of warnings that can be requested.
    pub warnings: u16,
    /// More rows can be fetched.
    pub suspended: bool,
    /// True if the only row has the OUT parameters of a procedure.
    pub out_params: bool,
}

/// Whether a response handler has room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Room {
    /// It does.
    More,
    /// Not at present: nothing further is received until it has room again, which [`Session::resume`] reports.
    Full,
}

/// What became of a row of parameters that was passed to a [`RowWriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was written, and there is room for another.
    More,
    /// It was written.
    Full,
    /// It was not: it stays the current row.
    Left,
}

/// Writes rows of parameters, in whatever form their response handler has them: compiled for each form, so that the
/// handler chooses once for many rows.
pub trait RowWriter<E>: Send {
    /// Writes a row.
    fn write<P: Parameters<Error = E>>(&mut self, row: &P) -> Taken;
}

/// The receiver of the reply to a request: Python, Arrow, a test.
///
/// A response handler is stored with its request in the protocol's queue. The protocol calls it with the context
/// `Context` that the loop was called with (the proof that the interpreter is attached, or nothing at all).
pub trait ResponseHandler: Sized {
    /// The context that its methods are called with.
    type Context<'a>: Copy;
    /// One row of parameters.
    type Params<'s, 'c: 's>: Parameters<Error = Self::Error>
    where
        Self: 's;
    /// An error that the handler or its parameters raise.
    type Error: From<crate::Mismatch> + Send;
    /// The protocol's description of a result's columns.
    type Columns: Described;
    /// The server's error.
    type ServerError: Diagnostics;

    /// The lane that its request belongs to. Requests of two lanes are never in flight together, so that a cancel
    /// request for one cannot hit the other; requests of one lane are pipelined.
    fn lane(&self) -> u64 {
        0
    }
    /// Returns true if it takes its rows block by block. Other threads must not receive them then: all of them would be
    /// kept in memory.
    fn is_stream(&self) -> bool {
        false
    }
    /// Advances a batch to its next row of parameters; false after the last.
    fn next_row(&mut self, cx: Self::Context<'_>) -> Result<bool, Self::Error>;
    /// The current row of parameters.
    fn params<'s, 'c: 's>(&'s mut self, cx: Self::Context<'c>) -> Self::Params<'s, 'c>;
    /// Passes the current row of parameters to `writer`; after it rows that are at hand, each as the current one, for as
    /// long as it takes more.
    fn write_rows<W: RowWriter<Self::Error>>(&mut self, cx: Self::Context<'_>, writer: &mut W) {
        writer.write(&self.params(cx));
    }
    /// The columns of the rows that follow, before the first row of each result that has rows.
    fn columns(&mut self, cx: Self::Context<'_>, columns: &Self::Columns);
    /// The parameters of a statement that is described without an execution, in order: [`ColumnKind::Null`] where the server
    /// does not report the type of one.
    fn parameters(&mut self, _cx: Self::Context<'_>, _kinds: &[ColumnKind]) {}
    /// Takes rows in the way that suits the handler; called once for each run of rows in the read buffer.
    ///
    /// # Errors
    /// [`Fatal`] that the run has met with.
    fn rows<R: Run>(&mut self, cx: Self::Context<'_>, run: &mut R) -> Result<Room, Fatal>;
    /// Returns true if the rows of a batch can be read again however many of them were read. [`rewind`](Self::rewind) may
    /// succeed also where they cannot.
    fn rereads(&self) -> bool;
    /// Returns true if the rows of a batch can be read again now, and not after the next one.
    fn loses_next(&self) -> bool {
        false
    }
    /// The number of rows of a batch that can be read again, where it is known at once.
    fn rows_in_all(&self, _cx: Self::Context<'_>) -> Option<u64> {
        None
    }
    /// Starts a batch over from its first row, if that is still possible.
    fn rewind(&mut self, cx: Self::Context<'_>) -> bool;
    /// A bulk transfer can begin: whether all of it is binary, and the number of columns.
    fn bulk_ready(&mut self, cx: Self::Context<'_>, binary: bool, columns: usize);
    /// The statement is a bulk transfer, for which the request is not made: its data are dropped, or it was ended without
    /// any, and the error that follows is the server's answer to that. It may also fail with an error of its own.
    fn bulk_misplaced(&mut self, _cx: Self::Context<'_>, _direction: BulkDirection) {}
    /// A block of a bulk transfer out of the server.
    fn block(&mut self, cx: Self::Context<'_>, bytes: &[u8]) -> Room;
    /// One result is complete.
    fn result(&mut self, cx: Self::Context<'_>, summary: Summary<'_>);
    /// The request is over.
    fn finish(self, cx: Self::Context<'_>, outcome: Outcome<Self::ServerError, Self::Error>);
}

/// Which way the data of a bulk transfer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkDirection {
    /// The server sends them.
    Out,
    /// The client sends them.
    In,
}

/// The methods of [`Protocol`](crate::Protocol) that a machine has by its fields `queue` and `closing_error`, and by its
/// methods `send` and `read`: the same for every protocol.
#[macro_export]
macro_rules! protocol_of_fields {
    () => {
        fn queue(&self) -> &$crate::Queue<Self::Pending> {
            &self.queue
        }

        fn queue_mut(&mut self) -> &mut $crate::Queue<Self::Pending> {
            &mut self.queue
        }

        fn transmit(
            &mut self,
            cx: <Self::Handler as $crate::ResponseHandler>::Context<'_>,
            write_buffer: &mut $crate::WriteBuffer,
        ) {
            self.send(cx, write_buffer);
        }

        fn receive(
            &mut self,
            cx: <Self::Handler as $crate::ResponseHandler>::Context<'_>,
            read_buffer: &mut $crate::ReadBuffer,
            write_buffer: &mut $crate::WriteBuffer,
        ) -> Result<(), $crate::Fatal> {
            self.read(cx, read_buffer, write_buffer)
        }

        fn closing_error(&self) -> Option<&<Self::Handler as $crate::ResponseHandler>::ServerError> {
            self.closing_error.as_ref()
        }
    };
}

/// A wire protocol: requests in, bytes out; bytes in, replies out. No I/O, no clock, no threads.
///
/// What does not depend on the types of requests and response handlers is in [`Session`].
pub trait Protocol: Session {
    /// The type of response handlers.
    type Handler: ResponseHandler;
    /// The type of requests.
    type Request;
    /// A request in the queue.
    type Pending: Pending<Handler = Self::Handler>;

    /// The requests that wait or are in flight.
    fn queue(&self) -> &Queue<Self::Pending>;
    /// Mutable access to the same.
    fn queue_mut(&mut self) -> &mut Queue<Self::Pending>;
    /// Queues a request, and returns its number.
    fn submit(&mut self, request: Self::Request, handler: Self::Handler) -> u64;
    /// The requests of a verb, to be submitted one after the other.
    ///
    /// # Errors
    /// [`Mismatch`]: a name that cannot be an identifier, or an operation that this database does not have.
    fn of_verb(verb: &Verb) -> Result<Vec<Self::Request>, Mismatch>;
    /// The text of a request that consists of text only: one statement, or several. Its result is a list.
    fn text(request: &Self::Request) -> Option<&Arc<str>>;
    /// Encodes queued requests until the write buffer is full, the queue empty, or a reply is needed first.
    fn transmit(&mut self, cx: <Self::Handler as ResponseHandler>::Context<'_>, write_buffer: &mut WriteBuffer);
    /// Handles every whole message in the read buffer; replies that are due at once are written to the write buffer. If
    /// a response handler is full it returns early, with bytes left in the read buffer: see [`Session::full`].
    ///
    /// # Errors
    /// [`Fatal`]: the connection must be closed; [`Protocol::abort`] ends every pending request.
    fn receive(
        &mut self,
        cx: <Self::Handler as ResponseHandler>::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal>;
    /// Returns true if the server may end the connection now although it has not failed, so that a loop does well to look
    /// before it sends a request: what was not sent was not executed.
    fn may_be_released(&self) -> bool {
        false
    }
    /// Returns true if it is certain that COMMIT and ROLLBACK have nothing to end, so that neither needs the connection.
    fn has_nothing_to_end(&self) -> bool {
        false
    }
    /// The connection was lost with `reason`, and what came before is handled. Returns true if the session goes on: the
    /// next step is then [`NextStep::Reconnect`](crate::NextStep), to the same server, and requests that the server has
    /// certainly not executed wait for it. Most sessions end with their connection.
    fn survive_loss(&mut self, _cx: <Self::Handler as ResponseHandler>::Context<'_>, _reason: &Fatal) -> bool {
        false
    }
    /// Ends every request with `reason`, and the session with them.
    fn abort(&mut self, cx: <Self::Handler as ResponseHandler>::Context<'_>, reason: &Fatal);

    /// The number of the first request whose response handler matches `is`.
    fn find(&self, is: impl FnMut(&Self::Handler) -> bool) -> Option<u64> {
        self.queue().find(is)
    }
    /// The response handler of the request that the server is working on.
    fn current_handler(&self) -> Option<&Self::Handler> {
        self.queue().first()?.slot().handler.as_ref()
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
