"""Copied batches that another thread cancels."""

from __future__ import annotations

import datetime as dt
import threading
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors

ROWS = 3000
PLAIN = "insert into {table} values (%s, %s)"


@pytest.fixture
def make(url: str) -> Iterator[Callable[..., headrace.Connection[Any]]]:
    """Opens connections in autocommit; the table ``c`` is empty."""
    opened = []

    def connect(**settings: Any) -> headrace.Connection[Any]:
        conn = headrace.connect(url, **{"autocommit": True, **settings})
        opened.append(conn)
        return conn

    connect().executescript("drop table if exists c cascade; create table c (n int primary key, s varchar(20))")
    yield connect
    for conn in opened:
        conn.close()


def rows(size: int = ROWS) -> list[tuple[int, str]]:
    return [(i, f"row {i}") for i in range(size)]


class Money:
    """A value that an adapter gives the text of."""

    def __init__(self, cents: int) -> None:
        self.cents = cents


def test_a_cancelled_batch_leaves_nothing(make: Any) -> None:
    conn = make()
    began = threading.Event()

    def slow() -> Iterator[tuple[int, str]]:
        for row in rows(200_000):
            if row[0] == 5000:
                began.set()
            yield row

    timer = threading.Thread(target=lambda: (began.wait(), conn.cancel()))
    timer.start()
    try:
        conn.executemany(PLAIN.format(table="c"), slow())
    except errors.QueryCanceled:
        expected = 0
    else:
        expected = 200_000
    timer.join()
    assert conn.fetchval("select count(*) from c") == expected


COLUMNS: dict[str, list[Any]] = {
    "int": [0, -1, 2**31 - 1, 7.0, Decimal(3), True, None, 2**31, "12", "x", 1.5],
    "smallint": [0, 300, None, 40_000, Decimal("2.0")],
    "bigint not null": [1, 2**62, None],
    "real": [0.1, 1e30, 1e300, 3, Decimal("1.5"), None, float("nan")],
    "double precision": [0.1, 3, Decimal("2.25"), None, float("inf"), "1e5"],
    "numeric(8,2)": [Decimal("1.005"), 3, 0.5, Decimal("1e9"), None, "7.125"],
    "numeric": [Decimal("1.00500"), 10**40, 1.5, None],
    "varchar(5)": ["abc", "abc     ", "abcdef", "äöüßé", "", None, "a\0b", 7],
    "char(4)": ["ab", "abcd", "abcde", "abcd ", None],
    "text check (length(x) < 9)": ["abc", "x" * 9, None, "\U0001f600"],
    "boolean": [True, False, None, 1, "t"],
    "date": [dt.date(2024, 2, 29), dt.datetime(2024, 1, 2, 3, 4), "2024-01-05", None, "infinity"],
    "timestamp(0)": [dt.datetime(2024, 1, 2, 3, 4, 5, 600_000), dt.date(2024, 1, 2), None],
    "timestamptz": [dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc), dt.datetime(2024, 1, 2), None],
    "time": [dt.time(1, 2, 3), None],
    "interval day": [dt.timedelta(days=3, hours=5), None],
    "uuid": [uuid.UUID(int=5), str(uuid.UUID(int=7)), None, "x"],
    "bytea": [b"", b"\0\xff", bytearray(b"x"), None, "text"],
    "json": [{"a": 1}, [1, "x"], '{"b": 2}', "no json", None, 5],
    "jsonb": [{"a": [1, None]}, '"s"', None],
    "int[]": [[1, None, 3], [], [[1, 2], [3, 4]], ["5"], None, [2**40]],
    "text[]": [["a", 'b"c', None], [], None, "{x,y}"],
    "mood": ["sad", "glad", "angry", None],
    "even": [2, 4, 3, None],
    "int4range": [headrace.types.Range(1, 5), None, "[2,3)"],
    "bit(3)": ["101", "1", None],
    "inet": ["10.0.0.1", None, "x"],
}
"""Types, each with values that it takes and some that it does not."""
