"""A worker of the company: random operations on a connection that others use too, whose answers and effects it knows.

Every answer carries the worker's own marker, so that another's rows are recognised. Rows that were reported as stored
must be there, rows that were refused must not be, and of a batch that it cancelled all rows or none. An error that it
did not ask for is a fault, and that includes a cancellation.
"""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace import errors

from .shells import Lock, Shell

if TYPE_CHECKING:
    from .places import Place

READS, WRITES, BLOCKS, ALONE = "reads", "writes", "blocks", "alone"
"""What an operation stands: READS anything; WRITES (and errors) no transaction block of another worker, BLOCKS neither
these nor other blocks, ALONE nothing else at all."""
FAULTS_KEPT = 8
Operation = Callable[["Worker", Any], Awaitable[None]]


@dataclass(frozen=True)
class Chosen:
    """An operation, and how often it is chosen."""

    run: Operation
    level: str
    weight: int


def operation(level: str, weight: int = 2) -> Callable[[Operation], Chosen]:
    """Declares an operation."""
    return lambda run: Chosen(run, level, weight)


@dataclass
class Company:
    """What the workers on one connection share."""

    place: Place
    shell: Shell
    lock: Lock
    floor: Lock
    faults: list[str] = field(default_factory=list[str])
    refused: int = 0
    progress: float = field(default_factory=time.monotonic)
    """When an operation ended last."""
    done: dict[str, int] = field(default_factory=dict[str, int])


def company(place: Place, shell: Shell) -> Company:
    """For those who share one connection."""
    return Company(place, shell, shell.lock(), shell.lock())


class Worker:
    """One of them."""

    def __init__(self, company: Company, number: int, seed: str) -> None:
        self.company = company
        self.place = company.place
        self.shell = company.shell
        self.number = number
        self.rng = random.Random(f"{seed}/{number}")
        self.rows: dict[int, str] = {}
        """The rows that it knows to be stored."""
        self.last = 0
        self.asked = 0
        self.where: tuple[Company, Any] | None = None

    # what answers and effects must be

    def marker(self) -> str:
        """A text that no other answer has."""
        self.asked += 1
        return f"w{self.number}-{self.asked}"

    def numbers(self, count: int) -> list[int]:
        """Keys of new rows."""
        self.last += count
        return list(range(self.last - count + 1, self.last + 1))

    def values(self, count: int, how: str) -> list[tuple[int, int, str]]:
        """New rows."""
        return [(self.number, n, how) for n in self.numbers(count)]

    def stored(self, rows: list[tuple[int, int, str]]) -> None:
        """It has got its error."""
        self.rows.update((n, how) for _, n, how in rows)

    async def settle(self, conn: Any, rows: list[tuple[int, int, str]]) -> None:
        """Rows that were cancelled on their way are there whole or not at all."""
        where = f"worker = {self.place.mark} and n between {rows[0][1]} and {rows[-1][1]}"
        there = await conn.fetch(f"select n, how from company where {where}", self.number)
        same("a cancelled batch is whole or gone", len(there) in (0, len(rows)), True)
        self.rows.update(there)

    async def check(self, conn: Any) -> None:
        """The stored rows are exactly those that were reported."""
        sql = f"select n, how from company where worker = {self.place.mark} order by n"
        found = dict(await conn.fetch(sql, self.number))
        lost = sorted(self.rows.items() - found.items())
        more = sorted(found.items() - self.rows.items())
        same("rows lost, rows that should not be there", (lost, more), ([], []))

    async def count(self, conn: Any, rows: list[tuple[int, int, str]]) -> int:
        """How many of the rows are there."""
        where = f"worker = {self.place.mark} and n between {rows[0][1]} and {rows[-1][1]}"
        sql = f"select count(*) from company where {where}"
        return int(await conn.fetchval(sql, self.number))

    async def cancelled(self, work: Any) -> bool:
        """Cancels the task that runs ``work`` at a random point; False where it had ended before."""
        task = asyncio.ensure_future(work)
        if self.rng.random() < 0.5:
            for _ in range(self.rng.randrange(6)):
                await asyncio.sleep(0)
        else:
            await asyncio.sleep(self.rng.choice((0.0005, 0.002, 0.01)))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    # running

    async def work(self, conn: Any, operations: dict[str, Chosen], count: int, company: Company | None = None) -> None:
        """Runs ``count`` operations on a connection."""
        shared = company or self.company
        names = list(operations)
        weights = [operations[name].weight for name in names]
        for _ in range(count):
            if len(shared.faults) >= FAULTS_KEPT:
                return
            name = self.rng.choices(names, weights)[0]
            chosen = operations[name]
            try:
                async with shared.floor.held(chosen.level == ALONE):
                    if chosen.level in (READS, ALONE):
                        await chosen.run(self, conn)
                    else:
                        async with shared.lock.held(chosen.level == BLOCKS):
                            await chosen.run(self, conn)
                shared.done[name] = shared.done.get(name, 0) + 1
            except Exception as error:
                if self.place.is_refusal(error, self.shell):
                    shared.refused += 1
                    continue
                where = traceback.extract_tb(error.__traceback__)
                line = next((at for at in reversed(where) if "tests/company" in at.filename), where[-1])
                shared.faults.append(
                    f"worker {self.number}, {name}:{line.lineno}: {type(error).__name__}: {error}"[:600]
                )
                if conn.closed:
                    return
            self.company.progress = shared.progress = time.monotonic()
            if self.rng.random() < 0.1:
                await self.shell.sleep(0)


