"""What a pool asks of connections and errors: no state of its own."""

from __future__ import annotations

import copy
import socket
from typing import Final

from ..errors import (
    InvalidAuthorizationSpecification,
    InvalidCatalogName,
    InvalidPassword,
    NotSupportedError,
    PoolTimeout,
    ProgrammingError,
)
from .modes import ResetMode

_MISTAKES = (
    ProgrammingError,
    NotSupportedError,
    TypeError,
    InvalidPassword,
    InvalidAuthorizationSpecification,
    InvalidCatalogName,
)
"""What a connection attempt meets that waiting does not mend."""


IS_OPEN: Final = "this block is open already: call connection() of the pool for each block"
"""The error of a block that is entered a second time before its end."""


def is_mistake(error: BaseException) -> bool:
    """Returns true if a connection cannot be made as it was asked for: a wrong keyword or password, no such host."""
    if isinstance(error, _MISTAKES):
        return True
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, socket.gaierror):
            return found.errno == socket.EAI_NONAME
        found = found.__cause__ or found.__context__
    return False


def check_connection(connection: object) -> None:
    """Raises TypeError for what is given back and is no connection."""
    if not hasattr(connection, "transaction_status"):
        raise TypeError(f"putconn() takes a connection that the pool has lent, not {type(connection).__name__}")


def check_mode(connection: object, mode: ResetMode) -> None:
    """Raises ProgrammingError for a reset that the database of a new connection does not have."""
    modes = getattr(connection, "_reset_modes", (mode,))
    if mode not in modes:
        raise ProgrammingError(f"reset={mode!r} is not one of {', '.join(modes)}, which this database has")


def is_configured_again(mode: ResetMode) -> bool:
    """Returns true if a reset undoes what ``configure`` has set."""
    return mode == "discard"


def remember(connection: object) -> None:
    """What ``configure`` has set on a connection is what a reset sets back. A connection of another package may not
    have that."""
    note = getattr(connection, "_remember", None)
    if note is not None:
        note()


def copy_of_error(error: Exception) -> Exception:
    """Returns a copy of an error for another waiter: a traceback belongs to one of them."""
    try:
        again = copy.copy(error)
    except Exception:
        again = PoolTimeout(f"no connection can be made: {type(error).__name__}: {error}")
    again.__cause__ = error
    return again
