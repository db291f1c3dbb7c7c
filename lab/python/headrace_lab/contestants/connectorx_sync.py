"""connectorx: frames from a URL, in Rust. It connects for each query, and asks for the number of rows first."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import connectorx

from .. import workloads as w
from .base import Sync


def plain_url(url: str) -> str:
    """A URL that it takes: its PostgreSQL has a user and no keywords, and its MySQL no name but mysql."""
    parts = urlsplit(url)
    scheme = "mysql" if parts.scheme == "mariadb" else "postgresql" if parts.scheme == "postgres" else parts.scheme
    return parts._replace(scheme=scheme, query="").geturl()


class Contestant(Sync):
    package = "connectorx"
    options = "read_sql(return_type='arrow', protocol='binary'), which connects each time"
    skips = {"arrow_in": "it only reads"}

    def start(self) -> None:
        self.place = plain_url(self.url)

    def arrow(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [
            connectorx.read_sql(self.place, data, return_type="arrow", protocol="binary") for _ in range(inner)
        ]
        return self.kept[-1]

    def partitions(self, workload: str, size: int) -> Any:
        count, column = w.PARTITIONS[workload]
        parts: dict[str, Any] = {"partition_on": column, "partition_num": count} if count > 1 else {}
        query = self.sql.select(workload, size)
        return connectorx.read_sql(self.place, query, return_type="arrow", protocol="binary", **parts)

    def arrow_stream(self, size: int, inner: int, data: Any) -> int:
        query = self.sql.stream(size)
        for batch in connectorx.read_sql(
            self.place, query, return_type="arrow_stream", protocol="binary", batch_size=w.ARROW_BATCH
        ):
            self.take_batch(batch)
        return size