def same(what: str, found: Any, wanted: Any) -> None:
    """An assertion whose text stays short."""
    assert found == wanted, f"{what}: {str(found)[:160]} is not {str(wanted)[:160]}"


# reading


@operation(READS, 6)
async def short_forms(self: Worker, conn: Any) -> None:
    mark, sql = self.marker(), self.place.marked(3)
    kind = self.rng.randrange(3)
    if kind == 0:
        same("fetch", await conn.fetch(sql, mark), [(mark, 1), (mark, 2), (mark, 3)])
    elif kind == 1:
        same("fetchrow", await conn.fetchrow(sql, mark), (mark, 1))
    else:
        same("fetchval", await conn.fetchval(sql, mark), mark)


@operation(READS, 3)
async def cursors(self: Worker, conn: Any) -> None:
    mark = self.marker()
    cursor = conn.cursor()
    await cursor.execute(self.place.marked(20), (mark,))
    same("fetchone", await cursor.fetchone(), (mark, 1))
    same("fetchmany", await cursor.fetchmany(5), [(mark, n) for n in range(2, 7)])
    same("fetchall", await cursor.fetchall(), [(mark, n) for n in range(7, 21)])


@operation(READS)
async def many_rows(self: Worker, conn: Any) -> None:
    mark, count = self.marker(), self.rng.choice((100, 1000, 1900))
    rows = await conn.fetch(self.place.marked(count), mark)
    same("many rows", rows, [(mark, n) for n in range(1, count + 1)])


@operation(READS)
async def flat_batches(self: Worker, conn: Any) -> None:
    marks = [self.marker() for _ in range(self.rng.randrange(1, 30))]
    rows = await conn.fetchmany(self.place.marked(2), [(mark,) for mark in marks])
    same("fetchmany of a connection", rows, [(mark, n) for mark in marks for n in (1, 2)])


async def read_stream(self: Worker, stream: Any, mark: str, count: int, leave: bool) -> None:
    """All rows of a stream, or some."""
    seen = 0
    wanted = self.rng.randrange(1, count) if leave else count
    async for row in stream:
        seen += 1
        same("a streamed row", row, (mark, seen))
        if seen == wanted:
            if leave:
                break
        elif self.rng.random() < 0.01:
            await self.shell.sleep(0)
    await stream.aclose()
    same("rows of a stream", seen, wanted)


def streams(leave: bool, **keywords: Any) -> Operation:
    """A stream, to its end or not."""

    async def streamed(self: Worker, conn: Any) -> None:
        mark, count = self.marker(), self.rng.choice((5, 300, 1900))
        stream = conn.stream(self.place.marked(count), (mark,), **self.place.differences.streamed(100), **keywords)
        await read_stream(self, stream, mark, count, leave)

    return streamed


@operation(READS, 3)
async def pipelines(self: Worker, conn: Any) -> None:
    marks = [self.marker() for _ in range(self.rng.randrange(1, 12))]
    async with conn.pipeline():
        found = [await conn.execute(self.place.marked(2), (mark,)) for mark in marks]
        if self.rng.random() < 0.3:
            same("read in a pipeline", await found[0].fetchone(), (marks[0], 1))
            found, marks = found[1:], marks[1:]
        if self.rng.random() < 0.3:
            await self.shell.sleep(0.002)
    same("pipeline", [await one.fetchall() for one in found], [[(mark, 1), (mark, 2)] for mark in marks])


# writing


@operation(WRITES, 5)
async def inserts(self: Worker, conn: Any) -> None:
    rows = self.values(1, "insert")
    cursor = await conn.execute(self.place.insert, rows[0])
    same("rowcount of an insert", cursor.rowcount, 1)
    self.stored(rows)


@operation(WRITES, 3)
async def batches(self: Worker, conn: Any) -> None:
    rows = self.values(self.rng.choice((1, 10, 300, 1500)), "batch")
    cursor = await conn.executemany(self.place.insert, rows)
    same("rowcount of a batch", cursor.rowcount, len(rows))
    self.stored(rows)


@operation(WRITES)
async def deletes(self: Worker, conn: Any) -> None:
    if self.rows:
        n = self.rng.choice(list(self.rows))
        cursor = await conn.execute(f"delete from company where worker = {self.number} and n = {self.place.mark}", (n,))
        same("rowcount of a delete", cursor.rowcount, 1)
        del self.rows[n]


@operation(WRITES)
async def looks(self: Worker, conn: Any) -> None:
    await self.check(conn)


