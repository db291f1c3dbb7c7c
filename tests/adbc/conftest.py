"""Connections of the ADBC driver to every database, through the driver manager."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adbc_driver_headrace import dbapi
from servers import Database, PostgreSQL, database, names


def connect(db: Database, *, autocommit: bool = True, **options: str) -> dbapi.Connection:
    """A connection of the ADBC driver; ``options`` are those of the database, without their prefix."""
    prefixed = {f"headrace.{name}": value for name, value in options.items()}
    return dbapi.connect(db.url, db_kwargs=prefixed, autocommit=autocommit)


def marks(db: Database, count: int) -> str:
    """So many parameters, as the database has them."""
    return ", ".join(db.native_marks(count))


@pytest.fixture(params=names(but=(PostgreSQL,)))
def checking(request: pytest.FixtureRequest) -> Database:
    """Each database whose test server checks passwords."""
    return database(request, request.param)


@pytest.fixture
def conn(any_db: Database) -> Iterator[dbapi.Connection]:
    """A connection in autocommit, and an empty table ``t (id, name)``."""
    with connect(any_db) as connection, connection.cursor() as cursor:
        run(cursor, "drop table if exists t")
        run(cursor, "create table t (id int primary key, name varchar(40))")
        yield connection


def run(cursor: dbapi.Cursor, sql: str, *parameters: Any) -> None:
    """Executes a statement with parameters."""
    cursor.execute(sql, parameters or None)


def rows(connection: dbapi.Connection, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()
