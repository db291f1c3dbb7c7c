"""A look-up of types that the server has cancelled is the error of the statement that needs them, and is made again."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.aio.postgres
from headrace import errors

VALUE = (1, "x")


async def read(conn: Any) -> Any:
    return await conn.fetchval("select pair from pairs")


async def stream(conn: Any) -> Any:
    rows = [row async for row in conn.stream("select pair from pairs")]
    return rows[0][0]


async def through_a_pipeline(conn: Any) -> Any:
    async with conn.pipeline():
        cursor = await conn.execute("select pair from pairs")
        await conn.execute("insert into after_it values (1)")
    return (await cursor.fetchone())[0]


async def send(conn: Any) -> Any:
    return await conn.fetchval("select ($1::pair).b, $2::text", VALUE, "y") and VALUE


async def send_a_batch(conn: Any) -> Any:
    cursor = await conn.executemany("select $1::pair", [(VALUE,), (VALUE,)], returning=True)
    return (await cursor.fetchone())[0]


async def copy_out(conn: Any) -> Any:
    rows = [row async for row in await conn.copy_out("select pair from pairs")]
    return rows[0][0]


async def copy_in(conn: Any) -> Any:
    await conn.copy_in("copied", [(VALUE,)])
    return VALUE


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("use", [read, stream, through_a_pipeline, send, send_a_batch, copy_out, copy_in])
async def test_a_cancelled_look_up_is_made_again(url: str, dba: Any, use: Any, autocommit: bool) -> None:
    dba.executescript(
        "drop table if exists pairs, copied, after_it; drop type if exists pair;"
        "create type pair as (a int, b text); create table pairs (pair pair); insert into pairs values ((1, 'x'));"
        "create table copied (pair pair); create table after_it (n int)"
    )
    conn = await headrace.aio.postgres.connect(url, autocommit=autocommit, options="-c statement_timeout=100ms")
    with dba.transaction():
        dba.execute("lock table pg_catalog.pg_range in access exclusive mode")
        with pytest.raises(errors.QueryCanceled):
            await use(conn)
        if not autocommit:
            await conn.rollback()
    if not autocommit:
        assert dba.fetchval("select count(*) from after_it") == 0
    await conn.execute("set statement_timeout = 0")
    assert await use(conn) == VALUE
    assert await conn.fetchval("select pair from pairs") == VALUE
    await conn.close()
