"""PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from .. import data
from ..workloads import ALCHEMY, ALCHEMY_ROWS, STREAMS, TABLES, WRITERS, Sql

SETTINGS: Final = (
    "shared_buffers",
    "fsync",
    "synchronous_commit",
    "jit",
    "max_connections",
    "server_version",
    "ssl",
)
"""Server settings that stand in every report."""


ROWS: Final = {
    "fetch": (data.PLAIN, data.PLAIN_SQL),
    "types": (data.TYPES, data.TYPES_SQL),
    "wide": (data.WIDE, data.WIDE_SQL),
    "parted": (data.PARTED, data.PARTED_SQL),
}
"""The columns and the rows of each kind of table."""


class Statements(Sql):
    """PostgreSQL's."""

    database = "postgresql"
    batches = "COPY after 1,024 rows"

    def own(self, count: int) -> list[str]:
        """$1, $2, ..."""
        return [f"${i + 1}" for i in range(count)]

    def setup(self, admin: Any, chosen: list[tuple[str, int]]) -> None:
        """Filled by the server itself."""
        for statement in self._setup(chosen):
            admin.execute(statement)

    def _setup(self, chosen: list[tuple[str, int]]) -> Iterator[str]:
        schema = self.schema
        yield f"CREATE SCHEMA {schema}"
        made: dict[str, tuple[str, str, int]] = {
            f"{schema}.users": ("id int PRIMARY KEY, name text", "g, 'user ' || g", data.USERS)
        }
        for name, size in chosen:
            if name in WRITERS:
                yield f"CREATE TABLE IF NOT EXISTS {self.target} ({data.PLAIN})"
                made[self.table("fetch", size)] = (data.PLAIN, data.PLAIN_SQL, size)
            elif name in ALCHEMY:
                made[self.table(name, size)] = (data.PLAIN, data.PLAIN_SQL, ALCHEMY_ROWS)
            elif name in TABLES:
                made[self.table(name, size)] = (*ROWS[TABLES[name]], size)
            elif name in STREAMS:
                rows = max(size for other, size in chosen if other in STREAMS)
                made[f"{schema}.stream"] = (data.STREAM, data.STREAM_SQL, rows)
        for table, (columns, values, rows) in made.items():
            yield f"CREATE TABLE {table} ({columns})"
            yield f"INSERT INTO {table} SELECT {values} FROM generate_series(1, {rows}) g"
            yield f"VACUUM ANALYZE {table}"

    def drop(self, admin: Any) -> None:
        """With all that is in it."""
        admin.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")

    def empty(self, admin: Any) -> None:
        """TRUNCATE."""
        admin.execute(f"TRUNCATE {self.target}")

    def table_digest(self, table: str) -> str:
        """MD5 over the rows' texts."""
        rows = "string_agg(t::text, '|' ORDER BY id)"
        return f"SELECT 'table:' || count(*) || ':' || coalesce(md5({rows}), '') FROM {table} t"

    def settings(self, admin: Any) -> dict[str, Any]:
        """As the server reports them."""
        return {name: admin.fetchval("SELECT current_setting($1)", name) for name in SETTINGS}


@contextlib.contextmanager
def start() -> Iterator[tuple[str, int | None]]:
    """The embedded server."""
    import headrace.testing

    with headrace.testing.postgres() as server:
        yield server.url, server.pid
