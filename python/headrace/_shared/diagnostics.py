"""The fields of a server's error by the names that psycopg gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..errors import Error

_NAMES: Final = {
    "severity": "severity",
    "severity_nonlocalized": "severity",
    "sqlstate": "sqlstate",
    "message_primary": "message",
    "message_detail": "detail",
    "message_hint": "hint",
    "statement_position": "position",
    "internal_position": "internal_position",
    "internal_query": "internal_query",
    "context": "where",
    "schema_name": "schema_name",
    "table_name": "table_name",
    "column_name": "column_name",
    "datatype_name": "data_type_name",
    "constraint_name": "constraint_name",
    "source_file": "source_file",
    "source_line": "source_line",
    "source_function": "source_function",
}
"""Psycopg's names, and those of the attributes of :class:`headrace.errors.Error`."""


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
        for name, ours in _NAMES.items():
            value = getattr(error, ours)
            setattr(self, name, None if value is None else str(value))
