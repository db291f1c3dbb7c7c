"""Random values of Arrow's types, of the kinds that :mod:`.arrow_values` has, out of the middle of longer arrays."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import random
import string
import uuid
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from .arrow_values import NOTHING, UTC, ArrowValue

TEXT: Final = string.ascii_letters + string.digits + " _'\"\\%{}[](),;:\t\nàßé€😀"
FIRST_DAY: Final = dt.date(1583, 1, 1)
DAYS: Final = (dt.date(9999, 12, 30) - FIRST_DAY).days
Made = tuple[str, pa.DataType, Any, Any]
"""A value's kind, its type, the value, and the value that it is sent as."""


def _plain(kind: str, data_type: pa.DataType, value: Any) -> Made:
    return kind, data_type, value, value


def _int(rnd: random.Random) -> Made:
    bits = rnd.choice((8, 16, 32, 64))
    value = rnd.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) >> rnd.choice((0, bits // 2))
    return _plain("int", getattr(pa, f"int{bits}")(), value)


def _unsigned(rnd: random.Random) -> Made:
    bits = rnd.choice((8, 16, 32, 64))
    return _plain("unsigned int", getattr(pa, f"uint{bits}")(), rnd.getrandbits(bits) >> rnd.choice((0, bits // 2)))


def _float(rnd: random.Random) -> Made:
    value = rnd.choice((-1, 1)) * rnd.random() * 10.0 ** rnd.randint(-3, 14)
    if rnd.random() < 0.3:
        value = float(np.float32(value))
        return _plain("float", pa.float32(), value)
    return _plain("float", pa.float64(), value)


def _decimal(rnd: random.Random) -> Made:
    digits, scale = rnd.randint(1, 38), rnd.randint(0, 10)
    number = decimal.Decimal(rnd.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-min(scale, digits))
    data_type = rnd.choice((pa.decimal128(38, min(scale, digits)), pa.decimal256(60, min(scale, digits))))
    return _plain("decimal", data_type, number)


def _text(rnd: random.Random) -> Made:
    value = "".join(rnd.choices(TEXT, k=rnd.choice((1, 3, 12, 40))))
    return _plain("text", rnd.choice((pa.string(), pa.large_string(), pa.string_view())), value)


def _encoded(rnd: random.Random) -> Made:
    value = "".join(rnd.choices(string.ascii_letters, k=rnd.randint(1, 9)))
    return _plain("encoded text", pa.dictionary(rnd.choice((pa.int8(), pa.uint32())), pa.string()), value)


def _bytes(rnd: random.Random) -> Made:
    return _plain(
        "bytes", rnd.choice((pa.binary(), pa.large_binary(), pa.binary_view())), rnd.randbytes(rnd.randint(0, 30))
    )


def _date(rnd: random.Random) -> Made:
    value = FIRST_DAY + dt.timedelta(rnd.randint(0, DAYS))
    return _plain("date", rnd.choice((pa.date32(), pa.date64())), value)


def _at(rnd: random.Random, unit: str) -> dt.datetime:
    digits = {"s": 0, "ms": 3, "us": 6}[unit]
    micros = rnd.randint(0, 10**digits - 1) * 10 ** (6 - digits)
    day = FIRST_DAY + dt.timedelta(rnd.randint(0, DAYS))
    return dt.datetime.combine(day, dt.time()) + dt.timedelta(seconds=rnd.randint(0, 86399), microseconds=micros)


def _time(rnd: random.Random) -> Made:
    unit = rnd.choice(("s", "ms", "us"))
    data_type = pa.time64("us") if unit == "us" else pa.time32(unit)
    return _plain("time", data_type, _at(rnd, unit).time())


def _timestamp(rnd: random.Random) -> Made:
    unit = rnd.choice(("s", "ms", "us"))
    return _plain("timestamp", pa.timestamp(unit), _at(rnd, unit))


def _instant(rnd: random.Random) -> Made:
    unit = rnd.choice(("s", "ms", "us"))
    zone = rnd.choice(("UTC", "Europe/Berlin", "+05:30", "America/New_York"))
    return _plain("timestamp with a zone", pa.timestamp(unit, zone), _at(rnd, unit).replace(tzinfo=UTC))


def _duration(rnd: random.Random) -> Made:
    value = dt.timedelta(seconds=rnd.randint(-400_000, 400_000), microseconds=rnd.randint(0, 999_999))
    return "duration", pa.duration("us"), value, NOTHING


def _list(rnd: random.Random) -> Made:
    make = rnd.choice((_int, _decimal, _text, _date))
    _, item, *_ = make(rnd)
    drawn = [make(rnd) for _ in range(rnd.randint(0, 4))]
    values = [rnd.choice((None, value)) for _, data_type, value, _ in drawn if data_type == item]
    return _plain("list", rnd.choice((pa.list_, pa.large_list, pa.list_view))(item), values)


def _uuid(rnd: random.Random) -> Made:
    value = uuid.UUID(int=rnd.getrandbits(128))
    return "arrow.uuid", pa.uuid(), value.bytes, value


def _json(rnd: random.Random) -> Made:
    document: Any = rnd.choice(({}, [], {"a": [1, None, {"b": 'é"\\'}]}, rnd.randint(-9, 9), "text", None))
    return "arrow.json", pa.json_(), json.dumps([document]), NOTHING


MAKERS: Final[list[Callable[[random.Random], Made]]] = [
    _int, _unsigned, _float, _decimal, _text, _encoded, _bytes, _date, _time, _timestamp, _instant, _duration, _list,
    _uuid, _json,
]  # fmt: skip


def arrow_value(rnd: random.Random) -> ArrowValue:
    """A random value, out of the middle of an array."""
    kind, data_type, value, row = rnd.choice(MAKERS)(rnd)
    values = [value] * rnd.randint(0, 3) + [value] + [None] * rnd.randint(0, 2)
    at = values.index(None) - 1 if None in values else len(values) - 1
    array = _array(data_type, values)
    return ArrowValue(kind, array.slice(at, 1), row)


def _array(data_type: pa.DataType, values: list[Any]) -> pa.Array:
    if isinstance(data_type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(data_type, pa.array(values, data_type.storage_type))
    if pa.types.is_dictionary(data_type):
        return pa.array(["", "another", *values], data_type.value_type).dictionary_encode().cast(data_type).slice(2)
    if pa.types.is_date64(data_type):
        return pa.array(values, pa.date32()).cast(data_type)
    return pa.array(values, data_type)
