"""What the arguments of methods have to be, where a wrong one would fail far from the call."""

from __future__ import annotations

from typing import Any, SupportsIndex

from ..errors import ProgrammingError


class TimedRow(tuple[Any, ...]):
    """Parameters for ``$1`` whose dates and times have the types of their values, not those of their places: the server
    converts them, as it does for ``%s``. PostgreSQL only."""


class TimedRows(list[Any]):
    """Rows of such parameters."""


def checked_text(value: Any, what: str) -> str:
    """A text that was given as ``what``.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is str, not {type(value).__name__}")
    return value


def checked_data(data: Any) -> bytes:
    """Data that are sent unchanged: bytes, or text as UTF-8.

    Raises:
        TypeError: they are neither. `bytes()` of a number makes as many zero bytes, of a list of numbers those bytes.
    """
    if isinstance(data, str):
        return data.encode()
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise TypeError(f"the data are bytes or text, not {type(data).__name__}") from None


def checked_size(size: SupportsIndex) -> int:
    """A number of rows to fetch.

    Raises:
        TypeError: it is no whole number.
        ProgrammingError: it is below zero.
    """
    number = size.__index__() if hasattr(size, "__index__") else _no_number(size)
    if number < 0:
        raise ProgrammingError(f"fetchmany() takes the number of rows, not {number}; fetchall() takes all of them")
    return number


def _no_number(size: Any) -> int:
    raise TypeError(f"the number of rows is int, not {type(size).__name__}")
