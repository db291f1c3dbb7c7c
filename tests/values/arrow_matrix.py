"""What becomes of each Arrow value of the matrix in each column by each way, and of what is read as Arrow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

import headrace
from adbc_driver_headrace import dbapi
from servers import Database

from .arrow_values import NOTHING, ArrowValue
from .arrow_ways import ArrowWay, ways
from .columns import COLUMNS, PREPARING, Column

START = 10_000
"""The keys of each way's rows begin at a multiple of this."""
REFUSED = "refused"
"""What a way has stored of a value that it does not take."""
COPIED = "read as Arrow"
"""The kind of a value that was read from a column of the same type."""


class Found(NamedTuple):
    """What came of a value by one way."""

    column: Column
    kind: str
    shown: str
    way: type[ArrowWay]
    stored: Any
    usual: Any

    def __str__(self) -> str:
        return (
            f"{self.kind} {self.shown} for {self.column.name}, {self.way.name}: {self.stored!r}, usually {self.usual!r}"
        )


def repeated(array: pa.Array) -> pa.ChunkedArray:
    """A value twice: in one batch, if pyarrow can make one."""
    try:
        return pa.chunked_array([pa.concat_arrays([array, array])])
    except pa.ArrowException:
        return pa.chunked_array([array, array])


class ArrowMatrix:
    """The ways of one database, each on a connection of its own."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.columns: list[Column] = COLUMNS[db.kind]
        self.admin = db.connect(autocommit=True, unrepresentable="text")
        for statement in PREPARING.get(db.kind, ()):
            self.admin.executescript(statement)
        self.ways = [way(db) for way in ways(type(db))]
        self.reading = db.connect(autocommit=True)
        self.adbc = dbapi.connect(db.url, autocommit=True)
        self.tables: set[str] = set()
        self.broken: list[str] = []
        """What no value should have come to."""

    def close(self) -> None:
        """Disconnects, and drops the tables."""
        for each in (*self.ways, self.reading, self.adbc):
            each.close()
        for table in self.tables:
            self.admin.execute(f"drop table if exists {table}")
        self.admin.close()

    def stored(self, column: Column, values: Sequence[ArrowValue]) -> Iterator[Found]:
        """Stores values in a column of this type in every way, and reads them; what came of it."""
        table = self._create("arrow", column)
        stored: dict[tuple[int, str], Any] = {}
        for (at, way), (number, value) in itertools.product(enumerate(self.ways), enumerate(values)):
            key = at * START + number
            if way.takes_rows:
                taken = value.row is not NOTHING and self._store(way, table, [(key, value.row)] * 2, value.shown)
            else:
                data = pa.table({"k": pa.array([key, key], pa.int32()), "v": repeated(value.array)})
                taken = self._store(way, table, data, value.shown)
            if not taken and not (way.takes_rows and value.row is NOTHING):
                stored[number, way.name] = REFUSED
        shown = self._shown(table, column)
        for (at, way), number in itertools.product(enumerate(self.ways), range(len(values))):
            found = shown.get(at * START + number, [])
            if found and (len(found) != 2 or repr(found[0]) != repr(found[1])):
                self.broken.append(f"{column.name}, {values[number].shown}, {way.name}: {found}")
            if found and stored.get((number, way.name)) == REFUSED:
                self.broken.append(f"{column.name}, {values[number].shown}, {way.name}: an error, and {found}")
            if found:
                stored[number, way.name] = found[0]
        for number, value in enumerate(values):
            by_any = (stored.get((number, way.name), REFUSED) for way in self.ways)
            usual = next((one for one in by_any if one != REFUSED), REFUSED)
            for way in self.ways:
                if (number, way.name) in stored:
                    yield Found(column, value.kind, value.shown, type(way), stored[number, way.name], usual)
        yield from self._copied(column, table, shown)

    def _copied(self, column: Column, table: str, shown: dict[int, list[Any]]) -> Iterator[Found]:
        """Reads each different value as Arrow, and stores that in another column of the type."""
        keys = {repr(found[0]): key for key, found in reversed(shown.items())}
        copy = self._create("copied", column)
        for number, key in enumerate(sorted(keys.values())):
            data = self._read(f"select k, v from {table} where k = {key}", f"{column.name}: {shown[key][0]!r}")
            if data is None:
                continue
            for at, way in enumerate(self.ways):
                if way.takes_rows:
                    continue
                again = data.set_column(0, "k", pa.array([at * START + number] * data.num_rows, pa.int32()))
                what = f"{data.schema.field(1).type} {shown[key][0]!r}"
                taken = self._store(way, copy, again, what)
                found = self._shown(copy, column, f"k = {at * START + number}").get(at * START + number)
                yield Found(column, COPIED, what, type(way), found[0] if taken and found else REFUSED, shown[key][0])

    def _read(self, query: str, what: str) -> pa.Table | None:
        """The rows of a query, which are the same in every way; None if every one refuses them."""
        ways = {
            "fetch_arrow": lambda: pa.table(self.reading.fetch_arrow(query)),
            "stream_arrow": lambda: pa.table(self.reading.stream_arrow(query, batch_rows=1)),
            "fetch_arrow_table": lambda: self.reading.fetch_arrow_table(query),
            "ADBC": lambda: self._by_adbc(query),
        }
        found: dict[str, Any] = {}
        for name, way in ways.items():
            try:
                found[name] = way()
                found[name].validate(full=True)
            except (headrace.DataError, dbapi.DataError, pa.ArrowInvalid) as error:
                found[name] = error
        tables = [each for each in found.values() if isinstance(each, pa.Table)]
        # Not by equals(): NaN is not equal to itself.
        different = {
            (*map(str, each.schema.types), *(str(column.combine_chunks()) for column in each)) for each in tables
        }
        if len(different) > 1 or 0 < len(tables) < len(found):
            self.broken.append(f"{what}: {found}")
        return tables[0] if tables else None

    def _by_adbc(self, query: str) -> pa.Table:
        with self.adbc.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table()

    def _create(self, name: str, column: Column) -> str:
        """An empty table with a name of its own: statements that were prepared for another have the types of that."""
        table = f"{name}_{self.columns.index(column)}"
        self.tables.add(table)
        self.admin.execute(f"drop table if exists {table}")
        self.admin.execute(f"create table {table} (k int, v {column.type}){self.db.transactional}")
        return table

    def _store(self, way: ArrowWay, table: str, data: Any, what: str) -> bool:
        """Stores rows; returns false if they are refused."""
        try:
            way.store(table, data)
        except way.errors:
            pass
        except Exception as error:
            self.broken.append(f"{what}, {way.name}: {error!r}")
        else:
            return True
        if way.is_closed:
            self.broken.append(f"{what}, {way.name}: the connection is closed")
            way.open()
        return False

    def _shown(self, table: str, column: Column, condition: str = "k >= 0") -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = {}
        query = f"select k, {column.of('v')} from {table} where {condition} and k is not null"
        for key, value in self.admin.execute(query):
            found.setdefault(key, []).append(value)
        return found
