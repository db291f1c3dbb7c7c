"""What the arguments of methods have to be, where a wrong one would fail far from the call."""

from __future__ import annotations

from typing import Any


def checked_text(value: Any, what: str) -> str:
    """A text that was given as ``what``.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is str, not {type(value).__name__}")
    return value
