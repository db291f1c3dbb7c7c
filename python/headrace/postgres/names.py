"""Names of tables, columns and the like: how long they may be, and how they are written in SQL."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final

from .._shared.arguments import checked_text
from .._shared.names import NameLength
from ..errors import ProgrammingError

NAMES: Final = NameLength("PostgreSQL", 63, "bytes")
"""The server shortens a longer name, also to that of another table or column."""


def quote_identifier(name: str) -> str:
    """A name in double quotes, however long it is."""
    if "\0" in checked_text(name, "a name"):
        raise ProgrammingError("an identifier cannot hold a NUL character")
    return '"' + name.replace('"', '""') + '"'


def quote_name(name: str) -> str:
    """A name of a table, a column or the like, or a part of one, in double quotes.

    Raises ProgrammingError for a name that the server would shorten.
    """
    quoted = quote_identifier(name)
    NAMES.check(name)
    return quoted


_UPPER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@functools.cache
def _part() -> re.Pattern[str]:
    """A part of a name: an unquoted or a quoted identifier (PostgreSQL manual, "Identifiers and Key Words"). It is
    compiled at the first use, as that takes longer than importing a module of this size."""
    return re.compile(r'\s*(?:([A-Za-z_\x80-\U0010ffff][\w$]*)|("(?:[^"]|"")+"))\s*(?:\.(?=.)|\Z)', re.DOTALL)


def quote_table(table: str | Sequence[str]) -> str:
    """A table's name, with all its parts in quotes. Text is read as SQL reads it, where a part without quotes is in
    lower case; text that SQL could not read, such as ``my table``, and the parts of a tuple are names as they are.

    Raises ProgrammingError for text with a dot or quotes that is no name in SQL, and for a name that is too long.
    """
    if not isinstance(table, str):
        if not isinstance(table, (tuple, list)) or not table:
            raise TypeError(f"a table is given by its name, or a tuple of schema and name, not {table!r}")
        return ".".join(quote_name(part) for part in table)
    parts: list[str] = []
    at = 0
    while at < len(table) and (found := _part().match(table, at)):
        NAMES.check(found[1] or found[2][1:-1].replace('""', '"'))
        parts.append(found[2] or quote_identifier(found[1].translate(_UPPER)))
        at = found.end()
    if parts and at == len(table) and "\0" not in table:
        return ".".join(parts)
    if not table or "." in table or '"' in table:
        raise ProgrammingError(
            f"{table!r} is not a table's name in SQL: put a part with other characters in double quotes, or give a "
            f"tuple of schema and name, or of the name alone: ({table!r},)"
        )
    return quote_name(table)
