//! The queue of pending requests, with a protocol that does nothing.

use headrace_core::{
    Column, Condition, Described, Diagnostics, Discarded, ErrorClass, Fatal, Pending, Queue, Room, Sink, Slot,
};
use headrace_testkit::{Dialect, Shared, TestHandler};
use std::borrow::Cow;
use std::sync::Arc;

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
    fn is_at_server(&self) -> bool {
        true
    }
    fn is_cancellable(&self) -> bool {
        self.slot.abandoned
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
fn an_earlier_failure_is_not_replaced_by_the_closing_error() {
    let mut queue = Queue::default();
    let waiting = [submit(&mut queue, "failed", 0).1, submit(&mut queue, "second", 0).1];
    queue[0].slot.fail(Refusal("22012"));
    queue[0].slot.fail(Refusal("23505"));
    queue.abort((), &Fatal::gone("reset"), Some(Refusal("57P01")));
    assert_eq!(waiting.each_ref().map(end), ["server 22012", "fatal reset"]);
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
