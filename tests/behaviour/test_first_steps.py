"""What a newcomer meets first: values by name, columns by name, and errors that say what to do."""

from __future__ import annotations

import datetime
import enum
import uuid
from typing import Any

import numpy
import pytest

import headrace
from headrace import errors
from headrace.postgres.server_errors import error_from_fields
from headrace.types import Interval, Jsonb, Multirange, Range

Conn = headrace.Connection[Any]
UUID = uuid.UUID(int=7)
NEXT = datetime.date(2020, 1, 2)


class Mood(enum.Enum):
    HAPPY = "happy"


@pytest.fixture
def typed(conn: Conn) -> Conn:
    conn.execute("create type mood as enum ('happy', 'sad')")
    conn.execute(
        "create temp table lists (u uuid[], m mood[], d date[], i int[], t text[], n int[], r int8range, q numrange)"
    )
    return conn


@pytest.mark.parametrize(
    ("column", "given", "expected"),
    [
        ("u", [str(UUID)], [UUID]),
        ("m", ["happy", None], ["happy", None]),
        ("m", [Mood.HAPPY], ["happy"]),
        ("d", ["2020-01-02"], [NEXT]),
        ("i", ["1", "2"], [1, 2]),
        ("n", [["1", None], ["3", "4"]], [[1, None], [3, 4]]),
        ("t", ['a"b\\c', "", "null", "{,}"], ['a"b\\c', "", "null", "{,}"]),
        ("t", [], []),
        ("t", [None], [None]),
        ("r", Range(1, 5), Range(1, 5)),
        ("r", Range(1, 2**40), Range(1, 2**40)),
        ("q", Range(1, 5), Range(1, 5)),
    ],
)
def test_lists_of_text_and_ranges_of_numbers_fit_every_column(
    typed: Conn, column: str, given: Any, expected: Any
) -> None:
    sql = f"insert into lists ({column}) values (%s)"
    typed.execute(sql, (given,))
    typed.executemany(sql, [(given,), (None,)])
    assert typed.fetch(f"select {column} from lists") == [(expected,), (expected,), (None,)]


def test_lists_of_text_are_compared_with_every_type(typed: Conn) -> None:
    assert typed.fetchval("select %s::uuid = any(%s)", UUID, [str(UUID)]) is True
    assert typed.fetchval("select 'sad'::mood = any(%s)", ["happy"]) is False
    assert typed.fetchval("select %s::date = any(%s)", NEXT, ["2020-01-02"]) is True
    assert typed.fetchval("select '{[1,3)}'::int8multirange = %s", Multirange([Range(1, 3)])) is True
    assert typed.fetchval("select %s", ["a b", "c"]) == '{"a b",c}'


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (numpy.int64(7), "smallint", 7),
        (numpy.uint8(7), "smallint", 7),
        (numpy.float32(0.5), "double precision", 0.5),
        (numpy.float64(0.5), "double precision", 0.5),
        (numpy.bool_(True), "boolean", True),
    ],
)
def test_scalars_of_numpy_are_numbers(conn: Conn, value: Any, kind: str, expected: Any) -> None:
    assert conn.fetchrow("select %s, pg_typeof(%s)::text", value, value) == (expected, kind)
    assert conn.fetchval(f"select $1::{kind}", value) == expected
    assert conn.fetchval("select %s", [value, value]) == [expected, expected]


@pytest.mark.parametrize("value", [{1, 2}, iter([1]), object()])
def test_what_is_no_value_is_refused(conn: Conn, value: Any) -> None:
    with pytest.raises(errors.ProgrammingError, match="cannot be sent"):
        conn.execute("select %s", (value,))
    assert conn.fetchval("select 1") == 1


