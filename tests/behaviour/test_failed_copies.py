"""A program that handles an error of a COPY within its block is told it again at the end of the block, which waits for
nothing. Data in the wrong direction are an error."""

# Made by tools/async_to_sync.py of test_failed_copies_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headrace import errors

IN, OUT = "copy failed from stdin", "copy (select 5) to stdout"
BLOCK = b"x\n" * 10_000
ENOUGH = 10_000
"""Blocks after which the server has refused the first."""


def _write_rows(copy: Any) -> None:
    for _ in range(ENOUGH):
        copy.write_rows([(BLOCK.decode(),)])


def _write(copy: Any) -> None:
    for _ in range(ENOUGH):
        copy.write(BLOCK)


WRONG: list[tuple[str, Callable[[Any], Awaitable[Any]], str]] = [
    (OUT, lambda copy: copy.write(b"5\n"), "the COPY is over"),
    (OUT, lambda copy: copy.write_row((5,)), "the COPY is over"),
    (OUT, lambda copy: copy.write_rows([(5,), (6,)]), "the COPY is over"),
    (IN, lambda copy: copy.read(), r"nothing to read: write\(\)"),
]


@pytest.mark.parametrize(("sql", "use", "said"), WRONG)
def test_data_in_the_wrong_direction_are_an_error(conn: Any, sql: str, use: Any, said: str) -> None:
    conn.execute("create temp table failed (n int)")
    with conn.cursor().copy(sql) as copy:
        for _ in range(2):
            with pytest.raises(errors.ProgrammingError, match=said):
                use(copy)
    assert conn.fetchval("select 42") == 42


@pytest.mark.parametrize("write", [_write, _write_rows])
def test_refused_data_are_told_again_at_the_end_of_the_block(conn: Any, write: Any) -> None:
    conn.execute("create temp table failed (n int)")
    conn.commit()
    with pytest.raises(errors.InvalidTextRepresentation) as told, conn.cursor().copy(IN) as copy:
        with pytest.raises(errors.InvalidTextRepresentation) as first:
            write(copy)
        with pytest.raises(errors.InvalidTextRepresentation):
            copy.write(BLOCK)
    assert str(told.value) == str(first.value)
    conn.rollback()
    assert conn.fetchval("select count(*) from failed") == 0
