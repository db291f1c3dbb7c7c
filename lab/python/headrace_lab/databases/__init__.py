"""The databases that are raced on: one file each, with its statements, its server and what reports say of it."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any, Final, Protocol

from ..differences import DIFFERENCES
from ..workloads import Sql

SCHEMES: Final = {scheme: each.name for each in DIFFERENCES.values() for scheme in each.schemes}
"""Of URLs, and the database that each names."""


class Database(Protocol):
    """What a module here offers."""

    Statements: type[Sql]

    @contextlib.contextmanager
    def start(self) -> Iterator[tuple[str, int | None]]:
        """A server of our own: its URL, and its process."""
        ...


def of_url(url: str | None, asked: str | None, usual: str = "postgresql") -> str:
    """The database of a URL: the one that was asked for, or else the one that its scheme names. Raises ValueError where
    the two cannot be the same. MySQL and MariaDB can: either takes a URL of the other.

    >>> of_url("mysql://db/test", None), of_url("mysql://db/test", "mariadb"), of_url(None, None)
    ('mysql', 'mariadb', 'postgresql')
    """
    scheme = (url or "").strip().partition("://")[0].lower()
    named = SCHEMES.get(scheme)
    if asked is None or named is None:
        return asked or named or usual
    if asked in DIFFERENCES and asked != named and {asked, named} != {"mysql", "mariadb"}:
        raise ValueError(f"--url begins with {scheme}://, but --database is {asked}")
    return asked


def load(name: str) -> Any:
    """The module of a database. Raises KeyError for an unknown one."""
    return importlib.import_module(f"{__name__}.{DIFFERENCES[name].name}")
