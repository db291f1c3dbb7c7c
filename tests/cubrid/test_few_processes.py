"""A broker of fewer processes than it has clients: it gives a process to another client whenever no transaction is
open. No statement is executed twice, or not at all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import headrace.cubrid
import headrace.testing

from .releasing import Inserting

CLIENTS = 6
STATEMENTS = 25


@pytest.fixture
def few() -> Iterator[str]:
    """The URL of a server of one process, with an empty table."""
    with headrace.testing.cubrid(cas=1) as server:
        with headrace.cubrid.connect(server.url, autocommit=True) as admin:
            admin.execute("create table once (who int, n int)")
        yield server.url


def check(url: str, clients: list[Inserting]) -> None:
    """Each statement has been executed once, and one whose outcome is unknown at most once."""
    with headrace.cubrid.connect(url) as admin:
        found = Counter((who, n) for who, n in admin.fetch("select who, n from once"))
    unknown = set[tuple[int, int]]().union(*(client.unknown for client in clients))
    wanted = {(who, n) for who in range(CLIENTS) for n in range(STATEMENTS)}
    assert found.keys() <= wanted
    assert wanted - found.keys() <= unknown
    assert set(found.values()) == {1}
    assert sum(client.resumed for client in clients) > 0


# With a parameter of the session there is a reply more to each time that it is resumed, and a process may be lost then.
@pytest.mark.parametrize("settings", [{}, {"lock_timeout": 30}], ids=["plain", "with a parameter"])
def test_threads(few: str, settings: dict[str, Any]) -> None:
    clients = [Inserting(few, who, **settings) for who in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(lambda client: client.insert(STATEMENTS), clients))
    check(few, clients)


@pytest.mark.parametrize("settings", [{}, {"lock_timeout": 30}], ids=["plain", "with a parameter"])
async def test_tasks(few: str, settings: dict[str, Any]) -> None:
    clients = [Inserting(few, who, **settings) for who in range(CLIENTS)]
    await asyncio.gather(*(client.insert_async(STATEMENTS) for client in clients))
    check(few, clients)
