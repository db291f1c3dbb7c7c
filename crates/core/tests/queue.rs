//! The queue of pending requests, with a protocol that does nothing.

use headrace_core::{
    Cancellation, CancelledRequest, Certificate, Column, Condition, Described, Diagnostics, Discarded, Effect,
    ErrorClass, Failure, Fatal, FatalKind, IfUnsent, Mismatch, NextStep, Pending, Pipelining, Queue, Reported,
    Requests, Room, Session, Sink, Slot, WhenLost, WriteBuffer,
};
use headrace_testkit::{Dialect, Shared, TestHandler};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

struct Plain;

#[derive(Debug)]
struct NoColumns;

impl Described for NoColumns {
    fn columns(&self) -> &Arc<[Column]> {
        unreachable!("nothing has columns here")
    }
}

struct Refusal(&'static str);

impl Diagnostics for Refusal {
    fn condition(&self) -> Condition {
        Condition::Class(ErrorClass::Database)
    }
    fn message(&self) -> Cow<'_, str> {
        self.0.into()
    }
}

impl Dialect for Plain {
    type Columns = Arc<NoColumns>;
    type ServerError = Refusal;

    fn read_again<S: Sink>(_: &Arc<NoColumns>, _: &[u8], _: &mut S) -> Result<(), Fatal> {
        Ok(())
    }
    fn code(error: &Refusal) -> String {
        error.0.to_owned()
    }
    fn message(error: &Refusal) -> String {
        error.0.to_owned()
    }
}

type Handler = TestHandler<Plain>;

/// A request with a name; COMMIT becomes ROLLBACK if it is discarded.
struct Request {
    slot: Slot<Handler>,
    name: &'static str,
}

impl Pending for Request {
    type Handler = Handler;

    fn slot(&self) -> &Slot<Handler> {
        &self.slot
    }
    fn slot_mut(&mut self) -> &mut Slot<Handler> {
        &mut self.slot
    }
    fn into_slot(self) -> Slot<Handler> {
        self.slot
    }
    fn replace_discarded(&mut self, _: Option<&Self>) -> bool {
        let ends = self.name == "commit";
        if ends {
            self.name = "rollback";
        }
        ends
    }
    fn pipelining(&self) -> Pipelining {
        match self.name {
            "last" => Pipelining::Last,
            "alone" => Pipelining::Alone,
            _ => Pipelining::Free,
        }
    }
    fn is_at_server(&self) -> bool {
        true
    }
    fn is_cancellable(&self) -> bool {
        self.slot.abandoned
    }
    fn when_lost(&self) -> WhenLost {
        match self.name {
            "commit" => WhenLost::Commits,
            "rollback" => WhenLost::RollsBack,
            "ping" => WhenLost::Sent,
            _ => WhenLost::Refused,
        }
    }
}

fn submit(queue: &mut Queue<Request>, name: &'static str, lane: u64) -> (u64, Shared) {
    let (mut handler, received) = Handler::new(Vec::new(), Vec::new());
    handler.lane = lane;
    (queue.submit(handler, |slot| Request { slot, name }), received)
}

fn names(queue: &Queue<Request>) -> Vec<&'static str> {
    queue.iter().map(|request| request.name).collect()
}

fn end(received: &Shared) -> String {
    received.get().end.unwrap_or_else(|| "not told".into())
}

#[test]
fn a_request_that_was_not_sent_leaves_the_queue_or_becomes_what_has_to_be_sent() {
    let mut queue = Queue::default();
    let ids = ["insert", "commit", "select"].map(|name| submit(&mut queue, name, 0).0);
    assert_eq!(ids.map(|id| queue.discard(id)), [Discarded::Gone; 3]);
    assert_eq!(names(&queue), ["rollback"]);
    assert!(queue.find(|_| true).is_none(), "nobody waits for it");
    assert_eq!(queue.discard(99), Discarded::Gone);
}

#[test]
fn a_cancel_request_is_for_what_is_alone_with_the_server() {
    let mut queue = Queue::default();
    let (first, second) = (submit(&mut queue, "first", 0).0, submit(&mut queue, "second", 0).0);
    queue.start();
    queue.start();
    assert_eq!(queue.discard(first), Discarded::Followed);
    assert!(!queue.is_at_discarded());
    assert_eq!(queue.discard(second), Discarded::Alone);
    assert!(queue.is_at_discarded());
    queue.pop_front();
    queue.pop_front();
    assert!(!queue.is_at_discarded(), "nothing is in flight");
}

