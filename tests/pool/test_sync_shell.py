"""The pool for threads, over connections in memory: interrupts, threads and forks."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from pool_fakes import Fake, Server

from headrace.errors import PoolClosed
from headrace.pool import ConnectionPool
from waiting import until


def pool_on(server: Server, **options: Any) -> ConnectionPool[Fake]:
    return ConnectionPool(connect=server.connect, **{"min_size": 1, "max_size": 1, **options})


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
