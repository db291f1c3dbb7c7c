"""SQLAlchemy with each driver under it: the same statements, engines and sessions for all, blocking and asyncio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from . import data
from .workloads import ALCHEMY_ROWS, Sql

Rows = list[Any]


def _table(sql: Sql) -> sa.Table:
    """The five-column table that the workloads read."""
    schema, _, name = sql.table("fetch", ALCHEMY_ROWS).rpartition(".")
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64)),
        sa.Column("n", sa.Integer),
        sa.Column("f", sa.Double),
        sa.Column("d", sa.Date),
        # On databases without schemas the name has none.
        schema=schema or None,
    )


class Alchemy:
    """An engine of a contestant's driver, and the statements."""

    def __init__(self, url: str, driver: str, sql: Sql, make: Callable[..., Any]) -> None:
        place = sa.make_url(url)
        scheme = "postgresql" if place.drivername == "postgres" else place.drivername
        self.engine = make(place.set(drivername=f"{scheme}+{driver}"), pool_size=1, max_overflow=0)
        table = _table(sql)
        first = table.c.id <= sa.bindparam("size")
        self.select = sa.select(table).where(first).order_by(table.c.id)

        class Item:
            """A row as an object."""

        orm.registry().map_imperatively(Item, table)
        item: Any = Item
        self.select_items = sa.select(item).where(item.id <= sa.bindparam("size")).order_by(item.id)

    @staticmethod
    def values(items: Rows) -> Rows:
        """What the program reads of each object: all of it."""
        return [tuple(getattr(item, name) for name in data.COLUMNS) for item in items]


class Blocking(Alchemy):
    """A blocking engine."""

    def __init__(self, url: str, driver: str, sql: Sql) -> None:
        super().__init__(url, driver, sql, sa.create_engine)

    def core(self, size: int) -> Rows:
        """Rows, by Core, in a transaction."""
        with self.engine.connect() as connection:
            return list(connection.execute(self.select, {"size": size}).all())

    def orm(self, size: int) -> Rows:
        """Objects, each attribute read, in a session."""
        with orm.Session(self.engine) as session:
            return self.values(list(session.scalars(self.select_items, {"size": size}).all()))

    def dispose(self) -> None:
        """Closes the connections."""
        self.engine.dispose()


class Asyncio(Alchemy):
    """An asyncio engine."""

    def __init__(self, url: str, driver: str, sql: Sql) -> None:
        super().__init__(url, driver, sql, create_async_engine)

    async def core(self, size: int) -> Rows:
        """Rows, by Core, in a transaction."""
        async with self.engine.connect() as connection:
            return list((await connection.execute(self.select, {"size": size})).all())

    async def orm(self, size: int) -> Rows:
        """Objects, each attribute read, in a session."""
        async with AsyncSession(self.engine) as session:
            return self.values(list((await session.scalars(self.select_items, {"size": size})).all()))

    async def dispose(self) -> None:
        """Closes the connections."""
        await self.engine.dispose()
