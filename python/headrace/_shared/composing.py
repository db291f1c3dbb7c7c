"""The text of statements that go into other statements, or are looked at, before the extension has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .arguments import checked_text

if TYPE_CHECKING:
    from .._native import Wire
    from ..sql import Statement


def composed_text(wire: Wire, sql: Statement) -> str:
    """The text of a statement without parameters.

    Raises:
        TypeError: it is no statement.
        ProgrammingError: it is a t-string with parameters, or cannot be composed for this database.
    """
    if isinstance(sql, str):
        return sql
    from ..sql import is_composed, text_of

    return text_of(sql, wire) if is_composed(sql) else checked_text(sql, "SQL")


def composed(wire: Wire, sql: Statement, params: Any) -> tuple[str, Any]:
    """The text of a statement, and its parameters: those that were given, or those of a t-string.

    Raises:
        TypeError: it is no statement.
        ProgrammingError: it is a t-string beside parameters, or cannot be composed for this database.
    """
    if isinstance(sql, str):
        return sql, params
    from ..sql import is_composed, statement_of

    return statement_of(sql, wire, params) if is_composed(sql) else (checked_text(sql, "SQL"), params)
