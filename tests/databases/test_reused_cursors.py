"""A cursor that is executed again has the new result, or none: nothing of the one before."""

# Made by tools/async_to_sync.py of test_reused_cursors_async.py: edit that file, and run the tool.

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


def test_a_cursor_gives_rows_after_a_batch(place: Database) -> None:
    with place.connect(autocommit=True) as conn, conn.cursor() as cursor:
        cursor.executemany("insert into reused values (1)", [(), ()])
        cursor.execute("select count(*) from reused")
        assert cursor.fetchall() == [(2,)]


def test_a_cursor_whose_statement_failed_has_no_rows(place: Database) -> None:
    with place.connect(autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute(selects(place, 1))
        with pytest.raises(errors.DatabaseError):
            cursor.execute("select nope from reused")
        with pytest.raises(errors.ProgrammingError, match="no result"):
            cursor.fetchall()
        assert cursor.description is None


def test_a_cursor_of_a_pipeline_that_was_reset_gives_its_next_result(place: Database) -> None:
    with place.connect(autocommit=True) as conn, conn.cursor() as cursor:
        with conn.pipeline():
            cursor.execute(selects(place, 1))
            conn.reset()
        cursor.execute(selects(place, 2))
        assert cursor.fetchall() == [(2,)]


def test_a_cursor_of_a_pipeline_is_freed_with_the_last_reference(place: Database) -> None:
    with place.connect(autocommit=True) as conn:
        gc.disable()
        try:
            with conn.transaction(), conn.pipeline() as pipeline:
                cursor = conn.execute(selects(place, 1))
            rows = cursor.fetchall()
            freed = weakref.ref(cursor)
            del cursor
            assert (rows, freed()) == ([(1,)], None)
            del pipeline
        finally:
            gc.enable()


@pytest.mark.parametrize("any_db", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_a_statement_that_failed_leaves_no_result_of_the_batch_before(place: Database) -> None:
    with place.connect(autocommit=True) as conn, conn.cursor() as cursor:
        cursor.executemany("select 1", [(), ()], returning=True)
        with pytest.raises(errors.DatabaseError):
            cursor.execute("select nope")
        assert cursor.nextset() is None


def test_a_cursor_shows_its_result(place: Database) -> None:
    with place.connect(autocommit=True) as conn, conn.cursor() as cursor:
        assert repr(cursor).endswith("Cursor [no result]>")
        cursor.execute(f"select 1 as a, 2 as b from {place.differences.one_row}")
        assert repr(cursor).lower().endswith(": a, b]>")
        cursor.close()
        assert repr(cursor).endswith("Cursor [closed]>")


def test_a_cursor_moves_within_its_rows_and_not_within_those_that_it_has_handed_over(place: Database) -> None:
    with place.connect(autocommit=True) as conn:
        cursor = conn.execute(selects(place, 7))
        assert cursor.fetchmany(5) == [(7,)]
        cursor.scroll(0, "absolute")
        assert (cursor.fetchone(), cursor.rownumber) == ((7,), 1)
        cursor = conn.execute(selects(place, 7))
        rows = cursor.fetchall()
        assert cursor.rownumber == 1
        with pytest.raises(errors.ProgrammingError, match="fetchall"):
            cursor.scroll(0, "absolute")
        assert cursor.fetchone() is None
        assert cursor.fetchmany(2) == []
        for _ in range(2):
            more = cursor.fetchall()
            assert more == []
            more.append((8,))
        assert (cursor.rownumber, rows) == (1, [(7,)])
