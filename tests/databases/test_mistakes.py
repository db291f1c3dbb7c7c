"""What a newcomer gets wrong, on every database and in both shells: the error says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
from headrace_lab.differences import DIFFERENCES

from .conftest import database

ONE = {"informix": "select first 1 tabid from systables where tabid = ?"}
"""A query with one parameter."""


@pytest.fixture(params=DIFFERENCES)
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A URL, and a query with one parameter."""
    return database(request, request.param).url, ONE.get(request.param, "select %s + 0")


@pytest.fixture
def shared(place: tuple[str, str]) -> Iterator[Any]:
    with headrace.connect(place[0], autocommit=True) as connection:
        yield connection


NOT_TEXT: list[Callable[[Any], Any]] = [
    lambda c: c.execute(b"select 1"),
    lambda c: c.cursor().execute(b"select 1", (1,)),
    lambda c: c.executemany(b"select 1", [(1,)]),
    lambda c: c.fetch(b"select 1"),
    lambda c: c.fetchval(b"select 1"),
    lambda c: getattr(c, "executescript", c.execute)(b"select 1"),
]


@pytest.mark.parametrize("use", NOT_TEXT)
def test_sql_in_bytes_is_an_error_that_names_decode(shared: Any, place: tuple[str, str], use: Any) -> None:
    with pytest.raises(TypeError, match="SQL is str, not bytes: decode it"):
        use(shared)
    assert shared.fetchval(place[1], 1) == 1


async def test_sql_in_bytes_is_the_same_error_for_tasks(place: tuple[str, str]) -> None:
    async with await headrace.aio.connect(place[0]) as connection:
        for use in NOT_TEXT:
            with pytest.raises(TypeError, match="SQL is str, not bytes: decode it"):
                await use(connection)
        assert await connection.fetchval(place[1], 1) == 1


def _insert(url: str) -> tuple[str, str]:
    """What makes a table, and the statement of a batch."""
    temp = "temporary" if url.startswith("m") else "temp"
    return f"create {temp} table mine (a int)", f"insert into mine values ({'?' if url.startswith('i') else '%s'})"


async def _rows() -> Any:
    yield (1,)


async def test_asynchronous_rows_are_an_error_that_says_to_collect_them(place: tuple[str, str]) -> None:
    url, one = place
    table, insert = _insert(url)
    rows: Any = _rows()
    async with await headrace.aio.connect(url) as connection:
        await connection.execute(table)
        with pytest.raises(TypeError, match=r"not async_generator.*\[row async for row in rows\]"):
            await connection.executemany(insert, rows)
        assert await connection.fetchval(one, 1) == 1


def test_rows_that_are_none_are_named(shared: Any, place: tuple[str, str]) -> None:
    table, insert = _insert(place[0])
    shared.execute(table)
    with pytest.raises(TypeError, match="a list or an iterator, not int"):
        shared.executemany(insert, 5)
    assert shared.fetchval(place[1], 1) == 1


@pytest.mark.parametrize("method", ["fetch", "fetchrow", "fetchval"])
async def test_values_by_keywords_are_an_error_that_says_how_to_give_them(
    shared: Any, place: tuple[str, str], method: str
) -> None:
    said = rf"{method}\(\) has no keyword 'a': .* one by one, .* one mapping, {method}\(sql, {{'a': ...}}\)"
    with pytest.raises(TypeError, match=said):
        getattr(shared, method)(place[1], a=1)
    async with await headrace.aio.connect(place[0]) as connection:
        with pytest.raises(TypeError, match=said):
            await getattr(connection, method)(place[1], a=1)


def test_a_mapping_without_names_is_refused(shared: Any, place: tuple[str, str]) -> None:
    for sql in (place[1], "select :a"):
        with pytest.raises(headrace.ProgrammingError, match=r"takes no mapping|as a sequence"):
            shared.execute(sql, {"a": 1})
    assert shared.fetchval(place[1], 1) == 1


def test_values_in_a_tuple_are_an_error_that_says_to_give_them_one_by_one(shared: Any, place: tuple[str, str]) -> None:
    if place[0].startswith("informix"):
        # A tuple is a value of a row type there, and the server says what it expected.
        return
    with pytest.raises(headrace.ProgrammingError, match="one by one"):
        shared.fetchval(place[1], (5,))
    assert shared.fetchval(place[1], 5) == 5
