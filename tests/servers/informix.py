"""Informix, as tests see it."""

from __future__ import annotations

from typing import Any, ClassVar, Self
from urllib.parse import quote

import headrace.informix
import headrace.informix.resets
from headrace import errors
from headrace.testing import InformixServer
from headrace_lab.differences import DIFFERENCES

from .base import Database


class Informix(Database):
    """The project's own test server, or a genuine one that HEADRACE_INFORMIX_URL names: what holds on the first is not
    proven for the second."""

    differences = DIFFERENCES["informix"]
    module: ClassVar[Any] = headrace.informix
    resets: ClassVar[Any] = headrace.informix.resets
    fixture = "informix_server"
    abort_hook = "set environment headrace_abort 'on'"
    commit_refusal = (
        "create table hr_unchecked (n int references {table})",
        "set constraints all deferred",
        "insert into hr_unchecked values (9)",
    )
    # It waits for no lock, unless the session asks for that.
    waits_for_locks = False
    supports_isolation_query = False
    supports_settings_query = False
    unasked = {"isolation_level": "committed read", "lock_wait": 1}
    # Double quotes are of texts unless DELIMIDENT is set.
    quote = None
    longest_name = "n" * 128
    understands_double_quotes = False
    describes_parameters = False
    supports_partitions = False
    supports_serializable = False
    supports_read_only = False
    timestamp = "datetime year to fraction(5)"
    json = "lvarchar(200)"
    as_json = "::json"
    one = "select first 1 1 from systables"
    batch_strategies = {str(name): ("?", {"strategy": name}) for name in (None, "put", "groups", "rows")}
    # Its large table makes the slow statement slow; no other one is needed.
    slow_needs = ()
    after_slow = "select max(n) from numbers"
    supports_staging_tables = False
    # An urgent byte that comes before the server has begun is lost, and the statement runs to its end.
    loses_early_cancels = 0.5
    # The test server goes on with the old statement, where a genuine one sends error -710.
    notices_altered_tables = False
    stale_code = -710
    codes = {errors.UndefinedTable: -206, errors.UndefinedColumn: -217, errors.SyntaxError: -201}
    # The test server ends no session from outside.
    supports_killing = False

    @classmethod
    def at(cls, server: InformixServer) -> Self:
        """The database of the server's parameters."""

        def url(password: str) -> str:
            where = f"{server.host}:{server.port}/{server.database}"
            return f"informix://{server.user}:{quote(password)}@{where}?server={server.server}"

        return cls(url(server.password), url("wrong"))

    def change_type(self, table: str, column: str, kind: str) -> str:
        """The ALTER TABLE that changes a column's type."""
        return f"alter table {table} modify ({column} {kind})"

    def series(self, count: int) -> str:
        """A query for the whole numbers from 1 on, as many as the table has."""
        return f"select n from numbers where n between 1 and {count}"

    def count_from_zero(self, count: int) -> str:
        """A query for the whole numbers from 0 on."""
        return f"select first {count} a.n * 1000 + b.n as n from numbers a, numbers b order by 1"

    def kill(self, admin: Any, sessions: list[Any], port: int) -> None:
        """Not on the test server."""
        raise NotImplementedError
