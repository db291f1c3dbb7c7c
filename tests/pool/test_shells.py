"""What a pool promises to tasks and to threads, over connections in memory."""

# Made by tools/async_to_sync.py of test_shells_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import Any

import pytest
from pool_fakes import Fake, Server

from headrace.errors import PoolClosed, PoolTimeout, ProgrammingError, TooManyRequests
from headrace.pool import ConnectionPool
from headrace.rows import dict_row, tuple_row
from headrace.types import TransactionStatus as Status
from waiting import Event, Work, gather, sleep, until


def pool_on(server: Server, **options: Any) -> ConnectionPool[Fake]:
    return ConnectionPool(connect=server.connect, **{"min_size": 1, "max_size": 1, **options})


def test_a_block_commits_rolls_back_and_costs_nothing_when_idle() -> None:
    server = Server()
    with pool_on(server) as pool:
        with pool.connection() as conn:
            pass
        assert conn.log == []
        with pool.connection() as conn:
            conn.transaction_status = Status.INTRANS
        assert conn.log == ["commit"]
        with pytest.raises(ZeroDivisionError), pool.connection() as conn:
            conn.transaction_status = Status.INERROR
            raise ZeroDivisionError
        assert conn.log == ["commit", "rollback"]
        assert len(server.made) == 1


def test_a_row_factory_and_other_keywords_are_passed_to_connect() -> None:
    passed: list[dict[str, Any]] = []
    server = Server()

    def connect(conninfo: str, **keywords: Any) -> Fake:
        passed.append(keywords)
        return server.connect()

    for kwargs in ({}, {"row_factory": tuple_row, "user": "me"}):
        with ConnectionPool(connect=connect, row_factory=dict_row, kwargs=kwargs, min_size=1) as pool:
            pool.wait()
    assert passed[0] == {"row_factory": dict_row}
    assert passed[-1] == {"row_factory": dict_row, "user": "me"}


def test_an_error_rolls_back_even_where_nothing_is_reset() -> None:
    with pool_on(Server(), reset="none") as pool:
        with pytest.raises(ZeroDivisionError), pool.connection() as conn:
            conn.transaction_status = Status.INTRANS
            raise ZeroDivisionError
        assert conn.log == ["rollback"]


def test_configure_is_called_again_after_a_reset_that_discards() -> None:
    def configure(conn: Fake) -> None:
        if configuring:
            raise OSError("not now")
        conn.log.append("configure")

    configuring: list[int] = []
    for mode, log in (("discard", ["configure", "discard", "configure"]), ("rollback", ["configure", "rollback"])):
        server = Server()
        with pool_on(server, reset=mode, configure=configure) as pool:
            with pool.connection() as conn:
                pass
            conn = pool.getconn()
            conn.transaction_status = Status.INTRANS
            conn.log[:] = conn.log[:1]
            pool.putconn(conn)
            until(lambda conn=conn, log=log: conn.log == log)  # type: ignore[misc]
            # A connection that cannot be set up again is replaced.
            conn = pool.getconn()
            configuring.append(1)
            pool.putconn(conn)
            configuring.clear()
            lent = pool.getconn()
            assert (lent is conn) == (mode == "rollback")
            pool.putconn(lent)


def test_a_failed_commit_is_raised_and_rolled_back() -> None:
    def lost() -> None:
        raise OSError("lost")

    with pool_on(Server()) as pool:
        with pytest.raises(OSError, match="lost"), pool.connection() as conn:
            conn.transaction_status = Status.INTRANS
            conn.commit = lost
        until(lambda: conn.log == ["rollback"])


def test_a_failed_reset_costs_the_connection_and_nothing_else() -> None:
    server = Server()
    with pool_on(server) as pool:
        conn = pool.getconn()
        conn.transaction_status, conn.reset_fails = Status.INTRANS, True
        pool.putconn(conn)
        until(lambda: conn.closed)
        with pool.connection() as other:
            assert other is not conn
        assert pool.stats().lost == {"doubt": 1}


