"""Objects of shapely as values of ``geometry``, on a server without PostGIS: the type is made by hand, of the functions
of ``bytea``. It has PostGIS' name and binary form, EWKB; its text, its checks and its functions are not PostGIS':
``test_postgis.py`` has those."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest
import shapely  # type: ignore[import-untyped]

import headrace
from headrace.pool import ConnectionPool
from headrace.testing import PostgresServer

BY_HAND = """
create schema by_hand;
create type by_hand.geometry;
create function by_hand.geometry_in(cstring) returns by_hand.geometry language internal immutable strict as 'byteain';
create function by_hand.geometry_out(by_hand.geometry) returns cstring language internal immutable strict as 'byteaout';
create function by_hand.geometry_recv(internal) returns by_hand.geometry
    language internal immutable strict as 'bytearecv';
create function by_hand.geometry_send(by_hand.geometry) returns bytea language internal immutable strict as 'byteasend';
create type by_hand.geometry (
    input = by_hand.geometry_in, output = by_hand.geometry_out,
    receive = by_hand.geometry_recv, send = by_hand.geometry_send, storage = extended
);
create table by_hand.places (n int, at by_hand.geometry, all_ by_hand.geometry[]);
"""
TEXTS = (
    "POINT (1.5 -2)",
    "POINT Z (1 2 3)",
    "POINT EMPTY",
    "LINESTRING (0 0, 1 1, 2 1.25)",
    "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))",
    "MULTIPOINT ((0 0), (1 1))",
    "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
    "GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (0 0, 1 1))",
    "GEOMETRYCOLLECTION EMPTY",
)
SHAPES = [shapely.set_srid(shapely.from_wkt(text), srid) for text in TEXTS for srid in (0, 4326)]


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    """A database with the type and an empty table."""
    with headrace.connect(server.url, autocommit=True) as conn:
        conn.execute("drop schema if exists by_hand cascade")
        conn.executescript(BY_HAND)
        yield server.url
        conn.execute("drop schema by_hand cascade")


@pytest.fixture
def conn(url: str) -> Iterator[Any]:
    """A connection that takes and returns shapely's objects."""
    with headrace.connect(url, autocommit=True) as connection:
        connection.register_shapely()
        yield connection


def same(found: Any, expected: Any) -> bool:
    """Returns true for the same geometry with the same SRID."""
    made: tuple[bytes, bytes] = shapely.to_wkb(found, include_srid=True), shapely.to_wkb(expected, include_srid=True)
    return isinstance(found, shapely.Geometry) and made[0] == made[1]


def test_shapes_are_stored_and_read_by_every_way(conn: Any) -> None:
    rows = [(n, shape, [shape, None]) for n, shape in enumerate(SHAPES)]
    insert = "insert into by_hand.places values ($1, $2, $3)"
    conn.execute(insert, rows[0])
    conn.executemany(insert, rows[1:7])
    conn.executemany(insert.replace("$1", "%s").replace("$2", "%s").replace("$3", "%s"), rows[7:9])
    assert conn.copy_in("by_hand.places", rows[9:]) == len(rows) - 9
    query = "select n, at, all_ from by_hand.places order by n"
    with conn.transaction(), conn.cursor("named") as named:
        named.execute(query)
        by_cursor = named.fetchall()
    with conn.pipeline():
        pipelined = conn.execute(query)
    for found in (conn.fetch(query), list(conn.stream(query)), by_cursor, pipelined.fetchall()):
        assert [row[0] for row in found] == list(range(len(SHAPES)))
        for (_, shape, several), expected in zip(found, SHAPES, strict=True):
            assert same(shape, expected), expected
            assert same(several[0], expected), expected
            assert several[1] is None


def test_a_parameter_has_the_type_of_its_place(conn: Any) -> None:
    for shape in SHAPES:
        assert same(conn.fetchval("select $1::by_hand.geometry", shape), shape)
        assert same(conn.fetchval("select %s::by_hand.geometry", shape), shape)
    assert conn.fetchval("select $1::by_hand.geometry", None) is None


def test_without_registration_values_are_bytes_and_shapes_are_refused(url: str, conn: Any) -> None:
    shape = SHAPES[1]
    conn.execute("insert into by_hand.places values (1, $1)", (shape,))
    with headrace.connect(url, autocommit=True) as plain:
        assert plain.fetchval("select at from by_hand.places") == shapely.to_wkb(shape, include_srid=True)
        with pytest.raises(headrace.ProgrammingError):
            plain.execute("insert into by_hand.places values (1, $1)", (shape,))
        plain.register_shapely()
        assert same(plain.fetchval("select at from by_hand.places"), shape)


def test_a_database_without_the_extension_is_named(server: PostgresServer) -> None:
    with (
        headrace.connect(server.url) as plain,
        pytest.raises(headrace.ProgrammingError, match="no types of the extension postgis"),
    ):
        plain.register_shapely()


def test_a_pool_registers_them_for_all(url: str) -> None:
    with ConnectionPool(url, max_size=2, configure=lambda each: each.register_shapely()) as pool:
        for _ in range(3):
            assert same(pool.fetchval("select $1::by_hand.geometry", SHAPES[3]), SHAPES[3])


def test_arrow_has_the_bytes(conn: Any) -> None:
    conn.copy_in("by_hand.places", [(n, shape, None) for n, shape in enumerate(SHAPES)])
    found = conn.fetch_arrow_table("select at from by_hand.places order by n")
    assert found.schema.types == [pyarrow.binary()]
    assert all(same(shapely.from_wkb(each), shape) for each, shape in zip(found["at"].to_pylist(), SHAPES, strict=True))
