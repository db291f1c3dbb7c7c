"""The facade of MySQLdb: what its ends say of lost sessions, and of statements whose errors nobody has read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

import headrace.compat.mysqldb as facade
from headrace.compat.mysqldb import IntegrityError, MySQLError
from headrace.compat.mysqldb.cursors import SSCursor

from .runs import KILLS, Place, Run, run_everywhere

pytestmark = pytest.mark.parametrize("place", ["mariadb", "mysql"], indirect=True)
DUPLICATE = 1062


def connected(place: Place, **keywords: Any) -> Any:
    """A connection of the facade, by the way."""
    url = urlsplit(place.url)
    where = {"host": url.hostname, "port": url.port, "user": url.username, "password": url.password}
    return facade.connect(**where, database=url.path[1:], **keywords)


# sessions that end


async def _rows(run: Run, cursor: Any) -> None:
    await run.point()
    for _ in range(2):
        number = run.new()
        cursor.execute(run.insert_of(number))
        run.claimed.append(number)
        await run.point()


async def committed(run: Run) -> None:
    conn = connected(run.place)
    run.place.sessions.append(conn)
    await _rows(run, conn.cursor())
    conn.commit()


async def cursor_block(run: Run) -> None:
    with connected(run.place) as conn:
        with conn.cursor() as cursor:
            await _rows(run, cursor)
        conn.commit()


async def caught(run: Run) -> None:
    with connected(run.place) as conn:
        cursor = conn.cursor()
        await run.point()
        number = run.new()
        cursor.execute(run.insert_of(number))
        run.claimed.append(number)
        await run.point()
        try:
            cursor.execute(run.insert_of(run.new()))
        except MySQLError:
            await run.point()
        conn.commit()


async def autocommitted(run: Run) -> None:
    with connected(run.place, autocommit=True) as conn:
        cursor = conn.cursor()
        await run.point()
        for _ in range(2):
            number = run.new()
            cursor.execute(run.insert_of(number))
            run.kept.append(number)
            await run.point()


async def batch(run: Run) -> None:
    with connected(run.place) as conn:
        await run.point()
        numbers = [run.new() for _ in range(3)]
        conn.cursor().executemany("insert into ends values (%s)", [(number,) for number in numbers])
        run.claimed += numbers
        await run.point()
        conn.commit()


async def several(run: Run) -> None:
    """Statements of one text, the results of which are not read."""
    with connected(run.place, autocommit=True) as conn:
        await run.point()
        numbers = [run.new(), run.new()]
        with conn.cursor() as cursor:
            cursor.execute("; ".join(map(run.insert_of, numbers)))
        run.claimed += numbers
        await run.point()


async def autocommit_turned_on(run: Run) -> None:
    """It commits."""
    with connected(run.place) as conn:
        await _rows(run, conn.cursor())
        conn.autocommit(True)
        run.kept += run.claimed


def test_an_end_without_an_error_means_stored(place: Place) -> None:
    cases = (committed, cursor_block, caught, autocommitted, batch, several, autocommit_turned_on)
    found = [
        f"{case.__name__}, {fault}"
        for case in cases
        for kind in KILLS
        if not kind.noticed
        for fault in run_everywhere(place, case, kind, None, MySQLError)
    ]
    assert found == []


# errors that nobody has read

ENDS: dict[str, Callable[[Any, Any], object]] = {
    "nextset": lambda _, cursor: cursor.nextset(),
    "close": lambda _, cursor: cursor.close(),
    "end of the cursor's block": lambda _, cursor: cursor.__exit__(None, None, None),
    "execute": lambda _, cursor: cursor.execute("select 1"),
    "executemany": lambda _, cursor: cursor.executemany("insert into unread values (%s)", [(7,), (8,)]),
    "callproc": lambda _, cursor: cursor.callproc("unread_good"),
    "another cursor": lambda conn, _: conn.cursor().execute("select 1"),
    "a cursor that streams": lambda conn, _: conn.cursor(SSCursor).execute("select 1"),
    "commit": lambda conn, _: conn.commit(),
    "rollback": lambda conn, _: conn.rollback(),
    "autocommit": lambda conn, _: conn.autocommit(True),
    "select_db": lambda conn, _: conn.select_db("test"),
    "ping": lambda conn, _: conn.ping(),
    "query": lambda conn, _: conn.query("select 1"),
    "close of the connection": lambda conn, _: conn.close(),
    "end of the connection's block": lambda conn, _: conn.__exit__(None, None, None),
}
STATEMENTS = ("call unread_bad()", "insert into unread values (1); insert into unread values (1)")


@pytest.fixture
def unread(place: Place) -> Place:
    """A procedure that fails after its first result, and a table of unique numbers."""
    for what in (
        "drop table if exists unread",
        "create table unread (id int primary key)",
        "drop procedure if exists unread_bad",
        "create procedure unread_bad() begin insert into unread values (1); select 'begun'; "
        "insert into unread values (1); end",
        "drop procedure if exists unread_good",
        "create procedure unread_good() select 1",
    ):
        place.admin.executescript(what)
    return place


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("end", ENDS)
def test_the_error_of_a_later_statement_is_raised_by_whatever_comes_next(
    unread: Place, end: str, statement: str
) -> None:
    conn = connected(unread)
    cursor = conn.cursor()
    cursor.execute(statement)
    cursor.fetchall()
    with pytest.raises(IntegrityError) as caught:
        ENDS[end](conn, cursor)
    assert caught.value.args[0] == DUPLICATE
    if conn.open:
        # Once is enough, and the connection is usable.
        conn.rollback()
        conn.cursor().execute("select 1")
        conn.close()
    assert unread.admin.fetchval("select count(*) from unread") == 0


def test_a_rollback_that_raises_such_an_error_has_rolled_back(unread: Place) -> None:
    with connected(unread) as conn:
        conn.cursor().execute(STATEMENTS[1])
        with pytest.raises(IntegrityError):
            conn.rollback()
        conn.commit()
    assert unread.admin.fetchval("select count(*) from unread") == 0


@pytest.mark.parametrize("rows", [[(1,)], [(1,), (2,)], [(2,), (1,)]])
def test_a_batch_of_calls_stops_at_the_row_that_failed(unread: Place, rows: list[Any]) -> None:
    unread.admin.executescript("drop procedure if exists unread_row")
    unread.admin.executescript("create procedure unread_row(n int) begin select n; insert into unread values (n); end")
    unread.admin.execute("insert into unread values (1)")
    with connected(unread, autocommit=True) as conn, pytest.raises(IntegrityError):
        conn.cursor().executemany("call unread_row(%s)", rows)


def test_an_exception_in_a_block_is_not_replaced_by_such_an_error(unread: Place) -> None:
    with pytest.raises(KeyError), connected(unread) as conn, conn.cursor() as cursor:
        cursor.execute(STATEMENTS[0])
        raise KeyError
