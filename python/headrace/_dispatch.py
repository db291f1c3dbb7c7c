"""Which database a connection string is for, by its scheme."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Final

from .errors import ProgrammingError

_MODULES: Final = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "informix": "informix",
    "jdbc:informix-sqli": "informix",
    "mysql": "mysql",
    "mariadb": "mysql",
}
"""Scheme: the module below :mod:`headrace` and :mod:`headrace.aio` that connects to it."""


def database(conninfo: str) -> str:
    """The name of the module that understands ``conninfo``; without a scheme it is PostgreSQL's.

    >>> database("informix://jo@db/stores?server=ol_main"), database("host=db dbname=stores")
    ('informix', 'postgres')

    Raises ProgrammingError for a scheme of no database that is known here.
    """
    scheme = re.match(r"\s*((?:jdbc:)?[a-z][a-z0-9+.-]*):", conninfo, re.IGNORECASE)
    if scheme is None:
        return "postgres"
    name = scheme[1].lower()
    if name not in _MODULES:
        raise ProgrammingError(f"the scheme {name!r} of the connection string is not one of {', '.join(_MODULES)}")
    return _MODULES[name]


def module(conninfo: str) -> ModuleType:
    """The module whose ``connect`` takes ``conninfo``."""
    return importlib.import_module(f".{database(conninfo)}", __package__)


def aio_module(conninfo: str) -> ModuleType:
    """The asyncio twin of :func:`module`; that of PostgreSQL is :mod:`headrace.aio.opening`."""
    name = database(conninfo)
    return importlib.import_module(f".aio.{'opening' if name == 'postgres' else name}", __package__)
