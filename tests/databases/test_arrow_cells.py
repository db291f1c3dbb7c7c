"""Record batches have the values of rows, cell by cell: random ones of every type of test_arrow.py's tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace.types import Interval, Range
from long import times
from servers import Database

from .test_arrow import TABLES, cells, plain, prepared

# Wherever a database has less of a type than another one: Informix has no smallest integers, which are NULL there, no
# text of other code sets, and no characters that cannot be printed.
LATIN = st.characters(codec="latin-1", exclude_categories=["Cc", "Zs"])
UNICODE = st.characters(exclude_categories=["Cs", "Cc"])
MS, CS = 1000, 10


def whole(bits: int, sign: bool = True, smallest: bool = False) -> st.SearchStrategy[int]:
    low = -(2 ** (bits - 1)) + (not smallest) if sign else 0
    return st.integers(low, 2 ** (bits - sign) - 1)


def exact(digits: int, places: int) -> st.SearchStrategy[Decimal]:
    return st.integers(1 - 10**digits, 10**digits - 1).map(lambda number: Decimal(f"{number}E-{places}"))


def timestamps(step: int, first: dt.datetime, last: dt.datetime = dt.datetime(9999, 12, 30)) -> Any:
    """Timestamps in multiples of so many microseconds."""
    return st.datetimes(first, last).map(lambda at: at.replace(microsecond=at.microsecond // step * step))


def ranges(pair: tuple[int, int]) -> Range[int]:
    low, high = sorted(pair)
    return Range(low, high)


DOUBLE = st.floats(-1e100, 1e100).map(lambda number: number + 0.0)
SINGLE = st.floats(-(2.0**99), 2.0**99, width=32).map(lambda number: number + 0.0)
JSON = st.recursive(
    st.none() | st.booleans() | whole(32) | st.text(UNICODE, max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(UNICODE, max_size=3), inner, max_size=3),
    max_leaves=5,
)
CLOCKS = st.timedeltas(dt.timedelta(hours=-838), dt.timedelta(hours=838))
SPANS = st.builds(Interval, st.integers(-999, 999), st.integers(-9999, 9999), st.integers(-(10**12), 10**12))

VALUES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "postgresql": {
        "smallint": whole(16, smallest=True),
        "integer": whole(32, smallest=True),
        "bigint": whole(64, smallest=True),
        "boolean": st.booleans(),
        "real": SINGLE,
        "double precision": DOUBLE,
        "numeric(12, 3)": exact(12, 3),
        "numeric(60, 10)": exact(60, 10),
        "numeric": exact(30, 15),
        "text": st.text(UNICODE, max_size=20),
        "char(5)": st.text(UNICODE, max_size=5),
        "bytea": st.binary(max_size=20),
        "date": st.dates(),
        "time": st.times(),
        "timestamp": timestamps(1, dt.datetime(1, 1, 1)),
        "timestamptz": timestamps(1, dt.datetime(1, 1, 2)).map(lambda at: at.replace(tzinfo=dt.timezone.utc)),
        "interval": SPANS,
        "uuid": st.uuids(),
        "jsonb": JSON,
        "int[]": st.lists(st.none() | whole(32), max_size=4),
        "text[]": st.lists(st.none() | st.text(UNICODE, max_size=4), max_size=4),
        "int4range": st.tuples(whole(31), whole(31)).map(ranges),
    },
    "mysql": {
        "tinyint": whole(8, smallest=True),
        "int unsigned": whole(32, sign=False),
        "bigint": whole(64, smallest=True),
        "bigint unsigned": whole(64, sign=False),
        "float": SINGLE,
        "double": DOUBLE,
        "decimal(12, 3)": exact(12, 3),
        "decimal(60, 10)": exact(60, 10),
        "varchar(40) character set utf8mb4": st.text(UNICODE, max_size=40),
        "varbinary(10)": st.binary(max_size=10),
        "date": st.dates(dt.date(1000, 1, 1)),
        "time(6)": CLOCKS,
        "datetime(6)": timestamps(1, dt.datetime(1000, 1, 1)),
        "datetime": timestamps(1_000_000, dt.datetime(1000, 1, 1)),
        "year": st.integers(1901, 2155),
        "bit(9)": st.integers(0, 511),
    },
    "informix": {
        "smallint": whole(16),
        "integer": whole(32),
        "bigint": whole(64),
        "boolean": st.booleans(),
        "float": DOUBLE,
        "decimal(12, 3)": exact(12, 3),
        "varchar(40)": st.text(LATIN, max_size=40),
        "date": st.dates(),
        "datetime year to fraction(5)": timestamps(CS, dt.datetime(1, 1, 1)),
        "datetime year to second": timestamps(1_000_000, dt.datetime(1, 1, 1)),
    },
    "cubrid": {
        "smallint": whole(16, smallest=True),
        "integer": whole(32, smallest=True),
        "bigint": whole(64, smallest=True),
        "float": SINGLE,
        "double": DOUBLE,
        "numeric(12, 3)": exact(12, 3),
        "varchar(40)": st.text(UNICODE, max_size=40),
        "bit varying(80)": st.binary(min_size=1, max_size=10),
        "date": st.dates(),
        "time": st.times().map(lambda clock: clock.replace(microsecond=0)),
        "datetime": timestamps(MS, dt.datetime(1, 1, 1)),
        "timestamp": timestamps(1_000_000, dt.datetime(1970, 1, 3), dt.datetime(2038, 1, 1)),
        "list of int": st.lists(whole(32), max_size=4),
    },
}
"""Values of each type, besides NULL."""


def kinds(db: Database) -> list[str]:
    """The types of the columns."""
    return [kind for kind in VALUES[db.kind] if kind not in db.untested_types]


def test_no_type_is_left_out() -> None:
    for database, columns in TABLES.items():
        assert {kind for kind, _ in columns.values()} == set(VALUES[database])


@pytest.fixture
def filled(any_db: Database) -> Iterator[Any]:
    """A connection with an empty table that has a column of each type."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists arrow_cells")
        columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds(any_db)))
        conn.execute(f"create table arrow_cells (nr int, {columns})")
        yield conn


@settings(
    max_examples=times(8),
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data(), batch_rows=st.integers(1, 20))
def test_every_cell_is_that_of_the_row(any_db: Database, filled: Any, data: st.DataObject, batch_rows: int) -> None:
    columns = kinds(any_db)
    # NULLs are chosen apart from values, so that these are not of the simplest kinds.
    row = st.tuples(*(st.tuples(st.integers(0, 4), VALUES[any_db.kind][kind]) for kind in columns))
    drawn = data.draw(st.lists(row, min_size=1, max_size=20))
    filled.execute("delete from arrow_cells")
    rows = [
        (
            nr,
            *(
                None if none == 0 else prepared(kind, value)
                for kind, (none, value) in zip(columns, values, strict=True)
            ),
        )
        for nr, values in enumerate(drawn)
    ]
    marks = ", ".join([any_db.question_mark] * (len(columns) + 1))
    filled.executemany(f"insert into arrow_cells values ({marks})", rows)
    sql = "select * from arrow_cells order by nr"
    wanted = [tuple(map(plain, row)) for row in filled.fetch(sql)]
    assert len(wanted) == len(rows)
    assert cells(pyarrow.table(filled.fetch_arrow(sql, batch_rows=batch_rows))) == wanted
    assert cells(pyarrow.table(filled.stream_arrow(sql, batch_rows=batch_rows))) == wanted
