"""The exceptions of PEP 249, shared by all databases, and one class per SQLSTATE below them.

``except headrace.errors.UniqueViolation`` is an ``IntegrityError``, a ``DatabaseError`` and an ``Error``. The classes
of common SQLSTATEs are written out here, where type checkers see them; those of all others in PostgreSQL's list are
attributes of this module too, and :func:`error_for` returns any of them by its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ._diagnostics import Diagnostic
from ._native import error_class
from ._shared.redact import mask_passwords
from .sqlstates import CONDITIONS, class_name


class Warning(Exception):
    """Important warnings (PEP 249)."""


class Error(Exception):
    """Base of every error that headrace raises (PEP 249).

    The fields of the server's error are attributes; fields that it did not send are ``None``. ``row`` is the row of a
    batch that failed, from 0; ``statement`` is the text that was executed, and ``position`` the character in it, from
    1. If several statements were sent in one text, and those before the failed one were executed (MySQL), ``cursor``
    has their results. ``code`` identifies an error of a connection or a pool; codes do not change between versions.
    """

    code: str | None = None
    sqlstate: str | None = None
    sqlcode: int | None = None
    isamcode: int | None = None
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
    cursor: Any = None

    @property
    def context(self) -> str | None:
        """The call stack of functions on the server: another name of ``where``."""
        return self.where

    @property
    def diag(self) -> Diagnostic:
        """The fields by psycopg's names, which programs on Django and SQLAlchemy read."""
        return Diagnostic(self)

    def __str__(self) -> str:
        text = super().__str__()
        if self.message is None:
            return text
        lines = [text if self.row is None else f"row {self.row}: {text}"]
        if self.position is not None and self.statement:
            lines += _point_at(self.statement, self.position)
        if self.detail:
            lines.append(f"DETAIL: {self.detail}")
        if self.hint:
            lines.append(f"HINT: {self.hint}")
        if self.internal_query:
            lines.append("QUERY:")
            lines += _point_at(self.internal_query, self.internal_position or 1)
        if self.where:
            lines.append(f"CONTEXT: {self.where}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("cursor", "_results")}
        return (_rebuild, (type(self), self.args, state))


def _rebuild(cls: type[Error], args: tuple[Any, ...], state: dict[str, Any]) -> Error:
    error = cls(*args)
    error.__dict__.update(state)
    return error


# Characters of a statement's line that are shown at most, around the place.
_SHOWN: Final = 100


def _point_at(statement: str, position: int) -> list[str]:
    """The line of the statement that a 1-based position is in, and a caret below the place."""
    before = statement[: max(0, position - 1)]
    start = before.rfind("\n") + 1
    line, column = mask_passwords(statement[start:].split("\n", 1)[0], len(before) - start)
    line = line.rstrip("\r").replace("\t", " ")
    label = f"line {before.count(chr(10)) + 1}: " if "\n" in statement.rstrip() else ""
    cut = max(0, min(column - _SHOWN // 2, len(line) - _SHOWN))
    if cut:
        line, column = "..." + line[cut:], column - cut + 3
    if len(line) > _SHOWN + 3:
        line = line[: _SHOWN + 3] + "..."
    return [f"  {label}{line}", "  " + " " * (len(label) + column) + "^"]


class InterfaceError(Error):
    """The driver was not used correctly."""


class DatabaseError(Error):
    """Errors of the database, or of the connection to it."""


class DataError(DatabaseError):
    """A value does not fit."""


class OperationalError(DatabaseError):
    """The server or the connection failed, independently of the statement."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """The server failed, or the transaction is in a state that does not allow this."""


class ProgrammingError(DatabaseError):
    """The statement, or its parameters, are wrong."""


class NotSupportedError(DatabaseError):
    """The database or the driver has no such feature."""


class ConnectionClosed(OperationalError, InterfaceError):
    """The connection is closed, or was lost. PEP 249 has two classes for that, and programs catch either."""

    code = "connection_closed"


class ConnectionTimeout(OperationalError):
    """No connection could be made in time."""

    code = "connect_timeout"


class PipelineAborted(OperationalError):
    """The statement was not executed: an earlier one of the same pipeline failed."""

    code = "pipeline_aborted"


class PoolTimeout(OperationalError):
    """The pool had no free connection in time."""

    code = "pool_timeout"


class PoolClosed(OperationalError):
    """The pool is closed."""

    code = "pool_closed"


class TooManyRequests(OperationalError):
    """The pool's queue is full."""

    code = "too_many_requests"


class ConnectionFailure(OperationalError):
    """08006"""


class ProtocolViolation(OperationalError):
    """08P01"""


class FeatureNotSupported(NotSupportedError):
    """0A000"""


class CardinalityViolation(ProgrammingError):
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


class InvalidBinaryRepresentation(DataError):
    """22P03"""


class BadCopyFileFormat(DataError):
    """22P04"""


class UntranslatableCharacter(DataError):
    """22P05"""


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


class TransactionTimeout(InternalError):
    """25P04"""


class InvalidSqlStatementName(ProgrammingError):
    """26000"""


class InvalidAuthorizationSpecification(OperationalError):
    """28000"""


class InvalidPassword(OperationalError):
    """28P01"""


class DependentObjectsStillExist(InternalError):
    """2BP01"""


class InvalidCursorName(ProgrammingError):
    """34000"""


class InvalidCatalogName(OperationalError):
    """3D000: the database does not exist.

    An OperationalError, unlike its neighbours, because it is met when connecting.
    """


class InvalidSchemaName(ProgrammingError):
    """3F000"""


class TransactionRollback(OperationalError):
    """40000"""


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


class UndefinedParameter(ProgrammingError):
    """42P02"""


class DuplicateColumn(ProgrammingError):
    """42701"""


class DuplicateTable(ProgrammingError):
    """42P07"""


class DuplicateObject(ProgrammingError):
    """42710"""


class DuplicateDatabase(ProgrammingError):
    """42P04"""


class DuplicateFunction(ProgrammingError):
    """42723"""


class DuplicateSchema(ProgrammingError):
    """42P06"""


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


class WrongObjectType(ProgrammingError):
    """42809"""


class WithCheckOptionViolation(ProgrammingError):
    """44000"""


class InsufficientResources(OperationalError):
    """53000"""


class DiskFull(OperationalError):
    """53100"""


class OutOfMemory(OperationalError):
    """53200"""


class TooManyConnections(OperationalError):
    """53300"""


class StatementTooComplex(OperationalError):
    """54001"""


class ObjectNotInPrerequisiteState(OperationalError):
    """55000"""


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


class DatabaseDropped(OperationalError):
    """57P04"""


class IdleSessionTimeout(OperationalError):
    """57P05"""


class RaiseException(ProgrammingError):
    """P0001"""


class NoDataFound(ProgrammingError):
    """P0002"""


class TooManyRows(ProgrammingError):
    """P0003"""


class AssertFailure(ProgrammingError):
    """P0004"""


def _base(sqlstate: str) -> type[DatabaseError]:
    found: type[DatabaseError] = globals()[error_class(sqlstate)]
    return found


def _classes() -> dict[str, type[DatabaseError]]:
    """The class of every SQLSTATE in the list: the one written above, or one made here."""
    here = globals()
    found: dict[str, type[DatabaseError]] = {}
    for sqlstate, condition in CONDITIONS.items():
        name = class_name(sqlstate)
        if name not in here:
            # __module__ lets pickle find the class again.
            body = {"__module__": __name__, "__doc__": f"{sqlstate}: {condition.replace('_', ' ')}"}
            here[name] = type(name, (_base(sqlstate),), body)
        found[sqlstate] = here[name]
        found[sqlstate].sqlstate = sqlstate
    return found


_BY_SQLSTATE: Final = _classes()


def error_for(sqlstate: str) -> type[DatabaseError]:
    """Returns the class of errors with a SQLSTATE.

    Args:
        sqlstate: five characters.

    Returns:
        Its own class, or else the PEP 249 class of its first two characters.
    """
    return _BY_SQLSTATE.get(sqlstate) or _base(sqlstate)


def connect_failed(message: str, causes: Sequence[Error] = ()) -> OperationalError:
    """Makes the error of a connection that could not be opened.

    Args:
        message: its text.
        causes: the errors of the attempts; if all have the same code, it is also that of the error.

    Returns:
        The error.
    """
    error = OperationalError(message)
    error.code = common_code(causes)
    return error


def common_code(causes: Sequence[Error]) -> str | None:
    """Returns the code for errors of several attempts to connect.

    Args:
        causes: the errors.

    Returns:
        Their code, if all have the same; otherwise ``connect_failed``.
    """
    codes = {cause.code for cause in causes}
    return codes.pop() if len(codes) == 1 else "connect_failed"
