"""Keeps secrets out of what is shown: settings and statements."""

from __future__ import annotations

import functools
import re
from typing import Final

SECRETS: Final = frozenset(
    {
        "password",
        "passwd",
        "sslpassword",
        "scram_client_key",
        "scram_server_key",
        "oauth_client_secret",
        "sslkeylogfile",
    }
)
"""Connection keywords whose values are never shown."""

MASK: Final = "***"


# PASSWORD 'text' or $$text$$, as in CREATE ROLE, and password=text, as in a connection string inside of a statement.
@functools.cache
def _sql_password() -> re.Pattern[str]:
    return re.compile(
        r"(\bpassword\s*=?\s*(?:[EU]&?)?)('(?:[^'\\]|''|\\.)*'?|\$(\w*)\$.*?(?:\$\3\$|$)|(?<==)[^\s'\"]+)",
        re.IGNORECASE,
    )


def mask_passwords(line: str, column: int) -> tuple[str, int]:
    """A line of SQL without the passwords written in it, and where the given column has gone."""
    shown: list[str] = []
    end = shift = 0
    for found in _sql_password().finditer(line):
        start, stop = found.start(2), found.end(2)
        masked = f"'{MASK}'" if line[start] in "'$" else MASK
        shown += [line[end:start], masked]
        if column >= stop:
            shift += len(masked) - (stop - start)
        elif column > start:
            shift += start - column
        end = stop
    return "".join(shown) + line[end:], column + shift
