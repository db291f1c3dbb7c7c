"""The lower of MySQLdb's two interfaces: connections without cursors."""

from __future__ import annotations

from typing import Any, Final

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
from .connections import BaseConnection as connection
from .converters import escape, escape_dict, escape_sequence, escape_string, string_literal
from .results import Result as result

version_info: Final = (2, 2, 8, "final", 0)
"""The version of MySQLdb whose interface this is."""
__version__: Final = "2.2.8"


def connect(*args: Any, **keywords: Any) -> connection:
    """A connection."""
    return connection(*args, **keywords)


def get_client_info() -> str:
    """The version of the client library."""
    from ... import __version__ as version

    return f"headrace {version}"


def debug(options: str) -> None:
    """Does nothing: there is no C library that could write a trace."""


__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "MySQLError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "connect",
    "connection",
    "debug",
    "escape",
    "escape_dict",
    "escape_sequence",
    "escape_string",
    "get_client_info",
    "result",
    "string_literal",
]
