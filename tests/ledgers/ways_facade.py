"""The ways of programs that are written for MySQLdb."""

from __future__ import annotations

import contextlib
import tempfile
from typing import TYPE_CHECKING, Any

from headrace.compat.mysqldb.cursors import SSCursor

from .book import Told
from .ways import Left, moved, rows_of, way

if TYPE_CHECKING:
    from .work import Job


def literal(job: Job, unit: Any, part: int) -> str:
    """The INSERT of a row, as a text."""
    return f"insert into journal values {rows_of(unit)[part]}"


@way(place="facade")
async def facade_in_autocommit(job: Job) -> None:
    cursor = (await job.own(autocommit=True)).cursor()
    for _ in range(job.few()):
        unit = job.unit()
        await cursor.execute(job.insert, rows_of(unit)[0])
        job.stored(unit)
        await job.pause()


@way(place="facade")
async def facade_several_in_autocommit(job: Job) -> None:
    """Nobody reads the results: the end of the cursor speaks for them."""
    conn = await job.own(autocommit=True)
    units = [job.unit() for _ in range(job.few())]
    async with conn.cursor() as cursor:
        await cursor.execute("; ".join(literal(job, unit, 0) for unit in units))
        await job.pause()
    job.stored(*units)


@way(place="facade")
async def facade_load_in_autocommit(job: Job) -> None:
    conn = await job.own(autocommit=True)
    unit = job.unit(parts=job.chance.randint(1, 300))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows_of(unit))
        file.flush()
        await conn.cursor().execute("load data local infile %s into table journal", (file.name,))
    job.stored(unit)


@way(place="facade")
async def facade_commit(job: Job) -> None:
    conn = await job.own(autocommit=False)
    unit = job.unit()
    async with job.body():
        await moved(job, conn.cursor(), unit)
        await job.pause()
    await conn.commit()
    job.stored(unit)


@way(place="facade")
async def facade_blocks(job: Job) -> None:
    """The end of the connection's block commits nothing."""
    unit = job.unit(parts=8)
    async with await job.connect(autocommit=False) as conn:
        async with job.body(), conn.cursor() as cursor:
            await moved(job, cursor, unit)
            await cursor.executemany(job.insert, rows_of(unit, 1))
            await job.pause()
        await conn.commit()
        job.stored(unit)


@way(place="facade")
async def facade_left_block(job: Job) -> None:
    """Without a commit nothing is stored."""
    unit = job.unit()
    with contextlib.suppress(Left):
        async with job.body(), await job.connect(autocommit=False) as conn, conn.cursor() as cursor:
            await moved(job, cursor, unit)
            await job.pause()
            raise Left
    unit.told = Told.REFUSED


@way(place="facade")
async def facade_several_and_commit(job: Job) -> None:
    """Nobody reads the results: the commit speaks for them."""
    conn = await job.own(autocommit=False)
    unit = job.unit(parts=4)
    async with job.body():
        await conn.cursor().execute("; ".join(literal(job, unit, part) for part in range(4)))
        await job.pause()
    await conn.commit()
    job.stored(unit)


@way(place="facade")
async def facade_stream_and_commit(job: Job) -> None:
    """The rows of a cursor that streams are not read to their end."""
    conn = await job.own(autocommit=False)
    unit = job.unit()
    async with job.body():
        await moved(job, conn.cursor(), unit)
        cursor = conn.cursor(SSCursor)
        await cursor.execute("select * from journal, accounts")
        await cursor.fetchmany(3)
        await job.pause()
        await cursor.close()
    await conn.commit()
    job.stored(unit)


@way(place="facade")
async def facade_query_and_commit(job: Job) -> None:
    """As _mysql has it."""
    conn = await job.own(autocommit=False)
    unit = job.unit(parts=2)
    async with job.body():
        for part in range(2):
            await conn.query(literal(job, unit, part))
            await job.pause()
    await conn.commit()
    job.stored(unit)


@way(place="facade")
async def facade_autocommit_turned_on(job: Job) -> None:
    """It commits."""
    conn = await job.connect(autocommit=False)
    try:
        unit = job.unit()
        async with job.body():
            await moved(job, conn.cursor(), unit)
            await job.pause()
        await conn.autocommit(True)
        job.stored(unit)
    finally:
        await job.closed(conn)
