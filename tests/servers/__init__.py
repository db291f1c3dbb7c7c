"""The databases that the shared tests run on, one class each: what differs between them stands there, once.

A test for all databases takes the fixture ``any_db``, or parametrizes with :func:`names`, and has no branch on which
database it is: a new difference is an attribute of :class:`Database` with its reason.
"""

from __future__ import annotations

from typing import Any

import pytest

from .base import Database
from .cubrid import Cubrid
from .informix import Informix
from .mysql import MariaDB, MySQL
from .postgresql import PostgreSQL

__all__ = ["DATABASES", "Cubrid", "Database", "Informix", "MariaDB", "MySQL", "PostgreSQL", "database", "names"]

DATABASES: dict[str, type[Database]] = {each.name: each for each in (PostgreSQL, MariaDB, MySQL, Informix, Cubrid)}
"""By the name that stands in the names of tests, in their order."""


def names(*only: type[Database], but: tuple[type[Database], ...] = (), **facts: Any) -> list[str]:
    """The names of databases, to parametrize with: those of the classes ``only``, without those of ``but``, whose
    attributes are the given ``facts``."""
    return [
        name
        for name, each in DATABASES.items()
        if (not only or issubclass(each, only))
        and not issubclass(each, but)
        and all(getattr(each, fact) == value for fact, value in facts.items())
    ]


def database(request: pytest.FixtureRequest, name: str) -> Database:
    """The database of this name, whose server runs from now on."""
    cls = DATABASES[name]
    return cls.at(request.getfixturevalue(cls.fixture))
