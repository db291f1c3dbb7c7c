"""What only Informix has."""

from __future__ import annotations

from typing import Any

from headrace import errors
from headrace.testing import InformixServer
from headrace_lab.differences import DIFFERENCES

from .places import Place
from .worker import BLOCKS, READS, WRITES, Chosen, Worker, operation, same


@operation(READS, 3)
async def named_cursors(self: Worker, conn: Any) -> None:
    mark = self.marker()
    scroll = self.rng.random() < 0.5
    cursor = conn.cursor(f"c{self.number}_{self.asked}", withhold=True, scrollable=scroll)
    await cursor.execute(self.place.marked(50), (mark,))
    same("fetchone", await cursor.fetchone(), (mark, 1))
    same("fetchmany", await cursor.fetchmany(9), [(mark, n) for n in range(2, 11)])
    if scroll:
        same("fetch_last", await cursor.fetch_last(), (mark, 50))
        same("fetch_absolute", await cursor.fetch_absolute(7), (mark, 7))
        await cursor.scroll(10, "absolute")
    same("fetchall", await cursor.fetchall(), [(mark, n) for n in range(11, 51)])
    await cursor.close()


@operation(WRITES, 3)
async def insert_cursors(self: Worker, conn: Any) -> None:
    rows = self.values(self.rng.choice((2, 200, 1500)), "insert cursor")
    made: Any = rows if self.rng.random() < 0.5 else (row for row in rows)
    same("rows inserted", (await conn.executemany(self.place.insert, made)).rowcount, len(rows))
    self.stored(rows)


@operation(BLOCKS)
async def large_objects(self: Worker, conn: Any) -> None:
    content = self.marker().encode() * 500
    async with conn.transaction():
        lob = await conn.create_lob("blob")
        same("bytes written", await lob.write(content), len(content))
        await lob.seek(0)
        same("a large object", await lob.read(), content)
        await lob.close()


OPERATIONS = {name: thing for name, thing in globals().items() if isinstance(thing, Chosen)}


def informix(server: InformixServer, *, url: str = "", name: str = "informix", **keywords: Any) -> Place:
    """The test server, however it is reached."""
    login = f"{server.user}:{server.password}"
    return Place(
        name,
        DIFFERENCES["informix"],
        url or f"informix://{login}@127.0.0.1:{server.port}/{server.database}?server={server.server}",
        (
            "drop table if exists company",
            "create table company (worker int, n int, how varchar(20), primary key (worker, n))",
        ),
        lambda count: f"select cast(? as varchar(40)), n from numbers where n <= {count} order by n",
        "insert into company select cast(? as int), cast(? as int), 'slow' from sysmaster:sysdual where "
        "(select count(*) from numbers a, numbers b where a.n + b.n = -1 and a.n < 200) = 0",
        OPERATIONS,
        # The end of another's transaction ends it, as documented.
        refusals=(
            ("", errors.InvalidCursorName, "fetch on a cursor that is not open"),
            ("", errors.InvalidCursorName, "the stream cannot be read on: the transaction"),
        ),
        keywords={"lock_wait": 20, **keywords},
        create="create database {} with log",
        numbers=2000,
        # A scroll cursor of Informix reads nothing ahead.
        holdable=(("named",), {"scrollable": True}),
    )
