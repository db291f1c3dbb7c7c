"""Random values of every type, as headrace and pycubrid write and read them: both read the same from one table, and
what headrace has written is what was given."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pycubrid
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import headrace.cubrid
from headrace.cubrid.settings import connect_options
from live import CUBRID_URL
from long import NIGHT, times

EXAMPLES = times(15)
CHARACTERS = st.characters(min_codepoint=1, exclude_categories=("Cs",), exclude_characters="\x1a")
"""pycubrid refuses Ctrl-Z in a text."""
TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59))
ZONED = st.datetimes(dt.datetime(1972, 1, 1), dt.datetime(2036, 12, 31))
OFFSETS = st.integers(-11 * 60, 13 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))


def numerics(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**digits) + 1, 10**digits - 1).map(lambda number: Decimal(f"{number}e-{scale}"))


def millis(when: dt.datetime) -> dt.datetime:
    return when.replace(microsecond=when.microsecond // 1000 * 1000)


COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "short": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "numeric(38,0)": numerics(38, 0),
    "numeric(20,7)": numerics(20, 7),
    "varchar(40)": st.text(CHARACTERS, max_size=40),
    "string": st.text(CHARACTERS, max_size=400),
    "char(7)": st.text(CHARACTERS.filter(lambda one: one != " "), min_size=7, max_size=7),
    "bit varying(800)": st.binary(min_size=1, max_size=100),
    "date": st.dates(),
    "time": st.times().map(lambda time: time.replace(microsecond=0)),
    "timestamp": ZONED.map(lambda when: when.replace(microsecond=0)),
    "datetime": TIMES.map(millis),
    "datetimetz": st.builds(lambda when, zone: millis(when).replace(tzinfo=zone), ZONED, OFFSETS),
    "list(int)": st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=5),
    "multiset(varchar(9))": st.lists(st.text("abcdefghé한", min_size=1, max_size=9), min_size=1, max_size=4).map(
        sorted
    ),
}
ROW = st.tuples(*(strategy | st.none() for strategy in COLUMNS.values()))
INSERT = f"insert into hr_two values ({', '.join('?' * (1 + len(COLUMNS)))})"
ENDLESS = {"float", "double"}
"""pycubrid writes these as decimal literals, of which the server has another last digit now and then."""
BY_ONE_ONLY = {"bit varying(800)", "list(int)", "multiset(varchar(9))", "datetimetz"}
"""pycubrid has classes of its own for these parameters, or writes them without their zone."""


CHOSEN = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not NIGHT,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
"""The same values each time, but in a long run. A row that fails is not made smaller: it is one of few."""


@pytest.fixture
def both(url: str) -> Iterator[tuple[Any, Any]]:
    """The connections, and an empty table."""
    options = connect_options(url, {})
    host, port = options.hosts[0]
    ours = headrace.cubrid.connect(url, autocommit=True, lock_timeout=20)
    theirs = pycubrid.connect(
        host=host, port=port, database=options.database, user=options.user, password="", decode_collections=True
    )
    ours.execute("drop table if exists hr_two")
    columns = ", ".join(f"c{n} {name}" for n, name in enumerate(COLUMNS))
    ours.execute(f"create table hr_two (n int, {columns})")
    yield ours, theirs
    theirs.close()
    ours.execute("drop table hr_two")
    ours.close()


def plain(value: Any) -> Any:
    """Equal for equal values of both drivers, and for those alone."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        # headrace returns instants in UTC.
        return value.astimezone(dt.timezone.utc)
    if isinstance(value, list | tuple | set | frozenset):
        return sorted(value)
    if isinstance(value, float):
        # The test server has no negative zero.
        return value, math.copysign(1, value) if value or CUBRID_URL else 1
    return value


def rows_of(conn: Any) -> list[list[Any]]:
    cursor = conn.cursor()
    cursor.execute("select * from hr_two order by n")
    rows = [[plain(value) for value in row] for row in cursor.fetchall()]
    cursor.close()
    return rows


@CHOSEN
@given(rows=st.lists(ROW, min_size=1, max_size=4))
def test_both_read_what_headrace_has_written(both: tuple[Any, Any], rows: list[tuple[Any, ...]]) -> None:
    ours, theirs = both
    theirs.rollback()
    ours.execute("delete from hr_two")
    numbered = [(n, *row) for n, row in enumerate(rows)]
    ours.execute(INSERT, numbered[0])
    ours.executemany(INSERT, numbered[1:])
    wanted = [[plain(value) for value in row] for row in numbered]
    assert rows_of(ours) == wanted
    assert rows_of(theirs) == wanted
    theirs.commit()


@CHOSEN
@given(row=ROW)
def test_both_read_what_pycubrid_has_written(both: tuple[Any, Any], row: tuple[Any, ...]) -> None:
    ours, theirs = both
    theirs.rollback()
    ours.execute("delete from hr_two")
    given_to_it = [None if name in BY_ONE_ONLY else value for name, value in zip(COLUMNS, row, strict=True)]
    cursor = theirs.cursor()
    cursor.execute(INSERT, (0, *given_to_it))
    cursor.close()
    theirs.commit()
    found = rows_of(ours)
    assert found == rows_of(theirs)
    theirs.commit()
    for name, value, there in zip(COLUMNS, given_to_it, found[0][1:], strict=True):
        if name not in ENDLESS:
            assert there == plain(value), name
        elif value is not None:
            assert math.isclose(there[0], value, rel_tol=1e-6 if name == "float" else 1e-14), name
