"""More parameters than a prepared statement can have (65,535): the statement goes as text, with literals."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

IDS = list(range(66_000))
MARKS = ", ".join(["?"] * len(IDS))
QUERY = f"select count(*) from (select 5 as a) q where a in ({MARKS})"


@pytest.mark.parametrize("count", [65_535, 65_536])
def test_as_many_as_one_likes(my: Any, count: int) -> None:
    query = QUERY.replace(MARKS, ", ".join(["?"] * count))
    for _ in range(2):
        assert my.execute(query, IDS[:count]).fetchall() == [(1,)]
    assert my.fetchval("select ?", 7) == 7


def test_in_each_way(my: Any) -> None:
    assert my.fetch(QUERY, *IDS) == [(1,)]
    assert list(my.stream(QUERY, IDS)) == [(1,)]
    assert pyarrow.table(my.fetch_arrow(QUERY, *IDS)).to_pylist() == [{"count(*)": 1}]
    with my.pipeline():
        cursors = [my.execute(QUERY, IDS) for _ in range(2)]
    assert [cursor.fetchall() for cursor in cursors] == [[(1,)], [(1,)]]
    assert my.fetchval("select ?", 7) == 7


async def test_on_a_loop(amy: Any) -> None:
    assert await amy.fetch(QUERY, *IDS) == [(1,)]
    assert await amy.fetchval("select ?", 7) == 7
