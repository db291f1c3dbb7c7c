"""What a newcomer gets wrong, on every database and in both shells: the error says what to do."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
from live import TESTED
from servers import database

ONE = {"informix": "select first 1 tabid from systables where tabid = ?", "cubrid": "select cast(? as int)"}
"""A query with one parameter."""


@pytest.fixture(params=TESTED)
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
    table = {"m": "temporary table", "c": "table if not exists"}.get(url[0], "temp table")
    return f"create {table} mine (a int)", f"insert into mine values ({'?' if url[0] in 'ic' else '%s'})"


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
    rows: Any
    for rows in (5, None):
        with pytest.raises(TypeError, match=r"^executemany\(\).* a list or an iterator, not") as caught:
            shared.executemany(insert, rows)
        assert not hasattr(caught.value, "row")
    assert shared.fetchval(place[1], 1) == 1


NOT_ROWS: list[tuple[str, Any, type[Exception], str]] = [
    ("%s", (), headrace.ProgrammingError, "the statement has 1 parameter, but 0 were given"),
    ("%s", (1, 2), headrace.ProgrammingError, "the statement has 1 parameter, but 2 were given"),
    ("%s", {"a": 1}, headrace.ProgrammingError, "they are given as a sequence"),
    ("%s", 5, TypeError, "must be a sequence such as a tuple or a list, not int"),
    ("%(a)s", {"b": 1}, headrace.ProgrammingError, r"no value was given for the parameter %\(a\)s"),
    ("%(a)s", (1,), headrace.ProgrammingError, "they are given as a mapping"),
    ("?", (1, 2), headrace.ProgrammingError, "the statement has 1 parameter, but 2 were given"),
    ("?", "a", TypeError, "must be a sequence such as a tuple or a list, not str"),
]
"""A placeholder, what is not a row for it, and the error without the number of the row."""


def _not_rows(url: str) -> Iterator[tuple[str, Any, Any, type[Exception], str]]:
    """The statement, a row for it, what is none, and the error."""
    for mark, wrong, error, text in NOT_ROWS:
        if mark != "?" and url.startswith(("informix", "cubrid")):
            continue
        mine = "$1" if mark == "?" and url.startswith("postgres") else mark
        yield f"insert into mine values ({mine})", {"a": 1} if "(a)" in mark else (1,), wrong, error, text


def test_the_error_for_what_is_not_a_row_names_its_number(shared: Any, place: tuple[str, str]) -> None:
    shared.execute(_insert(place[0])[0])
    for insert, right, wrong, error, text in _not_rows(place[0]):
        for rows in ([right, right, wrong, right], iter([right, right, wrong])):
            with pytest.raises(error, match=f"^row 2: .*{text}") as caught:
                shared.executemany(insert, rows)
            assert caught.value.row == 2  # type: ignore[attr-defined]
        with pytest.raises(error, match=f"^[^:]*{text}"):
            shared.execute(insert, wrong)
        assert shared.fetchval("select count(*) from mine") == 0


async def test_the_error_for_what_is_not_a_row_names_its_number_for_tasks(place: tuple[str, str]) -> None:
    async with await headrace.aio.connect(place[0], autocommit=True) as connection:
        await connection.execute(_insert(place[0])[0])
        for insert, right, wrong, error, text in _not_rows(place[0]):
            with pytest.raises(error, match=f"^row 1: .*{text}"):
                await connection.executemany(insert, [right, wrong])
        assert await connection.fetchval("select count(*) from mine") == 0


def test_an_error_of_the_programs_own_iterator_keeps_its_text(shared: Any, place: tuple[str, str]) -> None:
    def rows() -> Iterator[tuple[int]]:
        yield (1,)
        raise ValueError("mine")

    table, insert = _insert(place[0])
    shared.execute(table)
    with pytest.raises(ValueError, match=r"^mine$"):
        shared.executemany(insert, rows())

    class Broken:
        def __iter__(self) -> Iterator[int]:
            raise ValueError("mine")

    for execute, given in ((shared.executemany, [(1,), Broken()]), (shared.execute, Broken())):
        with pytest.raises(ValueError, match=r"^mine$"):
            execute(insert, given)
    assert shared.fetchval("select count(*) from mine") == 0


LONG = 10**5000
"""A whole number with more digits than Python's str makes."""


