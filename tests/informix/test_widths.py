"""Text that is too long for its column is refused: the server would cut it off without a word."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from headrace import errors

Connection = headrace.informix.Connection[Any]

COLUMNS = "n int, v varchar(3), c char(3), l lvarchar(3)"


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("insert into {} (n, v) values (0, ?)", ("abcd",)),
        ("insert into {} (n, c, v) values (?, upper(?), ?)", (1, "abc", "abcd")),
        ("insert into {} (v, n) values (:2, :1)", (1, "abcd")),
        ("update {} set v = ?", ("abcd",)),
        ("update {} set n = n + ?, c = ? where n = ?", (0, "abcd", 1)),
        ("update {} set (n, l) = (?, ?) where n = 1", (1, "abcd")),
        ("update {} set v = :1 where n = :2", ("abcd", 1)),
    ],
)
async def test_too_long_text_is_refused(conn: Connection, aconn: Any, table: str, sql: str, params: Any) -> None:
    conn.execute(f"create table {table} ({COLUMNS})")
    conn.execute(f"insert into {table} values (1, 'a', 'a', 'a')")
    conn.commit()
    before = conn.fetch(f"select * from {table}")
    statement = sql.format(table)
    for _ in range(2):
        with pytest.raises(errors.DataError, match="which holds 3"):
            conn.execute(statement, params)
        with pytest.raises(errors.DataError, match="which holds 3"):
            conn.executemany(statement, [params])
        with pytest.raises(errors.DataError, match="which holds 3"), conn.pipeline():
            conn.execute(statement, params)
        conn.rollback()
        with pytest.raises(errors.DataError, match="which holds 3"):
            await aconn.execute(statement, params)
        with pytest.raises(errors.DataError, match="which holds 3"):
            await aconn.executemany(statement, [params])
        await aconn.rollback()
    assert conn.fetch(f"select * from {table}") == before


def test_text_that_fits_is_taken(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} ({COLUMNS})")
    # Only what becomes the value of a column as it stands has to fit it.
    conn.execute(f"insert into {table} (n, v, c) values (?, substr(?, 1, 3), ? || ?)", (1, "abcdef", "a", "bc"))
    conn.execute(f"update {table} set v = ?, c = substr(?, 2, 3), l = ? where v <> ?", ("xy ", "abcdef", "l", "a" * 99))
    assert conn.fetch(f"select * from {table} where c <> ?", "b" * 99) == [(1, "xy ", "bcd", "l")]
    assert conn.execute(f"update {table} set v = 'no' where v = ?", ("xy zzz",)).rowcount == 0
    conn.executemany(f"update {table} set v = ?, l = ? where n = ?", [("abc", None, 1), (None, "abc", 1)])
    assert conn.fetch(f"select v, l from {table}") == [(None, "abc")]


def test_an_update_takes_what_an_insert_takes(conn: Connection, table: str) -> None:
    conn.execute(
        f"create table {table} (j json, s set(int not null), t text, b byte, k smallint, m money, d date,"
        " e datetime hour to second, i interval year to month)"
    )
    first = ([1, {"a": 2}], [1, 1], "text", b"bytes", True, Decimal("1.25"), dt.date(2024, 2, 29), dt.time(1, 2), None)
    conn.execute(f"insert into {table} values (?, ?, ?, ?, ?, ?, ?, ?, ?)", first)
    before = conn.fetch(f"select * from {table}")
    names = "jstbkmdei"
    conn.execute(f"update {table} set {', '.join(f'{name} = null' for name in names)}")
    conn.execute(f"update {table} set {', '.join(f'{name} = ?' for name in names)}", first)
    assert conn.fetch(f"select * from {table}") == before


def test_a_column_that_was_widened_takes_more(conn: Connection, table: str) -> None:
    conn.autocommit = True
    conn.execute(f"create table {table} ({COLUMNS})")
    conn.execute(f"insert into {table} values (1, 'a', 'a', 'a')")
    update = f"update {table} set v = ? where n = ?"
    with pytest.raises(errors.DataError):
        conn.execute(update, ("abcd", 1))
    conn.execute(f"alter table {table} modify (v varchar(4))")
    conn.execute(update, ("abcd", 1))
    assert conn.fetchval(f"select v from {table}") == "abcd"
    conn.execute(f"alter table {table} modify (v varchar(2))")
    with pytest.raises(errors.DataError, match="which holds 2"):
        conn.execute(update, ("abc", 1))


def test_the_parameters_of_an_update_are_asked_for_once(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} ({COLUMNS})")
    conn.execute(f"insert into {table} values (1, 'a', 'a', 'a')")
    conn.commit()
    update = f"update {table} set v = ? where n = ?"
    with conn.pipeline():
        made = [conn.execute(update, (text, 1)) for text in ("b", "c", "abc")]
    assert [cursor.rowcount for cursor in made] == [1, 1, 1]
    assert conn.fetchval(f"select v from {table}") == "abc"
