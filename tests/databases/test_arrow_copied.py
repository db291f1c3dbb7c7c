"""Arrow streams as the source of PostgreSQL's COPY: the same as the rows that Python has of them."""

from __future__ import annotations

import datetime as dt
import itertools
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import polars
import pyarrow
import pytest

import headrace
from headrace import errors

from .test_arrow_in import chunked, rows_of


@pytest.fixture
def conn(url: str) -> Iterator[headrace.Connection[Any]]:
    """One with an empty table."""
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript("drop table if exists arrow_copied; create table arrow_copied (nr int, name text)")
        yield conn


@pytest.mark.parametrize("sizes", [(50_000,), (1, 999, 2000), (7,)], ids=["one", "uneven", "small"])
def test_chunks_of_any_size(conn: headrace.Connection[Any], sizes: tuple[int, ...]) -> None:
    table = chunked(20_000, *sizes)
    assert conn.copy_in("arrow_copied", table) == 20_000
    assert conn.copy_in("arrow_copied", table.to_reader()) == 20_000
    rows = conn.fetch("select * from arrow_copied order by nr")
    assert rows == [row for row in rows_of(table) for _ in range(2)]


async def test_on_asyncio(conn: headrace.Connection[Any], url: str) -> None:
    table = chunked(20_000, 3000)
    async with await headrace.aio.connect(url, autocommit=True) as aconn:
        assert await aconn.copy_in("arrow_copied", table) == 20_000
        assert await aconn.copy_in("arrow_copied", await aconn.fetch_arrow("table arrow_copied")) == 20_000
        # A stream of asyncio has no capsules, but its batches do.
        async for batch in aconn.stream_arrow("select 1 as nr"):
            async with await headrace.aio.connect(url, autocommit=True) as other:
                assert await other.copy_in("arrow_copied", batch) == 1
        assert await aconn.fetchval("select count(*) from arrow_copied") == 40_001


def test_columns_have_their_names(conn: headrace.Connection[Any]) -> None:
    swapped = chunked(3, 2).select(["name", "nr"])
    assert conn.copy_in("arrow_copied", swapped) == 3
    assert conn.copy_in("arrow_copied", polars.DataFrame({"nr": [7]})) == 1
    # With columns they are taken in their order.
    assert conn.copy_in("arrow_copied", pyarrow.table({"x": [8], "y": ["eight"]}), columns=["nr", "name"]) == 1
    wanted = [*rows_of(chunked(3, 2)), (7, None), (8, "eight")]
    assert conn.fetch("select * from arrow_copied order by nr") == wanted
    with pytest.raises(errors.UndefinedColumn, match='"other"'):
        conn.copy_in("arrow_copied", pyarrow.table({"nr": [1], "other": [2]}))
    with pytest.raises(errors.ProgrammingError, match="3 values, but the table has 2 columns"):
        conn.copy_in("arrow_copied", pyarrow.table({"a": [1], "b": ["x"], "c": [2]}), columns=["nr", "name"])
    assert conn.fetchval("select count(*) from arrow_copied") == 5


@pytest.mark.parametrize(("count", "at"), [(10, 3), (30_000, 25_000)])
def test_a_value_that_does_not_fit_is_named(conn: headrace.Connection[Any], count: int, at: int) -> None:
    numbers = pyarrow.array([*range(at), 2**31, *range(at + 1, count)])
    table = pyarrow.table({"nr": numbers, "name": pyarrow.nulls(count)})
    with pytest.raises(errors.DataError, match=rf"row {at}: column 'nr' \(Arrow type Int64\): 2147483648") as caught:
        conn.copy_in("arrow_copied", table)
    assert caught.value.row == at
    assert conn.fetchval("select count(*) from arrow_copied") == 0


def test_a_stream_that_fails_leaves_nothing(conn: headrace.Connection[Any]) -> None:
    table = chunked(20_000, 3000)

    def failing() -> Iterator[pyarrow.RecordBatch]:
        yield from table.to_batches()
        raise LookupError("the source is gone")

    with pytest.raises(errors.InterfaceError, match="the source is gone") as caught:
        conn.copy_in("arrow_copied", pyarrow.RecordBatchReader.from_batches(table.schema, failing()))
    assert caught.value.row == 20_000
    assert conn.fetchval("select count(*) from arrow_copied") == 0


def test_one_that_takes_too_long_is_cancelled(conn: headrace.Connection[Any]) -> None:
    batch = chunked(1000, 1000).to_batches()[0]
    with pytest.raises(TimeoutError):
        conn.copy_in(
            "arrow_copied",
            pyarrow.RecordBatchReader.from_batches(batch.schema, itertools.repeat(batch)),
            timeout=0.3,
        )
    assert conn.fetchval("select count(*) from arrow_copied") == 0


