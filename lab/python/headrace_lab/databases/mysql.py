"""MySQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from . import mariadb


class Statements(mariadb.Statements):
    """Its statements are MariaDB's."""

    database = "mysql"
    batches = "INSERTs of many rows"


@contextlib.contextmanager
def start() -> Iterator[tuple[str, int | None]]:
    """Genuine MySQL, without TLS, as the other databases are raced."""
    from ..mysql import start_mysql

    with start_mysql() as server:
        yield server.url, server.pid
