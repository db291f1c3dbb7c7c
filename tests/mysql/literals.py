"""Values in the text of a statement, written without the driver."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pymysql

D = decimal.Decimal


def literal(value: Any) -> str:
    """A value as a user writes it."""
    match value:
        case None:
            return "null"
        case bool() | int() | D():
            return str(int(value) if isinstance(value, bool) else value)
        case float():
            return f"{value!r}{'' if 'e' in repr(value) else 'e0'}"
        case str():
            return "'" + pymysql.converters.escape_string(value) + "'"
        case bytes():
            return f"_binary x'{value.hex()}'"
        case dt.datetime():
            return f"timestamp'{value}'"
        case dt.date():
            return f"date'{value}'"
        case dt.time():
            return f"time'{value}'"
        case dt.timedelta():
            micros = abs(value) // dt.timedelta(microseconds=1)
            seconds, fraction = divmod(micros, 1_000_000)
            sign = "-" if value < dt.timedelta() else ""
            clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            return f"time'{sign}{clock}{f'.{fraction:06}' if fraction else ''}'"
    raise AssertionError(value)
