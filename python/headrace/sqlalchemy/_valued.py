"""Statements whose parameters have the types of their values: those for ``%s`` do, for ``$1`` the server chooses."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from headrace.types import Hstore, Vector

from ._values import is_time

_TOKENS = re.compile(
    r"""(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | """
    r"""(?<![\w$])(?:\$\$.*?\$\$ | \$(?P<tag>[^\W\d]\w*)\$.*?\$(?P=tag)\$ | \$(?P<number>\d+)) | %""",
    re.S | re.X,
)
"""What is no parameter, though it may look like one, and parameters."""


def _named(token: re.Match[str]) -> str:
    number = token["number"]
    return f"%(p{number})s" if number else token[0].replace("%", "%%")


@functools.lru_cache(maxsize=512)
def valued_text(statement: str, count: int) -> str | None:
    """The statement with ``%(p1)s`` for ``$1``, if those are its ``count`` parameters. None if it has others: what is
    within quotes is none, and a mapping may have more than the statement names, which ``$1`` may not."""
    numbers = {int(token["number"]) for token in _TOKENS.finditer(statement) if token["number"]}
    return _TOKENS.sub(_named, statement) if numbers == set(range(1, count + 1)) else None


def is_compound(value: Any) -> bool:
    """True for a value whose type the server chooses: a mapping may be ``json``, ``jsonb`` or an ``hstore``, a list an
    array of any numbers or a vector, and those of one type have no operators with those of another."""
    if isinstance(value, list):
        return not is_time(value)
    return isinstance(value, dict) or (type(value).__name__ == "ndarray" and value.dtype.kind in "biuf")


def _sent(value: Any) -> Any:
    if not is_compound(value):
        return value
    if isinstance(value, dict):
        return Hstore(value)  # pyright: ignore[reportUnknownArgumentType]
    return Vector(value)


def valued_row(row: Sequence[Any]) -> dict[str, Any]:
    """The parameters that :func:`valued_text` names."""
    return {f"p{number}": _sent(value) for number, value in enumerate(row, 1)}
