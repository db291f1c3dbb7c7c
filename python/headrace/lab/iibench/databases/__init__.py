"""The databases: what the benchmark says to each, and what it reads of its processes. One file each; to add one, write
a module with a class ``Database`` and name it here."""

from __future__ import annotations

import importlib

from .base import Database

MODULES = {"postgresql": "postgresql", "mariadb": "mariadb", "mysql": "mysql", "informix": "informix"}


def load(name: str) -> Database:
    """The database of this name."""
    made: Database = importlib.import_module(f"{__name__}.{MODULES[name]}").Database()
    return made
