//! The interface of a session for a driver loop: what to do next, what is in flight, how to cancel and how to end it.

use crate::cancel::CancelledRequest;
use crate::protocol::Discarded;
use crate::{Fatal, Reported, Requests, WriteBuffer};
use std::time::Instant;

/// What a driver loop has to do next, apart from moving bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep<'a> {
    /// Nothing: the session is being opened, and an answer of the server is due.
    Exchange,
    /// Put TLS in place, and call [`Session::tls_ready`] after its handshake.
    StartTls {
        /// Send the request for TLS that is in the write buffer, unencrypted, and then start the handshake.
        request_first: bool,
    },
    /// Answer a question that the server asks at login.
    Question {
        /// The question.
        text: &'a str,
        /// True if the answer may be shown while it is typed.
        is_shown: bool,
    },
    /// Connect to another server, which this one has named in its place, and call [`Session::reconnect`].
    Reconnect {
        /// The name that the other server has in the protocol.
        server: &'a str,
        /// Its host.
        host: &'a str,
        /// Its port.
        port: u16,
    },
    /// Nothing: the session takes requests.
    Ready,
    /// Nothing: the connection was opened for a cancel request, which was written. The server will close it.
    CancelWritten,
    /// Close the connection.
    Close,
}

/// Facts about a server's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Its hash for channel binding (RFC 5929, tls-server-end-point), if there is one.
    pub tls_server_end_point: Option<Vec<u8>>,
    /// Its SHA-256.
    pub fingerprint: Option<[u8; 32]>,
    /// It was verified, by a certificate authority or because the user has pinned it.
    pub verified: bool,
}

/// How a statement of a session is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// Not at all, or not yet: the session is not open.
    Impossible,
    /// With this message, which is all that is sent on another connection to the same address.
    Message(Vec<u8>),
    /// With this statement, executed in another session of the same user.
    Statement(CancelStatement),
    /// By this byte, sent as urgent data on the connection itself, whenever [`Session::interrupt`] allows it.
    UrgentByte(u8),
}

/// A statement that cancels another one, executed in another session of the same user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelStatement {
    /// The statement.
    pub sql: String,
    /// What the other session is asked before it; [`BESIDE`](Self::BESIDE) stands for its own number.
    pub question: Option<String>,
}

impl CancelStatement {
    /// The place of the other session's number in a question.
    pub const BESIDE: &str = "{beside}";

    /// The question that the other session, which the server has given the number `process_id`, is asked before the
    /// statement: it would reach another server if the answer has a row. A refusal to answer means nothing.
    pub fn question(&self, process_id: i32) -> Option<String> {
        let number = process_id.cast_unsigned().to_string();
        self.question.as_ref().map(|question| question.replace(Self::BESIDE, &number))
    }
}

/// Whether the running statement can be interrupted by an urgent byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The urgent byte is to be sent now.
    Send,
    /// Not yet: the server may not have read the one before.
    Later,
    /// Nothing runs, or the one that was sent is still to do its work.
    Needless,
}

/// What a driver loop has to do to cancel the running statement: see [`Session::cancel_step`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelStep {
    /// Nothing: there is nothing to cancel, or no way.
    Nothing,
    /// Ask again soon: the server may not have read the urgent byte before, or executes a statement of the machine's own.
    Later,
    /// Send this message, and nothing else, on another connection to the same address.
    Message(Vec<u8>),
    /// Execute this statement in another session of the same user.
    Statement(CancelStatement),
    /// Send this byte as urgent data on the connection itself. It counts as sent.
    UrgentByte(u8),
}

/// The status of the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction is open.
    #[default]
    Idle,
    /// A transaction is open.
    InTransaction,
    /// A transaction is open that has failed: only a rollback will do.
    Failed,
}

/// The methods of [`Session`](crate::Session) that a machine has by its fields `queue` and `statements`: the same for every
/// protocol.
#[macro_export]
macro_rules! session_of_fields {
    () => {
        fn requests(&self) -> &dyn $crate::Requests {
            &self.queue
        }

        fn requests_mut(&mut self) -> &mut dyn $crate::Requests {
            &mut self.queue
        }

        fn statements(&self) -> usize {
            self.statements.len()
        }
    };
}

