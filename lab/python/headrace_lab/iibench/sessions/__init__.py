"""The drivers: one small file each. A module has a class ``Session``; the database's module names it."""

from __future__ import annotations

import importlib

from ..databases.base import Database
from .base import Session


def load(database: Database, driver: str, url: str) -> Session:
    """The session of a driver, connected to nothing yet. Raises KeyError for a driver that the database has not."""
    module = importlib.import_module(f"{__name__}.{database.drivers[driver]}")
    made: Session = module.Session(url, database)
    return made
