"""Smart large objects as the test server has them for those who ask by flags and by DESCRIBE, as IBM's driver does."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.informix
from headrace import errors
from headrace.testing import InformixServer
from headrace.types import Opaque

from .raw import Client, Column, command, prepare

APPEND, WRITE_ONLY, READ_ONLY, READ_WRITE = 1, 2, 4, 8
"""Flags of ifx_lo_open."""
NOT_OPEN_FOR_IT = -12056
"""The ISAM error of an object that was opened for something else."""

Connection = headrace.informix.Connection[Any]


@pytest.fixture
def stored(conn: Connection, table: str) -> Opaque:
    """The locator of an object with six bytes, as routines take it."""
    conn.execute(f"create table {table} (b blob)")
    with conn.create_lob() as lob:
        lob.write(b"012345")
        conn.execute(f"insert into {table} values (?)", (lob.locator,))
    return Opaque("blob", conn.fetchval(f"select b from {table}").data)


def opened(conn: Connection, locator: Opaque, flags: int) -> int:
    """The handle of an object opened with these flags."""
    return int(conn.fastpath("ifx_lo_open(blob, integer)", locator, flags)[0])


def content(conn: Connection, locator: Opaque) -> bytes:
    with conn.open_lob(headrace.types.BlobLocator(locator.data)) as lob:
        return lob.read()


def write(conn: Connection, handle: int, data: bytes) -> None:
    """Writes where the handle stands."""
    conn._wait(conn._core.wire.lo_write(handle, data), None)


def test_object_opened_for_reading_cannot_be_written(conn: Connection, stored: Opaque) -> None:
    handle = opened(conn, stored, READ_ONLY)
    with pytest.raises(errors.OperationalError) as caught:
        write(conn, handle, b"xyz")
    assert (caught.value.sqlcode, caught.value.isamcode) == (-9810, NOT_OPEN_FOR_IT)
    with pytest.raises(errors.OperationalError):
        conn.fastpath("ifx_lo_truncate(integer, int8)", handle, 0)
    assert content(conn, stored) == b"012345"


@pytest.mark.parametrize("flags", [APPEND, APPEND | READ_WRITE], ids=["append", "append and read"])
def test_object_opened_for_appending_is_written_at_its_end(conn: Connection, stored: Opaque, flags: int) -> None:
    handle = opened(conn, stored, flags)
    write(conn, handle, b"67")
    conn.fastpath("ifx_lo_seek(integer, int8, integer, integer)", handle, 0, 0, 0)
    write(conn, handle, b"89")
    assert content(conn, stored) == b"0123456789"


@pytest.mark.parametrize("flags", [WRITE_ONLY, READ_WRITE], ids=["write", "write and read"])
def test_object_opened_for_writing_is_written_from_its_beginning(conn: Connection, stored: Opaque, flags: int) -> None:
    handle = opened(conn, stored, flags)
    write(conn, handle, b"ab")
    assert content(conn, stored) == b"ab2345"


@pytest.mark.parametrize("kind", ["blob", "clob"])
def test_locator_is_described_by_reference_and_aligned(server: InformixServer, kind: str) -> None:
    with Client(server) as client:
        assert client.ask(command(f"create table d_{kind} (n char(51), l {kind}, m int)")).error() is None
        _, lob, behind = client.ask(prepare(f"select * from d_{kind}")).columns
        assert lob == Column(start=52, code=41, type_name=kind, by_reference=1, alignment=4, length=72)
        assert behind.start == 52 + 72
        assert (behind.by_reference, behind.alignment) == (0, 0)
