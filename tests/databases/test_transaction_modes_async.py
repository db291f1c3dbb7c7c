"""``transaction(isolation=, read_only=, deferrable=)``: modes of one transaction, as far as the database has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from headrace import errors
from servers import Database
from waiting import asleep


@pytest.fixture
async def acounted(any_db: Database) -> AsyncIterator[Any]:
    """A connection in autocommit, and a table with one row."""
    async with await any_db.aconnect(autocommit=True) as aconn:
        await aconn.execute("drop table if exists counted")
        await aconn.execute(f"create table counted (n int) {any_db.transactional}")
        await aconn.execute("insert into counted values (1)")
        yield aconn
        await aconn.execute("drop table counted")


async def level_of(any_db: Database, aconn: Any) -> str | None:
    """The level of the open transaction; None if the server cannot be asked."""
    if any_db.own_isolation is None:
        return None
    # InnoDB answers from a copy that it does not renew while it is read more often than every tenth of a second.
    await asleep(0.15)
    return str(await aconn.fetchval(any_db.own_isolation)).lower()


async def test_the_isolation_level_is_that_of_one_transaction(any_db: Database, acounted: Any) -> None:
    before = acounted.isolation_level
    async with acounted.transaction():
        assert await acounted.fetchval("select n from counted") == 1
        default = await level_of(any_db, acounted)
    for level in any_db.block_levels:
        async with acounted.transaction(isolation=level):
            assert await acounted.fetchval("select n from counted") == 1
            assert await level_of(any_db, acounted) in (None, level)
        assert acounted.isolation_level == before
    async with acounted.transaction(isolation="SERIALIZABLE"):
        await acounted.execute("update counted set n = 2")
    async with acounted.transaction("named", isolation="serializable", force_rollback=True):
        await acounted.execute("update counted set n = 3")
    async with acounted.transaction():
        assert await acounted.fetchval("select n from counted") == 2
        assert await level_of(any_db, acounted) == default


async def test_a_transaction_that_only_reads_refuses_to_write(any_db: Database, acounted: Any) -> None:
    if not any_db.supports_read_only:
        pytest.skip("no transaction of this test server only reads")
    async with acounted.transaction(read_only=True):
        assert await acounted.fetchval("select n from counted") == 1
    with pytest.raises(errors.DatabaseError):
        async with acounted.transaction(isolation="repeatable read", read_only=True):
            await acounted.execute("update counted set n = 2")
    async with acounted.transaction(read_only=False):
        await acounted.execute("update counted set n = 3")
    assert await acounted.fetchval("select n from counted") == 3


async def test_modes_that_the_database_does_not_have_are_refused(any_db: Database, acounted: Any) -> None:
    for mode in {"isolation", "read_only", "deferrable"} - set(any_db.block_modes):
        with pytest.raises(errors.NotSupportedError, match=f"{mode}=.* which has {any_db.block_modes[0]}"):
            async with acounted.transaction(**{mode: True}):
                raise AssertionError("it must not begin")
    for level in {"read uncommitted", "read committed", "repeatable read", "serializable"} - set(any_db.block_levels):
        with pytest.raises(errors.NotSupportedError, match=any_db.block_levels[-1]):
            async with acounted.transaction(isolation=level):
                raise AssertionError("it must not begin")
    with pytest.raises(errors.ProgrammingError, match="snapshot"):
        async with acounted.transaction(isolation="snapshot"):
            raise AssertionError("it must not begin")
    if "deferrable" in any_db.block_modes:
        async with acounted.transaction(isolation="serializable", read_only=True, deferrable=True):
            assert await acounted.fetchval("show transaction_deferrable") == "on"
    assert await acounted.fetchval("select n from counted") == 1


async def test_modes_are_refused_inside_of_a_transaction(any_db: Database, acounted: Any) -> None:
    async with acounted.transaction():
        with pytest.raises(errors.ProgrammingError, match="one is open"):
            async with acounted.transaction(isolation="serializable"):
                raise AssertionError("it must not begin")
        await acounted.execute("update counted set n = 2")
        async with acounted.transaction():
            await acounted.execute("update counted set n = 3")
    await acounted.set_autocommit(False)
    await acounted.execute("update counted set n = 4")
    with pytest.raises(errors.ProgrammingError, match="one is open"):
        async with acounted.transaction(isolation="serializable"):
            raise AssertionError("it must not begin")
    await acounted.commit()
    async with acounted.transaction(isolation="serializable"):
        await acounted.execute("update counted set n = n + 1")
    await acounted.set_autocommit(True)
    assert await acounted.fetchval("select n from counted") == 5
