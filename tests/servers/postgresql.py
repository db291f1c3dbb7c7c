"""PostgreSQL, as tests see it."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import headrace
import headrace.postgres.resets
from headrace_lab.differences import DIFFERENCES

from .base import Listing


class PostgreSQL(Listing):
    """The embedded server, with a database for each test module."""

    block_modes = ("isolation", "read_only", "deferrable")
    own_isolation = "show transaction_isolation"
    differences = DIFFERENCES["postgresql"]
    module: ClassVar[Any] = headrace
    resets: ClassVar[Any] = headrace.postgres.resets
    fixture = "url"
    error_fails_transaction = True
    hides_tables = True
    adbc_schema = "db_schema_name"
    names_hidden_tables = True
    longest_name = "ü" * 31 + "n"
    question_mark = "%s"
    native_mark = "${}"
    quote = '"'
    timestamp = "timestamp"
    row_address = "ctid"
    analyze = "analyze t"
    describes_constraints = True
    batch_strategies = {"typed": ("%s", {}), "pipelined": ("${}", {})}
    copies_by = "copy_in"
    copies_by_exact_names = True
    supports_sqlalchemy = True
    without_tls = {"sslmode": "disable"}
    plain = "?sslmode=disable"
    others = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    doing = (
        "select pid, application_name, state, wait_event, now() - state_change, query from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()"
    )
    counts = (
        "select count(*), count(*) filter (where state <> 'idle') from pg_stat_activity "
        "where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()"
    )
    executing = (
        "select count(*) from pg_stat_activity where state = 'active' and query like %s and pid <> pg_backend_pid()"
    )
    pause = "select pg_sleep({})"
    ending = "select pg_terminate_backend({})"
    cancelling = "select pg_cancel_backend({})"
    supports_unprepared = True

    @classmethod
    def at(cls, server: str) -> Self:
        """The database of a URL. The server trusts everybody who is there: a user who is not is refused."""
        return cls(server, server.replace("//postgres@", "//nowhere@"))

    def change_type(self, table: str, column: str, kind: str) -> str:
        """The ALTER TABLE that changes a column's type."""
        return f"alter table {table} alter {column} type {kind}"

    def series(self, count: int) -> str:
        """A query for the whole numbers from 1 on."""
        return f"select g as n from generate_series(1, {count}) g"

    def count_from_zero(self, count: int) -> str:
        """A query for the whole numbers from 0 on."""
        return f"select n::int as n from generate_series(0, {count - 1}) n"