def test_a_reset_does_not_hold_up_others() -> None:
    with pool_on(Server(), min_size=2, max_size=2) as pool:
        pool.wait()
        slow = pool.getconn()
        slow.transaction_status, slow.reset_gate = Status.INTRANS, Event()
        back = Work(pool.putconn, slow)
        until(lambda: slow.log)
        for _ in range(3):
            with pool.connection(timeout=1) as conn:
                assert conn is not slow
        assert pool.stats().in_use == 1
        slow.reset_gate.set()
        back.result()
        assert pool.stats().idle == 2


def test_waiting_is_fair_and_ends_in_time() -> None:
    with pool_on(Server(), max_waiting=9) as pool:
        held = pool.getconn()
        order: list[int] = []

        def use(n: int) -> None:
            with pool.connection():
                order.append(n)
                sleep(0)

        working = []
        for n in range(8):
            working.append(Work(use, n))
            until(lambda n=n: pool.stats().waiting == n + 1)  # type: ignore[misc]
        with pytest.raises(PoolTimeout, match="1 of 1"):
            pool.getconn(0.01)
        working.append(Work(use, 8))
        until(lambda: pool.stats().waiting == 9)
        with pytest.raises(TooManyRequests):
            pool.getconn()
        pool.putconn(held)
        for work in working:
            work.result()
        assert order == list(range(9))


def test_an_outage_is_met_with_few_attempts_and_named_in_the_timeout() -> None:
    server = Server()
    server.down = OSError("no route to host")
    with pool_on(server, max_size=50) as pool:

        def ask() -> None:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                with pytest.raises(PoolTimeout, match="OSError: no route to host"):
                    pool.getconn(timeout=0.02)

        until(lambda: server.attempts)
        sleep(0.05)
        gather(*[ask] * 10)
        assert server.attempts < 15
        server.down = None
        with pool.connection(timeout=5):
            pass


def test_a_connection_whose_setup_fails_is_closed_and_costs_no_place() -> None:
    server = Server()
    fail = [True]

    def refuse() -> None:
        raise ZeroDivisionError

    def configure(conn: Fake) -> None:
        conn.transaction_status = Status.INTRANS
        if fail[0]:
            conn.close = refuse
            raise ValueError("no setup")

    with pool_on(server, configure=configure, backoff=0.01) as pool:
        with pytest.raises(PoolTimeout, match="ValueError: no setup"):
            pool.wait(0.2)
        fail[0] = False
        with pool.connection(timeout=5) as conn:
            assert conn.log == ["commit"]


def test_a_connection_whose_setup_fails_once_is_closed() -> None:
    server = Server()

    def configure(conn: Fake) -> None:
        conn.transaction_status = Status.INTRANS
        if len(server.made) == 1:
            raise ValueError("no setup")

    with pool_on(server, configure=configure, backoff=0.01) as pool:
        with pool.connection() as conn:
            assert conn.log == ["commit"]
        assert server.made[0].closed


def test_check_tries_another_and_on_checkout_raises() -> None:
    server = Server()
    unfit: list[Fake] = []
    seen: list[Fake] = []

    def check(conn: Fake) -> None:
        if conn in unfit:
            raise OSError("unfit")

    def on_checkout(conn: Fake) -> None:
        seen.append(conn)
        if len(seen) == 2:
            raise KeyError("mine")

    with pool_on(server, check=check, on_checkout=on_checkout) as pool:
        pool.wait()
        pool.putconn(pool.getconn())
        unfit.append(server.made[0])
        with pytest.raises(KeyError):
            pool.getconn()
        until(lambda: server.made[0].closed and server.made[1].closed)
        with pool.connection(timeout=5) as conn:
            assert conn is server.made[2]
        assert pool.stats().lost == {"refused": 2}


def test_a_check_that_refuses_all_ends_in_time_and_connects_slowly() -> None:
    server = Server()

    def check(conn: Fake) -> None:
        raise ZeroDivisionError

    with pool_on(server, check=check) as pool, pytest.raises(PoolTimeout, match="ZeroDivisionError"):
        pool.getconn(timeout=0.5)
    assert server.attempts < 12


