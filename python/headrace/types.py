"""Values that the standard library has no class for, and the type objects of PEP 249."""

from __future__ import annotations

import base64
import calendar
import datetime
import enum
import functools
import json
import re
import time as _time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast, overload

from ._shared.loading import set_dumpers as set_dumpers
from ._shared.loading import set_json as set_json
from ._shared.loading import set_loaders as set_loaders
from ._shared.modes import CopyFormat as CopyFormat
from ._shared.modes import Duplicates as Duplicates
from ._shared.modes import IsolationLevel as IsolationLevel
from ._shared.modes import LobKind as LobKind
from ._shared.modes import ResetMode as ResetMode
from ._shared.modes import ScrollMode as ScrollMode
from .errors import ProgrammingError

if TYPE_CHECKING:
    from ._shared.protocols import ConnectionProtocol as ConnectionProtocol
    from ._shared.protocols import CursorProtocol as CursorProtocol
    from ._shared.protocols import PoolProtocol as PoolProtocol
    from .aio._shared.protocols import AsyncConnectionProtocol as AsyncConnectionProtocol
    from .aio._shared.protocols import AsyncCursorProtocol as AsyncCursorProtocol
    from .aio._shared.protocols import AsyncPoolProtocol as AsyncPoolProtocol

T = TypeVar("T")

_PROTOCOLS: Final = {
    f"{shell}{kind}Protocol": module
    for kind in ("Connection", "Cursor", "Pool")
    for shell, module in (("", "headrace._shared.protocols"), ("Async", "headrace.aio._shared.protocols"))
}
"""What connections, cursors and pools have whatever the database, by the module that is imported when it is used."""


def __getattr__(name: str) -> Any:
    if name not in _PROTOCOLS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PROTOCOLS[name]), name)


class ArrowStreamSource(Protocol):
    """An object with an Arrow stream, such as a table or a data frame of pyarrow, polars or pandas, and the result of
    ``fetch_arrow()``."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowArraySource(Protocol):
    """An object with one Arrow array: a record batch."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


ParameterRows: TypeAlias = Iterable[Any] | ArrowStreamSource | ArrowArraySource
"""The rows of a batch: an iterable of sequences or mappings, or Arrow data."""


class TypeObject(str):
    """A type object of PEP 249: equals every :class:`TypeCode` that it groups.

    Compare with ``==``. A dict or set does not find a type code by its type object, because one type code may equal
    two of them (``oid`` is a NUMBER and a ROWID), so that no hash could fit.
    """

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

    def __reduce__(self) -> str:
        # By name: a copy of a type object is the type object.
        return str.__str__(self)


def _words(text: str) -> list[str]:
    return text.split()


STRING = TypeObject(
    "STRING",
    _words(
        "text varchar bpchar char name xml json jsonb unknown "
        "tinytext mediumtext longtext enum set nchar nvarchar lvarchar clob"
    ),
)
BINARY = TypeObject(
    "BINARY", _words("bytea binary varbinary tinyblob blob mediumblob longblob geometry vector byte bson")
)
NUMBER = TypeObject(
    "NUMBER",
    _words(
        "int2 int4 int8 float4 float8 numeric oid money xid8 "
        "tinyint smallint mediumint int integer bigint year decimal double float smallfloat serial serial8 bigserial"
    ),
)
DATETIME = TypeObject("DATETIME", _words("date time timetz timestamp timestamptz interval datetime"))
ROWID = TypeObject("ROWID", _words("oid tid"))


_PLAIN = re.compile(
    r"(tiny|small|medium|big)?int|int[248]|integer|short|bool|boolean|float[48]?|double( precision)?|bytea"
    r"|(tiny|medium|long)?text|((bp|n|var|nvar|lvar)?char|string)(\(\d+(,\d+)?\))?"
    r"|date|timestamp|datetime( year to (second|fraction(\([1-5]\))?))?"
)
_LIMITED = re.compile(r"(?:numeric|decimal)\((\d+), ?(\d+)\)")
DIGITS = 38
"""Of the exact numbers that most programs know."""


@functools.lru_cache(256)
def _is_plain(name: str) -> bool:
    """Returns true if a type has the same name and meaning everywhere."""
    if found := _LIMITED.fullmatch(name):
        return int(found[2]) <= int(found[1]) <= DIGITS
    return _PLAIN.fullmatch(name) is not None


