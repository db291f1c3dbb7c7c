"""SQLAlchemy's isolation levels: a session whose level may have changed half way is nobody else's."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import create_engine


class Cancelled:
    """A connection whose task is cancelled while it switches to autocommit."""

    def __init__(self) -> None:
        self.closed = False

    @property
    def autocommit(self) -> bool:
        return False

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        raise asyncio.CancelledError

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("name", ["postgresql", "mysql", "mariadb"])
def test_a_connection_that_may_autocommit_now_does_not_go_back_to_the_pool(name: str) -> None:
    dialect = create_engine(f"{name}+headrace://nobody@nowhere/none").dialect
    connection = Cancelled()
    with pytest.raises(asyncio.CancelledError):
        dialect.set_isolation_level(connection, "AUTOCOMMIT")  # type: ignore[arg-type]
    assert connection.closed
