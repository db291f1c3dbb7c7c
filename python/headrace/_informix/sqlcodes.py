"""Informix's errors as exceptions: the class by the sqlcode, the text from the code and what the server adds to it.

The server sends a number and one word of text; the message catalogue is the client's. What is here says in our own
words what the common numbers mean; of the others the number is given, which ``finderr`` and IBM's documentation
explain.
"""

from __future__ import annotations

from typing import Final

from .. import errors
from ..errors import (
    DatabaseError,
    DataError,
    IntegrityError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

_LOCKED: Final = errors.LockNotAvailable

# sqlcode: class and meaning; ``{}`` is the word that the server adds.
_MEANINGS: Final[dict[int, tuple[type[DatabaseError], str]]] = {
    -201: (errors.SyntaxError, "syntax error"),
    -202: (errors.SyntaxError, "a character that no statement can have"),
    -206: (errors.UndefinedTable, "table {} does not exist"),
    -213: (errors.QueryCanceled, "the statement was interrupted"),
    -217: (errors.UndefinedColumn, "column {} does not exist in any table of the query"),
    -239: (errors.UniqueViolation, "duplicate value in a column with the unique index {}"),
    -242: (OperationalError, "table {} could not be opened"),
    -243: (_LOCKED, "a row of table {} could not be reached: it is locked, or the wait for it was too long"),
    -244: (_LOCKED, "a row could not be read in order: it is locked, or the wait for it was too long"),
    -245: (_LOCKED, "a row could not be reached by an index: it is locked, or the wait for it was too long"),
    -255: (errors.NoActiveSqlTransaction, "no transaction is open"),
    -256: (NotSupportedError, "the database has no transactions (it is not logged)"),
    -260: (InternalError, "the statement cannot be executed this way"),
    -263: (_LOCKED, "a row could not be locked for update"),
    -267: (errors.InvalidCursorName, "the cursor was closed, or released by the end of its transaction"),
    -268: (errors.UniqueViolation, "unique constraint {} is violated"),
    -271: (OperationalError, "a row could not be inserted into table {}"),
    -272: (errors.InsufficientPrivilege, "no SELECT permission on {}"),
    -273: (errors.InsufficientPrivilege, "no UPDATE permission on {}"),
    -274: (errors.InsufficientPrivilege, "no DELETE permission on {}"),
    -275: (errors.InsufficientPrivilege, "no INSERT permission on {}"),
    -282: (errors.SyntaxError, "a quote is open at the end of the statement"),
    -284: (errors.CardinalityViolation, "a subquery gave more than one row"),
    -285: (errors.InvalidCursorName, "no such cursor"),
    -310: (errors.DuplicateTable, "table {} exists already"),
    -316: (errors.DuplicateObject, "index {} exists already"),
    -319: (errors.UndefinedObject, "index {} does not exist"),
    -329: (errors.InvalidCatalogName, "database {} does not exist, or cannot be found"),
    -330: (errors.DuplicateDatabase, "the database could not be created"),
    -346: (OperationalError, "a row of table {} could not be updated"),
    -349: (ProgrammingError, "no database is open yet"),
    -368: (OperationalError, "the SQL server process does not fit the client"),
    -387: (errors.InsufficientPrivilege, "no permission to connect to the database"),
    -388: (errors.InsufficientPrivilege, "no permission to create objects"),
    -391: (errors.NotNullViolation, "column {} takes no NULL"),
    -400: (errors.InvalidCursorName, "fetch on a cursor that is not open"),
    -404: (errors.InvalidCursorName, "the cursor or statement is not available"),
    -410: (errors.InvalidSqlStatementName, "the statement is not prepared"),
    -415: (DataError, "a value cannot be converted to the type wanted"),
    -526: (NotSupportedError, "a scroll cursor cannot be updated"),
    -530: (errors.CheckViolation, "check constraint {} is violated"),
    -535: (errors.ActiveSqlTransaction, "a transaction is open already"),
    -458: (errors.TransactionRollback, "the server gave up the transaction; end it with a rollback"),
    -517: (ProgrammingError, "the index is too long or has too many columns"),
    -668: (OperationalError, "a system command failed"),
    -674: (errors.UndefinedFunction, "routine {} does not exist"),
    -691: (errors.ForeignKeyViolation, "no row with this key in the table that constraint {} refers to"),
    -692: (errors.ForeignKeyViolation, "the key is still referred to by constraint {}"),
    -703: (IntegrityError, "the primary key on table {} has a column with a NULL"),
    -710: (OperationalError, "table {} was dropped, altered or renamed since the statement was prepared"),
    -746: (DatabaseError, "{}"),
    -761: (OperationalError, "the server has another name than the one given as server (INFORMIXSERVER)"),
    -908: (OperationalError, "the server could not be reached"),
    -951: (errors.InvalidPassword, "unknown user, or wrong password"),
    -952: (errors.InvalidPassword, "wrong password of user {}"),
    -956: (OperationalError, "the client's host is not trusted, and no password was given"),
    -1202: (errors.DivisionByZero, "division by zero"),
    -1204: (DataError, "a date has a year that is none"),
    -1205: (DataError, "a date has a month that is none"),
    -1206: (DataError, "a date has a day that its month does not have"),
    -1207: (DataError, "a converted value does not fit where it goes"),
    -1213: (errors.InvalidTextRepresentation, "text that is no number cannot be converted to one"),
    -1214: (errors.NumericValueOutOfRange, "a value is too large for a SMALLINT"),
    -1215: (errors.NumericValueOutOfRange, "a value is too large for an INTEGER"),
    -1218: (errors.InvalidTextRepresentation, "text that is no date cannot be converted to one"),
    -1226: (errors.NumericValueOutOfRange, "a decimal has more digits than its column"),
    -1260: (DataError, "a value cannot be converted to the type wanted"),
    -1261: (DataError, "a DATETIME or INTERVAL has too many digits in its first field"),
    -1262: (errors.InvalidTextRepresentation, "text that is no DATETIME or INTERVAL cannot be converted to one"),
    -1263: (DataError, "a field of a DATETIME or INTERVAL is out of its range, or not the one that comes there"),
    -1264: (errors.InvalidTextRepresentation, "a DATETIME or INTERVAL has more behind its last field"),
    -1265: (errors.NumericValueOutOfRange, "a DATETIME or INTERVAL computed is out of its range"),
    -1266: (DataError, "these DATETIME or INTERVAL values do not go together"),
    -1267: (errors.NumericValueOutOfRange, "a DATETIME computed is out of its range"),
    -1279: (DataError, "text is longer than its column"),
    -1803: (errors.ConnectionFailure, "the connection does not exist"),
    -1809: (OperationalError, "the server rejected the connection"),
    -9628: (errors.UndefinedObject, "type {} does not exist"),
    -9632: (errors.InvalidTextRepresentation, "a text is no value of the type {}"),
    -9634: (ProgrammingError, "a value has no cast to the type {}"),
    -9810: (OperationalError, "a smart large object could not be reached"),
    -23101: (OperationalError, "the locale could not be loaded"),
    -23197: (OperationalError, "the locale of the client does not go with that of the database; set DB_LOCALE"),
    -27002: (OperationalError, "the server is in quiescent mode and takes no connections"),
}

_ISAM: Final = {
    -100: "a duplicate value in a unique index",
    -107: "the record is locked",
    -111: "no such file or record",
    -113: "the file is locked",
    -143: "deadlock",
    -154: "the wait for a lock was too long",
}


def _class(sqlcode: int, isam: int) -> type[DatabaseError]:
    if isam == -143:
        return errors.DeadlockDetected
    if sqlcode in _MEANINGS:
        return _MEANINGS[sqlcode][0]
    if -1219 <= sqlcode <= -1200 or -1279 <= sqlcode <= -1260:
        return DataError
    if isam == -100:
        return errors.UniqueViolation
    return DatabaseError


def error_from_sqlcode(
    sqlcode: int, isam: int, offset: int, token: str, statement: str | None, row: int | None
) -> DatabaseError:
    """The exception for an error of the server.

    ``offset`` is the 1-based character in ``statement`` that the server points at, or 0; ``token`` the word it adds.
    The exception's ``sqlcode`` and ``isamcode`` are the server's numbers.

    >>> str(error_from_sqlcode(-206, -111, 0, "nosuch", None, None))
    'table nosuch does not exist (sqlcode -206, isam -111: no such file or record)'
    """
    token = token.strip()
    meaning = _MEANINGS[sqlcode][1] if sqlcode in _MEANINGS else ""
    if "{}" in meaning:
        message = " ".join(meaning.replace("{}", token).split())
    else:
        message = f"{meaning or 'the server reports an error'}{f': {token}' if token else ''}"
    numbers = f"sqlcode {sqlcode}"
    if isam:
        numbers += f", isam {isam}{f': {_ISAM[isam]}' if isam in _ISAM else ''}"
    message = f"{message} ({numbers})"
    error = _class(sqlcode, isam)(message)
    error.message = message
    error.sqlcode = sqlcode
    error.isamcode = isam or None
    error.position = offset if offset > 0 else None
    error.statement = statement or None
    error.row = row
    return error
