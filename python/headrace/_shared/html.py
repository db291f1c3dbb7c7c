"""A result as a table of HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any, Final

ROWS: Final = 20
"""Rows that are shown."""
COLUMNS: Final = 50
"""Columns that are shown."""
CHARACTERS: Final = 200
"""Characters of a value that are shown."""


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]], state: str) -> str:
    """A table of the first columns and rows.

    Args:
        columns: the name and the type of each.
        rows: as many as are to be shown.
        state: a line of text below the table.

    Returns:
        HTML, in which nothing of the values is markup.
    """
    shown = columns[:COLUMNS]
    head = "".join(f"<th>{_text(name)}<br><small>{_text(kind)}</small></th>" for name, kind in shown)
    body = "".join("<tr>" + "".join(map(_cell, row[:COLUMNS])) + "</tr>" for row in rows)
    more = f", the first {COLUMNS} of {len(columns)} columns" if len(columns) > COLUMNS else ""
    inside = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if shown else ""
    return f"<div>{inside}<small>{_text(state + more)}</small></div>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td><em>NULL</em></td>"
    return f"<td>{_text(_shown(value))}</td>"


def _shown(value: Any) -> str:
    try:
        return _shortened(value)
    except Exception as error:
        # A notebook shows the other values.
        return f"<{type(value).__name__}, whose str() raises {type(error).__name__}>"


def _shortened(value: Any) -> str:
    # Of what is long only a part is made text of.
    if type(value) in (str, bytes, list, tuple) and len(value) > CHARACTERS:
        return str(value[:CHARACTERS])[:CHARACTERS] + "…"
    text = str(value)
    return text if len(text) <= CHARACTERS else text[:CHARACTERS] + "…"


def _text(text: str) -> str:
    return html.escape(text)
