"""What the dialects of all databases do to values."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any


def is_aware(value: Any) -> bool:
    """True for a datetime or time with a zone."""
    return isinstance(value, (datetime.datetime, datetime.time)) and value.tzinfo is not None


def is_time(value: Any) -> bool:
    """True for dates and times, NumPy's too, and lists of them."""
    if isinstance(value, list):
        return any(map(is_time, value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, (datetime.date, datetime.time)) or type(value).__name__ == "datetime64"


def day(value: Any) -> Any:
    """The day of a datetime: a type that is a date means that, and the driver would refuse the time of day."""
    # pandas' NaT is a datetime that is no time, and not itself.
    if isinstance(value, datetime.datetime) and value == value:
        return value.date()
    return value


def clock(value: Any) -> Any:
    """A datetime or time without its zone, as its clock shows it."""
    return value.replace(tzinfo=None) if is_aware(value) else value


class Zoneless:
    """A type of a database that has no zones: the clock's time goes without it."""

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return clock


def some_of_text(context: Any, rows: Sequence[Any], is_such: Callable[[Any], bool]) -> bool:
    """True if a value of these rows is such, which are the parameters of a text, of which no column is known."""
    if context is None or not context.is_text:
        return False
    given: list[tuple[Any, ...]] = [row for row in rows if isinstance(row, tuple)]
    return any(is_such(value) for row in given for value in row)
