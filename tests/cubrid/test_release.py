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
from headrace.cubrid.settings import connect_options
from live import CUBRID_URL

PORT = os.environ.get("HEADRACE_CUBRID_SMALL_PORT", "")
CLIENTS = 10
RELEASES = int(os.environ.get("HEADRACE_CUBRID_KILLS", "300"))


def check(admin: headrace.cubrid.Connection[Any], wanted: Counter[tuple[int, int]]) -> None:
    """Each statement has been executed once."""
    found = {(who, n): count for who, n, count in admin.fetch("select who, n, count(*) from hr_once group by who, n")}
    assert found == dict(wanted)


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
    lock = threading.Lock()

    def use(me: int) -> None:
        try:
            with headrace.cubrid.connect(small, autocommit=True, lock_timeout=30) as conn:
                session = conn.session_id
                conn.execute("set @me = ?", (me,))
                n = 0
                while sum(resumed) < RELEASES:
                    n += 1
                    conn.execute("insert into hr_once values (?, ?)", (me, n))
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
        except BaseException as error:
            wrong.append(error)
            resumed[me] = RELEASES

    threads = [threading.Thread(target=use, args=(me,)) for me in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(resumed) >= RELEASES
    print(f"{sum(resumed)} releases, {sum(wanted.values())} rows")
    check(admin, wanted)


async def test_ten_tasks_on_one_process(small: str, admin: Any) -> None:
    wanted, resumed = Counter[tuple[int, int]](), [0] * CLIENTS

    async def use(me: int) -> None:
        async with await headrace.aio.cubrid.connect(small, autocommit=True) as conn:
            await conn.execute("set @me = ?", (me,))
            n = 0
            while sum(resumed) < RELEASES // 3:
                n += 1
                await conn.execute("insert into hr_once values (?, ?)", (me, n))
                assert int(await conn.fetchval("select @me")) == me
                wanted[me, n] += 1
                resumed[me] = conn.resumed

    await asyncio.gather(*(use(me) for me in range(CLIENTS)))
    check(admin, wanted)