#[test]
fn two_lanes_are_never_in_flight_together_and_a_paused_queue_starts_nothing() {
    let mut queue = Queue::default();
    for lane in [1, 1, 2] {
        submit(&mut queue, "request", lane);
    }
    queue.pause();
    assert!(!queue.may_start());
    queue.unpause();
    queue.start();
    assert!(queue.may_start(), "of the same lane");
    queue.start();
    assert!(!queue.may_start(), "of another lane");
    queue.pop_front();
    queue.pop_front();
    assert!(queue.may_start());
}

#[test]
fn a_request_tells_what_may_be_in_flight_with_it() {
    for (first, second, together) in [
        ("free", "free", true),
        ("free", "last", true),
        ("free", "alone", false),
        ("last", "free", false),
        ("alone", "free", false),
    ] {
        let mut queue = Queue::default();
        for name in [first, second] {
            submit(&mut queue, name, 0);
        }
        assert!(queue.may_start(), "{first}: nothing is in flight");
        queue.start();
        assert_eq!(queue.may_start(), together, "{second} after {first}");
        queue.pop_front();
        assert!(queue.may_start(), "{second} once {first} is answered");
    }
}

#[test]
fn the_transaction_ahead_follows_from_each_request() {
    let effect = |request: &Request| match request.name {
        "begin" => Effect::Begins,
        "commit" => Effect::Ends(IfUnsent::Forget),
        "rollback" => Effect::Ends(IfUnsent::RollBack),
        _ => Effect::Keeps,
    };
    for (names, sent, ahead) in [
        (["insert", "insert"], 0, Some(true)),
        (["insert", "commit"], 0, None),
        (["insert", "commit"], 2, Some(false)),
        (["insert", "rollback"], 0, Some(false)),
        (["rollback", "begin"], 2, None),
        (["begin", "insert"], 0, Some(true)),
    ] {
        let mut queue = Queue::default();
        for name in names {
            submit(&mut queue, name, 0);
        }
        for _ in 0..sent {
            queue.start();
        }
        assert_eq!(queue.transaction_ahead(true, effect), ahead, "{names:?}, {sent} sent");
    }
}

#[test]
fn requests_are_started_once_nobody_pauses_the_queue_any_more() {
    let mut queue = Queue::default();
    submit(&mut queue, "request", 0);
    queue.pause();
    queue.pause();
    queue.unpause();
    assert!(!queue.may_start() && queue.is_paused(), "another cancel request is under way");
    queue.unpause();
    assert!(queue.may_start() && !queue.is_paused());
}

#[test]
fn what_is_put_forward_goes_before_what_waits_and_not_before_what_was_sent() {
    let mut queue = Queue::default();
    for name in ["sent", "waits", "wanted"] {
        submit(&mut queue, name, 0);
    }
    queue.start();
    assert!(!queue.bring_forward(|request, _| request.name == "sent"));
    assert!(queue.bring_forward(|request, before| request.name == "wanted" && before.is_some()));
    assert_eq!(names(&queue), ["sent", "wanted", "waits"]);
    queue.bring_forward(|_, before| {
        assert!(before.is_none(), "what was sent does not wait");
        true
    });
}

#[test]
fn the_closing_error_goes_to_the_first_request_that_waits() {
    let mut queue = Queue::default();
    let (gone, _) = submit(&mut queue, "discarded", 0);
    let waiting = [submit(&mut queue, "first", 0).1, submit(&mut queue, "second", 0).1];
    queue.start();
    queue.discard(gone);
    queue.abort((), &Fatal::gone("reset"), Some(Refusal("57P01")));
    assert_eq!(waiting.each_ref().map(end), ["server 57P01", "fatal reset"]);
    assert!(queue.is_empty() && queue.started() == 0);
}

