"""The text of a number is the one that `str` makes of it, however it is made: a column of text keeps it."""

from __future__ import annotations

import datetime as dt
import random
import struct
from typing import Any

from long import times

TIES = [1606968258136646.25, 0.5**44, 2.0**-1074, 5e-324, 9007199254740993.0, 2.0**54 + 6, 8.41e21, 2.0**86, 9.5e-7]
"""Among them floats that are as near to one shortest text as to another."""


class Float(float):
    def __repr__(self) -> str:
        return "another"

    __str__ = __repr__


class Int(int):
    def __repr__(self) -> str:
        return "another"

    __str__ = __repr__


def stored(conn: Any, values: list[Any]) -> list[str]:
    """What a column of text has after a COPY as text, row by row, in order."""
    conn.execute("create temp table as_text (n int, t text)")
    with conn.cursor().copy("copy as_text from stdin") as copy:
        for n, value in enumerate(values):
            copy.write_row((n, value))
    texts = [text for (text,) in conn.fetch("select t from as_text order by n")]
    conn.execute("drop table as_text")
    return texts


def test_floats_are_stored_as_python_writes_them(conn: Any) -> None:
    rng = random.Random(7)
    floats = [sign * 2.0**n for n in range(-1074, 1024) for sign in (1, -1)] + TIES
    floats += [struct.unpack("d", rng.randbytes(8))[0] for _ in range(times(2000))]
    floats += [round(rng.uniform(-1e6, 1e6), rng.randrange(12)) for _ in range(times(1000))]
    # A few bits after the point of a large number: halves of what a 17th digit counts.
    floats += [rng.randrange(2**50, 2**53) / 2 ** rng.randrange(8) for _ in range(times(2000))]
    floats += [float(f"{rng.randrange(10**17)}e{rng.randrange(-40, 40)}") for _ in range(times(1000))]
    floats += [10.0**n for n in range(-20, 25)] + [0.0, -0.0, float("inf"), float("-inf"), float("nan")]
    assert stored(conn, floats) == [repr(number) for number in floats]


def test_whole_numbers_are_stored_as_python_writes_them(conn: Any) -> None:
    edges = [sign * 2**n + d for n in (0, 7, 15, 31, 32, 62, 63, 64, 200) for sign in (1, -1) for d in (-1, 0, 1)]
    numbers = [*edges, *(10**n for n in range(25)), True, False]
    assert stored(conn, numbers)[: len(numbers) - 2] == [str(number) for number in numbers[:-2]]


def test_a_number_of_a_subclass_is_stored_as_its_value(conn: Any) -> None:
    assert stored(conn, [Float(0.1), Float(1606968258136646.25), Int(7)]) == ["0.1", "1606968258136646.2", "7"]


def test_dates_are_stored_as_iso_text(conn: Any) -> None:
    days = [dt.date.min, dt.date.max, dt.date(999, 1, 31), dt.date(2024, 2, 29), dt.date(1970, 1, 1)]
    assert stored(conn, days) == [day.isoformat() for day in days]
    # Not datetime.isoformat: the server's own text has a space.
    assert stored(conn, [dt.datetime(2024, 2, 29, 1, 2, 3, 40)]) == ["2024-02-29 01:02:03.00004"]
