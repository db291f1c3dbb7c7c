"""The exceptions of asyncpg: one class for each SQLSTATE, below the class of its first two characters.

The classes that programs are written with are all here by asyncpg's names; those of SQLSTATEs are made from the table
of :mod:`headrace.sqlstates`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ... import errors
from ...sqlstates import CONDITIONS

_FIELDS: Final = {
    "severity": "severity",
    "severity_en": "severity",
    "message": "message",
    "detail": "detail",
    "hint": "hint",
    "position": "position",
    "internal_position": "internal_position",
    "internal_query": "internal_query",
    "context": "where",
    "schema_name": "schema_name",
    "table_name": "table_name",
    "column_name": "column_name",
    "data_type_name": "data_type_name",
    "constraint_name": "constraint_name",
    "server_source_filename": "source_file",
    "server_source_line": "source_line",
    "server_source_function": "source_function",
}
"""asyncpg's names of the fields of an error, and the attributes of headrace's errors."""


class PostgresMessage:
    """What the server has sent: an error or a notice, with its fields as attributes; None where one was not sent."""

    severity: str | None = None
    severity_en: str | None = None
    sqlstate: Any = None
    message: str = ""
    detail: str | None = None
    hint: str | None = None
    position: str | None = None
    internal_position: str | None = None
    internal_query: str | None = None
    context: str | None = None
    schema_name: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    data_type_name: str | None = None
    constraint_name: str | None = None
    server_source_filename: str | None = None
    server_source_line: str | None = None
    server_source_function: str | None = None
    query: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields that the server has sent."""
        names = ("sqlstate", *_FIELDS)
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def _fill(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if value is not None:
                setattr(self, name, value)


class PostgresError(PostgresMessage, Exception):
    """Base of the errors that the server reports."""

    def __str__(self) -> str:
        text = str(self.args[0]) if self.args else ""
        if self.detail:
            text += f"\nDETAIL:  {self.detail}"
        if self.hint:
            text += f"\nHINT:  {self.hint}"
        return text


class FatalPostgresError(PostgresError):
    """An error after which the server has ended the session."""


class UnknownPostgresError(FatalPostgresError):
    """An error without a SQLSTATE that is known."""


class PostgresLogMessage(PostgresMessage):
    """A notice or warning of the server."""

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}" if self.severity else self.message

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


class InterfaceMessage:
    """An error of the driver itself, with a detail and a hint."""

    detail: str | None
    hint: str | None
    args: tuple[Any, ...]

    def __str__(self) -> str:
        text = str(self.args[0]) if self.args else ""
        if self.detail:
            text += f"\nDETAIL:  {self.detail}"
        if self.hint:
            text += f"\nHINT:  {self.hint}"
        return text


class InterfaceError(InterfaceMessage, Exception):
    """The driver was not used correctly."""

    def __init__(self, msg: str, *, detail: str | None = None, hint: str | None = None) -> None:
        self.detail = detail
        self.hint = hint
        super().__init__(msg)

    def with_msg(self, msg: str) -> InterfaceError:
        """Returns the same error with another message."""
        return type(self)(msg, detail=self.detail, hint=self.hint).with_traceback(self.__traceback__)


class ClientConfigurationError(InterfaceError, ValueError):
    """A setting of the connection is wrong."""


class UnsupportedClientFeatureError(InterfaceError):
    """The driver does not have this."""


class UnsupportedServerFeatureError(InterfaceError):
    """The server does not have this."""


class InterfaceWarning(InterfaceMessage, UserWarning):
    """The driver is used in a way that will hurt."""

    def __init__(self, msg: str, *, detail: str | None = None, hint: str | None = None) -> None:
        self.detail = detail
        self.hint = hint
        UserWarning.__init__(self, msg)


class InternalClientError(Exception):
    """The driver has failed."""


class ProtocolError(InternalClientError):
    """The server has sent what is not in its protocol."""


class OutdatedSchemaCacheError(InternalClientError):
    """A value shows that its type has changed."""

    def __init__(
        self,
        msg: str,
        *,
        schema: str | None = None,
        data_type: str | None = None,
        position: Any = None,
    ) -> None:
        super().__init__(msg)
        self.schema_name = schema
        self.data_type_name = data_type
        self.position = position


class TargetServerAttributeNotMatched(InternalClientError):
    """No server is of the kind that ``target_session_attrs`` asks for."""


