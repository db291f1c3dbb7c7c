"""Large objects of PostgreSQL are files, which end with their transaction."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import defaults
from headrace.errors import InFailedSqlTransaction, InterfaceError, ProgrammingError, UndefinedObject, UniqueViolation
from headrace.pool import ConnectionPool

from .conftest import Connect

BLOCK = defaults.POSTGRES_LOB_BYTES
GIGABYTE = 1024**3


def content(size: int) -> bytes:
    """Bytes in which no piece is like another."""
    return (b"".join(n.to_bytes(4, "big") for n in range(size // 4 + 1)))[:size]


@pytest.fixture
def session(connect: Connect) -> Any:
    """A connection whose statements begin transactions."""
    return connect()


@pytest.fixture
def stored(dba: Any) -> int:
    """The oid of an object of a thousand bytes."""
    oid: int = dba.fetchval("select lo_from_bytea(0, $1)", content(1000))
    return oid


@pytest.mark.parametrize("size", [0, 1, 2047, 2048, 2049, BLOCK, BLOCK + 1, 5 * BLOCK + 7])
def test_what_is_written_is_read(session: Any, dba: Any, size: int) -> None:
    data = content(size)
    with session.create_lob() as lob:
        assert lob.write(data) == size
        assert (lob.tell(), lob.size(), lob.seek(0)) == (size, size, 0)
        assert lob.read() == data
        oid = lob.oid
        assert lob.locator == oid
    session.commit()
    assert dba.fetchval("select lo_get($1)", oid) == data
    with session.open_lob(oid) as lob:
        assert b"".join(lob) == data
        assert lob.read() == b""
    assert lob.closed


def test_reading_anywhere(session: Any, stored: int) -> None:
    data = content(1000)
    with session.open_lob(stored) as lob:
        assert lob.mode == "rb"
        assert (lob.read(10), lob.read(10)) == (data[:10], data[10:20])
        assert lob.seek(500) == 500
        assert lob.read(3) == data[500:503]
        assert lob.seek(-3, io.SEEK_CUR) == 500
        assert lob.read(1) == data[500:501]
        assert lob.seek(-5, io.SEEK_END) == 995
        assert lob.read(100) == data[995:]
        assert lob.seek(2000) == 2000
        assert (lob.read(1), lob.tell(), lob.read(0)) == (b"", 2000, b"")
        for wrong in ((-1,), (0, 7), (-2000, io.SEEK_END)):
            with pytest.raises(ValueError):
                lob.seek(*wrong)
    with pytest.raises(ValueError, match="closed"):
        lob.read()


def test_writing_anywhere(session: Any, dba: Any, stored: int) -> None:
    data = bytearray(content(1000))
    with session.open_lob(stored, "r+b") as lob:
        lob.seek(990)
        lob.write(b"beyond the end of it")
        data[990:] = b"beyond the end of it"
        lob.seek(5)
        lob.write(memoryview(b"here"))
        data[5:9] = b"here"
        assert (lob.tell(), lob.read(2)) == (9, data[9:11])
        lob.seek(0)
        assert lob.read() == data
        assert lob.truncate(100) == 100
        assert lob.size() == 100
        lob.seek(0)
        assert lob.read() == data[:100]
    with session.open_lob(stored, "wb") as lob:
        assert lob.size() == 0
        lob.write(b"new")
    session.commit()
    assert dba.fetchval("select lo_get($1)", stored) == b"new"
    with session.open_lob(stored) as lob:
        with pytest.raises(ProgrammingError, match="opened for reading"):
            lob.write(b"x")
        with pytest.raises(ProgrammingError, match="opened for reading"):
            lob.truncate(0)


def test_positions_above_two_gigabytes(session: Any) -> None:
    with session.create_lob() as lob:
        place = 3 * GIGABYTE
        lob.seek(place)
        assert lob.write(b"far") == 3
        assert lob.size() == place + 3
        lob.seek(-3, io.SEEK_END)
        assert lob.tell() == place
        assert lob.read() == b"far"
        lob.seek(2 * GIGABYTE)
        assert lob.read(4) == bytes(4)
        assert lob.truncate(place + 1) == place + 1
        assert lob.size() == place + 1
    session.rollback()


def test_an_object_is_created_by_its_oid_and_unlinked(session: Any, dba: Any) -> None:
    with session.create_lob() as first:
        oid = first.oid
    session.rollback()
    with session.create_lob(oid) as lob:
        assert lob.oid == oid
    session.commit()
    with pytest.raises(UniqueViolation):
        session.create_lob(oid)
    session.rollback()
    session.unlink_lob(oid)
    session.commit()
    for missing in (session.open_lob, session.unlink_lob):
        with pytest.raises(UndefinedObject):
            missing(oid)
        session.rollback()
    assert dba.fetchval("select count(*) from pg_largeobject_metadata where oid = $1", oid) == 0


@pytest.mark.parametrize("wrong", [-1, 2**32, "1", None, 1.5])
def test_what_is_no_oid_is_refused(session: Any, wrong: Any) -> None:
    with pytest.raises((ProgrammingError, TypeError)):
        session.open_lob(wrong)
    with pytest.raises(ProgrammingError, match="'w' is not one of"):
        session.open_lob(1, "w")
    assert session.transaction_status.name == "IDLE"


# transactions


def test_outside_of_a_transaction_the_error_says_what_to_do(conn: Any, stored: int) -> None:
    for outside in (lambda: conn.open_lob(stored), conn.create_lob):
        with pytest.raises(ProgrammingError, match=r"transaction\(\)"):
            outside()
    with conn.transaction(), conn.open_lob(stored) as lob:
        assert lob.read() == content(1000)
    conn.unlink_lob(stored)


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_it_is_closed_with_its_transaction(session: Any, stored: int, end: str) -> None:
    lob = session.open_lob(stored, "r+b")
    getattr(session, end)()
    assert lob.closed
    with pytest.raises(ValueError, match="its transaction has ended"):
        lob.read()
    # Its descriptor is that of another object now.
    with session.create_lob() as other:
        other.write(b"other")
        for use in (lob.read, lambda: lob.write(b"x"), lob.size, lambda: lob.truncate(0), lambda: lob.seek(0, 2)):
            with pytest.raises(ValueError, match=r"its transaction has ended|is closed"):
                use()
        lob.close()
        other.seek(0)
        assert other.read() == b"other"
    session.commit()


def test_a_rolled_back_savepoint_closes_what_was_opened_in_it(session: Any, stored: int) -> None:
    outer = session.open_lob(stored)
    session.execute("savepoint s")
    inner = session.open_lob(stored, "r+b")
    session.execute("rollback to s")
    with session.create_lob() as other:
        other.write(b"other")
        assert inner.closed
        with pytest.raises(ValueError, match="closed"):
            inner.write(b"wrong")
        other.seek(0)
        assert other.read() == b"other"
    assert outer.read() == content(1000)
    outer.close()
    session.rollback()


def test_an_error_in_the_block_is_the_one_that_is_raised(session: Any, stored: int) -> None:
    with pytest.raises(ZeroDivisionError), session.open_lob(stored):
        raise ZeroDivisionError
    with pytest.raises(headrace.errors.DivisionByZero), session.open_lob(stored) as lob:
        session.execute("select 1/0")
    assert lob.closed
    with pytest.raises(InFailedSqlTransaction):
        session.open_lob(stored)
    session.rollback()


def test_a_reader_sees_the_object_as_it_was_when_it_was_opened(session: Any, dba: Any, stored: int) -> None:
    with session.open_lob(stored) as lob:
        assert lob.read(1) == content(1)
        dba.execute("select lo_put($1, 0, $2)", (stored, b"x" * 1000))
        assert lob.read() == content(1000)[1:]
    session.rollback()


def test_what_a_pool_lent_reads_no_more(url: str, stored: int) -> None:
    with ConnectionPool(url, min_size=1, max_size=1) as pool:
        with pool.connection() as lent:
            lob = lent.open_lob(stored, "r+b")
        with pool.connection() as lent:
            with lent.open_lob(stored, "r+b") as mine:
                with pytest.raises((InterfaceError, ValueError)):
                    lob.write(b"wrong")
                assert mine.read() == content(1000)
            assert lob.closed


# files


def test_a_file_is_imported_and_exported(session: Any, dba: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    data = content(3 * BLOCK + 1)
    source.write_bytes(data)
    oid = session.import_lob(source)
    assert session.transaction_status.name == "INTRANS"
    assert session.export_lob(oid, str(target)) == len(data)
    assert target.read_bytes() == data
    session.commit()
    assert dba.fetchval("select md5(lo_get($1)) = md5($2::bytea)", oid, data)
    copy = io.BytesIO()
    assert session.export_lob(oid, copy) == len(data)
    assert copy.getvalue() == data
    missing = tmp_path / "missing"
    with pytest.raises(UndefinedObject):
        session.export_lob(1, missing)
    assert not missing.exists()
    session.rollback()
    with pytest.raises(FileNotFoundError):
        session.import_lob(missing)
    with pytest.raises(TypeError):
        session.import_lob(io.StringIO("text"))
    session.rollback()


def test_with_autocommit_a_file_is_imported_whole_or_not_at_all(conn: Any, dba: Any) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > BLOCK:
                raise OSError("the disk is gone")
            return super().read(size)

    count = "select count(*) from pg_largeobject_metadata"
    before = dba.fetchval(count)
    with pytest.raises(OSError, match="gone"):
        conn.import_lob(Failing(content(3 * BLOCK)))
    assert dba.fetchval(count) == before
    oid = conn.import_lob(io.BytesIO(b"all of it"))
    assert dba.fetchval("select lo_get($1)", oid) == b"all of it"
    assert conn.export_lob(oid, copy := io.BytesIO()) == 9
    assert copy.getvalue() == b"all of it"
    assert conn.transaction_status.name == "IDLE"


def test_it_is_a_file_to_the_standard_library(url: str) -> None:
    text = "first line, äöü\nsecond\n" * 20_000
    with headrace.connect(url) as conn:
        with conn.create_lob() as lob:
            shutil.copyfileobj(io.BytesIO(text.encode()), lob)
            assert (lob.readable(), lob.writable(), lob.seekable()) == (True, True, True)
        with io.TextIOWrapper(io.BufferedReader(conn.open_lob(lob.oid)), "utf-8") as file:
            assert file.readline() == "first line, äöü\n"
            assert sum(1 for _ in file) == 39_999
        with io.BufferedRandom(conn.open_lob(lob.oid, "r+b")) as random:
            random.seek(6)
            random.write(b"LINE")
            random.seek(0)
            assert random.read(10) == b"first LINE"
        conn.rollback()


def test_its_lines_are_those_of_a_file(url: str) -> None:
    long = b"x" * (5 * defaults.LOB_LINE_BYTES)
    file = io.BytesIO(b"one\n\n" + long + b"\nfour\r\n" + long)
    with headrace.connect(url, autocommit=False) as conn:
        with conn.create_lob() as lob:
            lob.write(file.getvalue())
            for size in (None, -1, 0, 1, 3, defaults.LOB_LINE_BYTES, 2 * defaults.LOB_LINE_BYTES + 7):
                lob.seek(0)
                file.seek(0)
                for _ in range(8):
                    assert (lob.readline(size), lob.tell()) == (file.readline(size), file.tell())
                    assert (lob.read(2), lob.tell()) == (file.read(2), file.tell())
            lob.seek(4)
            assert list(lob) == [b"\n", long + b"\n", b"four\r\n", long]
            lob.seek(0)
            assert lob.readlines(5) == [b"one\n", b"\n", long + b"\n"]
            with pytest.raises(TypeError, match="size"):
                lob.readline("1")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="closed"):
            lob.readline()
        conn.rollback()


async def test_a_cancelled_read_leaves_the_connection_usable(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        async with await conn.create_lob() as lob:
            await lob.write(content(40 * BLOCK))
            await lob.seek(0)
            with pytest.raises(TimeoutError):
                await lob.read(timeout=0)
        await conn.rollback()
        assert await conn.fetchval("select 1") == 1


@pytest.mark.parametrize("way", ["block", "verbs", "script"])
def test_what_was_opened_in_a_savepoint_is_closed_with_it(session: Any, stored: int, way: str) -> None:
    """The server would refuse its descriptor, which ends the transaction."""
    outer = session.open_lob(stored)
    if way == "block":
        with session.transaction(force_rollback=True):
            inner = session.open_lob(stored)
            assert inner.read(4) == content(4)
    else:
        execute = session.execute if way == "verbs" else session.executescript
        execute("savepoint s")
        inner = session.open_lob(stored)
        execute("rollback to s")
    assert inner.closed
    with pytest.raises(ValueError, match="savepoint"):
        inner.read()
    inner.close()
    with session.transaction():
        kept = session.open_lob(stored)
    assert (kept.read(), outer.read()) == (content(1000), content(1000))
    for lob in (kept, outer):
        lob.close()
    session.commit()


def test_whether_one_is_closed_may_be_asked_while_a_value_is_encoded(url: str, stored: int) -> None:
    class Row(list[int]):
        def __iter__(self) -> Any:
            said.append(lob.closed)
            with pytest.raises(InterfaceError, match="busy"):
                lob.read(1)
            return super().__iter__()

    said: list[bool] = []
    with headrace.connect(url) as conn:
        conn.execute("create temp table encoded (n int)")
        lob = conn.open_lob(stored)
        with conn.cursor().copy("copy encoded from stdin") as copy:
            for n in range(3):
                copy.write_row(Row([n]))
        assert said == [True] * 3
        assert (lob.closed, lob.read(4)) == (False, content(4))
        lob.close()


def test_objects_of_one_transaction_are_many(session: Any, stored: int) -> None:
    for _ in range(300):
        with session.open_lob(stored) as lob:
            assert lob.read(4) == content(4)
    session.commit()


async def test_what_was_opened_in_a_savepoint_is_closed_with_it_on_asyncio(url: str, stored: int) -> None:
    async with await headrace.aio.connect(url) as conn, conn.transaction(force_rollback=True):
        async with conn.transaction(force_rollback=True):
            inner = await conn.open_lob(stored)
        with pytest.raises(ValueError, match="savepoint"):
            await inner.read()
        assert await conn.fetchval("select 1") == 1
