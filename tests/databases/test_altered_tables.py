"""Statements that were prepared before another session altered the table: batches of rows from an iterator, and values
that fit the altered column only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from headrace import errors
from servers import Database


class Raised(Exception):
    """Of the program's own iterator."""


def rows_from(count: int, *, fails: bool = False) -> Iterator[tuple[str]]:
    """The rows; after the last one, an exception if it fails."""
    for n in range(count):
        yield (f"row {n}",)
    if fails:
        raise Raised


@pytest.fixture
def altered(any_db: Database) -> Iterator[tuple[Any, str]]:
    """A connection that has inserted into a table which another one has altered since, and that INSERT."""
    sql = f"insert into iterated values ({any_db.differences.mark})"
    with any_db.connect(autocommit=True) as other, any_db.connect(autocommit=True) as conn:
        other.execute("drop table if exists iterated")
        other.execute(f"create table iterated (a varchar(40)){any_db.transactional}")
        conn.executemany(sql, rows_from(2))
        other.execute(any_db.change_type("iterated", "a", "varchar(60)"))
        yield conn, sql
        other.execute("drop table iterated")


def count(conn: Any) -> int:
    """The rows of the table."""
    return int(conn.fetchval("select count(*) from iterated"))


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
def test_it_is_prepared_again(altered: tuple[Any, str], inside: bool) -> None:
    conn, sql = altered
    if inside:
        with conn.transaction():
            conn.executemany(sql, rows_from(500))
    else:
        conn.executemany(sql, rows_from(500))
    assert count(conn) == 502


def test_what_its_iterator_raises_is_raised_and_nothing_is_applied(altered: tuple[Any, str]) -> None:
    conn, sql = altered
    with pytest.raises(Raised):
        conn.executemany(sql, rows_from(500, fails=True))
    assert count(conn) == 2


def test_more_rows_than_are_kept_are_all_applied(any_db: Database, altered: tuple[Any, str]) -> None:
    conn, sql = altered
    for before in (2, 20_002):
        conn.executemany(sql, rows_from(20_000))
        assert count(conn) == before + 20_000


def test_a_pipeline_says_once_that_its_table_was_altered(any_db: Database, altered: tuple[Any, str]) -> None:
    """Only Informix refuses an INSERT then, and later statements were sent already."""
    conn, sql = altered

    def piped() -> None:
        with conn.pipeline():
            for row in rows_from(3):
                conn.execute(sql, row)

    if any_db.stale_code is not None:
        with pytest.raises(errors.OperationalError) as caught:
            piped()
        assert caught.value.sqlcode == any_db.stale_code
        conn.execute("delete from iterated where a <> 'row 0' and a <> 'row 1'")
    before = count(conn)
    piped()
    assert count(conn) == before + 3


async def test_it_is_prepared_again_on_a_loop(any_db: Database, altered: tuple[Any, str]) -> None:
    _, sql = altered
    async with await any_db.aconnect(autocommit=True) as conn, await any_db.aconnect(autocommit=True) as other:
        await conn.executemany(sql, rows_from(2))
        await other.execute(any_db.change_type("iterated", "a", "varchar(80)"))
        await conn.executemany(sql, rows_from(500))
        assert await conn.fetchval("select count(*) from iterated") == 504


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
@pytest.mark.parametrize("way", ["execute", "pipeline", "executemany"])
def test_a_value_that_fits_the_altered_column_is_accepted(any_db: Database, way: str, inside: bool) -> None:
    mark = any_db.differences.mark
    statements = {
        f"insert into widened (a) values ({mark})": ((2**40,), (2**40,)),
        f"update widened set a = {mark} where a > 1": ((2**41,), (2**41,)),
    }
    with any_db.connect(autocommit=True) as other, any_db.connect(autocommit=True) as conn:
        for sql, (parameters, stored) in statements.items():
            other.execute("drop table if exists widened")
            other.execute(f"create table widened (a smallint){any_db.transactional}")
            other.execute("insert into widened values (2)")
            conn.execute(sql, (3,))
            other.execute(any_db.change_type("widened", "a", "bigint"))
            with conn.transaction() if inside else contextlib.nullcontext():
                if way == "execute":
                    conn.execute(sql, parameters)
                elif way == "executemany":
                    conn.executemany(sql, [parameters])
                else:
                    with conn.pipeline():
                        conn.execute(sql, parameters)
            assert stored in conn.fetch("select a from widened"), sql
        other.execute("drop table widened")
