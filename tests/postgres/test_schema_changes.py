"""What is known of a statement or a type is of the schema as it is, not as it was."""

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import enum
import uuid
from typing import Any

import pyarrow as pa
import pytest

import headrace
from headrace import errors

from .conftest import Connect


def test_a_composite_follows_its_type(conn: Any, dba: Any, schema: str) -> None:
    name = f"{schema}.p"
    dba.execute(f"CREATE TYPE {name} AS (x int4, y int4)")
    assert conn.fetchval(f"SELECT (1, 2)::{name}") == (1, 2)
    dba.execute(f"ALTER TYPE {name} ALTER ATTRIBUTE x TYPE float4")
    assert conn.fetchval(f"SELECT (1.5, 2)::{name}") == (1.5, 2)
    assert conn.fetchval(f"SELECT (1.5, 2)::{name}") == (1.5, 2)
    dba.execute(f"ALTER TYPE {name} ADD ATTRIBUTE z date")
    assert conn.fetchval(f"SELECT array[(1.5, 2, '2020-01-01')::{name}]") == [(1.5, 2, dt.date(2020, 1, 1))]
    assert conn.fetchval(f"SELECT $1::{name}", (2.5, 3, dt.date(2020, 1, 1))) == (2.5, 3, dt.date(2020, 1, 1))
    dba.execute(f"ALTER TYPE {name} DROP ATTRIBUTE y")
    assert conn.fetchval(f"SELECT (1.5, '2020-01-01')::{name}") == (1.5, dt.date(2020, 1, 1))
    assert conn.fetchval(f"SELECT (1.5, '2020-01-01')::{name}") == (1.5, dt.date(2020, 1, 1))
    rows = list(conn.copy_out(f"SELECT (1.5, '2020-01-01')::{name}, 'a'::tsvector"))
    assert rows == [((1.5, dt.date(2020, 1, 1)), "'a'")]


def test_attributes_in_arrow_are_never_those_of_another_name(conn: Any, dba: Any, schema: str) -> None:
    table = f"{schema}.t"
    dba.executescript(
        f"CREATE TYPE {schema}.p AS (x int2, y int2, z text); CREATE TABLE {table} (v {schema}.p, l {schema}.p[]);"
        f"INSERT INTO {table} VALUES ((1, 2, 'a'), array[(1, 2, 'a')::{schema}.p])"
    )
    whole = {"x": 1, "y": 2, "z": "a"}
    select = f"SELECT v, l FROM {table}"
    assert pa.table(conn.fetch_arrow(select)).to_pylist() == [{"v": whole, "l": [whole]}]
    for change, now in (
        ("DROP ATTRIBUTE x", {"y": 2, "z": "a"}),
        ("DROP ATTRIBUTE y CASCADE, ADD ATTRIBUTE b int4", {"z": "a", "b": None}),
        ("ADD ATTRIBUTE c int2", {"z": "a", "b": None, "c": None}),
    ):
        dba.execute(f"ALTER TYPE {schema}.p {change} CASCADE".replace("CASCADE, ", ", "))
        with pytest.raises(errors.DataError, match="has changed since"):
            conn.fetch_arrow(select)
        assert pa.table(conn.fetch_arrow(select)).to_pylist() == [{"v": now, "l": [now]}]


def test_a_changed_composite_is_sent_after_one_failure_at_most(conn: Any, dba: Any, schema: str) -> None:
    name = f"{schema}.p"
    dba.executescript(f"CREATE TYPE {name} AS (x int4, y int4); CREATE TABLE {schema}.t (v {name})")
    insert = f"INSERT INTO {schema}.t VALUES ($1)"
    conn.execute(insert, ((1, 2),))
    conn.copy_in(f"{schema}.t", [((1, 2),)])
    dba.executescript(f"ALTER TABLE {schema}.t ADD w int; ALTER TABLE {schema}.t DROP w; DROP TABLE {schema}.t")
    dba.executescript(f"ALTER TYPE {name} ADD ATTRIBUTE z text; CREATE TABLE {schema}.t (v {name})")
    for way in (lambda: conn.execute(insert, ((1, 2, "z"),)), lambda: conn.copy_in(f"{schema}.t", [((1, 2, "z"),)])):
        for attempt in range(2):
            try:
                way()
                break
            except errors.Error:
                assert attempt == 0
    assert conn.fetch(f"SELECT (v).z FROM {schema}.t") == [("z",), ("z",)]


