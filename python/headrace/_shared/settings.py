"""Connection keywords from several sources, read with their types; a wrong one is named with its source."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, cast

from ..errors import ProgrammingError
from .arguments import checked_text
from .limits import FOREVER
from .redact import MASK, SECRETS
from .url import shown

T = TypeVar("T")


def shuffled(places: Iterable[T]) -> list[T]:
    """``places`` in an order that the operating system's random numbers decide: with those of :mod:`random`, all
    workers that begin with the same seed would come to the same host."""
    return sorted(places, key=lambda _: os.urandom(8))


def nearest(name: str, choices: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the nearest choice, or nothing."""
    import difflib

    near = difflib.get_close_matches(name, sorted(choices), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown(name: str, near: str, *, origin: str = "", before: str | None = None) -> ProgrammingError:
    """The error for a setting that there is not; ``near`` is the :func:`nearest` that there is.

    ``before`` is the setting before it in a text: after a password, what looks like a name may be a piece of it, and is
    not shown.
    """
    if shown(name, before) is None:
        return ProgrammingError(
            f"malformed connection string after the value of {before}; write a value with spaces in quotes, one with "
            "separators in a URL percent-encoded, and in an ODBC string in braces"
            if before
            else "malformed connection string: a name of a setting is letters, digits and underscores"
        )
    return ProgrammingError(f"unknown connection setting {name!r}{origin}{near}")


def port_number(text: str, origin: str = "") -> int:
    """The number of a port; ``origin`` is the source of ``text`` in the error. Raises ProgrammingError."""
    port = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < port < 65536:
        raise ProgrammingError(f"port {text!r}{origin} is not a number from 1 to 65535")
    return port


_MOST: Final = 2**53
"""The largest whole number of a setting: those beyond it are not all of them floats."""


class Settings:
    """Values by keyword. An empty text counts as not given, as with most of libpq's keywords."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._origins: dict[str, str] = {}

    def add(self, name: str, value: Any) -> None:
        """Sets a value of a keyword argument or connection string."""
        self.values[name] = value

    def add_default(self, name: str, value: str, origin: str) -> None:
        """Sets a value of another source, unless there is one; ``origin`` is its source in errors."""
        if name not in self.values:
            self.values[name] = value
            self._origins[name] = origin

    def origin(self, name: str) -> str:
        """Where the value comes from, for an error: ``" (from PGSSLMODE)"``; nothing for an argument."""
        return self._origins.get(name, "")

    def setting_with_origin(self, name: str) -> str:
        """The keyword with its value and source, for an error."""
        value = MASK if name in SECRETS else repr(self.values[name])
        return f"{name}={value}{self.origin(name)}"

    def text(self, name: str) -> str | None:
        """A text or path; None when it is not given."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, os.PathLike):
            value = os.fspath(cast("os.PathLike[str]", value))
        if not isinstance(value, str):
            raise ProgrammingError(f"{name} must be text, not {type(value).__name__}")
        if "\0" in value:
            raise ProgrammingError(f"{name} holds a NUL character")
        return checked_text(value, name)

    def choice(self, name: str, choices: Mapping[str, tuple[str, ...]], default: str) -> str:
        """One of the values of ``choices[name]``."""
        value = self.text(name)
        if value is None:
            return default
        if value not in choices[name]:
            raise ProgrammingError(
                f"{self.setting_with_origin(name)} is not one of {', '.join(choices[name])}"
                f"{nearest(value, choices[name])}"
            )
        return value

    def boolean(self, name: str, default: bool) -> bool:
        """True or False, 1 or 0, on or off, yes or no."""
        given = self.values.get(name)
        if given is None or given == "":
            return default
        value = str(given).lower()
        if value in ("1", "true", "on", "yes"):
            return True
        if value in ("0", "false", "off", "no"):
            return False
        raise ProgrammingError(f"{self.setting_with_origin(name)} is neither 1 nor 0")

    def number(self, name: str, default: float) -> float:
        """A number of seconds or milliseconds; a negative one is 0, which in libpq's keywords stands for no limit, and
        a very large one is as good as none."""
        return min(FOREVER, self._number(name, default))

    def _number(self, name: str, default: float) -> float:
        value = self.values.get(name)
        if value is None or value == "":
            return max(0.0, default)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if isinstance(value, bool) or not math.isfinite(number):
            raise ProgrammingError(f"{self.setting_with_origin(name)} is not a number")
        return max(0.0, number)

    def integer(self, name: str, default: int) -> int:
        """A whole number, not negative."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        number = self._number(name, default)
        if number != int(number) or float(value) < 0:
            raise ProgrammingError(f"{self.setting_with_origin(name)} is not a whole number of at least 0")
        if number > _MOST:
            raise ProgrammingError(f"{self.setting_with_origin(name)} is more than {_MOST}")
        return int(number)

    def names_all(self, name: str) -> bool:
        """Returns true if a list is given in which no entry is empty."""
        items = self.items(name)
        return bool(items) and all(items)

    def items(self, name: str) -> list[str]:
        """A list, or a text with commas; empty when it is not given."""
        value = self.values.get(name)
        if isinstance(value, (list, tuple)):
            return [str(item).strip() for item in cast("list[object]", value)]
        text = str(value) if isinstance(value, int) else self.text(name)
        if text and "\0" in text:
            raise ProgrammingError(f"{name} holds a NUL character")
        return [part.strip() for part in text.split(",")] if text else []
