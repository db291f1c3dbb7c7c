"""What only PostgreSQL has."""

from __future__ import annotations

import io
from typing import Any

from headrace import errors
from headrace_lab.differences import DIFFERENCES

from .places import Place
from .worker import ALONE, READS, WRITES, Chosen, Worker, operation, same


def copied(mark: str, count: int) -> str:
    """A query for COPY, which takes no parameters."""
    return f"select '{mark}'::text, g from generate_series(1, {count}) g"


@operation(READS, 3)
async def copies_out(self: Worker, conn: Any) -> None:
    mark, count = self.marker(), self.rng.choice((10, 500, 3000))
    rows = [row async for row in await conn.copy_out(copied(mark, count))]
    same("rows of a COPY", rows, [(mark, n) for n in range(1, count + 1)])


@operation(WRITES)
async def copies_out_left(self: Worker, conn: Any) -> None:
    mark = self.marker()
    rows = await conn.copy_out(copied(mark, 3000))
    async for row in rows:
        same("a row of a COPY", row, (mark, 1))
        break
    await rows.aclose()


@operation(READS)
async def copies_out_to_a_file(self: Worker, conn: Any) -> None:
    mark, file = self.marker(), io.BytesIO()
    same("rowcount of a COPY", await conn.copy_out(copied(mark, 200), format="text", to=file), 200)
    same("lines of a COPY", file.getvalue(), "".join(f"{mark}\t{n}\n" for n in range(1, 201)).encode())


@operation(WRITES, 3)
async def copies_in(self: Worker, conn: Any) -> None:
    rows = self.values(self.rng.choice((1, 100, 2000)), "copy")
    same("rows copied", await conn.copy_in("company", rows), len(rows))
    self.stored(rows)


@operation(WRITES)
async def copies_in_text(self: Worker, conn: Any) -> None:
    rows = self.values(30, "copied text")
    async with conn.cursor().copy("copy company from stdin") as copy:
        for row in rows:
            await copy.write_row(row)
            if self.rng.random() < 0.05:
                await self.shell.sleep(0)
    self.stored(rows)


class _Stopped(Exception):
    pass


@operation(WRITES)
async def copies_in_given_up(self: Worker, conn: Any) -> None:
    def rows() -> Any:
        yield from self.values(50, "given up")
        raise _Stopped

    try:
        await conn.copy_in("company", rows())
    except _Stopped:
        return
    raise AssertionError("the error of a source was lost")


@operation(READS)
async def held_cursors(self: Worker, conn: Any) -> None:
    mark = self.marker()
    cursor = conn.cursor(f"held_{self.number}_{self.asked}", withhold=True)
    await cursor.execute(self.place.marked(50), (mark,))
    same("fetchone", await cursor.fetchone(), (mark, 1))
    same("fetchmany", await cursor.fetchmany(9), [(mark, n) for n in range(2, 11)])
    same("fetchall", await cursor.fetchall(), [(mark, n) for n in range(11, 51)])
    await cursor.close()


@operation(ALONE, 1)
async def notified(self: Worker, conn: Any) -> None:
    mark = self.marker()
    await conn.listen(f"channel_{self.number}")
    await conn.execute(f"notify channel_{self.number}, '{mark}'")
    heard = [(n.channel, n.payload) async for n in conn.notifies(timeout=20, stop_after=1)]
    await conn.unlisten(f"channel_{self.number}")
    same("notified", heard, [(f"channel_{self.number}", mark)])


@operation(WRITES, 1)
async def large_objects(self: Worker, conn: Any) -> None:
    content = self.marker().encode() * 500
    number = await conn.fetchval("select lo_from_bytea(0, %s)", content)
    same("a large object", await conn.fetchval("select lo_get(%s::oid)", number), content)
    await conn.fetchval("select lo_unlink(%s::oid)", number)


OPERATIONS = {name: thing for name, thing in globals().items() if isinstance(thing, Chosen)}


def postgresql(url: str, name: str = "postgresql", **keywords: Any) -> Place:
    """A database, however it is reached."""
    return Place(
        name,
        DIFFERENCES["postgresql"],
        url,
        (
            "drop table if exists company",
            "create table company (worker int, n int, how varchar(20), primary key (worker, n))",
        ),
        lambda count: f"select %s::text, g from generate_series(1, {count}) g",
        "insert into company select %s::int, %s::int, 'slow' from (select pg_sleep(0.02)) s",
        OPERATIONS,
        # What is opened in another worker's block ends with that, a cursor WITH HOLD if it is rolled back.
        refusals=(
            ("", errors.InvalidCursorName, "the stream cannot be read on: the transaction"),
            ("", errors.InvalidCursorName, "the cursor 'held_"),
        ),
        keywords=keywords,
        create="create schema {}",
        within=lambda url, name: (url, {"options": f"-c search_path={name}"}),
        sessions=lambda conn: int(
            conn.fetchval("select count(*) from pg_stat_activity where backend_type = 'client backend'")
        ),
        statements=lambda conn: int(conn.executescript("select count(*) from pg_prepared_statements").fetchone()[0]),
        slow_answer=("select case when pg_sleep(0.02) is null then '' else 'slept' end", "slept"),
    )
