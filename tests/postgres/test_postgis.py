"""Values of PostGIS, on Debian's packages of it, which are fetched into a folder of their own."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest
import shapely  # type: ignore[import-untyped]

import headrace
from headrace.testing import PostgresServer, postgres
from headrace_lab.debian import debian_package
from long import NIGHT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NIGHT, reason="PostGIS takes 424 MB of disk: make test-long has it"),
]

PACKAGES = ("bookworm", "postgresql-15", "postgresql-15-postgis-3", "postgresql-15-postgis-3-scripts")
"""Debian's suite, and the packages: 60 MB."""
NOT_NEEDED = ("debconf*", "libc-bin", "libllvm*", "locales*", "openssl", "perl*", "ssl-cert", "systemd*", "sysvinit*")
"""What the packages depend on, and a server for tests does not."""
SRID = 4326
POINT = struct.pack("<BIIdd", 1, 0x2000_0001, SRID, 1.5, -2.0)
"""The EWKB of a point: byte order, type with the flag of an SRID, the SRID, x and y (PostGIS manual, "OpenGIS WKB and
WKT", and its extension)."""
WITHOUT_SRID = struct.pack("<BIdd", 1, 1, 1.5, -2.0)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """PostgreSQL 15 with PostGIS."""
    with pytest.MonkeyPatch.context() as patch:
        root = debian_package(*PACKAGES, without=NOT_NEEDED).root
        # What the packages' own scripts would link when they are installed.
        control = root / "usr/share/postgresql/15/extension/postgis.control"
        if not control.exists():
            control.symlink_to("postgis-3.control")
        # The programs run with the system's loader, which is the suite's own on Debian 12 alone.
        libraries = [str(folder) for folder in root.glob("usr/lib/*-linux-gnu*")]
        folders = [folder for each in libraries for folder in (each, f"{each}/blas", f"{each}/lapack")]
        patch.setenv("LD_LIBRARY_PATH", ":".join(folders))
        patch.setenv("PROJ_LIB", str(root / "usr/share/proj"))
        patch.setenv("HEADRACE_PG_BIN", str(root / "usr/lib/postgresql/15/bin"))
        context = postgres(settings={"jit": False})
        running = context.__enter__()
    try:
        with headrace.connect(running.url, autocommit=True) as conn:
            conn.execute("create extension postgis")
        yield running
    finally:
        context.__exit__(None, None, None)


@pytest.fixture
def conn(server: PostgresServer) -> Iterator[Any]:
    """A connection that has met none of the types, and an empty table."""
    with headrace.connect(server.url, autocommit=True) as connection:
        connection.execute("drop table if exists places")
        connection.execute(
            "create table places (id serial, at geometry(point, 4326), on_globe geography, all_ geometry[])"
        )
        yield connection


def test_values_are_ewkb_by_every_way(conn: Any) -> None:
    columns = ["at", "on_globe", "all_"]
    row = (POINT, POINT, [POINT, None])
    conn.execute("insert into places (at, on_globe, all_) values ($1, $2, $3)", row)
    conn.execute(
        "insert into places (at, on_globe, all_) values (%s, %s, %s)", ("SRID=4326;POINT(1.5 -2)", POINT, None)
    )
    conn.execute("update places set all_ = $1 where all_ is null", ([POINT, None],))
    conn.executemany("insert into places (at, on_globe, all_) values ($1, $2, $3)", [row, row])
    assert conn.copy_in("places", [row], columns=columns) == 1
    assert conn.copy_in("places", [row], columns=columns, format="text") == 1
    sql = "select at, on_globe, all_ from places"
    assert conn.fetch(sql) == [row] * 6
    assert conn.executescript(sql).fetchall() == [row] * 6
    assert conn.fetchval("select $1::geometry", WITHOUT_SRID) == WITHOUT_SRID
    assert conn.fetchval("select st_x($1::geometry)", POINT) == 1.5
    assert conn.fetchval("select st_srid(%s::geometry)", POINT) == SRID
    assert conn.fetchval("select row(st_setsrid(st_point(1.5, -2), 4326), 1)") == (POINT, 1)


def test_arrow_has_their_bytes(conn: Any) -> None:
    conn.copy_in("places", [(POINT, None, None)], columns=["at", "on_globe", "all_"])
    found = conn.fetch_arrow_table("select at, on_globe, all_ from places")
    assert found.schema.types == [pyarrow.binary(), pyarrow.binary(), pyarrow.list_(pyarrow.binary())]
    assert found["at"].to_pylist() == [POINT]
    assert conn.copy_in("places", found, columns=["at", "on_globe", "all_"]) == 1
    assert conn.fetch("select at from places") == [(POINT,)] * 2


def test_malformed_bytes_are_the_servers_to_refuse(conn: Any) -> None:
    with pytest.raises(headrace.DatabaseError):
        conn.fetchval("select $1::geometry", POINT[:-1])
    with pytest.raises(headrace.ProgrammingError, match="cannot be sent as geometry"):
        conn.fetchval("select $1::geometry", 1.5)
    assert conn.fetchval("select 1") == 1


def test_a_connection_may_have_the_servers_text(conn: Any, server: PostgresServer) -> None:
    with headrace.connect(server.url, extension_types="text") as plain:
        assert plain.fetchval("select $1::geometry", POINT) == POINT.hex().upper()


def test_objects_of_shapely(conn: Any) -> None:
    conn.register_shapely()
    point = shapely.set_srid(shapely.Point(1.5, -2), SRID)
    conn.execute("insert into places (at, on_globe) values (%s, %s)", (point, point))
    conn.execute("insert into places (at, on_globe, all_) values ($1, $2, $3)", (point, point, [point, None]))
    conn.copy_in("places", [(point, point, [point, None])], columns=["at", "on_globe", "all_"])
    rows = conn.fetch("select at, on_globe from places")
    assert len(rows) == 3
    for row in rows:
        assert row == (point, point)
        assert [shapely.get_srid(each) for each in row] == [SRID, SRID]
