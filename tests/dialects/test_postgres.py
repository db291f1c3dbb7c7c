"""``postgresql+headrace``: what users of an engine rely on."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from .conftest import Engines

META = sa.MetaData()
ITEMS = sa.Table(
    "items",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(20)),
    sa.Column("price", sa.Numeric(10, 2)),
    sa.Column("data", pg.JSONB),
    sa.Column("day", sa.Date),
    sa.Column("span", pg.INT4RANGE),
    sa.Column("tags", pg.ARRAY(sa.String)),
)


@pytest.fixture(autouse=True)
def _tables(postgres: Engines) -> Any:
    postgres.connected(META.create_all)
    yield
    postgres.connected(META.drop_all)


def test_rows_come_back_as_they_went(postgres: Engines) -> None:
    row = {
        "id": 1, "name": "a%s", "price": decimal.Decimal("1.50"), "data": {"a": [1, None]},
        "day": datetime.date(2024, 2, 29), "span": pg.Range(1, 5), "tags": ["x", "y"],
    }  # fmt: skip

    def work(connection: sa.Connection) -> Any:
        connection.execute(ITEMS.insert(), row)
        return connection.execute(sa.select(ITEMS).where(ITEMS.c.name == "a%s")).mappings().one()

    assert dict(postgres.connected(work)) == row


def test_a_statement_is_prepared_once_whatever_its_values(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        for value in (1, None, 2**31 - 1):
            connection.execute(sa.select(ITEMS.c.name).where(ITEMS.c.id == value, ITEMS.c.price == value))
        prepared = sa.text("select count(*) from pg_prepared_statements where statement like 'SELECT items.name%'")
        return connection.scalar(prepared)

    assert postgres.connected(work) == 2  # "= $1" and "IS NULL"


def test_a_batch_is_one_statement_and_counts_its_rows(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        counting = connection.execution_options(preserve_rowcount=True)
        inserted = counting.execute(ITEMS.insert(), [{"id": i, "name": str(i)} for i in range(2000)])
        updated = connection.execute(
            ITEMS.update().where(ITEMS.c.id == sa.bindparam("key")), [{"key": 1, "name": "x"}, {"key": -1, "name": "y"}]
        )
        return inserted.rowcount, updated.rowcount

    assert postgres.connected(work) == (2000, 1)


def test_stream_results_holds_few_rows_also_in_autocommit(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        rows = connection.execution_options(stream_results=True, max_row_buffer=10).execute(
            sa.text("select generate_series(1, 1000)")
        )
        assert getattr(rows.cursor, "name", None) or rows.cursor.server_side  # type: ignore[union-attr]
        return sum(rows.scalars())

    assert postgres.connected(work) == 500_500
    alone = postgres.made(isolation_level="AUTOCOMMIT")
    assert alone.connected(work) == 500_500
    alone.dispose()
