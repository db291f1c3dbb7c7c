"""A connection and a table on each database. PostgreSQL's own tests of the same are in other folders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from servers import Database, PostgreSQL, database, names


@pytest.fixture(params=names(but=(PostgreSQL,)))
def db(request: pytest.FixtureRequest) -> Database:
    """Each database besides PostgreSQL."""
    return database(request, request.param)


@pytest.fixture
def conn(db: Database) -> Iterator[Any]:
    """A connection in autocommit, and an empty table ``t (id, name)``."""
    connection = db.connect(autocommit=True)
    try:
        connection.execute("drop table if exists t")
        connection.execute("create table t (id int primary key, name varchar(40))")
        yield connection
    finally:
        connection.close()


@pytest.fixture
async def aconn(db: Database, conn: Any) -> AsyncIterator[Any]:
    """A connection of the running loop in autocommit, and the table ``t``."""
    connection = await db.aconnect(autocommit=True)
    try:
        yield connection
    finally:
        await connection.close()
