"""Blocks and the garbage collector."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

import pytest

import headrace

Conn = headrace.Connection[Any]


@pytest.fixture(scope="module", autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create table t (n int primary key)")


@pytest.fixture(autouse=True)
def _empty(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("truncate t")


def count(url: str) -> int:
    with headrace.connect(url) as other:
        return int(other.fetchval("select count(*) from t"))


def test_a_generator_that_is_collected_while_blocks_are_counted_does_not_wait_for_itself(url: str) -> None:
    def abandoned(conn: Conn) -> Generator[None, None, None]:
        with conn.transaction():
            conn.execute("insert into t values (1)")
            yield

    def collect() -> None:
        with headrace.connect(url) as conn:
            generator = abandoned(conn)
            next(generator)
            with conn._core._nesting:
                # As the collector does, in whatever allocates there.
                generator.close()

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert count(url) == 0
