"""Row factories: what a row becomes.

A row factory is called once per result with the names of its columns, and gives the function that makes a row
of each tuple of values.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from .errors import ProgrammingError

T = TypeVar("T")
RowT = TypeVar("RowT", covariant=True)
Row = tuple[Any, ...]


class RowFactory(Protocol[RowT]):
    """See the module."""

    def __call__(self, names: Sequence[str], /) -> Callable[[Row], RowT]:
        """The function that makes rows of a result with these columns."""
        ...


def _same(values: Row) -> Row:
    return values


def tuple_row(names: Sequence[str], /) -> Callable[[Row], Row]:
    """Rows as tuples; costs nothing."""
    return _same


def dict_row(names: Sequence[str], /) -> Callable[[Row], dict[str, Any]]:
    """Rows as dicts. Of columns with the same name the last one wins."""
    keys = tuple(names)
    return lambda values: dict(zip(keys, values, strict=True))


@functools.lru_cache(512)
def _named(names: tuple[str, ...]) -> Callable[[Row], Any]:
    clean = [name if name.isidentifier() and not name.startswith("_") else f"f_{name}" for name in names]
    clean = ["".join(c if c.isalnum() or c == "_" else "_" for c in name) for name in clean]
    make_type: Any = namedtuple
    kind: Any = make_type("Row", clean, rename=True)
    make: Callable[[Row], Any] = kind._make
    return make


def namedtuple_row(names: Sequence[str], /) -> Callable[[Row], Any]:
    """Rows as named tuples; a name that is no identifier gets ``f_`` in front and ``_`` for what does not fit."""
    return _named(tuple(names))


def scalar_row(names: Sequence[str], /) -> Callable[[Row], Any]:
    """Rows as the value of their first column."""
    if not names:
        raise ProgrammingError("scalar_row needs at least one column")
    return lambda values: values[0]


def class_row(cls: type[T]) -> RowFactory[T]:
    """Rows as objects of a class made by keyword: a dataclass, an attrs class, a pydantic model.

    Raises ProgrammingError when the columns and the fields of a dataclass do not agree.
    """

    def factory(names: Sequence[str], /) -> Callable[[Row], T]:
        keys = tuple(names)
        if dataclasses.is_dataclass(cls):
            fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
            required = {
                name
                for name, f in fields.items()
                if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
            }
            unknown, missing = set(keys) - set(fields), required - set(keys)
            if unknown or missing:
                raise ProgrammingError(
                    f"the columns do not fit {cls.__name__}: "
                    + "; ".join(
                        f"{what} {', '.join(sorted(some))}"
                        for what, some in (("unknown", unknown), ("missing", missing))
                        if some
                    )
                )
        make: Callable[..., T] = cls
        return lambda values: make(**dict(zip(keys, values, strict=True)))

    return factory


def args_row(make: Callable[..., T]) -> RowFactory[T]:
    """Rows as what ``make(*values)`` gives."""
    return lambda names: lambda values: make(*values)


def kwargs_row(make: Callable[..., T]) -> RowFactory[T]:
    """Rows as what ``make(**{name: value})`` gives."""

    def factory(names: Sequence[str], /) -> Callable[[Row], T]:
        keys = tuple(names)
        return lambda values: make(**dict(zip(keys, values, strict=True)))

    return factory
