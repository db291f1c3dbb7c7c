"""Values of Arrow's types, each with its kind: the name under which the table of differences knows it."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

D = decimal.Decimal
UTC = dt.timezone.utc
AT = dt.datetime(2024, 2, 29, 13, 14, 15, 678901)
SECOND = AT.replace(microsecond=0)
EARLY = dt.datetime(1915, 3, 4, 5, 6, 7)
MANY_NINES = D("9" * 30 + "." + "9" * 6)
NOTHING: Any = object()
RANGE = pa.struct(
    [
        ("lower", pa.int32()),
        ("upper", pa.int32()),
        *((name, pa.bool_()) for name in ("lower_inc", "upper_inc", "empty")),
    ]
)


class ArrowValue(NamedTuple):
    """One value."""

    kind: str
    """The name of its kind."""
    array: pa.Array
    """It alone."""
    row: Any = NOTHING
    """The value of Python that it is sent as; NOTHING if there is none of Python's own."""

    @property
    def shown(self) -> str:
        """As a message has it."""
        text = f"{self.array[0]!r}".removeprefix("<pyarrow.").removesuffix(">")
        return f"{self.array.type} {text if len(text) < 80 else text[:60] + '...'}"


def _plain(data_type: pa.DataType, *values: Any) -> list[tuple[pa.Array, Any]]:
    return [(pa.array([value], data_type), value) for value in values]


def _counted(data_type: pa.DataType, *counts: int) -> list[tuple[pa.Array, Any]]:
    """Values by the number that they are stored as."""
    whole = pa.int32() if data_type.bit_width == 32 else pa.int64()
    return [(pa.array([count], whole).view(data_type), NOTHING) for count in counts]


def _typed(array: pa.Array, row: Any = NOTHING) -> list[tuple[pa.Array, Any]]:
    return [(array, row)]


def _texts(data_type: pa.DataType) -> list[tuple[pa.Array, Any]]:
    return _plain(data_type, "a", "é€😀", "x" * 40)


def _numbers(*types: pa.DataType) -> list[tuple[pa.Array, Any]]:
    return [each for data_type in types for each in _plain(data_type, D("1.50"), D("-99.99"), D("100.00"))]


def _instants(unit: str, zone: str) -> list[tuple[pa.Array, Any]]:
    at = SECOND if unit == "s" else AT if unit == "us" else AT.replace(microsecond=678000)
    values = [each.replace(tzinfo=UTC) for each in (at, EARLY)]
    return [(pa.array([value], pa.timestamp(unit, zone)), value) for value in values]


def _stamps(unit: str) -> list[tuple[pa.Array, Any]]:
    at = SECOND if unit == "s" else AT if unit in ("us", "ns") else AT.replace(microsecond=678000)
    return [(pa.array([value], pa.timestamp(unit)), value) for value in (at, EARLY)]