/// The operations of a session that do not depend on the types of requests and response handlers.
///
/// Together with [`crate::Protocol`], which sends and receives, this is enough to open a session, to drive, cancel and
/// close it. A driver loop calls `transmit`, moves bytes, calls `receive`, and then does what [`Session::next_step`]
/// returns; again after each of its own calls after which the machine may have something to send.
pub trait Session {
    /// What the loop has to do next.
    fn next_step(&self) -> NextStep<'_>;
    /// The TLS layer is in place, with this certificate of the server's.
    ///
    /// # Errors
    /// [`Fatal`] when the authentication that follows cannot be done.
    fn tls_ready(&mut self, certificate: Certificate, write_buffer: &mut WriteBuffer) -> Result<(), Fatal>;
    /// The connection leads to the server that [`NextStep::Reconnect`] has named: the session begins again with it.
    ///
    /// # Errors
    /// [`Fatal`] if the server has not redirected to another.
    fn reconnect(&mut self, _write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        Err(Fatal::peer("the server redirected the session, but named no other server"))
    }
    /// Returns true once the session takes requests.
    fn is_ready(&self) -> bool {
        self.next_step() == NextStep::Ready
    }
    /// Writes the message that ends the session, if it is open. Nothing can be sent after it.
    fn terminate(&mut self, write_buffer: &mut WriteBuffer);
    /// The text of the error with which the server ended or refused the session, if it has sent one.
    fn last_message(&self) -> Option<&str> {
        None
    }
    /// The SQLSTATE of that error.
    fn last_sqlstate(&self) -> Option<&str> {
        None
    }

    /// The number of the server's process or thread.
    fn process_id(&self) -> i32;
    /// How the running statement is cancelled.
    fn cancellation(&self) -> Cancellation;
    /// Whether the urgent byte of [`Cancellation::UrgentByte`] may be sent now. With [`Interrupt::Send`] it counts as
    /// sent.
    fn interrupt(&mut self, _now: Instant) -> Interrupt {
        Interrupt::Needless
    }
    /// Returns true if the server may be executing a statement of the machine's own that the cancelled request depends on:
    /// a cancel request would hit that one, and is sent later.
    fn is_cancel_early(&self) -> bool {
        false
    }
    /// What has to be done to cancel the running statement now.
    fn cancel_step(&mut self, now: Instant) -> CancelStep {
        if self.only_fetches() {
            return CancelStep::Nothing;
        }
        if self.is_cancel_early() {
            return CancelStep::Later;
        }
        match self.cancellation() {
            Cancellation::Impossible => CancelStep::Nothing,
            Cancellation::Message(message) => CancelStep::Message(message),
            Cancellation::Statement(statement) => CancelStep::Statement(statement),
            Cancellation::UrgentByte(byte) => match self.interrupt(now) {
                Interrupt::Send => CancelStep::UrgentByte(byte),
                Interrupt::Later => CancelStep::Later,
                Interrupt::Needless => CancelStep::Nothing,
            },
        }
    }
    /// The requests that wait or are in flight.
    fn requests(&self) -> &dyn Requests;
    /// Mutable access to the same.
    fn requests_mut(&mut self) -> &mut dyn Requests;
    /// Removes the response handler of request `id`. If nothing of it was sent, it leaves the queue, or is replaced by
    /// the request that has to be sent in its place; otherwise its reply is read and dropped.
    fn discard(&mut self, id: u64) -> Discarded {
        self.requests_mut().discard(id)
    }
    /// Returns true if the server only sends rows that it has made already: there is nothing to cancel, and the server of
    /// some protocols does not survive a cancel request then.
    fn only_fetches(&self) -> bool {
        false
    }
    /// Returns true if the server works on nothing but requests that were discarded, so that cancelling cannot hit
    /// anything else.
    fn is_at_discarded(&self) -> bool {
        self.requests().is_at_discarded()
    }
    /// Starts no further request: a cancel request is under way, and must not hit the next one. No batch goes on to its end
    /// either. Counted: requests are started again once each pause was ended by [`Session::unpause`].
    fn pause(&mut self) {
        self.requests_mut().pause();
    }
    /// Ends one pause. If a cancel request was sent meanwhile, [`Session::cancel_sent`] comes first.
    fn unpause(&mut self) {
        self.requests_mut().unpause();
    }
    /// A cancel request was sent, and the server has received it: it may hit the next request.
    fn cancel_sent(&mut self) {}
    /// [`Session::discard`], for a caller that will send a cancel request: with [`Discarded::Alone`] nothing further is
    /// started before [`Session::unpause`] or [`Session::leave_cancelled`]. See [`crate::cancel`].
    fn abandon(&mut self, id: u64) -> Discarded {
        let discarded = self.discard(id);
        if discarded == Discarded::Alone {
            self.pause();
        }
        discarded
    }
    /// The same for requests that were discarded before: if the server works on nothing else, so that a cancel request
    /// makes sense, the session is paused, and true is returned.
    fn pause_at_discarded(&mut self) -> bool {
        let at = self.is_at_discarded();
        if at {
            self.pause();
        }
        at
    }
    /// Leaves a cancelled request to the session, after the server has received a cancel request, in place of
    /// [`Session::unpause`]: nothing is started before it is answered, and [`Session::check_left`] fails if that takes
    /// too long.
    fn leave_cancelled(&mut self, left: CancelledRequest) {
        self.requests_mut().leave(left);
    }
    /// The cancelled request that was left to the session, until [`Session::check_left`] has found it answered.
    fn left(&self) -> Option<CancelledRequest> {
        self.requests().left()
    }
    /// Returns true if a cancelled request is not answered: the one of this number, or with `None` everything that the
    /// server works on and that was discarded.
    fn is_unanswered(&self, cancelled: Option<u64>) -> bool {
        match cancelled {
            Some(id) => self.has(id),
            None => self.is_at_discarded(),
        }
    }
    /// Allows requests to be started again if the cancelled request that was left is answered. A driver loop calls it
    /// before it encodes requests, while [`Session::left`] returns a request.
    ///
    /// # Errors
    /// [`Fatal`] if its time limit has passed at `now`: the connection must be closed.
    fn check_left(&mut self, now: Instant) -> Result<(), Fatal> {
        let Some(left) = self.left() else { return Ok(()) };
        let waits = self.is_unanswered(left.request);
        if waits && now < left.until {
            return Ok(());
        }
        self.requests_mut().take_left();
        self.cancel_sent();
        self.unpause();
        if waits { Err(Fatal::cancel_unanswered()) } else { Ok(()) }
    }

