"""Values that the standard library has no class for, and the type objects of PEP 249."""

from __future__ import annotations

import base64
import datetime
import enum
import json
import time as _time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, overload

from .._shared.loading import set_dumpers as set_dumpers
from .._shared.loading import set_json as set_json
from .._shared.loading import set_loaders as set_loaders
from .._shared.modes import CopyFormat as CopyFormat
from .._shared.modes import Duplicates as Duplicates
from .._shared.modes import IsolationLevel as IsolationLevel
from .._shared.modes import LobKind as LobKind
from .._shared.modes import ResetMode as ResetMode
from .._shared.modes import ScrollMode as ScrollMode
from ..errors import ProgrammingError
from .codes import BINARY as BINARY
from .codes import DATETIME as DATETIME
from .codes import DIGITS as DIGITS
from .codes import NUMBER as NUMBER
from .codes import ROWID as ROWID
from .codes import STRING as STRING
from .codes import TypeCode as TypeCode
from .codes import TypeObject as TypeObject
from .ranges import Multirange as Multirange
from .ranges import Range as Range

if TYPE_CHECKING:
    from .._shared.protocols import ConnectionProtocol as ConnectionProtocol
    from .._shared.protocols import CursorProtocol as CursorProtocol
    from .._shared.protocols import PoolProtocol as PoolProtocol
    from ..aio._shared.protocols import AsyncConnectionProtocol as AsyncConnectionProtocol
    from ..aio._shared.protocols import AsyncCursorProtocol as AsyncCursorProtocol
    from ..aio._shared.protocols import AsyncPoolProtocol as AsyncPoolProtocol

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
        # Its module imports others that few programs need.
        last = import_module("calendar").monthrange(years, month + 1)[1] if 1 <= years <= 9999 else 31
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