def test_a_statement_with_a_type_that_was_made_again_is_prepared_again(conn: Any, dba: Any, schema: str) -> None:
    """The server still looks for the type of the former number: "cache lookup failed", an internal error."""
    name = f"{schema}.p"
    select = f"SELECT NULL::{name}, ROW(1)::{name}"
    dba.execute(f"CREATE TYPE {name} AS (x int4)")
    assert conn.fetch(select) == [(None, (1,))]
    conn.commit()
    for _ in range(2):
        dba.executescript(f"DROP TYPE {name}; CREATE TYPE {name} AS (x int8)")
        assert conn.fetch(select) == [(None, (1,))]
        conn.commit()


def test_own_changes_of_a_type_are_seen_at_once(connect: Connect, schema: str) -> None:
    conn = connect()
    conn.execute(f"CREATE TYPE {schema}.p AS (x int4)")
    assert conn.fetchval(f"SELECT $1::{schema}.p", (1,)) == (1,)
    conn.execute(f"ALTER TYPE {schema}.p ADD ATTRIBUTE y text")
    assert conn.fetchval(f"SELECT $1::{schema}.p", (1, "y")) == (1, "y")
    conn.execute(f"ALTER TYPE {schema}.p ALTER ATTRIBUTE x TYPE uuid")
    value = (uuid.UUID(int=1), "y")
    assert conn.fetchval(f"SELECT $1::{schema}.p", value) == value
    assert conn.executescript(f"SELECT ('{value[0]}', 'y')::{schema}.p").fetchone() == (value,)


def test_a_registered_composite_follows_its_type(conn: Any, dba: Any, schema: str) -> None:
    dba.execute(f"CREATE TYPE {schema}.p AS (x int4, y int4)")
    conn.register_composite(f"{schema}.p", lambda *values: collections.Counter(values))
    assert conn.fetchval(f"SELECT (1, 2)::{schema}.p") == collections.Counter((1, 2))
    dba.execute(f"ALTER TYPE {schema}.p ADD ATTRIBUTE z text")
    assert conn.fetchval(f"SELECT (1, 2, 'z')::{schema}.p") == collections.Counter((1, 2, "z"))


def test_a_label_added_after_registration_is_an_error_that_says_so(conn: Any, dba: Any, schema: str) -> None:
    mood = enum.Enum("mood", {"sad": "sad", "ok": "ok"})
    dba.execute(f"CREATE TYPE {schema}.mood AS ENUM ('sad', 'ok')")
    conn.register_enum(f"{schema}.mood", mood)
    dba.execute(f"ALTER TYPE {schema}.mood ADD VALUE 'glad'")
    assert conn.fetchval(f"SELECT 'ok'::{schema}.mood") is mood["ok"]
    with pytest.raises(errors.DataError, match="register_enum"):
        conn.fetchval(f"SELECT 'glad'::{schema}.mood")


@pytest.mark.parametrize("options", [{}, {"prepared": False}], ids=["prepared", "unprepared"])
def test_a_transaction_that_changes_its_own_tables_goes_on(connect: Connect, options: Any) -> None:
    conn = connect(**options)
    for kind, value in (("int", 1), ("text", "a"), ("float8", 1.5), ("tsvector", "'a'")):
        conn.execute(f"CREATE TEMP TABLE x (v {kind})")
        conn.execute("INSERT INTO x VALUES ($1)", (value,))
        assert conn.fetch("SELECT * FROM x WHERE v = $1", value) == [(value,)]
        assert conn.fetch("SELECT * FROM x") == [(value,)]
        conn.execute("ALTER TABLE x ADD w date")
        assert conn.fetch("SELECT * FROM x") == [(value, None)]
        conn.execute("DROP TABLE x")


