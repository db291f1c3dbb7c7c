"""Keeps secrets out of what is shown: connection strings and statements."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

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

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
# keyword = value, the value plain or in quotes, with backslashes before characters that stand for themselves.
_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)(?:[^\s\\]|\\.)*|)(?=\s|$)", re.DOTALL)
# PASSWORD 'text' or $$text$$, as in CREATE ROLE, and password=text, as in a connection string inside of a statement.
_SQL_PASSWORD = re.compile(
    r"(\bpassword\s*=?\s*(?:[EU]&?)?)('(?:[^'\\]|''|\\.)*'?|\$(\w*)\$.*?(?:\$\3\$|$)|(?<==)[^\s'\"]+)", re.IGNORECASE
)


def redact(conninfo: str) -> str:
    """A connection string without its secrets, for messages and logs.

    Rather hides too much than too little: what is neither a URL nor well-formed keywords is not shown at all.

    >>> redact("postgresql://ada:lovelace@localhost/app")
    'postgresql://ada:***@localhost/app'
    >>> redact("host=localhost password='love lace'")
    'host=localhost password=***'
    """
    scheme = _SCHEME.match(conninfo)
    return _url(scheme[0], conninfo[scheme.end() :]) if scheme else _keywords(conninfo)


def _url(scheme: str, rest: str) -> str:
    where, question, query = rest.partition("?")
    if "@" in query and "@" not in where and ":" in where:
        # Perhaps the question mark is part of a password that was not percent-encoded.
        return f"{scheme}{where.partition(':')[0]}:{MASK}@{query.rpartition('@')[2]}"
    # The last @, because a password that was not percent-encoded may hold others, and slashes.
    userinfo, at, host = where.rpartition("@")
    user, colon, _ = userinfo.partition(":")
    pairs = [_pair(pair) for pair in query.split("&")]
    return scheme + user + (f":{MASK}" if colon else "") + at + host + question + "&".join(pairs)


def _pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    return name + equals + (MASK if value and unquote(name).strip().lower() in SECRETS else value)


def _keywords(text: str) -> str:
    shown: list[str] = []
    end = 0
    while text[end:].strip():
        found = _PAIR.match(text, end)
        if found is None:
            return "(malformed connection string)"
        name, value = found[1], found[2]
        shown.append(f"{name}={MASK if value and name.lower() in SECRETS else value}")
        end = found.end()
    return " ".join(shown)


def mask_passwords(line: str, column: int) -> tuple[str, int]:
    """A line of SQL without the passwords written in it, and where the given column has gone."""
    shown: list[str] = []
    end = shift = 0
    for found in _SQL_PASSWORD.finditer(line):
        start, stop = found.start(2), found.end(2)
        masked = f"'{MASK}'" if line[start] in "'$" else MASK
        shown += [line[end:start], masked]
        if column >= stop:
            shift += len(masked) - (stop - start)
        elif column > start:
            shift += start - column
        end = stop
    return "".join(shown) + line[end:], column + shift