def test_close_waits_for_work_in_flight_and_then_takes_it_away() -> None:
    server = Server()
    pool = pool_on(server, min_size=2, max_size=2)
    pool.wait()
    quick, slow = pool.getconn(), pool.getconn()
    waiter = Work(pool.getconn)
    until(lambda: pool.stats().waiting == 1)

    def back_later() -> None:
        sleep(0.1)
        pool.putconn(quick)

    later = Work(back_later)
    started = time.monotonic()
    pool.close(0.3)
    assert 0.25 < time.monotonic() - started < 3
    later.result()
    with pytest.raises(PoolClosed):
        waiter.result()
    assert not server.open
    pool.putconn(slow)
    with pytest.raises(PoolClosed):
        pool.getconn()


def test_close_does_not_hang_on_a_connection_that_does_not_close() -> None:
    pool = pool_on(Server())
    conn = pool.getconn()
    gate = Event()
    conn.close = gate.wait
    started = time.monotonic()
    pool.close(0.1)
    assert time.monotonic() - started < 3
    gate.set()


def test_close_while_connecting_leaves_nothing_open() -> None:
    server = Server()
    server.delay = 0.2
    pool = pool_on(server, min_size=3, max_size=3)
    pool.open()
    until(lambda: pool.stats().connecting == 3)
    pool.close()
    until(lambda: len(server.made) == 3)
    until(lambda: not server.open)


def test_a_pool_can_be_opened_again() -> None:
    server = Server()
    pool = pool_on(server, open=False)
    with pytest.raises(PoolClosed, match="not open"):
        pool.getconn()
    for n in range(2):
        with pool:
            pool.wait()
            assert len(server.open) == 1
        assert len(server.made) == n + 1
        assert not server.open


def test_drain_and_resize() -> None:
    server = Server()
    with pool_on(server, min_size=2, max_size=2) as pool:
        pool.wait()
        conn = pool.getconn()
        pool.drain()
        until(lambda: len(server.made) == 3)
        pool.putconn(conn)
        until(lambda: len(server.open) == 2 and conn.closed)
        pool.resize(4)
        until(lambda: len(server.open) == 4)
        pool.resize(0, 1)
        until(lambda: len(server.open) == 1)


def test_a_connection_of_elsewhere_is_refused() -> None:
    with pool_on(Server()) as pool:
        with pytest.raises(ProgrammingError, match="does not belong"):
            pool.putconn(Fake())
        conn = pool.getconn()
        pool.putconn(conn)
        with pytest.raises(ProgrammingError, match="already"):
            pool.putconn(conn)


def test_many_never_share_a_connection() -> None:
    server = Server()
    owners: dict[int, int] = {}
    wrong: list[str] = []
    with pool_on(server, min_size=1, max_size=4) as pool:

        def work(n: int) -> None:
            for turn in range(150):
                with contextlib.suppress(PoolTimeout), pool.connection(timeout=(n * turn) % 3 * 0.0005 or 10) as conn:
                    if owners.setdefault(id(conn), n) != n or conn.closed:
                        wrong.append("two owners")
                    conn.transaction_status = list(Status)[turn % 3]
                    if turn % 7 == 0:
                        sleep(0.0005)
                    if turn % 50 == 49:
                        conn.broken = True
                    del owners[id(conn)]

        gather(*(partial(work, n) for n in range(12)))
        assert not wrong
        stats = pool.stats()
        assert stats.in_use == 0
        assert stats.size <= 4
    assert not server.open


def test_statistics_add_up() -> None:
    with pool_on(Server(), name="web") as pool:
        with pool.connection():
            with pytest.raises(PoolTimeout):
                pool.getconn(0.01)
            assert "1 of 1 in use" in repr(pool)
        stats = pool.stats()
        assert (stats.size, stats.idle, stats.in_use, stats.opened, stats.timeouts) == (1, 1, 0, 1, 1)
        assert stats.requests == 2
        assert stats.wait_ms >= 10
        assert stats.use_ms >= 10


def test_a_block_is_entered_again_after_its_end_only() -> None:
    with pool_on(Server(), max_size=2) as pool:
        block = pool.connection()
        with block as conn:
            with pytest.raises(ProgrammingError, match="open already"):
                block.__enter__()
            conn.transaction_status = Status.INTRANS
        assert conn.log == ["commit"]
        with block as again:
            assert again is conn
        assert pool.stats().in_use == 0
