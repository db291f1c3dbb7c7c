//! Cancelling a request, from the time that its response handler is discarded until requests are started again.
//!
//! A cancel request hits the statement that the server executes when it arrives, whichever that is. Therefore nothing is
//! started while one is under way:
//!
//! 1. [`Session::abandon`] discards the response handler of the request. If a cancel request can hit nothing else, it
//!    returns [`Discarded::Alone`], and the session is paused.
//! 2. The caller sends a cancel request in the way of [`Session::cancellation`], and may repeat it while
//!    [`Session::is_at_discarded`] returns true: the server may not have begun with the request when the first arrived.
//! 3. A caller that waits for the reply calls [`Session::cancel_sent`] and [`Session::unpause`] then, and closes the
//!    connection if the reply does not come in time.
//! 4. A caller that does not wait passes the request to the session instead, by [`Session::leave_cancelled`]. Further
//!    requests can be submitted; they are started once the cancelled one is answered. The driver loop calls
//!    [`Session::check_left`] before it encodes requests, and closes the connection if that returns an error.
//!
//! [`Discarded::Alone`]: crate::Discarded::Alone
//! [`Session::abandon`]: crate::Session::abandon
//! [`Session::cancel_sent`]: crate::Session::cancel_sent
//! [`Session::cancellation`]: crate::Session::cancellation
//! [`Session::check_left`]: crate::Session::check_left
//! [`Session::is_at_discarded`]: crate::Session::is_at_discarded
//! [`Session::leave_cancelled`]: crate::Session::leave_cancelled
//! [`Session::unpause`]: crate::Session::unpause

use crate::{Fatal, FatalKind};
use std::time::Instant;

/// A cancelled request whose reply its caller does not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelledRequest {
    /// The number of the request; `None` for everything that the server works on and that was discarded.
    pub request: Option<u64>,
    /// The time limit of the server's reply.
    pub until: Instant,
}

impl Fatal {
    /// The server has neither answered a cancelled request nor ended it within the time limit.
    pub fn cancel_unanswered() -> Self {
        let reason = "the connection was closed: the server did not react to a cancel request in time";
        Self::new(FatalKind::NoAnswer, reason)
    }

    /// A cancel request was sent, and it is not known whether the server has read it. One that is still on its way would
    /// hit whatever statement runs when it comes.
    pub fn cancel_in_doubt() -> Self {
        let reason = "the connection was closed: a cancel request was sent that was not answered, and could come late and \
                      hit another statement";
        Self::new(FatalKind::NoAnswer, reason)
    }
}
