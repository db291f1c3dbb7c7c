"""The parts of a server's URL, for drivers that take them one by one; the grammar is that of headrace's URLs."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote


class Address(NamedTuple):
    """What a URL names; a part that it does not have is empty or None."""

    host: str
    """The first host."""
    port: int | None
    user: str
    password: str
    database: str
    options: dict[str, str]
    """What stands after the question mark; of a name that is given twice, the last value."""


def address(url: str) -> Address:
    """Reads ``scheme://user:password@host:port/database?name=value``.

    >>> address("mysql://jo:p%40w@[::1]:3307/my%20shop?a=b+c")
    Address(host='::1', port=3307, user='jo', password='p@w', database='my shop', options={'a': 'b+c'})
    """
    place, _, query = url.strip().partition("://")[2].partition("?")
    authority, _, path = place.partition("/")
    login, _, hosts = authority.rpartition("@")
    user, _, password = login.partition(":")
    first = hosts.partition(",")[0]
    host, port = first, ""
    if first.startswith("["):
        host, _, after = first[1:].partition("]")
        port = after.removeprefix(":")
    else:
        host, _, port = first.partition(":")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    options = {unquote(name): unquote(value) for name, _, value in pairs}
    return Address(unquote(host), int(port) if port else None, unquote(user), unquote(password), unquote(path), options)
