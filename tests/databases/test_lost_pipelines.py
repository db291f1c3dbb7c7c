"""A pipeline whose connection is lost is reported by its error alone, which says that statements may have been
executed: asyncio logs nothing of them."""

from __future__ import annotations

import asyncio
import gc
import re
from typing import Any

import pytest

import headrace
import headrace.aio
from cutting import AFTER, BEFORE, Cutting
from headrace import errors
from servers import Database


async def test_a_lost_pipeline_is_reported_once(any_db: Database) -> None:
    found = re.search(r":(\d+)/", any_db.url)
    assert found is not None
    logged: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: logged.append(context))
    with Cutting(int(found[1]), BEFORE) as way:
        url = any_db.url.replace(f":{found[1]}/", f":{way.port}/", 1)
        conn = await headrace.aio.connect(url, autocommit=True)
        with pytest.raises(errors.ConnectionClosed):
            async with conn.transaction():
                # Before its first statement CUBRID's session may be resumed, and nothing is lost.
                await conn.fetchval("select 1")
                way.arm(1)
                async with conn.pipeline(), conn.transaction():
                    for _ in range(3):
                        await conn.execute("select 1")
        assert conn.closed
        await conn.close()
    del conn
    gc.collect()
    await asyncio.sleep(0)
    assert logged == []


def test_the_error_of_a_statement_that_was_not_sent_tells_of_those_that_were(any_db: Database) -> None:
    if any_db.kind == "cubrid":
        return  # It resumes its session in another connection.
    found = re.search(r":(\d+)/", any_db.url)
    assert found is not None
    with Cutting(int(found[1]), AFTER) as way:
        conn = headrace.connect(any_db.url.replace(f":{found[1]}/", f":{way.port}/", 1), autocommit=True)
        conn.execute("select 1")
        way.arm(1)
        with pytest.raises(errors.ConnectionClosed, match="unknown whether"), conn.pipeline():
            for _ in range(100_000):
                conn.execute("select 1")
        conn.close()


def test_the_error_of_another_connection_stays_as_it_is(any_db: Database) -> None:
    if any_db.kind == "cubrid":
        return  # It resumes its session in another connection.
    found = re.search(r":(\d+)/", any_db.url)
    assert found is not None
    with Cutting(int(found[1]), AFTER) as way, Cutting(int(found[1]), AFTER) as other_way:
        conn, other = (
            headrace.connect(any_db.url.replace(f":{found[1]}/", f":{each.port}/", 1), autocommit=True)
            for each in (way, other_way)
        )
        for one, each in ((conn, way), (other, other_way)):
            one.execute("select 1")
            each.arm(1)
        with pytest.raises(errors.ConnectionClosed):
            other.execute("select 1")
        with pytest.raises(errors.ConnectionClosed) as raised, conn.pipeline():
            conn.execute("select 1")
            other.execute("select 1")
        assert "unknown whether" not in str(raised.value)
        assert conn.closed
        conn.close()
        other.close()
