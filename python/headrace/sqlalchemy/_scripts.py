"""Texts of several statements, as fixtures and migrations have them: the usual drivers execute them in one call."""

from __future__ import annotations

from typing import Any

from ._asyncio import Cursor


def execute(cursor: Any, statement: str, parameters: Any, plain: type) -> None:
    """Executes a statement, or a text that may have several: one without parameters, with a semicolon before its end. A
    statement with a semicolon in a literal is executed as well by the protocol that scripts take.

    Args:
        cursor: of the driver, or its adapter.
        statement: the text.
        parameters: none, or a sequence or mapping.
        plain: the blocking driver's class for cursors that have nothing on the server.
    """
    if parameters:
        cursor.execute(statement, parameters)
    elif ";" in statement.rstrip().rstrip(";") and type(cursor) in (plain, Cursor):
        cursor._script(statement)
    else:
        # Without parameters neither a percent sign nor a question mark means one.
        cursor.execute(statement, None)
