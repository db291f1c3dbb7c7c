"""The contestants: one small file each. To add one, write a module with a class ``Contestant`` and name it here."""

from __future__ import annotations

import importlib
from typing import Any

MODULES = {
    "headrace": "headrace_sync",
    "headrace-async": "headrace_async",
    "headrace-uvloop": "headrace_async",
    "floor": "floor",
    "psycopg": "psycopg_sync",
    "asyncpg": "asyncpg_async",
    "asyncpg-uvloop": "asyncpg_async",
    "psqlpy": "psqlpy_async",
    "pg8000": "pg8000_sync",
}


def load(name: str, url: str) -> Any:
    """The contestant of this name, connected to nothing yet."""
    module = importlib.import_module(f"{__name__}.{MODULES[name]}")
    return module.Contestant(url, uvloop=name.endswith("-uvloop"))
