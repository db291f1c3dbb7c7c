"""The ways in which a program stores what it has to store, each written once for both shells."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace import Rollback

from .book import Told, Unit

if TYPE_CHECKING:
    from .work import Job

Way = Callable[["Job"], Awaitable[None]]


@dataclass(frozen=True)
class Known:
    """A way, and the drivers that it is for; none for all of them."""

    run: Way
    drivers: tuple[str, ...]
    place: str
    """What it goes through to the server."""


WAYS: dict[str, Known] = {}


class Left(Exception):
    """A block is left by an error of the program's own."""


def way(*drivers: str, place: str = "driver") -> Callable[[Way], Way]:
    """Adds a way."""

    def add(function: Way) -> Way:
        WAYS[function.__name__] = Known(function, drivers, place)
        return function

    return add


async def moved(job: Job, conn: Any, unit: Unit, **keywords: Any) -> None:
    """Moves money between two accounts, in whatever is open."""
    source, target, amount = unit.movement = job.movement()
    mark = job.mark
    for account, change in ((source, -amount), (target, amount)):
        await conn.execute(
            f"update accounts set balance = balance + {mark} where id = {mark}", (change, account), **keywords
        )
    await conn.execute(job.insert, (unit.number, 0, source, target, amount), **keywords)


def rows_of(unit: Unit, first: int = 0) -> list[tuple[int, ...]]:
    """Its rows without money."""
    return [(unit.number, part, 0, 0, 0) for part in range(first, unit.parts)]


# Each statement is a transaction


@way()
async def statement_in_autocommit(job: Job) -> None:
    conn = await job.own(autocommit=True)
    for _ in range(job.few()):
        unit = job.unit()
        await conn.execute(job.insert, rows_of(unit)[0], timeout=job.patience())
        job.stored(unit)


@way()
async def statement_of_a_pool(job: Job) -> None:
    async with job.lent(autocommit=True) as conn:
        unit = job.unit()
        await conn.execute(job.insert, rows_of(unit)[0])
        job.stored(unit)


@way()
async def batch_in_autocommit(job: Job) -> None:
    conn = await job.own(autocommit=True)
    unit = job.unit(parts=job.chance.randint(1, 40))
    await conn.executemany(job.insert, rows_of(unit))
    job.stored(unit)


@way()
async def pipeline_in_autocommit(job: Job) -> None:
    """The end of the block speaks for all of its statements, and sync() for those before it."""
    conn = await job.own(autocommit=True)
    units: list[Unit] = []
    async with conn.pipeline() as pipeline:
        for _ in range(job.chance.randint(1, 20)):
            units.append(job.unit())
            await conn.execute(job.insert, rows_of(units[-1])[0])
            if job.chance.random() < 0.1:
                await pipeline.sync()
                job.stored(*units)
            await job.pause()
    job.stored(*units)


@way()
async def pipeline_of_a_pool(job: Job) -> None:
    units: list[Unit] = []
    async with job.lent(autocommit=True) as conn, conn.pipeline():
        for _ in range(job.chance.randint(1, 9)):
            units.append(job.unit(parts=job.few()))
            await conn.executemany(job.insert, rows_of(units[-1]))
    job.stored(*units)


@way("postgresql")
async def stream_in_autocommit(job: Job) -> None:
    """An INSERT that returns its rows has a transaction of its own, which ends with the stream."""
    conn = await job.own(autocommit=True)
    unit = job.unit(parts=6)
    sql = f"insert into journal select {unit.number}, n, 0, 0, 0 from generate_series(0, 5) n returning part"
    rows = conn.stream(sql, fetch_size=2)
    count = 0
    async for _ in rows if job.tasks else await rows:
        count += 1
    assert count == unit.parts
    job.stored(unit)


@way("postgresql")
async def copy_in_autocommit(job: Job) -> None:
    conn = await job.own(autocommit=True)
    unit = job.unit(parts=job.chance.randint(1, 300))
    await conn.copy_in("journal", rows_of(unit))
    job.stored(unit)


@way("mysql")
async def load_in_autocommit(job: Job) -> None:
    conn = await job.own(autocommit=True)
    unit = job.unit(parts=job.chance.randint(1, 300))
    await conn.load_rows("journal", rows_of(unit))
    job.stored(unit)


# Implicit transactions


