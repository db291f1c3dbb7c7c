"""A program that handles an error of a COPY within its block goes on after the block, whose end waits for
nothing. Data in the wrong direction are an error."""

# Made by tools/async_to_sync.py of test_failed_copies_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headrace import errors

IN, OUT = "copy failed from stdin", "copy (select 5) to stdout"
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
