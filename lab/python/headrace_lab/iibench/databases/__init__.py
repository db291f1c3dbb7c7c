"""The databases: the statements for each, and what is read of its processes. One file each: a
module that names its class as ``DATABASE``, by the names of :mod:`headrace_lab.differences`."""

from __future__ import annotations

import importlib

from ...differences import DIFFERENCES
from .base import BenchmarkDatabase


def load(name: str) -> BenchmarkDatabase:
    """The database of this name."""
    made: BenchmarkDatabase = importlib.import_module(f"{__name__}.{DIFFERENCES[name].name}").DATABASE()
    return made
