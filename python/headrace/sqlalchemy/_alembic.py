"""Alembic's plugin: the implementations of migrations on Informix and CUBRID, which it has none of.

Alembic imports it by the entry point ``alembic.plugins``; releases before 1.18, which have no plugins, get it from the
dialects.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def setup(plugin: Any) -> None:
    """Registers the implementations, which Alembic finds by the names of the dialects."""
    import_module("headrace.sqlalchemy._migrations")


def set_up_older_alembic() -> None:
    """Does the same where a program has imported Alembic and its plugin is not there."""
    if "alembic.ddl" in sys.modules:
        setup(None)
