//! Requests that wait to be sent or are in flight.
//!
//! All requests are in one queue. The first [`Queue::started`] of them have begun to be sent. What depends on the
//! protocol is in the type of its pending requests, which has a [`Slot`] and implements [`Pending`].

use crate::block::{self, Blocks, WhenLost};
use crate::cancel::CancelledRequest;
use crate::params::Mismatch;
use crate::pending::{Failure, Pending, Pipelining, Slot};
use crate::protocol::{Discarded, Fatal, Outcome, ResponseHandler, Room};
use crate::verb::Effect;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The handler's error type and so on, by the type of pending requests.
type ServerError<R> = <<R as Pending>::Handler as ResponseHandler>::ServerError;
type Context<'a, R> = <<R as Pending>::Handler as ResponseHandler>::Context<'a>;

/// The pending requests of one connection.
#[derive(Debug)]
pub struct Queue<R> {
    requests: VecDeque<R>,
    started: usize,
    next_id: u64,
    /// The number of cancel requests that are under way.
    pauses: usize,
    /// The cancelled request that its caller has left to the session. One of the pauses is its own.
    left: Option<CancelledRequest>,
    /// The request whose response handler is full.
    full: Option<u64>,
    /// The transaction blocks of the program.
    blocks: Blocks,
}

impl<R> Default for Queue<R> {
    fn default() -> Self {
        let (requests, blocks) = (VecDeque::new(), Blocks::default());
        Self { requests, started: 0, next_id: 1, pauses: 0, left: None, full: None, blocks }
    }
}

impl<R: Pending> Queue<R> {
    /// Appends a request, which `make` makes around its slot, and returns its number.
    pub fn submit(&mut self, handler: R::Handler, make: impl FnOnce(Slot<R::Handler>) -> R) -> u64 {
        let lane = handler.lane();
        let slot = Slot { handler: Some(handler), block: self.blocks.open(), ..Slot::own(self.next_id, lane) };
        self.append(make(slot))
    }

    /// Appends a request of the machine's own, after the last one and in its lane.
    pub fn append_own(&mut self, make: impl FnOnce(Slot<R::Handler>) -> R) -> u64 {
        let lane = self.requests.back().map_or(0, |last| last.slot().lane);
        self.append(make(Slot::own(self.next_id, lane)))
    }

    fn append(&mut self, request: R) -> u64 {
        self.next_id += 1;
        self.requests.push_back(request);
        self.next_id - 1
    }

    /// Puts a request of the machine's own before those that wait.
    pub fn insert_own(&mut self, lane: u64, make: impl FnOnce(Slot<R::Handler>) -> R) {
        let request = make(Slot::own(self.next_id, lane));
        self.next_id += 1;
        self.requests.insert(self.started, request);
    }

    /// The number that the next request will have.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The number of requests that have begun to be sent.
    pub fn started(&self) -> usize {
        self.started
    }

