"""Digests of results: equal for equal values of equal types, different for anything else.

An ``int`` is not a ``float``, a ``Decimal`` is not either, text is not bytes. Two things are evened out because
drivers may rightly differ in them: the zone in which an aware datetime is given, and the number of zeros after
the last digit of a Decimal.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

DIGEST_BYTES: Final = 16
"""Length of a digest."""


def _datetime(value: dt.datetime) -> str:
    if value.tzinfo is None:
        return "t" + value.isoformat()
    return "z" + value.astimezone(dt.timezone.utc).isoformat()


def _decimal(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return f"d{value}"
    text = "".join(map(str, digits)).lstrip("0")
    bare = text.rstrip("0")
    return f"d{sign if bare else 0}:{bare}:{exponent + len(text) - len(bare) if bare else 0}"


NORMAL: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda value: "n",
    bool: lambda value: f"b{value:d}",
    int: lambda value: f"i{value}",
    float: lambda value: f"f{value!r}",
    str: lambda value: f"s{len(value)}:{value}",
    bytes: lambda value: f"x{value.hex()}",
    Decimal: _decimal,
    dt.datetime: _datetime,
    dt.date: lambda value: f"D{value.isoformat()}",
    dt.time: lambda value: f"T{value.isoformat()}",
    UUID: lambda value: f"u{value.hex}",
}


def normal(value: Any) -> str:
    """A value as text that is the same only for the same value of the same type."""
    rule = NORMAL.get(type(value))
    if rule is None:
        kind = type(value)
        return f"?{kind.__module__}.{kind.__qualname__}:{value!r}"
    return rule(value)


def normal_row(row: Any) -> bytes:
    """A row, however a driver presents it, as bytes."""
    values = row.values() if isinstance(row, Mapping) else row
    return "\x1f".join(map(normal, values)).encode("utf-8", "surrogatepass")


def arrow_rows(source: Any) -> list[Any]:
    """The rows of Arrow data, as Python's values. Nanoseconds become microseconds: none of the data has any."""
    import pyarrow as pa

    table = source if isinstance(source, pa.Table) else pa.table(source)
    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            column = column.cast(pa.timestamp("us", kind.tz))
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True))


def is_arrow(result: Any) -> bool:
    """Returns true for Arrow data, whichever package it is of."""
    return hasattr(result, "__arrow_c_stream__")


def digest_rows(rows: Iterable[Any]) -> str:
    """Digest of rows in their order."""
    state = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for row in rows:
        state.update(normal_row(row))
        state.update(b"\x1e")
    return "rows:" + state.hexdigest()


class RowSet:
    """Digest of rows in any order, taken block by block, so that a stream need not fit memory.

    The order is left out because a server may let a large scan start in the middle of the table.
    """

    def __init__(self) -> None:
        self.total = 0
        self.count = 0

    def add(self, rows: Iterable[Any]) -> int:
        """Take a block of rows and return how many there were."""
        before = self.count
        for row in rows:
            one = hashlib.blake2b(normal_row(row), digest_size=8).digest()
            self.total = (self.total + int.from_bytes(one, "big")) % 2**64
            self.count += 1
        return self.count - before

    def value(self) -> str:
        """The digest of what was added."""
        return f"set:{self.count}:{self.total:016x}"
