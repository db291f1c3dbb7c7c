"""Finds in an INSERT or REPLACE what is repeated for every row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|--\s[^\n]*|\#[^\n]*|/\*.*?\*/)
      |(?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`)
      |(?P<place>%(?:\([^)]*\))?s)
      |(?P<word>\w+)
      |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class Parts:
    """An INSERT in three: up to the row, the row in its parentheses, and the rest after it."""

    def __init__(self, prefix: str, values: str, postfix: str) -> None:
        self._parts = (prefix + values + postfix, prefix, values, postfix)

    def group(self, number: int) -> str:
        """1 to 3: the parts; 0: all of it."""
        return self._parts[number]

    def groups(self) -> tuple[str, str, str]:
        """The parts."""
        return self._parts[1:]


def tokens(sql: str) -> Iterator[tuple[str, str, int, int]]:
    """Kind, text, start and end of every token but spaces and comments."""
    for found in _TOKEN.finditer(sql):
        if found.lastgroup != "space":
            yield found.lastgroup or "", found[0], found.start(), found.end()


class InsertValues:
    """Finds the row of an INSERT; used as a compiled pattern would be."""

    def match(self, sql: str | bytes) -> Parts | None:
        """The parts; None for any other statement, and where there is more than one row, or one that has more than
        placeholders: mysqlclient executes that row by row, which is seen in ``lastrowid``, and after an error."""
        text = sql if isinstance(sql, str) else bytes(sql).decode(errors="replace")
        stream = list(tokens(text))
        if stream and stream[-1][1] == ";":
            text = text[: stream.pop()[2]]
        if not stream or stream[0][1].lower() not in ("insert", "replace"):
            return None
        at = next(
            (i for i, token in enumerate(stream) if token[0] == "word" and token[1].lower() in ("values", "value")), 0
        )
        row = _parentheses(stream, at + 1) if at else None
        if row is None:
            return None
        start, end, last = row
        inside = stream[at + 2 : last]
        if not len(inside) % 2 or any(token[0] != "place" for token in inside[::2]):
            return None
        if any(token[1] != "," for token in inside[1::2]):
            return None
        after = stream[last + 1][1].lower() if last + 1 < len(stream) else "on"
        if after != "on" or any(token[0] == "place" for token in stream[last + 1 :]):
            return None
        return Parts(text[:start], text[start:end], text[end:])


def _parentheses(stream: list[tuple[str, str, int, int]], at: int) -> tuple[int, int, int] | None:
    """Start and end of the parentheses that begin at a token, and the number of their last token."""
    if at >= len(stream) or stream[at][1] != "(":
        return None
    depth = 0
    for i in range(at, len(stream)):
        depth += {"(": 1, ")": -1}.get(stream[i][1], 0) if stream[i][0] == "other" else 0
        if depth == 0:
            return stream[at][2], stream[i][3], i
    return None


RE_INSERT_VALUES: Final = InsertValues()