#[test]
fn a_request_in_flight_learns_that_it_may_have_been_executed() {
    let unknown = "; it is unknown whether the statement in flight was executed";
    for (reason, after) in [
        (Fatal::gone("reset"), unknown),
        (Fatal::new(FatalKind::NoAnswer, "late"), unknown),
        (Fatal::new(FatalKind::Closed, "closed"), ""),
    ] {
        let mut queue = Queue::default();
        let waiting = [submit(&mut queue, "sent", 0).1, submit(&mut queue, "not sent", 0).1];
        queue.start();
        queue.abort((), &reason, None);
        assert_eq!(waiting.each_ref().map(end), [format!("fatal {reason}{after}"), format!("fatal {reason}")]);
    }
}

#[test]
fn an_earlier_failure_is_not_replaced_by_the_closing_error() {
    let mut queue = Queue::default();
    let waiting = [submit(&mut queue, "failed", 0).1, submit(&mut queue, "second", 0).1];
    queue[0].slot.fail(Refusal("22012"));
    queue[0].slot.fail(Refusal("23505"));
    queue.abort((), &Fatal::gone("reset"), Some(Refusal("57P01")));
    assert_eq!(waiting.each_ref().map(end), ["server 22012", "fatal reset"]);
}

#[test]
fn of_several_failures_of_a_batch_the_first_rows_is_reported() {
    let server = |row| Failure::<Handler>::Server { error: Refusal("23505"), row };
    let client = |row| Failure::<Handler>::Client { error: Mismatch::wrong_type("it does not fit"), row };
    // What is known first, what comes later, and whether that counts.
    let cases = [
        (client(Some(9)), server(Some(3)), true),
        (server(Some(3)), client(Some(9)), false),
        (server(Some(3)), server(Some(9)), false),
        (client(Some(9)), server(Some(9)), false),
        // Rows that were sent together, and one that was not sent.
        (client(Some(9)), server(None), true),
        (server(None), client(Some(9)), false),
        (server(None), server(Some(3)), false),
        (client(None), server(None), false),
        (client(None), server(Some(3)), false),
    ];
    for (known, later, counts) in cases {
        let case = format!("{known:?}, {later:?}");
        let expected = if counts { format!("{later:?}") } else { format!("{known:?}") };
        let mut slot = Slot::own(1, 0);
        assert!(slot.fail_row(known), "{case}: there was none");
        assert_eq!(slot.fail_row(later), counts, "{case}");
        assert_eq!(slot.failure.map(|failure| format!("{failure:?}")), Some(expected), "{case}");
    }
}

#[test]
fn a_full_handler_is_so_until_it_takes_more_is_discarded_or_its_request_ends() {
    type End = fn(&mut Queue<Request>, u64);
    let ends: [(&str, End); 4] = [
        ("resumed", |queue, id| queue.resume(id)),
        ("discarded", |queue, id| _ = queue.discard(id)),
        ("answered", |queue, _| drop(queue.pop_front())),
        ("aborted", |queue, _| queue.abort((), &Fatal::gone("gone"), None)),
    ];
    for (how, end) in ends {
        let mut queue = Queue::default();
        let (id, _) = submit(&mut queue, "select", 0);
        let (other, _) = submit(&mut queue, "select", 0);
        queue.start();
        queue.note(id, Room::More);
        assert_eq!(queue.full(), None);
        queue.note(id, Room::Full);
        queue.resume(other);
        queue.discard(other);
        assert_eq!(queue.full(), Some(id), "{how}");
        end(&mut queue, id);
        assert_eq!(queue.full(), None, "{how}");
    }
}

/// A session that does nothing but count the cancel requests that the server has received.
#[derive(Default)]
struct Idle {
    queue: Queue<Request>,
    cancels: usize,
}

impl Session for Idle {
    fn next_step(&self) -> NextStep<'_> {
        NextStep::Ready
    }
    fn tls_ready(&mut self, _: Certificate, _: &mut WriteBuffer) -> Result<(), Fatal> {
        Ok(())
    }
    fn terminate(&mut self, _: &mut WriteBuffer) {}
    fn process_id(&self) -> i32 {
        0
    }
    fn cancellation(&self) -> Cancellation {
        Cancellation::Impossible
    }
    fn cancel_sent(&mut self) {
        assert!(self.queue.is_paused(), "it is reported before the pause ends");
        self.cancels += 1;
    }
    fn requests(&self) -> &dyn Requests {
        &self.queue
    }
    fn requests_mut(&mut self) -> &mut dyn Requests {
        &mut self.queue
    }
    fn reported(&self) -> Reported {
        Reported::Idle
    }
    fn transaction_ahead(&self) -> Option<bool> {
        None
    }
    fn statements(&self) -> usize {
        0
    }
    fn forget_statements(&mut self) {}
}

