"""Statements whose parameters have the types of their values: those for ``%s`` do, for ``$1`` the server chooses."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

_TOKENS = re.compile(
    r"""[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | """
    r"""(?<![\w$])(?:\$\$.*?\$\$ | \$(?P<tag>[^\W\d]\w*)\$.*?\$(?P=tag)\$ | \$(?P<number>\d+)) | %""",
    re.S | re.X,
)
"""What is no parameter, though it may look like one, and parameters."""


def _named(token: re.Match[str]) -> str:
    number = token["number"]
    return f"%(p{number})s" if number else token[0].replace("%", "%%")


@functools.lru_cache(maxsize=512)
def valued_text(statement: str) -> str:
    """The statement with ``%(p1)s`` for ``$1``."""
    return _TOKENS.sub(_named, statement)


def valued_row(row: Sequence[Any]) -> dict[str, Any]:
    """The parameters that :func:`valued_text` names."""
    return {f"p{number}": value for number, value in enumerate(row, 1)}
