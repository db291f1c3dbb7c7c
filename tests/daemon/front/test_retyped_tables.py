"""Random changes of tables, not through the daemon, under clients that hold prepared statements: each row is of the
columns that its client was told of, or an error comes in its place."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from ..raw import EXECUTE, SYNC, Client, close, describe, message, messages, parse, sqlstates
from .conftest import Front

STEPS = 120
INT2, INT4, INT8, FLOAT4, FLOAT8, TEXT, NUMERIC, DATE = 21, 23, 20, 700, 701, 25, 1700, 1082
TYPES = {
    "smallint": (INT2, "7", struct.pack("!h", 7)),
    "int": (INT4, "7", struct.pack("!i", 7)),
    "bigint": (INT8, "7", struct.pack("!q", 7)),
    "float": (FLOAT4, "1.5", struct.pack("!f", 1.5)),
    "double precision": (FLOAT8, "1.5", struct.pack("!d", 1.5)),
    "varchar(20)": (TEXT, "'seven'", b"seven"),
}
"""What a column of a type has: PostgreSQL's number of the type, the literal of a value, and the value in binary."""
INFORMIX = {"float": "smallfloat", "double precision": "float"}
"""Other names of types."""
SHAPES = [("a", "b"), ("b", "a"), ("a",), ("b", "c"), ("a", "b", "c"), ("c", "b", "a")]
PORTAL = message(b"D", b"P\0")


class Table:
    """A table that is made again with other columns."""

    def __init__(self, front: Front, admin: Any, chance: random.Random) -> None:
        self.front, self.admin, self.chance = front, admin, chance
        self.columns: dict[str, str] = {}
        self.make()

    def make(self) -> None:
        """Makes it, with one row."""
        self.columns = {name: self.chance.choice(list(TYPES)) for name in self.chance.choice(SHAPES)}
        renamed = INFORMIX if self.front.name == "informix" else {}
        types = ", ".join(f"{name} {renamed.get(kind, kind)}" for name, kind in self.columns.items())
        self.admin.execute("drop table if exists retyped")
        self.admin.execute(f"create table retyped ({types})")
        values = ", ".join(TYPES[kind][1] for kind in self.columns.values())
        self.admin.execute(f"insert into retyped values ({values})")

    @property
    def row(self) -> dict[str, tuple[int, bytes]]:
        """The type and the value of each column."""
        return {name: (TYPES[kind][0], TYPES[kind][2]) for name, kind in self.columns.items()}


def columns_of(answer: bytes) -> list[tuple[str, int]] | None:
    """Names and types of a RowDescription, if there is one."""
    for tag, body in messages(answer):
        if tag == b"T":
            found, at = [], 2
            for _ in range(struct.unpack_from("!h", body)[0]):
                end = body.index(b"\0", at)
                found.append((body[at:end].decode(), struct.unpack_from("!i", body, end + 7)[0]))
                at = end + 19
            return found
    return None


def fields_of(body: bytes) -> list[bytes]:
    """Those of a DataRow."""
    found, at = [], 2
    for _ in range(struct.unpack_from("!h", body)[0]):
        (length,) = struct.unpack_from("!i", body, at)
        found.append(body[at + 4 : at + 4 + length])
        at += 4 + length
    return found


class Reader:
    """A client that learns the columns of its statement once, and reads rows in binary."""

    def __init__(self, front: Front, sql: str, *, by_portal: bool) -> None:
        self.client = Client.local(front.socket, user="anyone", database=f"{front.name}_two")
        self.sql, self.by_portal = sql, by_portal
        self.number = 0
        self.told: list[tuple[str, int]] | None = None

    def read(self, table: Table) -> bool:
        """Executes it; returns true if there was a row, whose columns are as they were told, and as they are."""
        parts = b""
        if self.told is None:
            self.number += 1
            parts = close(f"s{self.number - 1}") + parse(f"s{self.number}", self.sql)
            if not self.by_portal:
                answer = self.client.ask(parts + describe(f"s{self.number}") + SYNC)
                if (columns := columns_of(answer)) is None:
                    return self.failed(answer)
                self.told, parts = columns, b""
        binary = message(b"B", f"\0s{self.number}\0".encode() + struct.pack("!hhhh", 0, 0, 1, 1))
        answer = self.client.ask(parts + binary + (PORTAL if self.told is None else b"") + EXECUTE + SYNC)
        self.told = self.told or columns_of(answer)
        rows = [body for tag, body in messages(answer) if tag == b"D"]
        if not rows:
            return self.failed(answer)
        assert sqlstates(answer) == []
        assert self.told is not None
        found = {name: (oid, field) for (name, oid), field in zip(self.told, fields_of(rows[0]), strict=True)}
        wanted = table.row if "*" in self.sql else {"b": table.row["b"]}
        assert list(found.items()) == list(wanted.items())
        return True

    def failed(self, answer: bytes) -> bool:
        """It is told so, and learns the columns anew. The column may not be there."""
        assert set(sqlstates(answer)) <= {"0A000", "42703", "42P01"}, answer
        assert len(sqlstates(answer)) == 1, answer
        self.told = None
        return False


@pytest.mark.parametrize("seed", range(2))
def test_rows_are_of_the_columns_that_their_client_was_told(other: Front, seed: int) -> None:
    chance = random.Random(f"{other.name} {seed}")
    with other.direct() as admin:
        table = Table(other, admin, chance)
        readers = [
            Reader(other, sql, by_portal=by_portal)
            for sql in ("select * from retyped", "select b from retyped")
            for by_portal in (False, True)
        ]
        read = 0
        for _ in range(STEPS):
            if chance.random() < 0.2:
                table.make()
            else:
                read += chance.choice(readers).read(table)
        assert read > STEPS / 4
        for each in readers:
            each.client.close()
        admin.execute("drop table retyped")