/// A session whose first request is at the server and abandoned, and whose second waits; the number of the first.
fn cancelling() -> (Idle, u64) {
    let mut session = Idle::default();
    let first = submit(&mut session.queue, "cancelled", 0).0;
    session.queue.start();
    submit(&mut session.queue, "next", 0);
    assert_eq!(session.abandon(first), Discarded::Alone);
    (session, first)
}

/// The time limit of a cancelled request, and times before and after it.
fn times() -> [Instant; 3] {
    let now = Instant::now();
    [now + Duration::from_secs(10), now, now + Duration::from_secs(11)]
}

#[test]
fn an_abandoned_request_pauses_the_session_only_where_a_cancel_request_can_hit_nothing_else() {
    let (session, _) = cancelling();
    assert!(!session.queue.may_start());
    let mut session = Idle::default();
    let ids = ["first", "second", "unsent"].map(|name| submit(&mut session.queue, name, 0).0);
    session.queue.start();
    session.queue.start();
    assert_eq!(session.abandon(ids[2]), Discarded::Gone);
    assert_eq!(session.abandon(ids[0]), Discarded::Followed);
    assert!(!session.pause_at_discarded(), "the second is wanted");
    assert!(!session.queue.is_paused());
    session.discard(ids[1]);
    assert!(session.pause_at_discarded());
    assert!(session.queue.is_paused());
}

#[test]
fn requests_wait_until_the_cancelled_one_that_was_left_is_answered() {
    let [until, before, after] = times();
    for request in [true, false] {
        let (mut session, first) = cancelling();
        let request = request.then_some(first);
        session.leave_cancelled(CancelledRequest { request, until });
        assert_eq!(session.check_left(before), Ok(()));
        assert!(session.left().is_some() && session.is_unanswered(request));
        assert!(!session.queue.may_start() && session.cancels == 0, "it is not answered");
        session.queue.pop_front();
        assert!(!session.is_unanswered(request));
        assert!(!session.queue.may_start(), "the loop has not looked");
        assert_eq!(session.check_left(after), Ok(()), "it was answered, if late");
        assert!(session.queue.may_start() && session.cancels == 1);
        assert_eq!(session.left(), None);
        assert_eq!(session.check_left(after), Ok(()));
        assert_eq!(session.cancels, 1);
    }
}

#[test]
fn a_connection_is_closed_if_the_cancelled_request_that_was_left_is_not_answered_in_time() {
    let [until, _, after] = times();
    for request in [true, false] {
        let (mut session, first) = cancelling();
        session.leave_cancelled(CancelledRequest { request: request.then_some(first), until });
        assert_eq!(session.check_left(after).unwrap_err().kind, FatalKind::NoAnswer);
        assert_eq!(session.left(), None);
    }
}

#[test]
fn what_is_left_twice_keeps_one_pause_and_the_later_time_limit() {
    let [until, _, after] = times();
    let (mut session, first) = cancelling();
    session.leave_cancelled(CancelledRequest { request: Some(first), until });
    assert!(session.pause_at_discarded());
    let later = after + Duration::from_secs(1);
    session.leave_cancelled(CancelledRequest { request: None, until: later });
    assert_eq!(session.check_left(after), Ok(()));
    assert_eq!(session.left().map(|left| left.until), Some(later));
    session.queue.pop_front();
    assert_eq!(session.check_left(later), Ok(()));
    assert!(session.queue.may_start(), "a pause is left");
}

#[test]
fn a_pause_of_another_cancel_request_outlasts_the_request_that_was_left() {
    let [until, before, _] = times();
    let (mut session, first) = cancelling();
    session.leave_cancelled(CancelledRequest { request: Some(first), until });
    session.pause();
    session.queue.pop_front();
    assert_eq!(session.check_left(before), Ok(()));
    assert!(!session.queue.may_start(), "the other cancel request may hit the next request");
    session.unpause();
    assert!(session.queue.may_start());
}

