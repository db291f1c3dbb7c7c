"""CUBRID, as tests see it."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar, Self

import headrace.cubrid
import headrace.cubrid.resets
from cubrid.killing import kill
from headrace import errors
from headrace_lab.differences import DIFFERENCES
from live import CUBRID_URL, ROWS_OF_NUMBERS

from .base import Database


class Cubrid(Database):
    """The project's own test server, or a genuine one that HEADRACE_CUBRID_URL names."""

    differences = DIFFERENCES["cubrid"]
    module: ClassVar[Any] = headrace.cubrid
    resets: ClassVar[Any] = headrace.cubrid.resets
    fixture = "cubrid_served"
    longest_name = "n" * 254
    # Since 11.2 the name of its owner counts, too. CUBRID names 223 bytes in its error, and refuses that many.
    longest_table = "n" * 222
    # On a genuine server two connections come into a deadlock; the test server is told to end a transaction.
    abort_hook = None if CUBRID_URL else "set system parameters 'headrace_deadlock=1'"
    commit_refusal = () if abort_hook is None else (abort_hook,)
    # A request of the protocol takes the place of a statement.
    begin_work = None
    # On the test server a transaction that writes waits for another.
    writes_beside = bool(CUBRID_URL)
    supports_isolation_query = False
    supports_settings_query = False
    unasked = {"isolation_level": "read committed"}
    # Statements are sent one by one in autocommit, unless the broker may not take the process back.
    kept_session = {"keep_cas": True}
    supports_temporary_tables = False
    supports_question_mark_names = False
    supports_read_only = False
    block_modes = ("isolation",)
    block_levels = ("read committed", "repeatable read", "serializable")
    supports_zero_dates = True
    before_temporary = "drop table if exists r; "
    answers_early = False
    # The next statement connects again.
    loses_idle_sessions = False
    # So many that the steps are over before the last row is answered: the COMMIT after it is not cancelled.
    large_batch = 100_000
    # It has no named cursors.
    cursors_that_fetch_later = ()
    untested_types = frozenset() if CUBRID_URL else frozenset({"list of int"})
    batch_strategies = {name: ("?", {"strategy": name}) for name in ("auto", "joined", "array")}
    # The value has to be requested, for which an attribute of an asyncio cursor cannot wait.
    supports_lastrowid = False
    codes = {errors.UndefinedTable: -493, errors.UndefinedColumn: -494, errors.SyntaxError: -493}

    @classmethod
    def at(cls, server: str) -> Self:
        """The database of a URL."""
        made = cls(server, "")
        made.refused_url = made.url_with(password="wrong")
        return made

    def series(self, count: int) -> str:
        """A query for the whole numbers from 1 on. The table has those from 0 on."""
        if count <= ROWS_OF_NUMBERS:
            return f"select n + 1 as n from numbers where n < {count} order by n"
        number = f"a.n * {ROWS_OF_NUMBERS} + b.n"
        return f"select {number} + 1 as n from numbers a, numbers b where {number} < {count} order by 1"

    def count_from_zero(self, count: int) -> str:
        """A query for the whole numbers from 0 on."""
        return f"select a.n * 1000 + b.n as n from numbers a, numbers b order by 1 limit {count}"

    def sessions(self, admin: Any, own: list[Any]) -> list[int]:
        """The numbers of their processes."""
        return [conn._core.wire.process_id for conn in own if not conn.closed]

    def end(self, admin: Any, number: int, port: int) -> None:
        """Ends the process, as SIGKILL would."""
        with contextlib.suppress(AssertionError):
            kill(port, number)

    def kill(self, admin: Any, sessions: list[Any], port: int) -> None:
        """Ends the processes of the given connections, as SIGKILL would."""
        for conn in sessions:
            kill(port, conn._core.wire.process_id)
