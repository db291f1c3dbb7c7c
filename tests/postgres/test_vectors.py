"""Vectors of the extension pgvector: lists of numbers in both directions, in rows and for Arrow."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy
import pyarrow
import pytest

import headrace
from headrace.types import SparseVector, Vector

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


def test_rows_have_lists_of_numbers_by_every_way(conn: Any) -> None:
    conn.execute("insert into embedded values ($1, $2, $3)", (1, [1, 2.5, Decimal(3)], "[0.5,1]"))
    conn.execute("insert into embedded values (%s, %s, %s)", (2, [1.0, 2.5, 3.0], Vector([0.5, 1])))
    assert conn.copy_in("embedded", [(3, [1, 2.5, 3.0], [0.5, 1])]) == 1
    assert conn.copy_in("embedded", [(4, "[1,2.5,3]", [0.5, 1])], format="text") == 1
    conn.executemany("insert into embedded values ($1, $2, $3)", [(5, [1, 2.5, 3.0], [0.5, 1]), (6, None, None)])
    wanted = [(n, [1.0, 2.5, 3.0], [0.5, 1.0]) for n in range(1, 6)] + [(6, None, None)]
    sql = "select id, v, h from embedded order by id"
    assert conn.fetch(sql) == wanted
    assert conn.executescript(sql).fetchall() == wanted
    assert list(conn.copy_out("embedded")) == wanted
    assert conn.fetchval("select row(v, h) from embedded where id = 1") == ([1.0, 2.5, 3.0], [0.5, 1.0])


@pytest.mark.parametrize("mark", ["$1, $2, $3", "%s, %s, %s"])
@pytest.mark.parametrize("strategy", ["pipelined", "joined", "copy"])
def test_batches_of_vectors(url: str, conn: Any, mark: str, strategy: Any) -> None:
    rows = [(n, Vector([n, 0.5, 2]), [n, 1.0] if n % 3 else None) for n in range(200)]
    with headrace.connect(url, autocommit=True, batch_strategy=strategy) as batching:
        batching.executemany(f"insert into embedded values ({mark})", rows)
    assert conn.fetch("select id, v, h from embedded order by id") == rows


def test_arrays_of_vectors(conn: Any) -> None:
    many = [[1.0, 2.0], None, [3.0, 4.0]]
    for kind in ("vector", "halfvec"):
        assert conn.fetchval(f"select $1::{kind}[]", many) == many
        assert conn.fetchval(f"select %s::{kind}[]", [Vector([1, 2]), None, Vector([3, 4])]) == many
        assert conn.fetchval(f"select $1::{kind}[]", [many[:1], many[2:]]) == [many[:1], many[2:]]
        assert conn.fetchval(f"select $1::{kind}[]", ["[1,2]", None, [3, 4]]) == many
        assert conn.fetchval(f"select $1::{kind}[]", []) == []


def test_operators_take_a_vector_whose_type_is_the_servers(conn: Any) -> None:
    conn.copy_in("embedded", [(1, [0, 0, 0], None), (2, [3, 4, 0], None)])
    sql = "select id, v <-> %s from embedded order by 2 desc"
    assert conn.fetch(sql, Vector([0, 0, 0])) == [(2, 5.0), (1, 0.0)]
    assert conn.fetch(sql, Vector(numpy.zeros(3, "float32"))) == [(2, 5.0), (1, 0.0)]
    assert conn.fetch(sql.replace("%s", "$1"), [0, 0, 0]) == [(2, 5.0), (1, 0.0)]


def test_what_is_no_vector_is_refused_before_it_is_sent(conn: Any) -> None:
    for kind, wrong, why in (
        ("vector", [1.0, None, 2.0], "a vector has numbers"),
        ("vector", [[1.0], [2.0]], "a vector has numbers"),
        ("vector", [1e39], "too large"),
        ("vector", [0] * 16_001, "at most 16000 dimensions"),
        ("vector", {1: 2}, "cannot be sent as vector"),
        ("halfvec", [65_520], "too large"),
        ("halfvec", [True, 1], "a vector has numbers"),
        ("sparsevec", b"", "cannot be sent as sparsevec"),
        ("sparsevec", ["a"], "a vector has numbers"),
    ):
        with pytest.raises((headrace.ProgrammingError, headrace.DataError), match=why):
            conn.fetchval(f"select $1::{kind}", wrong)
    with pytest.raises(headrace.DataError):
        conn.fetchval("select $1::vector", [float("nan")])
    assert conn.fetchval("select 1") == 1


@pytest.mark.parametrize("numbers", [{}, {0: 1.0}, {1: -2.5, 4: 1e20}])
def test_sparse_vectors_have_their_numbers_by_index(conn: Any, numbers: dict[int, float]) -> None:
    sparse = SparseVector({at: struct.unpack("f", struct.pack("f", n))[0] for at, n in numbers.items()}, 5)
    assert conn.fetchval("select $1::sparsevec", sparse) == sparse
    assert conn.fetchval("select %s::sparsevec", sparse) == sparse
    assert conn.fetchval("select $1::sparsevec", sparse.to_list()) == sparse
    assert conn.fetchval("select $1::sparsevec[]", [sparse, None]) == [sparse, None]
    text = conn.fetchval("select $1::sparsevec::text", sparse)
    assert conn.fetchval("select $1::sparsevec", text) == sparse
    assert conn.executescript(f"select '{text}'::sparsevec").fetchall() == [(sparse,)]
    conn.execute("drop table if exists thin")
    conn.execute("create table thin (s sparsevec(5))")
    assert conn.copy_in("thin", [(sparse,)]) == 1
    assert conn.copy_in("thin", [(sparse,)], format="text") == 1
    assert conn.fetch("select s from thin") == [(sparse,)] * 2
    assert conn.fetch_arrow_table("select s from thin").schema.types == [pyarrow.string()]


def test_every_number_of_16_bits_is_the_same_there_and_back(conn: Any) -> None:
    halves = numpy.arange(0x7C00, dtype="uint16").view("float16").astype("float64")
    for part in (halves[:16_000], halves[16_000:], -halves[1:16_000]):
        assert conn.fetchval("select $1::halfvec", part.tolist()) == part.tolist()
        # As the server reads them.
        text = "[" + ",".join(map(repr, part.tolist())) + "]"
        assert conn.fetchval("select $1::halfvec = $2::halfvec", part.tolist(), text)


def test_arrays_of_numpy_are_vectors(conn: Any) -> None:
    items = numpy.array([1, 2.5, -3], "float32")
    conn.execute("insert into embedded values ($1, $2, null)", (1, items))
    conn.execute("insert into embedded values (%s, %s, null)", (2, items))
    assert conn.copy_in("embedded", [(3, items, items[:2].astype("float16"))]) == 1
    conn.register_vector()
    rows = conn.fetch("select v, h, array[v] from embedded order by id")
    assert [row[0].tolist() for row in rows] == [items.tolist()] * 3
    assert (rows[2][0].dtype, rows[2][1].dtype) == (numpy.dtype("float32"), numpy.dtype("float16"))
    assert rows[2][2][0].tolist() == items.tolist()
    conn.executemany("insert into embedded values ($1, $2, $3)", [(4, *rows[2][:2])])


def test_what_is_registered_for_rows_leaves_arrow_and_scripts_as_they_are(conn: Any, url: str, adbc_dbapi: Any) -> None:
    conn.execute("insert into embedded values (1, '[1,2.5,-3]', '[1,2]'), (2, null, null)")
    sql = "select v, h, array[v] as many, row(v) as r, '{1:1}/3'::sparsevec as s from embedded order by id"
    plain = conn.fetch_arrow_table(sql)
    conn.register_vector()
    for _ in range(2):
        assert conn.fetch_arrow_table(sql) == plain
    script = conn.executescript("select v, h, array[v] from embedded order by id")
    first, second = script.fetchall()
    assert (first[0].tolist(), first[1].tolist(), first[2][0].tolist()) == ([1, 2.5, -3], [1, 2], [1, 2.5, -3])
    assert (first[0].dtype, first[1].dtype) == (numpy.dtype("float32"), numpy.dtype("float16"))
    assert second == (None, None, [None])


def test_a_vector_in_a_record_is_what_it_is_in_a_column(url: str, conn: Any) -> None:
    conn.execute("insert into embedded values (1, '[1,2.5,-3]', '[1,2]')")
    with headrace.connect(url, autocommit=True) as fresh:
        sql = "update embedded set id = id + 1 returning row(v, h, id)"
        assert fresh.fetchval(sql) == ([1, 2.5, -3], [1, 2], 2)
        fresh.register_vector()
        found = fresh.fetchval(sql)
        assert [found[0].tolist(), found[1].tolist(), found[2]] == [[1, 2.5, -3], [1, 2], 3]


def test_a_connection_may_have_the_servers_text(conn: Any, url: str) -> None:
    conn.execute("insert into embedded values (1, '[1,2,3]', '[1,2]')")
    with headrace.connect(url, extension_types="text") as plain:
        assert plain.fetch("select v, h from embedded") == [("[1,2,3]", "[1,2]")]
        assert plain.fetchval("select $1::vector", [1, 2.5]) == "[1,2.5]"
        assert plain.fetch_arrow_table("select v from embedded").to_pylist() == [{"v": "[1,2,3]"}]


def test_a_type_of_that_name_is_one_of_the_extension_only(conn: Any) -> None:
    conn.execute("create schema if not exists elsewhere")
    conn.execute("drop type if exists elsewhere.vector")
    conn.execute("create type elsewhere.vector as enum ('[1,2]')")
    found = conn.fetch_arrow_table("select '[1,2]'::elsewhere.vector as v")
    assert (found.schema.types, found.to_pylist()) == ([pyarrow.string()], [{"v": "[1,2]"}])
