"""informix-driver (imports as informix_db): pure Python, SQLI."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import informix_db

from .mysqldb_like import MySqlDbLike


class Contestant(MySqlDbLike):
    package = "informix-driver"
    options = "prepared statements, executemany"
    skips = {
        "pipeline": "one after the other, its 10,000 selects take minutes",
        "pool": "not raced yet",
        "concurrent": "not raced yet",
        "bulk_in": "there is no such statement",
        "bulk_out": "there is no such statement",
        "stream": "not raced yet",
    }
    mark = "?"

    def connected(self) -> Any:
        parts = urlsplit(self.url)
        options = {name: values[0] for name, values in parse_qs(parts.query).items()}
        return informix_db.connect(
            host=parts.hostname or "localhost",
            port=parts.port or 9088,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=parts.path[1:],
            server=options.pop("server"),
            client_locale=options.pop("CLIENT_LOCALE", "en_US.utf8"),
            env=options,
            autocommit=True,
        )

    def begin(self, cursor: Any) -> None:
        self.conn.autocommit = False

    def commit(self, cursor: Any) -> None:
        self.conn.commit()
        self.conn.autocommit = True

    def streaming(self) -> Any:
        return self.cursor()
