"""Vectors of the extension pgvector: lists of numbers for Arrow in both directions, and the server's text for rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest

import headrace

# The embedded server comes with pgvector, Debian's PostgreSQL does not.
pytestmark = pytest.mark.parametrize("version", ["18"], indirect=True)

VECTORS = [[1.0, 2.5, -1e-7], None, [3.0, 4.0, 1e20]]
HALVES = [[0.5, 2.0], [1.0, 1.5], None]
LIST = pyarrow.list_(pyarrow.float32())


@pytest.fixture
def conn(url: str) -> Iterator[headrace.Connection[Any]]:
    """A connection in autocommit, and an empty table of vectors."""
    with headrace.connect(url, autocommit=True) as connection:
        connection.execute("create extension if not exists vector")
        connection.execute("drop table if exists embedded")
        connection.execute("create table embedded (id int, v vector(3), h halfvec(2))")
        yield connection


def table(items: pyarrow.DataType, halves: pyarrow.DataType) -> pyarrow.Table:
    """Three rows."""
    return pyarrow.table({"id": [1, 2, 3], "v": pyarrow.array(VECTORS, items), "h": pyarrow.array(HALVES, halves)})


def stored(conn: Any) -> list[Any]:
    return list(conn.fetch("select id, v::real[], h::real[] from embedded order by id"))


TYPES = [
    (LIST, LIST),
    (pyarrow.list_(pyarrow.float32(), 3), pyarrow.list_(pyarrow.float16(), 2)),
    (pyarrow.large_list(pyarrow.float64()), pyarrow.list_(pyarrow.float64())),
]


@pytest.mark.parametrize(("items", "halves"), TYPES)
def test_lists_of_numbers_become_vectors_in_every_way(
    conn: Any, url: str, adbc_dbapi: Any, items: Any, halves: Any
) -> None:
    rows = table(items, halves)
    conn.executemany("insert into embedded values (%s, %s, %s)", rows)
    wanted = stored(conn)
    assert [row[0] for row in wanted] == [1, 2, 3]
    assert [row[1] for row in wanted] == [pytest.approx(vector, rel=1e-6) if vector else None for vector in VECTORS]
    assert [row[2] for row in wanted] == HALVES

    def again() -> None:
        conn.execute("truncate embedded")

    again()
    conn.executemany("insert into embedded values ($1, $2, $3)", rows)
    assert stored(conn) == wanted
    again()
    assert conn.copy_in("embedded", rows) == 3
    assert stored(conn) == wanted
    again()
    with adbc_dbapi.connect(url, autocommit=True) as other, other.cursor() as cursor:
        assert cursor.adbc_ingest("embedded", rows, mode="append") == 3
    assert stored(conn) == wanted


def test_vectors_are_lists_of_numbers_in_arrow(conn: Any, url: str, adbc_dbapi: Any) -> None:
    rows = table(LIST, LIST)
    conn.copy_in("embedded", rows)
    sql = "select id, v, h, array[v] as many from embedded order by id"
    wanted = rows.cast(pyarrow.schema([("id", pyarrow.int32()), ("v", LIST), ("h", LIST)]))
    with adbc_dbapi.connect(url) as other, other.cursor() as cursor:
        cursor.execute(sql)
        found = [conn.fetch_arrow_table(sql), pyarrow.table(conn.stream_arrow(sql)), cursor.fetch_arrow_table()]
    for each in found:
        each = each.cast(pyarrow.schema([*wanted.schema, ("many", pyarrow.list_(LIST))]))
        assert each.select(["id", "v", "h"]).equals(wanted)
        assert each["many"].to_pylist() == [[vector] for vector in wanted["v"].to_pylist()]
    # And back.
    conn.execute("truncate embedded")
    assert conn.copy_in("embedded", conn.fetch_arrow("select 1 as id, '[1,2,3]'::vector as v, null as h")) == 1
    assert stored(conn) == [(1, [1.0, 2.0, 3.0], None)]


def test_rows_have_the_servers_text_and_take_it(conn: Any) -> None:
    conn.execute("insert into embedded values ($1, $2, $3)", (1, [1, 2.5, 3.0], "[0.5,1]"))
    assert conn.copy_in("embedded", [(2, "[1,2,3]", None), (3, [1.0, 2.0, 3.0], None)]) == 2
    assert conn.fetch("select v, h from embedded order by id") == [
        ("[1,2.5,3]", "[0.5,1]"),
        ("[1,2,3]", None),
        ("[1,2,3]", None),
    ]
    with pytest.raises(headrace.ProgrammingError, match="a vector has numbers"):
        conn.execute("insert into embedded values ($1, $2, $3)", (4, [1.0, None, 2.0], None))


def test_a_type_of_that_name_is_one_of_the_extension_only(conn: Any) -> None:
    conn.execute("create schema if not exists elsewhere")
    conn.execute("drop type if exists elsewhere.vector")
    conn.execute("create type elsewhere.vector as enum ('[1,2]')")
    found = conn.fetch_arrow_table("select '[1,2]'::elsewhere.vector as v")
    assert (found.schema.types, found.to_pylist()) == ([pyarrow.string()], [{"v": "[1,2]"}])
