"""A transaction that ends within a pipeline: it is not committed if one of its statements has failed whose error the
program has not seen yet, though most servers would commit the others."""

# Made by tools/async_to_sync.py of test_blocks_in_pipelines_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors

ADD = "insert into t (id) values ({})"


def stored(conn: Any) -> list[int]:
    """What another statement finds."""
    return [number for (number,) in conn.fetch("select id from t order by id")]


def test_a_block_with_a_statement_that_failed_stores_nothing(conn: Any) -> None:
    with pytest.raises(errors.IntegrityError), conn.pipeline(), conn.transaction():
        for number in (1, 2, 2, 3):
            conn.execute(ADD.format(number))
    assert stored(conn) == []
    with conn.pipeline(), conn.transaction():
        conn.execute(ADD.format(4))
    assert stored(conn) == [4]


def test_a_block_before_it_is_stored_and_one_after_it_not_begun(conn: Any) -> None:
    with pytest.raises(errors.IntegrityError), conn.pipeline():
        for numbers in ((1, 2), (3, 3), (4, 5)):
            with conn.transaction():
                for number in numbers:
                    conn.execute(ADD.format(number))
    assert stored(conn) == [1, 2]


def test_an_inner_block_with_a_statement_that_failed_is_rolled_back(conn: Any) -> None:
    with conn.pipeline(), conn.transaction():
        conn.execute(ADD.format(1))
        with pytest.raises(errors.IntegrityError), conn.transaction():
            conn.execute(ADD.format(2))
            conn.execute(ADD.format(2))
        conn.execute(ADD.format(3))
    assert stored(conn) == [1, 3]


def test_an_error_that_the_program_has_seen_does_not_end_the_block(conn: Any) -> None:
    with conn.pipeline(), conn.transaction():
        conn.execute(ADD.format(1))
        failed = conn.execute(ADD.format(1))
        conn.execute(ADD.format(2))
        with pytest.raises(errors.IntegrityError):
            failed.wait()
    assert stored(conn) == [1, 2]


def test_a_commit_after_a_statement_that_failed_raises_its_error(conn: Any) -> None:
    conn.autocommit = False
    with conn.pipeline():
        conn.execute(ADD.format(1))
        conn.execute(ADD.format(1))
        with pytest.raises(errors.IntegrityError):
            conn.commit()
        conn.rollback()
    assert stored(conn) == []
    conn.rollback()


def test_a_block_that_is_to_be_rolled_back_is(conn: Any) -> None:
    with pytest.raises(errors.IntegrityError), conn.pipeline(), conn.transaction(force_rollback=True):
        conn.execute(ADD.format(1))
        conn.execute(ADD.format(1))
    assert stored(conn) == []