    /// The request whose response handler has no room at present. Until [`Session::resume`] or [`Session::discard`]
    /// nothing is handled, so the loop must not read either: received bytes would be kept in memory.
    fn full(&self) -> Option<u64> {
        self.requests().full()
    }
    /// The response handler of request `id` has room again. The content of the read buffer has to be handled next,
    /// whether or not more bytes have come.
    fn resume(&mut self, id: u64) {
        self.requests_mut().resume(id);
    }

    /// The number of requests that wait or are in flight.
    fn queued(&self) -> usize {
        self.requests().queued()
    }
    /// The number of requests that have been started and not answered.
    fn in_flight(&self) -> usize {
        self.requests().in_flight()
    }
    /// Returns true if request `id` waits or is in flight.
    fn has(&self, id: u64) -> bool {
        self.requests().has(id)
    }
    /// Returns true if no request waits or is in flight.
    fn is_idle(&self) -> bool {
        self.queued() == 0
    }
    /// Makes sure that request `id` is answered: without a message that ends its group of requests the server may keep
    /// the answer, and the request would never end.
    fn request_reply(&mut self, _id: u64) {}
    /// Returns true if requests wait for a stream, a COPY or a load that has the connection to itself and belongs to
    /// other code.
    fn is_occupied(&self) -> bool {
        false
    }
    /// Returns true if request `id` is one that waits so.
    fn is_kept_waiting(&self, _id: u64) -> bool {
        false
    }

    /// The transaction as of the last reply.
    fn reported(&self) -> Reported;
    /// The same, for programs: if the server has ended the one of the block that is open, it has failed.
    fn transaction(&self) -> TransactionStatus {
        if self.requests().is_lost() { TransactionStatus::Failed } else { self.reported().status() }
    }
    /// Returns true if a transaction, even a failed one, is open as of the last reply.
    fn in_transaction(&self) -> bool {
        self.transaction() != TransactionStatus::Idle
    }
    /// The transaction status as of the last reply, for code that shares the connection: a transaction that a stream, a
    /// load or a batch has begun for itself does not count.
    fn shared_transaction(&self) -> TransactionStatus {
        self.transaction()
    }
    /// Returns true if requests were answered of which it is not known yet whether they have left a transaction open: the
    /// server reports that once for several.
    fn is_status_due(&self) -> bool {
        false
    }
    /// True if a transaction is open, for code that shares the connection, once every queued request has ended. `None`
    /// if only the replies decide it: a pending request may begin or end one, or may fail to.
    fn transaction_ahead(&self) -> Option<bool>;
    /// The number of prepared statements that are kept.
    fn statements(&self) -> usize;
    /// Forgets every prepared statement; the server receives the messages that close them with the next request.
    fn forget_statements(&mut self);

    /// The number of notifications that have not been taken yet.
    fn notifications(&self) -> usize {
        0
    }
    /// Returns true if there are notices that have not been taken yet.
    fn has_notices(&self) -> bool {
        false
    }
}
