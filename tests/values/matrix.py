"""What becomes of each value of the matrix in each column by each way."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

from servers import Database

from .columns import COLUMNS, PREPARING, Column
from .reading import Reading, readings
from .values import Value
from .ways import SHAPES, Shape, Usual, Way, ways

START = 10_000
"""The keys of each way's rows begin at a multiple of this."""
REFUSED = "refused"
"""What a way has stored of a value that it does not take."""


class Found(NamedTuple):
    """What came of a value by one way."""

    column: Column
    value: Value
    way: type[Way | Reading]
    stored: Any
    usual: Any

    def __str__(self) -> str:
        what = f"{self.value.kind} {self.value.shown} for {self.column.name}"
        return f"{what}, {self.way.name}: {self.stored!r}, usually {self.usual!r}"


class Matrix:
    """The ways of one database, each on a connection of its own."""

    def __init__(self, db: Database, unknown: Container[str]) -> None:
        """``unknown`` are the kinds of values that the usual drivers do not know."""
        self.db = db
        self.unknown = unknown
        self.columns: list[Column] = COLUMNS[db.kind]
        self.admin = db.connect(autocommit=True, unrepresentable="text")
        for statement in PREPARING.get(db.kind, ()):
            self.admin.executescript(statement)
        self.ways = [way(db) for way in ways(type(db))]
        self.readings = [reading(db) for reading in readings(type(db))]
        self.tables: set[str] = set()
        self.broken: list[str] = []
        """What no value should have come to."""

    def close(self) -> None:
        """Disconnects, and drops the tables."""
        for each in (*self.ways, *self.readings):
            each.close()
        for table in self.tables:
            self.admin.execute(f"drop table if exists {table}")
        self.admin.close()

    def shapes(self, column: Column) -> Iterator[tuple[str, Shape]]:
        """The places that a value of this type may have."""
        for name, shape in SHAPES.items():
            if any(type(way).shape is shape for way in self.ways) and shape.holds(column):
                yield name, shape

    def stored(self, column: Column, values: Sequence[Value]) -> Iterator[Found]:
        """Stores values in a column of this type in every way; what each has stored."""
        stored: dict[tuple[int, str], Any] = {}
        for name, shape in self.shapes(column):
            table = self._create(name, shape, column)
            for at, way in enumerate(self.ways):
                if type(way).shape is shape:
                    self._store(way, table, values, at * START)
            shown = self._shown(table, column.of(shape.value_in))
            for (at, way), (number, value) in itertools.product(enumerate(self.ways), enumerate(values)):
                if type(way).shape is shape:
                    got = shown.get(at * START + number, [])
                    if got and (len(got) != way.rows or any(not same(one, got[0]) for one in got)):
                        self.broken.append(f"{column.name}, {value.shown}, {way.name}: {got}")
                    stored[number, way.name] = got[0] if got else REFUSED
        yield from self._compared(column, values, stored)

    def _compared(self, column: Column, values: Sequence[Value], stored: dict[tuple[int, str], Any]) -> Iterator[Found]:
        usual = [way for way in self.ways if isinstance(way, Usual)]
        own = [way for way in self.ways if not isinstance(way, Usual)]
        for number, value in enumerate(values):
            compared = [*([] if value.kind in self.unknown else usual), *own]
            by_any = (stored.get((number, way.name), REFUSED) for way in compared)
            first = next((one for one in by_any if one != REFUSED), REFUSED)
            for way in own:
                if (number, way.name) in stored:
                    other = stored[number, way.usual] if way.usual else REFUSED
                    expected = first if other == REFUSED else other
                    yield Found(column, value, type(way), stored[number, way.name], expected)

    def read(self, column: Column, values: Sequence[Value]) -> Iterator[Found]:
        """Reads in every way what :meth:`stored` has stored in the first of headrace's."""
        table = f"values_plain_{self.columns.index(column)}"
        first = START * sum(isinstance(way, Usual) for way in self.ways)
        query = f"select k, v from {table} where k >= {first} and k < {first + START} order by k"
        read = {reading.name: reading.read(query) for reading in self.readings}
        for reading in self.readings:
            if reading.usual and reading.usual != reading.name:
                assert len(read[reading.name]) == len(read[reading.usual]), (column.name, reading.name)
                for (key, value), (_, usual) in zip(read[reading.name], read[reading.usual], strict=True):
                    yield Found(column, values[key % START], type(reading), value, usual)

    def _create(self, name: str, shape: Shape, column: Column) -> str:
        """A table with a name of its own: statements that were prepared for another one have the types of that."""
        number = self.columns.index(column)
        table = f"values_{name}_{number}"
        self.tables.add(table)
        self.admin.execute(f"drop table if exists {table}")
        definition = shape.definition.format(number=number, type=column.type)
        if definition:
            kind, made = definition.split()[1:3]
            self.admin.execute(f"drop {kind} if exists {made} cascade")
            self.admin.execute(definition)
        made = shape.type_of(column).format(number=number)
        self.admin.execute(f"create table {table} (k int, v {made}){self.db.transactional}")
        return table

    def _store(self, way: Way, table: str, values: Sequence[Value], first: int) -> None:
        for number, value in enumerate(values):
            try:
                way.store(table, first + number, value.value)
            except way.errors:
                pass
            except Exception as error:
                self.broken.append(f"{value.shown}, {way.name}: {error!r}")
            closed = getattr(way.conn, "closed", False)
            if closed and not isinstance(way, Usual):
                self.broken.append(f"{value.shown}, {way.name}: the connection is closed")
            if closed:
                way.open()

    def _shown(self, table: str, expression: str) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = {}
        for key, value in self.admin.execute(f"select k, {expression} from {table} where k >= 0"):
            found.setdefault(key, []).append(value)
        return found


def same(one: Any, other: Any) -> bool:
    """Two things that were stored are one value."""
    return bool(repr(one) == repr(other))
