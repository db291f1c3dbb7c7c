"""A meeting of workers on one connection, or on a pool, and what must be true at its end."""

from __future__ import annotations

import os
from typing import Any

from headrace.types import TransactionStatus
from long import NIGHT, times

from .places import Place
from .shells import Shell
from .worker import COMMON, READS, Chosen, Company, Worker, batches, company, deletes, inserts, looks, same

OPERATIONS = int(os.environ.get("HEADRACE_COMPANY_OPERATIONS", times(25)))
"""Operations of each worker."""
WITHOUT = os.environ.get("HEADRACE_COMPANY_WITHOUT", "").split()
SEED = os.environ.get("HEADRACE_COMPANY_SEED", str(NIGHT or ""))
SECONDS_EACH = 1.0
"""What an operation may take on a busy machine, on average."""


class Undone(Exception):
    """Ends the use of a connection of a pool, which rolls back."""


def operations_of(place: Place) -> dict[str, Chosen]:
    """What the workers do."""
    return {name: one for name, one in {**COMMON, **place.operations}.items() if name not in WITHOUT}


async def idle_and_in_step(place: Place, conn: Any) -> None:
    """The follow-ups after whatever happened on a connection."""
    same("closed", conn.closed, False)
    # What was cancelled last may be on its way still.
    same("an answer", await conn.fetch(place.marked(2), "after"), [("after", 1), ("after", 2)])
    same("status", conn.transaction_status, TransactionStatus.IDLE)
    same("a batch's answers", await conn.fetchmany(place.marked(1), [("a",), ("b",)]), [("a", 1), ("b", 1)])
    cursor = await conn.executemany(place.insert, [(-1, n, "after") for n in range(3)])
    same("a batch", cursor.rowcount, 3)
    async with conn.transaction():
        await conn.execute("delete from company where worker = -1")
    same("rows left", await conn.fetchval("select count(*) from company where worker = -1"), 0)
    same("status afterwards", conn.transaction_status, TransactionStatus.IDLE)


def no_faults(meeting: Company) -> None:
    """Every participant has received only its own results and errors."""
    assert not meeting.faults, f"seed {SEED!r}\n" + "\n".join(meeting.faults)


async def checked_by_another(place: Place, shell: Shell, workers: list[Worker]) -> None:
    """What another session sees is what was committed."""
    other = await place.connect(shell)
    for worker in workers:
        await worker.check(other)
    await other.close()


def on_one_connection(place: Place, shell: Shell, count: int) -> None:
    """Workers who use one connection at the same time."""

    async def test() -> None:
        await place.prepare(shell)
        conn = await place.connect(shell)
        meeting = company(place, shell)
        workers = [Worker(meeting, number, f"{SEED}{place.name}") for number in range(count)]
        operations = operations_of(place)
        works = [one.work(conn, operations, OPERATIONS) for one in workers]
        try:
            await shell.together(works, 30 + SECONDS_EACH * OPERATIONS * count, lambda: meeting.progress)
            no_faults(meeting)
            await idle_and_in_step(place, conn)
        finally:
            await shell.drop(conn)
        await checked_by_another(place, shell, workers)

    shell.run(test(), 60 + SECONDS_EACH * OPERATIONS * count)


async def borrows(worker: Worker, pool: Any, autocommit: bool) -> None:
    """Uses connections of a pool, one after the other, each for a few operations in one way."""
    operations = operations_of(worker.place)
    plain = {name: one for name, one in operations.items() if one.level == READS}
    plain |= {"inserts": inserts, "batches": batches, "deletes": deletes, "looks": looks}
    # For a connection of its own only: these are refused there, or pointless.
    alone = company(worker.place, worker.shell)
    alone.faults = worker.company.faults
    left = OPERATIONS
    while left > 0 and len(alone.faults) < 8:
        count = worker.rng.randrange(1, 6)
        left -= count
        way = worker.rng.choice(("own", "own", "undone", "block", "closed", "cancelled"))
        before = dict(worker.rows)
        try:
            async with pool.connection(timeout=60) as conn:
                if way == "own" and autocommit:
                    await worker.work(conn, operations, count, alone)
                elif way == "block":
                    async with conn.transaction():
                        await worker.work(conn, plain, count, alone)
                elif way == "cancelled" and autocommit:
                    await cancels(worker, conn)
                else:
                    await worker.work(conn, plain, count, alone)
                    if way == "closed" and autocommit:
                        await conn.close()
                    if way == "undone":
                        raise Undone
        except Undone:
            if not autocommit:
                worker.rows = before


async def cancels(worker: Worker, conn: Any) -> None:
    """Cancels its own connection, which does something or nothing, from another thread or task."""
    rows = worker.values(1, "slow")
    told: list[str] = []

    async def slow() -> None:
        try:
            await conn.execute(worker.place.slow, rows[0][:2])
        except worker.place.cancelled:
            told.append("cancelled")

    async def cancel() -> None:
        await worker.shell.sleep(worker.rng.choice((0, 0.001, 0.01, 0.03)))
        await conn.cancel()

    await worker.shell.together([slow(), cancel()], 30)
    if told:
        await worker.settle(conn, rows)
    else:
        sql = f"select n, how from company where worker = {worker.place.mark} and n = {rows[0][1]}"
        worker.rows.update(await conn.fetch(sql, worker.number))
    mark = worker.marker()
    same("a result after a cancel", await conn.fetch(worker.place.marked(1), mark), [(mark, 1)])


def on_a_pool(place: Place, shell: Shell, count: int, size: int, autocommit: bool) -> None:
    """Workers who share a pool that has fewer connections than they are."""

    async def test() -> None:
        await place.prepare(shell)
        meeting = company(place, shell)
        workers = [Worker(meeting, number, f"{SEED}{place.name}{autocommit}") for number in range(count)]
        keywords = {**place.keywords, "autocommit": autocommit}
        async with shell.pool(place.url, min_size=1, max_size=size, kwargs=keywords) as pool:
            works = [borrows(one, pool, autocommit) for one in workers]
            await shell.together(works, 30 + SECONDS_EACH * OPERATIONS * count, lambda: meeting.progress)
            no_faults(meeting)
            for _ in range(size):
                async with pool.connection() as conn:
                    same("status", conn.transaction_status, TransactionStatus.IDLE)
                    same("an answer", await conn.fetch(place.marked(1), "after"), [("after", 1)])
        await checked_by_another(place, shell, workers)

    shell.run(test(), 60 + SECONDS_EACH * OPERATIONS * count)