    /// All requests, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &R> + ExactSizeIterator + Clone {
        self.requests.iter()
    }

    /// The requests that have begun to be sent.
    pub fn in_flight(&self) -> impl DoubleEndedIterator<Item = &R> + ExactSizeIterator + Clone {
        self.requests.iter().take(self.started)
    }

    /// The requests of which nothing was sent.
    pub fn waiting(&self) -> impl DoubleEndedIterator<Item = &R> + Clone {
        self.requests.iter().skip(self.started)
    }

    /// The request at a place.
    pub fn get(&self, at: usize) -> Option<&R> {
        self.requests.get(at)
    }

    /// The last request.
    pub fn back(&self) -> Option<&R> {
        self.requests.back()
    }

    /// The request of a number.
    pub fn by_id(&self, id: u64) -> Option<&R> {
        self.requests.iter().find(|request| request.slot().id == id)
    }

    /// Mutable access to the same.
    pub fn by_id_mut(&mut self, id: u64) -> Option<&mut R> {
        self.requests.iter_mut().find(|request| request.slot().id == id)
    }

    /// The request of a number, if it has begun to be sent.
    pub fn started_by_id_mut(&mut self, id: u64) -> Option<&mut R> {
        self.requests.iter_mut().take(self.started).find(|request| request.slot().id == id)
    }

    /// The number of the first request whose response handler matches `is`.
    pub fn find(&self, mut is: impl FnMut(&R::Handler) -> bool) -> Option<u64> {
        let slots = self.requests.iter().map(Pending::slot);
        slots.into_iter().find(|slot| slot.handler.as_ref().is_some_and(&mut is)).map(|slot| slot.id)
    }

    /// The response handler of request `id`.
    pub fn handler_mut(&mut self, id: u64) -> Option<&mut R::Handler> {
        self.by_id_mut(id)?.slot_mut().handler.as_mut()
    }

    /// The first request.
    pub fn first(&self) -> Option<&R> {
        self.requests.front()
    }

    /// Mutable access to the same.
    pub fn first_mut(&mut self) -> Option<&mut R> {
        self.requests.front_mut()
    }

    /// The first request that has begun to be sent: the one that the next reply belongs to.
    pub fn answered(&mut self) -> Option<&mut R> {
        self.requests.front_mut().filter(|_| self.started > 0)
    }

    /// The place of the request that was started last: only that one may still have something to send.
    pub fn last_at(&self) -> Option<usize> {
        self.started.checked_sub(1)
    }

    /// The request that was started last.
    pub fn last(&self) -> Option<&R> {
        self.requests.get(self.last_at()?)
    }

    /// Mutable access to the same.
    pub fn last_mut(&mut self) -> Option<&mut R> {
        let at = self.last_at()?;
        self.requests.get_mut(at)
    }

    /// The first request of which nothing was sent.
    pub fn next(&self) -> Option<&R> {
        self.requests.get(self.started)
    }

    /// Returns true if the queue allows the next request to start: there is one, no cancel request is under way that
    /// could hit it, and it is of the same lane as those in flight and may be in flight together with them.
    #[inline]
    pub fn may_start(&self) -> bool {
        let Some(next) = self.next().filter(|_| !self.is_paused()) else { return false };
        self.last().is_none_or(|last| {
            last.slot().lane == next.slot().lane
                && last.pipelining() == Pipelining::Free
                && !next.awaits_replies()
                && next.pipelining() != Pipelining::Alone
        })
    }

    /// Returns true if the request that was started last has to be answered before anything is sent after it.
    #[inline]
    pub fn is_exclusive(&self) -> bool {
        self.last().is_some_and(|last| last.pipelining() != Pipelining::Free)
    }

    /// Starts the next request, and returns its place.
    ///
    /// # Panics
    /// If there is none.
    pub fn start(&mut self) -> usize {
        assert!(self.started < self.requests.len(), "there is no request to start");
        let when_lost = self.requests[self.started].when_lost();
        let block = self.requests[self.started].slot().block;
        if when_lost == WhenLost::Commits
            && let Some(reason) = self.blocks.reason(block)
        {
            let error = block::not_committed(reason).into();
            let request = &mut self.requests[self.started];
            request.replace_discarded(None);
            request.slot_mut().failure.get_or_insert(Failure::Client { error, row: None });
        }
        self.started += 1;
        self.started - 1
    }

    /// The server has ended the transaction of this block because of an error; without effect for block 0, which is none.
    pub fn transaction_lost(&mut self, block: u64, reason: &str) {
        self.blocks.lose(block, reason);
    }

    /// The error of a request of this block that was started before it was known that the server has ended the
    /// transaction, and that would have gone on.
    pub fn refusal<E: From<Mismatch>>(&self, block: u64) -> Option<E> {
        self.blocks.reason(block).map(|reason| block::refused(reason).into())
    }

    /// Returns true if [`Queue::take_refused`] has one to take.
    pub fn has_refused(&self) -> bool {
        self.next().is_some_and(|next| {
            next.when_lost() == WhenLost::Refused && self.blocks.reason(next.slot().block).is_some()
        })
    }

    /// Takes the next request out if it is one of a block whose transaction the server has ended: it has failed. Called
    /// before it would be started.
    pub fn take_refused(&mut self) -> Option<R> {
        let next = self.next().filter(|next| next.when_lost() == WhenLost::Refused)?;
        let error = self.refusal(next.slot().block)?;
        let mut request = self.requests.remove(self.started)?;
        request.slot_mut().failure = Some(Failure::Client { error, row: None });
        Some(request)
    }

    /// The last request that was started was not: it waits again, before the others.
    ///
    /// # Panics
    /// If none was started.
    pub fn unstart(&mut self) {
        assert!(self.started > 0, "no request was started");
        self.started -= 1;
    }

    /// Moves the first of the waiting requests that is `wanted` before the others; returns true if there is one.
    /// `wanted` is called with a request and the waiting request before it.
    pub fn bring_forward(&mut self, wanted: impl Fn(&R, Option<&R>) -> bool) -> bool {
        let before = |at: usize| (at > self.started).then(|| &self.requests[at - 1]);
        let found = (self.started..self.requests.len()).find(|&at| wanted(&self.requests[at], before(at)));
        let Some(at) = found else { return false };
        if at > self.started
            && let Some(request) = self.requests.remove(at)
        {
            self.requests.insert(self.started, request);
        }
        true
    }

    /// Takes the first request out.
    pub fn pop_front(&mut self) -> Option<R> {
        let request = self.requests.pop_front()?;
        self.resume(request.slot().id);
        self.started = self.started.saturating_sub(1);
        Some(request)
    }

    /// Takes the first request out, if it has begun to be sent.
    pub fn pop_started(&mut self) -> Option<R> {
        if self.started > 0 { self.pop_front() } else { None }
    }

    /// Takes the request out that was started last.
    pub fn remove_last(&mut self) -> Option<R> {
        let request = self.requests.remove(self.last_at()?)?;
        self.started -= 1;
        self.resume(request.slot().id);
        Some(request)
    }

    /// Puts a request back before those that wait.
    pub fn put_back(&mut self, request: R) {
        self.requests.insert(self.started, request);
    }

    /// The same after the first of those that wait and that `goes_first` holds for.
    pub fn put_back_after(&mut self, request: R, goes_first: impl Fn(&R) -> bool) {
        let first = self.requests.iter().skip(self.started).take_while(|waiting| goes_first(waiting)).count();
        self.requests.insert(self.started + first, request);
    }

    /// Returns true if no request may be started: a cancel request is under way.
    pub fn is_paused(&self) -> bool {
        self.pauses > 0
    }

    /// Records whether the response handler of request `id` has room.
    pub fn note(&mut self, id: u64, room: Room) {
        if room == Room::Full {
            self.full = Some(id);
        }
    }

    /// True if a transaction is open once every request has ended, given whether one is `open` as of the last reply, and
    /// the `effect` of each request: see [`crate::Session::transaction_ahead`].
    pub fn transaction_ahead(&self, open: bool, effect: impl Fn(&R) -> Effect) -> Option<bool> {
        let mut requests = self.requests.iter().enumerate();
        requests.try_fold(open, |open, (at, request)| effect(request).leaves_open(open, at < self.started))
    }

    /// Ends every request with `reason`. The error with which the server ended the session, `closing_error`, goes to
    /// the first request that has a response handler: requests that were discarded, or are the machine's own, may come
    /// before it. Those that have begun to be sent are told that they may have been executed.
    pub fn abort(&mut self, cx: Context<'_, R>, reason: &Fatal, closing_error: Option<ServerError<R>>) {
        let started = std::mem::take(&mut self.started);
        self.full = None;
        let mut closing_error = closing_error;
        for (at, request) in std::mem::take(&mut self.requests).into_iter().enumerate() {
            let mut slot = request.into_slot();
            if slot.handler.is_some()
                && let Some(error) = closing_error.take()
            {
                slot.fail(error);
            }
            let lost = || if at < started { reason.in_flight() } else { reason.clone() };
            let outcome = slot.failure.take().map_or_else(|| Outcome::Fatal(lost()), Failure::outcome);
            slot.finish_with(cx, outcome);
        }
    }
}

