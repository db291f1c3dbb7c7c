"""Batches of the texts of statements (EXECUTE_BATCH)."""

# Made by tools/async_to_sync.py of test_texts_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace.cubrid
import headrace.testing
import headrace.types
from headrace import errors

Connection = headrace.cubrid.Connection[Any]


@pytest.fixture(params=[True, False], ids=["autocommit", "in a transaction"])
def texts(request: pytest.FixtureRequest, url: str) -> Iterator[Connection]:
    """A connection, and a table of one row."""
    with headrace.cubrid.connect(url, autocommit=True) as admin:
        admin.execute("drop table if exists hr_texts")
        admin.execute("create table hr_texts (n int primary key, s varchar(100))")
        admin.execute("insert into hr_texts values (1, 'one')")
    connection = headrace.cubrid.connect(url, autocommit=request.param)
    yield connection
    connection.close()


def insert(n: int) -> str:
    """A statement of one row."""
    return f"insert into hr_texts values ({n}, '{n}')"


def test_all_are_applied(texts: Connection, url: str) -> None:
    cursor = texts.execute_batch([insert(2), "update hr_texts set s = 'both'", "delete from hr_texts where n = 1"])
    assert cursor.rowcount == 4
    assert texts.fetch("select n, s from hr_texts") == [(2, "both")]
    texts.commit()
    with headrace.cubrid.connect(url) as other:
        assert other.fetch("select n, s from hr_texts") == [(2, "both")]


@pytest.mark.slow
def test_many(texts: Connection) -> None:
    # More than one request has.
    cursor = texts.execute_batch(insert(n) for n in range(2, 20_002))
    assert cursor.rowcount == 20_000
    assert texts.fetchval("select count(*) from hr_texts") == 20_001
    assert texts.execute_batch([]).rowcount == 0


def test_the_one_that_fails_is_named_and_nothing_is_left_of_the_others(texts: Connection) -> None:
    texts.execute_batch([insert(2)])
    with pytest.raises(errors.UniqueViolation) as caught:
        texts.execute_batch([insert(3), insert(1), insert(4)])
    assert caught.value.row == 1
    with pytest.raises(errors.ProgrammingError) as wrong:
        texts.execute_batch([insert(3), "no statement", insert(1)])
    assert wrong.value.row == 1
    # What the transaction has done before is still there.
    assert texts.fetch("select n from hr_texts order by n") == [(1,), (2,)]


def test_definitions(texts: Connection) -> None:
    texts.fetch("select * from hr_texts")
    texts.execute_batch(["alter table hr_texts add column more int default 7", insert_more(2)])
    assert texts.fetch("select * from hr_texts order by n") == [(1, "one", 7), (2, "2", 8)]


def insert_more(n: int) -> str:
    """A statement of one row of the table with a column more."""
    return f"insert into hr_texts values ({n}, '{n}', 8)"


@pytest.mark.parametrize(
    "refused",
    [
        "commit",
        " /* */ rollback",
        "select 1; select 2",
        "insert into hr_texts values (?, 'a')",
        "select '\0'",
        1,
        None,
        "\ud800",
    ],
    ids=["commit", "rollback", "several", "parameters", "nul", "number", "none", "surrogate"],
)
def test_what_is_no_statement_of_a_batch_is_refused(texts: Connection, refused: Any) -> None:
    with pytest.raises((errors.ProgrammingError, errors.DataError)) as caught:
        texts.execute_batch([insert(2), refused])
    assert caught.value.row == 1
    with pytest.raises(errors.ProgrammingError, match="not one str"):
        texts.execute_batch("select 1")
    assert texts.fetchval("select count(*) from hr_texts") == 1


def test_an_iterator_that_raises(texts: Connection) -> None:
    def some() -> Any:
        yield insert(2)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        texts.execute_batch(some())
    assert texts.fetchval("select count(*) from hr_texts") == 1


def test_more_statements_than_the_broker_keeps(url: str) -> None:
    with headrace.cubrid.connect(url, statement_cache_size=5_000, autocommit=True) as conn:
        for n in range(2_100):
            assert conn.fetchval(f"select {n} from db_root") == n
    assert repr(headrace.types.BlobLocator(b"1234")) == "<BlobLocator>"


def test_a_batch_goes_on_where_the_broker_has_given_the_process_to_others() -> None:
    with headrace.testing.cubrid(cas=1) as server:
        one = headrace.cubrid.connect(server.url, autocommit=True)
        one.execute("create table hr_texts (n int primary key, s varchar(100))")
        other = headrace.cubrid.connect(server.url, autocommit=True)
        for n in range(0, 40, 4):
            # Each of them has the only process when the other one begins.
            one.execute_batch([insert(n), insert(n + 1)])
            other.execute_batch((insert(n + 2), insert(n + 3)))
        assert one.fetchval("select count(*) from hr_texts") == 40
        one.close()
        other.close()
