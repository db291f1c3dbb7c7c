"""pandas: frames go into tables and come back as they were."""

from __future__ import annotations

import datetime
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from pandas.testing import assert_frame_equal

from .conftest import Engines

ROWS = 5_000
TABLE = "frames"
NUMBERS = range(ROWS)
FRAME = pd.DataFrame(
    {
        "id": NUMBERS,
        "name": [None if n % 7 == 0 else f"name % {n} čeština" for n in NUMBERS],
        "price": [None if n % 11 == 0 else n / 7 for n in NUMBERS],
        "at": [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=n) for n in NUMBERS],
    }
)


def plain(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The values, with None for what is missing."""
    return [tuple(None if pd.isna(value) else value for value in row) for row in frame.itertuples(index=False)]


@pytest.fixture(autouse=True)
def _no_table(every_engines: Engines) -> Any:
    yield
    every_engines.connected(lambda connection: connection.execute(sa.text(f"drop table if exists {TABLE}")))


@pytest.mark.parametrize("method", [None, "multi"])
def test_a_frame_comes_back_as_it_went(every_engines: Engines, method: Any) -> None:
    if method == "multi" and not every_engines.engine.dialect.supports_multivalues_insert:
        pytest.skip("the database has no INSERT of several rows")

    def write(connection: sa.Connection) -> Any:
        return FRAME.to_sql(TABLE, connection, index=False, chunksize=1_000, method=method)

    def read(connection: sa.Connection) -> pd.DataFrame:
        return pd.read_sql(sa.text(f"select * from {TABLE} order by id"), connection)

    every_engines.connected(write)
    found = every_engines.connected(read)
    assert list(found.columns) == list(FRAME.columns)
    assert plain(found) == plain(FRAME)
    assert found.dtypes["at"].kind == "M"
    assert found.dtypes["price"] == "float64"
    whole = every_engines.connected(lambda connection: pd.read_sql_table(TABLE, connection))
    assert_frame_equal(whole.sort_values("id").reset_index(drop=True), found)


def test_rows_are_appended_and_a_table_is_replaced(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> list[int]:
        counts = []
        for if_exists in ("replace", "append", "replace"):
            FRAME.to_sql(TABLE, connection, index=False, if_exists=if_exists)  # type: ignore[arg-type]
            counts.append(int(pd.read_sql(f"select count(*) as n from {TABLE}", connection)["n"][0]))
        return counts

    assert every_engines.connected(work) == [ROWS, 2 * ROWS, ROWS]


def test_a_query_with_parameters_is_read_in_parts(every_engines: Engines) -> None:
    def work(connection: sa.Connection) -> list[pd.DataFrame]:
        FRAME.to_sql(TABLE, connection, index=False)
        query = sa.text(f"select id, name from {TABLE} where id >= :first and name like :text order by id")
        streaming = connection.execution_options(stream_results=True)
        return list(pd.read_sql(query, streaming, params={"first": 100, "text": "name %"}, chunksize=600))

    parts = every_engines.connected(work)
    assert [len(part) for part in parts[:-1]] == [600] * (len(parts) - 1)
    wanted = FRAME[(FRAME["id"] >= 100) & FRAME["name"].notna()][["id", "name"]]
    assert plain(pd.concat(parts)) == plain(wanted)
