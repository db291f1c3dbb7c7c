"""What one judge writes, the other reads and writes again; the first must find its own values."""

from __future__ import annotations

import datetime
import math
from typing import Any

import informix_db
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace.testing import InformixServer

from .conftest import Judge

# Before this day Java's own types count in the Julian calendar, so that the two judges would mean different days.
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


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(st.tuples(*(st.none() | strategy for strategy in COLUMNS.values())), min_size=30, max_size=60))
def test_values_survive_both_judges(server: InformixServer, judge: Judge, rows: list[tuple[Any, ...]]) -> None:
    connection = informix_db.connect(**server.parameters(), autocommit=True)
    try:
        cursor = connection.cursor()
        definition = ", ".join(f"c{number} {column}" for number, column in enumerate(COLUMNS))
        for table in ("b_first", "b_second"):
            cursor.execute(f"drop table if exists {table}")
            cursor.execute(f"create table {table} (n int, {definition})")
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        cursor.executemany(f"insert into b_first values ({marks})", [(n, *row) for n, row in enumerate(rows)])
        assert judge(server.jdbc_url(), "copy", "b_first", "b_second") == {"copy": f"ok copy: {len(rows)}"}
        cursor.execute("select * from b_second order by n")
        for (_, *found), row in zip(cursor.fetchall(), rows, strict=True):
            for column, value, expected in zip(COLUMNS, found, row, strict=True):
                same = value == expected
                if isinstance(value, str) and column.startswith("char"):
                    same = value.rstrip() == expected
                elif isinstance(value, float):
                    same = math.isclose(
                        value, expected, rel_tol=1e-6 if column == "smallfloat" else 1e-15, abs_tol=1e-45
                    )
                assert same, (column, value, expected)
    finally:
        connection.close()
