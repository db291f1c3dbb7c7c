"""What the dialects of all databases do to values."""

from __future__ import annotations

import datetime
from typing import Any


def day(value: Any) -> Any:
    """The day of a datetime: a type that is a date means that, and the driver would refuse the time of day."""
    return value.date() if isinstance(value, datetime.datetime) else value