@way()
async def commit(job: Job) -> None:
    conn = await job.own(autocommit=False)
    unit = job.unit()
    async with job.body():
        await moved(job, conn, unit, timeout=job.patience())
        await job.pause()
    await conn.commit()
    job.stored(unit)


@way()
async def connection_block_of_a_pool(job: Job) -> None:
    unit = job.unit(parts=3)
    async with job.lent(autocommit=False) as conn, job.body():
        await moved(job, conn, unit)
        await job.pause()
        await conn.executemany(job.insert, rows_of(unit, 1))
    job.stored(unit)


@way()
async def connection_block(job: Job) -> None:
    unit = job.unit()
    async with await job.connect(autocommit=False) as conn, job.body():
        await moved(job, conn, unit)
        await job.pause()
    job.stored(unit)


@way()
async def pipeline_and_commit(job: Job) -> None:
    conn = await job.own(autocommit=False)
    unit = job.unit()
    async with job.body(), conn.pipeline():
        await moved(job, conn, unit)
        await job.pause()
    await conn.commit()
    job.stored(unit)


@way()
async def pipeline_in_a_connection_block_of_a_pool(job: Job) -> None:
    unit = job.unit()
    async with job.lent(autocommit=False) as conn, job.body(), conn.pipeline():
        await moved(job, conn, unit)
        await job.pause()
    job.stored(unit)


# Blocks


@way()
async def block(job: Job) -> None:
    conn = await job.own(autocommit=True)
    unit = job.unit()
    async with conn.transaction(), job.body():
        await moved(job, conn, unit, timeout=job.patience())
        await job.pause()
    job.stored(unit)


@way()
async def block_of_a_pool(job: Job) -> None:
    unit = job.unit(parts=9)
    async with job.lent(autocommit=True) as conn, conn.transaction(), job.body():
        await moved(job, conn, unit)
        await conn.executemany(job.insert, rows_of(unit, 1))
        await job.pause()
    job.stored(unit)


@way()
async def block_in_an_implicit_transaction(job: Job) -> None:
    unit = job.unit()
    async with job.lent(autocommit=False) as conn, conn.transaction(), job.body():
        await moved(job, conn, unit)
    job.stored(unit)


@way()
async def pipeline_in_a_block(job: Job) -> None:
    conn = await job.own(autocommit=True)
    unit = job.unit()
    async with conn.transaction(), job.body(), conn.pipeline():
        await moved(job, conn, unit)
        await job.pause()
    job.stored(unit)


@way()
async def block_in_a_pipeline(job: Job) -> None:
    unit = job.unit()
    async with job.lent(autocommit=True) as conn, conn.pipeline(), conn.transaction(), job.body():
        await moved(job, conn, unit)
        await job.pause()
    job.stored(unit)


@way()
async def inner_block(job: Job) -> None:
    """Some are rolled back, and what they have stored goes with them."""
    conn = await job.own(autocommit=True)
    outer, inner = job.unit(), job.unit(parts=2)
    is_wanted = job.chance.random() < 0.5
    async with conn.transaction(), job.body():
        async with conn.transaction():
            await conn.execute(job.insert, rows_of(inner)[0])
            await job.pause()
            await conn.execute(job.insert, rows_of(inner)[1])
            if not is_wanted:
                inner.told = Told.REFUSED
                raise Rollback
        await moved(job, conn, outer)
    job.stored(outer, *[inner] * is_wanted)


@way("postgresql", "mysql")
async def script_in_a_block(job: Job) -> None:
    conn = await job.own(autocommit=True)
    unit = job.unit()
    source, target, amount = unit.movement = job.movement()
    async with conn.transaction(), job.body():
        await conn.executescript(
            f"update accounts set balance = balance - {amount} where id = {source}; "
            f"update accounts set balance = balance + {amount} where id = {target}; "
            f"insert into journal values ({unit.number}, 0, {source}, {target}, {amount})"
        )
    job.stored(unit)


@way("postgresql")
async def copy_in_a_block(job: Job) -> None:
    unit = job.unit(parts=job.chance.randint(2, 300))
    async with job.lent(autocommit=True) as conn, conn.transaction(), job.body():
        await moved(job, conn, unit)
        await conn.copy_in("journal", rows_of(unit, 1))
    job.stored(unit)
