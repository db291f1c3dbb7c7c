"""Large objects about the size at which the server cuts a read, as values and as files."""

from __future__ import annotations

import io
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

import headrace.aio.cubrid
from headrace import errors

READ = 81_908
"""Bytes that the server sends at most for one read."""
SIZES = [0, 1, 79_999, 80_000, 80_001, READ - 1, READ, READ + 1, 2 * READ, 2 * READ + 1, 131_072, 131_073, 3_000_001]

Connection = headrace.aio.cubrid.AsyncConnection[Any]


@pytest.fixture
async def aconn(url: str) -> AsyncIterator[Connection]:
    """A connection, and an empty table."""
    async with await headrace.aio.cubrid.connect(url) as conn:
        await conn.execute("drop table if exists hr_large")
        await conn.execute("create table hr_large (n int primary key, b blob, c clob)")
        await conn.commit()
        yield conn
        await conn.rollback()
        await conn.execute("drop table hr_large")


def content(size: int) -> bytes:
    """Bytes no part of which is like another."""
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize("size", SIZES)
async def test_values(aconn: Connection, size: int) -> None:
    data, text = content(size), ("한국어 text " * (size // 10 + 1))[:size]
    row = (1, await aconn.store_lob(data), await aconn.store_lob(text))
    await aconn.execute("insert into hr_large values (?, ?, ?)", row)
    await aconn.commit()
    _, blob, clob = (await aconn.fetchrow("select * from hr_large")) or ()
    assert await aconn.read_lob(blob) == data
    assert await aconn.read_lob(clob) == text
    assert await aconn.fetchrow("select blob_length(b), clob_length(c) from hr_large") is not None


@pytest.mark.parametrize("size", [READ - 1, READ, READ + 1, 3_000_001])
async def test_files(aconn: Connection, size: int) -> None:
    data = content(size)
    async with await aconn.create_lob("blob") as lob:
        written = 0
        while written < size:
            written += await lob.write(data[written : written + 70_000])
        assert (written, lob.size) == (size, size)
        await aconn.execute("insert into hr_large values (?, ?, ?)", (2, lob.locator, None))
    await aconn.commit()
    locator = await aconn.fetchval("select b from hr_large where n = 2")
    async with aconn.open_lob(locator) as lob:
        assert lob.size == size
        for start, count in ((0, READ), (0, READ + 1), (1, READ), (size - 1, 5), (size, 5), (size // 2, 200_000)):
            assert lob.seek(start) == start
            assert await lob.read(count) == data[start : start + count]
        assert lob.seek(-10, io.SEEK_END) == size - 10
        assert lob.seek(-10, io.SEEK_CUR) == size - 20
        assert await lob.read() == data[-20:]
        lob.seek(0)
        parts = []
        while part := await lob.read(READ):
            parts.append(part)
        assert b"".join(parts) == data


async def test_what_a_transaction_did_not_store_is_gone(aconn: Connection) -> None:
    kept = await aconn.store_lob(b"kept" * 30_000)
    lost = await aconn.store_lob(b"lost" * 30_000)
    await aconn.execute("insert into hr_large values (?, ?, ?)", (1, kept, None))
    await aconn.commit()
    assert await aconn.read_lob(await aconn.fetchval("select b from hr_large")) == b"kept" * 30_000
    with pytest.raises(errors.DatabaseError):
        await aconn.read_lob(lost)
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from hr_large") == 1


async def test_content_is_stored_without_a_locator(aconn: Connection) -> None:
    await aconn.execute("insert into hr_large values (1, X'0001ff', 'text')")
    await aconn.execute("insert into hr_large values (?, ?, ?)", (2, b"\0bytes", "가"))
    await aconn.executemany("insert into hr_large values (?, ?, ?)", [(3, b"x", None), (4, None, "")])
    await aconn.execute("update hr_large set b = ? where n = ?", (b"other" * 20_000, 1))
    await aconn.commit()
    found = await aconn.fetch("select b, c from hr_large order by n")
    stored = [[None if locator is None else await aconn.read_lob(locator) for locator in row] for row in found]
    assert stored == [[b"other" * 20_000, "text"], [b"\0bytes", "가"], [b"x", None], [None, ""]]
