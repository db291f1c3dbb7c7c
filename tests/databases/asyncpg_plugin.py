"""A pytest plugin for asyncpg's own tests: they get headrace's asyncpg, and a schema that is empty.

``ASYNCPG_DESELECT`` are regular expressions, one a line, of tests that are left out.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

# The suite's helpers are part of asyncpg itself, and are found beside the facade's modules.
_SPEC = importlib.util.find_spec("asyncpg")
assert _SPEC is not None, "asyncpg is installed"
assert _SPEC.origin is not None, "asyncpg has files"

import headrace  # noqa: E402
from headrace.compat import asyncpg as facade  # noqa: E402
from headrace.compat.asyncpg import protocol  # noqa: E402
from headrace.compat.asyncpg.record import Layout, Record  # noqa: E402

facade.install_as_asyncpg()
facade.__path__.append(str(Path(_SPEC.origin).parent))


def _create_record(names: Any, row: tuple[Any, ...]) -> Record:
    """A record without a query, of which some tests are made."""
    return Record(Layout(list(names or ())), row)


_inner: Any = types.ModuleType("asyncpg.protocol.protocol")
_inner._create_record = _create_record
sys.modules["asyncpg.protocol.protocol"] = _inner
vars(protocol)["protocol"] = _inner


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves tests out."""
    patterns = os.environ.get("ASYNCPG_DESELECT", "").split()
    if not patterns:
        return
    unwanted = re.compile("|".join(f"(?:{each})" for each in patterns))
    left_out = [item for item in items if unwanted.search(item.nodeid)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def _empty_schema() -> None:
    """What a test leaves behind would be another's failure."""
    where = " ".join(f"{name}={os.environ[f'PG{name.upper()}']}" for name in ("host", "port", "user"))
    with headrace.connect(f"{where} dbname={os.environ['PGDATABASE']}", autocommit=True) as admin:
        admin.executescript(
            "set client_min_messages = error; drop schema public cascade; create schema public; "
            "grant usage on schema public to public"
        )
