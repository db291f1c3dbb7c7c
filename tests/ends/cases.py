"""Everything that ends with a promise, on connections of any database. A case calls ``run.point()`` wherever the
session may end, first of all when it has one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from headrace import errors

from .runs import Case, Run

CASES: dict[str, tuple[Case, tuple[str, ...]]] = {}
"""By name: the case, and the drivers that it is for; none for all of them."""


def case(*drivers: str) -> Callable[[Case], Case]:
    """Adds a case."""

    def add(function: Case) -> Case:
        CASES[function.__name__] = function, drivers
        return function

    return add


async def two_rows(run: Run, conn: Any) -> None:
    """Stores two rows, with a point before and after each."""
    await run.point()
    await run.insert(conn)
    await run.point()
    await run.insert(conn)
    await run.point()


async def caught(run: Run, conn: Any) -> None:
    """Stores rows, and goes on after an error."""
    await run.point()
    await run.insert(conn)
    await run.point()
    with contextlib.suppress(errors.Error):
        await run.insert(conn)
    await run.point()


@case()
async def connection_block(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        await two_rows(run, conn)


@case()
async def connection_block_after_an_error(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        await caught(run, conn)


@case()
async def pool_block(run: Run) -> None:
    async with run.pool(autocommit=False) as pool, pool.connection() as conn:
        await two_rows(run, await run.lent(conn))


@case()
async def pool_block_after_an_error(run: Run) -> None:
    async with run.pool(autocommit=False) as pool, pool.connection() as conn:
        await caught(run, await run.lent(conn))


@case()
async def commit(run: Run) -> None:
    conn = await run.connect(autocommit=False)
    await two_rows(run, conn)
    await conn.commit()
    await run.point()


@case()
async def commit_after_an_error(run: Run) -> None:
    conn = await run.connect(autocommit=False)
    await caught(run, conn)
    await conn.commit()


@case()
async def commit_before_return_to_the_pool(run: Run) -> None:
    async with run.pool(autocommit=False) as pool:
        conn = await run.lent(await pool.getconn())
        try:
            await two_rows(run, conn)
            await conn.commit()
        finally:
            await pool.putconn(conn if run.tasks else conn.value)


@case()
async def transaction_block(run: Run) -> None:
    conn = await run.connect(autocommit=True)
    async with conn.transaction():
        await two_rows(run, conn)
    await run.point()


@case()
async def transaction_block_after_an_error(run: Run) -> None:
    conn = await run.connect(autocommit=True)
    async with conn.transaction():
        await caught(run, conn)


async def caught_inner_block(run: Run, conn: Any) -> None:
    """A row, then a block within the transaction whose rows do not count if it fails."""
    await run.point()
    await run.insert(conn)
    claimed = len(run.claimed)
    try:
        async with conn.transaction():
            await two_rows(run, conn)
    except errors.Error:
        del run.claimed[claimed:]
    await run.point()


@case()
async def inner_block_whose_error_is_caught(run: Run) -> None:
    async with await run.connect(autocommit=True) as conn, conn.transaction():
        await caught_inner_block(run, conn)


@case()
async def savepoint_whose_error_is_caught(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        await caught_inner_block(run, conn)


@case()
async def batch(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        await run.point()
        rows = [(run.new(),) for _ in range(5)]
        await conn.executemany(f"insert into ends values ({run.db.differences.mark})", rows)
        run.claimed += [number for (number,) in rows]
        await run.point()


@case()
async def batch_in_autocommit(run: Run) -> None:
    async with await run.connect(autocommit=True) as conn:
        await run.point()
        rows = [(run.new(),) for _ in range(5)]
        await conn.executemany(f"insert into ends values ({run.db.differences.mark})", rows)
        run.kept += [number for (number,) in rows]
        await run.point()


@case("postgresql", "mysql")
async def script(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        await run.point()
        for _ in range(2):
            number = run.new()
            await conn.executescript(run.insert_of(number))
            run.claimed.append(number)
            await run.point()


@case()
async def cursor_block(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        async with conn.cursor() as cursor:
            await two_rows(run, cursor)
        await run.point()


@case()
async def statements_in_autocommit(run: Run) -> None:
    async with await run.connect(autocommit=True) as conn:
        await run.point()
        for _ in range(3):
            await run.insert(conn)
            run.kept.append(run.claimed[-1])
            await run.point()


@case()
async def autocommit_turned_on(run: Run) -> None:
    """It is refused in a transaction, whether or not that was lost."""
    conn = await run.connect(autocommit=False)
    await two_rows(run, conn)
    try:
        if run.tasks:
            await conn.set_autocommit(True)
        else:
            conn.value.autocommit = True
    except errors.ProgrammingError:
        await conn.commit()


@case()
async def pipeline_in_a_transaction(run: Run) -> None:
    conn = await run.connect(autocommit=True)
    async with conn.transaction(), conn.pipeline():
        await two_rows(run, conn)


@case()
async def pipeline_in_a_connection_block(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        async with conn.pipeline():
            await two_rows(run, conn)
        await run.point()


@case("postgresql")
async def copy_in(run: Run) -> None:
    async with await run.connect(autocommit=False) as conn:
        await run.point()
        rows = [(run.new(),) for _ in range(5)]
        await conn.copy_in("ends", rows)
        run.claimed += [number for (number,) in rows]
        await run.point()


@case("postgresql")
async def copy_block(run: Run) -> None:
    conn = await run.connect(autocommit=True)
    cursor = conn.cursor() if run.tasks else await conn.cursor()
    async with cursor.copy("copy ends from stdin") as copy:
        await run.point()
        number = run.new()
        await copy.write_row((number,))
        run.claimed.append(number)
        await run.point()


@case("postgresql")
async def stream_of_an_insert(run: Run) -> None:
    """With autocommit on it has a transaction of its own, which ends with it."""
    conn = await run.connect(autocommit=True)
    await run.point()
    first, *_ = [run.new() for _ in range(6)]
    values = f"select {first} + n from generate_series(0, 5) n"
    rows = conn.stream(f"insert into ends {values} returning id", fetch_size=2)
    async for (number,) in rows if run.tasks else await rows:
        run.claimed.append(number)
        await run.point()
    assert len(run.claimed) == 6


@case("mysql")
async def load_rows(run: Run) -> None:
    conn = await run.connect(autocommit=True, local_infile=True)
    await run.point()
    rows = [(run.new(),) for _ in range(5)]

    async def some() -> Any:
        for row in rows:
            yield row
            await run.point()

    def same() -> Any:
        for number, row in enumerate(rows):
            yield row
            run.points += 1
            run.kill.point(run.place, number + 1)

    await conn.load_rows("ends", some() if run.tasks else same())
    run.claimed += [number for (number,) in rows]
    await run.point()
