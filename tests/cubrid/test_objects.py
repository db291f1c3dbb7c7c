"""Identifiers of objects, which only a genuine server has."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.cubrid
from headrace.types import Opaque

REUSING = (11, 0)
"""The version since which a table has no identifiers of its rows unless it is told to."""


@pytest.fixture
def referring(url: str) -> Iterator[headrace.cubrid.Connection[Any]]:
    """A connection to a database with a table whose rows refer to those of another."""
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        version = tuple(int(part) for part in conn.fetch_server_version().split(".")[:2])
        conn.execute("drop table if exists hr_referring")
        conn.execute("drop table if exists hr_referred")
        conn.execute("create table hr_referred (a int)" + (" dont_reuse_oid" if version >= REUSING else ""))
        conn.execute("create table hr_referring (n int, o hr_referred)")
        yield conn
        conn.execute("drop table hr_referring")
        conn.execute("drop table hr_referred")


def test_an_object_is_returned_and_is_a_parameter(referring: headrace.cubrid.Connection[Any]) -> None:
    referring.execute("insert into hr_referred values (7)")
    identifier = referring.fetchval("select hr_referred from hr_referred")
    page, slot, volume = (int(part) for part in identifier.removeprefix("@").split("|"))
    value = Opaque("object", struct.pack(">ihh", page, slot, volume))
    referring.execute("insert into hr_referring values (?, ?)", (1, value))
    referring.executemany("insert into hr_referring values (?, ?)", [(2, value), (3, None)])
    found = referring.fetch("select n, o, o.a from hr_referring order by n")
    assert found == [(1, identifier, 7), (2, identifier, 7), (3, None, None)]
