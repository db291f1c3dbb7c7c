"""A pipeline whose connection is lost is reported by its error alone: asyncio logs nothing of its statements."""

from __future__ import annotations

import asyncio
import gc
import re
from typing import Any

import pytest

import headrace.aio
from cutting import BEFORE, Cutting
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
