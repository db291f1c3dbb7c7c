"""Values of NumPy, and pandas' times, are sent as what they are in Python's types, by every way into a table; what
Python has no type for is refused, and the error says what to do."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headrace
from headrace.types import Range
from servers import Database, PostgreSQL, names

DAY = datetime.date(2020, 2, 29)
MOMENT = datetime.datetime(2020, 2, 29, 1, 2, 3, 250_000)
MIDNIGHT = datetime.datetime(2020, 2, 29)

CASES: dict[str, list[tuple[Any, Any]]] = {
    "n": [
        (np.int8(-5), -5),
        (np.uint64(7), 7),
        (np.array(8), 8),
        (np.array([1, 2])[1], 2),
        (np.float64(3), 3),
        (np.timedelta64("NaT"), None),
        (np.array(None), None),
    ],
    "f": [
        (np.float16(0.5), 0.5),
        (np.float32(0.25), 0.25),
        (np.float64(1.5), 1.5),
        (np.array(2.5), 2.5),
        (np.int32(3), 3.0),
    ],
    "a": [(np.float64(1.25), decimal.Decimal("1.25")), (np.array(decimal.Decimal("1.50")), decimal.Decimal("1.50"))],
    "v": [(np.str_("näme"), "näme"), (np.array("text"), "text"), (np.datetime64("NaT"), None)],
    "d": [
        (np.datetime64("2020-02-29"), DAY),
        (np.datetime64("2020-02-29T00", "ns"), DAY),
        (np.datetime64("NaT", "D"), None),
        (np.array("2020-02-29", "datetime64[D]"), DAY),
    ],
    "t": [
        (np.datetime64(MOMENT), MOMENT),
        (np.datetime64(MOMENT, "ns"), MOMENT),
        (np.datetime64(MOMENT, "ms"), MOMENT),
        (np.datetime64("2020-02-29"), MIDNIGHT),
        (np.datetime64("2020-02"), datetime.datetime(2020, 2, 1)),
        (np.array(MOMENT, "datetime64[ns]"), MOMENT),
        (np.datetime64("NaT", "ns"), None),
        (pd.Timestamp(MOMENT), MOMENT),
        (pd.Series([MOMENT]).to_numpy()[0], MOMENT),
        (pd.NaT, None),
    ],
}
REFUSED: dict[str, list[tuple[Any, str]]] = {
    "n": [
        (np.complex128(1), "complex128"),
        (pd.Series([1, 2]), r"Series, whose \.tolist\(\) can be sent"),
    ],
    "f": [(np.longdouble(1.5), r"longdouble, whose float\(\) can be sent")],
    "t": [
        (np.datetime64("2020-02-29T01:02:03.000000001"), r"whose \.astype\('datetime64\[us\]'\) can be sent"),
        (np.datetime64("12000-01-01T00:00:00"), "which datetime cannot hold"),
        (pd.Timestamp("2020-02-29 01:02:03.000000001"), r"more precise than a microsecond: \.round\('us'\)"),
    ],
}

Way = Callable[[str, Any], Any]


def ways(db: Database, conn: Any) -> Iterator[tuple[str, Way]]:
    """Every way of a value into a column, or of several: as a parameter, in batches, copied."""
    for mark in dict.fromkeys([db.native_marks(1)[0], db.question_mark]):

        def execute(column: str, value: Any, mark: str = mark) -> None:
            conn.execute(f"insert into of_numpy ({column}) values ({mark})", (value,))

        yield f"execute {mark}", execute
    for name, (mark, keywords) in db.batch_strategies.items():
        insert = f"insert into of_numpy ({{}}) values ({mark.format(1)})"

        def batch(column: str, value: Any, sql: str = insert, options: Any = keywords) -> None:
            rows = [(value,), (None,), (value,)]
            conn._wait(conn._core.wire.execute_batch(sql.format(column), rows, **options), None)

        yield f"batch {name}", batch
    if hasattr(conn, "copy_in"):
        for form in ("binary", "text"):

            def copy(column: str, value: Any, form: str = form) -> None:
                conn.copy_in("of_numpy", [(value,)], columns=[column], format=form)

            yield f"copy_in {form}", copy
    if hasattr(conn, "load_rows"):
        yield "load_rows", lambda column, value: conn.load_rows("of_numpy", [(value,)], columns=[column])


@pytest.fixture
def table(any_db: Database) -> Iterator[Any]:
    """A connection, and a table of a column of each type."""
    with any_db.connect(autocommit=True, **any_db.loading) as conn:
        conn.execute("drop table if exists of_numpy")
        conn.execute(
            "create table of_numpy"
            f" (n integer, f double precision, a decimal(9, 2), v varchar(50), d date, t {any_db.timestamp})"
        )
        yield conn
        conn.execute("drop table of_numpy")


def test_values_are_those_of_pythons_types(any_db: Database, table: Any) -> None:
    for column, cases in CASES.items():
        for value, expected in cases:
            for name, way in ways(any_db, table):
                way(column, value)
                found = {row[0] for row in table.execute(f"select {column} from of_numpy")}
                assert found - {None} == {expected} - {None}, (column, value, name)
                table.execute("delete from of_numpy")


def test_what_python_has_no_type_for_is_refused(any_db: Database, table: Any) -> None:
    for column, cases in REFUSED.items():
        for value, message in cases:
            for name, way in ways(any_db, table):
                with pytest.raises(headrace.Error) as caught:
                    way(column, value)
                assert caught.match(message), name
    assert table.fetchval(any_db.one) == 1


LISTS: list[tuple[str, Any, Any]] = [
    ("int[]", np.array([1, 2]), [1, 2]),
    ("int[]", np.array([], int), []),
    ("bigint[]", np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    ("int[]", np.arange(6)[::2], [0, 2, 4]),
    ("smallint[]", np.array([1, 2], "uint16"), [1, 2]),
    ("float8[]", np.array([1.5, np.nan])[:1], [1.5]),
    ("real[]", np.array([1.5, 0.1], "float32"), [1.5, 0.10000000149011612]),
    ("bool[]", np.array([True, False]), [True, False]),
    ("text[]", np.array(["a", "é"]), ["a", "é"]),
    ("text[]", np.array(["a", None], object), ["a", None]),
    ("date[]", np.array(["2020-02-29", "NaT"], "datetime64[D]"), [DAY, None]),
    ("timestamp[]", np.array([MOMENT], "datetime64[ns]"), [MOMENT]),
    ("interval[]", np.array([1, 2], "timedelta64[s]"), [datetime.timedelta(seconds=1), datetime.timedelta(seconds=2)]),
    ("int[]", [np.int64(1), np.array(2), None, pd.NA], [1, 2, None, None]),
    ("timestamp[]", [pd.Timestamp(MOMENT), pd.NaT, np.datetime64(MOMENT, "ns")], [MOMENT, None, MOMENT]),
    ("int4range", Range(np.int64(1), np.int32(5)), Range(1, 5)),
    ("bytea", np.array([1, 2], "uint8"), b"\1\2"),
    ("interval", np.timedelta64(1500, "ms"), datetime.timedelta(seconds=1.5)),
    ("interval", np.timedelta64(5, "ns") * 1000, datetime.timedelta(microseconds=5)),
    ("interval", np.timedelta64(14, "M"), headrace.types.Interval(14)),
    ("interval", np.timedelta64(1, "Y"), headrace.types.Interval(12)),
    ("interval", np.timedelta64("NaT"), None),
    ("interval", pd.Timedelta(hours=30), datetime.timedelta(hours=30)),
    ("timestamptz", np.datetime64("NaT"), None),
    ("boolean", np.bool_(True), True),
    ("boolean", np.array(False), False),
    ("numeric", np.float32(0.5), decimal.Decimal("0.5")),
]


@pytest.mark.parametrize("any_db", names(PostgreSQL), indirect=True)
@pytest.mark.parametrize(("kind", "value", "expected"), LISTS)
def test_arrays_are_lists(any_db: Database, kind: str, value: Any, expected: Any) -> None:
    with any_db.connect(autocommit=True) as conn:
        conn.execute(f"create temporary table of_arrays (v {kind})")
        for mark in ("%s", "$1", f"%s::{kind}"):
            conn.execute(f"insert into of_arrays values ({mark})", (value,))
            conn.executemany(f"insert into of_arrays values ({mark})", [(value,), (None,), (value,)])
        for form in ("binary", "text"):
            conn.copy_in("of_arrays", [(value,)], format=form)
        found = [row[0] for row in conn.fetch("select v from of_arrays")]
        assert [one for one in found if one is not None] == ([] if expected is None else [expected] * 11)


@pytest.mark.parametrize("any_db", names(PostgreSQL), indirect=True)
@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("interval", np.timedelta64(5), "which has no unit"),
        ("interval", np.timedelta64(5, "ns"), r"whose \.astype\('timedelta64\[us\]'\) can be sent"),
        ("interval", np.timedelta64(2**62, "W"), "which timedelta cannot hold"),
        ("interval", np.timedelta64(2**62, "Y"), "which timedelta cannot hold"),
        ("interval", pd.Timedelta(nanoseconds=5), r"more precise than a microsecond: \.round\('us'\)"),
        ("timestamp[]", np.array([1], "datetime64[ns]"), r"can be sent"),
        ("int[]", np.array([1, 2], "uint8"), r"ndarray, whose \.tolist\(\) can be sent|type bytea to integer"),
        ("int[]", np.ma.array([1, 2], mask=[False, True]), r"whose \.tolist\(\) can be sent"),
        ("int", np.ma.masked, r"whose \.tolist\(\) can be sent"),
        ("int[]", pd.array([1, 2]), r"whose \.tolist\(\) can be sent"),
    ],
)
def test_an_error_says_what_can_be_sent(any_db: Database, kind: str, value: Any, message: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        for query in (f"select %s::{kind}", f"select $1::{kind}"):
            with pytest.raises(headrace.Error, match=message):
                conn.fetchval(query, value)


@pytest.mark.parametrize("any_db", names(PostgreSQL), indirect=True)
def test_a_dumper_comes_first(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        conn.register_adapters(
            dumpers={np.ndarray: lambda array: f"{array.sum()}", np.int64: lambda number: f"{number + 1}"}
        )
        assert conn.fetchval("select %s::int", np.array([1, 2])) == 3
        assert conn.fetchval("select $1::int", np.int64(5)) == 6
        assert conn.fetchval("select $1::int", np.array(5)) == 5


def test_rows_are_arrays_too(any_db: Database, table: Any) -> None:
    mark = any_db.native_marks(2)
    table.executemany(f"insert into of_numpy (n, f) values ({', '.join(mark)})", np.array([[1, 2.5], [3, 4.5]]))
    table.execute(f"insert into of_numpy (n, f) values ({', '.join(mark)})", np.array([5, 6.5]))
    assert sorted(table.fetch("select n, f from of_numpy")) == [(1, 2.5), (3, 4.5), (5, 6.5)]
