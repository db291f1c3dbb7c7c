"""Makes the steps of random programs on MySQL and MariaDB, by the state of the oracle's schemas."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from .mysql import PARAMETERS, READS, SCHEMAS, WRITES, Do, Interleave, MySqlTwin, Other, Read, Reset, Tx, Use, Write

NOON = datetime.datetime(2020, 1, 1, 12, 30, 0, 500)
VALUES: dict[str, list[tuple[str, Any]]] = {
    "tinyint": [("1", 1), ("-128", -128)],
    "int": [("7", 7), ("-2147483648", -(2**31))],
    "bigint unsigned": [("18446744073709551615", 2**64 - 1), ("3", 3)],
    "double": [("1.1e0", 1.1), ("1e300", 1e300)],
    "decimal(20,2)": [("1.50", Decimal("1.50")), ("-123456789012345678.25", Decimal("-123456789012345678.25"))],
    "varchar(40)": [
        ("'a''b'", "a'b"),
        ("''", ""),
        ("'ä ? %s'", "ä ? %s"),
        ("CONCAT('x', CHAR(92 USING utf8mb4), 'n')", "x\\n"),
    ],
    "text": [("'abc'", "abc"), ("'(1)'", "(1)")],
    "varbinary(20)": [("x'00ff5c27'", b"\x00\xff\\'"), ("x''", b"")],
    "date": [("'2020-02-29'", datetime.date(2020, 2, 29)), ("'1999-12-31'", datetime.date(1999, 12, 31))],
    "datetime(6)": [("'2020-01-01 12:30:00.0005'", NOON)],
    "timestamp(6)": [("'2020-01-01 12:30:00.0005'", NOON)],
    "time": [("'-30:00:05'", -datetime.timedelta(hours=30, seconds=5)), ("'01:00:00'", datetime.timedelta(hours=1))],
    "year": [("2020", 2020)],
    "enum('sad','ok')": [("'ok'", "ok")],
}
CASTS = {
    "tinyint": ("int", "bigint", "varchar(40)"),
    "int": ("varchar(40)", "double", "decimal(20,2)"),
    "date": ("datetime(6)", "varchar(40)"),
    "varchar(40)": ("text", "varbinary(200)"),
    "text": ("varchar(40)",),
    "datetime(6)": ("varchar(40)", "timestamp(6)"),
    "year": ("int",),
    "enum('sad','ok')": ("varchar(40)", "enum('ok','sad')"),
    "double": ("varchar(40)",),
}
MODES = ("ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "STRICT_ALL_TABLES", "")
EXPRESSIONS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("7 DIV %s", [(2,)]),
    ("%s + 1", [(1,), (2**40,)]),
    ("concat('x', %s)", [("y",), (1,), ("a\\b",)]),
    ("%s IN (1, 2)", [(1,), (5,)]),
    ("coalesce(%s, %s)", [(None, 5), ("a", "b")]),
    ("greatest(%s, %s)", [(1, 5), ("a", "b")]),
    ("length(%s)", [("ä",), (b"\x00\xff",)]),
    ("%s = 'a'", [("A",), ("b",)]),
    ("date_add('2020-01-01', interval %s day)", [(1,)]),
    ("1 in %s", [([1, 2],), ([3],)]),
]
PLAIN = (
    "SELECT 'a' || 'b'",
    "SELECT 1 + 1, 'x'",
    "SELECT 'a\\\\n'",
    "SELECT NULL",
    "SELECT @@sql_mode",
    "SELECT count(*) FROM t1",
)


class Maker:
    """Makes one program's steps."""

    def __init__(self, rng: random.Random, twin: MySqlTwin) -> None:
        self.rng = rng
        self.twin = twin
        self.weights: dict[Callable[[], Any], int] = {
            self.select: 14,
            self.write: 12,
            self.use: 8,
            self.expression: 4,
            self.plain: 4,
            self.alter: 5,
            self.create: 2,
            self.again: 3,
            self.drop: 1,
            self.session: 3,
            self.transaction: 8,
            self.failing: 2,
            self.delete: 2,
            self.routine: 2,
            self.call: 3,
            self.interleave: 4,
            self.reset: 1,
        }

    def steps(self) -> Iterator[Any]:
        """The program. Both schemas have tables of the same names."""
        for name in ("t1", "t2"):
            one = self.definition()
            for schema in SCHEMAS:
                definition = one if self.rng.random() < 0.7 else self.definition()
                yield Other(f"CREATE TABLE ~{schema}.{name} ({definition}) ENGINE=InnoDB")
        for _ in range(self.rng.randint(10, 35)):
            step = self.rng.choices(list(self.weights), list(self.weights.values()))[0]()
            if step is not None:
                yield step

    def definition(self) -> str:
        """Columns of a table."""
        names = list("abcd"[: self.rng.randint(1, 4)])
        self.rng.shuffle(names)
        parts = [f"{name} {self.rng.choice(list(VALUES))} NULL" for name in names]
        return ", ".join(parts)

    def table(self) -> Any:
        """One of them: what to call it, its full name, its columns."""
        found = self.twin.columns()
        if not found:
            return None
        here = self.twin.schema()
        schema, name = self.rng.choice(sorted(found))
        called = name if schema == here and self.rng.random() < 0.85 else f"~{schema}.{name}"
        return called, f"~{schema}.{name}", found[(schema, name)]

    def ddl(self, sql: str) -> Any:
        """DDL, by this or by another session; a block's transaction it would end."""
        if self.twin.blocks:
            return None
        return Other(sql) if self.twin.free and self.rng.random() < 0.7 else Do(sql, self.way())

    def way(self) -> str:
        """Of a statement without rows."""
        return self.rng.choice(("execute", "execute", "script", "pipeline"))

    def create(self) -> Any:
        """A new table."""
        schema, name = self.rng.choice(SCHEMAS), self.rng.choice(("t1", "t2", "t3"))
        return self.ddl(f"CREATE TABLE IF NOT EXISTS ~{schema}.{name} ({self.definition()}) ENGINE=InnoDB")

    def again(self) -> Any:
        """The same name, another table."""
        table = self.table()
        return (
            table and self.ddl(f"CREATE OR REPLACE TABLE {table[1]} ({self.definition()}) ENGINE=InnoDB")
            if self.twin.databases.is_mariadb
            else None
        )

    def drop(self) -> Any:
        """One table less."""
        table = self.table()
        return table and self.ddl(f"DROP TABLE {table[1]}")

    def alter(self) -> Any:
        """Other columns."""
        table = self.table()
        if table is None:
            return None
        column, kind = self.rng.choice(table[2])
        form = self.rng.choice(("modify", "modify", "add", "drop", "first"))
        if form == "add":
            name, kind, where = self.rng.choice("cdef"), self.rng.choice(list(VALUES)), self.rng.choice(("", "FIRST"))
            return self.ddl(f"ALTER TABLE {table[1]} ADD COLUMN {name} {kind} NULL {where}")
        if form == "drop":
            return self.ddl(f"ALTER TABLE {table[1]} DROP COLUMN {column}") if len(table[2]) > 1 else None
        if form == "first" and kind in VALUES:
            return self.ddl(f"ALTER TABLE {table[1]} MODIFY COLUMN {column} {kind} NULL FIRST")
        casts = CASTS.get(kind)
        return (
            self.ddl(f"ALTER TABLE {table[1]} MODIFY COLUMN {column} {self.rng.choice(casts)} NULL") if casts else None
        )

    def read(self, sql: str, ways: tuple[str, ...] = tuple(READS), **keywords: Any) -> Read:
        """A query by one of these ways."""
        way = self.rng.choice(ways)
        if "{p}" in sql and way in PARAMETERS and self.rng.random() < 0.6:
            way += ":" + self.rng.choice(("mark", "percent", "named") if way != "fetch" else ("mark", "percent"))
        return Read(sql, way, size=self.rng.choice((1, 2, 3, 100)), **keywords)

    def select(self) -> Any:
        """A table's rows."""
        table = self.table()
        if table is None:
            return None
        listed = "*"
        if self.rng.random() < 0.3:
            listed = ", ".join(self.rng.sample([c[0] for c in table[2]], self.rng.randint(1, len(table[2]))))
        return self.read(f"SELECT {listed} FROM {table[0]} WHERE {{p}}")

    def plain(self) -> Read:
        """What names and quotes mean now."""
        return self.read(self.rng.choice(PLAIN))

    def expression(self) -> Read:
        """What a parameter becomes in an expression."""
        sql, values = self.rng.choice(EXPRESSIONS)
        return self.read(f"SELECT {sql} AS v", PARAMETERS, params=self.rng.choice(values))

    def write(self) -> Any:
        """Rows into a table."""
        table = self.table()
        if table is None:
            return None
        able = [(name, kind) for name, kind in table[2] if kind in VALUES]
        able = self.rng.sample(able, self.rng.randint(1, len(able))) if able else []
        if not able:
            return None
        rows, literals = [], []
        for _ in range(self.rng.randint(1, 5)):
            row = [("NULL", None) if self.rng.random() < 0.15 else self.rng.choice(VALUES[kind]) for _, kind in able]
            rows.append(tuple(one[1] for one in row))
            literals.append(tuple(one[0] for one in row))
        return Write(table[0], tuple(c[0] for c in able), tuple(rows), tuple(literals), self.rng.choice(list(WRITES)))

    def delete(self) -> Any:
        """All rows less."""
        table = self.table()
        return table and Do(f"DELETE FROM {table[0]}", self.way())

    def use(self) -> Use:
        """The other schema, or the same."""
        return Use(self.rng.choice(SCHEMAS), self.rng.choice(("execute", "script", "select_db", "pipeline")))

    def session(self) -> Do:
        """What decides what texts mean."""
        sql = self.rng.choice(
            (f"SET sql_mode = '{self.rng.choice(MODES)}'", "SET time_zone = '+09:00'", "SET time_zone = '+00:00'")
        )
        return Do(sql, self.way())

    def transaction(self) -> Tx:
        """Ends or begins one."""
        if self.twin.blocks:
            return Tx(self.rng.choice(("enter", "leave", "leave", "undo")))
        return Tx(
            self.rng.choice(("commit", "rollback") if self.twin.unsure else ("commit", "rollback", "enter", "enter"))
        )

    def failing(self) -> Do:
        """A statement that fails."""
        return Do(self.rng.choice(("SELECT nothing FROM nowhere", "NONSENSE", "SIGNAL SQLSTATE '45000'")), self.way())

    def routine(self) -> Any:
        """A procedure, whose rows are now others."""
        kind = self.rng.choice(list(VALUES))
        literal = self.rng.choice(VALUES[kind])[0]
        if self.twin.blocks or not self.twin.databases.is_mariadb:
            return None
        return self.ddl(f"CREATE OR REPLACE PROCEDURE ~a.p1() SELECT {literal} AS v")

    def call(self) -> Any:
        """Calls it."""
        sql = "select routine_name from information_schema.routines where routine_schema = 'o_a'"
        if not self.twin.databases.run(sql):
            return self.routine()
        return self.read("CALL ~a.p1()", ("execute", "fetch", "pipeline", "script", "stream"))

    def interleave(self) -> Any:
        """A stream with other statements in between."""
        table = self.table()
        if table is None:
            return None
        steps = [
            made
            for made in (self.rng.choice((self.write, self.select, self.plain))() for _ in range(3))
            if made is not None
        ]
        order = ", ".join(c[0] for c in table[2])
        on_server = self.rng.random() < 0.7
        return Interleave(
            f"SELECT * FROM {table[0]} ORDER BY {order}",
            tuple(steps),
            self.rng.choice((1, 2, 100)),
            self.rng.randint(1, 4),
            self.rng.choice(("close", "exhaust")),
            on_server,
        )

    def reset(self) -> Any:
        """As a pool does it."""
        return None if self.twin.blocks else Reset(self.rng.choice(("rollback", "discard")))


def make(rng: random.Random, twin: MySqlTwin) -> Iterator[Any]:
    """The steps of a random program."""
    return Maker(rng, twin).steps()
