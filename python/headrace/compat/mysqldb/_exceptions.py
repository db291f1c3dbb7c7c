"""The exceptions of MySQLdb: ``args`` are the server's number and its words."""

from __future__ import annotations

import builtins
from typing import Final

from ... import errors


class MySQLError(Exception):
    """Base of everything here."""


class Warning(builtins.Warning, MySQLError):
    """Important warnings."""


class Error(MySQLError):
    """Base of every error."""


class InterfaceError(Error):
    """Wrong use of the driver."""


class DatabaseError(Error):
    """Errors of the database."""


class DataError(DatabaseError):
    """A value does not fit."""


class OperationalError(DatabaseError):
    """Not the program's fault."""


class IntegrityError(DatabaseError):
    """A constraint is violated."""


class InternalError(DatabaseError):
    """The database is out of order."""


class ProgrammingError(DatabaseError):
    """Wrong SQL, or wrong parameters."""


class NotSupportedError(DatabaseError):
    """The server cannot do that."""


_CLASSES: Final[list[tuple[type[errors.Error], type[Error]]]] = [
    (errors.IntegrityError, IntegrityError),
    (errors.DataError, DataError),
    (errors.NotSupportedError, NotSupportedError),
    (errors.ProgrammingError, ProgrammingError),
    (errors.InternalError, InternalError),
    (errors.OperationalError, OperationalError),
    (errors.DatabaseError, OperationalError),
    (errors.InterfaceError, InterfaceError),
]
# The only numbers for which MySQLdb raises DataError; Django, for one, relies on the others being OperationalError.
_DATA: Final = frozenset((1171, 1263, 1264, 1265, 1406, 1441))
SERVER_LOST: Final = 2013
SERVER_GONE: Final = 2006
CONNECTION_FAILED: Final = 2002
UNKNOWN: Final = 2000


def translated(error: errors.Error, code: int = UNKNOWN) -> Error:
    """The exception of MySQLdb for one of headrace's. ``code`` is the number of one that the server did not send."""
    kind = next((mine for theirs, mine in _CLASSES if isinstance(error, theirs)), OperationalError)
    if error.sqlcode is not None:
        if kind is InternalError or (kind is DataError and error.sqlcode not in _DATA):
            kind = OperationalError
        return kind(error.sqlcode, error.message or str(error))
    if isinstance(error, errors.ConnectionClosed):
        code = SERVER_LOST
    return kind(code, str(error))
