"""A cursor that is executed again has the new result, or none: nothing of the one before."""

from __future__ import annotations

import gc
import weakref

import pytest

from headrace import errors
from servers import Database


@pytest.fixture
def place(any_db: Database) -> Database:
    """A database with an empty table."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists reused")
        conn.execute("create table reused (n int)")
    return any_db


def selects(place: Database, n: int) -> str:
    """A query of one row with this number."""
    return f"select {n} from {place.differences.one_row}"


async def test_a_cursor_gives_rows_after_a_batch(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn, conn.cursor() as cursor:
        await cursor.executemany("insert into reused values (1)", [(), ()])
        await cursor.execute("select count(*) from reused")
        assert await cursor.fetchall() == [(2,)]


async def test_a_cursor_whose_statement_failed_has_no_rows(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn, conn.cursor() as cursor:
        await cursor.execute(selects(place, 1))
        with pytest.raises(errors.DatabaseError):
            await cursor.execute("select nope from reused")
        with pytest.raises(errors.ProgrammingError, match="no result"):
            await cursor.fetchall()
        assert cursor.description is None


async def test_a_cursor_of_a_pipeline_that_was_reset_gives_its_next_result(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn, conn.cursor() as cursor:
        async with conn.pipeline():
            await cursor.execute(selects(place, 1))
            await conn.reset()
        await cursor.execute(selects(place, 2))
        assert await cursor.fetchall() == [(2,)]


async def test_a_cursor_of_a_pipeline_is_freed_with_the_last_reference(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn:
        gc.disable()
        try:
            async with conn.transaction(), conn.pipeline() as pipeline:
                cursor = await conn.execute(selects(place, 1))
            rows = await cursor.fetchall()
            freed = weakref.ref(cursor)
            del cursor
            assert (rows, freed()) == ([(1,)], None)
            del pipeline
        finally:
            gc.enable()


@pytest.mark.parametrize("any_db", ["postgresql", "mariadb", "mysql"], indirect=True)
async def test_a_statement_that_failed_leaves_no_result_of_the_batch_before(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn, conn.cursor() as cursor:
        await cursor.executemany("select 1", [(), ()], returning=True)
        with pytest.raises(errors.DatabaseError):
            await cursor.execute("select nope")
        assert await cursor.nextset() is None


async def test_a_cursor_shows_its_result(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn, conn.cursor() as cursor:
        assert repr(cursor).endswith("Cursor [no result]>")
        await cursor.execute(f"select 1 as a, 2 as b from {place.differences.one_row}")
        assert repr(cursor).lower().endswith(": a, b]>")
        await cursor.close()
        assert repr(cursor).endswith("Cursor [closed]>")


async def test_a_cursor_moves_within_its_rows_and_not_within_those_that_it_has_handed_over(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn:
        cursor = await conn.execute(selects(place, 7))
        assert await cursor.fetchmany(5) == [(7,)]
        await cursor.scroll(0, "absolute")
        assert (await cursor.fetchone(), cursor.rownumber) == ((7,), 1)
        cursor = await conn.execute(selects(place, 7))
        rows = await cursor.fetchall()
        assert cursor.rownumber == 1
        with pytest.raises(errors.ProgrammingError, match="fetchall"):
            await cursor.scroll(0, "absolute")
        assert await cursor.fetchone() is None
        assert await cursor.fetchmany(2) == []
        for _ in range(2):
            more = await cursor.fetchall()
            assert more == []
            more.append((8,))
        assert (cursor.rownumber, rows) == (1, [(7,)])
