"""A broker of fewer processes than it has clients: it gives a process to another client whenever no transaction is
open. No statement is executed twice, or not at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.cubrid
import headrace.cubrid
import headrace.testing

CLIENTS = 6
STATEMENTS = 25


@pytest.fixture
def few() -> Iterator[str]:
    """The URL of a server of one process, with an empty table."""
    with headrace.testing.cubrid(cas=1) as server:
        with headrace.cubrid.connect(server.url, autocommit=True) as admin:
            admin.execute("create table once (who int, n int)")
        yield server.url


def check(url: str) -> None:
    """Each statement has been executed once."""
    with headrace.cubrid.connect(url) as admin:
        found = sorted(admin.fetch("select who, n from once"))
    assert found == [(who, n) for who in range(CLIENTS) for n in range(STATEMENTS)]


# With a parameter of the session there is a reply more to each time that it is resumed, and a process may be lost then.
@pytest.mark.parametrize("settings", [{}, {"lock_timeout": 30}], ids=["plain", "with a parameter"])
def test_threads(few: str, settings: dict[str, Any]) -> None:
    wrong = list[BaseException]()
    resumed = [0] * CLIENTS

    def use(who: int) -> None:
        try:
            with headrace.cubrid.connect(few, autocommit=True, **settings) as conn:
                for n in range(STATEMENTS):
                    conn.execute("insert into once values (?, ?)", (who, n))
                resumed[who] = conn.resumed
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=use, args=(who,)) for who in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(resumed) > 0
    check(few)


@pytest.mark.parametrize("settings", [{}, {"lock_timeout": 30}], ids=["plain", "with a parameter"])
async def test_tasks(few: str, settings: dict[str, Any]) -> None:
    resumed = [0] * CLIENTS

    async def use(who: int) -> None:
        async with await headrace.aio.cubrid.connect(few, autocommit=True, **settings) as conn:
            for n in range(STATEMENTS):
                await conn.execute("insert into once values (?, ?)", (who, n))
            resumed[who] = conn.resumed

    await asyncio.gather(*map(use, range(CLIENTS)))
    assert sum(resumed) > 0
    check(few)
