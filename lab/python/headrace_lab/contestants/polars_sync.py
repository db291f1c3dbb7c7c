"""polars: its readers of a URL and of a connection, and its writer."""

from __future__ import annotations

from typing import Any

import polars

from .. import workloads as w
from .base import Sync
from .connectorx_sync import plain_url

URL_ONLY = "it reads a URL whole, by connectorx"


class Contestant(Sync):
    package = "polars"
    options = "read_database_uri (by connectorx); on PostgreSQL iter_batches and write_database by ADBC"

    def start(self) -> None:
        self.place = plain_url(self.url)
        if self.sql.database != "postgresql":
            self.skips = {"arrow_stream": URL_ONLY, "arrow_in": "it writes by SQLAlchemy, row by row"}

    def arrow(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [polars.read_database_uri(data, self.place) for _ in range(inner)]
        return self.kept[-1]

    def arrow_stream(self, size: int, inner: int, data: Any) -> int:
        import adbc_driver_postgresql.dbapi as adbc

        query = self.sql.stream(size)
        with adbc.connect(self.url) as conn:
            for frame in polars.read_database(query, conn, iter_batches=True, batch_size=w.ARROW_BATCH):
                self.take_batch(frame.to_arrow())
        return size

    def arrow_in(self, size: int, inner: int, data: Any) -> int:
        frame = polars.DataFrame(data)
        frame.write_database(self.sql.target, self.place, engine="adbc", if_table_exists="append")
        return size

    def strategy(self, workload: str) -> str:
        return "COPY"
