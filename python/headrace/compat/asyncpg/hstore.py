"""The text of hstore values, and the dicts that they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PAIR: Final = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*=>\s*(?:"((?:[^"\\]|\\.)*)"|NULL)\s*(?:,|$)', re.S)
_ESCAPE: Final = re.compile(r"\\(.)", re.S)


def loaded(text: str) -> dict[str, str | None]:
    """Returns the dict of an hstore, of its text as the server writes it.

    Raises:
        ValueError: the text is not one.
    """
    found: dict[str, str | None] = {}
    position = 0
    while position < len(text):
        pair = _PAIR.match(text, position)
        if pair is None:
            raise ValueError(f"{text[position:]!r} is not the text of an hstore")
        value = pair[2]
        found[_ESCAPE.sub(r"\1", pair[1])] = None if value is None else _ESCAPE.sub(r"\1", value)
        position = pair.end()
    return found


def _quoted(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"keys and values of an hstore are str, not {type(text).__name__}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def dumped(value: Mapping[str, str | None]) -> str:
    """Returns the text of an hstore, of a mapping.

    Raises:
        TypeError: a key or a value is not text.
    """
    return ",".join(f"{_quoted(k)}=>{'NULL' if v is None else _quoted(v)}" for k, v in value.items())
