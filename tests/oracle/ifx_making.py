"""Makes the steps of random programs on Informix, by the state of the oracle's database."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from headrace.types import Interval

from .informix import READS, WRITES, Do, InformixTwin, Interleave, Other, Read, Tx, Write

NOON = datetime.datetime(2020, 1, 1, 12, 30, 5)
VALUES: dict[str, list[tuple[str, Any]]] = {
    "smallint": [("1", 1), ("-32767", -32767)],
    "int": [("7", 7), ("-2147483647", -(2**31) + 1)],
    "bigint": [("9007199254740993", 9007199254740993), ("3", 3)],
    "int8": [("-4", -4)],
    "float": [("1.25", 1.25), ("-3", -3.0)],
    "decimal(10,2)": [("1.50", Decimal("1.50")), ("-12345678.25", Decimal("-12345678.25"))],
    "decimal(16)": [("1.5", Decimal("1.5"))],
    "varchar(40)": [("'a''b'", "a'b"), ("'x ? :1'", "x ? :1")],
    "char(9)": [("'abc'", "abc")],
    "lvarchar(300)": [("'l{}'", "l{}")],
    "date": [("mdy(2,29,2020)", datetime.date(2020, 2, 29))],
    "datetime year to second": [("datetime (2020-01-01 12:30:05) year to second", NOON)],
    "datetime hour to second": [("datetime (12:30:05) hour to second", NOON.time())],
    "interval day to second": [("interval (1 00:00:05) day to second", datetime.timedelta(days=1, seconds=5))],
    "interval year to month": [("interval (1-02) year to month", Interval(14))],
    "boolean": [("'t'", True), ("'f'", False)],
}
CODES = {0: "char(9)", 1: "smallint", 2: "int", 3: "float", 7: "date", 13: "varchar(40)", 17: "int8", 52: "bigint"}
"""syscolumns.coltype of types whose values need nothing more to be known."""
CASTS = {
    "smallint": ("int", "float"),
    "int": ("bigint", "float", "decimal(16)"),
    "varchar(40)": ("lvarchar(300)",),
    "char(9)": ("varchar(40)",),
    "date": ("varchar(40)",),
}


class Maker:
    """Makes one program's steps."""

    def __init__(self, rng: random.Random, twin: InformixTwin) -> None:
        self.rng = rng
        self.twin = twin
        self.kinds: dict[tuple[str, str], str] = {}
        """Types as they were asked for, by table and column; those that have become others are not written to."""
        self.weights: dict[Callable[[], Any], int] = {
            self.select: 14,
            self.literals: 5,
            self.write: 14,
            self.alter: 4,
            self.create: 2,
            self.again: 3,
            self.drop: 1,
            self.transaction: 8,
            self.failing: 2,
            self.delete: 2,
            self.interleave: 5,
        }

    def steps(self) -> Iterator[Any]:
        """The program."""
        for _ in range(2):
            yield self.create()
        for _ in range(self.rng.randint(10, 30)):
            step = self.rng.choices(list(self.weights), list(self.weights.values()))[0]()
            if step is not None:
                yield step

    def definition(self, table: str) -> str:
        """Columns of a table."""
        names = list("abcd"[: self.rng.randint(1, 4)])
        self.rng.shuffle(names)
        kinds = [self.rng.choice(list(VALUES)) for _ in names]
        for name, kind in zip(names, kinds, strict=True):
            self.kinds[(table, name)] = kind
        return ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))

    def table(self) -> Any:
        """One of them: name and columns."""
        found = self.twin.tables()
        if not found:
            return None
        name = self.rng.choice(sorted(found))
        return name, found[name]

    def ddl(self, sql: str) -> Any:
        """DDL, by this or by another session."""
        return Other(sql) if not self.twin.begun and self.rng.random() < 0.6 else Do(sql, self.way())

    def way(self) -> str:
        """Of a statement without rows."""
        return self.rng.choice(("execute", "execute", "pipeline"))

    def create(self) -> Any:
        """A new table."""
        name = self.rng.choice(("t1", "t2", "t3"))
        if name in self.twin.tables():
            return Do(f"DELETE FROM {name} WHERE 1 = 1", self.way())
        return self.ddl(f"CREATE TABLE {name} ({self.definition(name)})")

    def again(self) -> Any:
        """One table less; the next one of its name is another."""
        table = self.table()
        return table and self.ddl(f"DROP TABLE {table[0]}")

    drop = again

    def alter(self) -> Any:
        """Other columns."""
        table = self.table()
        if table is None:
            return None
        name, columns = table
        column = self.rng.choice(columns)[0]
        kind = self.kinds.get((name, column), "")
        form = self.rng.choice(("modify", "modify", "add", "drop"))
        if form == "add":
            fresh = self.rng.choice("efg")
            kind = self.rng.choice(list(VALUES))
            if any(c[0] == fresh for c in columns):
                return None
            self.kinds[(name, fresh)] = kind
            return self.ddl(f"ALTER TABLE {name} ADD ({fresh} {kind})")
        if form == "drop":
            return self.ddl(f"ALTER TABLE {name} DROP ({column})") if len(columns) > 1 else None
        casts = CASTS.get(kind)
        if casts is None:
            return None
        kind = self.rng.choice(casts)
        self.kinds[(name, column)] = kind
        return self.ddl(f"ALTER TABLE {name} MODIFY ({column} {kind})")

    def read(self, sql: str) -> Read:
        """A query by one of the ways."""
        way = self.rng.choice(list(READS))
        if "{p}" in sql and self.rng.random() < 0.5:
            way += ":" + self.rng.choice(("mark", "number"))
        return Read(sql, way, self.rng.choice((1, 2, 3, 100)), self.rng.choice(("report", "walk")))

    def select(self) -> Any:
        """A table's rows."""
        table = self.table()
        if table is None:
            return None
        listed = "*"
        if self.rng.random() < 0.3:
            listed = ", ".join(self.rng.sample([c[0] for c in table[1]], self.rng.randint(1, len(table[1]))))
        return self.read(f"SELECT {listed} FROM {table[0]} WHERE {{p}}")

    def literals(self) -> Read:
        """A row of values."""
        kinds = [self.rng.choice(list(VALUES)) for _ in range(self.rng.randint(1, 3))]
        values = ", ".join(f"{self.rng.choice(VALUES[kind])[0]}::{kind} v{i}" for i, kind in enumerate(kinds))
        return self.read(f"SELECT {values} FROM systables WHERE tabid = 1 AND {{p}}")

    def write(self) -> Any:
        """Rows into a table."""
        table = self.table()
        if table is None:
            return None
        name, columns = table
        able = [(c[0], self.kinds[(name, c[0])]) for c in columns if (name, c[0]) in self.kinds]
        able = [(c, kind) for c, kind in able if kind in VALUES]
        if not able:
            return None
        able = self.rng.sample(able, self.rng.randint(1, len(able)))
        rows, literals = [], []
        for _ in range(self.rng.choice((1, 2, 5, 60))):
            row = [("NULL", None) if self.rng.random() < 0.15 else self.rng.choice(VALUES[kind]) for _, kind in able]
            rows.append(tuple(one[1] for one in row))
            literals.append(tuple(one[0] for one in row))
        return Write(name, tuple(c for c, _ in able), tuple(rows), tuple(literals), self.rng.choice(list(WRITES)))

    def delete(self) -> Any:
        """All rows less."""
        table = self.table()
        return table and Do(f"DELETE FROM {table[0]} WHERE 1 = 1", self.way())

    def transaction(self) -> Tx:
        """Ends or begins one."""
        if self.twin.blocks:
            return Tx(self.rng.choice(("enter", "leave", "leave", "undo")))
        return Tx(self.rng.choice(("commit", "commit", "rollback", "enter", "enter")))

    def failing(self) -> Do:
        """A statement that fails."""
        return Do(
            self.rng.choice(("SELECT nothing FROM nowhere", "INSERT INTO t1 (nothing) VALUES (1)", "NONSENSE")),
            self.way(),
        )

    def interleave(self) -> Any:
        """A stream with other statements in between."""
        table = self.table()
        if table is None:
            return None
        made = [self.rng.choice((self.write, self.select, self.literals))() for _ in range(3)]
        # A batch's transaction ends a stream in autocommit, as any commit does.
        steps = [s for s in made if s is not None and not (isinstance(s, Write) and s.way.startswith("many"))]
        order = ", ".join(c[0] for c in table[1])
        sql = f"SELECT * FROM {table[0]} ORDER BY {order}"
        return Interleave(
            sql,
            tuple(steps),
            self.rng.choice((1, 40, 4000)),
            self.rng.randint(1, 5),
            self.rng.choice(("close", "exhaust")),
        )


def make(rng: random.Random, twin: InformixTwin) -> Iterator[Any]:
    """The steps of a random program."""
    return Maker(rng, twin).steps()
