"""Smart large objects as files, BYTE and TEXT of any size, and the fast path."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import io
import resource
import shutil
from decimal import Decimal
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from headrace import defaults, errors
from headrace.informix import BlobLocator, ClobLocator, Opaque
from headrace.testing import InformixServer

from .relay import Recorder

Connection = headrace.informix.Connection[Any]
MEBIBYTE = 1024 * 1024
SIZES = [0, 1, 2, 31_999, 32_000, 32_001, defaults.INFORMIX_LOB_BYTES, defaults.INFORMIX_LOB_BYTES + 1, MEBIBYTE + 7]


def content(size: int) -> bytes:
    """Bytes in which no piece is like another."""
    return (b"".join(n.to_bytes(4, "big") for n in range(size // 4 + 1)))[:size]


@pytest.fixture
def stored(conn: Connection, table: str) -> str:
    """A table with a BLOB of a thousand bytes."""
    conn.execute(f"create table {table} (n int, b blob, c clob)")
    with conn.create_lob() as lob:
        lob.write(content(1000))
        conn.execute(f"insert into {table} values (?, ?, ?)", (1, lob.locator, None))
    conn.commit()
    return table


# smart large objects


@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_is_read(conn: Connection, table: str, size: int) -> None:
    conn.execute(f"create table {table} (n int, b blob, c clob)")
    data = content(size)
    for n, kind in enumerate(("blob", "clob")):
        with conn.create_lob(kind, column=f"{table}.{kind[0]}") as lob:
            assert lob.write(data) == size
            assert (lob.tell(), lob.size()) == (size, size)
            assert lob.seek(0) == 0
            assert lob.read() == data
            place = (n, lob.locator, None) if kind == "blob" else (n, None, lob.locator)
        conn.execute(f"insert into {table} values (?, ?, ?)", place)
    conn.commit()
    blob, clob = conn.fetch(f"select b, c from {table} order by n")
    assert (blob[1], clob[0]) == (None, None)
    assert isinstance(blob[0], BlobLocator)
    assert isinstance(clob[1], ClobLocator)
    for locator in (blob[0], clob[1]):
        with conn.open_lob(locator) as lob:
            assert lob.read() == data
            assert lob.read() == b""


def test_reading_anywhere(conn: Connection, stored: str) -> None:
    data = content(1000)
    with conn.open_lob(conn.fetchval(f"select b from {stored}")) as lob:
        assert (lob.seekable(), lob.readable(), lob.writable()) == (True, True, False)
        assert lob.read(10) == data[:10]
        assert lob.read(10) == data[10:20]
        assert lob.seek(500) == 500
        assert lob.read(3) == data[500:503]
        assert lob.seek(-3, io.SEEK_CUR) == 500
        assert lob.read(1) == data[500:501]
        assert lob.seek(-5, io.SEEK_END) == 995
        assert lob.read(100) == data[995:]
        assert lob.seek(2000) == 2000
        assert lob.read(1) == b""
        assert lob.tell() == 2000
        assert lob.read(0) == b""
        lob.seek(0)
        buffer = bytearray(7)
        assert lob.readinto(buffer) == 7
        assert bytes(buffer) == data[:7]
        for wrong in (lambda: lob.seek(-1), lambda: lob.seek(0, 7), lambda: lob.seek(-2000, io.SEEK_END)):
            with pytest.raises(ValueError):
                wrong()
        assert lob.read(3) == data[7:10]
    assert lob.closed
    with pytest.raises(ValueError, match="closed"):
        lob.read()


def test_writing_anywhere(conn: Connection, stored: str) -> None:
    locator = conn.fetchval(f"select b from {stored}")
    data = bytearray(content(1000))
    with conn.open_lob(locator, "r+b") as lob:
        lob.seek(990)
        lob.write(b"beyond the end of it")
        data[990:] = b"beyond the end of it"
        lob.seek(5)
        lob.write(memoryview(b"here"))
        data[5:9] = b"here"
        assert lob.tell() == 9
        assert lob.read(2) == data[9:11]
    conn.commit()
    with conn.open_lob(locator, "r+b") as lob:
        assert lob.read() == data
        assert lob.truncate(100) == 100
        assert (lob.size(), lob.tell()) == (100, len(data))
        lob.seek(0)
        assert lob.read() == data[:100]
    with conn.open_lob(locator, "wb") as lob:
        assert lob.size() == 0
        lob.write(b"new")
    conn.commit()
    with conn.open_lob(locator) as lob:
        assert lob.read() == b"new"
        with pytest.raises(errors.ProgrammingError, match="opened for reading"):
            lob.write(b"x")
        with pytest.raises(errors.ProgrammingError, match="opened for reading"):
            lob.truncate(0)


def test_it_is_a_file_to_the_standard_library(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, c clob)")
    text = "erste Zeile, äöü\nzweite\n" * 20_000
    with conn.create_lob("clob") as lob:
        shutil.copyfileobj(io.BytesIO(text.encode("latin-1")), lob)
        conn.execute(f"insert into {table} values (1, ?)", (lob.locator,))
    conn.commit()
    with io.TextIOWrapper(io.BufferedReader(conn.open_lob(conn.fetchval(f"select c from {table}"))), "latin-1") as file:
        assert file.readline() == "erste Zeile, äöü\n"
        assert sum(1 for _ in file) == 39_999
    with conn.open_lob(conn.fetchval(f"select c from {table}")) as lob:
        assert lob.readline() == "erste Zeile, äöü\n".encode("latin-1")
        assert (lob.readline(4), lob.tell()) == (b"zwei", 21)
    with io.BufferedRandom(conn.open_lob(conn.fetchval(f"select c from {table}"), "r+b")) as random:
        random.seek(12)
        random.write(b" 1")
        random.seek(10)
        assert random.read(6) == "e, 1öü".encode("latin-1")


def test_an_object_is_never_whole_in_memory(ifx: InformixServer, table: str) -> None:
    size = 64 * MEBIBYTE
    block = content(MEBIBYTE)
    with headrace.informix.connect(**ifx.parameters()) as conn:
        conn.execute(f"create table {table} (b blob)")
        digest = hashlib.sha256()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with conn.create_lob() as lob:
            for _ in range(size // MEBIBYTE):
                lob.write(block)
                digest.update(block)
            conn.execute(f"insert into {table} values (?)", (lob.locator,))
        found = hashlib.sha256()
        with conn.open_lob(conn.fetchval(f"select b from {table}")) as lob:
            while piece := lob.read(MEBIBYTE):
                found.update(piece)
        assert found.digest() == digest.digest()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 16 * 1024, f"{grown} KiB more for an object of {size // 1024} KiB"
        conn.rollback()


def test_two_objects_and_statements_side_by_side(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, b blob)")
    first, second = conn.create_lob(), conn.create_lob()
    for n in range(5):
        first.write(f"first {n} ".encode())
        assert conn.fetchval("select tabid from systables where tabid = 1") == 1
        second.write(f"second {n} ".encode())
    first.seek(0)
    second.seek(0)
    assert first.read(8) == b"first 0 "
    assert second.read(9) == b"second 0 "
    first.close()
    second.close()
    first.close()


def test_what_is_no_locator_is_refused(conn: Connection, stored: str) -> None:
    for wrong in (b"x", "x", None, 1, Opaque("blob", b"x")):
        with pytest.raises(errors.ProgrammingError, match="locator"):
            conn.open_lob(wrong)  # type: ignore[arg-type]
    locator = conn.fetchval(f"select b from {stored}")
    with pytest.raises(errors.ProgrammingError, match="mode"):
        conn.open_lob(locator, "rw")
    with pytest.raises(errors.ProgrammingError, match="blob"):
        conn.create_lob("text")
    with pytest.raises(errors.Error):
        conn.open_lob(BlobLocator(bytes(72)))
    conn.rollback()
    for value in (b"bytes", "text"):
        with pytest.raises(errors.ProgrammingError, match="create_lob"):
            conn.execute(f"insert into {stored} values (?, ?, ?)", (2, value, None))
    assert repr(locator) == "<BlobLocator>"
    assert locator == BlobLocator(locator.data) != ClobLocator(locator.data)
    assert len({locator, BlobLocator(locator.data)}) == 1
    conn.ping()


def test_a_locator_goes_back_and_forth(conn: Connection, stored: str) -> None:
    locator = conn.fetchval(f"select b from {stored}")
    conn.execute(f"insert into {stored} values (2, ?, null)", (locator,))
    conn.executemany(f"insert into {stored} values (?, ?, null)", [(3, locator), (4, locator)])
    rows = conn.fetch(f"select b from {stored} where n > 1")
    assert rows == [(locator,)] * 3
    description = conn.execute(f"select b, c from {stored}").description
    assert description is not None
    assert [str(column[1]).upper() for column in description] == ["BLOB", "CLOB"]


def test_rolled_back_objects_are_gone(ifx: InformixServer, table: str) -> None:
    with headrace.informix.connect(**ifx.parameters()) as conn:
        conn.execute(f"create table {table} (b blob)")
        conn.commit()
        with conn.create_lob() as lob:
            lob.write(b"x")
            conn.execute(f"insert into {table} values (?)", (lob.locator,))
        conn.rollback()
        assert conn.fetch(f"select * from {table}") == []
        with pytest.raises(errors.Error):
            conn.open_lob(lob.locator)
        conn.rollback()
        conn.ping()


def test_closing_twice_and_after_the_connection(ifx: InformixServer) -> None:
    conn = headrace.informix.connect(**ifx.parameters())
    lob = conn.create_lob()
    lob.write(b"x")
    conn.close()
    lob.close()
    assert lob.closed
    other = headrace.informix.connect(**ifx.parameters())
    left_open = other.create_lob()
    del left_open
    assert other._core.wire.queued() == 0, "the garbage collector sends nothing"
    other.close()


def test_few_round_trips(ifx: InformixServer, recorder: Recorder, table: str) -> None:
    with headrace.informix.connect(**{**ifx.parameters(), "port": recorder.port}) as conn:
        conn.execute(f"create table {table} (b blob)")
        with conn.create_lob() as lob:
            lob.write(content(10_000))
            conn.execute(f"insert into {table} values (?)", (lob.locator,))
        locator = conn.fetchval(f"select b from {table}")
        conn.open_lob(locator).close()
        recorder.clear()
        with conn.open_lob(locator) as lob:
            lob.seek(5000)
            assert lob.read(100) == content(10_000)[5000:5100]
            assert lob.read(100) == content(10_000)[5100:5200]
        # Handles of routines are requested once; a seek is sent with the read after it, and no second one is needed.
        assert recorder.sent.count(b"function informix") == 1
        assert recorder.sent.count(bytes.fromhex("00610000")) == 2


async def test_a_file_on_a_loop(aconn: Any, table: str) -> None:
    await aconn.execute(f"create table {table} (n int, b blob)")
    data = content(MEBIBYTE)
    async with await aconn.create_lob(column=f"{table}.b") as lob:
        assert await lob.write(data) == len(data)
        await aconn.execute(f"insert into {table} values (1, ?)", (lob.locator,))
    await aconn.commit()
    locator = await aconn.fetchval(f"select b from {table}")
    async with await aconn.open_lob(locator, "r+b") as lob:
        assert await lob.size() == len(data)
        assert b"".join([block async for block in lob]) == data
        await lob.seek(-4, io.SEEK_END)
        assert await lob.read() == data[-4:]
        await lob.seek(1)
        await lob.write(b"ab")
        assert lob.tell() == 3
        await lob.truncate(5)
        await lob.seek(0)
        assert await lob.read() == data[:1] + b"ab" + data[3:5]
        assert (lob.mode, lob.closed) == ("r+b", False)
    assert lob.closed
    with pytest.raises(ValueError, match="closed"):
        await lob.read()
    with pytest.raises(errors.Error):
        await aconn.open_lob(BlobLocator(bytes(72)))
    await aconn.rollback()
    assert await aconn.fetchval("select tabname from systables where tabid = 1") == "systables"


# BYTE and TEXT


@pytest.mark.parametrize("kind", ["byte", "text"])
def test_large_simple_objects_both_ways(conn: Connection, table: str, kind: str) -> None:
    conn.execute(f"create table {table} (n int, v {kind})")
    data = content(5 * MEBIBYTE + 3)
    values: list[Any] = [data, b"", data[:1025]] if kind == "byte" else ["z" * (5 * MEBIBYTE + 3), "", "y" * 1023]
    for n, value in enumerate(values):
        conn.execute(f"insert into {table} values (?, ?)", (n, value))
    conn.executemany(f"insert into {table} values (?, ?)", [(n + 10, value) for n, value in enumerate(values)])
    conn.execute(f"update {table} set v = ? where n = 12", (values[0],))
    got = conn.fetch(f"select v from {table} order by n")
    assert [value for (value,) in got] == [*values, *values[:2], values[0]]
    assert conn.fetch(f"select n, v, n from {table} where n = 11") == [(11, values[1], 11)]


async def test_large_simple_objects_on_a_loop(aconn: Any, table: str) -> None:
    await aconn.execute(f"create table {table} (n int, v byte, w text)")
    data = content(5 * MEBIBYTE)
    await aconn.execute(f"insert into {table} values (?, ?, ?)", (1, memoryview(data), "t" * MEBIBYTE))
    assert await aconn.fetch(f"select n, v, w from {table}") == [(1, data, "t" * MEBIBYTE)]


# routines


def test_fast_path(conn: Connection, table: str) -> None:
    conn.execute(f"create function {table}_t(a int) returning int; return a * 2; end function")
    conn.execute(
        f"create function {table}_m(a int, b varchar(20)) returning int, varchar(20), decimal(8,2), date, boolean,"
        " int8; return a + 1, b, 1.25, '2024-02-29', 't', 123456789012; end function"
    )
    conn.execute(f"create table {table} (a int)")
    conn.execute(f"create procedure {table}_p(v int) insert into {table} values (v); end procedure")
    conn.commit()
    assert conn.fastpath(f"function {table}_t(integer)", 21) == (42,)
    assert conn.fastpath(f"{table}_t(integer)", 4) == (8,)
    row = (8, "sieben", Decimal("1.25"), dt.date(2024, 2, 29), True, 123456789012)
    assert conn.fastpath(f"{table}_m(integer, varchar)", 7, "sieben") == row
    assert conn.fastpath(f"procedure {table}_p(integer)", 5) == ()
    assert conn.fetch(f"select a from {table}") == [(5,)]
    conn.rollback()
    assert conn.fetch(f"select a from {table}") == [], "it is part of the transaction"
    assert conn.fastpath(f"{table}_t(integer)", None) == (None,)


def test_fast_path_refuses_what_it_cannot_send(conn: Connection, table: str) -> None:
    conn.execute(f"create function {table}_t(a int) returning int; return a * 3; end function")
    for wrong in ("thrice", "thrice 1", "", "thrice(int); drop table x", "1()"):
        with pytest.raises(errors.ProgrammingError, match="signature"):
            conn.fastpath(wrong, 1)
    with pytest.raises(errors.ProgrammingError, match="1 arguments"):
        conn.fastpath(f"{table}_t(integer)", 1, 2)
    with pytest.raises(errors.UndefinedFunction) as caught:
        conn.fastpath("nosuch(integer)", 1)
    assert caught.value.sqlcode == -674
    with pytest.raises(errors.ProgrammingError):
        conn.fastpath(f"{table}_t(integer)", object())
    assert conn.fastpath(f"{table}_t(integer)", 1) == (3,)


async def test_fast_path_on_a_loop(aconn: Any, table: str) -> None:
    await aconn.execute(f"create function {table}_f(a int) returning int; return a * 4; end function")
    calls = [aconn.fastpath(f"{table}_f(integer)", n) for n in range(20)]
    assert await asyncio.gather(*calls) == [(n * 4,) for n in range(20)]
    with pytest.raises(errors.UndefinedFunction):
        await aconn.fastpath("nosuch(integer)", 1)
    assert await aconn.fetchval("select tabname from systables where tabid = 1") == "systables"


def test_routines_with_several_results(conn: Connection, table: str) -> None:
    conn.execute(
        f"create function {table}_b(a int, b int) returning int, int, varchar(9);"
        " return a + b, a - b, 'x'; end function"
    )
    cursor = conn.cursor()
    assert cursor.callproc(f"{table}_b", (5, 3)) == (5, 3)
    assert cursor.fetchall() == [(8, 2, "x")]
    assert cursor.description is not None
    assert len(cursor.description) == 3
    assert conn.fetchrow(f"execute function {table}_b(?, ?)", 1, 2) == (3, -1, "x")
    with conn.cursor() as stream:
        stream.execute(f"execute function {table}_b(4, 4)")
        assert stream.fetchone() == (8, 0, "x")
        assert stream.fetchone() is None
