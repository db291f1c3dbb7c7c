"""Statements whose prepared form MariaDB or MySQL 5.6 executes otherwise again have the rows of their values."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.mysql
from served import fresh

Conn = headrace.mysql.Connection[Any]
GROUPED = "(SELECT id, max(name) AS top FROM people GROUP BY id) q"


@pytest.fixture(autouse=True)
def tables(my: Conn) -> None:
    fresh(my, "table people (id int primary key, name varchar(20), age int)")
    fresh(my, "table copies (id int primary key, name varchar(20), age int)")
    my.executemany("INSERT INTO people VALUES (?, ?, ?)", [(1, "ann", 30), (2, "bob", 40), (3, "cy", None)])
    my.execute("INSERT INTO copies SELECT * FROM people")


QUERIES = [
    f"SELECT p.id FROM people p LEFT JOIN {GROUPED} ON q.id = p.id "
    "WHERE p.age > ? AND p.name IN (SELECT b.name FROM people b WHERE b.id = p.id AND b.name = q.top) ORDER BY 1",
    "SELECT p.id FROM people p LEFT JOIN (SELECT id, name AS top FROM people LIMIT 9) q ON q.id = p.id "
    "WHERE p.age > ? AND EXISTS (SELECT 1 FROM people b WHERE b.id = p.id AND b.name = q.top) ORDER BY 1",
    f"SELECT p.id FROM people p, {GROUPED} "
    "WHERE q.id = p.id AND p.age > ? AND p.name = ANY (SELECT b.name FROM people b WHERE b.name = q.top) ORDER BY 1",
    f"WITH c AS (SELECT 1) SELECT p.id FROM {GROUPED} RIGHT JOIN people p ON q.id = p.id "
    "WHERE p.age > ? AND p.name IN (SELECT b.name FROM people b WHERE b.id = p.id AND b.name = q.top) ORDER BY 1",
]


@pytest.mark.servers("mariadb", "mariadb118", "mysql")
@pytest.mark.parametrize("query", QUERIES)
def test_queries(my: Conn, query: str) -> None:
    for age, expected in [(0, [1, 2]), (30, [2]), (0, [1, 2]), (99, [])]:
        assert [row[0] for row in my.fetch(query, age)] == expected
    for _ in range(3):
        assert [row[0] for row in my.fetch(query.replace("?", "30"))] == [2]
        assert [row[0] for row in my.stream(query, (30,))] == [2]
        assert [row[0] for row in my.stream(query, (30,), on_server=True)] == [2]
    with my.pipeline():
        cursors = [my.execute(query, (age,)) for age in (0, 30, 0)]
    assert [len(cursor.fetchall()) for cursor in cursors] == [2, 1, 2]


async def test_on_a_loop(amy: Any) -> None:
    await amy.execute("DELETE FROM people WHERE id = 3")
    for _ in range(3):
        assert len(await amy.fetch(QUERIES[0], 0)) == 2


@pytest.mark.servers("mariadb", "mariadb118", "mysql")
def test_what_writes(my: Conn) -> None:
    joined = f"LEFT JOIN {GROUPED} ON q.id = c.id"
    found = "c.name IN (SELECT b.name FROM people b WHERE b.id = c.id AND b.name = q.top)"
    for age in (1, 2, 3):
        assert my.execute(f"UPDATE copies c {joined} SET c.age = ? WHERE {found}", (age,)).rowcount == 3
    my.executemany(f"UPDATE copies c {joined} SET c.age = ? WHERE c.id = ? AND {found}", [(7, 1), (8, 2), (9, 3)])
    assert my.fetch("SELECT age FROM copies ORDER BY id") == [(7,), (8,), (9,)]
    for offset in (10, 20):
        insert = f"INSERT INTO copies SELECT c.id + ?, 'x', 1 FROM people c {joined} WHERE {found}"
        assert my.execute(insert, (offset,)).rowcount == 3
    for n in (1, 2):
        assert my.execute(f"DELETE c FROM copies c {joined} WHERE c.id = ? AND {found}", (n,)).rowcount == 1


RANGES = [
    "SELECT count(*) FROM people p "
    "WHERE EXISTS (SELECT 1 FROM copies c WHERE c.id BETWEEN ? AND ? AND c.team = p.team)",
    "SELECT count(*) FROM people p WHERE p.team IN (SELECT c.team FROM copies c WHERE c.id BETWEEN ? AND ?)",
    "SELECT count(*) FROM people p WHERE p.team = ANY (SELECT c.team FROM copies c WHERE c.id >= ? AND c.id <= ?)",
]


@pytest.mark.servers("mariadb", "mariadb118", "mysql", "mysql56")
@pytest.mark.parametrize("query", RANGES)
def test_a_row_is_found_once_after_a_query_of_a_single_row(my: Conn, query: str) -> None:
    for table in ("people", "copies"):
        fresh(my, f"table {table} (id int primary key, team int, key (team))")
        my.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(n, n % 3) for n in range(9)])
    for low, high, expected in [(1, 1, 3), (1, 1, 3), (0, 8, 9), (1, 5, 9), (2, 2, 3), (9, 9, 0), (1, 8, 9)]:
        assert (low, high, my.fetchval(query, low, high)) == (low, high, expected)


@pytest.mark.servers("mariadb", "mariadb118", "mysql", "mysql56")
@pytest.mark.parametrize("query", RANGES)
def test_a_row_is_found_once_by_a_statement_with_a_comment_that_is_executed(my: Conn, query: str) -> None:
    for table in ("people", "copies"):
        fresh(my, f"table {table} (id int primary key, team int, key (team))")
        my.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(n, n % 3) for n in range(9)])
    query = query.replace("SELECT count", "SELECT /*!40001 ALL */ count", 1)
    for low, high, expected in [(1, 1, 3), (1, 1, 3), (0, 8, 9), (1, 5, 9), (2, 2, 3), (9, 9, 0), (1, 8, 9)]:
        assert (low, high, my.fetchval(query, low, high)) == (low, high, expected)
        by_hand = query.replace("?", str(low), 1).replace("?", str(high), 1)
        assert (low, high, my.fetchval(by_hand)) == (low, high, expected)


@pytest.mark.servers("mariadb", "mariadb118", "mysql", "mysql56")
def test_rows_of_a_batch_are_found_once(my: Conn) -> None:
    for table in ("people", "copies"):
        fresh(my, f"table {table} (id int primary key, team int, n int default 0, key (team))")
        my.executemany(f"INSERT INTO {table} (id, team) VALUES (?, ?)", [(n, n % 3) for n in range(9)])
    counting = "UPDATE people p SET p.n = (SELECT count(*) FROM copies q WHERE EXISTS (SELECT 1 FROM copies c "
    counting += "WHERE c.id BETWEEN ? AND ? AND c.team = q.team)) WHERE p.id = ?"
    my.executemany(counting, [(1, 1, 0), (1, 1, 1), (0, 8, 2), (1, 5, 3)])
    assert my.fetch("SELECT n FROM people WHERE id < 4 ORDER BY id") == [(3,), (3,), (9,), (9,)]
