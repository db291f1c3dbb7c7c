"""PostgreSQL as a module of PEP 249.

>>> import headrace.postgres
>>> headrace.postgres.apilevel, headrace.postgres.paramstyle
('2.0', 'pyformat')
"""

from __future__ import annotations

from .._shared.core import Rollback
from ..errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from ..types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from .connection import Connection
from .cursor import Cursor, ServerCursor
from .largeobject import LargeObject
from .listening import Listener, listen
from .opening import connect

apilevel = "2.0"
threadsafety = 2
paramstyle = "pyformat"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "LargeObject",
    "Listener",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Rollback",
    "ServerCursor",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "listen",
    "paramstyle",
    "threadsafety",
]
