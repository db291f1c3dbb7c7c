"""The exceptions of PEP 249, shared by all databases, and one class per common SQLSTATE below them.

``except headrace.errors.UniqueViolation`` is an ``IntegrityError``, a ``DatabaseError`` and an ``Error``.
"""

from __future__ import annotations

from typing import Any


class Warning(Exception):
    """Important warnings (PEP 249)."""


class Error(Exception):
    """Base of every error that headrace raises (PEP 249).

    The server's own words are attributes; what it did not say is ``None``. ``row`` is the 0-based row of a
    batch that the error is about, ``statement`` the text that was executed, ``position`` the 1-based character
    in it that the server points at.
    """

    sqlstate: str | None = None
    severity: str | None = None
    message: str | None = None
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    internal_position: int | None = None
    internal_query: str | None = None
    where: str | None = None
    schema_name: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    data_type_name: str | None = None
    constraint_name: str | None = None
    source_file: str | None = None
    source_line: str | None = None
    source_function: str | None = None
    statement: str | None = None
    row: int | None = None

    def __str__(self) -> str:
        text = super().__str__()
        if self.message is None:
            return text
        lines = [text if self.row is None else f"row {self.row}: {text}"]
        if self.position is not None and self.statement:
            line, _, column = _locate(self.statement, self.position)
            lines += [f"  {line}", "  " + " " * column + "^"]
        if self.detail:
            lines.append(f"DETAIL: {self.detail}")
        if self.hint:
            lines.append(f"HINT: {self.hint}")
        if self.where:
            lines.append(f"CONTEXT: {self.where}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, dict(self.__dict__)))


def _rebuild(cls: type[Error], args: tuple[Any, ...], state: dict[str, Any]) -> Error:
    error = cls(*args)
    error.__dict__.update(state)
    return error


def _locate(statement: str, position: int) -> tuple[str, int, int]:
    """The line that a 1-based position is in, its number, and the column."""
    before = statement[: position - 1]
    number = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    return statement.split("\n")[number], number, column


class InterfaceError(Error):
    """The driver was used wrongly."""


class DatabaseError(Error):
    """The database, or the way to it, failed."""


class DataError(DatabaseError):
    """A value does not fit."""


class OperationalError(DatabaseError):
    """The server or the connection failed, through no fault of the statement."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """The database is in trouble."""


class ProgrammingError(DatabaseError):
    """The statement, or its parameters, are wrong."""


class NotSupportedError(DatabaseError):
    """The database or the driver has no such feature."""


class ConnectionClosed(OperationalError):
    """The connection is closed, or was lost."""


class ConnectionTimeout(OperationalError):
    """No connection could be made in time."""


class PipelineAborted(OperationalError):
    """The statement was not executed: an earlier one of the same pipeline failed."""


class PoolTimeout(OperationalError):
    """The pool had no connection to give in time."""


class PoolClosed(OperationalError):
    """The pool is closed."""


class TooManyRequests(OperationalError):
    """The pool's queue is full."""


def _bases() -> dict[str, type[DatabaseError]]:
    table: dict[type[DatabaseError], str] = {
        OperationalError: "08 40 53 54 55 57 58 HV",
        DataError: "21 22",
        IntegrityError: "23 27 44",
        InternalError: "24 25 2D 39 3B XX F0 P0 38 2F 09",
        ProgrammingError: "03 20 26 28 2B 34 3D 3F 42 0L 0P 0Z",
        NotSupportedError: "0A",
    }
    return {code: base for base, codes in table.items() for code in codes.split()}


_BASE_OF_CLASS = _bases()


class FeatureNotSupported(NotSupportedError):
    """0A000"""


class CardinalityViolation(DataError):
    """21000"""


class StringDataRightTruncation(DataError):
    """22001"""


class NumericValueOutOfRange(DataError):
    """22003"""


class InvalidDatetimeFormat(DataError):
    """22007"""


class DatetimeFieldOverflow(DataError):
    """22008"""


class DivisionByZero(DataError):
    """22012"""


class InvalidParameterValue(DataError):
    """22023"""


class InvalidTextRepresentation(DataError):
    """22P02"""


class BadCopyFileFormat(DataError):
    """22P04"""


class IntegrityConstraintViolation(IntegrityError):
    """23000"""


class RestrictViolation(IntegrityError):
    """23001"""


class NotNullViolation(IntegrityError):
    """23502"""


class ForeignKeyViolation(IntegrityError):
    """23503"""


class UniqueViolation(IntegrityError):
    """23505"""


class CheckViolation(IntegrityError):
    """23514"""


class ExclusionViolation(IntegrityError):
    """23P01"""


class ActiveSqlTransaction(InternalError):
    """25001"""


class ReadOnlySqlTransaction(InternalError):
    """25006"""


class NoActiveSqlTransaction(InternalError):
    """25P01"""


class InFailedSqlTransaction(InternalError):
    """25P02"""


class IdleInTransactionSessionTimeout(InternalError):
    """25P03"""


class InvalidSqlStatementName(ProgrammingError):
    """26000"""


class InvalidAuthorizationSpecification(OperationalError):
    """28000"""


class InvalidPassword(OperationalError):
    """28P01"""


class InvalidCursorName(ProgrammingError):
    """34000"""


class InvalidCatalogName(OperationalError):
    """3D000: the database does not exist"""


class InvalidSchemaName(ProgrammingError):
    """3F000"""


class SerializationFailure(OperationalError):
    """40001"""


class DeadlockDetected(OperationalError):
    """40P01"""


class SyntaxError(ProgrammingError):
    """42601"""


class InsufficientPrivilege(ProgrammingError):
    """42501"""


class UndefinedColumn(ProgrammingError):
    """42703"""


class UndefinedFunction(ProgrammingError):
    """42883"""


class UndefinedTable(ProgrammingError):
    """42P01"""


class UndefinedObject(ProgrammingError):
    """42704"""


class DuplicateColumn(ProgrammingError):
    """42701"""


class DuplicateTable(ProgrammingError):
    """42P07"""


class DuplicateObject(ProgrammingError):
    """42710"""


class DuplicatePreparedStatement(ProgrammingError):
    """42P05"""


class AmbiguousColumn(ProgrammingError):
    """42702"""


class AmbiguousFunction(ProgrammingError):
    """42725"""


class DatatypeMismatch(ProgrammingError):
    """42804"""


class IndeterminateDatatype(ProgrammingError):
    """42P18"""


class GroupingError(ProgrammingError):
    """42803"""


class InsufficientResources(OperationalError):
    """53000"""


class DiskFull(OperationalError):
    """53100"""


class OutOfMemory(OperationalError):
    """53200"""


class TooManyConnections(OperationalError):
    """53300"""


class ObjectInUse(OperationalError):
    """55006"""


class LockNotAvailable(OperationalError):
    """55P03"""


class QueryCanceled(OperationalError):
    """57014"""


class AdminShutdown(OperationalError):
    """57P01"""


class CrashShutdown(OperationalError):
    """57P02"""


class CannotConnectNow(OperationalError):
    """57P03"""


class RaiseException(DatabaseError):
    """P0001"""


def _collect() -> dict[str, type[DatabaseError]]:
    found: dict[str, type[DatabaseError]] = {}
    for value in list(globals().values()):
        if isinstance(value, type) and issubclass(value, DatabaseError) and value.__doc__:
            code = value.__doc__[:5]
            if len(value.__doc__.split(":")[0]) == 5 and code.isalnum() and code.upper() == code:
                value.sqlstate = code
                found[code] = value
    return found


_BY_SQLSTATE = _collect()


def error_for(sqlstate: str) -> type[DatabaseError]:
    """The class for an SQLSTATE: its own where it has one, else that of its two-letter class."""
    return _BY_SQLSTATE.get(sqlstate) or _BASE_OF_CLASS.get(sqlstate[:2], DatabaseError)


_FIELDS = {
    "C": "sqlstate",
    "M": "message",
    "D": "detail",
    "H": "hint",
    "q": "internal_query",
    "W": "where",
    "s": "schema_name",
    "t": "table_name",
    "c": "column_name",
    "d": "data_type_name",
    "n": "constraint_name",
    "F": "source_file",
    "L": "source_line",
    "R": "source_function",
}


def error_from_fields(fields: dict[str, str], statement: str | None = None, row: int | None = None) -> DatabaseError:
    """The exception for an ErrorResponse, given by the field codes of the protocol manual
    ("Error and Notice Message Fields")."""
    error = error_for(fields.get("C", ""))(fields.get("M", "the server gave no reason"))
    for code, name in _FIELDS.items():
        if code in fields:
            setattr(error, name, fields[code])
    error.severity = fields.get("V") or fields.get("S")
    if error.message is None:
        error.message = error.args[0]
    for code, name in (("P", "position"), ("p", "internal_position")):
        if fields.get(code, "").isdigit():
            setattr(error, name, int(fields[code]))
    error.statement = statement or None
    error.row = row
    return error
