"""Writes by tasks that fail, or run twice: each row is there once, on every database."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import headrace
from headrace import ProgrammingError
from headrace.writing import PartitionedWrite, partitioned_write
from servers import Database, database, names


def rows(start: int, end: int) -> pyarrow.Table:
    names = [None if n % 7 == 0 else f"%{n}" for n in range(start, end)]
    return pyarrow.table({"n": list(range(start, end)), "name": names})


@pytest.fixture(params=names(supports_staging_tables=True))
def staged(request: pytest.FixtureRequest) -> Database:
    """The databases that have staging tables."""
    return database(request, request.param)


@pytest.fixture
def conn(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A connection in autocommit to the database of the test, and a table with one row."""
    which = "staged" if "staged" in request.fixturenames else "any_db"
    connection = request.getfixturevalue(which).connect(autocommit=True)
    connection.execute("drop table if exists written")
    connection.execute("create table written (n int primary key, name varchar(20))")
    connection.execute("insert into written values (-1, 'before')")
    yield connection
    connection.close()


def numbers(conn: Any) -> list[int]:
    return [n for (n,) in conn.fetch("select n from written order by n")]


def begun(db: Database, **more: Any) -> PartitionedWrite:
    job = partitioned_write(db.url, table="written", **more)
    assert "tiger" not in repr(job)
    job.begin(url=db.url)
    return job


def test_task_that_runs_twice_writes_once(staged: Database, conn: Any) -> None:
    job = begun(staged)
    first = job.write(rows(0, 100), url=staged.url)
    job.write(rows(100, 150), url=staged.url)
    again = job.write(rows(100, 150), url=staged.url)
    assert numbers(conn) == [-1]
    assert job.commit([first, again, first], url=staged.url) == 150
    assert numbers(conn) == list(range(-1, 150))
    assert conn.fetchval("select name from written where n = 8") == "%8"
    with pytest.raises(ProgrammingError, match="committed or aborted"):
        job.commit([first, again], url=staged.url)
    assert len(numbers(conn)) == 151


def test_of_commits_at_the_same_time_one_has_an_effect(staged: Database, conn: Any) -> None:
    conn.execute("drop table written")
    conn.execute("create table written (n int, name varchar(20))")
    job = begun(staged)
    done = [job.write(rows(0, 500), url=staged.url) for _ in range(3)]
    start = threading.Barrier(3)

    def commit(number: int) -> object:
        start.wait()
        try:
            return job.commit([done[number]], url=staged.url)
        except (ProgrammingError, headrace.OperationalError) as error:
            return error

    with ThreadPoolExecutor(3) as threads:
        results = list(threads.map(commit, range(3)))
    assert sum(result == 500 for result in results) == 1, results
    assert numbers(conn) == list(range(500))


