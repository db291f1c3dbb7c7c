"""The errors that PostgreSQL's server sends, and what to do about those whose reason only a driver sees."""

from __future__ import annotations

import re
from typing import Final

from ..errors import DatabaseError, error_for

_FIELDS: Final = {
    "C": "sqlstate",
    "M": "message",
    "D": "detail",
    "H": "hint",
    "q": "internal_query",
    "W": "where",
    "s": "schema_name",
    "t": "table_name",
    "c": "column_name",
    "d": "data_type_name",
    "n": "constraint_name",
    "F": "source_file",
    "L": "source_line",
    "R": "source_function",
}

_LIST_AFTER_IN: Final = re.compile(r"\bIN\s*(?:%s|%\(\w+\)s|\$\d+)", re.IGNORECASE)
"""A single parameter after IN, where SQL requires a list in parentheses."""
_LIST_IN_IN: Final = re.compile(r"\bIN\s*\(\s*(?:%s|%\(\w+\)s|\$\d+)\s*\)", re.IGNORECASE)
"""The same in parentheses, where SQL requires the items."""
_REPLICATION: Final = re.compile(
    r"\s*(?:IDENTIFY_SYSTEM|(?:CREATE|DROP|ALTER|READ)_REPLICATION_SLOT|START_REPLICATION|TIMELINE_HISTORY"
    r"|BASE_BACKUP)\b",
    re.IGNORECASE,
)
"""What a command of a replication connection begins with."""
_JSON_OF_ARRAY: Final = re.compile(r"\bjsonb?\b.*\[\]|\[\].*\bjsonb?\b")
_PARAMETER: Final = re.compile(r"\$\d")
_TYPED: Final = re.compile(r"\b(interval|date|time|timestamp|timestamptz)\s+(?:%s|%\(\w+\)s|\$\d+)", re.IGNORECASE)
"""A parameter in the place of the string of ``interval '1 day'``."""
_COMMANDS: Final = re.compile(
    r"\s*(?:set|create|alter|drop|grant|revoke|comment|notify|listen|copy|do|truncate)\b", re.IGNORECASE
)
"""What a statement begins with in which the server has no parameters."""

_ONE_ARRAY: Final = (
    "a list is one parameter, an array: write = ANY(%s) in place of IN %s, and <> ALL(%s) in place of NOT IN %s"
)
_JSON: Final = "a list is an array: for a column of JSON wrap it in headrace.types.Json or Jsonb"
_OF_REPLICATION: Final = (
    "a replication connection (replication=database) takes its commands by executescript() only, in autocommit"
)
_UNPREPARED: Final = "with a pooler that assigns server connections by transaction, connect with prepared=False"
_SEVERAL: Final = "execute several statements with executescript(), or one by one with execute()"
_CAST: Final = "say which type a parameter has, by a cast: %s::text, $1::text"


def hint_for(sqlstate: str | None, message: str, statement: str, servers: str | None = None) -> str | None:
    """Returns the hint of an error.

    Args:
        sqlstate: of the error.
        message: the server's, which may be translated: only names and parameters are looked for in it.
        statement: the text that was sent.
        servers: the server's own hint, which stays unless a better one is known.

    Returns:
        What to do, or None.
    """
    if sqlstate == "42883" and "[]" in message and _LIST_IN_IN.search(statement):
        return _ONE_ARRAY
    if sqlstate in ("42804", "42846") and _JSON_OF_ARRAY.search(message):
        return _JSON
    if servers is not None:
        return servers
    if sqlstate in ("42P05", "26000") and '"headrace_' in message:
        return _UNPREPARED
    if sqlstate == "42601":
        return _of_syntax(message, statement)
    if sqlstate == "08P01" and "replication" in message:
        return _OF_REPLICATION
    return _CAST if sqlstate in ("42P18", "42P08") else None


def _of_syntax(message: str, statement: str) -> str | None:
    """Returns what to do about a syntax error."""
    if "prepared statement" in message:
        return _SEVERAL
    if _LIST_AFTER_IN.search(statement):
        return _ONE_ARRAY
    if _PARAMETER.search(message):
        return _misplaced(statement)
    return _OF_REPLICATION if _REPLICATION.match(statement) else None


def _misplaced(statement: str) -> str:
    """Returns what to write where the server has no parameters."""
    if typed := _TYPED.search(statement):
        return f"write %s::{typed[1].lower()} in place of {typed[1]} %s"
    if command := _COMMANDS.match(statement):
        name = command[0].strip().upper()
        instead = ": SELECT set_config('name', %s, false) does" if name == "SET" else ", but values in its text"
        return f"{name} takes no parameters{instead}"
    return "a parameter is a value: names of tables and columns, and key words, are part of the text"


def error_from_fields(fields: dict[str, str], statement: str | None = None, row: int | None = None) -> DatabaseError:
    """Makes the error of an ErrorResponse of PostgreSQL.

    Fields that are missing or malformed stay None.

    Args:
        fields: by their one-letter codes: "Error and Notice Message Fields" in the manual.
        statement: the text that was sent.
        row: the number of the row of a batch, from 0.

    Returns:
        The error, of the class for its SQLSTATE.
    """
    message = fields.get("M") or "the server sent no message"
    error = error_for(fields.get("C", ""))(message)
    for code, name in _FIELDS.items():
        if code in fields:
            setattr(error, name, fields[code])
    error.message = message
    # V is S untranslated; servers before 9.6 do not send it.
    error.severity = fields.get("V") or fields.get("S")
    for code, name in (("P", "position"), ("p", "internal_position")):
        if fields.get(code, "").isdecimal():
            setattr(error, name, int(fields[code]))
    error.hint = hint_for(error.sqlstate, message, statement or "", error.hint)
    error.statement = statement or None
    error.row = row
    return error
