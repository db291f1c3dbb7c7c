"""The text form of ``hstore``, as the manual of PostgreSQL's extension has it: ``"key"=>"value", "other"=>NULL``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PAIR: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*=>\s*(?:"((?:[^"\\]|\\.)*)"|NULL)\s*(?:,\s*|$)', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL: Final = re.compile(r'(["\\])')


def parse(text: str) -> dict[str, str | None]:
    """Parses what the server writes.

    Raises:
        ValueError: the text has another form.
    """
    found: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None:
            raise ValueError(f"not the text of an hstore at character {at}: {text[at : at + 40]!r}")
        key, value = pair.groups()
        found[_ESCAPED.sub(r"\1", key)] = None if value is None else _ESCAPED.sub(r"\1", value)
        at = pair.end()
    return found


def quoted(text: str) -> str:
    """A text in double quotes, as it stands in the text of an hstore, and in that of an array."""
    return '"' + _SPECIAL.sub(r"\\\1", text) + '"'


def dump(value: Mapping[str, str | None]) -> str:
    """Writes what the server parses.

    Raises:
        TypeError: a key or value is neither text nor, as a value, None.
    """
    parts: list[str] = []
    for key, item in value.items():
        if not isinstance(key, str) or not (item is None or isinstance(item, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("an hstore has text as keys, and text or None as values")
        parts.append(f"{quoted(key)}=>{'NULL' if item is None else quoted(item)}")
    return ",".join(parts)
