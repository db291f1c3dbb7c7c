"""The values of the matrix, each with its kind: the name under which the table of differences knows it."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import ipaddress
import uuid
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from headrace.types import BitString, Interval, Json, Multirange, Point, Polygon, Range

D = decimal.Decimal
BERLIN = ZoneInfo("Europe/Berlin")
INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))
CHARACTERS = "".join(map(chr, range(1, 300)))
INSTANT = dt.datetime(2024, 2, 29, 13, 14, 15, 678901)


class Word(str, enum.Enum):
    RED = "red"


class Count(enum.IntEnum):
    SEVEN = 7


class Anything(enum.Enum):
    DAY = dt.date(2020, 2, 29)
    MONEY = D("1.25")
    NOTHING = None


class Percent(float):
    def __str__(self) -> str:
        return f"{self:.1f} %"

    __repr__ = __str__


class Number(int):
    def __str__(self) -> str:
        return f"#{self:d}"

    __repr__ = __str__


class Name(str):
    def __str__(self) -> str:
        return self.upper()


class Value(NamedTuple):
    """One value."""

    kind: str
    """The name of its kind."""
    value: Any

    @property
    def shown(self) -> str:
        """As a message has it."""
        text = f"{type(self.value).__name__}({self.value!r})" if type(self.value).__module__ != "builtins" else ""
        text = text or repr(self.value)
        return text if len(text) < 60 else f"{text[:40]}... of {len(text)}"


KINDS: Final[dict[str, list[Any]]] = {
    "None": [None],
    "bool": [True, False],
    "int": [0, 1, -1, 5, 127, 255, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, -(2**63),
            20240229],
    "int beyond 64 bits": [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30],
    "float": [0.0, -0.0, 1.0, 1.5, 7.9, 0.1, -0.25, 1.100000023841858, 123456.789, 1e15, 1e16, 2.0**60, 1e22, 1e-7],
    "very large or small float": [1e300, 1e-60, 5e-324, 3.5e38],
    "NaN or infinity": [float("nan"), float("inf"), float("-inf"), D("NaN"), D("Infinity"), D("-Infinity")],
    "Decimal": [D("0"), D("1"), D("1.50"), D("100.00"), D("1E+2"), D("1E-7"), D("-0.01"), D("-0.0"), D("0.125"),
                D("12345678.90"), D("12345678901234567890.123456789"), D("99999999.995")],
    "Decimal of many digits": [D("1E+40"), D("1E-40"), D("1." + "1" * 50), D("1E+400")],
    "str": ["text", "a", "red", "NULL", "\\N", "\\.", "a,b", "it's \"q\" \\ {x} (y) [z]", "tab\tline\nreturn\r",
            "%s ? $1 :1", "é", "naïve 한국어 😀"],
    "empty str": [""],
    "str with blanks at its ends": [" ", "ab  ", " ab"],
    "long str": ["é" * 40, CHARACTERS, "x" * 300],
    "str of a number": ["5", "1.5", "007", "1e3", "-1"],
    "str of a date or time": ["2024-02-29", "2024-02-29 13:14:15.5", "10:00", "13:14:15"],
    "str of JSON": ['{"a": 1}', "[1, 2]", '"text"', "true"],
    "str of a truth value": ["t", "true", "f"],
    "bytes": [b"x", b"abc", b"12", b"\\x41", "é".encode()],
    "empty bytes": [b""],
    "bytes that are not UTF-8": [b"\xff\x00", bytes(range(256))],
    "bytearray or memoryview": [bytearray(b"abc"), memoryview(b"abc")],
    "UUID": [uuid.UUID("12345678-1234-5678-1234-567812345678")],
    "date": [dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1900, 2, 28)],
    "datetime": [INSTANT, INSTANT.replace(microsecond=0), dt.datetime(2024, 2, 29),
                 dt.datetime(2024, 2, 29, 13, 14, 15, 678000),
                 dt.datetime(1999, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 2)],
    "early or late datetime": [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "aware datetime": [INSTANT.replace(tzinfo=dt.timezone.utc), INSTANT.replace(tzinfo=BERLIN),
                       INSTANT.replace(tzinfo=INDIA, microsecond=0)],
    "time": [dt.time(13, 14, 15), dt.time(13, 14, 15, 678901), dt.time(0, 0), dt.time(23, 59, 59, 999999)],
    "aware time": [dt.time(13, 14, 15, tzinfo=dt.timezone.utc), dt.time(13, 14, tzinfo=INDIA)],
    "timedelta": [dt.timedelta(0), dt.timedelta(hours=3, seconds=6), dt.timedelta(hours=30, microseconds=700_000),
                  dt.timedelta(hours=-1), dt.timedelta(days=-3, seconds=5, microseconds=1)],
    "Interval": [Interval(months=14), Interval(months=1, days=2, microseconds=3_000_000)],
    "enum of str": [Word.RED],
    "enum of int": [Count.SEVEN],
    "enum of another value": [Anything.DAY, Anything.MONEY, Anything.NOTHING],
    "subclass of a number": [Percent(0.125), Number(1234567)],
    "subclass of str": [Name("name")],
    "NumPy number": [np.int64(5), np.uint64(2**64 - 1), np.uint8(200), np.float64(1.5), np.float64(0.1),
                     np.float32(1.5), np.float32(1.1)],
    "NumPy truth value": [np.bool_(True)],
    "NumPy text or bytes": [np.str_("red"), np.bytes_(b"abc")],
    "NumPy time": [np.datetime64("2024-02-29"), np.datetime64(INSTANT), np.timedelta64(5, "s")],
    "NaT or NA": [np.datetime64("NaT"), pd.NaT, pd.NA],
    "pandas time": [pd.Timestamp(INSTANT), pd.Timedelta(hours=1)],
    "aware pandas time": [pd.Timestamp(INSTANT, tz="UTC")],
    "NumPy array": [np.array([1, 2]), np.array([1.5]), np.array(["a"])],
    "list": [[1, 2], [], ["a", None], [1.5], [D("1.5")], ["a,b", '"', "NULL"]],
    "nested list": [[[1, 2], [3, 4]]],
    "tuple": [(1, 2), (1, "x")],
    "set": [{1}, frozenset({1, 2})],
    "dict": [{"a": [1, None, "é"]}, {}],
    "Json": [Json({"a": [1, None]}), Json("text"), Json([1]), Json(None)],
    "Range or Multirange": [Range(1, 5), Range(dt.date(2024, 1, 1), None), Range(empty=True),
                            Multirange([Range(1, 2)])],
    "IP address": [ipaddress.ip_address("192.0.2.1"), ipaddress.ip_network("2001:db8::/32")],
    "BitString": [BitString("101")],
    "point or polygon": [Point(1, 2), Polygon((Point(1, 2), Point(3, 4))), ((1, 2), (3, 4))],
    "lone surrogate or NUL": ["\ud800", "a\0b"],
}  # fmt: skip
VALUES: Final[list[Value]] = [Value(kind, value) for kind, values in KINDS.items() for value in values]