@operation(WRITES)
async def written_pipelines(self: Worker, conn: Any) -> None:
    rows, more, mark = self.values(3, "piped"), self.values(40, "piped batch"), self.marker()
    async with conn.pipeline():
        written = [await conn.execute(self.place.insert, row) for row in rows]
        batch = await conn.executemany(self.place.insert, more)
        asked = await conn.execute(self.place.marked(1), (mark,))
    same("rowcounts of a pipeline", [one.rowcount for one in written] + [batch.rowcount], [1, 1, 1, 40])
    same("an answer of a pipeline", await asked.fetchall(), [(mark, 1)])
    self.stored([*rows, *more])


# errors: only the worker that made one gets it


async def refused(what: Callable[[], Awaitable[Any]]) -> errors.Error:
    """The error of a row that is there already."""
    try:
        await what()
    except errors.UniqueViolation as error:
        return error
    raise AssertionError("a duplicate key was taken")


async def taken_key(self: Worker, conn: Any) -> tuple[int, int, str]:
    """A row that is there already."""
    if not self.rows:
        rows = self.values(1, "insert")
        await conn.execute(self.place.insert, rows[0])
        self.stored(rows)
    return self.number, self.rng.choice(list(self.rows)), "twice"


@operation(WRITES)
async def duplicates(self: Worker, conn: Any) -> None:
    row = await taken_key(self, conn)
    await refused(lambda: conn.execute(self.place.insert, row))


@operation(WRITES)
async def refused_batches(self: Worker, conn: Any) -> None:
    bad = await taken_key(self, conn)
    rows = self.values(self.rng.choice((2, 50, 900)), "refused")
    at = self.rng.randrange(len(rows))
    rows.insert(at, bad)
    error = await refused(lambda: conn.executemany(self.place.insert, rows))
    same("the row of an error", error.row, at)  # type: ignore[attr-defined]


@operation(WRITES)
async def refused_pipelines(self: Worker, conn: Any) -> None:
    bad, good, mark = await taken_key(self, conn), self.values(2, "beside an error"), self.marker()
    try:
        async with conn.pipeline():
            first = await conn.execute(self.place.insert, good[0])
            await conn.execute(self.place.insert, bad)
            last = await conn.execute(self.place.insert, good[1])
            asked = await conn.execute(self.place.marked(1), (mark,))
    except errors.UniqueViolation:
        pass
    else:
        raise AssertionError("a duplicate key was taken in a pipeline")
    same("statements beside an error", (first.rowcount, last.rowcount), (1, 1))
    same("a result after an error", await asked.fetchall(), [(mark, 1)])
    self.stored(good)


@operation(WRITES)
async def nonsense(self: Worker, conn: Any) -> None:
    try:
        await conn.execute("selekt from where")
    except errors.ProgrammingError:
        return
    raise AssertionError("nonsense was taken")


# what is cancelled, and only that


@operation(WRITES, 3)
async def timeouts(self: Worker, conn: Any) -> None:
    rows = self.values(1, "slow")
    try:
        await conn.execute(
            self.place.slow, (rows[0][0], rows[0][1]), timeout=self.rng.choice((0.0005, 0.003, 0.02, 20))
        )
    except TimeoutError:
        await self.settle(conn, rows)
    else:
        self.stored(rows)


@operation(WRITES, 4)
async def cancelled_tasks(self: Worker, conn: Any) -> None:
    if not self.shell.tasks:
        await timeouts.run(self, conn)
        return
    count = self.rng.choice((1, 40, 800))
    slow = count == 1 and self.rng.random() < 0.5
    rows = self.values(count, "slow" if slow else "cancelled")
    if slow:
        work = conn.execute(self.place.slow, rows[0][:2])
    elif count == 1:
        work = conn.execute(self.place.insert, rows[0])
    else:
        work = conn.executemany(self.place.insert, rows)
    if await self.cancelled(work):
        await self.settle(conn, rows)
    else:
        self.stored(rows)


@operation(WRITES)
async def cancelled_reads(self: Worker, conn: Any) -> None:
    if self.shell.tasks:
        await self.cancelled(conn.fetch(self.place.marked(1000), self.marker()))


# blocks of a transaction, which other workers read beside but do not write to


@operation(BLOCKS)
async def transactions(self: Worker, conn: Any) -> None:
    rows, inner = self.values(2, "block"), self.values(30, "inner block")
    keep, keep_inner = self.rng.random() < 0.6, self.rng.random() < 0.5
    async with conn.transaction(force_rollback=not keep):
        await conn.execute(self.place.insert, rows[0])
        async with conn.transaction(force_rollback=not keep_inner):
            await conn.executemany(self.place.insert, inner)
            same("seen in the block", await self.count(conn, inner), len(inner))
        await conn.execute(self.place.insert, rows[1])
        same("seen after the inner block", await self.count(conn, inner), len(inner) if keep_inner else 0)
    self.stored([*(rows if keep else []), *(inner if keep and keep_inner else [])])
    same("seen after the block", await self.count(conn, rows), len(rows) if keep else 0)


COMMON: dict[str, Chosen] = {name: thing for name, thing in globals().items() if isinstance(thing, Chosen)}
COMMON["streams_to_the_end"] = Chosen(streams(leave=False), READS, 3)
COMMON["streams_left_early"] = Chosen(streams(leave=True), READS, 3)
