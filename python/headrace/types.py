"""Values that the standard library has no class for, and the type objects of PEP 249."""

from __future__ import annotations

import datetime
import enum
import json
import time as _time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

T = TypeVar("T")


class TypeObject(str):
    """A type object of PEP 249: equals every :class:`TypeCode` that it groups."""

    _names: frozenset[str]

    def __new__(cls, name: str, names: Iterable[str]) -> TypeObject:
        self = super().__new__(cls, name)
        self._names = frozenset(names)
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeCode):
            return other.base in self._names
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


STRING = TypeObject("STRING", ["text", "varchar", "bpchar", "char", "name", "xml", "json", "jsonb", "unknown"])
BINARY = TypeObject("BINARY", ["bytea"])
NUMBER = TypeObject("NUMBER", ["int2", "int4", "int8", "float4", "float8", "numeric", "oid", "money", "xid8"])
DATETIME = TypeObject("DATETIME", ["date", "time", "timetz", "timestamp", "timestamptz", "interval"])
ROWID = TypeObject("ROWID", ["oid", "tid"])


class TypeCode(str):
    """The ``type_code`` of a column: the SQL name of its type (``"int4"``, ``"numeric(10,2)"``) as text, equal to
    the PEP 249 type object of its group. ``oid`` is the type's number in ``pg_type``."""

    oid: int
    base: str

    def __new__(cls, name: str, oid: int, base: str | None = None) -> TypeCode:
        self = super().__new__(cls, name)
        self.oid = oid
        self.base = base or name
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return other == self
        return str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """A date from seconds since the epoch, in local time (PEP 249)."""
    return datetime.date(*_time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """A time from seconds since the epoch, in local time (PEP 249)."""
    return datetime.time(*_time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """A timestamp from seconds since the epoch, in local time (PEP 249)."""
    return datetime.datetime(*_time.localtime(ticks)[:6])


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of calendar months, days and microseconds: what ``interval`` is. One without months comes as
    :class:`datetime.timedelta`; a calendar month is no fixed span of time, so one with months comes as this."""

    months: int = 0
    days: int = 0
    microseconds: int = 0


class Range(Generic[T]):
    """A range of an ordered type; a bound of ``None`` is no bound. ``bounds`` is one of ``[] [) (] ()``."""

    __slots__ = ("_bounds", "_empty", "_lower", "_upper")

    def __init__(
        self, lower: T | None = None, upper: T | None = None, bounds: str = "[)", *, empty: bool = False
    ) -> None:
        if bounds not in ("[]", "[)", "(]", "()"):
            raise ValueError(f"bounds must be one of [] [) (] (), not {bounds!r}")
        self._lower = None if empty else lower
        self._upper = None if empty else upper
        self._bounds = bounds
        self._empty = empty

    @property
    def lower(self) -> T | None:
        """The lower bound, or ``None``."""
        return self._lower

    @property
    def upper(self) -> T | None:
        """The upper bound, or ``None``."""
        return self._upper

    @property
    def isempty(self) -> bool:
        """True when no value is in the range."""
        return self._empty

    @property
    def lower_inc(self) -> bool:
        """True when the lower bound is in the range."""
        return not self._empty and self._lower is not None and self._bounds[0] == "["

    @property
    def upper_inc(self) -> bool:
        """True when the upper bound is in the range."""
        return not self._empty and self._upper is not None and self._bounds[1] == "]"

    @property
    def lower_inf(self) -> bool:
        """True when there is no lower bound."""
        return not self._empty and self._lower is None

    @property
    def upper_inf(self) -> bool:
        """True when there is no upper bound."""
        return not self._empty and self._upper is None

    @property
    def bounds(self) -> str:
        """The brackets, with an infinite bound shown as open."""
        return ("[" if self.lower_inc else "(") + ("]" if self.upper_inc else ")")

    def _key(self) -> tuple[object, ...]:
        if self._empty:
            return ("empty",)
        return (self._lower, self._upper, self.lower_inc, self.upper_inc)

    def __contains__(self, value: T) -> bool:
        if self._empty:
            return False
        x = cast(Any, value)
        if self._lower is not None and not (x >= self._lower if self.lower_inc else x > self._lower):
            return False
        return self._upper is None or bool(x <= self._upper if self.upper_inc else x < self._upper)

    def __bool__(self) -> bool:
        return not self._empty

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and self._key() == cast("Any", other)._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        if self._empty:
            return "Range(empty=True)"
        return f"Range({self._lower!r}, {self._upper!r}, {self._bounds!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_range, (self._lower, self._upper, self._bounds, self._empty))


def _range(lower: Any, upper: Any, bounds: str, empty: bool) -> Range[Any]:
    return Range(lower, upper, bounds, empty=empty)


class Multirange(Sequence[Range[T]], Generic[T]):
    """Several ranges, in order."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Iterable[Range[T]] = ()) -> None:
        self._ranges = tuple(ranges)

    def __getitem__(self, index: Any) -> Any:
        return cast("Any", self._ranges)[index]

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[Range[T]]:
        return iter(self._ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Multirange) and self._ranges == cast("Any", other)._ranges

    def __hash__(self) -> int:
        return hash(self._ranges)

    def __repr__(self) -> str:
        return f"Multirange({list(self._ranges)!r})"


@dataclass(frozen=True)
class Json:
    """Asks for a value to be sent as ``json``. ``dumps_with`` turns it into text; :func:`json.dumps` by default."""

    value: Any
    dumps_with: Callable[[Any], str | bytes] = json.dumps

    def dumps(self) -> str | bytes:
        """The text."""
        return self.dumps_with(self.value)


class Jsonb(Json):
    """Asks for a value to be sent as ``jsonb``."""


class BitString(str):
    """A ``bit`` or ``varbit`` value: text of ``0`` and ``1``."""

    __slots__ = ()

    def __new__(cls, bits: str = "") -> BitString:
        if set(bits) - {"0", "1"}:
            raise ValueError(f"a bit string has only 0 and 1, not {bits!r}")
        return super().__new__(cls, bits)


class Point(NamedTuple):
    """``point``"""

    x: float
    y: float


class Line(NamedTuple):
    """``line``: the points with ``a*x + b*y + c = 0``"""

    a: float
    b: float
    c: float


class LSeg(NamedTuple):
    """``lseg``"""

    start: Point
    end: Point


class Box(NamedTuple):
    """``box``"""

    high: Point
    low: Point


class Path(NamedTuple):
    """``path``"""

    points: tuple[Point, ...]
    closed: bool = False


class Polygon(NamedTuple):
    """``polygon``"""

    points: tuple[Point, ...]


class Circle(NamedTuple):
    """``circle``"""

    center: Point
    radius: float


@dataclass(frozen=True, slots=True)
class Notify:
    """A notification."""

    channel: str
    payload: str
    pid: int


@dataclass(frozen=True)
class Notice:
    """A notice or warning of the server: ``severity`` and ``message``, and all fields by the protocol's codes."""

    severity: str
    message: str
    fields: dict[str, str]


class TransactionStatus(enum.IntEnum):
    """Where a connection stands."""

    IDLE = 0
    ACTIVE = 1
    INTRANS = 2
    INERROR = 3
    UNKNOWN = 4


@dataclass(frozen=True, slots=True)
class Xid:
    """A global transaction id for two-phase commit (PEP 249)."""

    format_id: int | None
    gtrid: str
    bqual: str | None

    def __str__(self) -> str:
        if self.format_id is None:
            return self.gtrid
        return f"{self.format_id}_{self.gtrid.encode().hex()}_{(self.bqual or '').encode().hex()}"

    @classmethod
    def parse(cls, text: str) -> Xid:
        """The inverse of ``str``; any other text is a transaction id by itself."""
        parts = text.split("_")
        if len(parts) == 3 and parts[0].isdigit():
            try:
                return cls(int(parts[0]), bytes.fromhex(parts[1]).decode(), bytes.fromhex(parts[2]).decode())
            except ValueError:
                pass
        return cls(None, text, None)
