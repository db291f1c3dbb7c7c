"""Tables that are changed while clients know their columns: rows have the names that they are told by."""

from __future__ import annotations

import asyncpg
import pytest

from ..raw import SYNC, Client, describe, parse, sqlstates
from .conftest import Front
from .test_retyped_tables import columns_of


def recreated(table: str, *columns: str) -> list[str]:
    """Statements that make the table again, with these columns; the value of each is the length of its name."""
    values = ", ".join(str(len(column)) for column in columns)
    names = ", ".join(f"{column} int" for column in columns)
    return [f"drop table {table}", f"create table {table} ({names})", f"insert into {table} values ({values})"]


@pytest.mark.parametrize("through", [False, True])
async def test_new_client_has_the_columns_of_now(front: Front, through: bool) -> None:
    where = {**front.where(f"{front.name}_two"), "database": f"{front.name}_two"}
    where.pop("dbname")
    front.table("recreated", "a int, bb int")
    with front.direct() as admin:
        admin.execute("insert into recreated values (1, 2)")
        for columns in (("a", "bb"), ("bb", "a"), ("ccc", "a")):
            if through:
                client = await asyncpg.connect(**where)
                for sql in recreated("recreated", *columns):
                    await client.execute(sql)
                await client.close()
            else:
                for sql in recreated("recreated", *columns):
                    admin.execute(sql)
            for _ in range(2):
                client = await asyncpg.connect(**where)
                (row,) = await client.fetch("select * from recreated")
                await client.close()
                assert dict(row) == {column: len(column) for column in columns}


def test_new_client_that_comes_at_once_is_told_the_columns_of_now(other: Front) -> None:
    front, request = other, parse("s", "select * from told_at_once") + describe("s") + SYNC
    front.table("told_at_once", "a int, bb int")
    for columns in (("a", "bb"), ("bb", "a"), ("ccc", "a"), ("a", "bb")):
        with front.direct() as admin:
            for sql in recreated("told_at_once", *columns):
                admin.execute(sql)
        # Those of one session; the first one is told what the session learns, the second one what it has learnt.
        for _ in range(2):
            with Client.local(front.socket, user="anyone", database=f"{front.name}_one") as client:
                answer = client.ask(request)
                assert sqlstates(answer) == []
                assert [name for name, _ in columns_of(answer) or []] == list(columns)


async def test_client_that_knows_a_statement_is_told_by_an_error(fronts: dict[str, Front]) -> None:
    front = fronts["mariadb"]
    where = {**front.where(f"{front.name}_two"), "database": f"{front.name}_two"}
    where.pop("dbname")
    front.table("known_before", "a int, bb int")
    client = await asyncpg.connect(**where)
    with front.direct() as admin:
        admin.execute("insert into known_before values (1, 2)")
        prepared = await client.prepare("select * from known_before")
        assert dict(await prepared.fetchrow()) == {"a": 1, "bb": 2}
        for sql in recreated("known_before", "bb", "a"):
            admin.execute(sql)
    for _ in range(2):
        with pytest.raises(asyncpg.FeatureNotSupportedError):
            await prepared.fetchrow()
    assert dict(await client.fetchrow("select * from known_before")) == {"a": 1, "bb": 2}
    await client.close()
