"""The types of asyncpg: of values, and of what describes statements and servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, overload

from ... import types as ours

T = TypeVar("T")


class Type(NamedTuple):
    """A type of the database."""

    oid: int
    name: str
    kind: Literal["scalar", "array", "composite", "range"]
    schema: str


class Attribute(NamedTuple):
    """A column of a result, or an attribute of a composite type."""

    name: str
    type: Type


class ServerVersion(NamedTuple):
    """The version of a server; ``releaselevel`` is ``alpha``, ``beta``, ``candidate`` or ``final``."""

    major: int
    minor: int
    micro: int
    releaselevel: str
    serial: int


class Range(ours.Range[T]):
    """A range, with asyncpg's constructor: ``Range(1, 5, upper_inc=True)``."""

    __slots__ = ()

    def __init__(
        self,
        lower: T | None = None,
        upper: T | None = None,
        *,
        lower_inc: bool = True,
        upper_inc: bool = False,
        empty: bool = False,
    ) -> None:
        # Another base's initialiser has other arguments; the fields are the same.
        bounds = ("[" if lower_inc else "(") + ("]" if upper_inc else ")")
        super().__init__(lower, upper, bounds, empty=empty)

    def issubset(self, other: Range[T]) -> bool:
        """Returns true if every value of this range is in the other."""
        return other.issuperset(self)

    def issuperset(self, other: Range[T]) -> bool:
        """Returns true if every value of the other range is in this one."""
        if other.isempty:
            return True
        if self.isempty:
            return False
        mine, theirs = self._order(), other._order()
        return bool(mine[1] <= theirs[1] and mine[2] >= theirs[2])

    def __reduce__(self) -> tuple[Any, ...]:
        return (_range, (self._lower, self._upper, self._bounds, self._empty))

    def __repr__(self) -> str:
        if self.isempty:
            return "<Range empty>"
        lower, upper = ("" if each is None else repr(each) for each in (self.lower, self.upper))
        return f"<Range {self.bounds[0]}{lower}, {upper}{self.bounds[1]}>"


def _range(lower: Any, upper: Any, bounds: str, empty: bool) -> Range[Any]:
    return Range(lower, upper, lower_inc=bounds[0] == "[", upper_inc=bounds[1] == "]", empty=empty)


class BitString(ours.BitString):
    """A ``bit`` or ``varbit`` value. It is made of the digits 0 and 1, between which spaces may be."""

    __slots__ = ()

    def __new__(cls, bitstring: str | bytes = "") -> BitString:
        text = bitstring.decode() if isinstance(bitstring, bytes) else bitstring
        made: Any = super().__new__(cls, text.replace(" ", ""))
        return made  # type: ignore[no-any-return]

    @classmethod
    def frombytes(cls, bytes_: bytes, bitlength: int | None = None) -> BitString:
        """Returns the first ``bitlength`` bits of bytes, by default all."""
        text = "".join(f"{byte:08b}" for byte in bytes_)
        if bitlength is not None and not 0 <= bitlength <= len(text):
            raise ValueError("bitlength is not in the range of the bytes")
        return cls(text if bitlength is None else text[:bitlength])

    @classmethod
    def from_int(
        cls, x: int, length: int, bitorder: Literal["big", "little"] = "big", *, signed: bool = False
    ) -> BitString:
        """Returns the digits of a number."""
        if length <= 0:
            raise ValueError("length must be a positive integer")
        low, high = (-(1 << (length - 1)), (1 << (length - 1)) - 1) if signed else (0, (1 << length) - 1)
        if not low <= x <= high:
            raise OverflowError(f"{x} does not fit {length} bits")
        digits = f"{x & ((1 << length) - 1):0{length}b}"
        return cls(_ordered(digits, bitorder))

    def to_int(self, bitorder: Literal["big", "little"] = "big", *, signed: bool = False) -> int:
        """Returns the number whose digits these are."""
        digits = _ordered(str(self), bitorder)
        value = int(digits or "0", 2)
        return value - (1 << len(digits)) if signed and digits[:1] == "1" else value

    def as_string(self) -> str:
        """Returns the digits, a space after every four."""
        return " ".join(str(self)[start : start + 4] for start in range(0, len(self), 4))

    @property
    def bytes(self) -> bytes:
        """The bits as bytes, of which the last is filled up with zeros."""
        count = (len(self) + 7) // 8
        return int(str(self).ljust(8 * count, "0") or "0", 2).to_bytes(count, "big")

    def __repr__(self) -> str:
        return f"<BitString {self.as_string()}>"


