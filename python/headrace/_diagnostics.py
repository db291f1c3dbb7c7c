"""The fields of a server's error by the names that psycopg gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .errors import Error

_RENAMED: Final = {
    "severity_nonlocalized": "severity",
    "message_primary": "message",
    "message_detail": "detail",
    "message_hint": "hint",
    "statement_position": "position",
    "context": "where",
    "datatype_name": "data_type_name",
}
"""Psycopg's names that differ from those of the attributes of :class:`headrace.errors.Error`."""


class Diagnostic:
    """What ``error.diag`` is: each field is text, or ``None`` if the server did not send it.

    No severity is translated.
    """

    severity: str | None
    severity_nonlocalized: str | None
    sqlstate: str | None
    message_primary: str | None
    message_detail: str | None
    message_hint: str | None
    statement_position: str | None
    internal_position: str | None
    internal_query: str | None
    context: str | None
    schema_name: str | None
    table_name: str | None
    column_name: str | None
    datatype_name: str | None
    constraint_name: str | None
    source_file: str | None
    source_line: str | None
    source_function: str | None

    def __init__(self, error: Error) -> None:
        for name in Diagnostic.__annotations__:
            value = getattr(error, _RENAMED.get(name, name))
            setattr(self, name, None if value is None else str(value))
