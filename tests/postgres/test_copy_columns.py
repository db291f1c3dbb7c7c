"""COPY describes its columns in its own transaction, and leaves no objects on the server."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pyarrow
import pytest

import headrace
from headrace import errors

from .conftest import Connect

DAY = dt.date(2020, 1, 1)
WAYS = pytest.mark.parametrize(
    "options", [{}, {"autocommit": True}, {"autocommit": True, "prepared": False}], ids=["", "autocommit", "unprepared"]
)


@WAYS
def test_a_copy_follows_the_type_of_its_column(connect: Connect, dba: Any, schema: str, options: Any) -> None:
    conn, table = connect(**options), f"{schema}.t"
    dba.execute(f"CREATE TABLE {table} (v int8)")
    assert conn.copy_in(table, [(1,)]) == 1
    assert list(conn.copy_out(table)) == [(1,)]
    conn.commit()
    dba.execute(f"ALTER TABLE {table} ALTER v TYPE float8")
    assert conn.copy_in(table, [(2,)]) == 1
    assert list(conn.copy_out(table)) == [(1.0,), (2.0,)]
    conn.commit()
    assert dba.fetch(f"SELECT v FROM {table}") == [(1.0,), (2.0,)]


@WAYS
def test_a_copy_follows_the_order_and_number_of_columns(connect: Connect, dba: Any, schema: str, options: Any) -> None:
    conn, table = connect(**options), f"{schema}.t"
    dba.execute(f"CREATE TABLE {table} (a date, b int)")
    conn.copy_in(table, [(DAY, 5)])
    conn.commit()
    dba.executescript(f"DROP TABLE {table}; CREATE TABLE {table} (b int, a date)")
    with pytest.raises(errors.Error):
        conn.copy_in(table, [(DAY, 5)])
    conn.rollback()
    conn.copy_in(table, [(5, DAY)])
    assert list(conn.copy_out(table)) == [(5, DAY)]
    conn.commit()
    dba.execute(f"ALTER TABLE {table} ADD c text DEFAULT 'c'")
    assert conn.copy_in(table, [(6, DAY, "d")]) == 1
    assert list(conn.copy_out(table)) == [(5, DAY, "c"), (6, DAY, "d")]
    assert list(conn.copy_out(table, columns=["c", "b"])) == [("c", 5), ("d", 6)]
    assert conn.copy_in(table, [("e", 7)], columns=["c", "b"]) == 1


@WAYS
def test_tenants_are_kept_apart_by_their_search_path(connect: Connect, dba: Any, schema: str, options: Any) -> None:
    conn, at = connect(**options), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
    other = f"{schema}_b"
    dba.executescript(
        f"CREATE SCHEMA {other}; CREATE TABLE {schema}.ev (id int8, at int8);"
        f"CREATE TABLE {other}.ev (at timestamptz, id int8)"
    )
    for _ in range(2):
        for tenant, row in ((schema, (1, 2)), (other, (at, 3))):
            with conn.transaction():
                conn.execute(f"SET LOCAL search_path = {tenant}")
                conn.execute("DELETE FROM ev")
                conn.copy_in("ev", [row])
                assert list(conn.copy_out("ev")) == [row]
                assert conn.fetch("SELECT * FROM ev") == [row]


@WAYS
def test_generated_columns_are_left_out_as_the_server_does(
    connect: Connect, dba: Any, schema: str, options: Any
) -> None:
    conn, table = connect(**options), f"{schema}.g"
    dba.execute(f"CREATE TABLE {table} (a int, twice int GENERATED ALWAYS AS (a * 2) STORED, dropped int, b text)")
    dba.execute(f"ALTER TABLE {table} DROP dropped")
    assert conn.copy_in(table, [(1, "x"), (2, None)]) == 2
    assert list(conn.copy_out(table)) == [(1, "x"), (2, None)]
    assert conn.fetch(f"SELECT * FROM {table}") == [(1, 2, "x"), (2, 4, None)]


def test_no_prepared_statement_is_left(connect: Connect, dba: Any, schema: str) -> None:
    conn, table = connect(autocommit=True, prepared=False), f"{schema}.t"
    dba.execute(f"CREATE TABLE {table} (v int8)")
    conn.copy_in(table, [(1,)])
    list(conn.copy_out(table))
    assert conn.fetch("SELECT name FROM pg_prepared_statements") == []


def test_ddl_waits_for_the_copy_that_was_described(connect: Connect, dba: Any, url: str, schema: str) -> None:
    conn, table = connect(autocommit=True), f"{schema}.t"
    dba.execute(f"CREATE TABLE {table} (v int8)")
    altering = threading.Thread(target=lambda: dba.execute(f"ALTER TABLE {table} ALTER v TYPE float8"))

    def rows() -> Any:
        altering.start()
        with headrace.connect(url, autocommit=True) as watcher:
            while not watcher.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
        yield (1,)
        yield (2,)

    assert conn.copy_in(table, rows()) == 2
    altering.join(timeout=20)
    assert list(conn.copy_out(table)) == [(1.0,), (2.0,)]


@WAYS
def test_a_copy_that_fails_leaves_the_connection_usable(connect: Connect, dba: Any, schema: str, options: Any) -> None:
    conn, table = connect(**options), f"{schema}.t"
    dba.execute(f"CREATE TABLE {table} (v int8 PRIMARY KEY)")
    failing: list[Any] = [
        lambda: conn.copy_in("nothing", [(1,)]),
        lambda: list(conn.copy_out("SELECT nothing")),
        lambda: list(conn.copy_out("SELECT 1/0")),
        lambda: conn.copy_in(table, [("x",)]),
        lambda: conn.copy_in(table, [(1, 2)]),
        lambda: conn.copy_in(table, [(1,), (1,)]),
        lambda: conn.copy_in(table, (1 // 0 for _ in "x")),
        lambda: conn.copy_in(table, b"not a copy"),
        lambda: list(conn.copy_out("INSERT INTO pg_class DEFAULT VALUES")),
    ]
    for fails in failing:
        with pytest.raises((errors.Error, ZeroDivisionError)):
            fails()
        conn.rollback()
        assert conn.fetchval("SELECT 1") == 1
        assert conn.copy_in(table, []) == 0
    assert conn.fetchval(f"SELECT count(*) FROM {table}") == 0


def test_copy_out_that_is_left_early_leaves_the_connection_usable(conn: Any) -> None:
    for row in conn.copy_out("SELECT generate_series(1, 1000000)"):
        assert row == (1,)
        break
    assert conn.fetchval("SELECT 2") == 2


@pytest.mark.parametrize(
    "source", ["SELECT\n1", " (select 1)", "VALUES(1)", "-- c\nSELECT 1", "/* c */ WITH a AS (SELECT 1) TABLE a"]
)
def test_query_is_distinguished_from_a_name(conn: Any, source: str) -> None:
    assert list(conn.copy_out(source)) == [(1,)]


@pytest.mark.parametrize("name", ["my tab", "select", "values", "tab\nle", "updates of it"])
def test_name_is_distinguished_from_a_query(conn: Any, name: str) -> None:
    conn.execute(f'CREATE TEMP TABLE "{name}" (a int)')
    assert conn.copy_in(name, [(1,)]) == 1
    assert list(conn.copy_out(name)) == [(1,)]
    conn.execute(f'DROP TABLE "{name}"')


def test_types_that_are_not_known_yet_are_copied(connect: Connect, dba: Any, schema: str) -> None:
    dba.executescript(
        f"CREATE TYPE {schema}.pair AS (a int, b text); CREATE DOMAIN {schema}.pairs AS {schema}.pair[];"
        f"CREATE TYPE {schema}.mood AS ENUM ('sad', 'ok'); CREATE TABLE {schema}.t (p {schema}.pairs, m {schema}.mood)"
    )
    for options in ({}, {"autocommit": True}):
        conn = connect(**options)
        assert conn.copy_in(f"{schema}.t", [([(1, "x"), None], "ok")]) == 1
        assert list(conn.copy_out(f"{schema}.t")) == [([(1, "x"), None], "ok")]
        conn.rollback()
        dba.execute(f"DELETE FROM {schema}.t")


@WAYS
def test_an_error_of_describing_the_columns_has_its_place_in_the_statement(connect: Connect, options: Any) -> None:
    conn = connect(**options)
    for copy, place in (
        (lambda: conn.copy_in("no_such_table", [(1,)]), '"no_such_table"'),
        (lambda: conn.copy_in("pg_class", [(1,)], columns=["relname", "no_such_column"]), '"no_such_column"'),
        (lambda: list(conn.copy_out("no_such_table")), '"no_such_table"'),
        (lambda: list(conn.copy_out("SELECT no_such_column FROM pg_class")), "no_such_column"),
    ):
        with pytest.raises(errors.ProgrammingError) as caught:
            copy()
        statement, position = caught.value.statement, caught.value.position
        assert statement is not None
        assert position is not None
        assert statement[position - 1 :].startswith(place)
        conn.rollback()
    assert conn.fetchval("SELECT 1") == 1


def test_text_for_a_column_of_another_type_is_parsed_in_the_text_format(connect: Connect, schema: str) -> None:
    conn, table = connect(autocommit=True), f"{schema}.t"
    conn.execute(f"CREATE TABLE {table} (u uuid, d date, n numeric)")
    texts = ["12345678-1234-5678-1234-567812345678", "2020-01-01", "1.50"]
    for rows in ([tuple(texts)], pyarrow.table(dict(zip("udn", ([text] for text in texts), strict=True)))):
        with pytest.raises(
            (errors.ProgrammingError, errors.DataError), match='with format="text" the server parses it'
        ):
            conn.copy_in(table, rows)
        assert conn.copy_in(table, rows, format="text") == 1
    found = conn.fetch(f"SELECT u::text, d::text, n::text FROM {table}")
    assert found == [tuple(texts)] * 2


@WAYS
def test_a_copy_follows_the_attributes_of_a_composite_type(
    connect: Connect, dba: Any, schema: str, options: Any
) -> None:
    conn, kind = connect(**options), f"{schema}.pair"
    dba.executescript(f"CREATE TYPE {kind} AS (x int, y int); CREATE TABLE {schema}.pairs (v {kind}, w {kind}[])")
    pair = {"y": 2, "x": 1}
    assert conn.copy_in(f"{schema}.pairs", [(pair, [pair])]) == 1
    conn.commit()
    for change in ("x TO z", "y TO x", "z TO y"):
        dba.execute(f"ALTER TYPE {kind} RENAME ATTRIBUTE {change}")
    assert conn.copy_in(f"{schema}.pairs", [(pair, [pair])]) == 1
    conn.commit()
    assert dba.fetch(f"SELECT (v).x, (v).y, w[1].x FROM {schema}.pairs ORDER BY 1") == [(1, 2, 1), (2, 1, 2)]
    dba.execute(f"ALTER TYPE {kind} ADD ATTRIBUTE z text")
    assert conn.copy_in(f"{schema}.pairs", [((3, 4, "c"), None)]) == 1
    conn.commit()
    assert dba.fetchval(f"SELECT v::text FROM {schema}.pairs WHERE (v).z IS NOT NULL") == "(3,4,c)"
