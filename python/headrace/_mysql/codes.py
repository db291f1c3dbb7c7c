"""The errors of MySQL and MariaDB as exceptions: the class by the server's own code, else by its SQLSTATE.

The codes are those of the manuals: MySQL, "Server Error Message Reference"; MariaDB, "Error Codes".
"""

from __future__ import annotations

from typing import Final

from .. import errors
from ..errors import DatabaseError, DataError, IntegrityError, NotSupportedError, OperationalError, ProgrammingError

# What SQLSTATE says too little of (HY000, 23000, 42000), or says differently than people expect.
_BY_CODE: Final[dict[int, type[DatabaseError]]] = {
    1005: OperationalError,
    1007: errors.DuplicateDatabase,
    1008: errors.InvalidCatalogName,
    1021: errors.DiskFull,
    1022: errors.UniqueViolation,
    1037: errors.OutOfMemory,
    1038: errors.OutOfMemory,
    1040: errors.TooManyConnections,
    1044: errors.InsufficientPrivilege,
    1045: errors.InvalidPassword,
    1046: ProgrammingError,
    1048: errors.NotNullViolation,
    1049: errors.InvalidCatalogName,
    1050: errors.DuplicateTable,
    1051: errors.UndefinedTable,
    1052: errors.AmbiguousColumn,
    1053: errors.AdminShutdown,
    1054: errors.UndefinedColumn,
    1060: errors.DuplicateColumn,
    1061: errors.DuplicateObject,
    1062: errors.UniqueViolation,
    1064: errors.SyntaxError,
    1065: ProgrammingError,
    1091: errors.UndefinedObject,
    1099: OperationalError,
    1105: DatabaseError,
    1109: errors.UndefinedTable,
    1136: ProgrammingError,
    1142: errors.InsufficientPrivilege,
    1143: errors.InsufficientPrivilege,
    1146: errors.UndefinedTable,
    1149: errors.SyntaxError,
    1153: OperationalError,
    1159: OperationalError,
    1161: OperationalError,
    1169: errors.UniqueViolation,
    1170: ProgrammingError,
    1176: errors.UndefinedObject,
    1205: errors.LockNotAvailable,
    1206: OperationalError,
    1213: errors.DeadlockDetected,
    1214: NotSupportedError,
    1215: ProgrammingError,
    1216: errors.ForeignKeyViolation,
    1217: errors.ForeignKeyViolation,
    1227: errors.InsufficientPrivilege,
    1235: NotSupportedError,
    1242: errors.CardinalityViolation,
    1264: errors.NumericValueOutOfRange,
    1265: DataError,
    1286: NotSupportedError,
    1289: NotSupportedError,
    1290: OperationalError,
    1292: errors.InvalidDatetimeFormat,
    1305: errors.UndefinedFunction,
    1317: errors.QueryCanceled,
    1364: errors.NotNullViolation,
    1365: errors.DivisionByZero,
    1366: errors.InvalidTextRepresentation,
    1370: errors.InsufficientPrivilege,
    1397: ProgrammingError,
    1406: errors.StringDataRightTruncation,
    1451: errors.ForeignKeyViolation,
    1452: errors.ForeignKeyViolation,
    1557: IntegrityError,
    1568: errors.ActiveSqlTransaction,
    1586: errors.UniqueViolation,
    1690: errors.NumericValueOutOfRange,
    1698: errors.InvalidPassword,
    1761: errors.ForeignKeyViolation,
    1762: errors.ForeignKeyViolation,
    1792: errors.ReadOnlySqlTransaction,
    1836: errors.ReadOnlySqlTransaction,
    1859: errors.UniqueViolation,
    1927: errors.AdminShutdown,
    1964: errors.QueryCanceled,
    1969: errors.QueryCanceled,
    3024: errors.QueryCanceled,
    3058: errors.DeadlockDetected,
    3140: errors.InvalidTextRepresentation,
    3572: errors.LockNotAvailable,
    3819: errors.CheckViolation,
    3854: errors.InvalidTextRepresentation,
    3988: errors.InvalidTextRepresentation,
    4025: errors.CheckViolation,
    4031: errors.IdleSessionTimeout,
}


def is_refusal(error: errors.Error) -> bool:
    """Whether the server has refused who asks, or what for. Another address would refuse it too, and count one more
    attempt with a wrong password."""
    return isinstance(error, (errors.InvalidPassword, errors.InvalidCatalogName, errors.InsufficientPrivilege))


def error_from_code(code: int, sqlstate: str, message: str, statement: str | None, row: int | None) -> DatabaseError:
    """The exception for an error of the server; its ``sqlcode`` is the server's own number.

    >>> str(error_from_code(1146, "42S02", "Table 'shop.books' doesn't exist", None, None))
    "(1146, 42S02) Table 'shop.books' doesn't exist"
    """
    text = f"({code}, {sqlstate}) {message}"
    error = (_BY_CODE.get(code) or errors.error_for(sqlstate))(text)
    error.message = message
    error.sqlstate = sqlstate
    error.sqlcode = code
    error.statement = statement or None
    error.row = row
    return error
