"""A connection of an engine changes the schema: what its other connections have prepared is prepared again."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from .conftest import Engines


def _table(kind: Any) -> sa.Table:
    return sa.Table("swapped", sa.MetaData(), sa.Column("n", kind))


@pytest.fixture
def first(engines: Engines) -> Any:
    """The table as it is before."""
    table = _table(sa.Integer)
    engines.connected(table.metadata.drop_all)
    engines.connected(table.metadata.create_all)
    yield table
    engines.connected(table.metadata.drop_all)


def _rows(connection: sa.Connection, table: sa.Table, value: Any) -> Any:
    """In a transaction, after another statement, so that nothing can be repeated."""
    connection.execute(table.insert(), {"n": value})
    rows = connection.scalars(sa.select(table.c.n)).all()
    connection.rollback()
    return rows


def test_other_connections_read_the_new_table(engines: Engines, first: sa.Table) -> None:
    second = _table(sa.String(20))

    def work(connection: sa.Connection) -> None:
        assert _rows(connection, first, 1) == [1]
        with connection.engine.begin() as other:
            first.drop(other)
            second.create(other)
        assert _rows(connection, second, "a") == ["a"]

    engines.connected(work, begin=False)


def test_statements_stay_prepared_where_the_schema_stays(postgres: Engines) -> None:
    query = sa.select(sa.literal(1).label("prepared_once"))
    prepared = sa.text("select name from pg_prepared_statements where statement like '%prepared_once'")

    def work(connection: sa.Connection) -> Any:
        table = _table(sa.Integer)
        with connection.engine.begin() as other:
            table.drop(other, checkfirst=True)
            table.create(other)
            table.drop(other)
        names = []
        for _ in range(4):
            connection.execute(query)
            names.append(connection.scalars(prepared).all())
        return names

    _, *names = postgres.connected(work)
    assert len(names[0]) == 1
    assert names[1:] == names[:-1]
