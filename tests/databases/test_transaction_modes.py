"""``transaction(isolation=, read_only=, deferrable=)``: modes of one transaction, as far as the database has them."""

# Made by tools/async_to_sync.py of test_transaction_modes_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace import errors
from servers import Database
from waiting import sleep


@pytest.fixture
def acounted(any_db: Database) -> Iterator[Any]:
    """A connection in autocommit, and a table with one row."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists counted")
        conn.execute(f"create table counted (n int) {any_db.transactional}")
        conn.execute("insert into counted values (1)")
        yield conn
        conn.execute("drop table counted")


def level_of(any_db: Database, conn: Any) -> str | None:
    """The level of the open transaction; None if the server cannot be asked."""
    if any_db.own_isolation is None:
        return None
    # InnoDB answers from a copy that it does not renew while it is read more often than every tenth of a second.
    sleep(0.15)
    return str(conn.fetchval(any_db.own_isolation)).lower()


def test_the_isolation_level_is_that_of_one_transaction(any_db: Database, acounted: Any) -> None:
    before = acounted.isolation_level
    with acounted.transaction():
        assert acounted.fetchval("select n from counted") == 1
        default = level_of(any_db, acounted)
    for level in any_db.block_levels:
        with acounted.transaction(isolation=level):
            assert acounted.fetchval("select n from counted") == 1
            assert level_of(any_db, acounted) in (None, level)
        assert acounted.isolation_level == before
    with acounted.transaction(isolation="SERIALIZABLE"):
        acounted.execute("update counted set n = 2")
    with acounted.transaction("named", isolation="serializable", force_rollback=True):
        acounted.execute("update counted set n = 3")
    with acounted.transaction():
        assert acounted.fetchval("select n from counted") == 2
        assert level_of(any_db, acounted) == default


def test_a_transaction_that_only_reads_refuses_to_write(any_db: Database, acounted: Any) -> None:
    if not any_db.supports_read_only:
        pytest.skip("no transaction of this test server only reads")
    with acounted.transaction(read_only=True):
        assert acounted.fetchval("select n from counted") == 1
    with pytest.raises(errors.DatabaseError), acounted.transaction(isolation="repeatable read", read_only=True):
        acounted.execute("update counted set n = 2")
    with acounted.transaction(read_only=False):
        acounted.execute("update counted set n = 3")
    assert acounted.fetchval("select n from counted") == 3


def test_modes_that_the_database_does_not_have_are_refused(any_db: Database, acounted: Any) -> None:
    for mode in {"isolation", "read_only", "deferrable"} - set(any_db.block_modes):
        with (
            pytest.raises(errors.NotSupportedError, match=f"{mode}=.* which has {any_db.block_modes[0]}"),
            acounted.transaction(**{mode: True}),
        ):
            raise AssertionError("it must not begin")
    for level in {"read uncommitted", "read committed", "repeatable read", "serializable"} - set(any_db.block_levels):
        with (
            pytest.raises(errors.NotSupportedError, match=any_db.block_levels[-1]),
            acounted.transaction(isolation=level),
        ):
            raise AssertionError("it must not begin")
    with pytest.raises(errors.ProgrammingError, match="snapshot"), acounted.transaction(isolation="snapshot"):
        raise AssertionError("it must not begin")
    if "deferrable" in any_db.block_modes:
        with acounted.transaction(isolation="serializable", read_only=True, deferrable=True):
            assert acounted.fetchval("show transaction_deferrable") == "on"
    assert acounted.fetchval("select n from counted") == 1


def test_modes_are_refused_inside_of_a_transaction(any_db: Database, acounted: Any) -> None:
    with acounted.transaction():
        with (
            pytest.raises(errors.ProgrammingError, match="one is open"),
            acounted.transaction(isolation="serializable"),
        ):
            raise AssertionError("it must not begin")
        acounted.execute("update counted set n = 2")
        with acounted.transaction():
            acounted.execute("update counted set n = 3")
    acounted.autocommit = False
    acounted.execute("update counted set n = 4")
    with pytest.raises(errors.ProgrammingError, match="one is open"), acounted.transaction(isolation="serializable"):
        raise AssertionError("it must not begin")
    acounted.commit()
    with acounted.transaction(isolation="serializable"):
        acounted.execute("update counted set n = n + 1")
    acounted.autocommit = True
    assert acounted.fetchval("select n from counted") == 5
