"""A transaction that ends within a pipeline: it is not committed if one of its statements has failed whose error the
program has not seen yet, though most servers would commit the others."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors

ADD = "insert into t (id) values ({})"


async def stored(aconn: Any) -> list[int]:
    """What another statement finds."""
    return [number for (number,) in await aconn.fetch("select id from t order by id")]


async def test_a_block_with_a_statement_that_failed_stores_nothing(aconn: Any) -> None:
    with pytest.raises(errors.IntegrityError):
        async with aconn.pipeline(), aconn.transaction():
            for number in (1, 2, 2, 3):
                await aconn.execute(ADD.format(number))
    assert await stored(aconn) == []
    async with aconn.pipeline(), aconn.transaction():
        await aconn.execute(ADD.format(4))
    assert await stored(aconn) == [4]


async def test_a_block_before_it_is_stored_and_one_after_it_not_begun(aconn: Any) -> None:
    with pytest.raises(errors.IntegrityError):
        async with aconn.pipeline():
            for numbers in ((1, 2), (3, 3), (4, 5)):
                async with aconn.transaction():
                    for number in numbers:
                        await aconn.execute(ADD.format(number))
    assert await stored(aconn) == [1, 2]


async def test_an_inner_block_with_a_statement_that_failed_is_rolled_back(aconn: Any) -> None:
    async with aconn.pipeline(), aconn.transaction():
        await aconn.execute(ADD.format(1))
        with pytest.raises(errors.IntegrityError):
            async with aconn.transaction():
                await aconn.execute(ADD.format(2))
                await aconn.execute(ADD.format(2))
        await aconn.execute(ADD.format(3))
    assert await stored(aconn) == [1, 3]


async def test_an_error_that_the_program_has_seen_does_not_end_the_block(aconn: Any) -> None:
    async with aconn.pipeline(), aconn.transaction():
        await aconn.execute(ADD.format(1))
        failed = await aconn.execute(ADD.format(1))
        await aconn.execute(ADD.format(2))
        with pytest.raises(errors.IntegrityError):
            await failed.wait()
    assert await stored(aconn) == [1, 2]


async def test_a_commit_after_a_statement_that_failed_raises_its_error(aconn: Any) -> None:
    await aconn.set_autocommit(False)
    async with aconn.pipeline():
        await aconn.execute(ADD.format(1))
        await aconn.execute(ADD.format(1))
        with pytest.raises(errors.IntegrityError):
            await aconn.commit()
        await aconn.rollback()
    assert await stored(aconn) == []
    await aconn.rollback()


async def test_a_block_that_is_to_be_rolled_back_is(aconn: Any) -> None:
    with pytest.raises(errors.IntegrityError):
        async with aconn.pipeline(), aconn.transaction(force_rollback=True):
            await aconn.execute(ADD.format(1))
            await aconn.execute(ADD.format(1))
    assert await stored(aconn) == []
