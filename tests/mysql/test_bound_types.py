"""The result of a statement depends on its own values, and not on those of earlier executions.

MySQL settles the types of parameters when it prepares a statement, and converts what does not fit.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from served import fresh

D = decimal.Decimal
VALUES: dict[str, Any] = {
    "int": 5, "unsigned": 2**64 - 1, "wide": 2**70, "bool": True, "float": 1.5, "decimal": D("12345678901234567.125"),
    "text": "x", "number as text": "12345678901234567.125", "timestamp as text": "2021-02-03 04:05:06.5",
    "bytes": b"ab", "null": None, "date": dt.date(2020, 1, 2), "datetime": dt.datetime(2020, 1, 2, 3, 4, 5, 600_000),
    "time": dt.timedelta(hours=30, microseconds=5),
}  # fmt: skip
QUERIES = [
    "select ?",
    "select coalesce(?, null)",
    "select concat(?, '')",
    "select case when 1 then ? else null end",
    "select ? + 1",
    "select * from (select ? as a) x",
    "select count(*) from kinds where t = ?",
    "select count(*) from kinds where n = ?",
    "select count(*) from kinds where d = ?",
]
COLUMNS = {
    "n": "bigint", "t": "varchar(90)", "p": "decimal(40,10)", "f": "double", "d": "date", "m": "datetime(6)",
    "s": "time(6)", "j": "json",
}  # fmt: skip


@pytest.fixture(scope="module")
def conn(my_url: str) -> Iterator[headrace.mysql.Connection[Any]]:
    with headrace.mysql.connect(my_url, autocommit=True, sql_mode="", unrepresentable="text") as connection:
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        fresh(connection, f"table kinds ({columns})")
        fresh(connection, f"table held ({columns})")
        connection.execute("insert into kinds (n, t, d) values (5, 'x', '2020-01-02'), (0, '2020-01-02', null)")
        yield connection


def outcome(conn: Any, query: str, value: Any) -> Any:
    """The value, or the error's number."""
    try:
        return conn.fetchval(query, value)
    except errors.DatabaseError as error:
        return type(error), error.sqlcode


def the_same(query: str, ask: Any) -> None:
    """Each value after each other one has the same result as alone: a comment makes the statement another one."""
    # Which kind of number a text is where it is reckoned with, MySQL does not say the same way twice.
    names = [name for name in VALUES if not (" as text" in name and "+" in query)]
    alone = {name: ask(f"{query} -- {name}", VALUES[name]) for name in names}
    for before in names:
        for name in names:
            text = f"{query} -- {before} {name}"
            ask(text, VALUES[before])
            got = ask(text, VALUES[name])
            assert (type(got), got) == (type(alone[name]), alone[name]), f"{query}: {name} after {before}"


@pytest.mark.parametrize("query", QUERIES)
def test_queries(conn: Any, query: str) -> None:
    the_same(query, lambda text, value: outcome(conn, text, value))


@pytest.mark.parametrize("form", ["insert into held ({}) values (?)", "update held set {} = ?"])
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.slow
def test_what_is_stored(conn: Any, column: str, form: str) -> None:
    def ask(text: str, value: Any) -> Any:
        conn.execute("delete from held")
        if form.startswith("update"):
            conn.execute("insert into held (n) values (1)")
        try:
            conn.execute(text, (value,))
        except errors.DatabaseError as error:
            # Which of two errors it is, MySQL does not say the same way for every type.
            return type(error).__mro__[1]
        return conn.fetchval(f"select {column} from held")

    the_same(form.format(column), ask)


def test_rows_of_one_batch(conn: Any) -> None:
    conn.execute("delete from held")
    # Fractions of a second are lost where a timestamp becomes text, but not with every strategy.
    values = [value for name, value in VALUES.items() if name not in ("bytes", "wide", "datetime", "time")]
    conn.executemany("insert into held (n) values (?)", [(n,) for n in range(len(values))])
    conn.executemany("update held set t = ? where n = ?", [(value, n) for n, value in enumerate(values)])
    together = conn.fetch("select t from held order by n")
    for n, value in enumerate(values):
        conn.execute(f"update held set t = ? where n = ? -- {n}", (value, n))
    assert together == conn.fetch("select t from held order by n")
    asked = [1.5, "x", 7, None, decimal.Decimal("1.25"), "y"]
    assert conn.fetchmany("select ? as a", [(value,) for value in asked]) == [(value,) for value in asked]


def test_cursors_on_the_server(conn: Any) -> None:
    query = "select ? as a from kinds"
    for value in (1.5, "x", 7, dt.date(2020, 1, 2), "y"):
        assert list(conn.stream(query, (value,), fetch_size=1, on_server=True)) == [(value,), (value,)]


