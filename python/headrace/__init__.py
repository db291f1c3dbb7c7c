"""headrace: drivers for PostgreSQL, MySQL, MariaDB, Informix and CUBRID.

``headrace.connect("postgresql://...")`` opens a blocking connection, ``await headrace.aio.connect(...)`` an asyncio
connection.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from . import errors
from ._shared.dispatch import module_for
from .errors import (
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

if TYPE_CHECKING:
    from . import aio, postgres, rows, types
    from ._shared.core import Rollback
    from .partitioning import Partition, PartitionPlan, partitions, read
    from .pool import ConnectionPool
    from .postgres import Connection, Cursor

T = TypeVar("T")

__version__ = "0.1.0"

# PEP 249, whose constructors and type objects are in the module of each database.
apilevel = "2.0"
threadsafety = 2
paramstyle = "pyformat"

__all__ = [
    "Connection",
    "ConnectionPool",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "Partition",
    "PartitionPlan",
    "ProgrammingError",
    "Rollback",
    "Warning",
    "aio",
    "apilevel",
    "connect",
    "errors",
    "paramstyle",
    "partitions",
    "postgres",
    "read",
    "rows",
    "threadsafety",
    "types",
]


@overload
def connect(
    conninfo: str = "", /, *, row_factory: None = None, autocommit: bool = False, **keywords: Any
) -> Connection[rows.Row]: ...
@overload
def connect(
    conninfo: str = "", /, *, row_factory: rows.RowFactory[T], autocommit: bool = False, **keywords: Any
) -> Connection[T]: ...
def connect(conninfo: str = "", /, **keywords: Any) -> Connection[Any]:
    """Connects to the database of the URL: ``postgresql://`` (or ``postgres://``), ``mysql://``, ``mariadb://``,
    ``informix://``, ``cubrid://``.

    Without a URL the database is PostgreSQL. A type checker assumes PostgreSQL; for other databases use
    :func:`headrace.mysql.connect`, :func:`headrace.informix.connect` or :func:`headrace.cubrid.connect`.

    Args:
        conninfo: a URL, or a connection string of PostgreSQL.
        keywords: settings, and ``autocommit`` and ``row_factory``: see ``connect`` of the database.

    Returns:
        An open connection.

    Raises:
        ProgrammingError: the URL is of another kind, or a setting is wrong or unknown.
        OperationalError: no connection could be opened; ``error.code`` is the reason.
        ConnectionTimeout: not within ``connect_timeout`` seconds.
    """
    return module_for(conninfo, __name__).connect(conninfo, **keywords)  # type: ignore[no-any-return]


_WHEN_USED: Final = {
    "Connection": "postgres",
    "ConnectionPool": "pool",
    "Cursor": "postgres",
    "Partition": "partitioning",
    "PartitionPlan": "partitioning",
    "Rollback": "_shared.core",
    "aio": "",
    "partitions": "partitioning",
    "postgres": "",
    "read": "partitioning",
    "rows": "",
    "types": "",
}
"""What is imported when it is first used, with the module it is in: a program that uses one database, or has no event
loop, does not pay for the others."""


def __getattr__(name: str) -> Any:
    where = _WHEN_USED.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{where or name}")
    found = globals()[name] = getattr(module, name) if where else module
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
