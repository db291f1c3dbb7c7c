"""The databases that are raced on: one file each, with its statements, its server and what reports say of it."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any, Final, Protocol

from ..workloads import Sql

MODULES: Final = {"postgresql": "postgresql", "mariadb": "mariadb", "mysql": "mysql", "informix": "informix"}


class Database(Protocol):
    """What a module here offers."""

    Statements: type[Sql]

    @contextlib.contextmanager
    def start(self) -> Iterator[tuple[str, int | None]]:
        """A server of our own: its URL, and its process."""
        ...


def load(name: str) -> Any:
    """The module of a database. Raises KeyError for an unknown one."""
    return importlib.import_module(f"{__name__}.{MODULES[name]}")
