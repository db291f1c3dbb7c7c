"""A broker that gives its processes to other clients: nothing is executed twice, or not at all.

It is collected only with a genuine server that has a broker of one process (MIN_NUM_APPL_SERVER =
MAX_NUM_APPL_SERVER = 1, KEEP_CONNECTION = AUTO), whose port HEADRACE_CUBRID_SMALL_PORT names. HEADRACE_CUBRID_KILLS is
the least number of releases.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from typing import Any

import pytest

import headrace
import headrace.aio.cubrid
import headrace.cubrid
from headrace import errors
from headrace.cubrid.settings import connect_options
from live import CUBRID_URL

from .releasing import is_first_release

PORT = os.environ.get("HEADRACE_CUBRID_SMALL_PORT", "")
CLIENTS = 10
RELEASES = int(os.environ.get("HEADRACE_CUBRID_KILLS", "300"))


def check(
    admin: headrace.cubrid.Connection[Any], wanted: Counter[tuple[int, int]], unknown: set[tuple[int, int]]
) -> None:
    """Each statement has been executed once, and one whose outcome is unknown at most once."""
    found = {(who, n): count for who, n, count in admin.fetch("select who, n, count(*) from hr_once group by who, n")}
    assert {of: count for of, count in found.items() if of not in unknown} == dict(wanted)
    assert {found.get(of, 0) for of in unknown} <= {0, 1}


@pytest.fixture
def places() -> tuple[str, str]:
    """The URL of a broker with one process, and one of the same database that has a process to spare."""
    host, port = connect_options(CUBRID_URL, {}).hosts[0]
    return CUBRID_URL.replace(f"{host}:{port}", f"{host}:{PORT}"), CUBRID_URL


@pytest.fixture
def small(places: tuple[str, str]) -> str:
    """The URL of a broker with one process."""
    return places[0]


@pytest.fixture
def admin(places: tuple[str, str]) -> Any:
    """With an empty table."""
    with headrace.cubrid.connect(places[1], autocommit=True) as conn:
        conn.execute("drop table if exists hr_once")
        conn.execute("create table hr_once (who int, n int)")
        yield conn
        conn.execute("drop table hr_once")


def test_ten_threads_on_one_process(small: str, admin: Any) -> None:
    resumed, wrong, wanted = [0] * CLIENTS, list[BaseException](), Counter[tuple[int, int]]()
    unknown = set[tuple[int, int]]()
    lock = threading.Lock()

    def use(me: int) -> None:
        n = 0
        try:
            while n == 0 or sum(resumed) < RELEASES:
                n = use_connection(me, n)
        except BaseException as error:
            wrong.append(error)
            resumed[me] = RELEASES

    def use_connection(me: int, n: int) -> int:
        """Uses a connection until it ends. Returns the number of its last statement."""
        conn = headrace.cubrid.connect(small, autocommit=True, lock_timeout=30)
        session = conn.session_id
        with conn.transaction():
            conn.execute("set @me = ?", (me,))
        while sum(resumed) < RELEASES:
            n += 1
            try:
                conn.execute("insert into hr_once values (?, ?)", (me, n))
            except errors.ConnectionClosed:
                assert is_first_release(conn)
                unknown.add((me, n))
                return n
            done = [(me, n)]
            if n % 5 == 0:
                with conn.transaction():
                    conn.executemany("insert into hr_once values (?, ?)", [(me, -n), (me + 100, -n)])
                done += [(me, -n), (me + 100, -n)]
            assert int(conn.fetchval("select @me")) == me, "the variables of the session are lost"
            resumed[me] = conn.resumed
            with lock:
                wanted.update(done)
        assert conn.session_id == session
        conn.close()
        return n

    threads = [threading.Thread(target=use, args=(me,)) for me in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(resumed) >= RELEASES
    print(f"{sum(resumed)} releases, {sum(wanted.values())} rows, {len(unknown)} unknown")
    check(admin, wanted, unknown)


async def test_ten_tasks_on_one_process(small: str, admin: Any) -> None:
    wanted, resumed = Counter[tuple[int, int]](), [0] * CLIENTS
    unknown = set[tuple[int, int]]()

    async def use(me: int) -> None:
        n = 0
        while n == 0 or sum(resumed) < RELEASES // 3:
            n = await use_connection(me, n)

    async def use_connection(me: int, n: int) -> int:
        conn = await headrace.aio.cubrid.connect(small, autocommit=True)
        async with conn.transaction():
            await conn.execute("set @me = ?", (me,))
        while sum(resumed) < RELEASES // 3:
            n += 1
            try:
                await conn.execute("insert into hr_once values (?, ?)", (me, n))
            except errors.ConnectionClosed:
                assert is_first_release(conn)
                unknown.add((me, n))
                return n
            assert int(await conn.fetchval("select @me")) == me
            wanted[me, n] += 1
            resumed[me] = conn.resumed
        await conn.close()
        return n

    await asyncio.gather(*(use(me) for me in range(CLIENTS)))
    check(admin, wanted, unknown)