def test_a_whole_number_of_more_digits_than_python_shows_does_not_fit_an_integer(
    shared: Any, place: tuple[str, str]
) -> None:
    table, insert = _insert(place[0])
    shared.execute(table)
    for number in (LONG, -LONG):
        with pytest.raises(headrace.DataError):
            shared.execute(insert, (number,))
        with pytest.raises(headrace.DataError) as caught:
            shared.executemany(insert, [(1,), (number,)])
        assert caught.value.row == 1
    assert shared.fetchval("select count(*) from mine") == 0


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


@pytest.mark.parametrize("kind", [dict, types.MappingProxyType])
async def test_a_statement_without_parameters_takes_a_mapping(shared: Any, place: tuple[str, str], kind: Any) -> None:
    table, _ = _insert(place[0])
    shared.execute(table)
    query = "select count(*) from mine"
    assert shared.execute(query, kind({})).fetchall() == [(0,)]
    assert shared.executemany("delete from mine", [kind({}), kind({})]).rowcount == 0
    async with await headrace.aio.connect(place[0]) as connection:
        one = "select first 1 1 from systables" if place[0].startswith("informix") else "select 1"
        assert await (await connection.execute(one, kind({}))).fetchall() == [(1,)]
    if place[1].startswith("select %s"):
        assert shared.execute(query, kind({"a": 1, 2: 3})).fetchall() == [(0,)]
        assert shared.execute("select '%%', ':b'", kind({"a": 1})).fetchall() == [("%", ":b")]
        assert shared.fetch(query, {}) == [(0,)]
        for named in (":a", "@a", "$a"):
            with pytest.raises(headrace.ProgrammingError):
                shared.execute(f"select '{named}'", kind({"a": 1}))
        with pytest.raises(headrace.ProgrammingError):
            shared.execute(query, ({"a": 1},))
    with pytest.raises(headrace.ProgrammingError):
        shared.execute(place[1], kind({}))
    with pytest.raises(headrace.ProgrammingError, match="as a sequence"):
        shared.execute(place[1], kind({"a": 1}))
    assert shared.fetchval(place[1], 1) is not None


def test_values_in_a_tuple_are_an_error_that_says_to_give_them_one_by_one(shared: Any, place: tuple[str, str]) -> None:
    if place[0].startswith("informix"):
        # A tuple is a value of a row type there, and the server says what it expected.
        return
    with pytest.raises(headrace.ProgrammingError, match="one by one"):
        shared.fetchval(place[1], (5,))
    assert shared.fetchval(place[1], 5) == 5


@pytest.mark.parametrize("name", [None, 5, b"name"])
def test_a_name_that_is_no_text_is_said(shared: Any, place: tuple[str, str], name: Any) -> None:
    with pytest.raises(TypeError, match="is str, not"):
        shared.cursor().callproc(name)
    if hasattr(shared, "listen"):
        with pytest.raises(TypeError, match="is str, not"):
            shared.listen(name)
    assert shared.fetchval(place[1], 1) == 1


@pytest.mark.parametrize("size", [-1, -5])
def test_fewer_rows_than_none_are_an_error(shared: Any, place: tuple[str, str], size: int) -> None:
    cursor = shared.execute(place[1], (1,))
    with pytest.raises(headrace.ProgrammingError, match=f"not {size}"):
        cursor.fetchmany(size)
    with pytest.raises(TypeError, match="rows is int, not float"):
        cursor.fetchmany(2.5)
    cursor.arraysize = size
    with pytest.raises(headrace.ProgrammingError, match=f"not {size}"):
        cursor.fetchmany()
    assert cursor.fetchmany(2) == [(1,)]


def test_a_closed_cursor_still_tells_what_was_done(shared: Any, place: tuple[str, str]) -> None:
    table, insert = _insert(place[0])
    shared.execute("drop table if exists mine")
    shared.execute(table)
    with shared.cursor() as cursor:
        cursor.execute(insert, (1,))
        cursor.execute(insert, (2,))
    assert cursor.rowcount == 1
    with shared.cursor() as cursor:
        cursor.executemany(insert, [(3,), (4,), (5,)])
    assert cursor.rowcount == 3
    with shared.cursor() as cursor:
        pass
    assert (cursor.rowcount, cursor.lastrowid) == (-1, None)
    # Where it is no temporary one, others begin with an empty table.
    shared.execute("drop table mine")