class TypeCode:
    """The ``type_code`` of a column: it equals the SQL name of its type (``"int4"``, ``"numeric(10,2)"``), which is
    also its text, the PEP 249 type object of its group, and the type's number. ``oid`` is that number (PostgreSQL: in
    ``pg_type``), ``base`` the name without precision and scale.

    It is a ``str`` only where the name means the same in every database. Libraries such as polars take names for those
    of types they know, and would make floats of ``numeric``, or integers of ``int4range``.
    """

    oid: int
    base: str
    _name: str
    _plain: bool | None

    def __new__(cls, name: str, oid: int, base: str | None = None, plain: bool | None = None) -> TypeCode:
        """Makes one.

        Args:
            name: the name, with precision and scale.
            oid: the number.
            base: the name without them; None for the same.
            plain: it means the same everywhere; None to decide by the name.
        """
        is_text = _is_plain(name.lower()) if plain is None else plain
        self: TypeCode = str.__new__(_TextCode, name) if is_text else object.__new__(TypeCode)
        self.oid = oid
        self.base = base or name
        self._name = name
        self._plain = plain
        return self

    @property
    def precision(self) -> int | None:
        """The number of digits of a numeric with a limit; None otherwise."""
        return self._modifiers()[0]

    @property
    def scale(self) -> int | None:
        """The number of digits after the point of a numeric with a limit; a negative one rounds before the point."""
        return self._modifiers()[1]

    def _modifiers(self) -> tuple[int | None, int | None]:
        found = re.fullmatch(r"numeric\((\d+)(?:,(-?\d+))?\)", self._name)
        return (int(found[1]), int(found[2] or 0)) if found else (None, None)

    def __reduce__(self) -> Any:
        return TypeCode, (self._name, self.oid, self.base, self._plain)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return repr(self._name)

    def __format__(self, spec: str) -> str:
        return format(self._name, spec)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return other == self
        if isinstance(other, TypeCode):
            return self._name == other._name
        if isinstance(other, int):
            return self.oid == other
        return isinstance(other, str) and self._name == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._name)


