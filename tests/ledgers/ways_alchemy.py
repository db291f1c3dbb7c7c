"""The ways of programs that are written for SQLAlchemy."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from ends.lent import Lent

from .book import Told, Unit
from .ways import Left, rows_of, way

if TYPE_CHECKING:
    from .work import Job


class Base(DeclarativeBase):
    """Of the tables."""


class Row(Base):
    """A row of the journal."""

    __tablename__ = "journal"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    part: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    source: Mapped[int] = mapped_column(default=0)
    target: Mapped[int] = mapped_column(default=0)
    amount: Mapped[int] = mapped_column(default=0)


class Account(Base):
    """An account."""

    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    balance: Mapped[int]


INSERT = text("insert into journal values (:number, :part, :source, :target, :amount)")
NAMES = ("number", "part", "source", "target", "amount")


def named(row: tuple[int, ...]) -> dict[str, int]:
    """A row by the names of its columns."""
    return dict(zip(NAMES, row, strict=True))


async def moved_by(job: Job, conn: Any, unit: Unit) -> None:
    """Moves money between two accounts, in whatever is open."""
    source, target, amount = unit.movement = job.movement()
    for account, change in ((source, -amount), (target, amount)):
        changed = update(Account).where(Account.id == account).values(balance=Account.balance + change)
        await conn.execute(changed.execution_options(synchronize_session=False))
    await conn.execute(INSERT, named((unit.number, 0, source, target, amount)))


def session(job: Job) -> Any:
    """A session."""
    engine = job.engine
    return AsyncSession(engine) if job.tasks else Lent(Session(engine.value))


@way(place="sqlalchemy")
async def engine_in_autocommit(job: Job) -> None:
    async with job.engine.connect() as plain:
        conn = await plain.execution_options(isolation_level="AUTOCOMMIT")
        for _ in range(job.few()):
            unit = job.unit()
            await conn.execute(INSERT, named(rows_of(unit)[0]))
            job.stored(unit)
            await job.pause()


@way(place="sqlalchemy")
async def engine_begin(job: Job) -> None:
    unit = job.unit()
    async with job.engine.begin() as conn, job.body():
        await moved_by(job, conn, unit)
        await job.pause()
    job.stored(unit)


@way(place="sqlalchemy")
async def engine_commit(job: Job) -> None:
    unit = job.unit()
    async with job.engine.connect() as conn:
        async with job.body():
            await moved_by(job, conn, unit)
            await job.pause()
        await conn.commit()
        job.stored(unit)


@way(place="sqlalchemy")
async def engine_left(job: Job) -> None:
    """Without a commit nothing is stored."""
    unit = job.unit()
    with contextlib.suppress(Left):
        async with job.body(), job.engine.connect() as conn:
            await moved_by(job, conn, unit)
            await job.pause()
            raise Left
    unit.told = Told.REFUSED


@way(place="sqlalchemy")
async def engine_batch(job: Job) -> None:
    unit = job.unit(parts=job.chance.randint(2, 40))
    async with job.engine.begin() as conn, job.body():
        await moved_by(job, conn, unit)
        await conn.execute(insert(Row.__table__), [named(row) for row in rows_of(unit, 1)])
        await job.pause()
    job.stored(unit)


@way(place="sqlalchemy")
async def engine_inner_block(job: Job) -> None:
    """Some are rolled back, and what they have stored goes with them."""
    outer, inner = job.unit(), job.unit(parts=2)
    is_wanted = job.chance.random() < 0.5
    async with job.engine.begin() as conn, job.body():
        nested = await conn.begin_nested()
        for row in rows_of(inner):
            await conn.execute(INSERT, named(row))
            await job.pause()
        if not is_wanted:
            inner.told = Told.REFUSED
        await (nested.commit() if is_wanted else nested.rollback())
        await moved_by(job, conn, outer)
    job.stored(outer, *[inner] * is_wanted)


@way(place="sqlalchemy")
async def session_block(job: Job) -> None:
    unit = job.unit(parts=4)
    async with session(job) as one, one.begin(), job.body():
        await moved_by(job, one, unit)
        await one.flush()
        one.add_all([Row(**named(row)) for row in rows_of(unit, 1)])
        await job.pause()
        if job.chance.random() < 0.5:
            await one.flush()
    job.stored(unit)


@way(place="sqlalchemy")
async def session_commit(job: Job) -> None:
    """The objects are written by the commit."""
    unit = job.unit(parts=3)
    async with session(job) as one:
        async with job.body():
            await one.execute(select(Account))
            await job.pause()
            one.add_all([Row(**named(row)) for row in rows_of(unit)])
        await one.commit()
        job.stored(unit)
