"""Connections, cursors and pools are used in the same way on every database and in both shells.

Their methods, parameters, defaults and properties are the same, or the difference is listed here with its reason.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from headrace import types
from headrace._shared import databases
from headrace.aio.pool import AsyncConnectionPool
from headrace.pool import ConnectionPool

DATABASES = tuple(row.module for row in databases.DATABASES)
KINDS = ("Connection", "Cursor", "StreamCursor", "ServerCursor")
BOTH = ("headrace", "headrace.aio")

DIFFERENT = {
    "Connection.cursor": "each database has other cursors: with a name, streaming, or open on the server",
    "Connection.stream": "Informix fetches by bytes; MySQL also from a cursor on the server",
    "Connection.stream_blocks": "as stream",
    "Connection.fetchmany": "Informix and CUBRID execute rows of parameters one by one: no Arrow",
    "Connection.isolation_level": "the levels that the server has",
    "Connection.set_isolation_level": "the levels that the server has",
    "Connection.create_lob": "Informix takes the storage settings of a column",
    "Connection.open_lob": "CUBRID opens a large object without a request, always for reading and writing",
}
"""Members whose signatures differ."""
OF_SOME = {
    "Connection.executescript": "Informix and CUBRID prepare every statement, and prepare one at a time",
    "Connection.read_only": "Informix and CUBRID have no read-only transactions",
    "Connection.set_read_only": "as read_only",
    "Connection.server_version": "CUBRID does not report it when a session begins: fetch_server_version() asks for it",
    "Connection.create_lob": "MySQL has no large objects",
    "Connection.open_lob": "as create_lob",
    **{
        f"Connection.{name}": "Informix and CUBRID have no SQL for two phases: their protocols have it, unpublished"
        for name in ("tpc_begin", "tpc_commit", "tpc_prepare", "tpc_recover", "tpc_rollback", "xid")
    },
    "ServerCursor.current": "PostgreSQL numbers no rows",
    **{f"ServerCursor.fetch_{row}": "as current" for row in ("absolute", "first", "last", "prior", "relative")},
}
"""Members that more than one database has, and not all of them."""
ITS_OWN = {
    "backend_pid": "the server's own name of what it shows, cancels or kills by: pg_backend_pid()",
    "thread_id": "the same: KILL takes it",
    "cas_pid": "the same: a process of the broker",
    "lock_wait": "SET LOCK MODE TO WAIT, whole seconds",
    "lock_timeout": "SET TRANSACTION LOCK TIMEOUT, which takes fractions",
    "server_version_number": "PostgreSQL's versions are compared by it",
    "fetch_server_version": "see server_version",
}
"""Members of one database that another has by another name, or in another way."""
SETTERS = {"autocommit", "isolation_level", "read_only", "deferrable", "lock_wait", "lock_timeout"}
"""Attributes that are set on a blocking connection, and by ``set_...()`` on an asyncio one."""


def kind_of(package: str, database: str, kind: str) -> type | None:
    module = importlib.import_module(f"{package}.{database}")
    return getattr(module, ("Async" if package.endswith("aio") else "") + kind, None)


def members(kind: type) -> dict[str, Any]:
    """The public members of a class but exceptions and constants: properties, and the functions of methods."""
    found = {}
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            found[name] = member
    return found


def signature(member: Any) -> str:
    """A property's or method's signature, with the words of the blocking shell."""
    if isinstance(member, property):
        returned = str(inspect.signature(member.fget).return_annotation)  # type: ignore[arg-type]
        return f"property of {returned.replace('Async', '')}"
    parameters = []
    for parameter in inspect.signature(inspect.unwrap(member)).parameters.values():
        annotation = "" if parameter.name == "self" else str(parameter.annotation)
        parameters.append(str(parameter.replace(annotation=annotation.replace("Async", ""))))
    return f"({', '.join(parameters)})"


@pytest.mark.parametrize("package", BOTH)
@pytest.mark.parametrize("kind", KINDS)
def test_members_are_the_same_on_every_database(package: str, kind: str) -> None:
    there = {database: each for database in DATABASES if (each := kind_of(package, database, kind)) is not None}
    assert len(there) > 1
    signatures: dict[str, dict[str, str]] = {}
    for database, each in there.items():
        for name, member in members(each).items():
            signatures.setdefault(name, {})[database] = signature(member)
    for name, found in signatures.items():
        listed = f"{kind}.{name}"
        if len(found) > 1:
            assert (len(set(found.values())) > 1) == (listed in DIFFERENT), (listed, found)
            assert len(found) == len(there) or listed in OF_SOME, f"{listed} is of {', '.join(found)} only"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("database", DATABASES)
def test_members_are_the_same_in_both_shells(database: str, kind: str) -> None:
    blocking, looping = (kind_of(package, database, kind) for package in BOTH)
    assert (blocking is None) == (looping is None)
    if blocking is None or looping is None:
        return
    sync = {name: signature(member) for name, member in members(blocking).items()}
    setters = {name for name, member in members(blocking).items() if isinstance(member, property) and member.fset}
    loop = {name: signature(member) for name, member in members(looping).items()}
    assert setters - {"row_factory"} == SETTERS & members(blocking).keys()
    assert {name for name in loop if name.startswith("set_")} - {f"set_{name}" for name in setters} <= {"set_types"}
    loop = {name: shape for name, shape in loop.items() if name not in {f"set_{each}" for each in setters}}
    differing = {name: (sync.get(name), loop.get(name)) for name in sync.keys() | loop.keys()}
    differing = {name: shapes for name, shapes in differing.items() if shapes[0] != shapes[1]}
    assert not differing


def test_the_lists_name_what_there_is() -> None:
    there = {
        f"{kind}.{name}": each
        for package in BOTH
        for database in DATABASES
        for kind in KINDS
        if (each := kind_of(package, database, kind)) is not None
        for name in members(each)
    }
    assert set(DIFFERENT) | set(OF_SOME) <= there.keys()
    assert {f"Connection.{name}" for name in ITS_OWN} <= there.keys()


PROTOCOLS = {
    "ConnectionProtocol": [kind_of("headrace", database, "Connection") for database in DATABASES],
    "CursorProtocol": [kind_of("headrace", database, "Cursor") for database in DATABASES],
    "PoolProtocol": [ConnectionPool],
    "AsyncConnectionProtocol": [kind_of("headrace.aio", database, "Connection") for database in DATABASES],
    "AsyncCursorProtocol": [kind_of("headrace.aio", database, "Cursor") for database in DATABASES],
    "AsyncPoolProtocol": [AsyncConnectionPool],
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_has_what_every_database_has(name: str) -> None:
    """That the types fit is checked by the type checkers, in tests/typing."""
    protocol = members(getattr(types, name))
    kinds = [members(kind) for kind in PROTOCOLS[name] if kind is not None]
    common = set(kinds[0]).intersection(*kinds)
    assert protocol.keys() == common
