"""A list is accepted after IN, or as a VECTOR; elsewhere it is refused before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace.compat.mysqldb
import headrace.mysql
from headrace import errors
from headrace.types import Json
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]

REFUSED = {
    "text column": "insert into lists (a) values (%s)",
    "json column": "insert into lists (j) values (%s)",
    "bytes column": "insert into lists (b) values (%s)",
    "number column": "update lists set n = %s",
    "parentheses of IN": "select * from lists where n in (%s)",
    "comparison": "select * from lists where a = %s",
    "expression": "select %s",
}
LISTS = {
    "floats": [2.0],
    "numbers": [1, 2.5],
    "integers": [1, 2],
    "texts": ["a", "b"],
    "nothing": [],
    "tuple": (1, 2),
}
WAYS: dict[str, Callable[[Conn, str, Any], Any]] = {
    "execute": lambda conn, sql, value: conn.execute(sql, (value,)),
    "executemany": lambda conn, sql, value: conn.executemany(sql, [(value,)]),
    "stream": lambda conn, sql, value: [*conn.stream(sql, (value,))],
    "on_server": lambda conn, sql, value: [*conn.stream(sql, (value,), on_server=True)],
}


@pytest.fixture(scope="module")
def table(my_url: str) -> str:
    with headrace.mysql.connect(my_url, autocommit=True) as conn:
        fresh(conn, "table lists (n int, a varchar(40), j json, b varbinary(40))")
        conn.execute("insert into lists (n) values (1)")
    return my_url


def is_vector(kind: str, place: str, prepared: bool) -> bool:
    """Returns true if MySQL 9 takes it as a VECTOR; of a text that is not prepared it does not say what it expects."""
    written = place in ("text column", "bytes column", "json column", "expression")
    return kind == "floats" and place != "parentheses of IN" and (written or not prepared)


CASES = [(kind, place, prepared) for kind in LISTS for place in REFUSED for prepared in (True, False)]


def refuses(url: str, kind: str, place: str, prepared: bool) -> None:
    """Each way to send it says so, and what to do, and stores nothing."""
    with headrace.mysql.connect(url, autocommit=True, prepared=prepared) as conn:
        for run in WAYS.values():
            with pytest.raises(errors.ProgrammingError, match="cannot be sent as one parameter") as caught:
                run(conn, REFUSED[place], LISTS[kind])
            assert "IN %s" in str(caught.value)
            assert "headrace.types.Json" in str(caught.value)
        assert conn.fetch("select n, a, j, b from lists") == [(1, None, None, None)]


@pytest.mark.parametrize(("kind", "place", "prepared"), [case for case in CASES if not is_vector(*case)])
def test_list_elsewhere_than_after_in_is_refused(table: str, kind: str, place: str, prepared: bool) -> None:
    refuses(table, kind, place, prepared)


@pytest.mark.servers("mariadb")
@pytest.mark.parametrize(("kind", "place", "prepared"), [case for case in CASES if is_vector(*case)])
def test_list_of_floats_is_refused_where_there_is_no_vector(table: str, kind: str, place: str, prepared: bool) -> None:
    refuses(table, kind, place, prepared)


@pytest.mark.servers("mariadb", "mysql", "mariadb118")
@pytest.mark.parametrize("prepared", [True, False], ids=["binary", "text"])
def test_list_is_for_in_and_json_has_its_wrapper(table: str, prepared: bool) -> None:
    with headrace.mysql.connect(table, prepared=prepared) as conn:
        assert conn.fetch("select n from lists where n in %s", [1.0, 2.0]) == [(1,)]
        assert conn.fetch("select n from lists where n in %s", (1, 2)) == [(1,)]
        with pytest.raises(errors.ProgrammingError, match="IN %s"):
            conn.fetch("select n from lists where n in (%s)", [1.0, 2.0])
        conn.execute("update lists set j = %s", (Json([1, 2.5, "x"]),))
        assert conn.fetchval("select json_extract(j, '$[2]') from lists") == "x"


@pytest.mark.servers("mysql")
def test_prepared_statement_takes_a_list_only_where_a_vector_is_expected(table: str) -> None:
    with headrace.mysql.connect(table) as conn:
        fresh(conn, "table vectors (v vector(2), t text)")
        conn.execute("insert into vectors (v) values (%s)", ([1, 2.5],))
        assert conn.fetchval("select v from vectors") == [1.0, 2.5]
        with pytest.raises(errors.ProgrammingError, match="expects no VECTOR here"):
            conn.execute("insert into vectors (v, t) values (%s, %s)", ([1.0, 2.5], [1.0]))


@pytest.mark.servers("mysql")
@pytest.mark.parametrize("prepared", [True, False])
def test_bytes_of_text_and_numbers_are_no_vector(my_url: str, prepared: bool) -> None:
    text, number = "[1.0,2.0,30]", 1234
    with headrace.mysql.connect(my_url, autocommit=True, local_infile=True, prepared=prepared) as conn:
        fresh(conn, "table embedded (id int, v vector(3), w vector(1))")
        conn.execute("insert into embedded values (1, ?, null), (2, null, ?)", (b"\0" * 12, b"\0" * 4))
        for column, value in (("v", text), ("w", number)):
            for sql in (f"insert into embedded ({column}) values (?)", f"update embedded set {column} = ?"):
                with pytest.raises(errors.DatabaseError):
                    conn.execute(sql, (value,))
                with pytest.raises(errors.DatabaseError):
                    conn.executemany(sql, [(None,), (value,)])
            with pytest.raises(errors.DatabaseError):
                conn.load_rows("embedded", [(None,), (value,)], columns=[column])
        assert conn.load_rows("embedded", [(3, [1.0, 2.0, 3.0], b"\0" * 4)]) == 1
        stored = [(1, [0.0, 0.0, 0.0], None), (2, None, [0.0]), (3, [1.0, 2.0, 3.0], [0.0])]
        assert conn.fetch("select * from embedded order by id") == stored


def test_facade_does_with_lists_what_mysqlclient_does(my_server: Served, table: str) -> None:
    conn = headrace.compat.mysqldb.connect(**my_server.where, db=table.rpartition("/")[2])
    cursor = conn.cursor()
    cursor.execute("select n from lists where n in %s", ([1, 2],))
    assert cursor.fetchall() == ((1,),)
    with pytest.raises(headrace.compat.mysqldb.DatabaseError):
        cursor.execute("select n from lists where n in (%s)", ([1, 2],))
    conn.close()
