"""How a table or query is divided, as far as it is the same for every database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from .._native import ArrowSink
from ..errors import ProgrammingError
from .arrow import Numeric, arrow_result
from .connection import BlockingConnection
from .partition import quoted

AUTO: Final = "auto"
PLACE: Final = "\0"
"""The place of a parameter in a condition."""


class Part(NamedTuple):
    """The rows of one partition."""

    condition: str
    """In SQL; empty for all rows."""
    params: tuple[Any, ...]
    rows: int | None = None
    """The number of rows, as estimated."""


@dataclass(frozen=True)
class Request:
    """What is to be divided."""

    table: str | None
    """As it is written in SQL; None for a query."""
    query: str
    params: tuple[Any, ...]
    by: str
    count: int
    columns: tuple[str, ...] | None
    where: str
    numeric: Numeric
    shared: bool
    """Requests a snapshot that all partitions share."""


@dataclass(frozen=True)
class Planned:
    """How it is divided."""

    by: str
    """The column, ``ctid``, or empty for one partition."""
    parts: Sequence[Part]
    snapshot: str | None
    remark: str
    """Why there is no shared snapshot; empty if there is one."""


@dataclass(frozen=True)
class Source:
    """The statements about one table or query."""

    request: Request
    relation: str
    """The table in SQL; empty for a query."""
    quote: str
    mark: str
    """A parameter."""
    is_null: str = "IS NULL"
    """What follows a column whose rows without a value are selected."""

    @property
    def percent(self) -> str:
        """A percent sign in a statement with parameters."""
        return "%%" if self.mark == "%s" else "%"

    def text(
        self, condition: str, params: tuple[Any, ...], before: tuple[Any, ...] = ()
    ) -> tuple[str, tuple[Any, ...]]:
        """What follows FROM for the rows of a condition, with all parameters; ``before`` are those of the columns."""
        request = self.request
        given = (*before, *request.params, *params)

        def own(text: str) -> str:
            # A percent sign of a statement without parameters stands for itself.
            return text.replace("%", self.percent) if given and not request.params else text

        name = self.relation.replace("%", self.percent) if given else self.relation
        source = name or f"({own(request.query)}\n) p"
        conditions = [f"({own(request.where)}\n)"] if request.where else []
        if condition:
            conditions.append((condition.replace("%", self.percent) if given else condition).replace(PLACE, self.mark))
        return source + (f" WHERE {' AND '.join(conditions)}" if conditions else ""), given

    def fetch(
        self, connection: BlockingConnection[Any], select: str, condition: str, params: tuple[Any, ...], tail: str = ""
    ) -> list[Any]:
        """The rows of ``SELECT select FROM ... WHERE condition tail``."""
        source, given = self.text(condition, params)
        if given:
            select, tail = (text.replace("%", self.percent) for text in (select, tail))
        return connection.fetch(f"SELECT {select} FROM {source}{tail}", *given)

    def describe(
        self, connection: BlockingConnection[Any], columns: Sequence[str] | None
    ) -> tuple[ArrowSink, list[tuple[Any, ...]]]:
        """The sink of a result without rows, which has the Arrow schema, and the fields of its columns."""
        selected = ", ".join(quoted(name, self.quote) for name in columns) if columns is not None else "*"
        source, given = self.text("1 = 0", ())
        if given:
            selected = selected.replace("%", self.percent)
        sink = ArrowSink(self.request.numeric, 1, 1)
        ticket = connection._core.submit_arrow(f"SELECT {selected} FROM {source}", given or None, sink)
        result = arrow_result(connection._wait(ticket, None))[0]
        if result.columns is None:
            raise ProgrammingError("the query returns no rows")
        return sink, result.columns.fields


def ranges(
    key: str,
    mark: str,
    bounds: Sequence[Any],
    rows: Sequence[int | None] | None = None,
    is_not_null: str = "IS NOT NULL",
) -> list[Part]:
    """The values below the first bound, from each bound to the next, and from the last on.

    >>> [part.condition for part in ranges("n", "%s", [5, 7])]
    ['n < %s', 'n >= %s AND n < %s', 'n >= %s']
    """
    if not bounds:
        return [Part(f"{key} {is_not_null}", (), rows[0] if rows else None)]
    low, high = f"{key} >= {mark}", f"{key} < {mark}"
    between = [Part(f"{low} AND {high}", pair) for pair in pairwise(bounds)]
    parts = [Part(high, (bounds[0],)), *between, Part(low, (bounds[-1],))]
    return [part._replace(rows=number) for part, number in zip(parts, rows, strict=True)] if rows else parts


def named_field(fields: Sequence[tuple[Any, ...]], name: str) -> tuple[Any, ...]:
    """The field of a column.

    Raises ProgrammingError if there is none, or more than one.
    """
    found = [field for field in fields if field[0] == name]
    if len(found) == 1:
        return found[0]
    number = "no column" if not found else "more than one column"
    raise ProgrammingError(f"by={name!r}: there is {number} of this name")


def probed(
    connection: BlockingConnection[Any],
    source: Source,
    key: Callable[[list[tuple[Any, ...]]], str | None],
    one: Callable[[int], tuple[str, str]],
    remark: str,
) -> Planned:
    """Divides by a column, whose bounds are found in its own order: each is the value that stands a number of rows
    after the last, so that an index on it is read once, however its values are distributed.

    Args:
        connection: is asked.
        source: the table or query.
        key: chooses the column of those of the result, if none is named; None for no division.
        one: the words before the column and at the end of a SELECT that skips so many rows and returns one.
        remark: why there is no shared snapshot.
    """
    fields = source.describe(connection, None)[1]
    by = key(fields) if source.request.by == AUTO else source.request.by
    if by is None:
        return Planned("", [Part("", ())], None, remark)
    # The last of a field is its being nullable. Of a query the column may be that of an outer join.
    nullable = named_field(fields, by)[-1] is not False or not source.relation
    return Planned(by, _probed_parts(connection, source, by, one, nullable), None, remark)


def _probed_parts(
    connection: BlockingConnection[Any],
    source: Source,
    name: str,
    one: Callable[[int], tuple[str, str]],
    nullable: bool,
) -> list[Part]:
    key = quoted(name, source.quote)
    count = source.request.count
    # Informix counts in exact numbers.
    total = int(source.fetch(connection, f"COUNT({key})", "", ())[0][0])
    step = max(1, -(-total // count))
    bounds: list[Any] = []
    passed = 0
    while len(bounds) < count - 1 and total > step:
        # Strictly after the last bound: of a value with many rows the next bound is another one.
        condition, params = (f"{key} > {PLACE}", (bounds[-1],)) if bounds else (f"{key} IS NOT NULL", ())
        before, after = one(passed + (step - 1 if bounds else step))
        found = source.fetch(connection, f"{before}{key}", condition, params, f" ORDER BY {key}{after}")
        if not found:
            break
        if found[0][0] is None:
            # Not NULL, but a value that Python cannot hold, such as the date 0000-00-00: it cannot be sent as a bound.
            passed += step
            continue
        bounds.append(found[0][0])
        passed = 0
    parts = ranges(key, PLACE, bounds, [min(step, total)] * (len(bounds) + 1))
    if nullable:
        parts.append(Part(f"{key} {source.is_null}", ()))
    elif not bounds:
        parts = [Part("", (), total)]
    return parts
