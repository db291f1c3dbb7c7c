"""Dates and times with and without a zone, for columns of the other kind: the instants that psycopg's and PyMySQL's
dialects store, by every way that a statement goes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from .conftest import Engines

pytestmark = pytest.mark.usefixtures("berlin")

NAIVE = dt.datetime(2024, 7, 1, 12)
AWARE = dt.datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
"""03:00 in UTC, and 23:00 of the day before in New York."""


class Base(DeclarativeBase):
    pass


class Event(Base):
    __tablename__ = "of_instants"
    id: Mapped[int] = mapped_column(primary_key=True)
    naive: Mapped[dt.datetime | None] = mapped_column(sa.DateTime())
    zoned: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    day: Mapped[dt.date | None] = mapped_column(sa.Date())
    clock: Mapped[dt.time | None] = mapped_column(sa.Time())


EVENTS: Any = Event.__table__
TEXT = sa.text("insert into of_instants (id, naive, zoned) values (:id, :naive, :zoned)")
ROWS: list[dict[str, Any]] = [
    {"id": 1, "naive": AWARE, "zoned": NAIVE},
    {"id": 2, "naive": NAIVE, "zoned": AWARE},
    {"id": 3, "naive": None, "zoned": NAIVE.date()},
    {"id": 4, "naive": pd.Timestamp(AWARE), "zoned": pd.NaT},
    # New York's clocks have no such time.
    {"id": 5, "naive": dt.datetime(2024, 3, 10, 2, 30), "zoned": None},
]


def one_by_one(connection: sa.Connection) -> None:
    for row in ROWS:
        connection.execute(sa.insert(EVENTS), row)


def by_orm(connection: sa.Connection) -> None:
    with Session(connection) as session:
        session.add_all([Event(**row) for row in ROWS])
        session.commit()


WAYS: dict[str, Callable[[sa.Connection], Any]] = {
    "execute": one_by_one,
    "executemany": lambda connection: connection.execute(sa.insert(EVENTS), ROWS),
    "returning": lambda connection: connection.execute(sa.insert(EVENTS).returning(EVENTS.c.id), ROWS).all(),
    "values": lambda connection: connection.execute(sa.insert(EVENTS).values(ROWS)),
    "orm": by_orm,
    "text": lambda connection: [connection.execute(TEXT, row) for row in ROWS],
    "texts": lambda connection: connection.execute(TEXT, ROWS),
}


def instants(connection: sa.Connection) -> list[tuple[Any, ...]]:
    query = sa.select(EVENTS.c.naive, EVENTS.c.zoned).order_by(EVENTS.c.id)
    return [tuple(row) for row in connection.execute(query)]


def utc(*clock: int) -> dt.datetime:
    return dt.datetime(*clock, tzinfo=dt.timezone.utc)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize("way", WAYS)
def test_postgresql_converts_by_the_time_zone_of_the_session(postgres: Engines, way: str) -> None:
    def work(connection: sa.Connection) -> None:
        Base.metadata.create_all(connection)
        connection.exec_driver_sql("set time zone 'America/New_York'")
        WAYS[way](connection)
        assert instants(connection) == [
            (dt.datetime(2024, 6, 30, 23), utc(2024, 7, 1, 16)),
            (NAIVE, utc(2024, 7, 1, 3)),
            (None, utc(2024, 7, 1, 4)),
            (dt.datetime(2024, 6, 30, 23), None),
            (dt.datetime(2024, 3, 10, 2, 30), None),
        ]
        connection.rollback()

    postgres.connected(work, begin=False)


@pytest.mark.parametrize("way", sorted(WAYS.keys() - {"returning"}))
def test_mysql_has_the_time_of_the_clock(my: Engines, way: str) -> None:
    def work(connection: sa.Connection) -> list[tuple[Any, ...]]:
        Base.metadata.drop_all(connection)
        Base.metadata.create_all(connection)
        try:
            WAYS[way](connection)
            return instants(connection)
        finally:
            Base.metadata.drop_all(connection)

    assert my.connected(work) == [
        (NAIVE, NAIVE),
        (NAIVE, NAIVE),
        (None, dt.datetime(2024, 7, 1)),
        (NAIVE, None),
        (dt.datetime(2024, 3, 10, 2, 30), None),
    ]


def test_comparisons_take_them_too(postgres: Engines) -> None:
    """Also with lists, whose places are known only when the values are, and with columns of no known type."""

    def work(connection: sa.Connection) -> None:
        Base.metadata.create_all(connection)
        connection.exec_driver_sql("set time zone 'America/New_York'")
        connection.execute(sa.insert(EVENTS), ROWS[:2])
        count = sa.select(sa.func.count()).select_from(EVENTS)
        assert connection.scalar(count.where(EVENTS.c.naive == AWARE)) == 1
        assert connection.scalar(count.where(EVENTS.c.naive == AWARE).execution_options(stream_results=True)) == 1
        assert connection.scalar(count.where(EVENTS.c.zoned.in_([NAIVE, AWARE]))) == 2
        assert connection.scalar(count.where(EVENTS.c.naive.in_([NAIVE, AWARE]))) == 2
        assert connection.scalar(count.where(EVENTS.c.naive == sa.any_(sa.literal([AWARE], ARRAY(sa.DateTime()))))) == 1
        query = "select count(*) from of_instants where naive = :at or naive = any(:all)"
        assert connection.scalar(sa.text(query), {"at": AWARE, "all": [AWARE]}) == 1
        untyped = sa.table("of_instants", sa.column("id"), sa.column("naive"))
        connection.execute(untyped.insert(), {"id": 9, "naive": AWARE})
        assert connection.scalar(count.where(EVENTS.c.naive == AWARE)) == 2
        connection.rollback()

    postgres.connected(work, begin=False)


def test_days_and_clocks_of_what_has_a_zone(engines: Engines, any_database: str) -> None:
    def work(connection: sa.Connection) -> Any:
        Base.metadata.drop_all(connection)
        Base.metadata.create_all(connection)
        try:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("set local time zone 'America/New_York'")
            rows: list[dict[str, Any]] = [
                {"id": 1, "day": AWARE, "clock": AWARE.timetz().replace(tzinfo=dt.timezone.utc)},
                {"id": 2, "day": pd.NaT},
            ]
            for row in rows:
                connection.execute(sa.insert(EVENTS), row)
            return connection.execute(sa.select(EVENTS.c.day, EVENTS.c.clock).order_by(EVENTS.c.id)).all()
        finally:
            Base.metadata.drop_all(connection)

    day = dt.date(2024, 6, 30) if any_database.startswith("postgresql") else dt.date(2024, 7, 1)
    assert engines.connected(work) == [(day, dt.time(12)), (None, None)]


def test_a_statement_of_one_kind_of_times_is_prepared_once(postgres: Engines) -> None:
    def work(connection: sa.Connection) -> int:
        Base.metadata.create_all(connection)
        rows: list[dict[str, Any]] = [{"id": 1, "naive": NAIVE}, {"id": 2, "naive": None}, {"id": 3, "naive": NAIVE}]
        for row in rows:
            connection.execute(sa.insert(EVENTS), row)
        prepared = "select count(*) from pg_prepared_statements where statement like 'INSERT INTO of_instants%%'"
        return int(connection.exec_driver_sql(prepared).scalar_one())

    try:
        assert postgres.connected(work) == 1
    finally:
        postgres.connected(Base.metadata.drop_all)
