"""Which statements change the SQL modes of a session."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"\s*([a-z]+)(?:\s+([a-z]+))?", re.IGNORECASE)
_PLAIN: Final = frozenset(("call", "select", "insert", "replace", "update", "delete", "with", "do"))
_BLOCKS: Final = frozenset((("set", "statement"), ("begin", "not")))
"""MariaDB's: for one statement, or to the end of a block."""


def may_change(statement: str) -> bool:
    """Returns true if a statement may change the modes for those after it.

    Modes that a procedure, a function or a trigger sets end with it, but servers (MySQL 9.7 and MariaDB 10.11 are some)
    report them on and on in the status of their replies: after other statements it is not to be believed.
    """
    words = _WORDS.match(statement)
    first, second = ((word or "").lower() for word in words.groups()) if words else ("", "")
    if (first in _PLAIN and ";" not in statement.rstrip("; \t\r\n")) or (first, second) in _BLOCKS:
        return False
    return first == "execute" or "sql_mode" in statement.lower()
