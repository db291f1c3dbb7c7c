"""SQLAlchemy's two-phase transactions, on every database whose dialect has them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from headrace.testing import MysqldServer, PostgresServer, postgres

from .own import NEW, Counts, on_mysqld, on_postgres, run

TABLE = sa.Table(
    "phases", sa.MetaData(), sa.Column("n", sa.Integer, primary_key=True, autoincrement=False), mysql_engine="InnoDB"
)


@pytest.fixture(scope="module")
def prepares() -> Iterator[PostgresServer]:
    """A server that allows prepared transactions."""
    trusting = ["host all all 127.0.0.1/32 trust"]
    with postgres(tls=True, hba=trusting, settings={"max_prepared_transactions": 10}) as running:
        yield running


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an engine."""
    if request.param == "postgresql":
        with on_postgres(request.getfixturevalue("prepares"), "headrace") as url:
            yield url
    else:
        server: MysqldServer = request.getfixturevalue(f"{request.param}_server")
        with on_mysqld(server, "headrace") as url:
            yield url


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    """A blocking engine, and an empty table."""
    engine = sa.create_engine(url)
    TABLE.drop(engine, checkfirst=True)
    TABLE.create(engine)
    yield engine
    engine.dispose()


def committed(engine: sa.Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.scalars(sa.select(TABLE.c.n).order_by(TABLE.c.n)))


def test_each_end(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        for n, (prepares, commits) in enumerate([(True, True), (True, False), (False, True), (False, False)]):
            transaction = connection.begin_twophase()
            connection.execute(TABLE.insert(), {"n": n})
            if prepares:
                transaction.prepare()
            if commits:
                transaction.commit()
            else:
                transaction.rollback()
    assert committed(engine) == [0, 2]


def test_what_was_prepared_is_recovered(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        transaction = connection.begin_twophase()
        xid = transaction.xid
        connection.execute(TABLE.insert(), {"n": 1})
        transaction.prepare()
        connection.invalidate()
    with engine.connect() as connection:
        assert connection.recover_twophase() == [xid]
        connection.commit_prepared(xid, recover=True)
        assert connection.recover_twophase() == []
    assert committed(engine) == [1]


def test_a_session_of_the_orm(engine: sa.Engine) -> None:
    with Session(engine, twophase=True) as session:
        session.execute(TABLE.insert(), {"n": 1})
        session.commit()
        session.execute(TABLE.insert(), {"n": 2})
        session.prepare()
        session.rollback()
    assert committed(engine) == [1]


async def test_an_asyncio_engine(url: str, engine: sa.Engine) -> None:
    asyncio_engine = create_async_engine(url)

    def insert(connection: sa.Connection) -> None:
        transaction = connection.begin_twophase()
        connection.execute(TABLE.insert(), {"n": 1})
        transaction.prepare()
        transaction.commit()
        transaction = connection.begin_twophase()
        connection.execute(TABLE.insert(), {"n": 2})
        transaction.rollback()

    async with asyncio_engine.connect() as connection:
        await connection.run_sync(insert)
    await asyncio_engine.dispose()
    assert committed(engine) == [1]


@pytest.mark.slow
def test_sqlalchemys_own_tests_of_transactions(url: str) -> None:
    # It leaves out its two tests of recovery on MySQL and MariaDB, where test_what_was_prepared_is_recovered is ours.
    wanted = {"postgresql": Counts(131, 0), "mariadb": Counts(129, 2), "mysql": Counts(129, 2)}
    assert run(url, NEW, "test/engine/test_transaction.py", of=0) == wanted[url.split("+")[0]]
