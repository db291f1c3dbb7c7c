"""pycubrid: pure Python, parameters as literals in the statement's text."""

from __future__ import annotations

from typing import Any

import pycubrid

from ..link_cubrid import given
from .base import Rows, with_dialect
from .mysqldb_like import MySqlDbLike


class Contestant(MySqlDbLike):
    package = "pycubrid"
    alchemy = with_dialect("pycubrid", "sqlalchemy_cubrid")
    options = "its blocking interface; executemany as it is by default (EXECUTE_BATCH)"
    mark = "?"
    batches = "EXECUTE_BATCH"
    batch: dict[str, Any] = {}
    """Keywords of executemany."""

    def start(self) -> None:
        super().start()
        # Autocommit is switched in four round trips, so transactions have a connection of their own.
        self.made: Any = None

    def stop(self) -> None:
        super().stop()
        if self.made is not None:
            self.made.close()

    def connected(self) -> Any:
        return pycubrid.connect(**given(self.url), autocommit=True)

    def _manual(self) -> Any:
        """The connection that is not in autocommit."""
        if self.made is None:
            self.made = pycubrid.connect(**given(self.url))
        return self.made

    def executemany(self, size: int, inner: int, data: Any) -> int:
        conn, statement = self._manual(), self.sql.insert(self.mark)
        for _ in range(inner):
            conn.cursor().executemany(statement, data, **self.batch)
            conn.commit()
        return size

    def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(self.mark)
        for _ in range(inner):
            self.conn.cursor().executemany(statement, data, **self.batch)
        return size

    def _one_by_one(self, statement: str, data: Any) -> Rows:
        # It can only ask and wait, one after the other; in a transaction, as the others.
        conn = self._manual()
        cursor, rows = conn.cursor(), Rows()
        for n in data:
            cursor.execute(statement, (n,))
            rows += cursor.fetchall()
        conn.commit()
        return rows
