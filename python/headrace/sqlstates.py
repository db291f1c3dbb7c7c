"""Every SQLSTATE that PostgreSQL 18 reports as an error, with the name of its condition.

tools/update_sqlstates.py makes the table of PostgreSQL's errcodes.txt. Classes 00 and 01 (success and warnings)
are not errors and are left out. :mod:`headrace.errors` makes one exception class of each.
"""

from __future__ import annotations

from typing import Final

from ._native import conditions

CONDITIONS: Final[dict[str, str]] = conditions()
"""Condition names by SQLSTATE."""

# Names that would meet another: a condition that two classes of codes have, and PEP 249's InternalError. They are
# called as psycopg calls them.
_NAMES: Final = {
    "38002": "ModifyingSqlDataNotPermittedExt",
    "38003": "ProhibitedSqlStatementAttemptedExt",
    "38004": "ReadingSqlDataNotPermittedExt",
    "39004": "NullValueNotAllowedExt",
    "XX000": "InternalError_",
}


def class_name(sqlstate: str) -> str:
    """The name of the exception class of a SQLSTATE in :data:`CONDITIONS`: ``"23505"`` is ``"UniqueViolation"``."""
    return _NAMES.get(sqlstate) or "".join(word.capitalize() for word in CONDITIONS[sqlstate].split("_"))