FIRST_TEXT: Final = pa.array(["x", "red", None, "text", "red"])
FIRST_INTS: Final = pa.array([7, 5, None, 5, 5], pa.int32())
KINDS: Final[dict[str, list[tuple[pa.Array, Any]]]] = {
    "null": _typed(pa.nulls(1), None),
    "bool": _plain(pa.bool_(), True, False),
    "arrow.bool8": [
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([number], pa.int8())), bool(number))
        for number in (1, 0, 5)
    ],
    "int": [
        *_plain(pa.int8(), -128, 127),
        *_plain(pa.int16(), 300),
        *_plain(pa.int32(), 0, 1, 5, 70000),
        *_plain(pa.int64(), -7, 2**53 + 1, 2**63 - 1, 20240229),
    ],
    "unsigned int": [
        *_plain(pa.uint8(), 255),
        *_plain(pa.uint16(), 65535),
        *_plain(pa.uint32(), 2**32 - 1),
        *_plain(pa.uint64(), 5, 2**63, 2**64 - 1),
    ],
    "float": [
        (pa.array([np.float16(1.5)], pa.float16()), 1.5),
        *_plain(pa.float32(), 0.25, float(np.float32(0.1))),
        *_plain(pa.float64(), 0.0, 1.0, 0.1, 1.5, 1e15),
    ],
    "large or small float": [
        *_plain(pa.float32(), float(np.float32(3.4e38))),
        *_plain(pa.float64(), 1e18, 2.0**62, 1e300, 5e-324),
    ],
    "NaN, infinity or -0.0": [
        (pa.array([np.float32(value)], pa.float32()), value) for value in (float("nan"), float("inf"), -0.0)
    ]
    + _plain(pa.float64(), float("nan"), float("-inf"), -0.0),
    "decimal": [
        *_numbers(pa.decimal32(7, 2), pa.decimal64(18, 2), pa.decimal128(38, 2), pa.decimal256(76, 2)),
        *_plain(pa.decimal128(38, 9), D("12345678901234567890.123456789"), D("0E-9")),
        *_plain(pa.decimal256(76, 6), MANY_NINES),
        (pa.array([D("1.2E+5")], pa.decimal128(5, -4)), D("120000")),
    ],
    "text": [
        *_texts(pa.string()),
        *_texts(pa.large_string()),
        *_texts(pa.string_view()),
        *_plain(pa.string(), "", " ", "red", "NULL", "\\N", "a\tb\nc\\", "tab'q\" {x} (y), z"),
    ],
    "text of a number": _plain(pa.string(), "5", "1.5", " 5 ", "00000101"),
    "text of something else": _plain(
        pa.string(),
        "2024-02-29",
        "2024-02-29 13:14:15",
        "10:00",
        "true",
        '{"a": 1}',
        "{1,2}",
        "12345678-1234-5678-1234-567812345678",
    ),
    "encoded text": [
        (FIRST_TEXT.dictionary_encode()[1:2], "red"),
        (pa.DictionaryArray.from_arrays(pa.array([1], pa.int8()), pa.array(["x", None])), None),
        (FIRST_TEXT.dictionary_encode().cast(pa.dictionary(pa.uint16(), pa.large_string()))[3:4], "text"),
        (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "text"]))[2:3], "text"),
    ],
    "encoded int": [
        (FIRST_INTS.dictionary_encode()[1:2], 5),
        (pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int16()), pa.array([1, 5]))[1:2], 5),
    ],
    "bytes": [
        *_plain(pa.binary(), b"x", b"12", b"a\0", b"\xff\xfe", b""),
        *_plain(pa.large_binary(), b"abc"),
        *_plain(pa.binary_view(), b"x" * 40),
        *_plain(pa.binary(3), b"abc"),
    ],
    "date": [
        *_plain(pa.date32(), dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)),
        *_plain(pa.date64(), dt.date(1969, 12, 31)),
    ],
    "time": [
        *_plain(pa.time32("s"), dt.time(13, 14, 15)),
        *_plain(pa.time32("ms"), dt.time(0, 0, 0, 1000)),
        *_plain(pa.time64("us"), dt.time(23, 59, 59, 999999)),
        (pa.array([1000], pa.int64()).view(pa.time64("ns")), dt.time(0, 0, 0, 1)),
    ],
    "timestamp": [each for unit in ("s", "ms", "us", "ns") for each in _stamps(unit)]
    + _plain(pa.timestamp("us"), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    "timestamp with a zone": [
        *_instants("s", "UTC"),
        *_instants("ms", "Europe/Berlin"),
        *_instants("us", "+05:30"),
        *_instants("ns", "America/New_York"),
    ],
    "nanoseconds": [
        *_counted(pa.timestamp("ns"), 1_709_212_455_678_901_234),
        *_counted(pa.timestamp("ns", "UTC"), 1_709_212_455_678_901_234),
        *_counted(pa.duration("ns"), 1001),
        *_counted(pa.time64("ns"), 1001),
    ],
    # Rows have days: elapsed time and a timedelta differ where clocks change.
    "duration": [
        *_counted(pa.duration("s"), 90061, -5),
        *_counted(pa.duration("ms"), 1500),
        *_counted(pa.duration("us"), 86_400_000_000, 1),
        *_counted(pa.duration("ns"), 5000),
    ],
    "interval": [
        (pa.array([pa.MonthDayNano(parts)]), NOTHING) for parts in ([14, -3, 5_000_000_000], [0, 0, -1000], [12, 0, 0])
    ],
    "list": [
        (pa.array([value], data_type), value)
        for value, data_type in (
            ([1, None], pa.list_(pa.int32())),
            ([1, 2], pa.large_list(pa.int64())),
            ([3], pa.list_view(pa.int16())),
            ([], pa.list_(pa.int32())),
            (["a", "red"], pa.list_(pa.string())),
            ([D("1.50")], pa.list_(pa.decimal128(10, 2))),
            ([[1, 2], [3, 4]], pa.list_(pa.list_(pa.int32()))),
            ([1.0, 2.5], pa.list_(pa.float32(), 2)),
        )
    ],
    "struct": [
        (pa.array([value], data_type), NOTHING)
        for value, data_type in (
            ({"n": 1, "x": "a"}, pa.struct([("n", pa.int32()), ("x", pa.string())])),
            ({"x": None, "n": None}, pa.struct([("x", pa.string()), ("n", pa.int64())])),
            ({"d": dt.date(2024, 2, 29), "t": AT}, pa.struct([("d", pa.date32()), ("t", pa.timestamp("us"))])),
        )
    ],
    "struct of a range": [
        (pa.array([dict(zip((field.name for field in RANGE), value, strict=True))], RANGE), NOTHING)
        for value in ((1, 5, True, False, False), (None, 5, False, True, False), (None, None, False, False, True))
    ],
    "map": [(pa.array([[("k", 1), ("l", None)]], pa.map_(pa.string(), pa.int32())), NOTHING)],
    "arrow.uuid": [
        (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([each.bytes], pa.binary(16))), each)
        for each in (uuid.UUID("12345678-1234-5678-1234-567812345678"), uuid.UUID(int=5))
    ],
    "arrow.json": [
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array([text])), NOTHING)
        for text in ('{"a": 1}', "[1, 2.50]", '"text"', "5", "null")
    ],
    "union": [
        (
            pa.UnionArray.from_dense(
                pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1]), pa.array(["x"])]
            ),
            NOTHING,
        )
    ],
}


def _all() -> Iterator[ArrowValue]:
    for kind, values in KINDS.items():
        yield from (ArrowValue(kind, array, row) for array, row in values)


VALUES: Final = list(_all())
"""Each of them."""
