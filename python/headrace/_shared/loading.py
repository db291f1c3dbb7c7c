"""What a program has values converted by, on every database: loaders of columns by their type, and the defaults of a
process for them, for dumpers of parameters and for JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..rows import Records
from .arguments import checked_callable, checked_dumpers, checked_json, checked_mapping
from .making import all_made

if TYPE_CHECKING:
    from .core import Core

Loader: TypeAlias = Callable[[Any], Any]
Dumper: TypeAlias = Callable[[Any], "bytes | str"]

_RESULTS_KNOWN: Final = 128
"""Results of which it is kept which loaders their columns have."""

_NO_FUNCTIONS: Final = (None, None)
_of_the_process: Final[dict[str, Any]] = {"json": _NO_FUNCTIONS, "loaders": {}, "dumpers": {}}
"""What the connections have that are opened from now on, and have none of their own."""


def set_json(loads: Callable[[str], Any] | None = None, dumps: Callable[[Any], str | bytes] | None = None) -> None:
    """Sets what reads and writes JSON on the connections of all databases that are opened from now on, and have no
    ``json_loads`` and ``json_dumps`` of their own.

    Args:
        loads: makes an object of the text of a JSON value; None for :func:`json.loads`.
        dumps: makes text or its UTF-8 of an object; None for :func:`json.dumps`.
    """
    _of_the_process["json"] = checked_json(loads, "loads"), checked_json(dumps, "dumps")


def set_loaders(loaders: Mapping[str | int, Callable[[Any], Any] | None] | None = None) -> None:
    """Sets the loaders of the connections of all databases that are opened from now on, and have no ``loaders`` of
    their own. Connections that Django, SQLAlchemy and the interfaces of other drivers open have none.

    Args:
        loaders: as ``connect`` takes them; None for none.
    """
    _of_the_process["loaders"] = dict(checked_loaders(loaders))


def set_dumpers(dumpers: Mapping[type, Callable[[Any], bytes | str]] | None = None) -> None:
    """Sets the dumpers of the connections of all databases that are opened from now on, and have no ``dumpers`` of
    their own. Connections that Django, SQLAlchemy and the interfaces of other drivers open have none.

    Args:
        dumpers: as ``connect`` takes them; None for none.
    """
    _of_the_process["dumpers"] = dict(checked_dumpers(dumpers))


def checked_loaders(loaders: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    """Loaders by the name or the number of a type. Raises TypeError for anything else."""
    loaders = checked_mapping(loaders, "loaders")
    for key, load in loaders.items():
        # A type object of PEP 249 is a str of its own, which no type has as its name.
        if type(key) not in (str, int):
            raise TypeError(
                f"a loader is registered for the name of a type, such as 'date', or its number, not {key!r}"
            )
        if load is not None:
            checked_callable(load, "a loader")
    return loaders


def register_conversions(
    connection: Any,
    json: tuple[Any, Any],
    loaders: Mapping[str | int, Loader | None] | None,
    dumpers: Mapping[type, Dumper] | None,
) -> None:
    """Registers what a connection that was opened is given, and what the process has where that is None."""
    if json != _NO_FUNCTIONS or _of_the_process["json"] != _NO_FUNCTIONS:
        both = zip(json, _of_the_process["json"], strict=True)
        connection.register_json(*(default if own is None else own for own, default in both))
    if loaders := _of_the_process["loaders"] if loaders is None else loaders:
        connection.register_loaders(loaders)
    if dumpers := _of_the_process["dumpers"] if dumpers is None else dumpers:
        connection.register_dumpers(dumpers)


NO_CONVERSIONS: Final[Mapping[str, Any]] = {"loaders": {}, "dumpers": {}}
"""The arguments of ``connect`` for what expects the values that headrace has, whatever the process has set."""


class Loaders:
    """The loaders of a connection. Nobody changes them: a registration makes others."""

    def __init__(self, by_type: Mapping[str | int, Loader]) -> None:
        self._by_type = by_type
        self._known: dict[Any, tuple[Loader | None, ...] | None] = {}
        """Those of the columns of results: the engine has the same columns as long as a prepared statement is valid."""

    def with_others(self, others: Mapping[str | int, Loader | None]) -> Loaders | None:
        """Adds some, each in the place of the one of its type, which None removes. Returns None for none."""
        merged: dict[str | int, Loader | None] = {**self._by_type, **{_key(key): load for key, load in others.items()}}
        left = {key: load for key, load in merged.items() if load is not None}
        return Loaders(left) if left else None

    def maker(self, core: Core, columns: Any, make: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
        """What makes rows of a result with these columns, of which ``make`` makes rows of loaded values."""
        loaders = self._of(core, columns)
        return make if loaders is None else Loaded(loaders, make)

    def _of(self, core: Core, columns: Any) -> tuple[Loader | None, ...] | None:
        known = self._known
        if columns in known:
            return known[columns]
        codes = [column.type_code for column in core.describe(columns)]
        loaders = tuple(self._for(str(code), code.oid, code.base) for code in codes)
        found = loaders if any(loaders) else None
        # PostgreSQL: the name of a type that was not looked up yet.
        if all(code.base != f"type {code.oid}" for code in codes):
            if len(known) >= _RESULTS_KNOWN:
                known.clear()
            known[columns] = found
        return found

    def _for(self, name: str, number: int, base: str) -> Loader | None:
        by_type = self._by_type
        return by_type.get(name.lower()) or by_type.get(number) or by_type.get(base.lower())


def _key(key: str | int) -> str | int:
    return key.lower() if isinstance(key, str) else key


NOTHING: Final = Loaders({})
"""What registrations begin with."""


class Loaded(Records):
    """Loads the values of rows, and makes rows of them."""

    __slots__ = ("_loaders", "_make")

    def __init__(self, loaders: tuple[Loader | None, ...], make: Callable[[Any], Any] | None) -> None:
        self._loaders = [(at, load) for at, load in enumerate(loaders) if load is not None]
        self._make = make

    def _loaded(self, values: Any) -> tuple[Any, ...]:
        loaded = list(values)
        for at, load in self._loaders:
            value = loaded[at]
            if value is not None:
                loaded[at] = load(value)
        return tuple(loaded)

    def __call__(self, values: Any, /) -> Any:
        row = self._loaded(values)
        return row if self._make is None else self._make(row)

    def many(self, rows: list[Any], /) -> Callable[[Any], Any] | None:
        rows[:] = all_made(self._loaded, rows)
        return made_in_place(rows, self._make)


def made_in_place(rows: list[Any], make: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """Makes rows of the tuples of a list, in their places, where ``make`` does that with all of them at once. Returns
    what makes a row of each of them then; None for those that are rows."""
    return make.many(rows) if isinstance(make, Records) else make
