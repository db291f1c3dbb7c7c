"""A small web service under load, whose clients cancel their requests: afterwards every connection is in step."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

import headrace
from servers import DATABASES
from servers.base import Listing

if TYPE_CHECKING:
    from fastapi import FastAPI

POOL = 4
REQUESTS = 600
AT_ONCE = 24
ACCOUNTS = 20
BALANCE = 1_000
META = sa.MetaData()
TABLE = sa.Table(
    "service_accounts",
    META,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("owner", sa.String(40), nullable=False),
    sa.Column("balance", sa.Integer, nullable=False),
)


@pytest.fixture
async def engine(any_database: str) -> AsyncIterator[AsyncEngine]:
    """An engine whose pool is smaller than the number of requests at a time, and the accounts."""
    made = create_async_engine(any_database, pool_size=POOL, max_overflow=0, pool_timeout=60)
    async with made.begin() as connection:
        await connection.run_sync(META.drop_all)
        await connection.run_sync(META.create_all)
        rows = [{"id": n, "owner": f"owner {n}", "balance": BALANCE} for n in range(ACCOUNTS)]
        await connection.execute(TABLE.insert(), rows)
    yield made
    async with made.begin() as connection:
        await connection.run_sync(META.drop_all)
    await made.dispose()


@pytest.fixture
def db(any_database: str) -> type[Listing]:
    """What is known of the database."""
    found = DATABASES[any_database.partition("+")[0]]
    assert issubclass(found, Listing)
    return found


def service(engine: AsyncEngine, db: type[Listing]) -> FastAPI:
    """Reads and transfers, each in a transaction of its own."""
    # It takes long to import: not by each process that collects the tests.
    from fastapi import FastAPI

    app = FastAPI()
    pause = sa.text(db.pause.format(0.003))

    @app.get("/accounts/{number}")
    async def account(number: int) -> dict[str, Any]:
        async with engine.connect() as connection:
            await connection.execute(pause)
            row = (await connection.execute(sa.select(TABLE).where(TABLE.c.id == number))).mappings().one()
            return dict(row)

    @app.get("/owners")
    async def owners(first: int, count: int) -> list[str]:
        query = sa.select(TABLE.c.owner).where(TABLE.c.id >= first).order_by(TABLE.c.id).limit(count)
        async with engine.connect() as connection:
            rows = await connection.stream(query, execution_options={"yield_per": 2})
            return [owner async for owner in rows.scalars()]

    @app.post("/transfers")
    async def transfer(source: int, target: int, amount: int) -> dict[str, int]:
        async with engine.begin() as connection:
            # In one order, so that there are no deadlocks.
            for number, change in sorted([(source, -amount), (target, amount)]):
                changed = TABLE.c.balance + change
                await connection.execute(TABLE.update().where(TABLE.c.id == number).values(balance=changed))
                await connection.execute(pause)
        return {"amount": amount}

    return app


async def request(client: httpx.AsyncClient, chosen: random.Random) -> None:
    """One request, and a look at its reply."""
    kind, number = chosen.choice(["account", "owners", "transfer"]), chosen.randrange(ACCOUNTS - 1)
    if kind == "account":
        reply = await client.get(f"/accounts/{number}")
        assert reply.status_code == 200, reply.text
        found = reply.json()
        assert (found["id"], found["owner"]) == (number, f"owner {number}")
    elif kind == "owners":
        reply = await client.get("/owners", params={"first": number, "count": 7})
        assert reply.json() == [f"owner {n}" for n in range(number, min(number + 7, ACCOUNTS))]
    else:
        amount = chosen.randrange(1, 50)
        reply = await client.post("/transfers", params={"source": number, "target": number + 1, "amount": amount})
        assert reply.json() == {"amount": amount}


async def load(client: httpx.AsyncClient, chosen: random.Random) -> tuple[int, int]:
    """Sends the requests, some of which are cancelled at any moment; returns how many were answered and cancelled."""
    outcomes: list[bool] = []
    room = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int, patience: float | None) -> None:
        async with room:
            task = asyncio.ensure_future(request(client, random.Random(seed)))
            if patience is not None:
                await asyncio.wait([task], timeout=patience)
                task.cancel()
            try:
                await task
                outcomes.append(True)
            except asyncio.CancelledError:
                outcomes.append(False)

    tries = [(seed, chosen.uniform(0, 0.06) if chosen.random() < 0.5 else None) for seed in range(REQUESTS)]
    await asyncio.gather(*(one(*each) for each in tries))
    return outcomes.count(True), outcomes.count(False)


async def test_cancelled_requests_leave_no_connection_in_doubt(
    engine: AsyncEngine, any_database: str, db: type[Listing]
) -> None:
    transport = httpx.ASGITransport(service(engine, db))
    with headrace.connect(any_database.replace("+headrace", ""), autocommit=True) as admin:
        before, _ = admin.fetchrow(db.counts)
        async with httpx.AsyncClient(transport=transport, base_url="http://service", timeout=60) as client:
            answered, cancelled = await load(client, random.Random(7))
            assert answered > REQUESTS / 4
            assert cancelled > REQUESTS / 10
            # And nobody has to wait for what was cancelled.
            for _ in range(3 * POOL):
                await request(client, random.Random(11))
        pool: Any = engine.pool
        assert pool.checkedout() == 0
        # Every connection of the pool is in step, and returns its own rows.
        held = [await engine.connect() for _ in range(POOL)]
        found = await asyncio.gather(*(c.scalar(sa.select(sa.literal(n))) for n, c in enumerate(held)))
        assert found == list(range(POOL))
        for connection in held:
            await connection.close()
        # No transfer was done by half, whenever it was cancelled.
        async with engine.connect() as connection:
            assert await connection.scalar(sa.select(sa.func.sum(TABLE.c.balance))) == ACCOUNTS * BALANCE
        # The server has the pool's sessions, all idle, and none of those that were given up.
        until = time.monotonic() + 10
        while (state := tuple(admin.fetchrow(db.counts))) != (max(before, POOL), 0) and time.monotonic() < until:
            await asyncio.sleep(0.1)
        assert state == (POOL, 0)
