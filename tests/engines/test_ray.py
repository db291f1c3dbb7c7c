"""Ray's datasets of a plan, and back into a table, also if workers are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import ray

import headrace
import headrace.ray
from headrace.writing import Written
from servers import Database

from .conftest import EXPECTED, ROWS, STAGED, First, check_copied, staging_tables, write_options, written

# An engine takes long to start where other programs run.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Ray on this machine. Its workers give way to all other processes unless told otherwise."""
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    here = str(Path(__file__).parents[1])
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": here}},
    )
    yield
    ray.shutdown()


def test_dataset_has_the_rows_and_reads_the_columns_that_are_used(any_db: Database, tables: Any) -> None:
    with headrace.partitions(any_db.url, table="many_lines", count=4) as plan:
        dataset = headrace.ray.read(plan, url=any_db.url)
        assert dataset.count() == ROWS
        assert dataset.schema().names == ["id", "k", "name", "price"]
        assert dataset.sum("k") == sum(n for n in range(ROWS) if n % 3)
        source = headrace.ray.HeadraceDatasource(plan, url=any_db.url)
        names = source.apply_projection({"name": "name"}).get_read_tasks(1)
        assert len(names) == len(plan)
        found = pyarrow.concat_tables(table for task in names for table in task())
        assert found.column_names == ["name"]
        assert sorted(found["name"].to_pylist()) == sorted(f"name {n}" for n in range(ROWS))


def test_dataset_is_written_into_a_table(any_db: Database, tables: Any) -> None:
    with headrace.partitions(any_db.url, table="many_lines", count=4) as plan:
        dataset = headrace.ray.read(plan, url=any_db.url).select_columns(["id", "name"])
        headrace.ray.write(dataset, any_db.url, "copied", **write_options(any_db))
    check_copied(any_db, tables)


class Killed(headrace.ray.HeadraceDatasink):
    """A sink one of whose tasks dies after its rows are in the staging table, and before Ray knows."""

    def __init__(self, url: str, table: str, first: First) -> None:
        super().__init__(url, table)
        self.first = first

    def write(self, blocks: Any, ctx: Any) -> Written:
        done = super().write(blocks, ctx)
        if self.first():
            os.kill(os.getpid(), signal.SIGKILL)
        return done


@STAGED
def test_task_that_was_killed_and_runs_again_writes_once(any_db: Database, tables: Any, tmp_path: Path) -> None:
    first = First(tmp_path / "killed")
    tables.execute("delete from copied")
    with headrace.partitions(any_db.url, table="many_lines", count=4) as plan:
        dataset = headrace.ray.read(plan, url=any_db.url).select_columns(["id", "name"])
        dataset.write_datasink(Killed(any_db.url, "copied", first), ray_remote_args={"max_retries": 3})
    assert not first(), "no task was killed"
    assert written(tables) == EXPECTED
    assert staging_tables(any_db, tables) == []


@STAGED
def test_failed_write_changes_nothing(any_db: Database, tables: Any) -> None:
    def fail(batch: Any) -> Any:
        raise ValueError("no mood")

    with headrace.partitions(any_db.url, table="many_lines", count=2) as plan:
        dataset = headrace.ray.read(plan, url=any_db.url).select_columns(["id", "name"]).map_batches(fail)
        with pytest.raises(Exception, match="no mood"):
            headrace.ray.write(dataset, any_db.url, "copied", overwrite=True)
    assert written(tables) == [(-1, "before")]
    assert staging_tables(any_db, tables) == []
