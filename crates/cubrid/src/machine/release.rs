//! What becomes of a session whose CAS the broker has given to another client.
//!
//! The session is connected again, with its identification, by which the new CAS finds its variables. A CAS that was
//! released has read none of the requests that were in flight. One that has crashed may have executed a statement, and so
//! may one whose connection was cut by the network: it notices that no earlier than at its next reply, and keeps the session
//! if the broker gives it away before. All of them look the same to the client. A statement that may have written something
//! therefore ends the connection, as it is unknown whether it was executed. Requests that change nothing are sent again, and
//! so is what was not committed, such as the first statement of a transaction block whose COMMIT was not in flight. In a
//! session that was resumed before, statements outside of a block are therefore committed by a request of its own, before
//! which the broker gives nothing away.

use super::pending::{PendingRequest, Stage};
use super::request::Request;
use super::stage::{RequestEvent, RequestState};
use super::startup::{Purpose, Startup};
use super::{CasHandler, Loss, Machine, Phase, SessionOptions};
use crate::lexer;
use crate::limits::{RESUMES, SERVER_KEY_BYTES, SESSION_MISSES};
use crate::messages::CasInfo;
use crate::messages::login::{Connected, SessionId};
use crate::messages::server::ServerError;
use headrace_core::transaction::Event as Report;
use headrace_core::{Fatal, FatalKind, Requests, Verb, WriteBuffer};

/// What has to hold of a session that is resumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resuming {
    /// It is the same session.
    session: SessionId,
    /// How often it was lost again before it was resumed.
    attempts: usize,
    /// How many processes did not find it.
    misses: usize,
    /// The next process is asked for it.
    is_next_due: bool,
}

impl<H: CasHandler> Machine<H> {
    /// The connection was lost. Returns true if the session can be resumed: the requests in flight wait again.
    pub(super) fn released(&mut self, cx: H::Context<'_>, reason: &Fatal) -> bool {
        if let Some(resuming) = &mut self.resuming
            && std::mem::take(&mut resuming.is_next_due)
        {
            self.phase = Phase::Released;
            return true;
        }
        if let Phase::Startup(_) = self.phase {
            return self.released_again(reason);
        }
        let is_kept = self.isolation_before.is_none() && !self.queue.is_paused() && self.queue.full().is_none();
        if self.loss_at(reason) != Some(Loss::Released) || !is_kept {
            return false;
        }
        let Some(Connected { session, .. }) = self.connected else { return false };
        if self.may_have_written() {
            return false;
        }
        if let Some(first) = self.queue.in_flight().next() {
            // Whether they are in a block is as it was before they were sent: one of them may have been its end.
            self.transaction.on(if first.in_block { Report::Declare } else { Report::Ended });
            self.transaction.settle();
        }
        let mut ids: Vec<u64> = self.queue.in_flight().map(|pending| pending.slot.id).collect();
        ids.reverse();
        for id in &ids {
            let Some(pending) = self.queue.started_by_id_mut(*id) else { return false };
            let is_begun = pending.has_begun_batch();
            let has_rows_back = pending.slot.handler.as_mut().is_none_or(|handler| !is_begun || handler.rewind(cx));
            if !has_rows_back {
                return false;
            }
        }
        for id in ids {
            if let Some(pending) = self.queue.started_by_id_mut(id) {
                pending.restart();
            }
            self.queue.unstart();
        }
        self.expects.clear();
        self.statements.lost_all();
        self.cursors.clear();
        self.open_results.clear();
        self.is_last_page_due = false;
        self.resuming = Some(Resuming { session, attempts: 0, misses: 0, is_next_due: false });
        self.phase = Phase::Released;
        true
    }

    /// Returns true if a request is in flight that may have changed something, and would a second time.
    fn may_have_written(&self) -> bool {
        let commits = self.commits();
        self.queue.in_flight().any(|pending| pending.may_have_executed(commits) && pending.may_write())
    }

    fn commits(&self) -> bool {
        self.queue.in_flight().any(|pending| matches!(pending.verb(), Some(Verb::Commit(_))))
    }

    /// The session is of no use after an error.
    pub(super) fn session_ended(&mut self, error: ServerError) -> Fatal {
        let reason = Fatal::new(FatalKind::SessionEnded, format!("the server ended the session: {error}"));
        let is_unknown = self.may_have_written() || self.commits();
        self.closing_error = Some(if is_unknown { error.of_unknown_outcome() } else { error });
        reason
    }

