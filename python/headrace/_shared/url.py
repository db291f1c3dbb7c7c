"""URLs that name a database: ``scheme://user:password@host:port,host:port/database?name=value``.

Errors name a keyword or part, and never show text that could be a piece of a password: a password that was not
percent-encoded is the most frequent mistake.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from ..errors import ProgrammingError
from .redact import SECRETS

_NAME = re.compile(r"[A-Za-z_]\w{0,62}", re.ASCII)

_BRACKETS = "malformed host in the URL: an IPv6 address stands in brackets, as in [::1]:5432"

Pairs = list[tuple[str, str]]


def shown(name: str, before: str | None) -> str | None:
    """A keyword that is wrong, if it can be shown: None for what may be part of the secret that stands before it, or is
    not a word."""
    return name if _NAME.fullmatch(name) and before not in SECRETS else None


def parse_url(rest: str) -> Pairs:
    """The keywords of a URL whose scheme was cut off, in order: ``user``, ``password``, ``host`` and ``port`` (lists
    with commas), ``dbname``, and the parameters after the question mark. Whether there are such keywords is not known
    here.

    >>> parse_url("jo@a,b:3307/shop?x=1")
    [('user', 'jo'), ('host', 'a,b'), ('port', ',3307'), ('dbname', 'shop'), ('x', '1')]

    Raises ProgrammingError for a malformed URL.
    """
    where, _, query = rest.strip().partition("?")
    authority, _, path = where.partition("/")
    userinfo, at, hosts = authority.rpartition("@")
    # An @ further on may be the one that ends the user and password: what stands before it is no host then.
    if "@" in path:
        raise _malformed("", astray=True)
    astray = not at and "@" in rest
    found: Pairs = []
    if at:
        user, colon, password = userinfo.partition(":")
        if user:
            found.append(("user", _decode(user, "user")))
        if colon:
            found.append(("password", _decode(password, "password")))
    found += _hosts(hosts, astray)
    if path:
        found.append(("dbname", _decode(path, "database")))
    return found + _query(query)


def _hosts(text: str, astray: bool) -> Pairs:
    names: list[str] = []
    ports: list[str] = []
    for one in text.split(",") if text else []:
        if one.startswith("["):
            name, bracket, after = one[1:].partition("]")
            if not bracket or (after and not after.startswith(":")):
                raise _malformed(_BRACKETS, astray)
            port = after[1:]
        else:
            name, _, port = one.partition(":")
            if ":" in port:
                raise _malformed(_BRACKETS, astray)
        port = _decode(port, "port")
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            # Not shown: without a host, it is a password.
            raise _malformed("the port in the URL is not a number from 1 to 65535", astray)
        names.append(_decode(name, "host"))
        ports.append(port)
    found: Pairs = []
    if any(names):
        found.append(("host", ",".join(names)))
    if any(ports):
        found.append(("port", ",".join(ports)))
    return found


def _malformed(message: str, astray: bool) -> ProgrammingError:
    if astray:
        message = (
            "malformed URL: in the user and the password the characters / ? # @ : must be percent-encoded, as "
            "%2F %3F %23 %40 %3A"
        )
    return ProgrammingError(message)


def _query(text: str) -> Pairs:
    found: Pairs = []
    for pair in text.split("&") if text else []:
        name, equals, value = pair.partition("=")
        name = _decode(name, "parameters")
        before = found[-1][0] if found else None
        if not equals:
            which = shown(name, before)
            raise ProgrammingError(
                f"the parameter {which!r} in the URL has no value; it is written {which}=..."
                if which
                else "malformed parameters in the URL: they are written name=value, with & between them"
            )
        value = _decode(value, f"parameter {name!r}" if shown(name, before) else "parameters")
        found.append((name, value))
    return found


def _decode(text: str, what: str) -> str:
    # Compiling an expression takes a fifth of a process's first connection.
    if "%" in text and re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ProgrammingError(f"malformed percent-encoding in the {what} of the URL; a % itself is written %25")
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ProgrammingError(f"the percent-encoding in the {what} of the URL is not UTF-8") from None
    if "\0" in decoded:
        raise ProgrammingError(f"the {what} of the URL holds a NUL character")
    return decoded
