"""Ranges and multiranges, values of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")


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
