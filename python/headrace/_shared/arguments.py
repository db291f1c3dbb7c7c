"""What the arguments of methods have to be, where a wrong one would fail far from the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final, SupportsIndex, TypeVar

from ..errors import ProgrammingError

ARGUMENTS = "the arguments of callproc()"
"""Their name in the errors of :func:`checked_values`."""
F = TypeVar("F", bound="Callable[..., Any]")
K = TypeVar("K")
V = TypeVar("V")


class TimedRow(tuple[Any, ...]):
    """Parameters for ``$1`` whose dates and times have the types of their values, not those of their places: the server
    converts them, as it does for ``%s``. PostgreSQL only."""


class TimedRows(list[Any]):
    """Rows of such parameters."""


def checked_text(value: Any, what: str) -> str:
    """A text that was given as ``what``.

    Raises:
        TypeError: it is none.
        ProgrammingError: it has half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is str, not {type(value).__name__}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ProgrammingError(f"{what} is not Unicode: {error}") from None
    return value


def checked_data(data: Any) -> bytes:
    """Data that are sent unchanged: bytes, or text as UTF-8.

    Raises:
        TypeError: they are neither. `bytes()` of a number makes as many zero bytes, of a list of numbers those bytes.
    """
    if isinstance(data, str):
        return checked_text(data, "the text").encode()
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise TypeError(f"the data are bytes or text, not {type(data).__name__}") from None


def checked_buffer(data: Any) -> memoryview:
    """The bytes of a buffer, which are not copied.

    Raises:
        TypeError: it is none.
    """
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"the data are bytes, or another buffer, not {type(data).__name__}") from None
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())


def checked_whole(value: SupportsIndex, what: str) -> int:
    """A whole number that was given as ``what``.

    Raises:
        TypeError: it is none.
    """
    if not hasattr(value, "__index__") or isinstance(value, type):
        raise TypeError(f"{what} is int, not {type(value).__name__}")
    return value.__index__()


def checked_count(value: SupportsIndex, what: str) -> int:
    """A whole number of at least 1 that was given as ``what``.

    Raises:
        TypeError: it is no whole number.
        ProgrammingError: it is below 1.
    """
    number = checked_whole(value, what)
    if number < 1:
        raise ProgrammingError(f"{what} must be at least 1, not {number}")
    return number


def checked_size(size: SupportsIndex) -> int:
    """A number of rows to fetch.

    Raises:
        TypeError: it is no whole number.
        ProgrammingError: it is below zero.
    """
    number = checked_whole(size, "the number of rows")
    if number < 0:
        raise ProgrammingError(f"fetchmany() takes the number of rows, not {number}; fetchall() takes all of them")
    return number


def checked_callable(value: F, what: str) -> F:
    """Something to call that was given as ``what``.

    Raises:
        TypeError: it cannot be called.
    """
    if not callable(value):
        raise TypeError(f"{what} is a function, or something else to call, not {type(value).__name__}")
    return value


MOST_ROWS: Final = 2**31 - 1
"""A number of rows that is as good as no limit, and that every protocol has."""


def row_maker(factory: Any, names: Sequence[str]) -> Callable[[Any], Any]:
    """The function that a row factory returns for these columns.

    Raises:
        TypeError: it is no row factory, but the class of the rows for example.
    """
    make: Any = checked_callable(factory, "row_factory")(names)
    if not callable(make):
        raise TypeError(
            f"row_factory is called with the names of the columns and returns a function that makes rows of tuples, "
            f"such as headrace.rows.dict_row, and this one has returned {type(make).__name__}"
        )
    return make  # type: ignore[no-any-return]


def checked_json(function: Any, what: str) -> Any:
    """A function that reads or writes JSON, or None. Raises TypeError for anything else."""
    return None if function is None else checked_callable(function, what)


def checked_dumpers(dumpers: Mapping[type, Any] | None) -> Mapping[type, Any]:
    """Dumpers by class. Raises TypeError for anything else."""
    dumpers = checked_mapping(dumpers, "dumpers")
    for kind, dump in dumpers.items():
        if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a dumper is registered for a class, not for {kind!r}")
        checked_callable(dump, "a dumper")
    return dumpers


def checked_mapping(value: Mapping[K, V] | None, what: str) -> Mapping[K, V]:
    """A mapping that was given as ``what``, or nothing.

    Raises:
        TypeError: it is none.
    """
    if value is not None and not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{what} are a mapping, such as a dict, not {type(value).__name__}")
    return value or {}


def checked_values(values: Sequence[Any], what: str) -> Sequence[Any]:
    """The values that were given as ``what``, in their order.

    Raises:
        TypeError: they have none, or a text would be taken for its characters.
    """
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping, Set)) or not (
        hasattr(values, "__len__") and hasattr(values, "__iter__") and not isinstance(values, type)
    ):
        raise TypeError(f"{what} are a sequence such as a tuple or a list, not {type(values).__name__}")
    return values


def checked_names(names: Iterable[str] | None, what: str = "columns") -> list[str] | None:
    """The names that were given as ``what``; None where there are none.

    Raises:
        TypeError: they are not several texts. One text would be taken for the names of its characters.
    """
    if names is None:
        return None
    if isinstance(names, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(names, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{what} are a sequence of names, such as a list of str, not {type(names).__name__}")  # pyright: ignore[reportUnknownArgumentType]
    return [checked_text(name, f"each of {what}") for name in names] or None


def checked_rows(rows: Any, what: str, *, looping: bool = False) -> Any:
    """The rows that were given as ``what``: an iterable, or in a loop also an asynchronous one.

    Raises:
        TypeError: they are nothing that has rows.
    """
    none = isinstance(rows, (str, bytes, bytearray, memoryview))
    if none or not (
        hasattr(rows, "__iter__") or hasattr(rows, "__getitem__") or (looping and hasattr(rows, "__aiter__"))
    ):
        raise TypeError(f"{what} are an iterable of rows, such as a list, not {type(rows).__name__}")  # pyright: ignore[reportUnknownArgumentType]
    return rows
