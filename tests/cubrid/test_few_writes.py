"""Partitioned writes on a broker of few processes, which are also killed: each row is there once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow
import pytest

import headrace.cubrid
import headrace.testing
from headrace import errors
from headrace.testing import CubridServer
from headrace.writing import PartitionedWrite, partitioned_write

from .killing import kill

ROWS = 700
TASKS = 6


@pytest.fixture
def few() -> Iterator[CubridServer]:
    """A server of one process, with a table of one row."""
    with headrace.testing.cubrid(cas=1) as server:
        with headrace.cubrid.connect(server.url, autocommit=True) as admin:
            admin.execute("create table written (n int primary key)")
            admin.execute("insert into written values (-1)")
        yield server


@pytest.fixture
def job(few: CubridServer) -> PartitionedWrite:
    """A write that has begun."""
    write = partitioned_write(few.url, table="written")
    write.begin(url=few.url)
    return write


def part(task: int) -> pyarrow.Table:
    return pyarrow.table({"n": list(range(task * ROWS, (task + 1) * ROWS))})


def numbers(server: CubridServer) -> list[int]:
    with headrace.cubrid.connect(server.url) as admin:
        return [n for (n,) in admin.fetch("select n from written order by n")]


def test_tasks_wait_for_the_process_and_write_each_row_once(few: CubridServer, job: PartitionedWrite) -> None:
    with ThreadPoolExecutor(TASKS) as threads:
        done = list(threads.map(lambda task: job.write(part(task), url=few.url), [*range(TASKS), 0, 1]))
    # Two tasks have run twice; one result of each counts.
    assert job.commit(done[2:], url=few.url) == TASKS * ROWS
    assert numbers(few) == list(range(-1, TASKS * ROWS))


def test_a_write_whose_process_is_killed_is_repeated(few: CubridServer, job: PartitionedWrite) -> None:
    with headrace.cubrid.connect(few.url) as conn:
        pid = conn.cas_pid

    def batches() -> Iterator[pyarrow.RecordBatch]:
        yield from part(0).to_batches()
        kill(few.port, pid)
        yield from part(1).to_batches()

    with pytest.raises(errors.OperationalError):
        job.write(pyarrow.RecordBatchReader.from_batches(part(0).schema, batches()), url=few.url)
    assert numbers(few) == [-1]
    done = [job.write(part(task), url=few.url) for task in range(2)]
    assert job.commit(done, url=few.url) == 2 * ROWS
    assert numbers(few) == list(range(-1, 2 * ROWS))
