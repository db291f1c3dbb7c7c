"""Pipelines of several threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors

INSERT = "insert into t values (%s)"


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript("drop table if exists t; create table t (n int primary key); insert into t values (1)")


def test_what_another_thread_executes_fails_where_it_was_called(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        raised: list[BaseException] = []

        def other() -> None:
            try:
                assert conn.fetchval("select 2") == 2
                conn.execute(INSERT, (1,))
            except BaseException as error:
                raised.append(error)

        with conn.pipeline():
            cursor = conn.execute("select 1")
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            assert cursor.fetchone() == (1,)
        assert [type(error) for error in raised] == [errors.UniqueViolation]


def test_a_blocking_pipeline_is_on_its_way_before_its_first_result_is_waited_for(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn, headrace.connect(url, autocommit=True) as other:
        with conn.pipeline():
            for n in range(1000):
                conn.execute(INSERT, (n + 10,))
            waited = threading.Event()
            for _ in range(200):
                if other.fetchval("select count(*) from t") > 100:
                    break
                waited.wait(0.05)
            else:
                pytest.fail("nothing was sent")
        assert other.fetchval("select count(*) from t") == 1001


# What the user's own words do to the transaction.


# A failed transaction is not committed in silence.


def fail(conn: Any) -> None:
    conn.execute(INSERT, (2,))
    with pytest.raises(errors.UniqueViolation):
        conn.execute(INSERT, (1,))
