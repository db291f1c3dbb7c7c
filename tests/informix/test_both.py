"""What informix-driver or headrace writes, IBM's JDBC driver reads and writes again; both must find the values of the
first in either table."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import informix_db
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import headrace.informix
from headrace.testing import InformixServer
from headrace.types import Interval
from long import times

from .conftest import Jdbc

# Before this day Java's own types count in the Julian calendar, so that the two drivers would return different days.
FIRST = datetime.datetime(1582, 10, 16)
LAST = datetime.datetime(9999, 12, 31, 23, 59, 59)
LATIN = st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f\x80\x81\x8d\x8f\x90\x9d")

COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "smallint": st.integers(-32767, 32767),
    "int": st.integers(-(2**31) + 1, 2**31 - 1),
    "bigint": st.integers(-(2**63) + 1, 2**63 - 1),
    "int8": st.integers(-(2**63) + 1, 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "smallfloat": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "decimal(12,3)": st.decimals(-999_999_999, 999_999_999, places=3),
    "decimal(32)": st.decimals(-(10**20), 10**20, places=11),
    "money(16,2)": st.decimals(-(10**13), 10**13, places=2),
    "char(12)": st.text(LATIN, max_size=12).map(str.rstrip),
    "varchar(80)": st.text(LATIN, min_size=1, max_size=80),
    "nvarchar(80)": st.text(LATIN, min_size=1, max_size=80),
    "lvarchar(400)": st.text(LATIN, min_size=1, max_size=400),
    "boolean": st.booleans(),
    "date": st.dates(FIRST.date(), LAST.date()),
    "datetime year to second": st.datetimes(FIRST, LAST).map(lambda value: value.replace(microsecond=0)),
    "datetime year to fraction(5)": st.datetimes(FIRST, LAST).map(
        lambda value: value.replace(microsecond=value.microsecond // 10 * 10)
    ),
    "interval year(9) to month": st.integers(-(10**9), 10**9).map(informix_db.IntervalYM),
    "interval day(9) to second": st.integers(-(10**13), 10**13).map(
        lambda seconds: datetime.timedelta(seconds=seconds)
    ),
}


MARKS = ", ".join("?" * (len(COLUMNS) + 1))
Rows = list[tuple[Any, ...]]


def rows_by_reference(server: InformixServer, table: str) -> Rows:
    """What informix-driver reads."""
    connection = informix_db.connect(**server.parameters(), autocommit=True)
    try:
        cursor = connection.cursor()
        cursor.execute(f"select * from {table} order by n")
        return [tuple(row[1:]) for row in cursor.fetchall()]
    finally:
        connection.close()


def rows_by_headrace(server: InformixServer, table: str) -> Rows:
    """What headrace reads, in the words of informix-driver: its months, and CHAR without its blanks."""

    def said(column: str, value: Any) -> Any:
        if isinstance(value, Interval):
            return informix_db.IntervalYM(value.months)
        return value.rstrip(" ") if value is not None and column.startswith("char") else value

    with headrace.informix.connect(**server.parameters()) as connection:
        return [tuple(map(said, COLUMNS, row[1:])) for row in connection.fetch(f"select * from {table} order by n")]


def write_theirs(server: InformixServer, table: str, rows: Rows) -> None:
    """By informix-driver."""
    connection = informix_db.connect(**server.parameters(), autocommit=True)
    try:
        connection.cursor().executemany(f"insert into {table} values ({MARKS})", [(n, *r) for n, r in enumerate(rows)])
    finally:
        connection.close()


def write_ours(server: InformixServer, table: str, rows: Rows) -> None:
    """By headrace, half of it as a batch and half row by row."""
    tested = [
        (n, *(Interval(months=v.months) if isinstance(v, informix_db.IntervalYM) else v for v in row))
        for n, row in enumerate(rows)
    ]
    with headrace.informix.connect(**server.parameters()) as connection:
        connection.executemany(f"insert into {table} values ({MARKS})", tested[::2])
        for row in tested[1::2]:
            connection.execute(f"insert into {table} values ({MARKS})", row)


def check(found: Rows, rows: Rows) -> None:
    """That the values are those that were written."""
    for values, row in zip(found, rows, strict=True):
        for column, value, expected in zip(COLUMNS, values, row, strict=True):
            same = value == expected
            if isinstance(value, str) and column.startswith("char"):
                same = value.rstrip() == expected
            elif isinstance(value, float):
                same = math.isclose(value, expected, rel_tol=1e-6 if column == "smallfloat" else 1e-15, abs_tol=1e-45)
            assert same, (column, value, expected)


@pytest.mark.parametrize("write", [write_theirs, write_ours], ids=["informix-driver", "headrace"])
@settings(
    max_examples=times(4),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(st.tuples(*(st.none() | strategy for strategy in COLUMNS.values())), min_size=30, max_size=60))
@pytest.mark.slow
def test_values_survive_every_client(
    server: InformixServer, jdbc: Jdbc, write: Callable[[InformixServer, str, Rows], None], rows: Rows
) -> None:
    definition = ", ".join(f"c{number} {column}" for number, column in enumerate(COLUMNS))
    with headrace.informix.connect(**server.parameters(), autocommit=True) as admin:
        for table in ("b_first", "b_second"):
            admin.execute(f"drop table if exists {table}")
            admin.execute(f"create table {table} (n int, {definition})")
    write(server, "b_first", rows)
    assert jdbc(server.jdbc_url(), "copy", "b_first", "b_second") == {"copy": f"ok copy: {len(rows)}"}
    for table in ("b_first", "b_second"):
        reference, tested = rows_by_reference(server, table), rows_by_headrace(server, table)
        check(reference, rows)
        check(tested, rows)
        assert tested == reference
        assert [list(map(type, row)) for row in tested] == [list(map(type, row)) for row in reference]
