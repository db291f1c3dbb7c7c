"""The session's character set stays UTF-8: text in another one would be stored as what it is not."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import errors

CHANGES = [
    "set names latin1",
    "set character set latin1",
    "set character_set_client = latin1",
    "set character_set_results = 'latin1'",
]


@pytest.mark.parametrize("change", CHANGES)
def test_another_character_set_closes_the_connection(my_url: str, change: str) -> None:
    for execute in ("execute", "executescript"):
        conn = headrace.mysql.connect(my_url, autocommit=True)
        with pytest.raises(errors.OperationalError, match=r"set to latin1.*utf8mb4 only"):
            getattr(conn, execute)(change)
        with pytest.raises(errors.ConnectionClosed):
            conn.execute("select 'é'")


async def test_another_character_set_closes_the_asyncio_connection(my_url: str) -> None:
    conn = await headrace.aio.mysql.connect(my_url)
    with pytest.raises(errors.OperationalError, match=r"set to latin1.*utf8mb4 only"):
        await conn.execute("set names latin1")
    assert conn.closed


def test_utf8_may_be_set_by_its_names(my: headrace.mysql.Connection[Any]) -> None:
    for change in ["utf8mb4", "utf8", "utf8mb4 collate utf8mb4_bin", "binary"]:
        my.execute(f"set names {change}")
        assert my.fetchval("select concat(%s, 'é')", "é") in ("éé", "éé".encode())
    my.reset("discard")
    assert my.fetchval("select 'é'") == "é"


def test_a_procedure_may_use_another_character_set_meanwhile(my: headrace.mysql.Connection[Any]) -> None:
    my.execute("create procedure p() begin set names latin1; set names utf8mb4; end")
    my.execute("call p()")
    assert my.fetchval("select concat(%s, 'é')", "é") == "éé"
