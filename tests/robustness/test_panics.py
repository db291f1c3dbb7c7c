"""A panic in the engine, a fault of headrace itself, leaves a connection in the middle of anything: it is closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace import errors
from servers import Database
from time_limit import time_limit

# PyO3 has no name for it. One that is raised by Python goes on in Rust as the panic that it stands for: that is how a
# panic is made here where the engine has none, with the connection's lock held.
Panic: Any = next(found for found in BaseException.__subclasses__() if found.__name__ == "PanicException")
CLOSED = "closed after an internal error of headrace"


def rows(count: int) -> Iterator[tuple[int]]:
    for n in range(count):
        if n % 500 == 499:
            # On a loop the batch goes on in another turn: what is raised there has no caller.
            time.sleep(0.004)
        yield (n,)
    raise Panic("made by a test")


@pytest.mark.parametrize("count", [0, 5000])
def test_a_panic_closes_the_connection(target: Database, count: int) -> None:
    conn = target.connect(autocommit=True)
    conn.execute(target.temporary)
    with pytest.raises((Panic, errors.OperationalError), match=f"made by a test|{CLOSED}"):
        conn.executemany(f"insert into r values ({target.mark})", rows(count))
    assert conn.closed
    for call in (conn.commit, lambda: conn.execute(target.answer), lambda: conn.execute("select count(*) from r")):
        with pytest.raises(errors.Error):
            call()
    conn.close()


@pytest.mark.parametrize("count", [0, 5000])
async def test_a_panic_on_a_loop_closes_the_connection(target: Database, count: int) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    conn = await target.aconnect(autocommit=True)
    await conn.execute(target.temporary)
    async with time_limit(20):
        with pytest.raises((Panic, errors.OperationalError), match=f"made by a test|{CLOSED}"):
            await conn.executemany(f"insert into r values ({target.mark})", rows(count))
        assert conn.closed
        with pytest.raises(errors.OperationalError, match=CLOSED):
            await conn.execute(target.answer)
        await conn.close()
