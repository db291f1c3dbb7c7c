"""How many rows were written is told after the cursor is closed, which SQLAlchemy does at once: to programs, and to
pandas and polars, whose methods return it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa

from .conftest import Engines

TABLE = sa.Table(
    "of_counts", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("v", sa.String(9))
)
ROWS: list[dict[str, Any]] = [{"id": n, "v": str(n)} for n in (1, 2, 3)]


@pytest.fixture(autouse=True)
def _table(every_engines: Engines) -> Iterator[None]:
    every_engines.connected(TABLE.create)
    yield
    every_engines.connected(TABLE.drop)


def test_statements_tell_how_many_rows_they_wrote(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> list[int]:
        results = [
            connection.execute(TABLE.insert(), ROWS[:1]),
            connection.execute(TABLE.insert(), ROWS[1:]),
            connection.execute(sa.text("insert into of_counts select id + 3, v from of_counts where id < 3")),
            connection.execute(
                sa.text("insert into of_counts values (:id, :v)"), [{"id": 6, "v": "x"}, {"id": 7, "v": "y"}]
            ),
            connection.execute(TABLE.update().where(TABLE.c.id > 2).values(v="z")),
            connection.execute(TABLE.delete()),
        ]
        return [result.rowcount for result in results]

    assert every_engines.connected(work) == [1, 2, 2, 2, 5, 7]


def test_a_connection_whose_results_are_streamed_writes(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        streaming = connection.execution_options(stream_results=True)
        results = [
            streaming.execute(TABLE.insert(), ROWS[:1]),
            streaming.execute(TABLE.insert(), ROWS[1:]),
            streaming.execute(
                TABLE.update().where(TABLE.c.id == sa.bindparam("key")), [{"key": 1, "v": "x"}, {"key": 2, "v": "y"}]
            ),
            streaming.execute(TABLE.delete().where(TABLE.c.id == 3)),
        ]
        rows = streaming.execute(sa.select(TABLE).order_by(TABLE.c.id)).all()
        return [result.rowcount for result in results], rows

    assert every_engines.connected(work) == ([1, 2, 2, 1], [(1, "x"), (2, "y")])


def test_a_connection_whose_results_are_streamed_has_savepoints(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        connection.execute(TABLE.insert(), ROWS[:1])
        streaming = connection.execution_options(stream_results=True)
        with streaming.begin_nested():
            streaming.execute(TABLE.insert(), ROWS[1:2])
        undone = streaming.begin_nested()
        streaming.execute(TABLE.insert(), ROWS[2:])
        undone.rollback()
        return streaming.scalars(sa.select(TABLE.c.id).order_by(TABLE.c.id)).all()

    assert every_engines.connected(work) == [1, 2]


KEYED = sa.Table(
    "of_keys",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("v", sa.String(9)),
)


def test_a_connection_whose_results_are_streamed_writes_rows_with_generated_keys(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> Any:
        streaming = connection.execution_options(stream_results=True)
        KEYED.create(streaming)
        try:
            key = streaming.execute(KEYED.insert(), {"v": "x"}).inserted_primary_key
            streaming.execute(KEYED.insert(), [{"v": "y"}, {"v": "z"}])
            return key, streaming.scalars(sa.select(KEYED.c.v).order_by(KEYED.c.id)).all()
        finally:
            KEYED.drop(streaming)

    assert every_engines.connected(work) == ((1,), ["x", "y", "z"])


def test_frames_tell_how_many_rows_they_wrote(every_engines: Engines) -> None:
    frame = pd.DataFrame(ROWS)

    def work(connection: sa.Connection) -> list[int | None]:
        counts = []
        # Informix has no INSERT of several rows.
        for method in (None, "multi")[: 1 + connection.dialect.supports_multivalues_insert]:
            connection.execute(TABLE.delete())
            counts.append(frame.to_sql("of_counts", connection, index=False, if_exists="append", method=method))
        return counts

    assert every_engines.connected(work) in ([3, 3], [3])


def test_a_frame_of_polars_tells_too(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> int:
        return pl.DataFrame(ROWS).write_database("of_counts", connection, if_table_exists="append")

    assert every_engines.connected(work) == 3


def test_fewer_rows_than_none_are_an_error(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> None:
        connection.execute(TABLE.insert(), ROWS)
        result = connection.execute(sa.select(TABLE.c.id).order_by(TABLE.c.id))
        with pytest.raises(sa.exc.ProgrammingError, match="not -1"):
            result.fetchmany(-1)

    every_engines.connected(work)
