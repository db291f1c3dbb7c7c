"""Dask's data frames of a plan, and back into a table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import headrace
from servers import Database


@pytest.fixture
def dask() -> Any:
    """Dask, for headrace too. It takes long to import, and is not by each process that collects the tests."""
    import_module("headrace.dask")
    return import_module("dask")


@pytest.fixture
def filled(any_db: Database) -> Any:
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists dasked")
        conn.execute("drop table if exists copied")
        conn.execute("create table dasked (id int not null primary key, k int, name varchar(20))")
        conn.execute("create table copied (id int not null primary key, k int)")
        rows = [(n, None if n % 3 == 0 else n, f"name {n}") for n in range(200)]
        conn.executemany(f"insert into dasked values ({any_db.marks(3)})", rows)
        yield conn


def test_frame_has_the_rows_and_reads_the_columns_that_are_used(any_db: Database, filled: Any, dask: Any) -> None:
    with headrace.partitions(any_db.url, table="dasked", count=4) as plan, dask.config.set(scheduler="threads"):
        frame = headrace.dask.read(plan)
        assert len(frame) == 200
        assert str(frame.dtypes["k"]) == "int32[pyarrow]"
        assert int(frame.k.sum().compute()) == sum(n for n in range(200) if n % 3)
        names = frame[["name"]].compute()
        assert list(names.columns) == ["name"]
        assert sorted(names.name) == sorted(f"name {n}" for n in range(200))


def test_frame_is_written_into_a_table(any_db: Database, filled: Any, dask: Any) -> None:
    staged = any_db.supports_staging_tables
    more: dict[str, Any] = {"overwrite": True} if staged else {"idempotent": False}
    with headrace.partitions(any_db.url, table="dasked", count=3) as plan, dask.config.set(scheduler="threads"):
        frame = headrace.dask.read(plan)[["id", "k"]]
        for _ in range(2 if staged else 1):
            assert headrace.dask.write(frame, any_db.url, "copied", **more) == 200
        with pytest.raises(headrace.IntegrityError):
            headrace.dask.write(frame, any_db.url, "copied", idempotent=staged)
    assert filled.fetch("select id, k from copied order by id") == filled.fetch("select id, k from dasked order by id")
