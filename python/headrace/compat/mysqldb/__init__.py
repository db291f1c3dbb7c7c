"""headrace.mysql with the interface of MySQLdb (mysqlclient), for what was written for it: Django, SQLAlchemy, Ibis.

    import headrace.compat.mysqldb
    headrace.compat.mysqldb.install_as_MySQLdb()

Behind that ``import MySQLdb`` finds this. It does as MySQLdb does, not as headrace would: parameters become literals in
the text, ``executemany`` is not atomic, connections are not shared between threads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final

from . import _exceptions, _mysql, connections, constants, converters, cursors, times
from ._exceptions import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    MySQLError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from ._mysql import __version__, debug, escape_string, get_client_info, string_literal, version_info
from .constants import FIELD_TYPE
from .times import Date, DateFromTicks, Time, TimeFromTicks, Timestamp, TimestampFromTicks

_NAME: Final = __name__
apilevel = "2.0"
threadsafety = 1
paramstyle = "format"


class DBAPISet:
    """A type object of PEP 249: equals the numbers of the types that it groups."""

    def __init__(self, types: Iterable[int] = ()) -> None:
        self.types = frozenset(types)

    def __eq__(self, other: object) -> bool:
        return self.types == other.types if isinstance(other, DBAPISet) else other in self.types

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.types)


STRING = DBAPISet((FIELD_TYPE.ENUM, FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR))
BINARY = DBAPISet((FIELD_TYPE.BLOB, FIELD_TYPE.LONG_BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.TINY_BLOB))
NUMBER = DBAPISet(
    (
        FIELD_TYPE.DECIMAL,
        FIELD_TYPE.DOUBLE,
        FIELD_TYPE.FLOAT,
        FIELD_TYPE.INT24,
        FIELD_TYPE.LONG,
        FIELD_TYPE.LONGLONG,
        FIELD_TYPE.TINY,
        FIELD_TYPE.YEAR,
        FIELD_TYPE.NEWDECIMAL,
        FIELD_TYPE.SHORT,
    )
)
DATE = DBAPISet((FIELD_TYPE.DATE,))
TIME = DBAPISet((FIELD_TYPE.TIME,))
TIMESTAMP = DBAPISet((FIELD_TYPE.TIMESTAMP, FIELD_TYPE.DATETIME))
DATETIME = TIMESTAMP
ROWID = DBAPISet()


def Binary(value: Any) -> bytes:
    """Bytes."""
    return bytes(value)


def Connect(*args: Any, **keywords: Any) -> connections.Connection:
    """Connects: see :class:`headrace.compat.mysqldb.connections.Connection`."""
    return connections.Connection(*args, **keywords)


connect = Connection = Connect


def install_as_MySQLdb() -> None:
    """Makes ``import MySQLdb`` find this package, under that name: SQLAlchemy looks for the flags of a connection in
    ``<its module's __name__>.constants.CLIENT``."""
    global __name__
    for name, module in list(sys.modules.items()):
        if name == _NAME or name.startswith(f"{_NAME}."):
            sys.modules["MySQLdb" + name[len(_NAME) :]] = module
    __name__ = "MySQLdb"


__all__ = [
    "BINARY",
    "DATE",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "TIME",
    "TIMESTAMP",
    "Binary",
    "Connect",
    "Connection",
    "DBAPISet",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "MySQLError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "_exceptions",
    "_mysql",
    "apilevel",
    "connect",
    "connections",
    "constants",
    "converters",
    "cursors",
    "debug",
    "escape_string",
    "get_client_info",
    "install_as_MySQLdb",
    "paramstyle",
    "string_literal",
    "threadsafety",
    "times",
    "version_info",
]
