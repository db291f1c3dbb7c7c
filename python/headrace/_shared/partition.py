"""A part of a table or query, as a value that can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from ..errors import ProgrammingError
from .arrow import Numeric

_SECRET_WORDS: Final = ("pass", "pwd", "secret", "token", "scram", "keylog")
"""A keyword with one of these in its name is not part of an address."""
_NOT_SECRET: Final = frozenset({"passfile"})


def without_secrets(settings: Sequence[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Settings of a connection without those that are secrets."""
    return tuple(
        (name, str(value))
        for name, value in settings
        if name.lower() in _NOT_SECRET or not any(word in name.lower() for word in _SECRET_WORDS)
    )


@dataclass(frozen=True, repr=False)
class Partition:
    """A part of a table or query. It is small, immutable, can be pickled, and contains no password.

    :func:`headrace.partitions` makes them, and :func:`headrace.read` reads one, in any process on any machine.
    """

    plan: str
    """The number of the plan that it belongs to."""
    number: int
    """Its place in the plan, from 0."""
    columns: tuple[str, ...]
    """The names of its columns."""
    selected: tuple[str, ...]
    """The same in SQL; one asterisk if they cannot be named."""
    source: str
    """What follows FROM in its statement."""
    params: tuple[Any, ...] = field(hash=False)
    """The parameters of the statement: those of the query, then the bounds."""
    database: str
    """The package of its driver: ``postgres``, ``mysql``, ``informix`` or ``cubrid``."""
    address: tuple[tuple[str, str], ...]
    """The settings of the plan's URL, without passwords."""
    url: Callable[[], str] | None
    """The function that returns a URL, if the plan was made with one."""
    snapshot: str | None
    """The snapshot of PostgreSQL that all partitions of the plan read in."""
    rows: int | None
    """The number of rows, as estimated; None if it is not known."""
    numeric: Numeric
    """The Arrow type of exact numbers without a precision, as in ``fetch_arrow``."""
    quote: str
    """The character that quotes a name in SQL."""
    percent: str
    """A percent sign in its statement."""
    _plan: ClassVar[object] = None
    """What keeps the snapshot, of a partition that was lent; not a field, as those are compared, and hashed by Dask."""

    def _with_plan(self, plan: object) -> Partition:
        """The same partition, which keeps a plan as long as it is in this process."""
        part = replace(self)
        part.__dict__["_plan"] = plan
        return part

    def __getstate__(self) -> dict[str, Any]:
        """Leaves the plan, with its connection, to its own process."""
        return {name: value for name, value in self.__dict__.items() if name != "_plan"}

    @property
    def sql(self) -> str:
        """The statement that reads it."""
        return f"SELECT {', '.join(self.selected)} FROM {self.source}"

    def select(self, columns: Sequence[str]) -> Partition:
        """Returns the same rows with some of the columns, which the server then sends alone.

        Args:
            columns: their names, at least one, in the order of the result.

        Returns:
            A new partition.

        Raises:
            ProgrammingError: a column is missing or not unique, or none is named.
        """
        if isinstance(columns, str) or not columns:
            raise ProgrammingError("columns are a sequence of at least one name")
        for name in columns:
            if self.columns.count(name) != 1:
                number = "no column" if name not in self.columns else "more than one column"
                raise ProgrammingError(f"the partition has {number} {name!r}, only {', '.join(self.columns)}")
        if self.selected == ("*",):
            selected = tuple(quoted(name, self.quote).replace("%", self.percent) for name in columns)
        else:
            selected = tuple(self.selected[self.columns.index(name)] for name in columns)
        return replace(self, columns=tuple(columns), selected=selected)._with_plan(self._plan)

    def __repr__(self) -> str:
        return f"<Partition {self.number}: {self.sql}>"


def quoted(name: str, quote: str) -> str:
    """A name in SQL. Without a quote it must be a plain word.

    >>> quoted('a"b', '"')
    '"a""b"'

    Raises ProgrammingError for a name that cannot be written.
    """
    if quote:
        return quote + name.replace(quote, quote * 2) + quote
    if not name.replace("_", "").isalnum() or name[0].isdigit():
        raise ProgrammingError(
            f"the column {name!r} needs quotes, which partitions do not write; use a query that renames it"
        )
    return name
