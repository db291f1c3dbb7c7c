//! What becomes of a session whose CAS the broker has given to another client.
//!
//! The session is connected again, with its identification, by which the new CAS finds its variables. A CAS that was
//! released has read none of the requests that were in flight. One that has crashed may have executed a statement, and
//! looks the same to the client. The statement is therefore sent again only if the broker connects the session with the
//! same process, which has not crashed then; otherwise the connection ends, as it is unknown whether the statement was
//! executed. Requests that change nothing are sent again in any case, and so is the first statement of a transaction block
//! whose COMMIT was not in flight: nothing of that was committed.

use super::pending::{PendingRequest, Stage};
use super::request::Request;
use super::stage::{RequestEvent, RequestState};
use super::startup::{Purpose, Startup};
use super::{CasHandler, Loss, Machine, Phase, SessionOptions};
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
    /// It is the same process, as a statement was in flight that must not be executed twice.
    process_id: Option<i32>,
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
        let Some(Connected { session, process_id, .. }) = self.connected else { return false };
        let has_executed = self.may_have_executed();
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
        let process_id = has_executed.then_some(process_id);
        self.resuming = Some(Resuming { session, process_id, attempts: 0, misses: 0, is_next_due: false });
        self.phase = Phase::Released;
        true
    }

    /// Returns true if a request is in flight that may have changed something, and would a second time.
    fn may_have_executed(&self) -> bool {
        let commits = self.commits();
        self.queue.in_flight().any(|pending| pending.may_have_executed(commits))
    }

    fn commits(&self) -> bool {
        self.queue.in_flight().any(|pending| matches!(pending.verb(), Some(Verb::Commit(_))))
    }

    /// The session is of no use after an error.
    pub(super) fn session_ended(&mut self, error: ServerError) -> Fatal {
        let reason = Fatal::new(FatalKind::SessionEnded, format!("the server ended the session: {error}"));
        let is_unknown = self.may_have_executed() || self.commits();
        self.closing_error = Some(if is_unknown { error.of_unknown_outcome() } else { error });
        reason
    }

    /// The connection was lost while the parameters of the resumed session were being set, between whose replies the
    /// broker may give the CAS away as it may between any others. Returns true if the session can be resumed.
    fn released_again(&mut self, reason: &Fatal) -> bool {
        let Phase::Startup(startup) = &self.phase else { return false };
        let (Some(connected), Some(resuming)) = (startup.following(), &mut self.resuming) else { return false };
        if reason.kind != FatalKind::ConnectionLost || self.keeps_cas || resuming.attempts >= RESUMES {
            return false;
        }
        resuming.attempts += 1;
        if resuming.process_id == Some(connected.process_id) {
            // The process was still there, so it has not executed what was in flight.
            resuming.process_id = None;
        }
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
        let Resuming { session, process_id, .. } = resuming;
        let is_same_server = session[..SERVER_KEY_BYTES] == connected.session[..SERVER_KEY_BYTES];
        if session != connected.session && is_same_server && resuming.misses < SESSION_MISSES {
            resuming.misses += 1;
            resuming.is_next_due = true;
            // A process that is still there has not executed what was in flight.
            resuming.process_id = process_id.filter(|process_id| *process_id != connected.process_id);
            self.resuming = Some(resuming);
            return Err(Fatal::new(FatalKind::ConnectionLost, "the process does not know the session"));
        }
        self.resumed += 1;
        let reason = if session != connected.session && process_id.is_some() {
            "the server has ended the session while its connection was lost, and it is unknown whether the statement that \
             was in flight was executed"
        } else if session != connected.session {
            "the server has ended the session while its connection was lost"
        } else if process_id.is_some_and(|process_id| process_id != connected.process_id) {
            "the connection was lost, and it is unknown whether the statement that was in flight was executed: the \
             broker has given its process to another client before, or the process has crashed during it"
        } else {
            return Ok(());
        };
        Err(Fatal::new(FatalKind::ConnectionLost, reason))
    }

    /// Remembers a parameter that is one of the CAS.
    pub(super) fn remember(&mut self, parameter: i32, value: i32) {
        self.parameters.retain(|(known, _)| *known != parameter);
        self.parameters.push((parameter, value));
    }
}

impl<H: CasHandler> PendingRequest<H> {
    /// Returns true if it was sent, and would change something a second time. In a block it would not, unless a COMMIT was
    /// in flight after it: the server rolls back what it has done with the connection on which it was sent.
    fn may_have_executed(&self, commits: bool) -> bool {
        let executes = self.is_batch()
            || matches!(self.request, Request::Execute(_) | Request::Open { .. } | Request::WriteObject { .. });
        executes
            && (commits || !self.in_block)
            && !matches!(self.state(), RequestState::Queued | RequestState::Preparing | RequestState::Bindable)
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
        self.replies_due = 0;
        self.is_executed = false;
        self.is_undone = false;
        self.affected = None;
        self.has_redefined = false;
        self.results_left = 0;
    }
}