def test_what_a_rollback_undoes_is_seen(connect: Connect) -> None:
    conn = connect()
    conn.execute("CREATE TEMP TABLE x (v int)")
    assert conn.fetch("SELECT * FROM x") == []
    conn.execute("SAVEPOINT s")
    conn.execute("ALTER TABLE x ADD w date")
    conn.execute("INSERT INTO x VALUES (1)")
    assert conn.fetch("SELECT * FROM x") == [(1, None)]
    conn.execute("ROLLBACK TO SAVEPOINT s")
    assert conn.fetch("SELECT * FROM x") == []
    conn.execute("CREATE TEMP TABLE y AS SELECT 1 AS v")
    assert conn.fetch("SELECT * FROM y") == [(1,)]
    conn.execute("DROP TABLE y")
    conn.execute("CREATE TEMP TABLE y AS SELECT 'a' AS v")
    assert conn.fetch("SELECT * FROM y") == [("a",)]


def test_a_transaction_that_changes_its_search_path_goes_on(connect: Connect, dba: Any, schema: str) -> None:
    conn = connect()
    dba.executescript(
        f"CREATE SCHEMA {schema}_b; CREATE TABLE {schema}.e AS SELECT 1 AS v;"
        f"CREATE TABLE {schema}_b.e AS SELECT 'b' AS v"
    )
    for way in ("SET search_path = {}", "SET LOCAL search_path = {}", "SET SCHEMA '{}'"):
        for _ in range(2):
            conn.execute(way.format(schema))
            assert conn.fetch("SELECT v FROM e") == [(1,)]
            conn.execute(way.format(f"{schema}_b"))
            assert conn.fetch("SELECT v FROM e") == [("b",)]
        conn.rollback()


def test_a_parameter_follows_the_type_of_its_column(conn: Any, dba: Any, schema: str) -> None:
    dba.execute(f"CREATE TABLE {schema}.d AS SELECT 1 AS a")
    query, insert = f"SELECT * FROM {schema}.d WHERE a = $1", f"INSERT INTO {schema}.d VALUES ($1)"
    assert conn.fetch(query, 1) == [(1,)]
    conn.execute(insert, (2,))
    dba.execute(f"ALTER TABLE {schema}.d ALTER a TYPE text")
    assert conn.fetch(query, "1") == [("1",)]
    dba.execute(f"ALTER TABLE {schema}.d ALTER a TYPE date USING '2020-01-01'")
    for attempt in range(2):
        try:
            conn.execute(insert, (dt.date(2020, 1, 1),))
            break
        except errors.Error:
            assert attempt == 0
    assert len(conn.fetch(query, dt.date(2020, 1, 1))) == 3


def test_a_statement_that_failed_in_a_transaction_works_in_the_next(connect: Connect, dba: Any, schema: str) -> None:
    conn = connect()
    dba.execute(f"CREATE TABLE {schema}.d AS SELECT 1 AS a")
    query = f"SELECT * FROM {schema}.d WHERE a = $1"
    assert conn.fetch(query, 1) == [(1,)]
    conn.rollback()
    dba.execute(f"ALTER TABLE {schema}.d ALTER a TYPE text")
    conn.execute("SELECT 1")
    with pytest.raises(errors.ProgrammingError):
        conn.fetch(query, "1")
    conn.rollback()
    conn.execute("SELECT 1")
    assert conn.fetch(query, "1") == [("1",)]


def test_pooled_connections_follow_their_tenants(url: str, dba: Any, schema: str) -> None:
    dba.executescript(
        f"CREATE SCHEMA {schema}_b; CREATE TABLE {schema}.e (v int, d date); CREATE TABLE {schema}_b.e (d date, v int)"
    )
    day = dt.date(2020, 1, 1)
    with headrace.ConnectionPool(url, min_size=1, max_size=1) as pool:
        for tenant, row in ((schema, (1, day)), (f"{schema}_b", (day, 1))) * 2:
            with pool.connection() as conn:
                conn.execute(f"SET LOCAL search_path = {tenant}")
                conn.execute("DELETE FROM e")
                conn.execute("INSERT INTO e VALUES ($1, $2)", row)
                conn.copy_in("e", [row])
                assert conn.fetch("SELECT * FROM e") == list(conn.copy_out("e")) == [row, row]


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_pipeline_that_met_another_table_works_the_next_time(
    connect: Connect, dba: Any, schema: str, autocommit: bool
) -> None:
    conn = connect(autocommit=autocommit)
    dba.execute(f"CREATE TABLE {schema}.f AS SELECT 1 AS a")
    query = f"SELECT * FROM {schema}.f"

    def piped() -> list[Any]:
        with conn.pipeline():
            cursors = [conn.execute(query) for _ in range(3)]
        return [cursor.fetchall() for cursor in cursors]

    assert piped() == piped() == [[(1,)]] * 3
    conn.rollback()
    dba.execute(f"ALTER TABLE {schema}.f ADD b int")
    # An error, or the right result: a statement without others after it is repeated.
    with contextlib.suppress(errors.FeatureNotSupported):
        assert piped() == [[(1, None)]] * 3
    conn.rollback()
    assert piped() == piped() == [[(1, None)]] * 3


