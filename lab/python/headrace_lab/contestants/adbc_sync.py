"""ADBC's driver for PostgreSQL: Arrow through libpq, COPY in both directions."""

from __future__ import annotations

from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa

from .base import Sync


class Contestant(Sync):
    package = "adbc-driver-postgresql"
    options = "fetch_arrow_table; adbc_ingest; numeric comes as text, and is cast to decimal128 by pyarrow"

    def start(self) -> None:
        self.conn = adbc.connect(self.url, autocommit=True)

    def arrow(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [self._table(data) for _ in range(inner)]
        return self.kept[-1]

    def _table(self, query: str) -> Any:
        with self.conn.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table()

    def arrow_types(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [self._exact(self._table(data)) for _ in range(inner)]
        return self.kept[-1]

    def _exact(self, table: Any) -> Any:
        """The table with its numbers as numbers."""
        number = table.column(0)
        text = pa.chunked_array([getattr(chunk, "storage", chunk) for chunk in number.chunks])
        return table.set_column(0, table.schema.names[0], text.cast(pa.decimal128(14, 4)))

    def arrow_stream(self, size: int, inner: int, data: Any) -> int:
        with self.conn.cursor() as cursor:
            cursor.execute(self.sql.stream(size))
            for batch in cursor.fetch_record_batch():
                self.take_batch(batch)
        return size

    def arrow_in(self, size: int, inner: int, data: Any) -> int:
        with self.conn.cursor() as cursor:
            return int(cursor.adbc_ingest("target", data, mode="append", db_schema_name=self.sql.schema))

    def strategy(self, workload: str) -> str:
        return "COPY"