def test_pipelines(conn: Any) -> None:
    values = [1.5, "x", 7, None, dt.date(2020, 1, 2), "y", 2, 2.5]
    with conn.pipeline():
        cursors = [conn.execute("select ? as b", (value,)) for value in values]
    assert [cursor.fetchone() for cursor in cursors] == [(value,) for value in values]


async def test_on_a_loop(my_url: str) -> None:
    async with await headrace.aio.mysql.connect(my_url) as conn:
        for value in (1.5, "x", 7, dt.date(2020, 1, 2), "y"):
            assert await conn.fetchval("select ?", value) == value


def test_a_column_that_gets_another_character_set(my: Any) -> None:
    fresh(my, "table migrated (s varchar(20) character set latin1, n int)")
    insert, update = "insert into migrated values (?, ?)", "update migrated set n = n + 1 where s = ?"
    for statement in (update, "select n from migrated where s = ?"):
        my.execute(statement, ("\u00e9",))
    my.execute(insert, ("\u00e9", 1))
    my.execute("alter table migrated convert to character set utf8mb4")
    assert my.execute(insert, ("\u4e2d", 1)).rowcount == 1
    assert my.execute(update, ("\u4e2d",)).rowcount == 1
    assert my.fetch("select n from migrated where s = ?", "\u4e2d") == [(2,)]


@pytest.mark.parametrize(
    "column", ["datetime(6)", "datetime(3)", "datetime", "timestamp(6)", "date", "varchar(40)", "blob"]
)
def test_timestamps_with_and_without_a_fraction(my: Any, my_url: str, column: str) -> None:
    whole = dt.datetime(2020, 1, 2, 3, 4, 5)
    values: list[Any] = [whole, whole.replace(microsecond=678_901), whole, "2020-01-02 03:04:05.5", dt.date(2020, 1, 2)]
    values += [None, whole, whole.replace(microsecond=1), whole.replace(microsecond=999_999), whole]
    stored: list[Any] = []
    with headrace.mysql.connect(my_url, autocommit=True, prepared=False) as by_text:
        for conn in (my, by_text):
            fresh(my, f"table stamps (m {column}, n int)")
            for n, value in enumerate(values):
                conn.execute("insert into stamps values (?, ?)", (value, n))
            stored.append(my.fetch("select m from stamps order by n"))
    assert stored[0] == stored[1]


def test_text_that_a_column_cannot_hold_is_a_data_error(my: Any) -> None:
    fresh(my, "table narrow (s varchar(20) character set latin1)")
    for _ in range(2):
        with pytest.raises(errors.DataError):
            my.execute("insert into narrow values (?)", ("\u4e2d",))
    assert my.fetch("select * from narrow") == []


@pytest.mark.parametrize("column", ["bit(9)", "bit(64)", "time(6)", "time", "date", "datetime(3)", "timestamp null"])
def test_what_is_stored_as_bits_or_times_does_not_depend_on_what_was_before(my_url: str, column: str) -> None:
    values: list[Any] = ["12", "7", "-7", "12", b"5", "5 ", 5, "12", "x", True, 2**64 - 1, 101, 20240229, 1.5, None]
    values += [decimal.Decimal("101.5"), -1, dt.timedelta(hours=1), dt.date(2024, 2, 29), "12", b"12"]
    insert = "insert into bits_or_times (v, n) values (?, ?)"
    stored: list[Any] = []
    for prepared in (True, False):
        with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared) as conn:
            fresh(conn, f"table bits_or_times (n int, v {column})")
            for n, value in enumerate(values):
                with contextlib.suppress(errors.DatabaseError):
                    conn.execute(insert, (value, n))
            stored.append(conn.fetch("select n, hex(v), v from bits_or_times order by n"))
    assert stored[0] == stored[1]


@pytest.mark.parametrize("sql_mode", ["", "STRICT_ALL_TABLES"])
@pytest.mark.parametrize("form", ["insert into counted (v, n) values (?, ?)", "update counted set v = ? where n = ?"])
def test_what_is_stored_in_a_column_of_numbers_is_its_literal(my_url: str, form: str, sql_mode: str) -> None:
    moment = dt.datetime(2024, 2, 29, 13, 14, 15, 678_901)
    values = [
        5,
        moment,
        moment.replace(microsecond=0),
        moment.date(),
        moment.time(),
        dt.timedelta(hours=900),
        moment,
        7,
    ]
    for column in ("int", "bigint", "decimal(30,6)", "double", "tinyint unsigned", "bit(60)", "year"):
        stored: list[Any] = []
        for prepared in (True, False):
            with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared, sql_mode=sql_mode) as conn:
                fresh(conn, f"table counted (n int, v {column})")
                if form.startswith("update"):
                    conn.executemany("insert into counted (n) values (?)", [(n,) for n in range(len(values))])
                for n, value in enumerate(values):
                    with contextlib.suppress(errors.DatabaseError):
                        conn.execute(form, (value, n))
                stored.append(conn.fetch("select n, v from counted order by n"))
        assert stored[0] == stored[1], column


