"""The databases and the drivers that are compared. To add one, name its usual driver here: everything else is standard
SQL and PEP 249, and :mod:`headrace_lab.differences`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import headrace

from ..differences import DIFFERENCES, Differences

Connect = Callable[[str], Any]
"""Makes a connection of PEP 249, not in autocommit, from a URL."""


@dataclass(frozen=True)
class Driver:
    """A driver as its users have it: nothing is set but where to connect."""

    name: str
    package: str
    connect: Connect


@dataclass(frozen=True)
class DatabaseWithUsualDriver:
    """A database, whose server :mod:`headrace_lab.databases` starts."""

    differences: Differences
    usual: Driver


def _headrace(url: str) -> Any:
    return headrace.connect(url)


def _psycopg(url: str) -> Any:
    import psycopg

    return psycopg.connect(url)


def _mysqlclient(url: str) -> Any:
    import MySQLdb

    from ..contestants.mysqldb_like import parameters

    return MySQLdb.connect(**parameters(url), charset="utf8mb4")


def _informix_driver(url: str) -> Any:
    import informix_db

    from ..contestants.informix_driver_sync import parameters

    return informix_db.connect(**{**parameters(url), "autocommit": False})


def _pycubrid(url: str) -> Any:
    import pycubrid

    from ..link_cubrid import given

    return pycubrid.connect(**given(url))


HEADRACE: Final = Driver("headrace", "headrace", _headrace)
DATABASES: Final[Mapping[str, DatabaseWithUsualDriver]] = {
    name: DatabaseWithUsualDriver(DIFFERENCES[name], usual)
    for name, usual in (
        ("postgresql", Driver("psycopg", "psycopg", _psycopg)),
        ("mariadb", Driver("mysqlclient", "mysqlclient", _mysqlclient)),
        ("mysql", Driver("mysqlclient", "mysqlclient", _mysqlclient)),
        ("informix", Driver("informix-driver", "informix-driver", _informix_driver)),
        ("cubrid", Driver("pycubrid", "pycubrid", _pycubrid)),
    )
}


def driver(database: str, name: str) -> Driver:
    """The driver of this name. Raises KeyError."""
    found = {each.name: each for each in (HEADRACE, DATABASES[database].usual)}
    return found[name]