def _ordered(digits: str, bitorder: str) -> str:
    """Digits, the most significant first."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder is 'big' or 'little', not {bitorder!r}")
    return digits if bitorder == "big" else digits[::-1]


class Point(ours.Point):
    """A point: ``x`` and ``y``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"asyncpg.Point({tuple(self)!r})"


class Box(ours.Box):
    """A box: the corners ``high`` and ``low``."""

    __slots__ = ()

    def __new__(cls, high: Sequence[float], low: Sequence[float]) -> Box:
        return super().__new__(cls, Point(*high), Point(*low))  # pyright: ignore[reportReturnType]

    def __repr__(self) -> str:
        return f"asyncpg.Box({tuple(self)!r})"


class Line(ours.Line):
    """A line: ``A*x + B*y + C = 0``."""

    __slots__ = ()

    def __new__(cls, A: float, B: float, C: float) -> Line:
        return super().__new__(cls, A, B, C)  # pyright: ignore[reportReturnType]

    @property
    def A(self) -> float:
        """The factor of x."""
        return self[0]

    @property
    def B(self) -> float:
        """The factor of y."""
        return self[1]

    @property
    def C(self) -> float:
        """The constant."""
        return self[2]


class LineSegment(ours.LSeg):
    """A segment: its ends ``p1`` and ``p2``."""

    __slots__ = ()

    def __new__(cls, p1: Sequence[float], p2: Sequence[float]) -> LineSegment:
        return super().__new__(cls, Point(*p1), Point(*p2))  # pyright: ignore[reportReturnType]

    @property
    def p1(self) -> ours.Point:
        """One end."""
        return self[0]

    @property
    def p2(self) -> ours.Point:
        """The other end."""
        return self[1]

    def __repr__(self) -> str:
        return f"asyncpg.LineSegment({tuple(self)!r})"


class Path(Sequence[Point]):
    """The points of a path, which is closed or open."""

    __slots__ = ("_is_closed", "points")

    def __init__(self, *points: Sequence[float], is_closed: bool = False) -> None:
        self.points: tuple[Point, ...] = tuple(Point(*point) for point in points)
        self._is_closed = is_closed

    @property
    def is_closed(self) -> bool:
        """True if the last point is joined with the first."""
        return self._is_closed

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Point, ...]: ...
    def __getitem__(self, index: int | slice) -> Point | tuple[Point, ...]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __contains__(self, point: object) -> bool:
        return point in self.points

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Path):
            return NotImplemented
        return self.points == other.points and self._is_closed == other._is_closed

    def __hash__(self) -> int:
        return hash((self.points, self._is_closed))

    def __repr__(self) -> str:
        return f"asyncpg.{type(self).__name__}({', '.join(map(repr, map(tuple, self.points)))})"


class Polygon(Path):
    """The points of a polygon."""

    __slots__ = ()

    def __init__(self, *points: Sequence[float]) -> None:
        super().__init__(*points, is_closed=True)


class Circle(ours.Circle):
    """A circle: ``center`` and ``radius``."""

    __slots__ = ()

    def __new__(cls, center: Sequence[float], radius: float) -> Circle:
        return super().__new__(cls, Point(*center), radius)  # pyright: ignore[reportReturnType]

    def __repr__(self) -> str:
        return f"asyncpg.Circle({tuple(self)!r})"


__all__ = [
    "Attribute",
    "BitString",
    "Box",
    "Circle",
    "Line",
    "LineSegment",
    "Path",
    "Point",
    "Polygon",
    "Range",
    "ServerVersion",
    "Type",
]
