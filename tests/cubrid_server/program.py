"""A client's work on a CUBRID server, written down line by line: what pycubrid gets for each statement.

Run by itself on a genuine server, in the folder ``tests``, it prints what the test server has to print::

    python -m cubrid_server.program 127.0.0.1 33000 testdb > cubrid_server/expected.txt
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pycubrid
from pycubrid import Multiset, Sequence, Set

from .statements import (
    CHANGES,
    CLEANUP,
    COMPARED,
    COMPARED_ROWS,
    COMPARISONS,
    DJANGO,
    ERRORS,
    EXPRESSIONS,
    QUERIES,
    REFUSED,
    SETUP,
    TYPES,
)

MASKS = (
    (re.compile(r"\((B\+tree|CLASS_OID|OID): [^)]*\)"), r"(\1)"),
    (re.compile(r"(Invalid json:).*", re.DOTALL), r"\1"),
    (re.compile(r"^(Semantic|Syntax|Execute): (In line \d+, column \d+ )?before .*?'\n", re.DOTALL), r"\1: "),
)


def message(error: BaseException) -> str:
    """The code and what an error says, without the statement and the place in it."""
    code = getattr(error, "errno", None)
    text = re.sub(r" \(errno=.*", "", str(error), flags=re.DOTALL)
    for mask, instead in MASKS:
        text = mask.sub(instead, text)
    first = re.split(r"(?<=[.])\s", text + " ", maxsplit=1)[0]
    if code == -493:
        # Two grammars do not expect the same tokens.
        first = re.sub(r"(Syntax: (Unknown class \S+)?).*", r"\1", first, flags=re.DOTALL)
    return f"{type(error).__name__} {code} {first}".replace("\n", " ")


def columns(cursor: Any) -> str:
    """The columns of a result: name, type, precision, scale."""
    return ", ".join(f"{name}:{int(kind)}:{size}:{scale}" for name, kind, _, _, size, scale, _ in cursor.description)


def written(value: Any) -> str:
    """A value as text; sets have an order here."""
    if isinstance(value, (list, tuple)):
        ends = "[]" if isinstance(value, list) else "()"
        return f"{ends[0]}{', '.join(written(each) for each in value)}{ends[1]}"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(repr(each) for each in value))}}}"
    return repr(value)


class Program:
    """A connection and what is written down."""

    def __init__(self, host: str, port: int, database: str) -> None:
        self.parameters = {"host": host, "port": port, "user": "dba", "password": "", "database": database}
        self.connection: Any = self.connect()
        self.cursor: Any = self.connection.cursor()

    def connect(self) -> Any:
        """A connection whose collections are Python's."""
        return pycubrid.connect(**self.parameters, decode_collections=True)

    def run(self, sql: str, shown: str | None = None) -> str:
        """One statement and what it gives."""
        shown = shown or sql
        try:
            self.cursor.execute(sql)
            if self.cursor.description:
                return f"{shown} | {columns(self.cursor)} | {written(self.cursor.fetchall())}"
            return f"{shown} | {self.cursor.rowcount}"
        except pycubrid.Error as error:
            return f"{shown} | {message(error)}"

    def tables(self) -> Iterator[str]:
        """The tables that the other parts use."""
        for sql in CLEANUP:
            self.cursor.execute(sql)
        self.connection.commit()
        for sql in SETUP:
            yield self.run(sql)
        self.connection.commit()

    def types(self) -> Iterator[str]:
        """Each type with its values and its NULL."""
        for ty, values in TYPES.items():
            self.cursor.execute("DROP TABLE IF EXISTS hr_t")
            yield self.run(f"CREATE TABLE hr_t (n INT, v {ty})")
            for number, value in enumerate([*values, "NULL"]):
                yield self.run(f"INSERT INTO hr_t VALUES ({number}, {value})")
            yield self.run("SELECT n, v FROM hr_t ORDER BY n", f"{ty}: SELECT n, v FROM hr_t ORDER BY n")
            yield self.run("DESC hr_t", f"{ty}: DESC hr_t")
        for ty, values in REFUSED.items():
            self.cursor.execute("DROP TABLE IF EXISTS hr_t")
            self.cursor.execute(f"CREATE TABLE hr_t (n INT, v {ty})")
            for value in values:
                yield self.run(f"INSERT INTO hr_t (v) VALUES ({value})", f"{ty}: {value}")
            yield self.run("SELECT v FROM hr_t ORDER BY 1", f"{ty}: SELECT v")
        self.connection.rollback()

    def parameters_by_type(self) -> Iterator[str]:
        """Values as typed parameters of a prepared statement."""
        given: dict[str, list[Any]] = {
            "INT": [0, -1, 2**31 - 1, None],
            "BIGINT": [2**40, -(2**63), None],
            "SMALLINT": [5, None],
            "DOUBLE": [0.1, 1 / 3, 1e300, None],
            "NUMERIC(20,5)": [Decimal("1.5"), Decimal("-0.00001"), 7, None],
            "VARCHAR(20)": ["", "it's ? \\", "한글", None],
            "CHAR(5)": ["ab", None],
            "DATE": [datetime.date(2024, 2, 29), None],
            "TIME": [datetime.time(13, 45, 59), None],
            "DATETIME": [datetime.datetime(2024, 2, 29, 13, 45, 59, 123000), None],
            "TIMESTAMP": [datetime.datetime(2024, 2, 29, 13, 45, 59), None],
            "DATETIMETZ": [datetime.datetime(2024, 2, 29, 13, 45, 59, tzinfo=datetime.timezone.utc), None],
            "BIT VARYING(64)": [b"\x00\xff", None],
            "SET(INT)": [Set([3, 1, 3]), None],
            "MULTISET(INT)": [Multiset([3, 1, 3]), None],
            "SEQUENCE(VARCHAR(5))": [Sequence(["b", "a"]), None],
            "JSON": ['{"a": 1}', None],
        }
        for ty, values in given.items():
            self.cursor.execute("DROP TABLE IF EXISTS hr_t")
            self.cursor.execute(f"CREATE TABLE hr_t (n INT, v {ty})")
            try:
                rows = list(enumerate(values))
                self.cursor.executemany("INSERT INTO hr_t VALUES (?, ?)", rows, prepared=True)
                yield f"{ty}: prepared | {self.cursor.rowcount}"
            except pycubrid.Error as error:
                yield f"{ty}: prepared | {message(error)}"
            yield self.run("SELECT n, v FROM hr_t ORDER BY n", f"{ty}: bound")
            for value in values[:2]:
                try:
                    self.cursor.execute("SELECT n FROM hr_t WHERE v = ? ORDER BY n", (value,))
                    yield f"{ty}: found | {self.cursor.fetchall()}"
                except pycubrid.Error as error:
                    yield f"{ty}: found | {message(error)}"
        for ty, value in (("INT", "abc"), ("VARCHAR(2)", "abc"), ("SMALLINT", 70000), ("DATE", "x"), ("CHAR(1)", "ab")):
            self.cursor.execute("DROP TABLE IF EXISTS hr_t")
            self.cursor.execute(f"CREATE TABLE hr_t (v {ty})")
            try:
                self.cursor.executemany("INSERT INTO hr_t VALUES (?)", [(value,)], prepared=True)
                yield f"{ty}: refused | {self.cursor.rowcount}"
            except pycubrid.Error as error:
                yield f"{ty}: refused | {message(error)}"
        self.connection.rollback()

    def lists(self) -> Iterator[str]:
        """Expressions, queries, changes and errors."""
        for expression in EXPRESSIONS.strip("\n").split("\n"):
            yield self.run(f"SELECT {expression}")
        for query in QUERIES.strip().split("\n"):
            yield self.run(query)
        for change in CHANGES.strip().split("\n"):
            yield self.run(change)
        self.connection.rollback()
        yield self.run("SELECT COUNT(*) FROM hr_a", "after ROLLBACK")
        for statement in ERRORS.strip().split("\n"):
            yield self.run(statement)
            self.connection.rollback()

    def comparisons(self) -> Iterator[str]:
        """Columns beside literals of other types."""
        self.cursor.execute(
            "CREATE TABLE hr_t (n INT, dy DATE, ts TIMESTAMP, dt DATETIME, tm TIME, i INT, s VARCHAR(30))"
        )
        self.cursor.execute(f"INSERT INTO hr_t VALUES {', '.join(COMPARED_ROWS)}")
        for column, literals in COMPARED.items():
            for literal in literals:
                for comparison in COMPARISONS:
                    condition = comparison.format(c=column, l=literal)
                    yield self.run(f"SELECT n FROM hr_t WHERE {condition} ORDER BY n", condition)
        self.connection.rollback()

    def definitions(self) -> Iterator[str]:
        """What an ORM writes, and what a genuine server refuses of it."""
        for sql in DJANGO.strip().split("\n"):
            self.cursor.execute("SAVEPOINT one")
            yield (line := self.run(sql))
            if "Error -" in line:
                self.cursor.execute("ROLLBACK TO SAVEPOINT one")
        self.connection.rollback()

    def transactions(self) -> Iterator[str]:
        """Commit, rollback, savepoints and autocommit, seen by a second connection."""
        second = self.connect()
        other = second.cursor()

        def seen() -> Any:
            other.execute("SELECT COUNT(*) FROM hr_u")
            found = other.fetchall()
            second.rollback()
            return found

        yield self.run("INSERT INTO hr_u VALUES (1, 'a')")
        yield f"before commit | {seen()}"
        self.connection.commit()
        yield f"after commit | {seen()}"
        yield self.run("INSERT INTO hr_u VALUES (2, 'b')")
        yield self.run("SAVEPOINT one")
        yield self.run("INSERT INTO hr_u VALUES (3, 'c')")
        yield self.run("ROLLBACK TO SAVEPOINT one")
        yield self.run("SELECT k FROM hr_u ORDER BY k")
        yield self.run("INSERT INTO hr_u VALUES (1, 'again')")
        yield self.run("SELECT k FROM hr_u ORDER BY k", "after an error")
        self.connection.rollback()
        yield f"after rollback | {seen()}"
        yield self.run("CREATE TABLE hr_c (id INT)")
        self.connection.rollback()
        yield self.run("SELECT * FROM hr_c", "a definition is rolled back")
        self.connection.rollback()
        self.connection.autocommit = True
        yield self.run("INSERT INTO hr_u VALUES (4, 'd')", "autocommit")
        yield f"in autocommit | {seen()}"
        yield self.run("INSERT INTO hr_u VALUES (4, 'd')", "autocommit, duplicate")
        yield self.run("DELETE FROM hr_u")
        self.connection.autocommit = False
        second.close()

    def batches(self) -> Iterator[str]:
        """executemany, batches of texts, and their errors; generated numbers."""
        self.cursor.executemany("INSERT INTO hr_u VALUES (?, ?)", [(number, f"v{number}") for number in range(50)])
        yield f"executemany | {self.cursor.rowcount}"
        more = [(number, None) for number in range(50, 100)]
        self.cursor.executemany("INSERT INTO hr_u VALUES (?, ?)", more, prepared=True)
        yield f"prepared | {self.cursor.rowcount}"
        yield self.run("SELECT COUNT(*), COUNT(v), MAX(k) FROM hr_u")
        for prepared in (False, True):
            try:
                rows = [(200, "a"), (1, "duplicate"), (201, "b")]
                self.cursor.executemany("INSERT INTO hr_u VALUES (?, ?)", rows, prepared=prepared)
                yield "duplicate in a batch | none"
            except pycubrid.Error as error:
                yield f"duplicate in a batch | {message(error)}"
            yield self.run("SELECT COUNT(*) FROM hr_u")
            self.connection.rollback()
        texts = ["INSERT INTO hr_u VALUES (1, 'a')", "UPDATE hr_u SET v = 'b'", "DELETE FROM hr_u"]
        self.cursor.executemany_batch(texts)
        yield f"texts | {self.cursor.rowcount}"
        self.connection.rollback()
        for sql in (
            "INSERT INTO hr_a (name) VALUES ('x')",
            "INSERT INTO hr_a (name) VALUES ('y'), ('z')",
            "INSERT INTO hr_u VALUES (7, 'no number')",
        ):
            self.cursor.execute(sql)
            yield f"{sql} | {self.cursor.lastrowid is not None}"
        self.connection.rollback()

    def pages(self) -> Iterator[str]:
        """A result of several pages."""
        self.cursor.executemany("INSERT INTO hr_u VALUES (?, ?)", [(n, "x" * 20) for n in range(3000)], prepared=True)
        self.cursor.execute("SELECT k, v FROM hr_u ORDER BY k")
        first = self.cursor.fetchmany(10)
        rest = self.cursor.fetchall()
        yield f"pages | {len(first)} {len(rest)} {rest[-1]} {sum(row[0] for row in rest)}"
        yield self.run("SELECT a.k FROM hr_u a, hr_u b WHERE a.k = b.k AND a.k < 2 ORDER BY 1")
        self.connection.rollback()

    def lobs(self) -> Iterator[str]:
        """Large objects."""
        yield self.run("CREATE TABLE hr_l (n INT, b BLOB, c CLOB)")
        yield self.run("INSERT INTO hr_l VALUES (1, BIT_TO_BLOB(X'0102FF'), CHAR_TO_CLOB('text 한글'))")
        yield self.run("SELECT n, CLOB_TO_CHAR(c), BLOB_TO_BIT(b), CLOB_LENGTH(c), BLOB_LENGTH(b) FROM hr_l")
        lob = self.connection.create_lob(23)
        yield f"written | {lob.write(b'0123456789' * 20000)}"
        data = lob.read(200000)
        yield f"read | {len(data)} {data[:12]!r} {data[-3:]!r}"
        yield f"the middle | {lob.read(5, 81906)!r}"
        self.cursor.executemany("INSERT INTO hr_l (n, b) VALUES (?, ?)", [(2, lob)], prepared=True)
        yield self.run("SELECT n, BLOB_LENGTH(b) FROM hr_l ORDER BY n")
        self.connection.rollback()

    def schema(self) -> Iterator[str]:
        """SCHEMA_INFO."""
        for kind in (1, 2, 4, 11, 16, 17, 18):
            try:
                info = self.connection.get_schema_info(kind, "hr_b" if kind != 18 else "hr_a")
                yield f"schema {kind} | {info.tuple_count if hasattr(info, 'tuple_count') else info}"
                rows = self.connection.fetch_schema_info(info)
                yield f"schema {kind} | {rows}"
                self.connection.close_schema_info(info)
            except pycubrid.Error as error:
                yield f"schema {kind} | {type(error).__name__} {error}"
        yield f"version | {self.connection.get_server_version().rpartition('.')[0]}"

    def everything(self) -> Iterator[str]:
        """All lines."""
        parts = (
            self.tables,
            self.types,
            self.parameters_by_type,
            self.lists,
            self.comparisons,
            self.definitions,
            self.transactions,
            self.batches,
            self.pages,
            self.lobs,
            self.schema,
        )
        for part in parts:
            yield f"-- {part.__name__}"
            yield from part()
        for sql in CLEANUP:
            self.cursor.execute(sql)
        self.connection.commit()
        self.connection.close()


if __name__ == "__main__":
    for line in Program(sys.argv[1], int(sys.argv[2]), sys.argv[3]).everything():
        print(line.replace("\n", "\\n"))
