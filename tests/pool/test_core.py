"""The pool's decisions, without threads, loop, clock or server."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pool_fakes import Fake

from headrace import defaults
from headrace._shared.pool_actions import Connect, Discard, Fail, Hand, Sever
from headrace._shared.pool_core import PoolCore
from headrace._shared.pool_settings import Settings
from headrace.errors import InvalidPassword, PoolClosed, PoolTimeout, ProgrammingError, TooManyRequests
from headrace.types import TransactionStatus as Status
from long import times


def take(core: PoolCore[Any, Any]) -> list[Any]:
    actions, core.actions = core.actions, []
    return actions


def opened(now: float = 0.0, rng: float = 0.0, **options: Any) -> tuple[PoolCore[Fake, str], list[Fake]]:
    """An open pool with the minimum connected."""
    core: PoolCore[Fake, str] = PoolCore(Settings(**options), lambda: rng)
    core.open(now)
    made = []
    for action in take(core):
        made.append(Fake())
        core.connected(action.attempt, made[-1], now)
    assert take(core) == []
    return core, made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_size": 3, "max_size": 2}, "min_size <= max_size"),
        ({"min_size": -1}, "min_size"),
        ({"min_size": 0, "max_size": 0}, "max_size >= 1"),
        ({"reset": "all"}, "not one of"),
        ({"max_waiting": -1}, "max_waiting"),
        ({"timeout": -1}, "timeout"),
        ({"max_idle": math.nan}, "max_idle"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgrammingError, match=message):
        Settings(**options)


def test_a_wait_makes_as_many_calls_whatever_is_lent() -> None:
    """A pool under load has a wait for each query: a call for each connection that is lent was half of its cost."""

    def calls(size: int) -> int:
        core, _ = opened(min_size=size, max_size=size)
        held = [core.checkout(0) for _ in range(size)]
        made = 0

        def count(_frame: object, event: str, _value: object) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(count)
        try:
            core.enqueue("w", 0)
        finally:
            sys.setprofile(None)
        assert len(held) == size
        return made

    assert calls(2) == calls(20)


N, T, E, A, U = Status.IDLE, Status.INTRANS, Status.INERROR, Status.ACTIVE, Status.UNKNOWN


@pytest.mark.parametrize(
    # mode, status on return, at least, what checkin asks for, what became of it
    ("mode", "status", "at_least", "asked", "fate"),
    [
        ("rollback", N, "none", None, "idle"),
        ("rollback", T, "none", "rollback", None),
        ("rollback", E, "none", "rollback", None),
        ("rollback", A, "none", "rollback", None),
        ("rollback", N, "rollback", None, "idle"),
        ("discard", N, "none", "discard", None),
        ("discard", T, "rollback", "discard", None),
        ("none", N, "none", None, "idle"),
        ("none", T, "none", None, "idle"),
        ("none", A, "none", None, "doubt"),
        ("none", U, "none", None, "doubt"),
        ("none", T, "rollback", "rollback", None),
        ("none", A, "rollback", "rollback", None),
    ],
)
def test_what_a_returned_connection_needs(
    mode: Any, status: Status, at_least: Any, asked: str | None, fate: str | None
) -> None:
    core, (conn,) = opened(min_size=1, max_size=1, reset=mode)
    assert core.checkout(1) is conn
    assert core.checkin(conn, status, 2, at_least) == asked
    stats = core.stats()
    if asked:
        assert stats.in_use == 1
    elif fate == "idle":
        assert stats.idle == 1
    else:
        assert take(core)[0] == Discard(conn, fate)  # type: ignore[arg-type]


@pytest.mark.parametrize(("mode", "asked"), [("none", "none"), ("rollback", "rollback"), ("discard", "discard")])
def test_an_idle_connection_with_something_open_is_reset(mode: Any, asked: str) -> None:
    core, (conn,) = opened(min_size=1, max_size=1, reset=mode)
    core.checkout(1)
    conn.needs_reset = True
    assert core.checkin(conn, Status.IDLE, 2) == asked
    assert core.stats().in_use == 1


def test_in_a_transaction_something_open_is_not_passed_on_without_a_reset() -> None:
    core, (conn,) = opened(min_size=1, max_size=1, reset="none")
    core.checkout(1)
    conn.needs_reset = True
    assert core.checkin(conn, Status.INTRANS, 2) is None
    assert take(core)[0] == Discard(conn, "doubt")


@pytest.mark.parametrize("mode", ["none", "rollback", "discard"])
@pytest.mark.parametrize("status", [Status.IDLE, Status.ACTIVE, Status.INTRANS])
def test_a_stream_that_nothing_ends_is_not_waited_for(mode: Any, status: Status) -> None:
    core, (conn,) = opened(min_size=1, max_size=1, reset=mode)
    core.checkout(1)
    conn.streaming = conn.needs_reset = True
    assert core.checkin(conn, status, 2) is None
    assert take(core)[0] == Discard(conn, "doubt")


def test_a_connection_in_doubt_is_discarded_and_replaced() -> None:
    for spoil in ("closed", "broken"):
        core, (conn,) = opened(min_size=1, max_size=1)
        core.checkout(1)
        setattr(conn, spoil, True)
        assert core.checkin(conn, Status.UNKNOWN, 1) is None
        gone, again = take(core)
        assert gone == Discard(conn, "broken")
        assert isinstance(again, Connect)
    core, (conn,) = opened(min_size=1, max_size=1)
    core.checkout(1)
    core.checkin(conn, Status.ACTIVE, 1)
    core.reset_done(conn, False, 2)
    assert take(core)[0] == Discard(conn, "doubt")
    assert core.stats().lost == {"doubt": 1}


def test_a_reset_that_takes_too_long_is_severed() -> None:
    core, (conn,) = opened(min_size=1, max_size=1)
    core.checkout(0)
    assert core.checkin(conn, Status.INTRANS, 0) == "rollback"
    with pytest.raises(ProgrammingError, match="already"):
        core.checkin(conn, Status.INTRANS, 0)
    core.tick(defaults.POOL_RESET_TIMEOUT + defaults.POOL_MAINTENANCE)
    gone, again = take(core)
    assert gone == Sever(conn, "doubt")
    assert isinstance(again, Connect)
    core.reset_done(conn, True, 20)
    assert core.stats().idle == 0
    assert not core._severed


def test_a_foreign_or_returned_connection_is_refused() -> None:
    core, (conn,) = opened(min_size=1)
    for bad in (Fake(), conn):
        with pytest.raises(ProgrammingError, match="does not belong"):
            core.checkin(bad, Status.IDLE, 0)


def test_age_idle_time_and_liveness_are_looked_at_when_lending() -> None:
    core, made = opened(min_size=3, max_size=3, max_lifetime=100, max_idle=10)
    made[2].alive = False
    assert core.checkout(1) is made[1]
    assert take(core) == [Discard(made[2], "dead")]
    core.checkin(made[1], Status.IDLE, 1)
    # Too old at 100: both are replaced, and the request has to wait.
    assert core.checkout(100) is None
    assert [a.reason for a in take(core)] == ["lifetime", "lifetime"]
    core.enqueue("w", 100)
    assert [type(a) for a in take(core)] == [Connect] * 3


def test_lifetimes_differ_by_up_to_a_tenth() -> None:
    core, (conn,) = opened(min_size=1, max_size=1, max_lifetime=100, rng=1.0)
    assert core.checkout(89.9) is conn
    core.checkin(conn, Status.IDLE, 90.1)
    assert take(core)[0] == Discard(conn, "lifetime")


def test_a_connection_idle_for_too_long_is_closed_down_to_the_minimum() -> None:
    core, _ = opened(min_size=3, max_size=3, max_idle=10)
    core.resize(Settings(min_size=1, max_size=3, max_idle=10), 0)
    core.tick(11)
    assert [a.reason for a in take(core)] == ["idle", "idle"]
    assert core.size == 1
    core, made = opened(min_size=2, max_size=2, max_idle=10)
    core.resize(Settings(min_size=0, max_size=2, max_idle=10), 0)
    assert core.checkout(11) is None
    assert len(take(core)) == len(made)


def test_the_tick_replaces_dead_connections_in_the_background() -> None:
    core, (a, b) = opened(min_size=2, max_size=2)
    a.alive = False
    core.tick(core.wakeup)
    gone, again = take(core)
    assert gone == Discard(a, "dead")
    assert isinstance(again, Connect)
    assert core.checkout(6) is b


def test_an_error_of_the_look_at_the_socket_is_a_dead_connection() -> None:
    core, (conn,) = opened(min_size=1, max_size=1)
    conn.check_alive = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    assert core.checkout(1) is None
    assert take(core) == [Discard(conn, "dead")]


def test_waiters_are_served_in_their_order_and_a_gone_one_is_passed_over() -> None:
    core, (conn,) = opened(min_size=1, max_size=1)
    core.checkout(0)
    for waiter in "abcd":
        assert core.checkout(0) is None
        core.enqueue(waiter, 0)
    assert core.cancel("b", 1)
    core.checkin(conn, Status.IDLE, 1)
    assert take(core) == [Hand("a", conn)]
    assert not core.cancel("a", 1)
    core.refuse(conn, 1)
    assert take(core) == [Hand("c", conn)]
    core.checkin(conn, Status.IDLE, 2)
    assert take(core) == [Hand("d", conn)]
    stats = core.stats()
    assert (stats.waits, stats.wait_ms) == (4, 1000 * (1 + 1 + 1 + 2))


def test_a_full_queue_refuses() -> None:
    core, _ = opened(min_size=1, max_size=1, max_waiting=1)
    core.checkout(0)
    core.enqueue("a", 0)
    core.enqueue("b", 0)
    (fail,) = take(core)
    assert isinstance(fail, Fail)
    assert fail.waiter == "b"
    assert isinstance(fail.error, TooManyRequests)
    assert core.stats().rejected == 1


def test_no_more_attempts_are_made_than_needed() -> None:
    core, _ = opened(min_size=1, max_size=3)
    core.checkout(0)
    for n in range(10):
        core.enqueue(str(n), 0)
    assert len(take(core)) == 2


def test_during_an_outage_one_attempt_at_a_time_with_growing_pauses() -> None:
    core: PoolCore[Fake, str] = PoolCore(Settings(min_size=5, max_size=5, backoff=1, backoff_max=8), lambda: 1.0)
    core.open(0)
    attempts = [a.attempt for a in take(core)]
    assert len(attempts) == 5
    for attempt in attempts:
        core.connect_failed(attempt, OSError("down"), 0)
    now, pauses = 0.0, []
    for _ in range(6):
        assert take(core) == []
        core.enqueue(f"w{now}", now)  # does not bring an attempt forward
        assert take(core) == []
        due = core._retry_at
        pauses.append(due - now)
        now = due
        core.tick(now)
        (attempt,) = (a.attempt for a in take(core))
        core.connect_failed(attempt, OSError("down"), now)
    # Five failures of one round count once.
    assert pauses == [1, 2, 4, 8, 8, 8]
    core.tick(now + 8)
    (again,) = take(core)
    conn = Fake()
    core.connected(again.attempt, conn, now + 9)
    hand, *rest = take(core)
    assert hand.waiter == "w0.0"
    assert len(rest) == 4
    assert all(isinstance(a, Connect) for a in rest)


def test_pauses_are_jittered() -> None:
    for rng, pause in ((0.0, 0.5), (1.0, 1.0)):
        core: PoolCore[Fake, str] = PoolCore(Settings(backoff=1), lambda rng=rng: rng)  # type: ignore[misc]
        core.open(0)
        core.connect_failed(take(core)[0].attempt, OSError(), 0)
        assert core.wakeup == pause


def test_the_timeout_says_how_the_pool_stands_and_why() -> None:
    core, _ = opened(min_size=1, max_size=2)
    core.checkout(0)
    core.enqueue("w", 0)
    (attempt,) = take(core)
    core.connect_failed(attempt.attempt, OSError("no route to host"), 0)
    error = core.expire("w", 3, 3)
    assert isinstance(error, PoolTimeout)
    assert str(error) == (
        "no connection within 3 s; 1 of 2 connections are in use; the last attempt failed: OSError: no route to host"
    )
    assert isinstance(error.__cause__, OSError)
    assert core.expire("w", 3, 3) is None
    assert core.stats().timeouts == 1


def test_a_pool_gives_up_in_time_and_tries_again_when_asked() -> None:
    core: PoolCore[Fake, str] = PoolCore(Settings(reconnect_timeout=10, backoff=1, backoff_max=100), lambda: 1.0)
    core.open(0)
    core.enqueue("w", 0)
    core.connect_failed(take(core)[0].attempt, OSError("down"), 0)
    core.tick(1)
    core.connect_failed(take(core)[0].attempt, OSError("down"), 11)
    (fail,) = take(core)
    assert fail.waiter == "w"
    assert "OSError: down" in str(fail.error)
    core.tick(10_000)
    assert take(core) == []
    assert core.checkout(10_000) is None
    core.enqueue("x", 10_000)
    (again,) = take(core)
    assert isinstance(again, Connect)
    core.connected(again.attempt, Fake(), 10_001)
    assert isinstance(take(core)[0], Hand)


def test_a_refused_new_connection_slows_connecting_down() -> None:
    core, (conn,) = opened(min_size=1, max_size=1, backoff=1)
    core.checkout(0)
    core.discard(conn, ValueError("unfit"), 0)
    assert take(core) == [Discard(conn, "refused")]
    assert core.wakeup == 0.5
    core.tick(0.5)
    assert isinstance(take(core)[0], Connect)


def test_drain_replaces_idle_lent_and_half_made_connections() -> None:
    core, (a, b) = opened(min_size=2, max_size=3)
    assert core.checkout(0) is b
    core.enqueue("w", 0)
    (attempt,) = take(core)
    core.drain(1)
    assert take(core)[0] == Discard(a, "drain")
    core.connected(attempt.attempt, old := Fake(), 2)
    assert Discard(old, "drain") in take(core)
    core.checkin(b, Status.IDLE, 3)
    assert Discard(b, "drain") in take(core)


def test_resize_closes_surplus_connections_when_they_are_idle() -> None:
    core, made = opened(min_size=4, max_size=4)
    lent = [core.checkout(0), core.checkout(0)]
    core.resize(Settings(min_size=1, max_size=1), 0)
    assert [a.reason for a in take(core)] == ["surplus", "surplus"]
    for conn in lent:
        assert conn is not None
        core.checkin(conn, Status.IDLE, 1)
    assert take(core) == [Discard(lent[0], "surplus")]
    assert core.size == 1
    assert len(made) == 4


def test_close_with_work_in_flight() -> None:
    core, (a, b) = opened(min_size=2, max_size=3)
    assert core.checkout(0) is b
    core.checkout(0)
    core.enqueue("w", 0)
    (attempt,) = take(core)
    core.close(1)
    (fail,) = take(core)
    assert isinstance(fail.error, PoolClosed)
    with pytest.raises(PoolClosed):
        core.checkout(1)
    core.connected(attempt.attempt, late := Fake(), 2)
    assert take(core) == [Discard(late, "shutdown")]
    core.checkin(b, Status.INTRANS, 2)
    assert take(core) == [Discard(b, "shutdown")]
    core.sever()
    assert take(core) == [Sever(a, "shutdown")]
    # Brought back after all: nothing to do, and no error.
    assert core.checkin(a, Status.UNKNOWN, 3) is None
    assert take(core) == []
    assert core.wakeup == math.inf


class Machine(RuleBasedStateMachine):
    """Any order of events: no connection has two owners, none is lost, the first to wait is the first served."""

    @initialize(
        low=st.integers(0, 2),
        extra=st.integers(0, 2),
        mode=st.sampled_from(["none", "rollback", "discard"]),
        limit=st.sampled_from([0, 2]),
    )
    def begin(self, low: int, extra: int, mode: Any, limit: int) -> None:
        self.now = 0.0
        self.core: PoolCore[Fake, int] = PoolCore(
            Settings(low, max(1, low + extra), 30, 60, 20, limit, mode, reconnect_timeout=40), lambda: 0.5
        )
        self.numbers = iter(range(10**9))
        self.queue: list[int] = []
        self.attempts: list[int] = []
        self.lent: list[Fake] = []
        self.resetting: list[Fake] = []
        self.severed: list[Fake] = []
        self.alive: list[Fake] = []
        self.core.open(0)
        self.settle()

    def settle(self, dead: bool = False) -> None:
        while self.core.actions:
            for action in take(self.core):
                if isinstance(action, Connect):
                    assert action.attempt not in self.attempts
                    self.attempts.append(action.attempt)
                elif isinstance(action, Hand):
                    assert action.waiter == self.queue.pop(0), "not the first in the queue"
                    assert action.connection in self.alive
                    assert action.connection not in self.lent + self.resetting
                    assert not action.connection.closed
                    if dead:
                        self.core.refuse(action.connection, self.now)
                    else:
                        self.lent.append(action.connection)
                elif isinstance(action, Fail):
                    if action.waiter in self.queue:
                        self.queue.remove(action.waiter)
                elif isinstance(action, Discard):
                    assert action.connection not in self.lent + self.resetting
                    self.alive.remove(action.connection)
                    action.connection.closed = True
                else:
                    self.alive.remove(action.connection)
                    (self.lent if action.connection in self.lent else self.resetting).remove(action.connection)
                    self.severed.append(action.connection)

    @rule(seconds=st.sampled_from([0.0, 0.05, 1.0, 7.0, 25.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.core.tick(self.now)
        self.settle()

    @rule()
    def ask(self) -> None:
        if self.core.closed:
            return
        connection = self.core.checkout(self.now)
        if connection is None:
            waiter = next(self.numbers)
            self.queue.append(waiter)
            self.core.enqueue(waiter, self.now)
        else:
            assert not self.queue, "overtaken"
            assert connection in self.alive
            assert connection not in self.lent + self.resetting
            assert connection.alive
            assert not connection.closed
            self.lent.append(connection)
        self.settle()

    @precondition(lambda self: self.queue)
    @rule(data=st.data(), late=st.booleans())
    def give_up(self, data: st.DataObject, late: bool) -> None:
        waiter = data.draw(st.sampled_from(self.queue))
        self.queue.remove(waiter)
        assert self.core.expire(waiter, self.now, 1) is not None if late else self.core.cancel(waiter, self.now)
        self.settle()

    @precondition(lambda self: self.lent)
    @rule(data=st.data(), status=st.sampled_from(list(Status)), broken=st.booleans(), dead=st.booleans())
    def bring_back(self, data: st.DataObject, status: Status, broken: bool, dead: bool) -> None:
        connection = data.draw(st.sampled_from(self.lent))
        self.lent.remove(connection)
        connection.broken = broken
        if self.core.checkin(connection, status, self.now) is not None:
            self.resetting.append(connection)
        self.settle(dead)
        if connection in self.alive and connection not in self.resetting:
            assert not broken
            assert status not in (Status.ACTIVE, Status.UNKNOWN)

    @precondition(lambda self: self.resetting)
    @rule(data=st.data(), fit=st.booleans())
    def reset(self, data: st.DataObject, fit: bool) -> None:
        connection = data.draw(st.sampled_from(self.resetting))
        self.resetting.remove(connection)
        self.core.reset_done(connection, fit, self.now)
        self.settle()
        assert fit or connection not in self.alive

    @precondition(lambda self: self.lent)
    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        connection = data.draw(st.sampled_from(self.lent))
        self.lent.remove(connection)
        self.core.discard(connection, ValueError("no"), self.now)
        self.settle()
        assert connection not in self.alive

    @precondition(lambda self: self.severed)
    @rule()
    def bring_back_late(self) -> None:
        assert self.core.checkin(self.severed.pop(), Status.UNKNOWN, self.now) is None
        assert not self.core.actions

    @precondition(lambda self: self.attempts)
    @rule(data=st.data(), outcome=st.sampled_from(["ok", "ok", "failed", "abandoned"]))
    def connect(self, data: st.DataObject, outcome: str) -> None:
        attempt = data.draw(st.sampled_from(self.attempts))
        self.attempts.remove(attempt)
        if outcome == "ok":
            self.alive.append(Fake())
            self.core.connected(attempt, self.alive[-1], self.now)
        elif outcome == "failed":
            self.core.connect_failed(attempt, OSError("down"), self.now)
        else:
            self.core.connect_abandoned(attempt, self.now)
        self.settle()

    @precondition(lambda self: self.core.stats().idle)
    @rule()
    def one_dies(self) -> None:
        self.core._idle[-1].connection.alive = False

    @rule(low=st.integers(0, 2), extra=st.integers(0, 2))
    def resize(self, low: int, extra: int) -> None:
        self.core.resize(self.core.settings.resized(low, max(1, low + extra)), self.now)
        self.settle()

    @rule()
    def drain(self) -> None:
        self.core.drain(self.now)
        self.settle()

    @rule(sever=st.booleans())
    def close_and_open(self, sever: bool) -> None:
        self.core.close(self.now)
        self.settle()
        assert not self.queue
        if sever:
            self.core.sever()
            self.settle()
            assert not self.alive
        self.core.open(self.now)
        self.settle()

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "core"):
            return
        stats = self.core.stats()
        idle = [entry.connection for entry in self.core._idle]
        assert stats.in_use == len(self.lent) + len(self.resetting)
        assert {id(c) for c in idle + self.lent + self.resetting} == {id(c) for c in self.alive}
        assert len(idle) + len(self.lent) + len(self.resetting) == len(self.alive)
        assert stats.opened == stats.size + sum(stats.closed.values()) + sum(stats.lost.values())
        assert stats.waiting == len(self.queue)
        assert stats.connecting == len(self.attempts)
        assert not (self.queue and idle), "idle while a request waits"
        assert not self.core.closed
        # A request that waits is waiting for something: a return, an attempt, or the end of a pause.
        if self.queue and not stats.in_use and not stats.connecting:
            assert self.core.wakeup < math.inf


Machine.TestCase.settings = hypothesis_settings(max_examples=times(60), stateful_step_count=60, deadline=None)
TestAnyOrderOfEvents = Machine.TestCase


def test_a_pool_that_has_worked_waits_for_what_may_be_mended() -> None:
    core, (conn,) = opened(min_size=1, max_size=1)
    assert core.checkout(0) is conn
    conn.closed = True
    core.checkin(conn, Status.UNKNOWN, 0)
    core.enqueue("w", 0)
    *_, attempt = take(core)
    core.connect_failed(attempt.attempt, InvalidPassword("in the middle of its change"), 0)
    assert core.mistake is None
    assert core.stats().waiting == 1


def test_mistake_is_raised_until_the_next_attempt_is_due() -> None:
    core: PoolCore[Fake, str] = PoolCore(Settings(backoff=1), lambda: 1.0)
    core.open(0)
    core.enqueue("w", 0)
    core.connect_failed(take(core)[0].attempt, InvalidPassword("wrong"), 0)
    core.enqueue("x", 0.5)
    fails = take(core)
    assert [(fail.waiter, type(fail.error), str(fail.error)) for fail in fails] == [
        ("w", InvalidPassword, "wrong"),
        ("x", InvalidPassword, "wrong"),
    ]
    core.enqueue("y", 1.5)
    (attempt,) = take(core)
    core.connected(attempt.attempt, Fake(), 2)
    assert core.mistake is None
    assert [type(action) for action in take(core)] == [Hand]