class _TextCode(TypeCode, str):
    """The code of a type whose name means the same in every database."""

    __hash__ = TypeCode.__hash__


Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """Converts seconds since the epoch to a date, in local time (PEP 249).

    Args:
        ticks: seconds.

    Returns:
        The date.
    """
    return datetime.date(*_time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """Converts seconds since the epoch to a time, in local time (PEP 249).

    Args:
        ticks: seconds.

    Returns:
        The time of day.
    """
    return datetime.time(*_time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """Converts seconds since the epoch to a timestamp, in local time (PEP 249).

    Args:
        ticks: seconds.

    Returns:
        The timestamp.
    """
    return datetime.datetime(*_time.localtime(ticks)[:6])


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of calendar months, days and microseconds: the value of an ``interval`` with months. A calendar month is
    not a fixed span of time; a value without months is a :class:`datetime.timedelta`."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def __str__(self) -> str:
        """The interval as SQL has it, ``1 mons 2 days 00:00:03``."""
        sign = "-" if self.microseconds < 0 else ""
        seconds, micros = divmod(abs(self.microseconds), 1_000_000)
        clock = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"{self.months} mons {self.days} days {clock}" + (f".{micros:06}" if micros else "")

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.days, -self.microseconds)

    @overload
    def __add__(self, other: Interval | datetime.timedelta) -> Interval: ...
    @overload
    def __add__(self, other: datetime.datetime) -> datetime.datetime: ...
    @overload
    def __add__(self, other: datetime.date) -> datetime.date: ...
    def __add__(self, other: Any) -> Any:
        """The sum of two intervals, or a date or datetime that is later by one: months first, and the last day of a
        shorter month, as PostgreSQL does it. A datetime keeps its zone, and over months and days its clock."""
        if isinstance(other, datetime.timedelta):
            other = Interval(0, other.days, other.seconds * 1_000_000 + other.microseconds)
        if isinstance(other, Interval):
            return Interval(self.months + other.months, self.days + other.days, self.microseconds + other.microseconds)
        if not isinstance(other, datetime.date):
            return NotImplemented
        if self.microseconds and not isinstance(other, datetime.datetime):
            other = datetime.datetime(other.year, other.month, other.day)
        years, month = divmod(other.year * 12 + other.month - 1 + self.months, 12)
        last = calendar.monthrange(years, month + 1)[1] if 1 <= years <= 9999 else 31
        moved = other.replace(year=years, month=month + 1, day=min(other.day, last))
        moved += datetime.timedelta(days=self.days)
        time = datetime.timedelta(microseconds=self.microseconds)
        if time and isinstance(moved, datetime.datetime) and moved.tzinfo is not None:
            # Hours are counted across a change of the clock.
            return (moved.astimezone(datetime.timezone.utc) + time).astimezone(moved.tzinfo)
        return moved + time

    __radd__ = __add__

    def __sub__(self, other: Interval | datetime.timedelta) -> Interval:
        if not isinstance(other, Interval | datetime.timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return self + -other

    @overload
    def __rsub__(self, other: datetime.timedelta) -> Interval: ...
    @overload
    def __rsub__(self, other: datetime.datetime) -> datetime.datetime: ...
    @overload
    def __rsub__(self, other: datetime.date) -> datetime.date: ...
    def __rsub__(self, other: Any) -> Any:
        return -self + other


class Range(Generic[T]):
    """A range of an ordered type; a bound of ``None`` is no bound. ``bounds`` is one of ``[] [) (] ()``.

    Immutable. Ranges are ordered as in PostgreSQL: the empty one first, then by lower, then by upper bound.

    >>> 3 in Range(1, 5), 5 in Range(1, 5)
    (True, False)
    >>> str(Range(None, 5, "(]"))
    '(,5]'

    Raises ValueError for other bounds.
    """

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

    def _order(self) -> tuple[Any, ...]:
        # Infinite bounds are distinguished by numbers, so that None is compared with nothing.
        if self._empty:
            return (0,)
        lower = (0,) if self._lower is None else (1, self._lower, not self.lower_inc)
        upper = (1,) if self._upper is None else (0, self._upper, self.upper_inc)
        return (1, lower, upper)

    def __lt__(self, other: Range[T]) -> bool:
        return self._order() < other._order() if isinstance(cast("Any", other), Range) else NotImplemented

    def __le__(self, other: Range[T]) -> bool:
        return self._order() <= other._order() if isinstance(cast("Any", other), Range) else NotImplemented

    def __gt__(self, other: Range[T]) -> bool:
        return self._order() > other._order() if isinstance(cast("Any", other), Range) else NotImplemented

    def __ge__(self, other: Range[T]) -> bool:
        return self._order() >= other._order() if isinstance(cast("Any", other), Range) else NotImplemented

    def __str__(self) -> str:
        if self._empty:
            return "empty"
        lower = "" if self._lower is None else str(self._lower)
        upper = "" if self._upper is None else str(self._upper)
        return f"{self.bounds[0]}{lower},{upper}{self.bounds[1]}"

    def __repr__(self) -> str:
        if self._empty:
            return "Range(empty=True)"
        return f"Range({self._lower!r}, {self._upper!r}, {self.bounds!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_range, (self._lower, self._upper, self._bounds, self._empty))


def _range(lower: Any, upper: Any, bounds: str, empty: bool) -> Range[Any]:
    return Range(lower, upper, bounds, empty=empty)


class Multirange(Sequence[Range[T]], Generic[T]):
    """Several ranges, in the order in which they were given or received. Immutable.

    The server sorts and merges them; here they are not changed.
    """

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Iterable[Range[T]] = ()) -> None:
        self._ranges = tuple(ranges)

    @overload
    def __getitem__(self, index: int) -> Range[T]: ...
    @overload
    def __getitem__(self, index: slice) -> Multirange[T]: ...
    def __getitem__(self, index: int | slice) -> Range[T] | Multirange[T]:
        return Multirange(self._ranges[index]) if isinstance(index, slice) else self._ranges[index]

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[Range[T]]:
        return iter(self._ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Multirange) and self._ranges == cast("Any", other)._ranges

    def __hash__(self) -> int:
        return hash(self._ranges)

    def __lt__(self, other: Multirange[T]) -> bool:
        return self._ranges < other._ranges if isinstance(cast("Any", other), Multirange) else NotImplemented

    def __le__(self, other: Multirange[T]) -> bool:
        return self._ranges <= other._ranges if isinstance(cast("Any", other), Multirange) else NotImplemented

    def __gt__(self, other: Multirange[T]) -> bool:
        return self._ranges > other._ranges if isinstance(cast("Any", other), Multirange) else NotImplemented

    def __ge__(self, other: Multirange[T]) -> bool:
        return self._ranges >= other._ranges if isinstance(cast("Any", other), Multirange) else NotImplemented

    def __str__(self) -> str:
        return "{" + ",".join(map(str, self._ranges)) + "}"

    def __repr__(self) -> str:
        return f"Multirange({list(self._ranges)!r})"


@dataclass(frozen=True)
class Json:
    """Sends a value as ``json``. ``dumps_with`` converts it to text; None for the connection's ``json_dumps``, or
    :func:`json.dumps` if it has none."""

    value: Any
    dumps_with: Callable[[Any], str | bytes] | None = None

    def dumps(self) -> str | bytes:
        """Returns the JSON text of the value, by :func:`json.dumps` if it has no ``dumps_with``.

        Returns:
            The text.
        """
        return (json.dumps if self.dumps_with is None else self.dumps_with)(self.value)


class Jsonb(Json):
    """Sends a value as ``jsonb``."""


class Opaque:
    """A value of an extended type in its own binary form, which is identified by its name (Informix).

    Args:
        type_name: the type's name, such as ``bson``.
        data: the bytes, as the type's send function returns them and its receive function takes them.
    """

    __slots__ = ("data", "type_name")

    def __init__(self, type_name: str, data: bytes) -> None:
        self.type_name = type_name
        self.data = bytes(data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and (self.type_name, self.data) == (other.type_name, other.data)

    def __hash__(self) -> int:
        return hash((self.type_name, self.data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type_name}, {len(self.data)} bytes>"


class _Locator(Opaque):
    __slots__ = ()

    def __repr__(self) -> str:
        # The number of bytes would be taken for that of the content.
        return f"<{type(self).__name__}>"


class BlobLocator(_Locator):
    """The reference to a BLOB: the value of a column of that type, and a parameter for one. Its content is read and
    written by ``Connection.open_lob``."""

    __slots__ = ()

    def __init__(self, data: bytes) -> None:
        super().__init__("blob", data)


class ClobLocator(_Locator):
    """The reference to a CLOB, like :class:`BlobLocator`."""

    __slots__ = ()

    def __init__(self, data: bytes) -> None:
        super().__init__("clob", data)


class BitString(str):
    """A ``bit`` or ``varbit`` value: text of ``0`` and ``1``."""

    __slots__ = ()

    def __new__(cls, bits: str = "") -> BitString:
        if set(bits) - {"0", "1"}:
            raise ValueError(f"a bit string has only 0 and 1, not {bits!r}")
        return super().__new__(cls, bits)


class Vector(list[float]):
    """A vector as a parameter whose type is the server's to decide, ``vector <-> %s``: a ``list``, and what has a list,
    as an array of NumPy, whatever its items.

    A plain ``list`` of floats is sent by ``%s`` as an array of ``double precision``, for which pgvector has no
    operators.
    """

    def __init__(self, values: Iterable[float] = ()) -> None:
        to_list = getattr(values, "tolist", None)
        super().__init__(values if to_list is None else to_list())

    def __repr__(self) -> str:
        return f"Vector({super().__repr__()})"


class SparseVector:
    """A ``sparsevec`` of pgvector: the numbers of a vector that are not zero, by their indices.

    Args:
        numbers: the numbers by index, from 0. Zeros are left out.
        dimensions: the number of dimensions.

    Raises:
        ValueError: an index is negative, or not below ``dimensions``.
    """

    __slots__ = ("dimensions", "numbers")

    def __init__(self, numbers: Mapping[int, float], dimensions: int) -> None:
        self.numbers: dict[int, float] = {index: numbers[index] for index in sorted(numbers) if numbers[index]}
        self.dimensions = dimensions
        for index in self.numbers:
            if not 0 <= index < dimensions:
                raise ValueError(
                    f"the index {index} is not in a vector of {dimensions} dimensions, which counts from 0"
                )

    def to_list(self) -> list[float]:
        """Returns all numbers, zeros included.

        Returns:
            As many floats as there are dimensions.
        """
        return [float(self.numbers.get(index, 0.0)) for index in range(self.dimensions)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseVector):
            return NotImplemented
        return (self.dimensions, self.numbers) == (other.dimensions, other.numbers)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SparseVector({self.numbers}, {self.dimensions})"


class Hstore(dict[str, "str | None"]):
    """An ``hstore`` as a parameter: a dictionary of text. A plain ``dict`` is sent by ``%s`` as JSON."""

    def __repr__(self) -> str:
        return f"Hstore({super().__repr__()})"


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
    """A notification, of ``LISTEN`` and ``NOTIFY``."""

    channel: str
    payload: str
    pid: int


@dataclass(frozen=True)
class Missed:
    """The connection of a listener was lost, and is open again: notifications in between were not received."""

    error: Exception
    """Why it was lost."""


@dataclass(frozen=True)
class Notice:
    """A notice or warning of the server: ``severity`` and ``message``, and all fields by the protocol's codes."""

    severity: str
    message: str
    fields: dict[str, str]

    @property
    def sqlstate(self) -> str | None:
        """The SQLSTATE, such as ``01000``."""
        return self.fields.get("C")

    @property
    def detail(self) -> str | None:
        """More information, or None."""
        return self.fields.get("D")

    @property
    def hint(self) -> str | None:
        """A suggestion what to do, or None."""
        return self.fields.get("H")


class TransactionStatus(enum.IntEnum):
    """The state of a connection's transaction."""

    IDLE = 0
    ACTIVE = 1
    INTRANS = 2
    INERROR = 3
    UNKNOWN = 4


# Limits of the XA specification (format and parts), in bytes, and of PostgreSQL (the whole text).
_XID_PART = 64
_XID_FORMAT = 0x7FFF_FFFF
_XID_TEXT = 199


@dataclass(frozen=True, slots=True)
class Xid:
    """A global transaction id for two-phase commit (PEP 249).

    On the server it is a text: format, global transaction and branch, the latter two in base 64, with ``_`` between
    them. The JDBC driver and psycopg use the same text, so that each can finish the transactions of the others. For a
    text of another form, ``format_id`` and ``bqual`` are ``None``.

    >>> str(Xid(1, "transfer", "bank"))
    '1_dHJhbnNmZXI=_YmFuaw=='

    Raises ProgrammingError for parts that are too long.
    """

    format_id: int | None
    gtrid: str
    bqual: str | None
    prepared: datetime.datetime | None = field(default=None, compare=False)
    owner: str | None = field(default=None, compare=False)
    database: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name, part in (("gtrid", self.gtrid), ("bqual", self.bqual or "")):
            if not isinstance(part, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{name} is str, not {type(part).__name__}")
            if any("\ud800" <= character <= "\udfff" for character in part):
                raise ProgrammingError(f"{name} is not Unicode: it has half of a surrogate pair")
        if not isinstance(self.format_id, int | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"format_id is int, not {type(self.format_id).__name__}")
        if self.format_id is None:
            if self.bqual is not None:
                raise ProgrammingError("an Xid without a format_id has no branch qualifier")
            if not 0 < len(self.gtrid.encode()) <= _XID_TEXT or "\0" in self.gtrid:
                raise ProgrammingError(f"a transaction id has 1 to {_XID_TEXT} bytes, none of them NUL")
            return
        if not 0 <= self.format_id <= _XID_FORMAT:
            raise ProgrammingError(f"format_id {self.format_id} is not from 0 to {_XID_FORMAT}")
        for name, part in (("global transaction id", self.gtrid), ("branch qualifier", self.bqual or "")):
            if len(part.encode()) > _XID_PART:
                raise ProgrammingError(f"the {name} is longer than {_XID_PART} bytes")

    def __str__(self) -> str:
        if self.format_id is None:
            return self.gtrid
        gtrid, bqual = (base64.b64encode(part.encode()).decode() for part in (self.gtrid, self.bqual or ""))
        return f"{self.format_id}_{gtrid}_{bqual}"

    @classmethod
    def parse(cls, text: str) -> Xid:
        """Parses the text of a transaction id, as ``str`` returns it.

        Args:
            text: any text.

        Returns:
            The id; ``format_id`` and ``bqual`` are None for text of another form.
        """
        parts = text.split("_")
        if len(parts) == 3 and parts[0].isdecimal():
            try:
                gtrid, bqual = (base64.b64decode(part, validate=True).decode() for part in parts[1:])
                xid = cls(int(parts[0]), gtrid, bqual)
            except (ValueError, ProgrammingError):
                pass
            else:
                if str(xid) == text:  # else another one's text that only looks alike
                    return xid
        return cls(None, text, None)
