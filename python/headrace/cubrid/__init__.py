"""CUBRID as a module of PEP 249.

>>> import headrace.cubrid
>>> headrace.cubrid.apilevel, headrace.cubrid.paramstyle
('2.0', 'qmark')
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
    BlobLocator,
    ClobLocator,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from .connection import Connection
from .cursor import Cursor, ServerCursor, StreamCursor
from .largeobject import LargeObject
from .opening import connect

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "BlobLocator",
    "ClobLocator",
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
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Rollback",
    "ServerCursor",
    "StreamCursor",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
