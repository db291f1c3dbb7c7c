"""The isolation level of one connection of an engine is not that of who has its session next."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from .conftest import Engines


def state(connection: sa.Connection) -> tuple[int, str, bool]:
    """The session, its level, and whether it commits each statement."""
    with connection.begin():
        session = connection.connection.dbapi_connection
        assert session is not None
        name = "pg_backend_pid" if connection.dialect.name == "postgresql" else "connection_id"
        number = connection.exec_driver_sql(f"select {name}()").scalar_one()
        return number, connection.get_isolation_level(), bool(session.autocommit)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("level", "alone"), [("SERIALIZABLE", False), ("AUTOCOMMIT", True)])
def test_session_goes_back_with_the_level_that_it_had(engines: Engines, level: str, alone: bool) -> None:
    made = engines.made(pool_size=1, max_overflow=0)
    try:
        before = made.connected(state, begin=False)
        given = made.connected(lambda one: state(one.execution_options(isolation_level=level)), begin=False)
        assert given[0] == before[0], "of the same session"
        assert given[2] == alone
        assert alone or given[1] == level != before[1]
        assert made.connected(state, begin=False) == before
    finally:
        made.dispose()
