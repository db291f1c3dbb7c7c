"""Read by type checkers only: what mypy and pyright make of the public API in strict mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import headrace
from headrace import aio, rows

if TYPE_CHECKING:
    from typing_extensions import assert_type

    @dataclass
    class User:
        id: int
        name: str

    Row = tuple[Any, ...]

    def blocking() -> None:
        conn = headrace.connect("postgresql://")
        assert_type(conn, headrace.Connection[Row])
        assert_type(conn.execute("select 1").fetchone(), Row | None)
        assert_type(conn.fetch("select 1"), list[Row])
        users = conn.cursor(row_factory=rows.class_row(User)).execute("select")
        assert_type(users.fetchone(), User | None)
        assert_type(users.fetchall(), list[User])
        for user in users:
            assert_type(user, User)
        dicts = headrace.connect(row_factory=rows.dict_row)
        assert_type(dicts.execute("select").fetchall(), list[dict[str, Any]])
        with conn.transaction() as same:
            assert_type(same, headrace.Connection[Row])

    async def looping() -> None:
        conn = await aio.connect("postgresql://", row_factory=rows.class_row(User))
        assert_type(conn, aio.AsyncConnection[User])
        assert_type(await conn.fetchrow("select 1"), User | None)
        async for user in conn.stream("select"):
            assert_type(user, User)
