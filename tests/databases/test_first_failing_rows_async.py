"""A batch of which several rows fail: the error is that of the first one, whichever strategy sends the rows, and
nothing of the batch is applied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from headrace import errors
from servers import Database

ROWS: dict[str, tuple[Any, Any]] = {"duplicate": (-1, "again"), "null": (-2, None), "refused": (object(), "x")}
"""Rows that fail: at the server, or, the last one, before they are sent."""
TWICE = "twice"
"""A row that fails because of one before the first that fails: if that one is executed later, it fails itself."""
ERRORS = {
    "duplicate": errors.UniqueViolation,
    "null": errors.NotNullViolation,
    "refused": errors.ProgrammingError,
}
CASES = [
    *((first, second, 10, 3, 7) for first, second in [("duplicate", "null"), ("null", "duplicate")]),
    *((first, second, 1000, 500, 999) for first, second in [("duplicate", "null"), ("null", "duplicate")]),
    ("null", TWICE, 1000, 520, 650),
    ("refused", "duplicate", 10, 3, 7),
    ("refused", "null", 1000, 500, 999),
    # Much has been sent by then.
    ("duplicate", "null", 65_000, 50_000, 60_000),
    # In the same chunk, if rows travel together.
    ("null", "refused", 65_000, 50_000, 50_010),
    ("refused", "null", 65_000, 50_000, 60_000),
]
"""Why the first row fails, why the second does, the number of rows, and which two they are."""


def batch(first: str, second: str, count: int, at: int, then: int) -> list[tuple[Any, Any]]:
    """Rows of which two fail."""
    rows: list[tuple[Any, Any]] = [(n, f"row {n}") for n in range(count)]
    rows[at], rows[then] = ROWS[first], (at - 3, TWICE) if second == TWICE else ROWS[second]
    return rows


def strategies(db: Database) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The strategies of a database: name, statement, keywords."""
    for name, (mark, keywords) in db.batch_strategies.items():
        yield name, f"insert into first_failing values ({mark.format(1)}, {mark.format(2)})", dict(keywords)


def prepare(db: Database) -> None:
    """A table with one row."""
    with db.connect(autocommit=True) as admin:
        admin.execute("drop table if exists first_failing")
        admin.execute(f"create table first_failing (id int primary key, name varchar(40) not null){db.transactional}")
        admin.execute("insert into first_failing values (-1, 'there')")


@pytest.mark.parametrize(("first", "second", "count", "at", "then"), CASES[:6])
async def test_the_first_failing_row_is_named_and_nothing_is_applied(
    any_db: Database, first: str, second: str, count: int, at: int, then: int
) -> None:
    prepare(any_db)
    async with await any_db.aconnect(autocommit=True) as conn:
        for name, sql, keywords in strategies(any_db):
            with pytest.raises(ERRORS[first]) as caught:
                await conn._wait(
                    conn._core.wire.execute_batch(sql, batch(first, second, count, at, then), **keywords), None
                )
            assert caught.value.row == at, name
            assert await conn.fetch("select id from first_failing") == [(-1,)], name


@pytest.mark.parametrize("before", ["duplicate", "null"])
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
@pytest.mark.parametrize("autocommit", [True, False])
async def test_nothing_of_a_small_batch_is_sent_if_a_row_cannot_be(
    any_db: Database, autocommit: bool, inside: bool, before: str
) -> None:
    """The server would refuse an earlier row, but it is never asked."""
    prepare(any_db)
    async with await any_db.aconnect(autocommit=autocommit) as conn:
        for name, sql, keywords in strategies(any_db):
            rows = batch(before, "refused", 10, 3, 7)
            with pytest.raises(ERRORS["refused"]) as caught:
                async with conn.transaction() if inside else contextlib.nullcontext():
                    await conn._wait(conn._core.wire.execute_batch(sql, rows, **keywords), None)
            assert caught.value.row == 7, name
            assert await conn.fetch("select id from first_failing") == [(-1,)], name
            await conn.executemany(sql, [(1, "one"), (2, "two")])
            assert await conn.fetch("select id from first_failing order by id") == [(-1,), (1,), (2,)], name
            await conn.execute("delete from first_failing where id > 0")
            await conn.commit()
