"""The pool for threads, over connections in memory."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from pool_fakes import Fake, Server, until

from headrace.errors import PoolClosed, PoolTimeout, ProgrammingError
from headrace.pool import ConnectionPool
from headrace.types import TransactionStatus as Status


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


def test_an_error_rolls_back_even_where_nothing_is_reset() -> None:
    with pool_on(Server(), reset="none") as pool:
        with pytest.raises(ZeroDivisionError), pool.connection() as conn:
            conn.transaction_status = Status.INTRANS
            raise ZeroDivisionError
        assert conn.log == ["rollback"]


def test_a_failed_commit_is_raised_and_rolled_back() -> None:
    with pool_on(Server()) as pool:
        with pytest.raises(OSError, match="lost"), pool.connection() as conn:
            conn.transaction_status = Status.INTRANS
            conn.commit = lambda: (_ for _ in ()).throw(OSError("lost"))  # type: ignore[method-assign]
        assert conn.log == ["rollback"]


def test_a_failed_reset_costs_the_connection_and_nothing_else() -> None:
    server = Server()
    with pool_on(server) as pool:
        conn = pool.getconn()
        conn.transaction_status, conn.reset_fails = Status.INTRANS, True
        pool.putconn(conn)
        assert conn.closed
        with pool.connection() as other:
            assert other is not conn
        assert pool.stats().lost == {"doubt": 1}


def test_a_reset_does_not_hold_up_others() -> None:
    with pool_on(Server(), min_size=2, max_size=2) as pool:
        pool.wait()
        slow = pool.getconn()
        slow.transaction_status = Status.INTRANS
        slow.reset_gate = threading.Event()
        thread = threading.Thread(target=pool.putconn, args=(slow,))
        thread.start()
        until(lambda: slow.log)
        for _ in range(3):
            with pool.connection(timeout=1) as conn:
                assert conn is not slow
        assert pool.stats().in_use == 1
        slow.reset_gate.set()
        thread.join()
        assert pool.stats().idle == 2


def test_waiting_is_fair() -> None:
    with pool_on(Server()) as pool:
        held = pool.getconn()
        order: list[int] = []
        threads = []

        def work(n: int) -> None:
            with pool.connection():
                order.append(n)

        for n in range(8):
            threads.append(threading.Thread(target=work, args=(n,)))
            threads[-1].start()
            until(lambda n=n: pool.stats().waiting == n + 1)  # type: ignore[misc]
        pool.putconn(held)
        for thread in threads:
            thread.join()
        assert order == list(range(8))


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
        time.sleep(0.05)
        threads = [threading.Thread(target=ask) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.attempts < 15
        server.down = None
        with pool.connection(timeout=5):
            pass


def test_a_connection_whose_setup_fails_is_closed_and_costs_no_place() -> None:
    server = Server()
    fail = [True]

    def configure(conn: Fake) -> None:
        conn.transaction_status = Status.INTRANS
        if fail[0]:
            conn.close = lambda: 1 / 0  # type: ignore[method-assign]
            raise ValueError("no setup")

    with pool_on(server, configure=configure, backoff=0.01) as pool:
        with pytest.raises(PoolTimeout, match="ValueError: no setup"):
            pool.wait(0.2)
        fail[0] = False
        with pool.connection(timeout=5) as conn:
            assert conn.log == ["commit"]


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
        assert server.made[0].closed
        assert server.made[1].closed
        with pool.connection(timeout=5) as conn:
            assert conn is server.made[2]
        assert pool.stats().lost == {"refused": 2}


def test_a_check_that_refuses_all_ends_in_time_and_connects_slowly() -> None:
    server = Server()
    with (
        pool_on(server, check=lambda conn: 1 / 0) as pool,
        pytest.raises(PoolTimeout, match="ZeroDivisionError"),
    ):
        pool.getconn(timeout=0.5)
    assert server.attempts < 12


def test_an_interrupted_wait_gives_back_what_it_was_handed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pool_on(Server()) as pool:
        held = pool.getconn()
        real = pool._perform

        def perform(work: Any) -> None:
            # As if Ctrl-C came between the hand-over and the end of the wait.
            monkeypatch.setattr(pool, "_perform", real)
            pool.putconn(held)
            raise KeyboardInterrupt

        monkeypatch.setattr(pool, "_perform", perform)
        with pytest.raises(KeyboardInterrupt):
            pool.getconn()
        assert pool.stats().idle == 1
        assert pool.stats().in_use == 0


def test_close_waits_for_work_in_flight_and_then_takes_it_away() -> None:
    server = Server()
    pool = pool_on(server, min_size=3, max_size=3)
    pool.wait()
    quick, slow = pool.getconn(), pool.getconn()
    failed: list[BaseException] = []

    def wait() -> None:
        pool.getconn()
        try:
            pool.getconn()
        except PoolClosed as error:
            failed.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    until(lambda: pool.stats().waiting == 1)
    threading.Timer(0.1, pool.putconn, (quick,)).start()
    started = time.monotonic()
    pool.close(0.3)
    assert 0.25 < time.monotonic() - started < 1
    waiter.join()
    assert failed
    assert not server.open
    pool.putconn(slow)
    with pytest.raises(PoolClosed):
        pool.getconn()


def test_close_does_not_hang_on_a_connection_that_does_not_close() -> None:
    pool = pool_on(Server())
    conn = pool.getconn()
    gate = threading.Event()
    conn.close = gate.wait  # type: ignore[method-assign, assignment]
    started = time.monotonic()
    pool.close(0.1)
    assert time.monotonic() - started < 3
    gate.set()


def test_close_while_connecting_leaves_nothing_open() -> None:
    server = Server()
    server.delay = 0.2
    pool = pool_on(server, min_size=3, max_size=3)
    pool.close()
    until(lambda: len(server.made) == 3)
    until(lambda: not server.open)


def test_close_while_a_thread_is_about_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """close() joins the pool's threads, and one that another thread is starting cannot be joined yet."""
    starting, go_on = threading.Event(), threading.Event()
    start = threading.Thread.start

    def start_later(thread: threading.Thread) -> None:
        if thread.name.endswith("-connect"):
            starting.set()
            assert go_on.wait(10)
        start(thread)

    server = Server()
    pool = pool_on(server, open=False)
    with ThreadPoolExecutor(2) as threads:
        monkeypatch.setattr(threading.Thread, "start", start_later)
        opening = threads.submit(pool.open)
        assert starting.wait(10)
        closing = threads.submit(pool.close)
        wait([closing], timeout=0.2)
        go_on.set()
        opening.result(10)
        closing.result(10)
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
        until(lambda: len(server.open) == 2)
        assert conn.closed
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


