"""Memory, descriptors, threads, sessions and prepared statements return to where they were: after thousands of
operations, errors, timeouts and cancellations, and after connections, pools, streams and COPYs that were dropped.

``HEADRACE_COMPANY_ROUNDS=200`` repeats what is done here that often.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import errors
from long import times

from .places import Place
from .shells import SHELLS, Now, Shell

ROUNDS = int(os.environ.get("HEADRACE_COMPANY_ROUNDS", times(3)))
SETTLED = 15.0
"""Seconds in which the server notices that a connection has ended."""
MEMORY = 24 << 20
"""Bytes that allocators may keep, of a process that runs other tests, too: what leaks with every round is more."""

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(params=["threads", "tasks", "uvloop"])
def shell(request: pytest.FixtureRequest) -> Shell:
    """uvloop too: it closes transports in its own way."""
    return SHELLS[request.param]()


def resident() -> int:
    """Bytes of the process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def descriptors() -> int:
    """Open files of the process."""
    return len(os.listdir("/proc/self/fd"))


def sessions(place: Place, admin: Any) -> int:
    """How many sessions the server has."""
    if place.sessions is not None:
        return place.sessions(admin)
    # The test servers of Informix and CUBRID do not report it, but the connections that they have accepted, and neither
    # side has closed, are known here.
    return established(int(place.url.split("@")[1].split("/")[0].split(":")[1]))


def established(port: int) -> int:
    """How many connections to a local port are open at the server's end, with those that only the client has closed
    (CLOSE_WAIT)."""
    found = 0
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if Path(table).exists() else ():
            local, _, state = line.split()[1:4]
            found += int(local.rpartition(":")[2], 16) == port and state in ("01", "08")
    return found


def statements(place: Place, conn: Any) -> int:
    """How many prepared statements the session has, or the server."""
    return place.statements(conn) if place.statements is not None else 0


def settles(what: str, measure: Callable[[], int], before: int) -> None:
    """It comes back to what it was before, soon."""
    deadline = time.monotonic() + SETTLED
    while (now := measure()) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert now <= before, f"{what}: {before} before, {now} after"


def leaves_nothing(place: Place, shell: Shell, work: Callable[[], Any], rounds: int = ROUNDS) -> None:
    """Runs it once, for what is made only once, and then again and again."""
    admin = headrace.connect(place.url, autocommit=True)
    shell.run(place.prepare(shell), 30)
    # Other tests of this process may have sessions there, too.
    others = sessions(place, admin)
    assert others >= 1, "the admin's own is not counted"

    def repeat(times: int) -> None:
        for _ in range(times):
            shell.run(work(), 60)
            gc.collect()

    repeat(1)
    settles("sessions", lambda: sessions(place, admin), others)
    before = (descriptors(), threading.active_count(), sessions(place, admin), statements(place, admin), resident())
    repeat(rounds)
    settles("sessions", lambda: sessions(place, admin), before[2])
    settles("descriptors", descriptors, before[0])
    settles("threads", threading.active_count, before[1])
    if place.statements is not None:
        settles("prepared statements", lambda: statements(place, admin), before[3])
    grown = resident() - before[4]
    assert grown < MEMORY, f"{grown >> 20} MB more after {rounds} rounds"
    admin.close()


async def some_work(place: Place, conn: Any) -> None:
    """Answers, errors, batches, timeouts."""
    for n in range(30):
        assert await conn.fetchval(place.marked(1), f"a{n}") == f"a{n}"
        with contextlib.suppress(errors.Error):
            await conn.execute(f"selekt {n}")
    await conn.executemany(place.insert, [(9, n, "leak") for n in range(500)])
    with contextlib.suppress(errors.UniqueViolation):
        await conn.executemany(place.insert, [(9, n, "leak") for n in range(500)])
    await conn.execute("delete from company where worker = 9")
    for _ in range(3):
        with contextlib.suppress(TimeoutError):
            await conn.execute(place.slow, (9, 9), timeout=0.003)
    await conn.execute("delete from company where worker = 9")


