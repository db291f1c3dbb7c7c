"""The rows that are raced, by formula: as SQL, which fills the tables on the server, and as Python, which
computes the right result and the rows that contestants insert. The two share no code, so a contestant's digest is
compared with a value that no driver has touched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

Row = tuple[Any, ...]

USERS: Final = 1_000
"""Rows of the table of users."""
WIDE_COLUMNS: Final = 50
COLUMNS: Final = ("id", "name", "n", "f", "d")
"""Columns of the five-column tables."""

PLAIN: Final = "id int, name varchar(64), n int, f float8, d date"
PLAIN_SQL: Final = "g, 'name of row ' || g, g * 7 % 1000, g / 7.0::float8, date '2020-01-01' + g % 1000"
TYPES: Final = "n numeric(14,4), t timestamptz, a text, b text"
TYPES_SQL: Final = (
    "g * 1.2345, timestamptz '2020-01-01 00:00:00Z' + g * interval '1.5 s',"
    " CASE WHEN g % 3 = 0 THEN NULL ELSE 'text ' || g END, 'čeština 日本 ' || g"
)
WIDE: Final = ", ".join(f"c{i} {'int' if i % 2 else 'text'}" for i in range(WIDE_COLUMNS))
WIDE_SQL: Final = ", ".join("g" if i % 2 else f"'value {i} of ' || g" for i in range(WIDE_COLUMNS))
PARTED: Final = "id int PRIMARY KEY, k int, name varchar(64), f float8, d date"
PARTED_SQL: Final = (
    "g, CASE WHEN g % 10 = 0 THEN NULL WHEN g % 2 = 1 THEN 7 ELSE g END, 'name of row ' || g, g / 7.0::float8,"
    " date '2020-01-01' + g % 1000"
)
STREAM: Final = "id int, name text"
STREAM_SQL: Final = "g, 'name of row ' || g"

_DAYS: Final = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(1000)]
_START: Final = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)


def plain_row(i: int) -> Row:
    """int, varchar(64), int, float8, date."""
    return (i, f"name of row {i}", i * 7 % 1000, i / 7.0, _DAYS[i % 1000])


def types_row(i: int) -> Row:
    """numeric(14,4), timestamptz, text with NULLs, non-ASCII text."""
    timestamp = _START + dt.timedelta(milliseconds=1500 * i)
    return (Decimal(i * 12345).scaleb(-4), timestamp, None if i % 3 == 0 else f"text {i}", f"čeština 日本 {i}")


def naive_types_row(i: int) -> Row:
    """The same for databases whose timestamps have no zone."""
    number, timestamp, a, b = types_row(i)
    return (number, timestamp.replace(tzinfo=None), a, b)


def wide_row(i: int) -> Row:
    """25 times text, int."""
    return tuple(i if c % 2 else f"value {c} of {i}" for c in range(WIDE_COLUMNS))


def parted_row(i: int) -> Row:
    """int, int with NULLs and one value half of the time, varchar(64), float8, date."""
    key = None if i % 10 == 0 else 7 if i % 2 else i
    return (i, key, f"name of row {i}", i / 7.0, _DAYS[i % 1000])


def user_row(i: int) -> Row:
    """int, text."""
    return (i, f"user {i}")


def stream_row(i: int) -> Row:
    """int, text."""
    return (i, f"name of row {i}")


def plain_rows(size: int) -> list[Row]:
    """The rows that are inserted."""
    return [plain_row(i) for i in range(1, size + 1)]


def plain_table(size: int) -> Any:
    """The rows that are inserted, as an Arrow table."""
    import pyarrow as pa

    kinds = (pa.int32(), pa.string(), pa.int32(), pa.float64(), pa.date32())
    columns = zip(*plain_rows(size), strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=list(COLUMNS))


def rows_of(workload: str, size: int, aware: bool = True) -> Iterator[Row]:
    """The rows that a right result has, in order; ``aware`` if timestamps have a zone."""
    numbers = range(1, size + 1)
    if workload in ("fetch", "bulk_out", "beside_bulk", "sqlalchemy_core", "sqlalchemy_orm", "arrow"):
        return map(plain_row, numbers)
    if workload in ("fetch_types", "arrow_types"):
        return map(types_row if aware else naive_types_row, numbers)
    if workload in ("fetch_wide", "arrow_wide"):
        return map(wide_row, numbers)
    if workload in ("stream", "arrow_stream"):
        return map(stream_row, numbers)
    if workload.startswith("partitions"):
        return map(parted_row, numbers)
    if workload == "select_ten":
        return map(user_row, numbers)
    raise KeyError(workload)
