"""Values that have the names of attributes go by those that the composite type has now, also after another session has
renamed them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headrace import errors

from .conftest import Connect

MANY = 700
"""Rows enough that a batch goes on in statements of many rows, or as a COPY."""


@dataclass
class Pair:
    x: int
    y: int


def swap(dba: Any, kind: str) -> None:
    """Renames each of the attributes x and y to the other."""
    for change in ("x TO z", "y TO x", "z TO y"):
        dba.execute(f"ALTER TYPE {kind} RENAME ATTRIBUTE {change}")


def one(conn: Any, table: str, value: Any) -> None:
    conn.execute(f"INSERT INTO {table} VALUES (%s)", [value])


def pipelined(conn: Any, table: str, value: Any) -> None:
    with conn.pipeline():
        conn.cursor().execute("SELECT 1")
        conn.cursor().execute(f"INSERT INTO {table} VALUES (%s)", [value])
        conn.cursor().execute("SELECT 2")


def batch(conn: Any, table: str, value: Any) -> None:
    conn.cursor().executemany(f"INSERT INTO {table} VALUES (%s)", [(value,)] * 3)


def large_batch(conn: Any, table: str, value: Any) -> None:
    conn.cursor().executemany(f"INSERT INTO {table} VALUES (%s)", [(value,)] * MANY)


def late_batch(conn: Any, table: str, value: Any) -> None:
    conn.cursor().executemany(f"INSERT INTO {table} VALUES (%s)", [(None,), (value,)])


def block(conn: Any, table: str, value: Any) -> None:
    with conn.transaction():
        conn.execute(f"INSERT INTO {table} VALUES (%s)", [value])


def streamed(conn: Any, table: str, value: Any) -> None:
    with conn.transaction():
        assert len(list(conn.stream(f"INSERT INTO {table} VALUES (%s) RETURNING 1", [value]))) == 1


def fetched(conn: Any, table: str, value: Any) -> None:
    assert conn.fetchval(f"INSERT INTO {table} VALUES ($1) RETURNING 1", value) == 1


WAYS: list[Callable[[Any, str, Any], None]] = [
    one, pipelined, batch, large_batch, late_batch, block, streamed, fetched,
]  # fmt: skip


CASES = [
    *((way, "v", autocommit) for way in WAYS for autocommit in (False, True)),
    *((way, form, False) for way in (one, batch, fetched) for form in ("array", "nested", "domain")),
]


@pytest.mark.parametrize(("way", "form", "autocommit"), CASES)
def test_names_of_attributes_are_those_of_now(
    connect: Connect, dba: Any, schema: str, way: Any, form: str, autocommit: bool
) -> None:
    kind, table = f"{schema}.pair", f"{schema}.pairs"
    dba.executescript(
        f"CREATE TYPE {kind} AS (x int, y int); CREATE TYPE {schema}.nest AS (n int, p {kind}[]); "
        f"CREATE DOMAIN {schema}.dom AS {kind}"
    )
    shapes: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
        "v": (kind, "(v).x, (v).y", lambda pair: pair),
        "array": (f"{kind}[]", "v[2].x, v[2].y", lambda pair: [(8, 9), pair]),
        "nested": (f"{schema}.nest", "(v).p[1].x, (v).p[1].y", lambda pair: (5, [pair])),
        "domain": (f"{schema}.dom", "(v::" + kind + ").x, (v::" + kind + ").y", lambda pair: pair),
    }
    column, part, make = shapes[form]
    dba.execute(f"CREATE TABLE {table} (v {column})")
    conn = connect(autocommit=autocommit)
    # A dict beside %s is JSON.
    by_number = way is fetched
    for value in ({"x": 1, "y": 2}, Pair(1, 2)) if by_number else (Pair(1, 2), Pair(1, 2)):
        for _ in range(2):
            way(conn, table, make(value))
            conn.commit()
            found = dba.fetch(f"SELECT DISTINCT {part} FROM {table} WHERE v IS NOT NULL")
            assert found == [(1, 2)]
            dba.execute(f"DELETE FROM {table}")
            swap(dba, kind)


@pytest.mark.parametrize("way", [one, batch, fetched])
@pytest.mark.parametrize("is_learnt_again", [False, True], ids=["forgotten", "learnt again"])
def test_names_are_those_of_now_where_the_types_were_forgotten(
    connect: Connect, dba: Any, schema: str, way: Any, is_learnt_again: bool
) -> None:
    kind, table = f"{schema}.pair", f"{schema}.pairs"
    dba.executescript(f"CREATE TYPE {kind} AS (x int, y int); CREATE TABLE {table} (v {kind})")
    conn = connect(autocommit=True)
    for _ in range(3):
        way(conn, table, Pair(1, 2))
        assert dba.fetch(f"SELECT DISTINCT (v).x, (v).y FROM {table}") == [(1, 2)]
        dba.execute(f"DELETE FROM {table}")
        # A type may have changed where a value does not fit: all of them are looked up again.
        with pytest.raises(errors.DataError):
            conn.fetch("SELECT $1::int4", 1 << 40)
        swap(dba, kind)
        if is_learnt_again:
            assert conn.fetchval(f"SELECT count($1::{kind})", None) == 0


def test_an_arrow_struct_has_the_names_that_the_connection_knows(connect: Connect, dba: Any, schema: str) -> None:
    kind = f"{schema}.pair"
    dba.executescript(f"CREATE TYPE {kind} AS (x int, y int)")
    conn = connect(autocommit=True)
    sql = f"SELECT ROW(1, 2)::{kind} AS v"

    def names() -> list[str]:
        structs = conn.cursor().execute_arrow(sql).fetch_arrow_table().schema.field("v").type
        return [structs.field(i).name for i in range(structs.num_fields)]

    assert names() == ["x", "y"]
    dba.execute(f"ALTER TYPE {kind} RENAME ATTRIBUTE x TO z")
    assert names() == ["x", "y"]
    # A parameter has the names, so that the type is looked up.
    conn.fetch(f"SELECT $1::{kind}", {"z": 1, "y": 2})
    assert names() == ["z", "y"]


def test_a_statement_that_is_new_has_the_names_of_now(connect: Connect, dba: Any, schema: str) -> None:
    kind, table = f"{schema}.pair", f"{schema}.pairs"
    dba.executescript(f"CREATE TYPE {kind} AS (x int, y int); CREATE TABLE {table} (v {kind})")
    conn = connect(autocommit=True)
    for number in range(3):
        conn.fetch(f"/* {number} */ INSERT INTO {table} VALUES ($1) RETURNING 1", {"x": 1, "y": 2})
        assert dba.fetch(f"DELETE FROM {table} RETURNING (v).x, (v).y") == [(1, 2)]
        swap(dba, kind)


def test_an_attribute_that_is_new_takes_its_value(connect: Connect, dba: Any, schema: str) -> None:
    kind, table = f"{schema}.pair", f"{schema}.pairs"
    dba.executescript(f"CREATE TYPE {kind} AS (x int); CREATE TABLE {table} (v {kind})")
    conn = connect(autocommit=True)
    insert = f"INSERT INTO {table} VALUES ($1) RETURNING 1"
    conn.fetch(insert, {"x": 1, "y": 2})
    dba.execute(f"ALTER TYPE {kind} ADD ATTRIBUTE y int CASCADE")
    conn.fetch(insert, {"x": 3, "y": 4})
    with conn.pipeline():
        conn.fetch(insert, {"x": 5, "y": 6})
    assert dba.fetch(f"SELECT v::text FROM {table} ORDER BY 1") == [("(1,)",), ("(3,4)",), ("(5,6)",)]
