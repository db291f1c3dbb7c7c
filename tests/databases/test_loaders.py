"""Values of columns are what the program's loaders make of them, by type, however rows are read, on every database."""

# Made by tools/async_to_sync.py of test_loaders_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import headrace
import headrace.types
from headrace.rows import dict_row, record_row
from servers import Database, names

QUERY = "select n, price, word from loaded order by n"


@dataclass(frozen=True)
class Loaded:
    """What a loader makes."""

    value: Any


ROWS = [(1, Loaded(Decimal("1.50")), "one"), (2, None, "two"), (3, Loaded(Decimal("3.50")), "six")]
"""The rows of :data:`QUERY` with a loader of exact numbers."""
PLAIN = [(1, Decimal("1.50"), "one"), (2, None, "two"), (3, Decimal("3.50"), "six")]


@pytest.fixture
def exact(any_db: Database) -> Iterator[str]:
    """The name that a column of exact numbers has in a description, without precision and scale."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists loaded")
        conn.execute("create table loaded (n integer, price decimal(10,2), word varchar(20))")
        mark = any_db.differences.mark
        conn.executemany(f"insert into loaded values ({mark}, {mark}, {mark})", PLAIN)
        cursor = conn.execute(QUERY)
        assert cursor.description is not None
        yield cursor.description[1].type_code.base
        conn.execute("drop table loaded")


def test_loaders_have_the_values_by_every_way_to_read_rows(any_db: Database, exact: str) -> None:
    with any_db.connect(loaders={exact: Loaded}) as conn:
        assert conn.fetch(QUERY) == ROWS
        assert conn.fetchrow(QUERY) == ROWS[0]
        assert conn.fetchval("select price from loaded where n = 1") == ROWS[0][1]
        cursor = conn.execute(QUERY)
        assert [cursor.fetchone(), *cursor.fetchmany(1), *cursor.fetchall()] == ROWS
        cursor.scroll(0, "absolute")
        assert list(cursor) == ROWS
        assert list(conn.stream(QUERY)) == ROWS
        with conn.pipeline():
            cursors = [conn.execute(QUERY) for _ in range(3)]
        assert [each.fetchall() for each in cursors] == [ROWS] * 3
        mark = any_db.differences.mark
        one = f"select n, price, word from loaded where n = {mark}"
        assert conn.fetch(one, 3) == ROWS[2:]
        assert conn.fetchmany(one, [(1,), (3,)]) == [ROWS[0], ROWS[2]]


@pytest.mark.parametrize("any_db", names(supports_unprepared=True), indirect=True)
def test_loaders_have_the_same_values_of_statements_that_are_not_prepared(any_db: Database, exact: str) -> None:
    with any_db.connect(loaders={exact: Loaded}, prepared=False) as conn:
        mark = any_db.differences.mark
        assert conn.fetch(QUERY) == ROWS
        assert conn.fetch(f"select n, price, word from loaded where n = {mark}", 3) == ROWS[2:]
        assert list(conn.stream(QUERY)) == ROWS
        assert conn.executescript(QUERY).fetchall() == ROWS


def test_loaders_have_the_values_before_a_row_factory(any_db: Database, exact: str) -> None:
    names = ("n", "price", "word")
    dicts = [dict(zip(names, row, strict=True)) for row in ROWS]
    with any_db.connect(loaders={exact: Loaded}, row_factory=dict_row) as conn:
        assert conn.fetch(QUERY) == dicts
        assert conn.execute(QUERY).fetchall() == dicts
        assert list(conn.stream(QUERY)) == dicts
        cursor = conn.cursor(row_factory=record_row)
        cursor.execute(QUERY)
        assert [row["price"] for row in cursor.fetchall()] == [row[1] for row in ROWS]
        conn.row_factory = record_row
        assert [row["price"] for row in conn.stream(QUERY)] == [row[1] for row in ROWS]
        conn.row_factory = tuple_of_texts
        assert list(conn.stream(QUERY)) == [tuple(map(str, row)) for row in ROWS]


def tuple_of_texts(_: Any) -> Any:
    """A row factory."""
    return lambda values: tuple(map(str, values))


def test_loaders_have_the_values_of_cursors_that_fetch_later(any_db: Database, exact: str) -> None:
    for factory in (None, dict_row, record_row):
        for keywords in any_db.cursors_that_fetch_later:
            with any_db.connect(loaders={exact: Loaded}) as conn, conn.transaction():
                cursor = conn.cursor(row_factory=factory, **keywords)
                cursor.execute(QUERY)
                rows = [cursor.fetchone(), *cursor.fetchmany(1), *cursor.fetchall()]
                assert [tuple(row.values()) if isinstance(row, dict) else row for row in rows] == ROWS
                cursor.close()


def test_a_type_is_its_name_with_or_without_limits_or_its_number(any_db: Database, exact: str) -> None:
    with any_db.connect() as conn:
        description = conn.execute(QUERY).description
        assert description is not None
        code = description[1].type_code
        for key in (str(code), exact, exact.upper(), code.oid):
            conn.register_loaders({key: Loaded})
            assert conn.fetch(QUERY) == ROWS, key
            conn.register_loaders({key: None})
            assert conn.fetch(QUERY) == PLAIN, key
        conn.register_loaders({exact: str})
        conn.register_loaders({description[0].type_code.base: float})
        assert conn.fetchrow(QUERY) == (1.0, "1.50", "one")
        for wrong in ({code: Loaded}, {headrace.types.NUMBER: Loaded}, {True: Loaded}, {exact: "Loaded"}, [exact]):
            with pytest.raises(TypeError):
                conn.register_loaders(wrong)


def test_a_prepared_statement_is_loaded_as_its_new_columns_are(any_db: Database, exact: str) -> None:
    with any_db.connect(autocommit=True, loaders={exact: Loaded}) as conn:
        for _ in range(3):
            assert conn.fetch("select * from loaded order by n") == ROWS
        conn.execute("drop table loaded")
        conn.execute("create table loaded (n integer, price varchar(20), word decimal(10,2))")
        conn.execute("insert into loaded values (1, 'text', 7.25)")
        assert conn.fetch("select * from loaded order by n") == [(1, "text", Loaded(Decimal("7.25")))]


def test_an_exception_of_a_loader_leaves_the_connection_usable(any_db: Database, exact: str) -> None:
    def refuse(_: Any) -> Any:
        raise LookupError("mine")

    with any_db.connect(loaders={exact: refuse}) as conn:
        for _ in range(2):
            with pytest.raises(LookupError, match="mine"):
                conn.fetch(QUERY)
            with pytest.raises(LookupError, match="mine"):
                conn.execute(QUERY)
            with pytest.raises(LookupError, match="mine"):
                for _row in conn.stream(QUERY):
                    pass
        with conn.pipeline():
            refused, other = conn.execute(QUERY), conn.execute("select n from loaded order by n")
            with pytest.raises(LookupError, match="mine"):
                refused.fetchall()
        assert other.fetchall() == [(1,), (2,), (3,)]
        conn.register_loaders({exact: None})
        assert conn.fetch(QUERY) == PLAIN


def test_stop_iteration_of_a_row_factory_or_a_loader_is_not_the_end_of_the_rows(any_db: Database, exact: str) -> None:
    def stopping(_: Any) -> Any:
        return lambda row: row if row[0] < 3 else next(iter(()))

    def each(cursor: Any) -> list[Any]:
        return list(cursor)

    def block(cursor: Any) -> Any:
        return cursor.fetchmany(5)

    def whole(cursor: Any) -> Any:
        return cursor.fetchall()

    with any_db.connect() as conn:
        for read in (each, block, whole):
            for keywords in ({}, *any_db.cursors_that_fetch_later):
                with conn.transaction():
                    cursor = conn.cursor(row_factory=stopping, **keywords)
                    cursor.execute(QUERY)
                    with pytest.raises(RuntimeError):
                        read(cursor)
                    cursor.close()
    with any_db.connect(row_factory=stopping) as conn:
        with pytest.raises(RuntimeError):
            conn.fetch(QUERY)
        with pytest.raises(RuntimeError):
            each(conn.stream(QUERY))
    with any_db.connect(loaders={exact: lambda value: next(iter(()))}) as conn:
        with pytest.raises(RuntimeError):
            conn.fetch(QUERY)
        with pytest.raises(RuntimeError):
            each(conn.stream(QUERY))


def test_a_connection_is_before_its_pool_and_that_before_the_process(any_db: Database, exact: str) -> None:
    headrace.types.set_loaders({exact: str})
    headrace.types.set_dumpers({Fraction: lambda value: f"process {value}"})
    try:
        mark = any_db.differences.mark
        with any_db.connect(autocommit=True) as conn:
            assert conn.fetch(QUERY)[0] == (1, "1.50", "one")
            conn.execute(f"update loaded set word = {mark} where n = 1", (Fraction(1, 3),))
            assert conn.fetchval("select word from loaded where n = 1") == "process 1/3"
        with any_db.connect(loaders={}) as conn:
            assert conn.fetch(QUERY)[0] == (1, Decimal("1.50"), "process 1/3")
        own: dict[str, Any] = {"loaders": {exact: float}, "dumpers": {Fraction: str}, "autocommit": True}
        with headrace.ConnectionPool(any_db.url, kwargs=own, min_size=1, max_size=1) as pool:
            with pool.connection() as conn:
                conn.execute(f"update loaded set word = {mark} where n = 1", (Fraction(1, 3),))
                assert conn.fetch(QUERY)[0] == (1, 1.5, "1/3")
                conn.register_loaders({exact: Loaded})
                assert conn.fetch(QUERY)[0] == (1, ROWS[0][1], "1/3")
            with pool.connection() as conn:
                assert conn.fetch(QUERY)[0] == (1, 1.5, "1/3")
    finally:
        headrace.types.set_loaders()
        headrace.types.set_dumpers()
    with any_db.connect() as conn:
        assert conn.fetch(QUERY)[0] == (1, Decimal("1.50"), "1/3")


def test_what_headrace_asks_for_itself_is_not_loaded(any_db: Database, exact: str) -> None:
    seen: list[Any] = []
    names = ("integer", "int", "int4", "bigint", "int8", "varchar", "text", "char", "name", "oid", exact)
    with any_db.connect(loaders=dict.fromkeys(names, seen.append)) as conn:
        with conn.transaction():
            conn.execute("update loaded set n = n")
        conn.rollback()
        conn.ping()
        conn.reset()
    assert seen == []
