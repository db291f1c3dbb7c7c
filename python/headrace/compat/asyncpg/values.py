"""The values of headrace's rows as asyncpg has them.

Most are the same objects. A column whose values are not is found by its type, when a statement returns rows for the
first time: rows without such columns are not looked at.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from ... import types as ours
from ..._native import Columns
from .exceptions import class_of
from .introspection import Known, Types
from .record import Layout, Record
from .types import BitString, Box, Circle, Line, LineSegment, Path, Point, Polygon, Range

Convert = Callable[[Any], Any]
"""Makes asyncpg's value of headrace's, which is not None."""

JSON: Final = 114
JSONB: Final = 3802
_JSONB_VERSION: Final = b"\x01"
_DAYS_OF_MONTH: Final = 30
_DAYS_OF_YEAR: Final = 365
_MONTHS_OF_YEAR: Final = 12


def json_text(data: bytes) -> str:
    """The text of a ``json`` or ``jsonb`` value, of its binary form."""
    return (data[1:] if data.startswith(_JSONB_VERSION) else data).decode()


LOADERS: Final[dict[int, Callable[[bytes], Any]]] = {JSON: json_text, JSONB: json_text}
"""asyncpg leaves JSON as text."""


def _interval(value: Any) -> Any:
    """Months are 30 days, and years 365."""
    if not isinstance(value, ours.Interval):
        return value
    years, months = divmod(abs(value.months), _MONTHS_OF_YEAR)
    days = years * _DAYS_OF_YEAR + months * _DAYS_OF_MONTH
    return datetime.timedelta(days=value.days + (days if value.months >= 0 else -days), microseconds=value.microseconds)


def _range(convert: Convert | None) -> Convert:
    def converted(value: ours.Range[Any]) -> Range[Any]:
        lower, upper = value.lower, value.upper
        if convert is not None:
            lower = None if lower is None else convert(lower)
            upper = None if upper is None else convert(upper)
        return Range(lower, upper, lower_inc=value.lower_inc, upper_inc=value.upper_inc, empty=value.isempty)

    return converted


def _array(convert: Convert) -> Convert:
    def converted(value: Any) -> Any:
        # An array of several dimensions is lists of lists.
        if isinstance(value, list):
            return [converted(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return None if value is None else convert(value)

    return converted


def _multirange(convert: Convert) -> Convert:
    return lambda value: [convert(each) for each in value]


def _composite(layout: Layout, attributes: Sequence[Convert | None]) -> Convert:
    def converted(value: tuple[Any, ...]) -> Record:
        pairs = zip(value, attributes, strict=True)
        return Record(layout, tuple(x if x is None or convert is None else convert(x) for x, convert in pairs))

    return converted


def _anonymous(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of what is in a record are not known: its values are what they are by their classes."""
    return tuple(_by_class(each) for each in value)


def _by_class(value: Any) -> Any:
    convert = _BY_CLASS.get(type(value))  # pyright: ignore[reportUnknownArgumentType]
    return value if convert is None else convert(value)


def _tid(value: str) -> tuple[int, int]:
    block, _, offset = value.strip("()").partition(",")
    return int(block), int(offset)


def _snapshot(value: str) -> tuple[int, int, tuple[int, ...]]:
    """``xmin:xmax:xid,xid,...``"""
    low, high, running = value.split(":")
    return int(low), int(high), tuple(int(each) for each in running.split(",") if each)


