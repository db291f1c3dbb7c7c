"""The rows of asyncpg: by name, by number, and equal to tuples."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NoReturn, TypeVar, overload


class Layout(dict[str, int]):
    """The names of a result's columns: the number of each, of a name that is there twice that of the last."""

    __slots__ = ("names",)

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(zip(names, range(len(names)), strict=True))
        self.names = tuple(names)


class Record:
    """A row. Its values are read by name or number; it is compared as the tuple of its values, and is made by a query
    only."""

    __slots__ = ("_layout", "_row")

    __headrace_row__ = True
    """As an argument of a composite type it is its values, in order."""

    _layout: Layout
    _row: tuple[Any, ...]

    def __init__(self, layout: Layout, row: tuple[Any, ...], /) -> None:
        # Nothing is checked here: it is called for every row.
        self._layout = layout
        self._row = row

    @overload
    def __getitem__(self, key: str | int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            return self._row[self._layout[key]]
        return self._row[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a column, or ``default`` if there is none of this name."""
        number = self._layout.get(key)
        return default if number is None else self._row[number]

    def keys(self) -> Iterator[str]:
        """Returns an iterator of the columns' names."""
        return iter(self._layout.names)

    def values(self) -> Iterator[Any]:
        """Returns an iterator of the values."""
        return iter(self._row)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Returns an iterator of pairs of name and value."""
        return iter(tuple(zip(self._layout.names, self._row, strict=False)))

    def __contains__(self, key: object) -> bool:
        return key in self._layout

    def __iter__(self) -> Iterator[Any]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __hash__(self) -> int:
        return hash(self._row)

    def _compare(self, other: object, how: Callable[[Any, Any], bool]) -> bool:
        if isinstance(other, Record):
            return how(self._row, other._row)
        return how(self._row, other) if isinstance(other, tuple) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> bool:
        return self._compare(other, operator.ne)

    def __lt__(self, other: object) -> bool:
        return self._compare(other, operator.lt)

    def __le__(self, other: object) -> bool:
        return self._compare(other, operator.le)

    def __gt__(self, other: object) -> bool:
        return self._compare(other, operator.gt)

    def __ge__(self, other: object) -> bool:
        return self._compare(other, operator.ge)

    def __repr__(self) -> str:
        shown = [f" {name}={value!r}" for name, value in zip(self._layout.names, self._row, strict=False)]
        return f"<{type(self).__name__}{''.join(shown)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")


R = TypeVar("R", bound=Record)


def records_of(kind: type[R], layout: Layout, rows: Iterable[tuple[Any, ...]]) -> list[R]:
    """Returns the records of rows.

    Args:
        kind: Record, or a subclass of it.
        layout: the names of their columns.
        rows: their values.
    """
    return list(map(kind, repeat(layout), rows))
