"""Texts of several statements, as fixtures and migrations have them: the usual drivers execute them in one call."""

from __future__ import annotations

from typing import Any

from ._asyncio import Cursor


def execute(cursor: Any, statement: str, parameters: Any, plain: type) -> None:
    """Executes a statement, or a text of several, which has no parameters.

    Args:
        cursor: of the driver, or its adapter.
        statement: the text.
        parameters: none, or a sequence or mapping.
        plain: the blocking driver's class for cursors that have nothing on the server.
    """
    if parameters:
        cursor.execute(statement, parameters)
    elif type(cursor) in (plain, Cursor) and cursor._is_several(statement):
        cursor._script(statement)
    else:
        # Without parameters neither a percent sign nor a question mark means one.
        cursor.execute(statement, None)
