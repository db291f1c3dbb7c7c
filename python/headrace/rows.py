"""Row factories: what a row becomes.

A row factory is called once per result with the names of its columns, and returns the function that makes a row
of each tuple of values.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, SupportsIndex, TypeVar, cast, overload

from ._native import as_records, record_base
from .errors import ProgrammingError

T = TypeVar("T")
RowT = TypeVar("RowT", covariant=True)
Row = tuple[Any, ...]


class RowFactory(Protocol[RowT]):
    """A function that is called once for each result, with the names of its columns, and returns the function that
    converts a tuple into a row."""

    def __call__(self, names: Sequence[str], /) -> Callable[[Row], RowT]:
        """The function that makes rows of a result with these columns."""
        ...


def _same(values: Row) -> Row:
    return values


def tuple_row(names: Sequence[str], /) -> Callable[[Row], Row]:
    """Makes rows tuples, which is the default.

    Args:
        names: of the columns.

    Returns:
        A function that returns its argument.
    """
    return _same


def dict_row(names: Sequence[str], /) -> Callable[[Row], dict[str, Any]]:
    """Makes rows dicts. Of columns with the same name, the dict has the last one.

    Args:
        names: of the columns.

    Returns:
        A function from a tuple to a dict.
    """
    keys = tuple(names)
    return lambda values: dict(zip(keys, values, strict=True))


@functools.lru_cache(512)
def _named(names: tuple[str, ...]) -> Callable[[Row], Any]:
    # The same names as psycopg's, so that programs can be moved; namedtuple renames what is left.
    clean = [re.sub(r"\W", "_", name) for name in names]
    clean = [f"f{name}" if name.startswith(tuple("_0123456789")) else name for name in clean]
    make_type: Any = namedtuple
    kind: Any = make_type("Row", clean, rename=True)

    def reduced(row: Row) -> tuple[Any, ...]:
        return _row_again, (names, tuple(row))

    # pickle would look for the class in this module.
    kind.__reduce__ = reduced
    make: Callable[[Row], Any] = kind._make
    return make


def _row_again(names: tuple[str, ...], values: Row) -> Any:
    """A named tuple that was pickled."""
    return _named(names)(values)


def namedtuple_row(names: Sequence[str], /) -> Callable[[Row], Any]:
    """Makes rows named tuples.

    ``_`` replaces characters that an identifier cannot have, and ``f`` is put before a name that begins with ``_``:
    ``?column?`` is ``f_column_``. A keyword of Python or a repeated name becomes ``_`` and the number of the column.

    Args:
        names: of the columns.

    Returns:
        A function from a tuple to a named tuple.
    """
    return _named(tuple(names))


if TYPE_CHECKING:
    _Base = tuple[Any, ...]
else:
    _Base = record_base()


class Record(_Base):
    """A row whose values are found by number and by the name of their column: a tuple, of which ``row[0]``,
    ``row["id"]`` and ``row.id`` are the same. ``dict(row)`` has the values by name.

    Of columns with the same name, the name is that of the last one. A name that is an attribute of tuples or of this
    class, such as ``count``, is one in brackets only. It compares and hashes as the tuple.
    """

    __slots__ = ()
    _index: ClassVar[dict[str, int]] = {}

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: SupportsIndex, /) -> Any: ...
        @overload
        def __getitem__(self, key: slice, /) -> tuple[Any, ...]: ...
        @overload
        def __getitem__(self, key: str, /) -> Any: ...
        def __getitem__(self, key: Any, /) -> Any:
            """A value by its number or its name, or several by a slice."""

        def __getattr__(self, name: str, /) -> Any:
            """A value by its name."""

    def keys(self) -> tuple[str, ...]:
        """Returns the names of the columns.

        Returns:
            Each name once.
        """
        return tuple(self._index)

    def values(self) -> tuple[Any, ...]:
        """Returns the values.

        Returns:
            A plain tuple of them.
        """
        return tuple(self)

    def items(self) -> list[tuple[str, Any]]:
        """Returns the values with their names.

        Returns:
            A list of pairs.
        """
        return [(name, self[at]) for name, at in self._index.items()]

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a column.

        Args:
            name: of the column.
            default: returned if there is no such column.

        Returns:
            The value.
        """
        at = self._index.get(name)
        return default if at is None else self[at]

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _record_again, (tuple(self._index.items()), tuple(self))


def _record_again(index: tuple[tuple[str, int], ...], values: Row) -> Record:
    """A record that was pickled."""
    return _record_class(index)(values)


