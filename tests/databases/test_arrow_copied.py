"""Arrow streams as the source of PostgreSQL's COPY: the same as the rows that Python has of them."""

from __future__ import annotations

import datetime as dt
import itertools
import re
import time
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import polars
import pyarrow
import pytest

import headrace
from headrace import errors
from headrace.types import Interval, Range

from .test_arrow_in import chunked, rows_of
from .test_arrow_types import PAGE


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
    with pytest.raises(errors.ProgrammingError, match="3 values, but the COPY has 2 columns"):
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


TEXT = pyarrow.array(["grün", None])
RANGE = {"lower": 1, "upper": 5, "lower_inc": True, "upper_inc": False, "empty": False}


def cast(value: int, through: pyarrow.DataType, kind: pyarrow.DataType) -> Any:
    """A value by its storage."""
    return pyarrow.array([value, None], through).cast(kind)


def listed(kind: pyarrow.DataType) -> Any:
    """A list."""
    return pyarrow.array([[1, None], None], kind)


SENT: dict[str, tuple[Any, str, Any]] = {
    "null": (pyarrow.nulls(2), "int", None),
    "bool": (pyarrow.array([True, None]), "bool", True),
    "arrow.bool8": (pyarrow.array([1, None], pyarrow.bool8()), "bool", True),
    **{
        name: (pyarrow.array([100, None], pyarrow.type_for_alias(name)), "int", 100)
        for name in ("int8", "int64", "uint8", "uint64")
    },
    "halffloat": (pyarrow.array([1.5, None], pyarrow.float16()), "real", 1.5),
    "float": (pyarrow.array([0.25, None], pyarrow.float32()), "real", 0.25),
    "double": (pyarrow.array([0.1, None]), "double precision", 0.1),
    **{
        f"decimal{bits}": (pyarrow.array([Decimal("-1.50"), None], make(7, 2)), "numeric(7, 2)", Decimal("-1.50"))
        for bits, make in (
            (32, pyarrow.decimal32),
            (64, pyarrow.decimal64),
            (128, pyarrow.decimal128),
            (256, pyarrow.decimal256),
        )
    },
    "string": (TEXT, "text", "grün"),
    "large_string": (TEXT.cast(pyarrow.large_string()), "text", "grün"),
    "string_view": (TEXT.cast(pyarrow.string_view()), "text", "grün"),
    "binary": (TEXT.cast(pyarrow.binary()), "bytea", "grün".encode()),
    "large_binary": (TEXT.cast(pyarrow.large_binary()), "bytea", "grün".encode()),
    "binary_view": (pyarrow.array([b"raw", None], pyarrow.binary_view()), "bytea", b"raw"),
    "fixed_size_binary": (pyarrow.array([b"raw", None], pyarrow.binary(3)), "bytea", b"raw"),
    "date32": (pyarrow.array([dt.date(2024, 2, 29), None]), "date", dt.date(2024, 2, 29)),
    "date64": (pyarrow.array([dt.date(2024, 2, 29), None], pyarrow.date64()), "date", dt.date(2024, 2, 29)),
    "time32": (cast(61, pyarrow.int32(), pyarrow.time32("s")), "time", dt.time(0, 1, 1)),
    "time64": (cast(61_000, pyarrow.int64(), pyarrow.time64("ns")), "time", dt.time(0, 0, 0, 61)),
    "timestamp": (
        cast(1_500, pyarrow.int64(), pyarrow.timestamp("ms")),
        "timestamp",
        dt.datetime(1970, 1, 1, 0, 0, 1, 500_000),
    ),
    "duration": (cast(-1, pyarrow.int64(), pyarrow.duration("s")), "interval", dt.timedelta(seconds=-1)),
    "month_day_nano_interval": (
        pyarrow.array([(1, 2, 3000), None], pyarrow.month_day_nano_interval()),
        "interval",
        Interval(1, 2, 3),
    ),
    "list": (listed(pyarrow.list_(pyarrow.int8())), "int[]", [1, None]),
    "large_list": (listed(pyarrow.large_list(pyarrow.int64())), "int[]", [1, None]),
    "fixed_size_list": (listed(pyarrow.list_(pyarrow.int16(), 2)), "int[]", [1, None]),
    "list_view": (listed(pyarrow.list_view(pyarrow.int32())), "int[]", [1, None]),
    "large_list_view": (listed(pyarrow.large_list_view(pyarrow.int32())), "int[]", [1, None]),
    "struct": (pyarrow.array([{"a": 1, "b": [None, "x"]}, None]), "jsonb", {"a": 1, "b": [None, "x"]}),
    "struct<lower, upper, lower_inc: bool, upper_inc: bool, empty: bool>": (
        pyarrow.array([RANGE, None]),
        "int4range",
        Range(1, 5),
    ),
    "map": (
        pyarrow.array([[("a", 1), ("b", None)], None], pyarrow.map_(pyarrow.string(), pyarrow.int8())),
        "jsonb",
        {"a": 1, "b": None},
    ),
    "dictionary": (TEXT.dictionary_encode(), "text", "grün"),
    "run_end_encoded": (pyarrow.RunEndEncodedArray.from_arrays([1, 2], TEXT), "text", "grün"),
    "arrow.uuid": (pyarrow.array([uuid.UUID(int=7).bytes, None], pyarrow.uuid()), "uuid", uuid.UUID(int=7)),
    "arrow.json": (pyarrow.array(['{"a": 1}', None], pyarrow.json_()), "jsonb", {"a": 1}),
}
"""For each type of the page a value and a null, a type of PostgreSQL that takes it, and what is then read."""


@pytest.mark.parametrize("name", SENT)
def test_the_types_of_the_page(conn: headrace.Connection[Any], name: str) -> None:
    values, kind, wanted = SENT[name]
    conn.execute("drop table if exists arrow_sent")
    conn.execute(f"create table arrow_sent (nr int, value {kind})")
    table = pyarrow.Table.from_arrays([pyarrow.array([0, 1]), values], ["nr", "value"])
    conn.copy_in("arrow_sent", table)
    conn.executemany("insert into arrow_sent values (%s, %s)", table)
    conn.executemany("insert into arrow_sent values ($1, $2)", table)
    assert conn.fetch("select value from arrow_sent order by nr") == [(wanted,)] * 3 + [(None,)] * 3


def test_no_type_of_the_page_is_missing() -> None:
    section = PAGE.partition("## Arrow in\n")[2]
    names = {name for row in re.findall(r"^\| (.*?) \|", section, re.M) for name in re.findall("`([^`]+)`", row)}
    # pyarrow makes no arrays of these two.
    assert names - {"month_interval", "day_time_interval"} == set(SENT)
