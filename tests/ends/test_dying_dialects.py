"""The same through SQLAlchemy: its own dialects, blocking and on asyncio, and MySQLdb's on the facade."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

import headrace.compat.mysqldb
from company.shells import drive
from headrace._shared.connection_base import ConnectionBase

from .lent import Lent
from .runs import KILLS, Place, Run, run_everywhere

TABLE = Table("ends", MetaData(), Column("id", Integer))
ERRORS = (SQLAlchemyError, headrace.Error, headrace.compat.mysqldb.MySQLError)
"""SQLAlchemy's, and those of the driver that it lets through where it sets a connection back."""
BLOCKING = {"mysql": ("mysql+mysqldb",)}
"""Dialects of a database that block only, besides its own."""
Case = Callable[[Run, Any], Awaitable[None]]


async def rows(run: Run, conn: Any) -> None:
    """Stores two rows, with a point before and after each."""
    await run.point()
    for _ in range(2):
        number = run.new()
        await conn.execute(text(run.insert_of(number)))
        run.claimed.append(number)
        await run.point()


async def begin(run: Run, engine: Any) -> None:
    async with engine.begin() as conn:
        await rows(run, conn)


async def commit(run: Run, engine: Any) -> None:
    async with engine.connect() as conn:
        await rows(run, conn)
        await conn.commit()


async def caught(run: Run, engine: Any) -> None:
    async with engine.begin() as conn:
        await run.point()
        number = run.new()
        await conn.execute(text(run.insert_of(number)))
        run.claimed.append(number)
        await run.point()
        with contextlib.suppress(SQLAlchemyError):
            await conn.execute(text(run.insert_of(run.new())))
        await run.point()


async def batch(run: Run, engine: Any) -> None:
    async with engine.begin() as conn:
        await run.point()
        numbers = [run.new() for _ in range(3)]
        await conn.execute(TABLE.insert(), [{"id": number} for number in numbers])
        run.claimed += numbers
        await run.point()


async def autocommit(run: Run, engine: Any) -> None:
    async with engine.connect() as plain:
        conn = await plain.execution_options(isolation_level="AUTOCOMMIT")
        await run.point()
        for _ in range(2):
            number = run.new()
            await conn.execute(text(run.insert_of(number)))
            run.kept.append(number)
            await run.point()


async def session(run: Run, engine: Any) -> None:
    opened: Any = AsyncSession(engine) if run.tasks else Lent(Session(engine.value))
    async with opened as one, one.begin():
        await rows(run, one)


@contextlib.asynccontextmanager
async def engine_of(run: Run, driver: str) -> AsyncIterator[Any]:
    """An engine without a pool of its own."""
    _, colon, rest = run.place.url.partition(":")
    url = f"{driver}{colon}{rest}"
    if run.tasks:
        engine: Any = create_async_engine(url, poolclass=NullPool)
        yield engine
        await engine.dispose()
        return
    module = {"module": headrace.compat.mysqldb} if driver == "mysql+mysqldb" else {}
    yield Lent(create_engine(url, poolclass=NullPool, **module))


@pytest.mark.parametrize("place", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_a_transaction_of_an_engine_without_an_error_is_stored(
    place: Place, loop: asyncio.AbstractEventLoop | None
) -> None:
    drivers = [f"{place.db.kind}+headrace", *(BLOCKING.get(place.db.kind, ()) if loop is None else ())]
    found: list[str] = []
    for driver in drivers:
        for case in (begin, commit, caught, batch, autocommit, session):

            async def run_case(run: Run, case: Case = case, driver: str = driver) -> None:
                async with engine_of(run, driver) as engine:
                    await case(run, engine)

            for kind in KILLS:
                if not (kind.noticed and loop is None):
                    faults = run_everywhere(place, run_case, kind, loop, ERRORS)
                    found += [f"{driver}, {case.__name__}, {fault}" for fault in faults]
    assert found == []


@pytest.mark.parametrize("place", ["postgresql", "mariadb", "mysql"], indirect=True)
@pytest.mark.parametrize("noticed", [False, True])
def test_a_session_that_is_lost_in_autocommit_keeps_no_place_of_the_pool(
    place: Place, loop: asyncio.AbstractEventLoop | None, noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        url = f"{place.db.kind}+headrace{place.url[place.url.index(':') :]}"
        keywords: Any = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 5}
        engine: Any = create_async_engine(url, **keywords) if loop else Lent(create_engine(url, **keywords))
        for _ in range(3):
            with contextlib.suppress(*ERRORS):
                async with engine.connect() as plain:
                    conn = await plain.execution_options(isolation_level="AUTOCOMMIT")
                    await conn.scalar(text("select 1"))
                    place.way.cut()
        answers = 0
        for _ in range(2):
            # The first may be lent what was lost without a sign of it.
            with contextlib.suppress(*ERRORS):
                async with engine.connect() as conn:
                    await conn.execute(text("select 1"))
                    answers += 1
        assert answers
        await engine.dispose()

    if not noticed:
        monkeypatch.setattr(ConnectionBase, "check_alive", lambda self: True)
    if loop is None:
        drive(run())
    else:
        loop.run_until_complete(asyncio.wait_for(run(), 60))