@pytest.mark.parametrize("autocommit", [True, False])
def test_the_first_select_in_a_pipeline_that_met_another_table_is_right_or_says_so_once(
    connect: Connect, dba: Any, schema: str, autocommit: bool
) -> None:
    conn = connect(autocommit=autocommit)
    dba.execute(f"CREATE TABLE {schema}.g AS SELECT 1 AS a")

    def piped() -> Any:
        with conn.pipeline():
            cursor = conn.execute(f"SELECT * FROM {schema}.g")
            conn.execute(f"INSERT INTO {schema}.h VALUES (1)")
        return cursor.fetchall()

    dba.execute(f"CREATE TABLE {schema}.h (n int)")
    assert piped() == piped() == [(1,)]
    conn.commit()
    dba.execute(f"ALTER TABLE {schema}.g ALTER a TYPE text")
    said = None
    try:
        assert piped() == [("1",)]
    except errors.FeatureNotSupported as error:
        said = str(error)
        assert "cached plan" in said
        conn.rollback()
    conn.commit()
    assert piped() == piped() == [("1",)]
    conn.commit()
    # Statements after it are never executed twice.
    assert dba.fetchval(f"SELECT count(*) FROM {schema}.h") in ((4, 5) if said else (5,))


def test_a_plan_does_not_outlive_a_type_that_another_description_has_shown_changed(
    conn: Any, dba: Any, schema: str
) -> None:
    dba.executescript(
        f"CREATE TYPE {schema}.pair AS (x int4, y int4);"
        f"CREATE TABLE {schema}.pairs (p {schema}.pair, q {schema}.pair[]);"
        f"INSERT INTO {schema}.pairs VALUES ((1, 2), array[(3, 4)::{schema}.pair])"
    )
    one = f"SELECT p FROM {schema}.pairs"
    assert conn.fetch(one) == [((1, 2),)]
    dba.execute(f"ALTER TYPE {schema}.pair DROP ATTRIBUTE x")
    # The array is new to the connection, and is looked up together with the type of its items.
    assert conn.fetch(f"SELECT p, q FROM {schema}.pairs") == [((2,), [(4,)])]
    assert pa.table(conn.fetch_arrow(one)).to_pylist() == [{"p": {"y": 2}}]


RETYPED = [("int4", "7", "text", "007"), ("date", "2020-01-02", "text", "1/2/2020"), ("money", "1", "numeric", "1.234")]


@pytest.mark.parametrize(("before", "first", "after", "text"), RETYPED, ids=[f"{b}-{a}" for b, _, a, _ in RETYPED])
@pytest.mark.parametrize("mark", ["%s", "$1"])
def test_a_text_is_parsed_as_what_the_column_is_where_nothing_is_prepared(
    connect: Connect, dba: Any, schema: str, before: str, first: str, after: str, text: str, mark: str
) -> None:
    conn, table = connect(autocommit=True, prepared=False), f"{schema}.retyped"
    dba.execute(f"CREATE TABLE {table} (v {before})")
    insert = f"INSERT INTO {table} VALUES ({mark})"
    for _ in range(2):
        conn.execute(insert, (first,))
        conn.executemany(insert, [(first,), (first,)])
    dba.executescript(f"DROP TABLE {table}; CREATE TABLE {table} (v {after})")
    conn.execute(insert, (text,))
    conn.executemany(insert, [(text,), (text,)])
    with conn.pipeline():
        conn.execute(insert, (text,))
    assert dba.fetch(f"SELECT v::text FROM {table}") == [(text,)] * 4
