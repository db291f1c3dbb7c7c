"""A program that handles an error of a COPY within its block goes on after the block, whose end waits for
nothing. Data in the wrong direction are an error."""

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
async def test_data_in_the_wrong_direction_are_an_error(aconn: Any, sql: str, use: Any, said: str) -> None:
    await aconn.execute("create temp table failed (n int)")
    async with aconn.cursor().copy(sql) as copy:
        for _ in range(2):
            with pytest.raises(errors.ProgrammingError, match=said):
                await use(copy)
    assert await aconn.fetchval("select 42") == 42