@pytest.mark.parametrize("before", ["int", "double", "decimal(20,2)", "datetime(6)", "time(6)", "year", "bit(8)"])
@pytest.mark.parametrize("statement", ["insert into became values (?)", "update became set v = ?"])
def test_text_is_stored_as_text_after_another_session_has_made_the_column_one_of_text(
    my: Any, my_url: str, before: str, statement: str
) -> None:
    texts = ["007", "1e3", "2024-02-29 10:11:12.123456", "10:11:12.123456", "1.50"]
    first = {"datetime(6)": "2024-02-29 01:02:03.5", "time(6)": "01:02:03.5", "year": "2024", "bit(8)": "a"}
    for text in texts:
        fresh(my, f"table became (v {before})")
        with headrace.mysql.connect(my_url, autocommit=True) as conn:
            conn.execute(statement, (first.get(before, "5"),))
            my.execute("delete from became")
            my.execute("alter table became modify v varchar(40)")
            my.execute("insert into became values ('')")
            conn.execute(statement, (text,))
        assert my.fetchval("select max(v) from became") == text


LACKING = "\u4e2d"
"""A character that latin1 lacks."""


def _outcome(cursor: Any) -> Any:
    return cursor.fetchall() if cursor.description else cursor.rowcount


def _execute(conn: Any, sql: str) -> Any:
    return _outcome(conn.execute(sql, (LACKING,)))


def _after_ascii(conn: Any, sql: str) -> Any:
    conn.execute(sql, ("a",))
    return _execute(conn, sql)


def _piped_again(conn: Any, sql: str) -> Any:
    _execute(conn, sql)
    conn.execute("delete from narrow where n > 1")
    with conn.pipeline():
        cursors = [conn.execute(sql, ("a",)), conn.execute(sql, (LACKING,))]
    return [_outcome(cursor) for cursor in cursors]


def _many(conn: Any, sql: str) -> Any:
    conn.executemany(sql, [("a",), ("\u00e9",), (LACKING,), ("b",)])
    return []


@pytest.mark.parametrize("way", [_execute, _after_ascii, _piped_again, _many])
@pytest.mark.parametrize("sql_mode", ["", "STRICT_ALL_TABLES"])
def test_a_character_that_a_column_lacks_means_what_it_means_as_a_literal(my_url: str, way: Any, sql_mode: str) -> None:
    found: list[Any] = []
    statements = [
        "select n from narrow where s = ?",
        "select n from narrow where s <> ? order by n",
        "select n from narrow where s in (?, 'a') order by n",
        "update narrow set n = n + 1 where s = ?",
        "update narrow set s = ? where n = 1",
        "insert into narrow (s, n) values (?, 2)",
        "delete from narrow where s = ?",
    ]
    for prepared in (True, False):
        with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared, sql_mode=sql_mode) as conn:
            for statement in statements:
                if way is _many and statement.startswith("select"):
                    continue
                fresh(conn, "table narrow (s varchar(20) character set latin1, n int)")
                conn.execute("insert into narrow values ('a', 1), ('?', 1)")
                try:
                    rows = way(conn, statement)
                except errors.DatabaseError:
                    rows = "refused"
                found.append((statement, rows, conn.fetch("select s, n from narrow order by s, n")))
    half = len(found) // 2
    assert found[:half] == found[half:]


@pytest.mark.servers("mysql")
def test_a_batch_into_a_table_without_transactions_is_not_sent_twice(my_url: str) -> None:
    with headrace.mysql.connect(my_url, autocommit=True, sql_mode="") as conn:
        fresh(conn, "table narrow (s varchar(20) character set latin1, n int) engine = myisam")
        conn.execute("insert into narrow values ('a', 0), ('b', 0)")
        rows = [(1, "a"), (1, LACKING), (1, "b")]
        with pytest.raises(errors.DataError, match="could not be undone"):
            conn.executemany("update narrow set n = n + ? where s = ?", rows)
        assert all(n < 2 for (n,) in conn.fetch("select n from narrow"))


def test_bytes_without_a_context_are_bytes(my: Any) -> None:
    assert my.fetchval("select ?", b"\xff") == b"\xff"
    assert my.fetchval("with c as (select ? as a) select a from c", b"\xff") == b"\xff"


@pytest.mark.servers("mariadb")
def test_bytes_in_a_column_of_text_that_are_no_text_are_a_data_error(my: Any) -> None:
    with pytest.raises(errors.DataError, match="not text in UTF-8") as caught:
        my.fetchval("select json_array(?)", b"\xff")
    assert isinstance(caught.value.__cause__, UnicodeDecodeError)