/// A queue, without the type of its requests.
pub trait Requests {
    /// See [`crate::Session::discard`].
    fn discard(&mut self, id: u64) -> Discarded;
    /// See [`crate::Session::is_at_discarded`].
    fn is_at_discarded(&self) -> bool;
    /// See [`crate::Session::pause`].
    fn pause(&mut self);
    /// See [`crate::Session::unpause`].
    fn unpause(&mut self);
    /// See [`crate::Session::leave_cancelled`]. If there is one already, a single pause and the time limit of the later one
    /// are kept.
    fn leave(&mut self, left: CancelledRequest);
    /// The cancelled request that was left to the session, whether or not it is answered.
    fn left(&self) -> Option<CancelledRequest>;
    /// The cancelled request is answered, or given up: its pause can be ended.
    fn take_left(&mut self) -> Option<CancelledRequest>;
    /// See [`crate::Session::full`].
    fn full(&self) -> Option<u64>;
    /// See [`crate::Session::resume`].
    fn resume(&mut self, id: u64);
    /// The number of requests.
    fn queued(&self) -> usize;
    /// The number of requests that have begun to be sent.
    fn in_flight(&self) -> usize;
    /// Returns true if there is a request of this number.
    fn has(&self, id: u64) -> bool;
    /// Returns true if the server has ended the transaction of the program's block that is open.
    fn is_lost(&self) -> bool;
    /// The number of the program's transaction block that is open, 0 for none: the program's side sets it, before the
    /// first request of a block is submitted, and after its end was.
    fn block(&self) -> &Arc<AtomicU64>;
}

