"""A pytest plugin for SQLAlchemy's own tests of every dialect, on a database of which SQLAlchemy knows nothing.

``HEADRACE_REQUIREMENTS`` is the class, ``module:Class``, of what the database is asked for, and ``HEADRACE_SCHEMA`` the
other schema of a database that has several. ``HEADRACE_DESELECT`` and
``HEADRACE_SAMPLE`` are those of ``sqlalchemy_plugin.py``.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest
from sqlalchemy_plugin import know_our_cursors, pytest_collection_modifyitems

__all__ = ["pytest_collection_modifyitems", "pytest_sessionstart"]


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    """Takes the place of the requirements that SQLAlchemy's own databases have."""
    from sqlalchemy import testing
    from sqlalchemy.testing import config, provision

    module, _, name = os.environ["HEADRACE_REQUIREMENTS"].partition(":")
    config.requirements = testing.requires = getattr(importlib.import_module(module), name)()

    @provision.temp_table_keyword_args.for_db("informix")
    def temp_table_keyword_args(cfg: Any, eng: Any) -> dict[str, Any]:
        return {"prefixes": ["TEMP"]}

    original = provision.delete_from_all_tables

    @provision.delete_from_all_tables.for_db("cubrid")
    def delete_from_all_tables(connection: Any, cfg: Any, metadata: Any) -> None:
        for table in metadata.tables.values():
            for key in table.foreign_key_constraints:
                if key.referred_table is table:
                    # A row is not deleted before those that refer to it, whatever else the statement deletes.
                    connection.execute(table.update().values(dict.fromkeys(key.column_keys)))
        original.fns["*"](connection, cfg, metadata)

    # Where nothing belongs to others, an owner that is written is the one there is.
    config.test_schema = os.environ.get("HEADRACE_SCHEMA") or config.db.dialect.default_schema_name
    know_our_cursors()
