"""What a user of headrace.informix relies on in threads: shared connections, cancelling, interrupts."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import headrace.informix
from headrace import errors
from headrace.testing import InformixServer

Connection = headrace.informix.Connection[Any]


def connect(ifx: InformixServer, **settings: Any) -> Connection:
    return headrace.informix.connect(**{**ifx.parameters(), **settings})


# transactions


# batches


# pipelines


# sharing, cancelling, ending


def test_threads_share_a_connection(conn: Connection) -> None:
    wrong: list[Any] = []

    def work(n: int) -> None:
        for _ in range(30):
            got = conn.fetch("select tabid, ?::varchar(5) from systables where tabid = ?", f"t{n}", n % 3 + 1)
            if got != [(n % 3 + 1, f"t{n}")]:
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_cancel_from_another_thread(conn: Connection, slow: str) -> None:
    timer = threading.Timer(0.2, conn.cancel)
    timer.start()
    with pytest.raises(errors.QueryCanceled) as caught:
        conn.execute(slow)
    timer.join()
    assert caught.value.sqlcode == -213
    assert conn.fetchval("select tabname from systables where tabid = 1") == "systables"


def test_interrupt_cancels_the_statement(ifx: InformixServer, conn: Connection, slow: str) -> None:
    import os
    import signal

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        conn.execute(slow)
    timer.join()
    assert conn.closed or conn.fetchval("select tabname from systables where tabid = 1") == "systables"
    assert not conn.closed


def test_close_from_another_thread_ends_the_call(conn: Connection, slow: str) -> None:
    timer = threading.Timer(0.2, conn.close)
    timer.start()
    with pytest.raises(errors.OperationalError, match="closed"):
        conn.execute(slow)
    timer.join()
    assert conn.closed
    with pytest.raises(errors.InterfaceError):
        conn.cursor()