/// A queue in the block of this number, with these requests.
fn in_block(number: u64, names: &[&'static str]) -> (Queue<Request>, Vec<Shared>) {
    let mut queue = Queue::default();
    queue.block().store(number, Ordering::SeqCst);
    let received = names.iter().map(|name| submit(&mut queue, name, 0).1).collect();
    (queue, received)
}

/// Starts and ends the next request; returns what was sent.
fn run_next(queue: &mut Queue<Request>) -> Option<&'static str> {
    if let Some(refused) = queue.take_refused() {
        refused.slot.finish(());
        return None;
    }
    let at = queue.start();
    let sent = queue[at].name;
    queue.pop_front()?.slot.finish(());
    Some(sent)
}

#[test]
fn nothing_of_a_block_is_sent_once_its_transaction_was_lost() {
    let (mut queue, received) = in_block(1, &["insert", "ping", "insert"]);
    queue.transaction_lost(1, "deadlock");
    queue.transaction_lost(1, "a consequence");
    assert!(queue.is_lost());
    assert_eq!([(); 3].map(|()| run_next(&mut queue)), [None, Some("ping"), None]);
    assert!(end(&received[0]).contains("deadlock"), "{}", end(&received[0]));
    assert_eq!(end(&received[1]), "done");
}

#[test]
fn the_end_of_a_lost_block_is_a_rollback_that_fails() {
    let (mut queue, received) = in_block(1, &["commit"]);
    queue.transaction_lost(1, "deadlock");
    queue.block().store(0, Ordering::SeqCst);
    assert_eq!(run_next(&mut queue), Some("rollback"));
    assert!(end(&received[0]).contains("not committed") && end(&received[0]).contains("deadlock"));
    let (_, later) = submit(&mut queue, "insert", 0);
    assert_eq!(run_next(&mut queue), Some("insert"));
    assert_eq!((end(&later).as_str(), queue.is_lost()), ("done", false));
    let (mut queue, received) = in_block(1, &["rollback"]);
    queue.transaction_lost(1, "deadlock");
    assert_eq!((run_next(&mut queue), end(&received[0]).as_str()), (Some("rollback"), "done"));
}

#[test]
fn a_transaction_that_no_block_began_is_not_lost_with_its_error() {
    let (mut queue, _) = in_block(0, &["insert"]);
    queue.transaction_lost(0, "deadlock");
    assert_eq!((queue.is_lost(), run_next(&mut queue)), (false, Some("insert")));
    // A savepoint in such a transaction ends without an end of its own.
    let (mut queue, _) = in_block(1, &[]);
    queue.transaction_lost(1, "deadlock");
    for number in [0, 2] {
        queue.block().store(number, Ordering::SeqCst);
        for name in ["insert", "commit"] {
            submit(&mut queue, name, 0);
            assert_eq!((queue.is_lost(), run_next(&mut queue)), (false, Some(name)), "block {number}");
        }
    }
}

#[test]
fn a_block_is_committed_after_its_requests_are_answered() {
    let (mut queue, _) = in_block(1, &["insert", "commit"]);
    queue.start();
    assert!(!queue.may_start(), "the insert may end the transaction");
    queue.block().store(0, Ordering::SeqCst);
    queue.transaction_lost(1, "deadlock");
    queue.pop_front();
    assert!(queue.may_start());
    assert_eq!(run_next(&mut queue), Some("rollback"));
}

#[test]
fn a_block_that_begins_while_the_one_before_ends_is_another() {
    let (mut queue, _) = in_block(1, &["insert", "commit"]);
    queue.block().store(2, Ordering::SeqCst);
    let (_, begun) = submit(&mut queue, "begin", 0);
    queue.start();
    queue.transaction_lost(1, "deadlock");
    queue.pop_front();
    assert_eq!(run_next(&mut queue), Some("rollback"));
    assert_eq!(run_next(&mut queue), Some("begin"));
    assert_eq!((end(&begun).as_str(), queue.is_lost()), ("done", false));
}