impl<R: Pending> Requests for Queue<R> {
    fn discard(&mut self, id: u64) -> Discarded {
        let Some(at) = self.requests.iter().position(|request| request.slot().id == id) else { return Discarded::Gone };
        if at >= self.started {
            let (before, rest) = self.requests.make_contiguous().split_at_mut(at);
            if rest[0].replace_discarded(before.last()) {
                rest[0].slot_mut().handler = None;
            } else {
                self.requests.remove(at);
            }
            return Discarded::Gone;
        }
        let slot = self.requests[at].slot_mut();
        slot.handler = None;
        slot.abandoned = true;
        self.resume(id);
        let request = &self.requests[at];
        if request.is_end() && request.is_at_server() {
            Discarded::Ending
        } else if self.is_at_discarded() {
            Discarded::Alone
        } else {
            Discarded::Followed
        }
    }

    fn is_at_discarded(&self) -> bool {
        self.in_flight().any(R::is_at_server) && self.in_flight().all(R::is_cancellable)
    }

    fn pause(&mut self) {
        self.pauses += 1;
    }

    fn unpause(&mut self) {
        self.pauses = self.pauses.saturating_sub(1);
    }

    fn leave(&mut self, left: CancelledRequest) {
        if self.left.replace(left).is_some() {
            self.unpause();
        }
    }

    fn left(&self) -> Option<CancelledRequest> {
        self.left
    }

    fn take_left(&mut self) -> Option<CancelledRequest> {
        self.left.take()
    }

    fn full(&self) -> Option<u64> {
        self.full
    }

    fn resume(&mut self, id: u64) {
        if self.full == Some(id) {
            self.full = None;
        }
    }

    fn queued(&self) -> usize {
        self.len()
    }

    fn in_flight(&self) -> usize {
        self.started()
    }

    fn has(&self, id: u64) -> bool {
        self.by_id(id).is_some()
    }

    fn is_lost(&self) -> bool {
        self.blocks.reason(self.blocks.open()).is_some()
    }

    fn block(&self) -> &Arc<AtomicU64> {
        self.blocks.shared()
    }
}

impl<R> Index<usize> for Queue<R> {
    type Output = R;

    fn index(&self, at: usize) -> &R {
        &self.requests[at]
    }
}

impl<R> IndexMut<usize> for Queue<R> {
    fn index_mut(&mut self, at: usize) -> &mut R {
        &mut self.requests[at]
    }
}