def _lsn(value: str) -> int:
    high, _, low = value.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def _char(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _path(value: ours.Path) -> Path:
    return Path(*value.points, is_closed=value.closed)


_BY_CLASS: Final[dict[type, Convert]] = {
    ours.Interval: _interval,
    ours.BitString: BitString,
    ours.Point: lambda value: Point(*value),
    ours.Line: lambda value: Line(*value),
    ours.LSeg: lambda value: LineSegment(*value),
    ours.Box: lambda value: Box(*value),
    ours.Path: _path,
    ours.Polygon: lambda value: Polygon(*value.points),
    ours.Circle: lambda value: Circle(*value),
    ours.Range: _range(None),
    ours.Multirange: _multirange(_range(None)),
    tuple: _anonymous,
    list: _array(_by_class),
}

_DATE: Final = {"infinity": datetime.date.max, "-infinity": datetime.date.min}
_TIMESTAMP: Final = {"infinity": datetime.datetime.max, "-infinity": datetime.datetime.min}


def _extreme(extremes: Mapping[str, Any]) -> Convert:
    def converted(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value not in extremes:
            raise class_of("22000")(f"Python cannot hold {value!r}")
        return extremes[value]

    return converted


_BUILT_IN: Final[dict[int, Convert]] = {
    1182: _array(_extreme(_DATE)),
    1115: _array(_extreme(_TIMESTAMP)),
    1185: _array(_extreme(_TIMESTAMP)),
    18: _char,
    27: _tid,
    600: _BY_CLASS[ours.Point],
    601: _BY_CLASS[ours.LSeg],
    602: _path,
    603: _BY_CLASS[ours.Box],
    604: _BY_CLASS[ours.Polygon],
    628: _BY_CLASS[ours.Line],
    718: _BY_CLASS[ours.Circle],
    1186: _interval,
    1560: BitString,
    1562: BitString,
    2249: _anonymous,
    2970: _snapshot,
    3220: _lsn,
    5038: _snapshot,
}
"""By the oids of pg_type.dat: "char", tid, shapes, interval, bits, record, snapshots, pg_lsn, arrays of dates."""

_SCALARS: Final = (
    # bool, bytea, name, int8, int2, int4, text, oid, xid, cid, json, xml, floats, money, bpchar, varchar
    *(16, 17, 19, 20, 21, 23, 25, 26, 28, 29, 114, 142, 700, 701, 790, 1042, 1043),
    # date, time, timestamp, timestamptz, timetz, numeric, uuid, jsonb, inet, cidr, macaddr, macaddr8
    *(1082, 1083, 1114, 1184, 1266, 1700, 2950, 3802, 869, 650, 829, 774),
    # void, unknown, tsvector, tsquery, regclass, cstring
    *(2278, 705, 3614, 3615, 2205, 2275),
)
_ARRAYS: Final = (
    *(1000, 1001, 1003, 1016, 1005, 1007, 1009, 1028, 199, 143, 1021, 1022, 791, 1014, 1015),
    *(1183, 1270, 1231, 2951, 3807, 1041, 651, 1040),
)
SAME: Final = frozenset((*_SCALARS, *_ARRAYS))
"""The oids of types whose values are the same in both."""


def conversion(types: Types, oid: int) -> Convert | None:
    """Returns what converts the values of a type, which was looked up; None if they are the same."""
    if oid in SAME:
        return None
    if oid in _BUILT_IN:
        return _BUILT_IN[oid]
    known = types.get(oid)
    if known is None:
        return None
    convert = _of_known(types, known)
    if (decoder := types.decoders.get(oid)) is not None and convert is not None:
        return _decoded(convert, decoder)
    return convert


def _inside(types: Types, oid: int) -> Convert | None:
    """What converts values of a type inside of others, where nobody has looked for infinity before."""
    return _EXTREMES.get(oid) or conversion(types, oid)


def _decoded(convert: Convert, decoder: Convert) -> Convert:
    return lambda value: decoder(tuple(convert(value)))


def _of_known(types: Types, known: Known) -> Convert | None:
    if known.sort == "d":
        return _inside(types, known.base)
    if known.sort == "r":
        return _range(_inside(types, known.element))
    if known.sort == "m":
        return _multirange(_range(None))
    if known.sort == "c":
        return _composite(Layout(known.names), [_inside(types, each) for each in known.attributes])
    if known.element:
        inner = _inside(types, known.element)
        return None if inner is None else _array(inner)
    return None


_EXTREMES: Final = {1082: _extreme(_DATE), 1114: _extreme(_TIMESTAMP), 1184: _extreme(_TIMESTAMP)}
"""date, timestamp and timestamptz: infinity is the last that Python has. Headrace has its text, of which there rarely
is one: a column is looked at before its values are."""


class Shape:
    """What becomes of the rows of a statement: the names of the columns, and which of them are converted."""

    __slots__ = ("columns", "composites", "converts", "dates", "layout", "names", "oids")

    def __init__(self, columns: Columns, oids: tuple[int, ...], types: Types) -> None:
        self.columns = columns
        """Those that a known statement has, as long as it is not described again."""
        self.names = names = columns.names
        self.oids = oids
        self.composites = types.composites(oids)
        self.layout = Layout(names)
        found = [(number, conversion(types, oid)) for number, oid in enumerate(oids)]
        self.converts = [(number, convert) for number, convert in found if convert is not None]
        dated = {oid: convert for oid, convert in _EXTREMES.items() if oid not in types.loaded}
        self.dates = [(number, dated[oid]) for number, oid in enumerate(oids) if oid in dated]

    def converted(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Returns rows with asyncpg's values."""
        converts = self.converts
        for number, convert in self.dates:
            if str in set(map(type, map(itemgetter(number), rows))):
                converts = [*converts, (number, convert)]
        return [_converted(row, converts) for row in rows] if converts else rows


def _converted(row: tuple[Any, ...], converts: Sequence[tuple[int, Convert]]) -> tuple[Any, ...]:
    values = list(row)
    for number, convert in converts:
        if (value := values[number]) is not None:
            values[number] = convert(value)
    return tuple(values)


def missing_types(types: Types, oids: Sequence[int]) -> list[int]:
    """Returns the oids that have to be looked up before values are converted."""
    return [oid for oid in oids if oid not in SAME and oid not in _BUILT_IN and types.get(oid) is None]


def _dumped_path(value: Path) -> bytes:
    import struct

    flat = [float(number) for point in value.points for number in point]
    return struct.pack(f"!i{len(flat)}d", len(value.points), *flat)


@functools.cache
def dumpers() -> dict[type, Callable[[Any], bytes | str]]:
    """What sends the values of classes that headrace does not have, in the binary form."""
    return {
        Path: lambda value: bytes([value.is_closed]) + _dumped_path(value),
        Polygon: _dumped_path,
    }