@pytest.mark.parametrize("staged", names(supports_staging_tables=True, writes_beside=True), indirect=True)
def test_commit_does_not_wait_for_an_attempt_that_still_writes(
    staged: Database, conn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.writing._PATIENCE", 0.2)
    job = begun(staged)
    done = job.write(rows(0, 10), url=staged.url)
    with staged.connect(autocommit=False) as other:
        other.execute(f"insert into {job.staging} select * from {job.staging}")
        with pytest.warns(ResourceWarning, match="was not dropped"):
            assert job.commit([done], url=staged.url) == 10
    assert numbers(conn) == list(range(-1, 10))
    with pytest.raises(ProgrammingError, match="committed or aborted"):
        job.commit([done], url=staged.url)
    job.abort(url=staged.url)


def test_columns_that_are_not_written_have_their_defaults(staged: Database, conn: Any) -> None:
    if staged.supports_default_expressions:
        # An expression: the staging table does not have it.
        conn.execute("alter table written add column own varchar(36) not null default (uuid())")
    else:
        conn.execute("alter table written add column own varchar(36) default 'own' not null")
    job = begun(staged)
    assert job.commit([job.write(rows(0, 10), url=staged.url)], url=staged.url) == 10
    assert conn.fetchval("select count(own) from written") == 11


def test_names_with_a_percent_sign(staged: Database, conn: Any) -> None:
    table, column = staged.quoted("to write%s"), staged.quoted("a % b")
    conn.execute(f"drop table if exists {table}")
    conn.execute(f"create table {table} ({column} int)")
    data = pyarrow.table({"a % b": [1, 2, 3]})
    for idempotent in (True, False):
        job = partitioned_write(staged.url, table=table, idempotent=idempotent)
        job.begin(url=staged.url)
        assert job.commit([job.write(data, url=staged.url)], url=staged.url) == 3
    assert conn.fetchval(f"select sum({column}) from {table}") == 12
    conn.execute(f"drop table {table}")


def test_autocommit_of_the_url_does_not_matter(staged: Database, conn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "tiger")
    job = partitioned_write(f"{staged.url}{'&' if '?' in staged.url else '?'}autocommit=true", table="written")
    job.begin()
    assert job.commit([job.write(rows(0, 10))]) == 10


def test_overwriting_replaces_all_rows_or_none(staged: Database, conn: Any) -> None:
    job = begun(staged, overwrite=True)
    done = [job.write(rows(0, 10), url=staged.url), job.write(rows(5, 15), url=staged.url)]
    with pytest.raises(headrace.IntegrityError):
        job.commit(done, url=staged.url)
    assert numbers(conn) == [-1]
    assert job.commit(done[:1], url=staged.url) == 10
    assert numbers(conn) == list(range(10))


def test_aborted_write_leaves_nothing(staged: Database, conn: Any) -> None:
    job = begun(staged)
    done = job.write(rows(0, 10), url=staged.url)
    job.abort(url=staged.url)
    job.abort(url=staged.url)
    with pytest.raises(ProgrammingError, match="committed or aborted"):
        job.commit([done], url=staged.url)
    assert numbers(conn) == [-1]


def test_rows_are_written_between_begin_and_commit(staged: Database, conn: Any) -> None:
    job = partitioned_write(staged.url, table="written")
    with pytest.raises(ProgrammingError, match=r"rows for written can be written after begin\(\)"):
        job.write(rows(0, 10), url=staged.url)
    job.begin(url=staged.url)
    assert job.write(rows(0, 10), url=staged.url).rows == 10
    job.abort(url=staged.url)
    with pytest.raises(ProgrammingError, match=r"before commit\(\) or abort\(\)"):
        job.write(rows(0, 10), url=staged.url)
    assert numbers(conn) == [-1]


def test_attempts_of_another_write_change_nothing(staged: Database, conn: Any) -> None:
    job, other = begun(staged), begun(staged)
    done = job.write(rows(0, 10), url=staged.url)
    with pytest.raises(ProgrammingError, match="of 10 rows for written there are 0"):
        other.commit([done], url=staged.url)
    assert numbers(conn) == [-1]
    assert job.commit([done], url=staged.url) == 10
    other.abort(url=staged.url)


def test_frames_of_other_packages_are_written(staged: Database, conn: Any) -> None:
    job = begun(staged)
    done = [
        job.write(polars.DataFrame({"n": [1, 2]}), url=staged.url),
        job.write(pandas.DataFrame({"name": ["three"], "n": [3]}), url=staged.url),
        job.write(rows(4, 4), url=staged.url),
    ]
    assert job.commit(done, url=staged.url) == 3
    assert conn.fetch("select n, name from written where n > 0 order by n") == [(1, None), (2, None), (3, "three")]


def test_direct_write_is_atomic_for_each_task(any_db: Database, conn: Any) -> None:
    job = begun(any_db, idempotent=False)
    done = job.write(rows(0, 10), url=any_db.url)
    with pytest.raises(headrace.IntegrityError):
        job.write(rows(5, 20), url=any_db.url)
    assert numbers(conn) == [-1, *range(10)]
    assert job.commit([done]) == 10
    with pytest.raises(ProgrammingError):
        partitioned_write(any_db.url, table="written", overwrite=True, idempotent=False)


def test_informix_has_no_staging_table() -> None:
    with pytest.raises(headrace.NotSupportedError, match="idempotent=False"):
        partitioned_write("informix://user@host:9088/database?server=name", table="written")


KILLED = """
import pickle, sys, threading
import pyarrow

job, url = pickle.load(sys.stdin.buffer)

def batches():
    for start in range(0, 3000, 1000):
        yield pyarrow.record_batch({"n": list(range(start, start + 1000)), "name": ["x"] * 1000})
    print("sent", flush=True)
    threading.Event().wait()

schema = pyarrow.schema([("n", pyarrow.int64()), ("name", pyarrow.string())])
job.write(pyarrow.RecordBatchReader.from_batches(schema, batches()), url=url)
"""


def test_task_that_is_killed_and_repeated(staged: Database, conn: Any) -> None:
    job = begun(staged)
    with subprocess.Popen([sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as task:
        assert task.stdin is not None
        assert task.stdout is not None
        task.stdin.write(pickle.dumps((job, staged.url)))
        task.stdin.close()
        assert task.stdout.readline() == b"sent\n"
        os.kill(task.pid, signal.SIGKILL)
    assert job.commit([job.write(rows(0, 3000), url=staged.url)], url=staged.url) == 3000
    assert len(numbers(conn)) == 3001
