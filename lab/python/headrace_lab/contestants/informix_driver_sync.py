"""informix-driver (imports as informix_db): pure Python, SQLI."""

from __future__ import annotations

from typing import Any

import informix_db

from ..link_informix import given
from .mysqldb_like import MySqlDbLike


def parameters(url: str) -> dict[str, Any]:
    """What its connect takes."""
    to = given(url)
    environment = to.pop("environment")
    locale = environment.pop("CLIENT_LOCALE", "en_US.utf8")
    return {**to, "client_locale": locale, "env": environment, "autocommit": True}


class Contestant(MySqlDbLike):
    package = "informix-driver"
    options = "its blocking interface: prepared statements, executemany, its own pool"
    skips: dict[str, str] = {}
    mark = "?"
    batches = "pipelined"

    def connected(self) -> Any:
        return informix_db.connect(**parameters(self.url))

    def make_pool(self, size: int) -> Any:
        return informix_db.create_pool(**parameters(self.url), min_size=size, max_size=size)

    def close_pool(self, pool: Any) -> None:
        pool.close()

    def lent(self, pool: Any) -> Any:
        return pool.connection()

    def begin(self, cursor: Any) -> None:
        self.conn.autocommit = False

    def commit(self, cursor: Any) -> None:
        self.conn.commit()
        self.conn.autocommit = True