    /// The connection was lost while the parameters of the resumed session were being set, between whose replies the
    /// broker may give the CAS away as it may between any others. Returns true if the session can be resumed.
    fn released_again(&mut self, reason: &Fatal) -> bool {
        let Phase::Startup(startup) = &self.phase else { return false };
        let (Some(_), Some(resuming)) = (startup.following(), &mut self.resuming) else { return false };
        if reason.kind != FatalKind::ConnectionLost || self.keeps_cas || resuming.attempts >= RESUMES {
            return false;
        }
        resuming.attempts += 1;
        self.phase = Phase::Released;
        true
    }

    /// The broker is connected again.
    pub(super) fn resume_session(&mut self, write_buffer: &mut WriteBuffer) -> Result<(), Fatal> {
        let session = self.resuming.map(|resuming| resuming.session).unwrap_or_default();
        let options = SessionOptions { session, ..(*self.options).clone() };
        self.info = CasInfo::FIRST;
        self.is_reply_begun = false;
        let startup = Startup::new(&options, Purpose::Resume, self.parameters.clone(), write_buffer)?;
        self.phase = Phase::Startup(Box::new(startup));
        Ok(())
    }

    /// A session is open that should be the one from before.
    ///
    /// A process that comes from another database has forgotten which session it was asked for, and has begun another one.
    /// From then on it is connected with the right database, and the next one may be, too.
    pub(super) fn check_resumed(&mut self, connected: &Connected) -> Result<(), Fatal> {
        let Some(mut resuming) = self.resuming.take() else { return Ok(()) };
        let session = resuming.session;
        let is_same_server = session[..SERVER_KEY_BYTES] == connected.session[..SERVER_KEY_BYTES];
        if session != connected.session && is_same_server && resuming.misses < SESSION_MISSES {
            resuming.misses += 1;
            resuming.is_next_due = true;
            self.resuming = Some(resuming);
            return Err(Fatal::new(FatalKind::ConnectionLost, "the process does not know the session"));
        }
        self.resumed += 1;
        if session != connected.session {
            let reason = "the server has ended the session while its connection was lost";
            return Err(Fatal::new(FatalKind::ConnectionLost, reason));
        }
        Ok(())
    }

    /// Remembers a parameter that is one of the CAS.
    pub(super) fn remember(&mut self, parameter: i32, value: i32) {
        self.parameters.retain(|(known, _)| *known != parameter);
        self.parameters.push((parameter, value));
    }
}

impl<H: CasHandler> PendingRequest<H> {
    /// Returns true if it was sent, and may have been committed, by itself or by what was sent after it: it would change
    /// something a second time. What was not committed the server rolls back with the connection on which it was sent.
    fn may_have_executed(&self, commits: bool) -> bool {
        let is_committed = match &self.request {
            _ if self.in_block => commits,
            // Its COMMIT is sent when all rows are answered.
            _ if self.is_batch() => self.state() == RequestState::Sent,
            // By EXECUTE itself, or by an END_TRAN of the driver's that is in flight.
            Request::Execute(_) | Request::Open { .. } => self.commits_itself || self.is_settling,
            Request::WriteObject { .. } => true,
            _ => false,
        };
        let executes = self.is_batch()
            || matches!(self.request, Request::Execute(_) | Request::Open { .. } | Request::WriteObject { .. });
        executes
            && is_committed
            && !matches!(self.state(), RequestState::Queued | RequestState::Preparing | RequestState::Bindable)
    }

    /// Returns false if its text shows that it only reads.
    fn may_write(&self) -> bool {
        self.is_batch() || self.request.text_with_values().is_none_or(|sql| lexer::may_write(sql))
    }

    /// Returns true if rows of its batch may have been taken.
    fn has_begun_batch(&self) -> bool {
        matches!(self.state(), RequestState::Sending | RequestState::Draining)
    }

    /// It waits again, as if nothing of it had been sent.
    fn restart(&mut self) {
        if self.state() != RequestState::Queued {
            self.go(RequestEvent::Released, Stage::Queued);
        }
        // That of an end is about its block, which is lost whatever becomes of the connection.
        if !self.effect().is_owed_end() {
            self.slot.failure = None;
        }
        self.statement = None;
        self.is_cached = false;
        self.is_pinned = false;
        self.is_settling = false;
        self.commits_itself = false;
        self.replies_due = 0;
        self.is_executed = false;
        self.is_undone = false;
        self.affected = None;
        self.has_redefined = false;
        self.results_left = 0;
    }
}
