"""Large objects about the size at which the server cuts a read, as values and as files."""

# Made by tools/async_to_sync.py of test_large_objects_async.py: edit that file, and run the tool.

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.cubrid
from headrace import errors

READ = 81_908
"""Bytes that the server sends at most for one read."""
SIZES = [0, 1, 79_999, 80_000, 80_001, READ - 1, READ, READ + 1, 2 * READ, 2 * READ + 1, 131_072, 131_073, 3_000_001]

Connection = headrace.cubrid.Connection[Any]


@pytest.fixture
def conn(url: str) -> Iterator[Connection]:
    """A connection, and an empty table."""
    with headrace.cubrid.connect(url) as conn:
        conn.execute("drop table if exists hr_large")
        conn.execute("create table hr_large (n int primary key, b blob, c clob)")
        conn.commit()
        yield conn
        conn.rollback()
        conn.execute("drop table hr_large")


def content(size: int) -> bytes:
    """Bytes no part of which is like another."""
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize("size", SIZES)
def test_values(conn: Connection, size: int) -> None:
    data, text = content(size), ("한국어 text " * (size // 10 + 1))[:size]
    row = (1, conn.store_lob(data), conn.store_lob(text))
    conn.execute("insert into hr_large values (?, ?, ?)", row)
    conn.commit()
    _, blob, clob = (conn.fetchrow("select * from hr_large")) or ()
    assert conn.read_lob(blob) == data
    assert conn.read_lob(clob) == text
    assert conn.fetchrow("select blob_length(b), clob_length(c) from hr_large") is not None


@pytest.mark.parametrize("size", [READ - 1, READ, READ + 1, 3_000_001])
def test_files(conn: Connection, size: int) -> None:
    data = content(size)
    with conn.create_lob("blob") as lob:
        written = 0
        while written < size:
            written += lob.write(data[written : written + 70_000])
        assert (written, lob.size) == (size, size)
        conn.execute("insert into hr_large values (?, ?, ?)", (2, lob.locator, None))
    conn.commit()
    locator = conn.fetchval("select b from hr_large where n = 2")
    with conn.open_lob(locator) as lob:
        assert lob.size == size
        for start, count in ((0, READ), (0, READ + 1), (1, READ), (size - 1, 5), (size, 5), (size // 2, 200_000)):
            assert lob.seek(start) == start
            assert lob.read(count) == data[start : start + count]
        assert lob.seek(-10, io.SEEK_END) == size - 10
        assert lob.seek(-10, io.SEEK_CUR) == size - 20
        assert lob.read() == data[-20:]
        lob.seek(0)
        parts = []
        while part := lob.read(READ):
            parts.append(part)
        assert b"".join(parts) == data


def test_what_a_transaction_did_not_store_is_gone(conn: Connection) -> None:
    kept = conn.store_lob(b"kept" * 30_000)
    lost = conn.store_lob(b"lost" * 30_000)
    conn.execute("insert into hr_large values (?, ?, ?)", (1, kept, None))
    conn.commit()
    assert conn.read_lob(conn.fetchval("select b from hr_large")) == b"kept" * 30_000
    with pytest.raises(errors.DatabaseError):
        conn.read_lob(lost)
    conn.rollback()
    assert conn.fetchval("select count(*) from hr_large") == 1


def test_content_is_stored_without_a_locator(conn: Connection) -> None:
    conn.execute("insert into hr_large values (1, X'0001ff', 'text')")
    conn.execute("insert into hr_large values (?, ?, ?)", (2, b"\0bytes", "가"))
    conn.executemany("insert into hr_large values (?, ?, ?)", [(3, b"x", None), (4, None, "")])
    conn.execute("update hr_large set b = ? where n = ?", (b"other" * 20_000, 1))
    conn.commit()
    found = conn.fetch("select b, c from hr_large order by n")
    stored = [[None if locator is None else conn.read_lob(locator) for locator in row] for row in found]
    assert stored == [[b"other" * 20_000, "text"], [b"\0bytes", "가"], [b"x", None], [None, ""]]
