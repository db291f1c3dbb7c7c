"""Random tables of Arrow, sent as they are and as the rows that pyarrow makes of them: the same values, or the same
row that is refused."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import headrace
from long import times
from servers import Database


@dataclass(frozen=True)
class Column:
    """A column of a table, and the values that are sent to it."""

    server: str
    """Its type."""
    arrow: pyarrow.DataType
    values: st.SearchStrategy[Any]

    def __repr__(self) -> str:
        return f"{self.server} of {self.arrow}"


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers, many of them small."""
    return st.integers(max(low, -3), min(high, 300)) | st.integers(low, high)


PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12).map(lambda text: text.rstrip())
DECIMALS = st.decimals(-(10**9), 10**9, places=3)
DAYS = st.dates(dt.date(1583, 1, 1), dt.date(9999, 12, 31))
MOMENTS = st.datetimes(dt.datetime(1583, 1, 1), dt.datetime(9999, 12, 31))
SECONDS = MOMENTS.map(lambda moment: moment.replace(microsecond=0))
TIMES = st.times().map(lambda time: time.replace(microsecond=0))

COMMON = [
    Column("smallint", pyarrow.int64(), whole(-(2**63), 2**63 - 1)),
    Column("int", pyarrow.int8(), st.integers(-128, 127)),
    Column("int", pyarrow.uint16(), st.integers(0, 2**16 - 1)),
    Column("int", pyarrow.dictionary(pyarrow.int8(), pyarrow.int32()), st.integers(0, 5)),
    Column("bigint", pyarrow.uint64(), whole(0, 2**64 - 1)),
    Column("bigint", pyarrow.uint32(), st.integers(0, 2**32 - 1)),
    Column("numeric(12, 3)", pyarrow.decimal128(14, 3), DECIMALS),
    Column("numeric(12, 3)", pyarrow.decimal256(50, 3), DECIMALS),
    Column("numeric(12, 3)", pyarrow.int32(), st.integers(-1000, 1000)),
    Column("varchar(10)", pyarrow.string(), PLAIN),
    Column("varchar(40)", pyarrow.large_string(), PLAIN),
    Column("varchar(40)", pyarrow.string_view(), PLAIN),
    Column("varchar(40)", pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), PLAIN),
    Column("date", pyarrow.date32(), DAYS),
    Column("date", pyarrow.date64(), DAYS),
    Column("int", pyarrow.null(), st.none()),
]
FLOATS = st.floats(-1e30, 1e30, allow_subnormal=False)
COLUMNS = {
    "postgresql": [
        *COMMON,
        Column("double precision", pyarrow.float64(), st.floats()),
        Column("real", pyarrow.float64(), st.floats(allow_subnormal=False)),
        Column("double precision", pyarrow.float32(), st.floats(width=32)),
        Column("boolean", pyarrow.bool_(), st.booleans()),
        Column("bytea", pyarrow.binary(), st.binary(max_size=20)),
        Column("bytea", pyarrow.binary_view(), st.binary(max_size=20)),
        Column("bytea", pyarrow.binary(3), st.binary(min_size=3, max_size=3)),
        Column("numeric", pyarrow.uint64(), whole(0, 2**64 - 1)),
        Column("text", pyarrow.string(), st.text(max_size=5)),
        Column("int", pyarrow.string(), st.sampled_from(["1", "22", "x"])),
        Column("timestamp", pyarrow.timestamp("us"), MOMENTS),
        Column("timestamp", pyarrow.timestamp("s"), SECONDS),
        Column("timestamptz", pyarrow.timestamp("us", "UTC"), MOMENTS),
        Column("timestamptz", pyarrow.timestamp("us", "+02:00"), MOMENTS.filter(lambda moment: moment.year < 9999)),
        Column("timestamptz", pyarrow.timestamp("ms"), SECONDS.filter(lambda moment: 1970 < moment.year < 2037)),
        Column("timestamp", pyarrow.date32(), DAYS),
        Column("time", pyarrow.time64("us"), st.times()),
        Column("time", pyarrow.time32("s"), TIMES),
        Column("interval", pyarrow.duration("us"), st.timedeltas(dt.timedelta(-(10**5)), dt.timedelta(10**5))),
        Column("int[]", pyarrow.list_(pyarrow.int64()), st.lists(st.none() | whole(-(2**31), 2**32), max_size=3)),
        Column("text[]", pyarrow.large_list(pyarrow.string()), st.lists(PLAIN, max_size=3)),
        Column("jsonb", pyarrow.string(), st.sampled_from(["{}", '{"a": 1}', "x"])),
    ],
    "mysql": [
        *COMMON,
        Column("bigint unsigned", pyarrow.uint64(), whole(0, 2**64 - 1)),
        Column("double", pyarrow.float64(), FLOATS),
        Column("double", pyarrow.float32(), st.floats(-1024, 1024, width=32)),
        Column("tinyint", pyarrow.bool_(), st.booleans()),
        Column("varbinary(20)", pyarrow.binary(), st.binary(max_size=20)),
        Column("datetime(6)", pyarrow.timestamp("us"), MOMENTS),
        Column("datetime", pyarrow.timestamp("s"), SECONDS),
        Column("datetime", pyarrow.timestamp("s", "UTC"), SECONDS),
        Column("time(6)", pyarrow.duration("us"), st.timedeltas(dt.timedelta(-40), dt.timedelta(40))),
        Column("time", pyarrow.time32("s"), TIMES),
    ],
    "informix": [
        *COMMON,
        Column("float", pyarrow.float64(), FLOATS),
        Column("boolean", pyarrow.bool_(), st.booleans()),
        Column("datetime year to second", pyarrow.timestamp("s"), SECONDS),
        Column("datetime year to second", pyarrow.timestamp("s", "UTC"), SECONDS),
        Column("datetime hour to second", pyarrow.time32("s"), TIMES),
        Column("byte", pyarrow.binary(), st.binary(min_size=1, max_size=20)),
    ],
    "cubrid": [
        *COMMON,
        Column("double", pyarrow.float64(), FLOATS),
        Column("bit varying(160)", pyarrow.binary(), st.binary(max_size=20)),
        Column("datetime", pyarrow.timestamp("ms"), SECONDS),
        Column("datetimetz", pyarrow.timestamp("s", "UTC"), SECONDS),
        Column("time", pyarrow.time32("s"), TIMES),
        Column("list of int", pyarrow.list_(pyarrow.int32()), st.lists(st.integers(0, 9), max_size=3)),
    ],
}


