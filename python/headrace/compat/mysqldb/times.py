"""Dates and times from and to the texts of MySQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from time import localtime
from typing import Any

Date = date
Time = time
TimeDelta = timedelta
Timestamp = datetime
DateTimeDeltaType = timedelta
DateTimeType = datetime

_TIME = re.compile(r"(-)?(\d+):(\d{1,2}):(\d{1,2})(?:\.(\d+))?")
_MICROSECOND_DIGITS = 6


def DateFromTicks(ticks: float) -> date:
    """The local date of a time in seconds since the epoch."""
    return date(*localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> time:
    """The local time of day, in whole seconds."""
    return time(*localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime:
    """The local date and time, in whole seconds."""
    return datetime(*localtime(ticks)[:6])


def format_TIMEDELTA(value: timedelta) -> str:
    """A span as ``days hours:minutes:seconds``, as TIME takes it."""
    sign = "-" if value < timedelta(0) else ""
    value = abs(value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06}" if value.microseconds else ""
    return f"{sign}{value.days} {hours}:{minutes}:{seconds}{fraction}"


def format_TIMESTAMP(value: datetime) -> str:
    """A date and time as DATETIME takes it."""
    return value.replace(tzinfo=None).isoformat(" ")


def DateTime2literal(value: datetime, conversions: Any) -> bytes:
    """A literal."""
    return f"'{format_TIMESTAMP(value)}'".encode()


def DateTimeDelta2literal(value: timedelta, conversions: Any) -> bytes:
    """A literal."""
    return f"'{format_TIMEDELTA(value)}'".encode()


def Date2literal(value: date, conversions: Any) -> bytes:
    """A literal."""
    return f"'{value.isoformat()}'".encode()


def Time2literal(value: time, conversions: Any) -> bytes:
    """A literal. One with a zone has its offset in it, which TIME refuses."""
    return f"'{value.isoformat()}'".encode()


def Date_or_None(text: str) -> date | None:
    """A date from MySQL's text; ``None`` for what is none."""
    try:
        return date.fromisoformat(text) if len(text) == len("YYYY-MM-DD") else None
    except ValueError:
        return None


def Time_or_None(text: str) -> time | None:
    """A time of day from MySQL's text; ``None`` for what is none."""
    span = TimeDelta_or_None(text)
    if span is None or not timedelta(0) <= span < timedelta(days=1):
        return None
    fraction = text.partition(".")[2]
    return None if len(fraction) > _MICROSECOND_DIGITS else (datetime.min + span).time()


def DateTime_or_None(text: str) -> datetime | date | None:
    """A date and time from MySQL's text, a date where there is no time; ``None`` for what is neither."""
    day, _, clock = text.replace("T", " ").partition(" ")
    if not clock:
        return Date_or_None(day)
    found = Time_or_None(clock if clock.count(":") > 1 else f"{clock}:00")
    date_ = Date_or_None(day)
    return None if found is None or date_ is None else datetime.combine(date_, found)


def TimeDelta_or_None(text: str) -> timedelta | None:
    """A span from MySQL's text; ``None`` for what is none."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    sign, hours, minutes, seconds, fraction = found.groups()
    micros = int((fraction or "0").ljust(_MICROSECOND_DIGITS, "0"))
    try:
        span = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds), microseconds=micros)
    except OverflowError:
        return None
    return -span if sign else span


Literals = Mapping[type, Any]
