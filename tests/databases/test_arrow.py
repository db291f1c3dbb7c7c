"""Results as Arrow record batches: the same values as rows, on every database, in both worlds."""

from __future__ import annotations

import datetime as dt
import json
import math
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars
import pyarrow
import pytest

from headrace import errors
from headrace.types import BitString, Interval, Range
from servers import Database

UTC = dt.timezone.utc

TABLES: dict[str, dict[str, tuple[str, list[Any]]]] = {
    "postgresql": {
        "small": ("smallint", [-32768, 32767]),
        "whole": ("integer", [-(2**31), 2**31 - 1]),
        "large": ("bigint", [-(2**63), 2**63 - 1]),
        "yes": ("boolean", [True, False]),
        "single": ("real", [1.5, math.inf]),
        "twice": ("double precision", [0.1, -1e300]),
        "exact": ("numeric(12, 3)", [Decimal("123456789.125"), Decimal("-0.001")]),
        "longer": ("numeric(60, 10)", [Decimal("9" * 50 + ".0000000001"), Decimal(0)]),
        "free": ("numeric", [Decimal("1.00000000000000000001"), Decimal(7)]),
        "name": ("text", ["grün €", ""]),
        "padded": ("char(5)", ["ab   ", "abcde"]),
        "raw": ("bytea", [b"\0\xff", b""]),
        "day": ("date", [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "clock": ("time", [dt.time(23, 59, 59, 999_999), dt.time()]),
        "at": ("timestamp", [dt.datetime(2024, 2, 29, 12, 30, 0, 1), dt.datetime(1, 1, 1)]),
        "instant": (
            "timestamptz",
            [dt.datetime(2024, 2, 29, 12, 30, tzinfo=UTC), dt.datetime(1969, 7, 20, tzinfo=UTC)],
        ),
        "span": ("interval", [Interval(14, 3, 1), dt.timedelta(days=1, microseconds=7)]),
        "key": ("uuid", [uuid.UUID(int=7), uuid.UUID(int=2**128 - 1)]),
        "document": ("jsonb", [{"a": [1, None]}, "x"]),
        "numbers": ("int[]", [[1, None, 3], []]),
        "names": ("text[]", [["a", "b"], [None]]),
        "period": ("int4range", [Range(1, 5), Range(empty=True)]),
    },
    "mysql": {
        "tiny": ("tinyint", [-128, 127]),
        "whole": ("int unsigned", [0, 2**32 - 1]),
        "large": ("bigint", [-(2**63), 2**63 - 1]),
        "largest": ("bigint unsigned", [0, 2**64 - 1]),
        "single": ("float", [1.5, -0.25]),
        "twice": ("double", [0.1, -1e300]),
        "exact": ("decimal(12, 3)", [Decimal("123456789.125"), Decimal("-0.001")]),
        "longer": ("decimal(60, 10)", [Decimal("9" * 50 + ".0000000001"), Decimal(0)]),
        "name": ("varchar(40) character set utf8mb4", ["grün €", ""]),
        "raw": ("varbinary(10)", [b"\0\xff", b""]),
        "day": ("date", [dt.date(1000, 1, 1), dt.date(9999, 12, 31)]),
        "clock": ("time(6)", [dt.timedelta(hours=-838), dt.timedelta(microseconds=1)]),
        "at": ("datetime(6)", [dt.datetime(2024, 2, 29, 12, 30, 0, 1), dt.datetime(1000, 1, 1)]),
        "rough": ("datetime", [dt.datetime(2024, 2, 29, 12, 30, 1), dt.datetime(1000, 1, 1)]),
        "year_of": ("year", [1999, 2155]),
        "bits": ("bit(9)", [5, 511]),
    },
    "informix": {
        "small": ("smallint", [-32767, 32767]),
        "whole": ("integer", [-(2**31) + 1, 2**31 - 1]),
        "large": ("bigint", [-(2**63) + 1, 2**63 - 1]),
        "yes": ("boolean", [True, False]),
        "twice": ("float", [0.1, -1e100]),
        "exact": ("decimal(12, 3)", [Decimal("123456789.125"), Decimal("-0.001")]),
        "name": ("varchar(40)", ["green", ""]),
        "day": ("date", [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "at": ("datetime year to fraction(5)", [dt.datetime(2024, 2, 29, 12, 30, 0, 10), dt.datetime(1, 1, 1)]),
        "rough": ("datetime year to second", [dt.datetime(2024, 2, 29, 12, 30, 1), dt.datetime(1, 1, 1)]),
    },
    "cubrid": {
        "small": ("smallint", [-32768, 32767]),
        "whole": ("integer", [-(2**31), 2**31 - 1]),
        "large": ("bigint", [-(2**63), 2**63 - 1]),
        "single": ("float", [1.5, -0.25]),
        "twice": ("double", [0.1, -1e300]),
        "exact": ("numeric(12, 3)", [Decimal("123456789.125"), Decimal("-0.001")]),
        "name": ("varchar(40)", ["grün €", ""]),
        "raw": ("bit varying(80)", [b"\0\xff", b"\1"]),
        "date_of": ("date", [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "clock": ("time", [dt.time(23, 59, 59), dt.time()]),
        "moment": ("datetime", [dt.datetime(2024, 2, 29, 12, 30, 0, 1000), dt.datetime(1, 1, 1)]),
        "rough": ("timestamp", [dt.datetime(2024, 2, 29, 12, 30, 1), dt.datetime(1970, 1, 2)]),
        "numbers": ("list of int", [[1, 3], []]),
    },
}
"""For each driver a table: the type of each column, and its value in two rows. A third row is null."""


def prepare(db: Database) -> list[tuple[Any, ...]]:
    """The table; returns its rows, as the driver has them."""
    columns = TABLES[db.kind]
    with db.connect(autocommit=True) as admin:
        admin.execute("drop table if exists arrow_values")
        types = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
        admin.execute(f"create table arrow_values (nr int, {types})")
        marks = ", ".join([db.question_mark] * (len(columns) + 1))
        rows = [
            (nr, *(None if nr == 2 else prepared(kind, values[nr]) for kind, values in columns.values()))
            for nr in range(3)
        ]
        admin.executemany(f"insert into arrow_values values ({marks})", rows)
        return list(admin.fetch("select * from arrow_values order by nr"))


def prepared(kind: str, value: Any) -> Any:
    """A parameter."""
    return json.dumps(value) if kind == "jsonb" else value


def plain(value: Any) -> Any:
    """A value of a row as Arrow's libraries show it."""
    match value:
        case Interval():
            return (value.months, value.days, value.microseconds * 1000)
        case Range():
            names = ("lower", "upper", "lower_inc", "upper_inc")
            return {**{name: getattr(value, name) for name in names}, "empty": value.isempty}
        case BitString():
            return int(value, 2).to_bytes(-(-len(value) // 8), "big")
    return value


def shown(field: pyarrow.Field, value: Any) -> Any:
    """A value of pyarrow's as rows have it."""
    if value is None:
        return None
    if isinstance(value, pyarrow.MonthDayNano):
        months, days, nanos = value
        whole, rest = divmod(nanos, 86_400 * 10**9)
        return dt.timedelta(days + whole, microseconds=rest // 1000) if not months else tuple(value)
    metadata = field.metadata or {}
    if (
        getattr(field.type, "extension_name", None) == "arrow.json"
        or metadata.get(b"ARROW:extension:name") == b"arrow.json"
    ):
        return json.loads(value)
    return value


def cells(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    """The rows of a table, in Python's types."""
    columns = [
        [shown(field, value) for value in table[number].to_pylist()] for number, field in enumerate(table.schema)
    ]
    return list(zip(*columns, strict=True))


def test_every_value_is_that_of_the_row(any_db: Database) -> None:
    rows = prepare(any_db)
    with any_db.connect() as conn:
        result = conn.fetch_arrow("select * from arrow_values order by nr")
        table = pyarrow.table(result)
    assert result.num_rows == len(result) == 3
    assert result.column_names == ["nr", *TABLES[any_db.kind]]
    wanted = [tuple(map(plain, row)) for row in rows]
    assert cells(table) == wanted


def test_polars_takes_it_without_pyarrow(any_db: Database) -> None:
    prepare(any_db)
    with any_db.connect() as conn:
        frame = polars.DataFrame(conn.fetch_arrow("select nr, exact, name from arrow_values order by nr"))
    (_, exact), (_, name) = TABLES[any_db.kind]["exact"], TABLES[any_db.kind]["name"]
    assert frame.rows() == [(0, exact[0], name[0]), (1, exact[1], name[1]), (2, None, None)]


@pytest.mark.asyncio
async def test_asyncio(any_db: Database) -> None:
    rows = prepare(any_db)
    conn = await any_db.aconnect()
    async with conn:
        table = pyarrow.table(await conn.fetch_arrow("select * from arrow_values order by nr"))
    assert cells(table) == [tuple(map(plain, row)) for row in rows]


@pytest.mark.parametrize("batch_rows", [1, 700, 65_536])
def test_batches_have_at_most_their_rows(any_db: Database, batch_rows: int) -> None:
    with any_db.connect() as conn:
        if any_db.long_recursion is not None:
            conn.execute(any_db.long_recursion)
        result = conn.fetch_arrow(any_db.count_from_zero(5000), batch_rows=batch_rows)
    reader = pyarrow.RecordBatchReader.from_stream(result)
    batches = list(reader)
    assert all(1 <= len(batch) <= batch_rows for batch in batches)
    assert len(batches) == result.num_batches
    assert pyarrow.Table.from_batches(batches).column(0).to_pylist() == list(range(5000))
    # It can be taken again.
    assert len(pyarrow.table(result)) == 5000


def test_no_rows_have_a_schema(any_db: Database) -> None:
    prepare(any_db)
    with any_db.connect() as conn:
        result = conn.fetch_arrow(f"select nr, name from arrow_values where nr = {any_db.question_mark}", 99)
    assert pyarrow.schema(result).names == ["nr", "name"]
    assert len(pyarrow.table(result)) == result.num_batches == 0


def test_a_statement_without_rows(any_db: Database) -> None:
    prepare(any_db)
    with any_db.connect() as conn:
        with pytest.raises(errors.ProgrammingError, match="no rows"):
            conn.fetch_arrow("delete from arrow_values where nr = 0")
        assert conn.fetchval("select count(*) from arrow_values") == 2


def test_a_failed_statement_leaves_the_connection_usable(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.DatabaseError):
            conn.fetch_arrow("select * from no_such_table")
        assert len(conn.fetch_arrow(any_db.count_from_zero(10))) == 10


def test_a_call_that_takes_too_long_is_cancelled(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(TimeoutError):
            conn.fetch_arrow(any_db.slow, timeout=0.2)
        assert len(conn.fetch_arrow(any_db.count_from_zero(10))) == 10


def test_in_a_pipeline_it_waits_for_its_rows_alone(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn, conn.pipeline():
        before = conn.execute(any_db.count_from_zero(3))
        result = conn.fetch_arrow(any_db.count_from_zero(10))
        after = conn.execute(any_db.count_from_zero(2))
        assert len(result) == 10
        assert (before.fetchall(), after.fetchall()) == ([(0,), (1,), (2,)], [(0,), (1,)])


@pytest.mark.parametrize(
    ("keywords", "match"), [({"numeric": "float"}, "numeric='?\"?float"), ({"batch_rows": 0}, "batch_rows")]
)
def test_wrong_arguments(any_db: Database, keywords: dict[str, Any], match: str) -> None:
    with any_db.connect() as conn:
        with pytest.raises(errors.ProgrammingError, match=match):
            conn.fetch_arrow(any_db.count_from_zero(10), **keywords)
        assert len(conn.fetch_arrow(any_db.count_from_zero(10))) == 10


NUMERIC: list[tuple[str, Callable[[Decimal], Any]]] = [("string", str), ("float64", float)]


@pytest.mark.parametrize(("numeric", "made"), NUMERIC)
def test_numbers_without_a_precision(url: str, numeric: Any, made: Callable[[Decimal], Any]) -> None:
    import headrace

    with headrace.connect(url) as conn:
        values = [Decimal("1.50"), Decimal("NaN"), Decimal("12345678901234567890.50")]
        sql = "select unnest(%s::numeric[])"
        with pytest.raises(errors.DataError, match=r"column 1 \(unnest\), row 2: NaN .*numeric='string'"):
            conn.fetch_arrow(sql, values)
        got = pyarrow.table(conn.fetch_arrow(sql, values, numeric=numeric)).column(0).to_pylist()
    assert list(map(str, got)) == list(map(str, map(made, values)))


def test_what_arrow_cannot_represent(url: str) -> None:
    import headrace

    sql = "select unnest('{2024-01-01,infinity}'::date[]) as day"
    with headrace.connect(url) as conn, pytest.raises(errors.DataError, match=r"column 1 \(day\), row 2: infinity"):
        conn.fetch_arrow(sql)
    with headrace.connect(url, unrepresentable="none") as conn:
        assert pyarrow.table(conn.fetch_arrow(sql)).column(0).to_pylist() == [dt.date(2024, 1, 1), None]