def test_the_short_forms_take_a_mapping(conn: Conn) -> None:
    assert conn.fetch("select %(a)s, %(b)s", {"a": 1, "b": 2}) == [(1, 2)]
    assert conn.fetchrow("select %(a)s", {"a": 1}) == (1,)
    with pytest.raises(errors.ProgrammingError, match="one by one"):
        conn.fetchval("select %s + %s", (1, 2))


@pytest.mark.parametrize(
    ("sql", "params", "said"),
    [
        ("select %s", 5, "must be a sequence"),
        ("select %s", "five", "must be a sequence"),
        ("select ?", (5,), r"written %s, %\(name\)s"),
        ("select 1; select 2", None, "executescript"),
    ],
)
def test_mistakes_raise_errors_that_say_what_to_do(conn: Conn, sql: str, params: Any, said: str) -> None:
    with pytest.raises((errors.ProgrammingError, TypeError), match=said):
        conn.execute(sql, params)


def test_a_statement_that_a_pooler_lost_names_the_setting() -> None:
    fields = {"C": "42P05", "M": 'prepared statement "headrace_1" already exists'}
    assert "prepared=False" in str(error_from_fields(fields))


@pytest.mark.parametrize("given", [None, b"postgresql://"])
def test_connect_says_what_it_takes(given: Any) -> None:
    with pytest.raises(errors.ProgrammingError, match="as a str, not"):
        headrace.connect(given)


@pytest.mark.parametrize(("wrong", "meant"), [("databse", "dbname"), ("hostnam", "host"), ("passwrd", "password")])
def test_a_keyword_that_is_unknown_gets_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(errors.ProgrammingError, match=f"did you mean '{meant}'"):
        keywords: Any = {wrong: "x"}
        headrace.connect("", **keywords)


def test_columns_have_names(conn: Conn) -> None:
    cursor = conn.execute("select 1::int4 as id, 2.5::numeric(6,2) as price")
    assert cursor.description is not None
    first, second = cursor.description
    assert (first.name, first.type_code) == ("id", "int4")
    assert first.type_code == 23
    assert first.type_code != 25
    assert (second.precision, second.scale, second[0], len(second)) == (6, 2, "price", 7)


def test_rows_without_returning_are_not_an_empty_result(conn: Conn) -> None:
    cursor = conn.executemany("select %s::int", [(1,), (2,)])
    assert cursor.rowcount == 2
    with pytest.raises(errors.ProgrammingError, match="returning=True"):
        cursor.fetchall()
    assert cursor.execute("select 3").fetchall() == [(3,)]
    assert cursor.executemany("select %s::int", [(4,)], returning=True).fetchall() == [(4,)]


def test_a_closed_connection_is_both_errors_of_pep_249(url: str) -> None:
    conn = headrace.connect(url)
    conn.close()
    for use in (
        lambda: conn.execute("select 1"),
        conn.commit,
        conn.rollback,
        conn.cursor,
        lambda: conn.fetch("select 1"),
    ):
        with pytest.raises(errors.ConnectionClosed) as caught:
            use()
        assert isinstance(caught.value, headrace.InterfaceError)
        assert isinstance(caught.value, headrace.OperationalError)


def test_intervals_are_reckoned_with(conn: Conn) -> None:
    start, span = datetime.datetime(2020, 1, 31, 12), Interval(1, 2, 3_000_000)
    assert conn.fetchval("select %s + %s", start, span) == start + span == span + start
    assert conn.fetchval("select %s - %s", start, span) == start - span
    assert datetime.date(2020, 1, 31) + Interval(1) == datetime.date(2020, 2, 29)
    assert conn.fetchval("select %s::interval", str(span)) == span
    assert span + datetime.timedelta(1) - Interval(1) == Interval(0, 3, 3_000_000) == -Interval(0, -3, -3_000_000)
    assert (headrace.apilevel, headrace.threadsafety, headrace.paramstyle) == ("2.0", 2, "pyformat")
    assert conn.fetchval("select '{}'::jsonb || %s", Jsonb({"a": 1})) == {"a": 1}