def test_work_leaves_nothing(place: Place, shell: Shell) -> None:
    async def work() -> None:
        conn = await place.connect(shell)
        await some_work(place, conn)
        await conn.close()

    leaves_nothing(place, shell, work)


def test_cancelled_tasks_leave_nothing(place: Place) -> None:
    shell = SHELLS["tasks"]()

    async def work() -> None:
        conn = await place.connect(shell)
        for steps in range(20):
            task = asyncio.ensure_future(conn.fetch(place.marked(500), "a"))
            for _ in range(steps % 7):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert await conn.fetchval(place.marked(1), "b") == "b"
        await conn.close()

    leaves_nothing(place, shell, work)


def test_dropped_connections_end(place: Place, shell: Shell) -> None:
    async def work() -> None:
        conns = [await place.connect(shell) for _ in range(3)]
        assert await conns[0].fetchval(place.marked(1), "a") == "a"
        del conns

    leaves_nothing(place, shell, work)


def test_connections_dropped_in_the_middle_end(place: Place, shell: Shell) -> None:
    async def work() -> None:
        conns = [await place.connect(shell) for _ in range(3)]
        first = conns[0].stream(place.marked(1500), ("a",), **place.differences.streamed(100))
        async for _ in first:
            break
        block = conns[1].transaction()
        await block.__aenter__()
        await conns[1].execute(place.insert, (9, 1, "never"))
        if hasattr(conns[2], "copy_out"):
            rows = await conns[2].copy_out("select generate_series(1, 100000)")
            async for _ in rows:
                break
            del rows
        del conns, first, block

    leaves_nothing(place, shell, work)


def test_abandoned_streams_leave_nothing(place: Place, shell: Shell) -> None:
    """Streams and COPYs that are not closed, on a connection that stays open."""

    async def work() -> None:
        conn = await place.connect(shell)
        for _ in range(5):
            stream = conn.stream(place.marked(1500), ("a",), **place.differences.streamed(100))
            async for _ in stream:
                break
            del stream
            gc.collect()
            await shell.sleep(0.02)
            assert await conn.fetchval(place.marked(1), "b") == "b"
            if hasattr(conn, "copy_out"):
                rows = await conn.copy_out("select generate_series(1, 20000)")
                async for _ in rows:
                    break
                del rows
                gc.collect()
                await shell.sleep(0.02)
                assert await conn.fetchval(place.marked(1), "c") == "c"
                assert await conn.fetchval("select count(*) from pg_cursors where name <> ''") == 0
        assert conn.transaction_status.name == "IDLE"
        await conn.close()

    leaves_nothing(place, shell, work)


def test_dropped_pools_end(place: Place, shell: Shell) -> None:
    async def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pool = shell.pool(place.url, min_size=2, max_size=3)
            opened = await pool.__aenter__()
            # The loop ends with the work, and must not end beneath a connection that is being made.
            await opened.wait()
            async with opened.connection() as conn:
                assert await conn.fetchval(place.marked(1), "a") == "a"
            del pool, opened, conn
            gc.collect()

    leaves_nothing(place, shell, work, 3)


# Not the Informix test server, which does not report it.
@pytest.mark.parametrize("place", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_statements_stay_within_the_cache(place: Place) -> None:
    """Many texts on one connection: the server keeps no more of them than the connection's cache, nor after a reset."""
    shell = SHELLS["threads"]()
    shell.run(place.prepare(shell), 30)
    with headrace.connect(place.url, autocommit=True, statement_cache_size=20) as conn:
        before = statements(place, conn)
        for n in range(200):
            assert conn.fetchval(f"select {n}") == n
            with contextlib.suppress(errors.Error):
                conn.fetchval(f"select {n} from nowhere_{n}")
        assert statements(place, conn) - before <= 21
        conn.reset("discard")
        assert conn.fetchval("select 1") == 1
        assert statements(place, conn) - before <= 1


def test_now_holds_nothing() -> None:
    """The lent face of the tests themselves keeps no object alive."""

    class Held:
        pass

    gone: list[int] = []
    held = Now(Held())
    import weakref

    weakref.finalize(held.value, gone.append, 1)
    del held
    assert gone == [1]