# SQLSTATEs whose classes are not named by their condition and "Error", or by another word of the condition.
_NAMES: Final = {
    "02000": "NoData",
    "02001": "NoAdditionalDynamicResultSetsReturned",
    "08000": "PostgresConnectionError",
    "08001": "ClientCannotConnectError",
    "08004": "ConnectionRejectionError",
    "22000": "DataError",
    "22P01": "PostgresFloatingPointError",
    "38002": "ModifyingExternalRoutineSQLDataNotPermittedError",
    "38003": "ProhibitedExternalRoutineSQLStatementAttemptedError",
    "38004": "ReadingExternalRoutineSQLDataNotPermittedError",
    "39004": "NullValueInExternalRoutineNotAllowedError",
    "40001": "SerializationError",
    "42000": "SyntaxOrAccessError",
    "42601": "PostgresSyntaxError",
    "58000": "PostgresSystemError",
    "58030": "PostgresIOError",
    "P0000": "PLPGSQLError",
    "P0001": "RaiseError",
    "P0004": "AssertError",
    "XX000": "InternalServerError",
}
# Those that PostgreSQL reports as warnings, or no longer: they are not in its table of errors.
_OTHERS: Final = {
    "01000": "PostgresWarning",
    "01003": "NullValueEliminatedInSetFunction",
    "01004": "StringDataRightTruncation",
    "01006": "PrivilegeNotRevoked",
    "01007": "PrivilegeNotGranted",
    "01008": "ImplicitZeroBitPadding",
    "0100C": "DynamicResultSetsReturned",
    "01P01": "DeprecatedFeature",
    "72000": "SnapshotTooOldError",
}
_UPPER: Final = {"sql": "SQL", "fdw": "FDW"}
_WITHOUT_EXCEPTION: Final = "_exception"


def _name_of(sqlstate: str, condition: str) -> str:
    """asyncpg's name for the class of a SQLSTATE."""
    if sqlstate in _NAMES:
        return _NAMES[sqlstate]
    # 40P01 is a deadlock; the conditions of whole classes of codes end in "exception".
    words = condition.removesuffix(_WITHOUT_EXCEPTION).split("_")
    # "invalid_sqlstate_returned" and "sql_statement_name" keep the two apart: only whole words are SQL.
    name = "".join(_UPPER.get(word, word.capitalize()) for word in words)
    return name if name.endswith("Error") else f"{name}Error"


def _classes() -> dict[str, type[Any]]:
    """Makes the classes, and returns them by their SQLSTATEs."""
    here = globals()
    found: dict[str, type[Any]] = {}
    named = {**{code: _name_of(code, condition) for code, condition in CONDITIONS.items()}, **_OTHERS}
    # "xx000" before the codes that are below it.
    for sqlstate in sorted(named, key=lambda code: (not code.endswith("000"), code)):
        name = named[sqlstate]
        bases: tuple[type[Any], ...]
        if sqlstate == "01000":
            bases = (PostgresLogMessage, Warning)
        elif sqlstate == "02000":
            bases = (found["01000"],)
        else:
            bases = (PostgresError,) if sqlstate.endswith("000") else (found.get(f"{sqlstate[:2]}000", PostgresError),)
        body = {"__module__": __name__, "__doc__": f"SQLSTATE {sqlstate}.", "sqlstate": sqlstate}
        found[sqlstate] = here[name] = type(name, bases, body)
    return found


_BY_SQLSTATE: Final = _classes()

if TYPE_CHECKING:
    # The classes of SQLSTATEs are made above, by names that a type checker does not see.
    def __getattr__(name: str) -> type[PostgresError]: ...


_NotSupported: Any = _BY_SQLSTATE["0A000"]


class InvalidCachedStatementError(_NotSupported):  # type: ignore[misc]
    """A prepared statement does not fit the schema any more."""


def class_of(sqlstate: str | None) -> type[PostgresError]:
    """Returns the class of errors with a SQLSTATE; that of its first two characters if there is none of its own."""
    if sqlstate is None:
        return UnknownPostgresError
    found = _BY_SQLSTATE.get(sqlstate) or _BY_SQLSTATE.get(f"{sqlstate[:2]}000", UnknownPostgresError)
    return found if issubclass(found, PostgresError) else PostgresError


_CLOSED_MIDWAY: Final = "connection was closed in the middle of operation"
_ENDS_SESSION: Final = ("FATAL", "PANIC")
"""The severities of errors after which there is no session."""
_COUNT: Final = re.compile(r"the statement has (\d+) parameter(s?), but (\d+) (?:was|were) given")
"""headrace's words for a wrong number of arguments."""
_PARAMETER: Final = re.compile(r"portal parameter \$(\d+)")
_RANGE: Final = re.compile(r"does not fit (int|float)(\d) ")
_STALE_PLAN: Final = "cached statement plan is invalid"


