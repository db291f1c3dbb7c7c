"""informix-driver (imports as informix_db): pure Python, SQLI."""

from __future__ import annotations

import threading
from typing import Any

import informix_db

from .. import workloads as w
from ..link_informix import given
from .base import Rows
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

    def start(self) -> None:
        super().start()
        self.pooled: Any = None

    def stop(self) -> None:
        super().stop()
        if self.pooled is not None:
            self.pooled.close()

    def connected(self) -> Any:
        return informix_db.connect(**parameters(self.url))

    def begin(self, cursor: Any) -> None:
        self.conn.autocommit = False

    def commit(self, cursor: Any) -> None:
        self.conn.commit()
        self.conn.autocommit = True

    def streaming(self) -> Any:
        return self.cursor()

    def _pool(self) -> Any:
        if self.pooled is None:
            self.pooled = informix_db.create_pool(**parameters(self.url), min_size=w.POOL_SIZE, max_size=w.POOL_SIZE)
        return self.pooled

    def _pooled(self) -> Rows:
        with self._pool().connection() as conn:
            cursor = conn.cursor()
            cursor.execute(self.sql.select_one(self.mark), (w.KEY,))
            return cursor.fetchall()

    def pool(self, size: int, inner: int, data: Any) -> Rows:
        return list(self.timed(inner, self._pooled))

    def concurrent(self, size: int, inner: int, data: Any) -> Rows:
        rows = Rows()
        self._pool()

        def work() -> None:
            for _ in range(inner // w.TASKS):
                rows.extend(self._pooled())

        threads = [threading.Thread(target=work) for _ in range(w.TASKS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return rows