@st.composite
def tables(draw: st.DrawFn, columns: list[Column]) -> tuple[list[Column], pyarrow.Table]:
    """Some columns, and rows of theirs in chunks that begin anywhere in their arrays."""
    chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=4))
    count = draw(st.integers(0, 12))
    rows = [draw(st.lists(st.none() | column.values, min_size=count, max_size=count).map(tuple)) for column in chosen]
    arrays = [array(column.arrow, values) for column, values in zip(chosen, rows, strict=True)]
    whole = pyarrow.Table.from_arrays(arrays, [f"c{i}" for i in range(len(chosen))])
    begin = draw(st.integers(0, count))
    middle = draw(st.integers(begin, count))
    return chosen, pyarrow.concat_tables([whole.slice(begin, middle - begin), whole.slice(middle)])


def array(arrow: pyarrow.DataType, values: tuple[Any, ...]) -> Any:
    """Values as an array."""
    if pyarrow.types.is_dictionary(arrow):
        return pyarrow.array(values, arrow.value_type).dictionary_encode().cast(arrow)
    if pyarrow.types.is_date64(arrow):
        return pyarrow.array(values, pyarrow.date32()).cast(arrow)
    return pyarrow.array(values, arrow)


def outcome(conn: Any, insert: str, rows: Any) -> Any:
    """The table after a batch, or the row that was refused."""
    conn.execute("delete from arrow_as_rows")
    try:
        conn.executemany(insert, rows)
    except headrace.Error as error:
        return error.row
    return list(map(repr, conn.fetch("select * from arrow_as_rows order by nr")))


@pytest.mark.parametrize("marked", ["%s", "native"])
@settings(
    deadline=None,
    max_examples=times(12),
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_both_have_the_same_outcome(any_db: Database, marked: str, data: st.DataObject) -> None:
    columns, table = data.draw(tables(COLUMNS[any_db.kind]))
    table = table.add_column(0, "nr", pyarrow.array(range(len(table)), pyarrow.int32()))
    marks = any_db.native_marks(5) if marked == "native" else [any_db.question_mark] * 5
    insert = f"insert into arrow_as_rows values ({', '.join(marks[: len(columns) + 1])})"
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists arrow_as_rows")
        types = ", ".join(f"c{i} {column.server}" for i, column in enumerate(columns))
        conn.execute(f"create table arrow_as_rows (nr int, {types})")
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        assert outcome(conn, insert, table) == outcome(conn, insert, rows)
