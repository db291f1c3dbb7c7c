"""Every setting of a session that the server has: changed, and looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace import errors

Values = dict[str, Any]
_NOT_OF_SESSIONS = (1238, 1229, 1193)
"""Errors of MySQL for variables that are not a session's, or cannot be changed."""


@dataclass(frozen=True)
class Settings:
    """The settings of a database's sessions."""

    look: Callable[[Any], Values]
    """The values of all, by name."""
    candidates: Callable[[Any], Iterator[tuple[str, list[Any]]]]
    """Of each that may be changed, values to try."""
    set: Callable[[Any, str, Any], object]
    """Changes one, or raises an error."""
    look_at: Callable[[Any, str], Any]
    """The value of one."""

    def __call__(self, conn: Any) -> tuple[Values, Values]:
        """Changes as many as the server lets; returns the values before and after."""
        before = self.look(conn)
        for name, values in list(self.candidates(conn)):
            for value in values:
                try:
                    self.set(conn, name, value)
                    # A value may be another spelling of the one before.
                    if self.look_at(conn, name) != before[name]:
                        break
                except errors.Error as error:
                    if getattr(error, "sqlcode", None) in _NOT_OF_SESSIONS:
                        break
        return before, self.look(conn)


# PostgreSQL

_OF_THE_DRIVER = ("client_encoding",)
"""What the driver refuses to have changed."""
_OF_OTHER_ENTRIES = ("role", "session_authorization", "transaction_isolation", "transaction_read_only",
                     "transaction_deferrable", "seed", "exit_on_error")  # fmt: skip
_TEXTS = ("x", "UTC", "Europe/Berlin", "C", "C.UTF-8", "pg_default", "simple", "on", "1", "notice", "'a', 'b'",
          "heap", "view", "Australia", "set", "none")  # fmt: skip


def _postgres_look(conn: Any) -> Values:
    return dict(conn.fetch("select name, current_setting(name) from pg_settings"))


def _postgres_candidates(conn: Any) -> Iterator[tuple[str, list[Any]]]:
    query = (
        "select name, setting, vartype, enumvals, min_val, max_val from pg_settings where context in "
        "('user', 'superuser') order by name"
    )
    for name, value, kind, labels, least, most in conn.fetch(query):
        if name in _OF_THE_DRIVER + _OF_OTHER_ENTRIES:
            continue
        if kind == "bool":
            yield name, ["off" if value == "on" else "on"]
        elif kind == "enum":
            yield name, [label for label in labels if label != value]
        elif kind == "string":
            yield name, [text for text in _TEXTS if text != value]
        else:
            # Long timeouts, so that nothing is cancelled.
            long = 10_000_000 if "timeout" in name else None
            numbers = (long, float(value) + 1, float(value) - 1, float(least), float(most))
            yield name, [number for number in numbers if number is not None]


def _postgres_set(conn: Any, name: str, value: Any) -> None:
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    conn.execute("select set_config($1, $2, false)", (name, text))


def _postgres_look_at(conn: Any, name: str) -> Any:
    return conn.fetchval("select current_setting($1)", name)


# MySQL and MariaDB

_NOT_SETTINGS = {
    # The driver's, with an entry of its own.
    "autocommit", "character_set_client", "character_set_connection", "character_set_results", "collation_connection",
    # Values that change by themselves, or belong to the last statement or the next.
    "timestamp", "insert_id", "last_insert_id", "identity", "rand_seed1", "rand_seed2", "pseudo_thread_id",
    "error_count", "warning_count", "last_gtid", "in_transaction", "gtid_next", "statement_id", "skip_replication",
    "gtid_seq_no", "unsigned_timestamp",
    # The database's.
    "character_set_database", "collation_database",
    # They refuse other statements.
    "require_row_format", "max_session_mem_used",
}  # fmt: skip
_MYSQL_TEXTS = ("ANSI_QUOTES", "+01:00", "de_DE", "latin1", "utf8mb4_bin", "MyISAM", "MEMORY", "DEMAND", "x", "NONE")


def _mysql_look(conn: Any) -> Values:
    found = {name.lower(): value for name, value in conn.fetch("show session variables")}
    return {name: value for name, value in found.items() if name not in _NOT_SETTINGS}


def _mysql_candidates(conn: Any) -> Iterator[tuple[str, list[Any]]]:
    for name, value in _mysql_look(conn).items():
        values: list[Any] = []
        if value in ("ON", "OFF", "YES", "NO"):
            values = ["OFF" if value in ("ON", "YES") else "ON"]
        elif value.replace(".", "", 1).isdigit():
            number = float(value) if "." in value else int(value)
            more = number + (1000 if "time" in name else 1024 if number > 1000 else 1)
            values = [more, number - 1024 if number > 2000 else number - 1, 1, 0]
        elif "=" in value:
            first, _, state = value.partition(",")[0].partition("=")
            values = [f"{first}={'off' if state == 'on' else 'on'}"]
        values += [0, 1, 2, *_MYSQL_TEXTS]
        yield name, [other for other in values if str(other) != value]


def _mysql_set(conn: Any, name: str, value: Any) -> None:
    quoted = f"'{value}'" if isinstance(value, str) and value not in ("ON", "OFF") else value
    conn.executescript(f"set session {name} = {quoted}")


def _mysql_look_at(conn: Any, name: str) -> Any:
    return conn.fetchrow("show session variables where variable_name = %s", name)[1]


EVERY_SETTING: dict[str, Settings] = {
    "postgresql": Settings(_postgres_look, _postgres_candidates, _postgres_set, _postgres_look_at),
    "mysql": Settings(_mysql_look, _mysql_candidates, _mysql_set, _mysql_look_at),
}
"""By the kind of the database."""
