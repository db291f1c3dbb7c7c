"""Makes the steps of random programs on PostgreSQL, by the state of the oracle's session."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from .pg_steps import (
    ANY_QUERY,
    EXPRESSES,
    PARAMETERS,
    WRITES,
    Do,
    Express,
    Fetch,
    Interleave,
    Open,
    Other,
    Read,
    Reset,
    Shut,
    Tx,
    Write,
)
from .pg_values import EXTENSIONS, NO_ARRAYS, VALUES
from .postgres import SCHEMAS, PostgresTwin

NAMES = ("t1", "t2", "t3")
COLUMNS = ("a", "b", "c", "d", "e")
PATHS = ('"$user", public, ty, ext', "public, ty, ext", "r1, public, ty, ext", "r2, r1, ty, ext")
CASTS = {
    "int2": ("int4", "numeric", "text"),
    "int4": ("int8", "float8", "numeric", "text"),
    "int8": ("float8", "numeric", "text"),
    "float8": ("float4", "text"),
    "numeric": ("text", "float8"),
    "text": ("varchar", "label", "citext", "bytea"),
    "varchar": ("text",),
    "date": ("timestamp", "text"),
    "timestamp": ("timestamptz", "date"),
    "timestamptz": ("timestamp", "text"),
    "mood": ("text",),
    "bool": ("int4", "text"),
    "citext": ("text",),
    "json": ("jsonb",),
    "jsonb": ("json", "text"),
    "uuid": ("text",),
    "inet": ("text",),
    "cidr": ("inet",),
    "time": ("interval",),
}
"""Types that a column's type becomes, its values with it."""

NAIVE = datetime.datetime(2020, 1, 1, 12)
AWARE = datetime.datetime(2020, 7, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=5)))
EXPRESSIONS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("7/%s", [(2.0,), (2,), (Decimal(2),)]),
    ("%s + 1", [(1,), (1.5,), (Decimal("0.10"),)]),
    ("pg_typeof(%s)::text", [(1,), (2**40,), (1.5,), (NAIVE,), (AWARE,), (True,), (Decimal(1),), ([1, 2],)]),
    ("%s::timestamptz", [(NAIVE,), (AWARE,), (datetime.date(2020, 5, 5),)]),
    ("coalesce(%s, %s)", [(None, 5), (1.5, 2.5)]),
    ("greatest(%s, %s)", [(1, 5), (1.5, 0.5)]),
    ("concat('x', %s)", [(1,), (1.5,), (True,), (NAIVE,), (datetime.timedelta(1, 5),)]),
    ("to_jsonb(%s)", [(1,), (1.5,), (True,), ([1, 2],)]),
    ("jsonb_build_object('a', %s)", [(1,), (True,), (1.5,)]),
    ("date '2020-01-01' + %s", [(1,), (datetime.timedelta(1),)]),
    ("date '2020-01-01' - %s", [(1,), (datetime.date(2019, 1, 1),)]),
    ("timestamp '2020-01-01' - %s", [(datetime.timedelta(1, 5),)]),
    ("2 * %s", [(1.5,), (2,)]),
    ("array_append(array[1, 2], %s)", [(3,)]),
    ("cardinality(%s)", [([1, 2, 3],)]),
    ("1 = any(%s)", [([1, 2, 3],), ([4],)]),
    ("length(%s)", [("abc",)]),
    ("abs(%s)", [(-1,), (-1.5,)]),
]
INSERTS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("n) VALUES (7/%s", [(2.0,), (2,), (Decimal(2),)]),
    ("n) VALUES (%s", [(2.5,), (2,), (Decimal("1.50"),)]),
    ("n) SELECT q.v FROM (VALUES (%s)) q(v", [(3,), (1.5,)]),
    ("n) SELECT unnest(%s", [([1, 2],)]),
    ("at) VALUES (%s", [(NAIVE,), (AWARE,), (datetime.date(2020, 5, 5),)]),
    ("d) VALUES (date '2020-01-01' + %s", [(3,)]),
    ("d) VALUES (%s", [(datetime.date(2020, 5, 5),)]),
    ("s) VALUES (%s", [("x",), (NAIVE,), (datetime.date(2020, 1, 1),), (Decimal("1E+5"),), (1,)]),
    ("s) VALUES (concat('x', %s)", [(1,), (True,)]),
    ("i) VALUES (%s", [(datetime.timedelta(1, 5),)]),
    ("i) VALUES (timestamp '2020-01-01' - %s", [(NAIVE,)]),
    ("j) VALUES (to_jsonb(%s)", [(1,), (1.5,), (True,)]),
    ("j) VALUES (jsonb_build_object('a', %s)", [(1,), (2.5,)]),
    ("f) VALUES (1.5 * %s", [(2,), (1.5,)]),
    ("f) VALUES (coalesce(%s, 5)", [(1,), (None,)]),
]


