"""Statements as Django writes them, with ``%s``, for drivers whose parameters are question marks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

_PLACE: Final = re.compile(r"%(?:%|s|\((\w+)\)s)")
_KEPT: Final = 512
"""Statements whose translation is kept."""


@functools.lru_cache(_KEPT)
def question_marks(sql: str) -> tuple[str, tuple[str | None, ...]]:
    """A statement with question marks, and the names of its parameters: None for each that has none."""
    names: list[str | None] = []

    def mark(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        names.append(found[1])
        return "?"

    return _PLACE.sub(mark, sql), tuple(names)


def translated(sql: Any, params: Any, adapt: Callable[[Any], Any]) -> tuple[str, list[Any] | None]:
    """A statement and its values, as the driver takes them.

    Args:
        sql: the statement; without parameters a percent sign in it is itself.
        params: a sequence, a mapping or None.
        adapt: makes of a value one that the driver knows.
    """
    if params is None:
        return str(sql), None
    text, names = question_marks(str(sql))
    if isinstance(params, Mapping):
        return text, [adapt(params[name]) for name in names]
    return text, [adapt(value) for value in params]


class StatementCursor:
    """A cursor of the driver's that executes Django's statements."""

    def __init__(self, cursor: Any, adapt: Callable[[Any], Any]) -> None:
        self.cursor = cursor
        self.executed: tuple[Any, Any] | None = None
        """The last statement, with its values, as Django wrote it."""
        self._adapt = adapt

    def execute(self, sql: Any, params: Any = None) -> Any:
        """Executes a statement."""
        self.executed = (sql, params)
        text, values = translated(sql, params, self._adapt)
        return self.cursor.execute(text) if values is None else self.cursor.execute(text, values)

    def executemany(self, sql: Any, rows: Iterable[Any]) -> Any:
        """Executes a statement once for each row."""
        text, _ = question_marks(str(sql))
        return self.cursor.executemany(text, [translated(sql, row, self._adapt)[1] for row in rows])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cursor, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.cursor)
