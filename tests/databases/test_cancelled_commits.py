"""The commit after one that was cancelled, and that the server refused, does not report as stored what it has rolled
back."""

from __future__ import annotations

import asyncio

import pytest

from headrace import errors
from servers import Cubrid, Database, Informix, database, names

TABLE = "hr_refused_commits"


@pytest.fixture(params=names(Informix, Cubrid))
def refusing(request: pytest.FixtureRequest) -> Database:
    """A database with an empty table. Those whose commits can be made to wait have tests of their own."""
    db = database(request, request.param)
    if not db.commit_refusal:
        pytest.skip("a genuine server cannot be asked for it")
    with db.connect(autocommit=True) as conn:
        conn.execute(f"drop table if exists {TABLE}")
        conn.execute(f"create table {TABLE} (n int primary key)")
    return db


async def test_a_commit_after_one_that_was_cancelled_and_refused_raises(refusing: Database) -> None:
    conn = await refusing.aconnect(autocommit=False)
    await conn.execute(f"insert into {TABLE} values (1)")
    for statement in refusing.commit_refusal:
        await conn.execute(statement.format(table=TABLE))
    committing = asyncio.ensure_future(conn.commit())
    await asyncio.sleep(0)
    committing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await committing
    while not conn.closed:
        await asyncio.sleep(0.01)
    with pytest.raises(errors.ConnectionClosed, match="its changes are lost"):
        await conn.commit()
    with refusing.connect(autocommit=True) as other:
        assert other.fetchval(f"select count(*) from {TABLE}") == 0
    await conn.close()
