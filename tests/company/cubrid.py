"""What only CUBRID has."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import headrace.testing
from headrace import errors
from headrace_lab.differences import DIFFERENCES

from .places import Place
from .worker import BLOCKS, READS, WRITES, Chosen, Worker, operation, same


@operation(READS, 3)
async def held_cursors(self: Worker, conn: Any) -> None:
    mark = self.marker()
    cursor = conn.cursor(scrollable=True, withhold=True)
    await cursor.execute(self.place.marked(1900), (mark,))
    same("fetchone", await cursor.fetchone(), (mark, 1))
    same("fetchmany", await cursor.fetchmany(9), [(mark, n) for n in range(2, 11)])
    same("fetch_last", await cursor.fetch_last(), (mark, 1900))
    same("fetch_absolute", await cursor.fetch_absolute(7), (mark, 7))
    await cursor.scroll(1000, "absolute")
    same("fetchall", await cursor.fetchall(), [(mark, n) for n in range(1001, 1901)])
    await cursor.close()


@operation(READS)
async def several_results(self: Worker, conn: Any) -> None:
    mark = self.marker()
    cursor = await conn.execute(f"select '{mark}'; select n from numbers where n < 3 order by n")
    same("the first result", await cursor.fetchall(), [(mark,)])
    same("nextset", await cursor.nextset(), True)
    same("the second result", await cursor.fetchall(), [(1,), (2,)])


@operation(BLOCKS)
async def large_objects(self: Worker, conn: Any) -> None:
    content = self.marker().encode() * 20_000
    async with conn.transaction():
        lob = await conn.create_lob("blob")
        same("bytes written", await lob.write(content), len(content))
        same("a large object", await conn.read_lob(lob.locator), content)


@operation(WRITES)
async def catalogue(self: Worker, conn: Any) -> None:
    found = await (await conn.schema_info("primary_key", "company")).fetchall()
    same("the primary key", sorted(row[1] for row in found), ["n", "worker"])


OPERATIONS = {name: thing for name, thing in globals().items() if isinstance(thing, Chosen)}

SERVERS = 24
"""Test servers for calls that would else wait for one another's rows: each has one database."""


def others(stack: contextlib.ExitStack) -> Callable[[], str]:
    """Returns a function that returns the URL of another test server each time, which stays as long as the stack."""
    started: list[str] = []
    numbers = itertools.count()

    def url() -> str:
        number = next(numbers) % SERVERS
        if number == len(started):
            started.append(stack.enter_context(headrace.testing.cubrid()).url)
        return started[number]

    return url


def cubrid(url: str, other: Callable[[], str]) -> Place:
    """The test server, or a genuine one."""
    return Place(
        "cubrid",
        DIFFERENCES["cubrid"],
        url,
        (
            "drop table if exists company",
            "create table company (worker int, n int, how varchar(20), primary key (worker, n))",
        ),
        lambda count: f"select cast(? as varchar(40)), n from numbers where n <= {count} order by n",
        "insert into company select cast(? as int), cast(? as int), 'slow' from db_root where "
        "(select count(*) from numbers a, numbers b where a.n + b.n = -1 and a.n < 200) = 0",
        OPERATIONS,
        # A rollback by another worker, of a statement that failed too, ends a cursor, as documented.
        refusals=(
            ("", errors.InvalidCursorName, "the cursor is not open any more"),
            ("", errors.InvalidCursorState, "the result has no such row, was closed"),
        ),
        keywords={"lock_timeout": 20},
        other=other,
        numbers=2000,
        # The login has 48 bytes.
        long_login=True,
        holdable=((), {"scrollable": True}),
    )