def translated(error: errors.Error, query: str | None = None, args: Sequence[Any] = ()) -> Exception:
    """Returns asyncpg's exception for one of headrace's.

    Args:
        error: what headrace has raised.
        query: the statement, if there is one.
        args: its arguments: an error about one of them names it.
    """
    if error.severity is not None:
        made = _of_server(error, query, args)
        if error.severity not in _ENDS_SESSION:
            return made
        lost = class_of("08003")(f"{_CLOSED_MIDWAY}: {made.message}")
        lost.__cause__ = made
        return lost
    if isinstance(error, errors.ConnectionClosed):
        return class_of("08003")(f"{_CLOSED_MIDWAY}: {error}")
    if isinstance(error, errors.ProgrammingError) and (wrong := _COUNT.fullmatch(str(error))) is not None:
        passed = f"{wrong[3]} {'was' if wrong[3] == '1' else 'were'} passed"
        return InterfaceError(f"the server expects {wrong[1]} argument{wrong[2]} for this query, {passed}")
    if isinstance(error, (errors.ProgrammingError, errors.DataError)) and args:
        return _of_argument(error, args)
    if isinstance(error, errors.DataError):
        return class_of("22000")(str(error))
    if isinstance(error, errors.NotSupportedError):
        return UnsupportedClientFeatureError(str(error))
    if isinstance(error, errors.OperationalError):
        return class_of("08000")(str(error))
    return InterfaceError(str(error))


def refusal(error: errors.Error) -> PostgresError:
    """Returns asyncpg's exception for an error of the server's that a session began with."""
    return _of_server(error, None)


def raise_translated(error: errors.Error, query: str | None = None, args: Sequence[Any] = ()) -> NoReturn:
    """Raises asyncpg's exception for one of headrace's, which is its cause; or else what ended the session is."""
    made = translated(error, query, args)
    raise made from made.__cause__ or error


def _of_server(error: errors.Error, query: str | None, args: Sequence[Any] = ()) -> PostgresError:
    message = error.message or str(error)
    kind = class_of(error.sqlstate)
    number = _PARAMETER.search(error.where or "") if kind.sqlstate[:2] == "22" else None
    if number is not None and int(number[1]) <= len(args):
        # The server has parsed it; asyncpg would have refused it.
        message = f"invalid input for query argument ${number[1]}: {_shown(args[int(number[1]) - 1])} ({message})"
    if error.sqlstate == "0A000" and _STALE_PLAN in message:
        kind = InvalidCachedStatementError
    made = kind(message)
    fields = {name: getattr(error, theirs) for name, theirs in _FIELDS.items()}
    for name in ("position", "internal_position"):
        if fields[name] is not None:
            fields[name] = str(fields[name])
    made._fill({**fields, "sqlstate": error.sqlstate, "query": query})
    return made


def _of_argument(error: errors.Error, args: Sequence[Any]) -> Exception:
    """An argument that cannot be sent."""
    text = _of_range(str(error))
    for number, value in enumerate(args, 1):
        shown = repr(value)
        if text.startswith((shown, str(value))) or (len(args) == 1):
            return class_of("22000")(f"invalid input for query argument ${number}: {_shown(value)} ({text})")
    return class_of("22000")(f"invalid input for query argument: {text}")


def _shown(value: Any) -> str:
    """An argument, not at its whole length."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."


def _of_range(text: str) -> str:
    """headrace's words for a number that is too large, and asyncpg's."""
    found = _RANGE.search(text)
    if found is None:
        return text
    kind = "float" if found[1] == "float" else "int"
    return f"{text}: value out of {kind}{int(found[2]) * 8} range"


_SHOWN: Final = 40
"""Characters of an argument that are in an error, at most."""


def message_of(fields: dict[str, str]) -> PostgresLogMessage:
    """Returns asyncpg's object for a notice of the server, of the fields that it has sent."""
    sqlstate = fields.get("C")
    kind = _BY_SQLSTATE.get(sqlstate or "", PostgresLogMessage)
    if not issubclass(kind, PostgresLogMessage) or (kind is PostgresLogMessage and fields.get("V") == "WARNING"):
        kind = _BY_SQLSTATE["01000"] if fields.get("V") == "WARNING" else PostgresLogMessage
    made: Any = kind()
    names = {"S": "severity", "V": "severity_en", "M": "message", "D": "detail", "H": "hint", "P": "position"}
    names |= {"p": "internal_position", "q": "internal_query", "W": "context", "s": "schema_name", "t": "table_name"}
    names |= {"c": "column_name", "d": "data_type_name", "n": "constraint_name", "F": "server_source_filename"}
    names |= {"L": "server_source_line", "R": "server_source_function"}
    made._fill({"sqlstate": sqlstate, **{name: fields.get(code) for code, name in names.items()}})
    return made  # type: ignore[no-any-return]


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *[kind.__name__ for kind in _BY_SQLSTATE.values()],
    "ClientConfigurationError",
    "FatalPostgresError",
    "InterfaceError",
    "InterfaceWarning",
    "InternalClientError",
    "InvalidCachedStatementError",
    "OutdatedSchemaCacheError",
    "PostgresError",
    "PostgresLogMessage",
    "ProtocolError",
    "TargetServerAttributeNotMatched",
    "UnknownPostgresError",
    "UnsupportedClientFeatureError",
    "UnsupportedServerFeatureError",
]
