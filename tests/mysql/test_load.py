"""LOAD DATA LOCAL: rows and files, all or none, and nothing that was not handed over."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import io
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.types import BitString, Json
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]


@pytest.fixture(autouse=True)
def _table(my: Conn) -> None:
    fresh(my, "table t (id int primary key, name varchar(40), n decimal(10,2))")


def rows_of(my: Conn) -> list[tuple[Any, ...]]:
    return my.fetch("select * from t order by id")


def test_every_kind_of_value(my_server: Served, my: Conn) -> None:
    uuids = "uuid" if my_server.is_mariadb else "char(36)"
    fresh(
        my,
        "table kinds (id int primary key, t text, b blob, vb varbinary(9), f double, "
        f"d decimal(30,10), day date, at datetime(6), span time(6), bits bit(11), u {uuids}, j json, "
        "e enum('a','b\tc'), big bigint unsigned, "
        "g geometry) character set latin1",
    )
    identity = uuid.UUID(int=7 << 100 | 5)
    point = bytes.fromhex("000000000101000000000000000000f03f0000000000000040")
    rows: list[tuple[Any, ...]] = [
        (
            1, "tab\there, line\nfeed, back\\slash, \\N, é, nul\0.", bytes(range(256)), b"\\N\t\n\0", 1.5e300,
            decimal.Decimal("-12345678901234567890.0123456789"), datetime.date(2024, 2, 29),
            datetime.datetime(1999, 12, 31, 23, 59, 59, 999_999), datetime.timedelta(hours=-30, microseconds=-1),
            BitString("10000000001"), identity, {"a": [1, None, "x"]}, "b\tc", 2**64 - 1, point,
        ),
        (2, *[None] * 14),
        (
            3, "", b"", b"", 0.0, 0, None, None, datetime.timedelta(0), BitString("0" * 11), None, Json([1]), "a", 0,
            None,
        ),
    ]  # fmt: skip
    assert my.load_rows("kinds", rows) == 3
    rows[2] = (3, "", b"", b"", 0.0, decimal.Decimal("0E-10"), *rows[2][6:11], [1], *rows[2][12:])
    if not my_server.is_mariadb:
        rows[0] = tuple(str(value) if value == identity else value for value in rows[0])
    assert my.fetch("select * from kinds order by id") == rows


def test_columns_schemas_and_generators(my: Conn, my_url: str) -> None:
    schema = my_url.rpartition("/")[2]
    assert my.load_rows((schema, "t"), ((f"name {n}", n) for n in range(5000)), columns=["name", "id"]) == 5000
    assert my.load_rows(f"{schema}.t", [], columns=["id"]) == 0
    assert my.fetchval("select count(*) from t where name = concat('name ', id) and n is null") == 5000


def test_a_large_load_needs_little_memory_and_keeps_its_rows(my: Conn) -> None:
    count = 300_000
    assert my.load_rows("t", ((n, "x" * 40, n % 7) for n in range(count))) == count
    assert my.fetchrow("select count(*), sum(id), sum(n), sum(length(name)) from t") == (
        count, count * (count - 1) // 2, sum(n % 7 for n in range(count)), 40 * count,
    )  # fmt: skip


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    ("row", "error", "number"),
    [
        ((5, "again", 1), errors.UniqueViolation, None),
        ((1000, "x" * 41, 1), errors.DataError, 500),
        ((1000, "x", "no number"), errors.DataError, 500),
        ((1000, "x", float("nan")), errors.DataError, 500),
        ((1000, "x"), errors.ProgrammingError, 500),
    ],
    ids=["duplicate", "too long", "text", "nan", "short"],
)
def test_a_bad_row_undoes_the_load(my: Conn, inside: bool, row: Any, error: Any, number: int | None) -> None:
    my.execute("insert into t values (-1, 'before', null)")
    my.autocommit = not inside
    if inside:
        my.execute("insert into t values (-2, 'mine', null)")
    rows: list[Any] = [(n, "ok", n) for n in range(1000)]
    rows[500] = row
    with pytest.raises(error) as caught:
        my.load_rows("t", rows)
    assert caught.value.row == number
    assert rows_of(my) == ([(-2, "mine", None)] if inside else []) + [(-1, "before", None)]
    rows[500] = (500, "ok", 500)
    assert my.load_rows("t", rows) == 1000
    my.rollback()
    assert my.fetchval("select count(*) from t") == (1 if inside else 1001)
    my.rollback()


def test_duplicates_can_be_ignored_or_replace(my: Conn) -> None:
    my.execute("insert into t values (1, 'old', 1)")
    rows = [(1, "new", 2), (2, "two", 2)]
    assert my.load_rows("t", rows, duplicates="ignore") == 1
    assert rows_of(my) == [(1, "old", 1), (2, "two", 2)]
    my.load_rows("t", rows, duplicates="replace")
    assert rows_of(my) == [(1, "new", 2), (2, "two", 2)]
    with pytest.raises(errors.DataError):
        my.load_rows("t", [(1, "x", 1), (3, "x" * 50, 1)], duplicates="ignore")
    assert len(rows_of(my)) == 2
    with pytest.raises(errors.ProgrammingError, match="duplicates"):
        my.load_rows("t", rows, duplicates="skip")
    # Rounding is not an error in an INSERT either.
    assert my.load_rows("t", [(3, "x", decimal.Decimal("1.005"))]) == 1


def test_an_iterator_that_raises_undoes_the_load(my: Conn) -> None:
    def rows() -> Iterator[Any]:
        for n in range(20_000):
            yield n, "x" * 40, 1
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        my.load_rows("t", rows())
    assert rows_of(my) == []


def test_data_of_a_file_or_of_bytes(my: Conn) -> None:
    sql = "load data local infile '/etc/passwd' into table t fields terminated by ','"
    assert my.load_data(sql, b"1,one,1.5\n2,two,\\N\n") == 2
    assert my.load_data(sql, io.BytesIO(b"3,three,3\n")) == 1
    assert my.load_data(sql, io.StringIO("4,vier-\u00fc,4\n")) == 1
    assert my.load_data(sql, (f"{n},many,{n}\n".encode() for n in range(10, 5010))) == 5000
    assert rows_of(my)[:4] == [(1, "one", decimal.Decimal("1.50")), (2, "two", None), (3, "three", 3), (4, "vier-ü", 4)]
    with pytest.raises(errors.ProgrammingError, match="opens no file"):
        my.load_data(sql, "/etc/passwd")
    for rows in ([1, 2], [(49, 10)], [[49, 10]]):
        with pytest.raises(TypeError, match="the data are bytes or text, not"):
            my.load_data(sql, rows)
    with pytest.raises(errors.UniqueViolation):
        my.load_data(sql, b"6000,new,1\n1,again,1\n")
    assert my.fetchval("select count(*) from t") == 5004


def test_nothing_is_sent_that_was_not_handed_over(my: Conn, my_url: str) -> None:
    with pytest.raises(errors.DatabaseError, match="refused"):
        my.execute("load data local infile '/etc/passwd' into table t")
    assert rows_of(my) == []
    with headrace.mysql.connect(my_url, autocommit=True) as off:
        with pytest.raises(errors.ProgrammingError, match="local_infile=True"):
            off.load_rows("t", [(1, "a", 1)])
        with pytest.raises(errors.DatabaseError):
            off.execute("load data local infile '/etc/passwd' into table t")
        assert off.fetchval("select count(*) from t") == 0


def test_errors_before_the_data(my: Conn) -> None:
    with pytest.raises(errors.UndefinedTable):
        my.load_rows("missing", [(1,)])
    with pytest.raises(errors.UndefinedColumn):
        my.load_rows("t", [(1,)], columns=["missing"])
    with pytest.raises(errors.SyntaxError):
        my.load_data("load data local infile 'x' into t", b"")
    assert my.fetchval("select 42") == 42


def test_sql_modes_change_nothing(my: Conn) -> None:
    my.execute("set sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,STRICT_TRANS_TABLES'")
    assert my.load_rows("t", [(1, "a\tb\\c\n", None)]) == 1
    assert rows_of(my) == [(1, "a\tb\\c\n", None)]


async def test_async(amy: Any, my: Conn) -> None:
    async def rows() -> AsyncIterator[Any]:
        for n in range(1200):
            yield n, "x", n
            if n % 300 == 0:
                await asyncio.sleep(0)

    assert await amy.load_rows("t", rows()) == 1200
    with pytest.raises(errors.UniqueViolation):
        await amy.load_rows("t", [(5000, "x", 1), (1, "x", 1)])
    sql = "load data local infile 'x' into table t fields terminated by ','"
    assert await amy.load_data(sql, b"9000,file,1\n") == 1
    assert my.fetchval("select count(*) from t") == 1201


@pytest.mark.parametrize("steps", range(1, 60, 4))
async def test_a_cancelled_load_is_not_applied(amy: Any, my: Conn, steps: int) -> None:
    task = asyncio.ensure_future(amy.load_rows("t", ((n, "x" * 40, 1) for n in range(60_000))))
    for _ in range(steps):
        await asyncio.sleep(0)
    if not task.done():
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.wait_for(amy.fetchval("select count(*) from t"), 10) == 0
    assert await amy.load_rows("t", [(-1, "x", 1)]) == 1


def test_numbers_are_whole_and_no_names_of_members(my: Conn) -> None:
    fresh(my, "table counts (k int primary key, n bigint, e enum('a','1'), s set('a','1'))")
    for k, number in enumerate((2.0**60, -(2.0**62), 1e18, 2.0**53 + 2)):
        my.load_rows("counts", [(k, number)], columns=["k", "n"])
        assert my.fetchval("select n from counts where k = ?", k) == int(number)
    for column in ("e", "s"):
        for number in (1, True, 1.0, decimal.Decimal(1)):
            with pytest.raises(errors.ProgrammingError, match="ENUM or a SET"):
                my.load_rows("counts", [(9, number)], columns=["k", column])
    my.load_rows("counts", [(9, "1", "a,1")], columns=["k", "e", "s"])
    assert my.fetchrow("select e, s from counts where k = 9") == ("1", "a,1")


def test_times_are_those_of_an_insert_or_refused(my: Conn) -> None:
    fresh(my, "table clocks (k int primary key, t time(6), y year)")
    for k, number in enumerate((1.100000023841858, 5e-324, 7.9, 123456.75)):
        my.load_rows("clocks", [(k, number)], columns=["k", "t"])
        my.execute("insert into clocks (k, t) values (?, ?)", (k + 10, number))
        assert my.fetchval("select t from clocks where k = ?", k) == my.fetchval(
            "select t from clocks where k = ?", k + 10
        )
    for value in (datetime.time(0, 0), datetime.timedelta(seconds=5)):
        with pytest.raises(errors.ProgrammingError, match="of dates or years"):
            my.load_rows("clocks", [(9, value)], columns=["k", "y"])


def test_a_file_that_a_statement_requests_is_refused_by_every_way_and_the_connection_stays(my: Conn) -> None:
    fresh(my, "table requested (a varchar(20))")
    sql = "load data local infile 'rows.txt' into table requested"

    def piped() -> None:
        with my.pipeline():
            my.execute(sql)

    for way in (
        lambda: my.execute(sql),
        lambda: my.executescript(sql),
        lambda: my.executemany(f"{sql} (a) set a = ?", [("x",), ("y",)]),
        lambda: my.fetch(sql),
        piped,
        lambda: list(my.stream(sql)),
        lambda: list(my.stream(sql, on_server=True)),
    ):
        with pytest.raises(errors.OperationalError, match="no data were handed over"):
            way()
        assert my.fetchval("select count(*) from requested") == 0