def test_many_threads_never_share_a_connection() -> None:
    server = Server()
    owners: dict[int, int] = {}
    wrong: list[str] = []
    with pool_on(server, min_size=1, max_size=4) as pool:

        def work(n: int) -> None:
            for turn in range(150):
                try:
                    with pool.connection(timeout=(n * turn) % 3 * 0.0005 or 10) as conn:
                        if owners.setdefault(id(conn), n) != n or conn.closed:
                            wrong.append("two owners")
                        conn.transaction_status = list(Status)[turn % 3]
                        if turn % 7 == 0:
                            time.sleep(0.0005)
                        if turn % 50 == 49:
                            conn.broken = True
                        del owners[id(conn)]
                except PoolTimeout:
                    pass

        threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        stats = pool.stats()
        assert stats.in_use == 0
        assert stats.size <= 4
    assert not server.open


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_gets_an_error_and_not_the_parents_connections() -> None:
    server = Server()
    with pool_on(server) as pool:
        pool.wait()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                pool.getconn()
            except PoolClosed as error:
                pool.close()
                code = 0 if "fork" in str(error) and len(server.open) == 1 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with pool.connection():
            pass


def test_a_pool_that_is_forgotten_goes_away() -> None:
    kept = [pool_on(Server())]
    kept[0].wait()
    threads = kept[0]._threads
    until(lambda: not threads)
    ref = weakref.ref(kept[0])
    thread = next(t for t in threading.enumerate() if t.name == "headrace-pool-maintenance" and t.is_alive())

    def gone() -> None:
        kept.clear()
        until(lambda: gc.collect() >= 0 and ref() is None)
        until(lambda: not thread.is_alive())

    with pytest.warns(ResourceWarning, match="dropped without close"):
        gone()


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
