"""Cursors that stay open on the server: scrolled in any order, and held after a commit."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.aio.cubrid
import headrace.cubrid
from headrace import errors
from headrace.rows import dict_row

ALL = "select n from numbers order by n"
TWO_PAGES = 900
"""A row of the table of 1,000 that is not in the first page."""


def wide(rows: int) -> str:
    """A query whose rows are so long that a page has few of them."""
    return f"select n, repeat('x', 1000) from numbers where n < {rows} order by n"


def test_rows_are_fetched_in_any_order(conn: Any, numbers: str) -> None:
    with conn.transaction():
        cursor = conn.cursor(scrollable=True)
        cursor.execute(wide(1000))
        assert cursor.rowcount == 1000
        assert cursor.fetch_last()[0] == 999
        assert cursor.fetchone() is None
        assert cursor.fetch_absolute(TWO_PAGES)[0] == TWO_PAGES - 1
        assert cursor.fetch_prior()[0] == TWO_PAGES - 2
        assert cursor.fetch_relative(2)[0] == TWO_PAGES
        assert cursor.fetch_first()[0] == 0
        assert [row[0] for row in cursor.fetchmany(3)] == [1, 2, 3]
        cursor.scroll(10)
        assert cursor.fetchone()[0] == 14
        cursor.scroll(998, mode="absolute")
        assert [row[0] for row in cursor.fetchall()] == [998, 999]
        cursor.scroll(0)
        assert cursor.fetchone() is None
        with pytest.raises(IndexError):
            cursor.scroll(1001, mode="absolute")
        cursor.scroll(0, mode="absolute")
        assert [row[0] for row in cursor] == list(range(1000))
        cursor.close()


def test_other_statements_run_between_two_pages(conn: Any, numbers: str) -> None:
    with conn.transaction(), conn.cursor(scrollable=True, row_factory=dict_row) as cursor:
        cursor.execute(wide(100))
        seen = []
        for row in cursor:
            assert conn.fetchval("select n + 1 from numbers where n = ?", row["n"]) == row["n"] + 1
            seen.append(row["n"])
        assert seen == list(range(100))


def test_a_result_outlives_the_commit(url: str, numbers: str) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        cursor = conn.cursor(withhold=True)
        cursor.execute(wide(200))
        assert cursor.fetchone()[0] == 0
        with conn.transaction():
            conn.fetch(ALL)
        assert [row[0] for row in cursor.fetchall()] == list(range(1, 200))
        cursor.close()
        assert conn.fetchval("select count(*) from numbers") == 1000


def test_a_result_that_is_not_held_ends_with_its_transaction(conn: Any, numbers: str) -> None:
    cursor = conn.cursor(scrollable=True)
    cursor.execute(wide(200))
    conn.commit()
    with pytest.raises(errors.DatabaseError):
        cursor.fetchall()
    assert conn.fetchval("select 1") == 1


def test_a_rollback_ends_also_a_result_that_is_held(conn: Any, numbers: str) -> None:
    cursor = conn.cursor(withhold=True)
    cursor.execute(wide(200))
    conn.rollback()
    with pytest.raises(errors.DatabaseError):
        cursor.fetchall()
    assert conn.fetchval("select 1") == 1


def test_mistakes_are_named(url: str, numbers: str) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.ProgrammingError, match="needs a transaction"):
            conn.cursor(scrollable=True).execute(ALL)
        with pytest.raises(errors.ProgrammingError, match="either streams"):
            conn.cursor(scrollable=True, stream=True)  # type: ignore[call-overload]
        with pytest.raises(errors.ProgrammingError, match="returns rows"):
            conn.cursor(withhold=True).execute("delete from numbers where n < 0")
        with pytest.raises(errors.ProgrammingError, match="not executed"):
            conn.cursor(withhold=True).fetchone()
        with pytest.raises(errors.ProgrammingError):
            conn.cursor(withhold=True).execute("select nonesuch from numbers")
        assert conn.fetchval("select 1") == 1


async def test_on_asyncio(url: str, numbers: str) -> None:
    async with await headrace.aio.cubrid.connect(url, autocommit=True) as conn:
        cursor = conn.cursor(withhold=True)
        await cursor.execute("select n from numbers where n < ? order by n", (500,))
        await conn.execute("update numbers set n = n where n = 1")
        assert (await cursor.fetch_last()) == (499,)
        await cursor.scroll(0, mode="absolute")
        assert [n async for (n,) in cursor] == list(range(500))
        await cursor.close()
