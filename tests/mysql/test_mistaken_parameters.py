"""What MariaDB or MySQL makes otherwise of parameters than of literals is sent as text."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

import pytest

import headrace.mysql
from headrace import errors
from served import fresh

from .literals import literal

Conn = headrace.mysql.Connection[Any]
D = decimal.Decimal
LATE = dt.timedelta(seconds=-3)


@pytest.fixture(autouse=True)
def table(my: Conn) -> None:
    fresh(my, "table codes (id int primary key, code varchar(20), n int, at datetime)")
    rows = "(1, '05', 1, '2024-01-01'), (2, 'two words', 2, '2024-01-02'), (3, NULL, NULL, NULL)"
    my.executescript(f"INSERT INTO codes VALUES {rows}")


OPERANDS = [
    ("? IN (SELECT code FROM codes)", [5, 0, 7, "05", 5.0, None]),
    ("? NOT IN (SELECT code FROM codes WHERE id < 3)", ["x", 0, 5, 6]),
    ("NOT (? IN (SELECT q.code FROM codes q WHERE q.id = 2))", [0, 1, "two words"]),
    ("(?, 1) IN (SELECT code, n FROM codes)", [5, "05", "5"]),
    ("? = ANY (SELECT code FROM codes)", [5, 6, "05"]),
    ("? <> ALL (SELECT code FROM codes WHERE id < 3)", [5, 6, 0, "05"]),
    ("? = SOME (SELECT n + 0 FROM codes)", [1, "1", 1.5]),
]
PATTERNS = [
    ("code REGEXP ?", ["w", None, "5", None]),
    ("NOT (code REGEXP ?)", ["w", None, "0"]),
    ("code NOT RLIKE ?", ["w", None]),
    ("NOT (code REGEXP concat(?, ''))", ["0", None, "t"]),
    ("regexp_replace(code, ?, 'x') = code", ["q", None, "0"]),
    ("coalesce(regexp_instr(code, ?), -1) < 1", ["w", None, "0"]),
    ("coalesce(regexp_substr(code, ?), 'none') = 'none'", ["w", None, "0"]),
]


def outcome(execute: Callable[..., Any], *args: Any) -> Any:
    """The rows, or the number of the error."""
    try:
        return execute(*args).fetchall()
    except errors.Error as error:
        return error.sqlcode


@pytest.mark.parametrize(("condition", "values"), OPERANDS + PATTERNS)
def test_conditions_are_those_of_literals(my: Conn, condition: str, values: list[Any]) -> None:
    query = f"SELECT id FROM codes WHERE {condition} ORDER BY id"
    for value in values:
        by_hand = my.executescript(query.replace("?", literal(value))).fetchall()
        assert (value, my.fetch(query, value)) == (value, by_hand)


NOT_UTF8 = [b"\xe4", b"a\xff", b"\xffa", b"\xc3\xa4", b"a", b"", b"A"]


@pytest.mark.servers("mariadb", "mysql", "mysql80")
@pytest.mark.parametrize("column", ["s", "l", "bin", "t", "b", "e"])
@pytest.mark.parametrize("condition", ["= ?", "<> ?", "IN (?, ?)", "LIKE ?", "> ?"])
def test_bytes_that_are_no_text_are_not_found_in_text(my: Conn, column: str, condition: str) -> None:
    columns = (
        "s varchar(9), l varchar(9) character set latin1, bin varchar(9) collate utf8mb4_bin, t text, b varbinary(9)"
    )
    fresh(my, f"table texts (id int primary key, {columns}, e enum('', 'a', '?'))")
    my.executemany(
        "INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)", [(n, *[v] * 6) for n, v in enumerate(["", "a", "?"])]
    )
    query = f"SELECT id FROM texts WHERE {column} {condition} ORDER BY id"
    for value in NOT_UTF8:
        by_hand = outcome(my.executescript, query.replace("?", f"_binary x'{value.hex()}'"))
        assert (value, outcome(my.execute, query, (value,) * query.count("?"))) == (value, by_hand)


@pytest.mark.servers("mariadb", "mysql", "mysql80")
@pytest.mark.parametrize("source", ["codes", "twice", "(SELECT id, n FROM codes UNION SELECT id, 0 - n FROM codes) q"])
@pytest.mark.parametrize("condition", ["n = ?", "n IN (?, ?)", "n < ?", "n BETWEEN ? AND ?", "? >= n"])
def test_numbers_with_fractions_are_no_integers(my: Conn, source: str, condition: str) -> None:
    my.execute("CREATE OR REPLACE VIEW twice AS SELECT id, n FROM codes UNION ALL SELECT 9, 5")
    query = f"SELECT id FROM {source} WHERE {condition} ORDER BY id"
    for value in (1, D("0.5"), 1.1, D("0.0001"), 1e300, D("1.0"), 2.0, 1):
        by_hand = my.executescript(query.replace("?", literal(value))).fetchall()
        assert (value, my.fetch(query, *[value] * query.count("?"))) == (value, by_hand)


@pytest.mark.servers("mariadb", "mysql", "mysql80")
@pytest.mark.parametrize(
    "condition", ["at = ?", "at IN (?)", "at <> ?", "at BETWEEN ? AND ?", "? <= at", "NOT (at > ?)"]
)
def test_a_time_with_more_decimals_than_its_column_is_no_other_time(my: Conn, condition: str) -> None:
    fresh(my, "table instants (id int primary key, at time, short time(3), day date)")
    my.execute("INSERT INTO instants VALUES (1, '00:00:01', '00:00:01.001', '2024-01-01'), (2, '00:00:02', NULL, NULL)")
    whole, late = dt.timedelta(seconds=1), dt.datetime(2024, 1, 1, 0, 0, 0, 500_000)
    cases: list[tuple[str, list[dt.date | dt.time | dt.timedelta]]] = [
        ("at", [whole, dt.time(0, 0, 1, 500_000), dt.timedelta(seconds=1, microseconds=1), -whole, whole]),
        ("short", [dt.timedelta(milliseconds=1001), dt.timedelta(microseconds=1_000_600), whole]),
        ("day", [dt.date(2024, 1, 1), late, late.replace(microsecond=0)]),
    ]
    for column, values in cases:
        query = f"SELECT id FROM instants WHERE {condition.replace('at', column)} ORDER BY id"
        for value in values:
            by_hand = my.executescript(query.replace("?", literal(value))).fetchall()
            assert (value, my.fetch(query, *[value] * query.count("?"))) == (value, by_hand)
    assert my.execute("DELETE FROM instants WHERE at = ?", (dt.time(0, 0, 1, 500),)).rowcount == 0


@pytest.mark.servers("mariadb", "mysql", "mysql80")
def test_a_time_is_stored_as_text_with_all_its_decimals(my: Conn) -> None:
    fresh(my, "table printed (id int primary key, s varchar(20))")
    for number, micros in enumerate((0, 500, 0, 250_000)):
        my.execute("INSERT INTO printed VALUES (?, ?)", (number, dt.time(0, 0, 1, micros)))
    stored = [("00:00:01",), ("00:00:01.000500",), ("00:00:01",), ("00:00:01.250000",)]
    assert [(s.removesuffix(".000000"),) for (s,) in my.fetch("SELECT s FROM printed ORDER BY id")] == stored


async def test_conditions_on_a_loop(amy: Any) -> None:
    async with amy.pipeline():
        cursors = [await amy.execute("SELECT 'x' REGEXP ?", (pattern,)) for pattern in ("x", None, "y")]
    assert [await cursor.fetchone() for cursor in cursors] == [(1,), (None,), (0,)]
    assert await amy.fetchval("SELECT count(*) FROM codes WHERE ? IN (SELECT 'two words')", 0) == 3


def test_rows_of_a_batch_are_not_deleted_for_a_pattern_of_null(my: Conn) -> None:
    my.executemany("DELETE FROM codes WHERE NOT (code REGEXP ?)", [("[0-9w]",), (None,)])
    assert my.fetchval("SELECT count(*) FROM codes") == 3
    my.execute("DELETE FROM codes WHERE id = 2")
    my.executemany("UPDATE codes SET n = 7 WHERE ? IN (SELECT * FROM (SELECT code FROM codes) q)", [(8,), (5,)])
    assert my.fetch("SELECT DISTINCT n FROM codes") == [(7,)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("? + 0", -3),
        ("? * 2", -6),
        ("-?", 3),
        ("abs(?)", 3),
        ("adddate(date'2024-01-10', ?)", dt.date(2024, 1, 7)),
        ("left('abcdef', 5 + ?)", "ab"),
    ],
)
def test_a_negative_time_keeps_its_sign_in_an_expression(my: Conn, expression: str, expected: Any) -> None:
    query = f"SELECT {expression}"
    assert my.fetchval(query, LATE) == expected
    for value in (dt.timedelta(seconds=3), LATE, None, LATE):
        given = my.fetchval(query, value)
    assert given == expected
    with my.pipeline():
        cursors = [my.execute(query, (LATE,)) for _ in range(2)]
    assert [cursor.fetchone() for cursor in cursors] == [(expected,)] * 2
    assert [*my.stream(query, (LATE,), on_server=True)] == [(expected,)]


def test_a_number_of_rows_is_one_in_each_row_of_a_batch(my: Conn) -> None:
    for wrong in (-1, "x"):
        with pytest.raises(headrace.Error):
            my.executemany("DELETE FROM codes WHERE id > ? LIMIT ?", [(2, 1), (0, wrong)])
        assert my.fetchval("SELECT count(*) FROM codes") == 3
    my.executemany("DELETE FROM codes WHERE id > ? LIMIT ?", [(2, 1), (0, 1)])
    assert my.fetchval("SELECT count(*) FROM codes") == 1


@pytest.mark.parametrize("strategy", ["one", "several"])
def test_a_negative_time_keeps_its_sign_in_a_batch(my: Conn, strategy: str) -> None:
    my.execute("UPDATE codes SET n = 10")
    rows = [(LATE, 1), (LATE, 2)][: 1 if strategy == "one" else 2]
    my.executemany("UPDATE codes SET n = n + ? WHERE id = ?", rows)
    assert my.fetch("SELECT n FROM codes WHERE id < 3") == [(7,), (10 if strategy == "one" else 7,)]
    my.executemany("INSERT INTO codes (n, id) VALUES (? + 1, ?)", [(LATE, 11), (LATE, 12)])
    assert my.fetch("SELECT n FROM codes WHERE id > 10") == [(-2,), (-2,)]


@pytest.mark.parametrize("first", [None, 1, D("1.5"), "1"])
def test_a_negative_time_keeps_its_sign_in_a_later_row(my: Conn, first: Any) -> None:
    my.execute("UPDATE codes SET n = 10")
    my.executemany("UPDATE codes SET n = n + ? WHERE id = ?", [(first, 1), (LATE, 2), (first, 3)])
    assert my.fetchval("SELECT n FROM codes WHERE id = 2") == 7
    my.executemany("INSERT INTO codes (n, id) VALUES (? + 1, ?)", [(first, 11), (LATE, 12), (-LATE, 13), (LATE, 14)])
    assert my.fetch("SELECT n FROM codes WHERE id > 11 ORDER BY id") == [(-2,), (4,), (-2,)]


async def test_a_negative_time_in_a_later_row_on_a_loop(amy: Any) -> None:
    await amy.execute("UPDATE codes SET n = 10")
    await amy.executemany("UPDATE codes SET n = n + ? WHERE id = ?", [(None, 1), (LATE, 2)])
    assert await amy.fetchval("SELECT n FROM codes WHERE id = 2") == 7


@pytest.mark.servers("mariadb", "mysql", "mysql80")
def test_what_was_executed_without_its_values_is_written_with_them(my: Conn) -> None:
    query = "SELECT CAST(? AS CHAR)"
    for _ in range(2):
        with pytest.raises(headrace.Error, match="1 parameter"):
            my.execute(query)
        assert my.fetchval(query, LATE) == "-00:00:03"
