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
# The server's numbers that are not OperationalError in MySQLdb. Django, for one, relies on the others being that.
_NUMBERS: Final[dict[type[Error], tuple[int, ...]]] = {
    ProgrammingError: (1007, 1064, 1102, 1103, 1110, 1111, 1112, 1113, 1146, 1149, 1179),
    DataError: (1171, 1230, 1263, 1264, 1265, 1406, 1441),
    IntegrityError: (1048, 1062, 1169, 1215, 1216, 1217, 1364, 1451, 1452),
    NotSupportedError: (1196, 1235, 1286, 1289),
}
_BY_NUMBER: Final = {number: kind for kind, numbers in _NUMBERS.items() for number in numbers}
_FIRST_NUMBER: Final = 1000
"""No server sends what is below."""
SERVER_LOST: Final = 2013
SERVER_GONE: Final = 2006
CONNECTION_FAILED: Final = 2002
UNKNOWN: Final = 2000


def translated(error: errors.Error, code: int = UNKNOWN) -> Error:
    """The exception of MySQLdb for one of headrace's. ``code`` is the number of one that the server did not send."""
    if error.sqlcode is not None and not isinstance(error, errors.ConnectionClosed):
        usual = InternalError if error.sqlcode < _FIRST_NUMBER else OperationalError
        return _BY_NUMBER.get(error.sqlcode, usual)(error.sqlcode, error.message or str(error))
    kind = next((mine for theirs, mine in _CLASSES if isinstance(error, theirs)), OperationalError)
    if isinstance(error, errors.ConnectionClosed):
        code = SERVER_LOST
    return kind(code, str(error))