def test_the_text_format(conn: headrace.Connection[Any]) -> None:
    """A column without a binary form, and a COPY of one's own."""
    conn.execute("alter table arrow_copied add words tsvector")
    table = pyarrow.table({"nr": [1, None], "name": ["a\tb\n", None], "words": ["two words", None]})
    assert conn.copy_in("arrow_copied", table) == 2
    with conn.cursor() as cursor, cursor.copy("copy arrow_copied (nr, name) from stdin") as copy:
        assert copy.write_rows(table.select(["nr", "name"])) == 2
        copy.write_row((5, "row"))
    rows = [(1, "a\tb\n", "'two' 'words'"), (1, "a\tb\n", None), (5, "row", None), (None, None, None)]
    assert conn.fetch("select nr, name, words::text from arrow_copied order by nr, words") == [*rows, rows[-1]]


def test_values_that_rows_have_no_other_form_of(conn: headrace.Connection[Any]) -> None:
    conn.executescript("""
        drop table if exists arrow_nested; drop type if exists arrow_pair;
        create type arrow_pair as (a int, b text);
        create table arrow_nested (pair arrow_pair, pairs arrow_pair[], document jsonb, period tsrange,
            periods datemultirange, place point, exact numeric)
    """)
    period = {"lower": dt.datetime(2024, 1, 1), "upper": None, "lower_inc": True, "upper_inc": False, "empty": False}
    days = {**period, "lower": dt.date(2024, 1, 1), "upper": dt.date(2024, 2, 1)}
    # The attributes are found by their names.
    row = {
        "pair": {"b": "x", "a": 1},
        "pairs": [{"b": "y", "a": 2}, None],
        "document": {"list": [1, None, 2.5], "text": 'a"\\\n'},
        "period": period,
        "periods": [days],
        "place": [1.5, 2.5],
        "exact": Decimal(2**64),
    }
    table = pyarrow.Table.from_pylist([row, dict.fromkeys(row)])
    marks = ", ".join(f"${i}" for i in range(1, 8))
    assert conn.copy_in("arrow_nested", table) == 2
    assert conn.executemany(f"insert into arrow_nested values ({marks})", table).rowcount == 2
    rows = conn.fetch("select * from arrow_nested order by exact")
    assert rows[0] == rows[1]
    assert rows[2:] == [(None,) * 7] * 2
    pair, pairs, document, span, spans, place, exact = rows[0]
    assert (pair, pairs, document) == ((1, "x"), [(2, "y"), None], row["document"])
    assert (span.lower, span.upper, spans[0].upper) == (dt.datetime(2024, 1, 1), None, dt.date(2024, 2, 1))
    assert (tuple(place), exact) == ((1.5, 2.5), 2**64)
    # What it is in Arrow comes back.
    result = conn.fetch_arrow("select pair, pairs, document, period, periods from arrow_nested where pair is not null")
    conn.execute("truncate arrow_nested")
    conn.executemany("insert into arrow_nested values (%s, %s, %s, %s, %s)", result)
    assert [row[:5] for row in rows[:2]] == [row[:5] for row in conn.fetch("table arrow_nested")]


@pytest.fixture
def berlin() -> Iterator[None]:
    """The local zone of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_a_timestamp_without_zone_is_in_the_local_zone(conn: headrace.Connection[Any]) -> None:
    """As a datetime without one."""
    conn.executescript("drop table if exists arrow_local; create table arrow_local (nr int, at timestamptz)")
    moments = [dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 7, 1, 12, 0, 0, 1)]
    table = pyarrow.table({"nr": [0, 1], "at": moments})
    conn.copy_in("arrow_local", table)
    conn.copy_in("arrow_local", rows_of(table))
    conn.executemany("insert into arrow_local values ($1, $2)", table)
    rows = conn.fetch("select at from arrow_local order by nr")
    assert rows == [(moment.astimezone(dt.timezone.utc),) for moment in moments for _ in range(3)]


@pytest.mark.parametrize("strategy", ["auto", "pipelined", "copy"])
@pytest.mark.parametrize("at", [500, 2500, 9000])
def test_a_batch_that_goes_on_as_a_copy_and_leaves_it(url: str, strategy: str, at: int) -> None:
    """A row that a COPY does not take is sent by itself, and those after it."""
    with headrace.connect(url, autocommit=True, batch_strategy=strategy) as conn:
        conn.executescript("drop table if exists arrow_copied; create table arrow_copied (nr int, name text)")
        numbers = pyarrow.array([str(n) if n == at else None for n in range(10_000)])
        table = pyarrow.table({"nr": numbers, "name": [f"row {n}" for n in range(10_000)]})
        assert conn.executemany("insert into arrow_copied values ($1, $2)", table).rowcount == 10_000
        assert conn.fetch("select * from arrow_copied where nr is not null") == [(at, f"row {at}")]
        assert conn.fetchval("select count(distinct name) from arrow_copied") == 10_000
        # Types that change in the middle, where the values decide.
        wide = pyarrow.array([2**40 if n == at else 2.5 for n in range(10_000)])
        table = pyarrow.table({"nr": wide, "name": table["name"]})
        with pytest.raises(errors.DataError) as caught:
            conn.executemany("insert into arrow_copied values (%s, %s)", table)
        assert caught.value.row == at
        assert conn.fetchval("select count(*) from arrow_copied") == 10_000