LISTS_OF_STR = {"macaddr", "pg_lsn", "mood", "ltree", "hstore", "tsvector", "citext", "label", "varbit", "bpchar"}
SHAPES = {"point", "box", "circle"}


def refused(way: str, typname: str) -> bool:
    """Returns true if a way refuses values of a type, with an error.

    | way | type | why |
    |---|---|---|
    | ``%s`` | lists of str for arrays of other types | they are ``text[]``; write a cast, or ``$1`` |
    | ``cursor.copy``, ``write_row`` | geometric types | open: they are written as composites |
    """
    inner = typname.lstrip("_")
    if way == "write_row":
        return inner in SHAPES
    return typname.startswith("_") and inner in LISTS_OF_STR and "dollar" not in way and "copy" not in way


class Maker:
    """Makes one program's steps."""

    def __init__(self, rng: random.Random, twin: PostgresTwin) -> None:
        self.rng = rng
        self.twin = twin
        missing = EXTENSIONS - twin.databases.extensions
        self.types = sorted(set(VALUES) - missing)
        self.pair = ["int4", "text"]
        self.weights: dict[Callable[[], Any], int] = {
            self.select: 14,
            self.write: 12,
            self.expression: 5,
            self.insert_expression: 4,
            self.literals: 6,
            self.composite: 3,
            self.alter: 6,
            self.alter_type: 2,
            self.create: 2,
            self.again: 3,
            self.drop: 1,
            self.session: 4,
            self.transaction: 8,
            self.failing: 1,
            self.declare: 3,
            self.fetch: 4,
            self.prepare: 2,
            self.execute: 3,
            self.routine: 2,
            self.call: 3,
            self.open: 2,
            self.fetch_open: 3,
            self.interleave: 5,
            self.delete: 2,
            self.reset: 1,
        }

    def steps(self) -> Iterator[Any]:
        """The program."""
        for _ in range(2):
            yield self.create()
            if (step := self.write()) is not None:
                yield step
        for _ in range(self.rng.randint(8, 30)):
            if self.twin.failed:
                yield from self.recover()
                continue
            step = self.rng.choices(list(self.weights), list(self.weights.values()))[0]()
            if step is not None:
                yield step

    def recover(self) -> Iterator[Any]:
        """Ends what failed, mostly."""
        if self.rng.random() < 0.2:
            yield Read("SELECT 1", self.rng.choice(ANY_QUERY))
        yield Tx("undo") if self.twin.blocks else Tx(self.rng.choice(("rollback", "commit")))
        if not self.twin.idle and not self.twin.blocks:
            yield Tx("rollback")

    # types and tables

    def type_name(self) -> str:
        """A type for a column."""
        name = self.rng.choice(self.types)
        if self.rng.random() < 0.05:
            name = "pair"
        return f"{name}[]" if self.rng.random() < 0.25 and name not in NO_ARRAYS else name

    def value(self, typname: str) -> tuple[str, Any] | None:
        """A value of a type, by its name in pg_type: a literal, and what Python sends."""
        if self.rng.random() < 0.12:
            return "NULL", None
        if typname.startswith("_"):
            some = [self.value(typname[1:]) for _ in range(self.rng.randint(0, 3))]
            if any(one is None for one in some):
                return None
            inner = ", ".join(one[0] for one in some if one)
            return f"ARRAY[{inner}]::{typname[1:]}[]", [one[1] for one in some if one]
        if typname == "pair":
            return None if self.pair != ["int4", "text"] else ("ROW(1, 'a,\"b')::ty.pair", (1, 'a,"b'))
        found = self.rng.choice(VALUES[typname])
        literal = found[0] if found[0].startswith("'") else f"'{found[0]}'"
        return f"{literal}::{typname}", found[1]

    def tables(self) -> list[Any]:
        """Tables as the session has them: what to call it, its columns."""
        out = []
        for name, visible, plain, columns in self.twin.tables():
            called = plain if visible and self.rng.random() < 0.7 else name
            out.append((called, name, columns))
        return out

    def table(self) -> Any:
        """One of them, or None."""
        found = self.tables()
        return self.rng.choice(found) if found else None

    def definition(self) -> str:
        """Columns of a table."""
        names = list(COLUMNS[: self.rng.randint(1, 4)])
        self.rng.shuffle(names)
        parts = [f"{name} {self.type_name()}" for name in names]
        if self.rng.random() < 0.15:
            parts.insert(self.rng.randint(0, len(parts)), "g int4 GENERATED ALWAYS AS (40 + 2) STORED")
        if self.rng.random() < 0.15:
            parts.insert(self.rng.randint(0, len(parts)), "i int4 GENERATED BY DEFAULT AS IDENTITY")
        return ", ".join(parts)

    def by_whom(self, sql: str, several: bool = False) -> Any:
        """DDL, by this or by another session."""
        if self.twin.idle and self.rng.random() < 0.6:
            return Other(sql)
        return Do(sql, "script" if several else self.rng.choice(("execute", "script", "pipeline")))

    def create(self) -> Any:
        """A new table."""
        name = f"{self.rng.choice(SCHEMAS)}.{self.rng.choice(NAMES)}"
        return self.by_whom(f"CREATE TABLE IF NOT EXISTS {name} ({self.definition()})")

    def again(self) -> Any:
        """The same name, another table."""
        table = self.table()
        if table is None:
            return None
        return self.by_whom(f"DROP TABLE {table[1]}; CREATE TABLE {table[1]} ({self.definition()})", True)

    def drop(self) -> Any:
        """One table less."""
        table = self.table()
        return table and self.by_whom(f"DROP TABLE {table[1]}")

    def alter(self) -> Any:
        """Other columns."""
        table = self.table()
        if table is None:
            return None
        name, columns = table[1], table[2]
        kind = self.rng.choice(("type", "type", "type", "add", "drop"))
        column, typname, generated = self.rng.choice(columns)
        if kind == "add":
            literal = self.value(self.rng.choice(("int4", "text", "date", "float8")))
            assert literal is not None
            named = literal[0].partition("::")[2] or "int4"
            return self.by_whom(
                f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS {self.rng.choice(COLUMNS)} {named} DEFAULT {literal[0]}"
            )
        if kind == "drop":
            return self.by_whom(f"ALTER TABLE {name} DROP COLUMN {column}") if len(columns) > 1 else None
        casts = [to for to in CASTS.get(typname, ()) if to in self.types]
        if generated or not casts:
            return None
        to = self.rng.choice(casts)
        using = (
            f"convert_to({column}::text, 'UTF8')"
            if to == "bytea"
            else f"{column}::text::{to}"
            if "text" in (typname, to)
            else f"{column}::{to}"
        )
        return self.by_whom(f"ALTER TABLE {name} ALTER COLUMN {column} TYPE {to} USING {using}")

    def alter_type(self) -> Any:
        """Other attributes of the composite, other labels of the enumeration."""
        forms = [
            "ALTER TYPE ty.pair ALTER ATTRIBUTE x TYPE float4",
            "ALTER TYPE ty.pair ALTER ATTRIBUTE x TYPE int8",
            "ALTER TYPE ty.pair ALTER ATTRIBUTE y TYPE date",
            "ALTER TYPE ty.pair ADD ATTRIBUTE z date",
            "ALTER TYPE ty.pair DROP ATTRIBUTE y",
        ]
        sql = self.rng.choice(forms)
        found = self.pair_types()
        if (
            ("ADD" in sql and len(found) > 2)
            or (" y" in sql and "y" not in found)
            or (" x" in sql and "x" not in found)
        ):
            return Other("ALTER TYPE ty.mood ADD VALUE IF NOT EXISTS 'wild'") if self.twin.idle else None
        self.pair = ["other"]
        return self.by_whom(sql)

    def pair_types(self) -> dict[str, str]:
        """The composite's attributes now."""
        sql = (
            "select a.attname, t.typname from pg_attribute a join pg_type t on t.oid = a.atttypid "
            "where a.attrelid = 'ty.pair'::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum"
        )
        return dict(self.twin.oracle.execute(sql).fetchall())

    # reading

    def read(self, sql: str, ways: tuple[str, ...], **keywords: Any) -> Read:
        """A query by one of these ways."""
        way = self.rng.choice(ways)
        if way == "cursor" and self.twin.idle and self.twin.options.autocommit:
            way = "hold"
        if "{p}" in sql and way in PARAMETERS and self.rng.random() < 0.6:
            styles = ("dollar", "percent", "named") if way != "fetch" else ("dollar", "percent")
            way += ":" + self.rng.choice(styles)
        return Read(
            sql, way, size=self.rng.choice((1, 2, 3, 100)), name=self.rng.choice(("report", "walk")), **keywords
        )

    def select(self) -> Any:
        """A table's rows."""
        table = self.table()
        if table is None:
            return None
        called, _, columns = table
        if self.rng.random() < 0.15:
            return Read(called, "copy_table")
        listed = "*"
        if self.rng.random() < 0.3:
            listed = ", ".join(self.rng.sample([c[0] for c in columns], self.rng.randint(1, len(columns))))
        ways = (*ANY_QUERY, "stream_blocks", "cursor", "cursor", "hold", "copy_out", "copy_out", "fetchmany")
        return self.read(f"SELECT {listed} FROM {called} x WHERE {{p}} ORDER BY x::text", ways)

    def literals(self) -> Read:
        """A row of values."""
        return self.read(self.literal_query(), (*ANY_QUERY, "stream_blocks", "cursor", "cursor", "hold", "copy_out"))

    def literal_query(self) -> str:
        """SELECT of a few values."""
        parts = []
        for i in range(self.rng.randint(1, 4)):
            typname = self.rng.choice(self.types)
            if self.rng.random() < 0.25 and typname not in NO_ARRAYS:
                typname = "_" + typname
            found = self.value(typname)
            assert found is not None
            parts.append(f"{found[0]} AS v{i}")
        return f"SELECT {', '.join(parts)}"

    def composite(self) -> Read:
        """A value of the composite type as it is now."""
        found = self.pair_types()
        values = [(self.value(typname) or ("NULL",))[0] for typname in found.values()]
        row = f"ROW({', '.join(values)})::ty.pair"
        form = self.rng.choice((row, row, f"ARRAY[{row}, NULL, {row}]", f"ROW(1, {row})::ty.nested"))
        return self.read(f"SELECT {form} AS v", (*ANY_QUERY, "cursor", "copy_out"))

    def expression(self) -> Read:
        """What a parameter becomes in an expression."""
        sql, values = self.rng.choice(EXPRESSIONS)
        return self.read(f"SELECT {sql} AS v", PARAMETERS, params=self.rng.choice(values))

    # writing

    def write(self) -> Any:
        """Rows into a table."""
        table = self.table()
        if table is None:
            return None
        called, _, columns = table
        # Now and then an identity's value is given, a generated column's never.
        able = [c for c in columns if c[2] != "s"]
        every = self.rng.random() < 0.5
        if not every:
            able = [c for c in able if not c[2]]
            able = self.rng.sample(able, self.rng.randint(1, len(able))) if able else []
        if not able:
            return None
        rows, literals = [], []
        for _ in range(self.rng.randint(1, 4)):
            row = [("5", 5) if generated else self.value(typname) for _, typname, generated in able]
            if any(one is None for one in row):
                return None
            rows.append(tuple(one[1] for one in row if one))
            literals.append(tuple(one[0] for one in row if one))
        way = self.rng.choice(list(WRITES))
        if any(refused(way, typname) for _, typname, _ in able):
            return None
        return Write(called, tuple(c[0] for c in able), tuple(rows), tuple(literals), way, every)

    def insert_expression(self) -> Express:
        """Parameters in expressions."""
        tail, values = self.rng.choice(INSERTS)
        rows = [self.rng.choice(values)] if self.rng.random() < 0.7 else values
        return Express(f"INSERT INTO public.ex ({tail})", tuple(rows), self.rng.choice(list(EXPRESSES)))

    def delete(self) -> Any:
        """Some rows less."""
        table = self.table()
        return table and Do(f"DELETE FROM {table[0]} WHERE ctid = (SELECT min(ctid) FROM {table[0]})", self.way())

    def way(self) -> str:
        """Of a statement without rows."""
        return self.rng.choice(("execute", "execute", "script", "pipeline"))

    # the session

    def session(self) -> Do:
        """What decides what names and values mean."""
        forms = [
            *(f"SET search_path = {path}" for path in PATHS),
            *(f"SET search_path = {path}" for path in PATHS),
            f"SET LOCAL search_path = {self.rng.choice(PATHS)}",
            "SET ROLE r1",
            "SET ROLE r2",
            "RESET ROLE",
            "SET timezone = 'Asia/Tokyo'",
            "SET timezone = 'UTC'",
            "RESET ALL",
            "DEALLOCATE ALL",
        ]
        if self.twin.idle and self.twin.options.autocommit:
            forms.append("DISCARD ALL")
        return Do(self.rng.choice(forms), self.way())

    def reset(self) -> Any:
        """As a pool does it."""
        return None if self.twin.blocks else Reset(self.rng.choice(("rollback", "discard")))

    def transaction(self) -> Tx:
        """Ends or begins one."""
        if self.twin.blocks:
            return Tx(self.rng.choice(("enter", "leave", "leave", "undo")))
        return Tx(self.rng.choice(("commit", "commit", "rollback", "enter", "enter")))

    def failing(self) -> Do:
        """A statement that fails."""
        sql = self.rng.choice(
            ("SELECT 1/0", "SELECT nothing FROM nowhere", "INSERT INTO public.ex (n) VALUES ('x')", "NONSENSE")
        )
        return Do(sql, self.way())

    # cursors and statements by hand

    def any_select(self) -> str:
        """A query without parameters."""
        table = self.table()
        if table is None or self.rng.random() < 0.5:
            return self.literal_query()
        return f"SELECT * FROM {table[0]} x ORDER BY x::text"

    def declare(self) -> Any:
        """A cursor that a statement declares, with a name that was used before."""
        hold = "WITH HOLD " if self.rng.random() < 0.3 else ""
        name = self.rng.choice(("c1", "c2"))
        if name in self.twin.names("pg_cursors"):
            return Do(f"CLOSE {name}", self.way())
        if self.twin.idle and self.twin.options.autocommit and not hold:
            return None
        return Do(f"DECLARE {name} CURSOR {hold}FOR {self.any_select()}", self.way())

    def fetch(self) -> Any:
        """Its rows."""
        found = [name for name in self.twin.names("pg_cursors") if name in ("c1", "c2")]
        if not found:
            return self.declare()
        return self.read(
            f"FETCH {self.rng.choice(('ALL', 'FORWARD 1', 'NEXT'))} FROM {self.rng.choice(found)}", ANY_QUERY
        )

    def prepare(self) -> Any:
        """A prepared statement by hand."""
        name = self.rng.choice(("p1", "p2"))
        if name in self.twin.names("pg_prepared_statements"):
            return Do(f"DEALLOCATE {name}", self.way())
        return Do(f"PREPARE {name} AS {self.literal_query()}", self.way())

    def execute(self) -> Any:
        """Executes it."""
        found = [name for name in self.twin.names("pg_prepared_statements") if name in ("p1", "p2")]
        return self.read(f"EXECUTE {self.rng.choice(found)}", ANY_QUERY) if found else self.prepare()

    def routine(self) -> Any:
        """A function or procedure, whose result has now another type."""
        typname = self.rng.choice(self.types)
        found = self.value(typname)
        assert found is not None
        if self.rng.random() < 0.5:
            return self.by_whom(
                f"DROP FUNCTION IF EXISTS public.f1(); CREATE FUNCTION public.f1() RETURNS {typname} LANGUAGE sql "
                f"AS $$ SELECT {found[0]} $$",
                True,
            )
        return self.by_whom(
            f"DROP PROCEDURE IF EXISTS public.p1; CREATE PROCEDURE public.p1(INOUT x {typname}) LANGUAGE plpgsql "
            f"AS $$ BEGIN x := {found[0]}; END $$",
            True,
        )

    def call(self) -> Any:
        """Calls it, where it is."""
        sql = "select proname from pg_proc where proname in ('f1', 'p1') and pronamespace = 'public'::regnamespace"
        found = sorted(row[0] for row in self.twin.oracle.execute(sql).fetchall())
        if not found:
            return self.routine()
        if self.rng.choice(found) == "f1":
            return self.read("SELECT * FROM public.f1()", (*ANY_QUERY, "copy_out", "cursor"))
        return self.read("CALL public.p1(NULL)", ("execute", "iterate", "one", "fetch", "pipeline"))

    def open(self) -> Any:
        """A cursor of headrace's that stays open."""
        name = self.rng.choice(("n1", "n2"))
        if name in self.twin.cursors and name in self.twin.names("pg_cursors"):
            return Shut(name)
        hold = self.rng.random() < 0.4 or (self.twin.idle and self.twin.options.autocommit)
        return Open(name, self.any_select(), hold)

    def fetch_open(self) -> Any:
        """Some of its rows, where it is still there."""
        there = set(self.twin.names("pg_cursors"))
        found = [name for name in sorted(self.twin.cursors) if name in there]
        return Fetch(self.rng.choice(found), self.rng.randint(1, 3)) if found else self.open()

    # streams

    def interleave(self) -> Any:
        """A stream with other statements in between."""
        table = self.table()
        sql = (
            f"SELECT * FROM {table[0]} x ORDER BY x::text"
            if table and self.rng.random() < 0.3
            else "SELECT generate_series(1, 9)"
        )
        steps = []
        for _ in range(self.rng.randint(0, 3)):
            made = self.rng.choice(
                (self.write, self.insert_expression, self.insert_expression, self.select, self.literals)
            )()
            if made is not None:
                steps.append(made)
        ending = self.rng.choice(("close", "close", "drop", "exhaust"))
        return Interleave(
            sql, tuple(steps), self.rng.choice((1, 2, 100)), self.rng.randint(1, 5), ending, self.rng.random() < 0.3
        )


def make(rng: random.Random, twin: PostgresTwin) -> Iterator[Any]:
    """The steps of a random program."""
    return Maker(rng, twin).steps()