class Records:
    """Makes records of a result's rows."""

    __slots__ = ("_class",)

    def __init__(self, kind: type[Record]) -> None:
        self._class = kind

    def __call__(self, values: Row, /) -> Record:
        return values if type(values) is self._class else self._class(values)

    def many(self, rows: list[Any], /) -> Callable[[Any], Any] | None:
        """Makes the tuples of a list records, in their places.

        Args:
            rows: the list.

        Returns:
            What makes rows of them then; None for those that they are.
        """
        as_records(rows, self._class)
        return None


@functools.lru_cache(512)
def _record_class(index: tuple[tuple[str, int], ...]) -> type[Record]:
    members: dict[str, Any] = {"__slots__": (), "_index": dict(index), "__module__": __name__}
    for name, at in index:
        if name.isidentifier() and not name.startswith("_") and not hasattr(Record, name):
            members[name] = property(operator.itemgetter(at))
    return type("Record", (Record,), members)


def record_row(names: Sequence[str], /) -> Callable[[Row], Record]:
    """Makes rows tuples whose values have the names of their columns: :class:`Record`.

    Args:
        names: of the columns.

    Returns:
        A function from a tuple to a record.
    """
    return Records(_record_class(tuple({name: at for at, name in enumerate(names)}.items())))


def scalar_row(names: Sequence[str], /) -> Callable[[Row], Any]:
    """Makes rows the value of their first column.

    Args:
        names: of the columns.

    Returns:
        A function from a tuple to its first value.

    Raises:
        ProgrammingError: there is no column.
    """
    if not names:
        raise ProgrammingError("scalar_row needs at least one column")
    return lambda values: values[0]


def class_row(cls: type[T]) -> RowFactory[T]:
    """Makes rows objects of a class, by keywords: a dataclass, an attrs class, a pydantic model, or any class whose
    constructor takes the columns' names.

    A pydantic model itself reports missing fields; columns that it does not have are an error unless its configuration
    has ``extra="ignore"`` or ``extra="allow"``.

    Args:
        cls: the class.

    Returns:
        A row factory. When it is used, it raises ProgrammingError if the columns do not fit the constructor.
    """

    def factory(names: Sequence[str], /) -> Callable[[Row], T]:
        keys = tuple(names)
        _check_class(cast("Any", cls), keys)
        make: Callable[..., T] = cls
        return lambda values: make(**dict(zip(keys, values, strict=True)))

    return factory


@functools.lru_cache(512)
def _check_class(cls: type[Any], names: tuple[str, ...]) -> None:
    """Raises ProgrammingError for columns that the constructor cannot take; costs nothing for those seen before."""
    twice = {name for name in names if names.count(name) > 1}
    known, required = _parameters(cls)
    unknown = set(names) - known if known is not None else set[str]()
    problems = [
        f"{what} {', '.join(sorted(some))}"
        for what, some in (("unknown", unknown), ("missing", required - set(names)), ("twice", twice))
        if some
    ]
    if problems:
        raise ProgrammingError(f"the columns do not fit {cls.__name__}: {'; '.join(problems)}")


def _parameters(cls: type[Any]) -> tuple[set[str] | None, set[str]]:
    """The names that a constructor takes, None for any, and those that it needs."""
    if hasattr(cls, "__pydantic_fields__"):
        return _pydantic_names(cls), set()
    try:
        parameters = list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):  # a class written in C
        return None, set()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return None if anything else {p.name for p in named}, {p.name for p in named if p.default is p.empty}


def _pydantic_names(cls: Any) -> set[str] | None:
    """The names that a pydantic model takes; None where its configuration allows others, or they are not declared."""
    config = cast("Mapping[str, Any]", cls.model_config)
    if config.get("extra") in ("ignore", "allow"):
        return None
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    known: set[str] = set()
    for name, field in cast("Mapping[str, Any]", cls.model_fields).items():
        alias = field.validation_alias
        if alias is None or by_name:
            known.add(name)
        if isinstance(alias, str):
            known.add(alias)
        elif alias is not None:  # AliasChoices and AliasPath
            return None
    return known


def args_row(make: Callable[..., T]) -> RowFactory[T]:
    """Makes rows the result of ``make(*values)``.

    Args:
        make: called with the values of a row.

    Returns:
        A row factory.
    """
    return lambda names: lambda values: make(*values)


def kwargs_row(make: Callable[..., T]) -> RowFactory[T]:
    """Makes rows the result of ``make(**values)``.

    Args:
        make: called with the values of a row, by the columns' names.

    Returns:
        A row factory.
    """

    def factory(names: Sequence[str], /) -> Callable[[Row], T]:
        keys = tuple(names)
        return lambda values: make(**dict(zip(keys, values, strict=True)))

    return factory
