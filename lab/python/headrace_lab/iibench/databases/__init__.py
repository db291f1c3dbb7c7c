"""The databases: the statements for each, and what is read of its processes. One file each: a
module with a class ``Database``, by the names of :mod:`headrace_lab.differences`."""

from __future__ import annotations

import importlib

from ...differences import DIFFERENCES
from .base import Database


def load(name: str) -> Database:
    """The database of this name."""
    made: Database = importlib.import_module(f"{__name__}.{DIFFERENCES[name].name}").Database()
    return made
