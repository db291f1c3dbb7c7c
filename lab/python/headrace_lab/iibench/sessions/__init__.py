"""The drivers: one small file each. A module names its class as ``SESSION``; the database's module names it."""

from __future__ import annotations

import importlib

from ..databases.base import BenchmarkDatabase
from .base import BenchmarkSession


def load(database: BenchmarkDatabase, driver: str, url: str) -> BenchmarkSession:
    """The session of a driver, connected to nothing yet. Raises KeyError for a driver that the database has not."""
    module = importlib.import_module(f"{__name__}.{database.drivers[driver]}")
    made: BenchmarkSession = module.SESSION(url, database)
    return made
