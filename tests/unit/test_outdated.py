"""What tools/outdated.py reads in what cargo prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "tools/outdated.py"
OUTPUT = """    Updating crates.io index
     Locking 2 packages to latest Rust 1.88 compatible versions
   Unchanged one v0.37.0 (available: v0.39.0)
   Unchanged newer-rust v0.37.0 (available: v0.43.0, requires Rust 1.89.0)
   Unchanged next v0.9.10 (available: v0.10.0)
    Updating moved v1.0.1 -> v1.0.2 (available: v3.0.0+spec-1.1.0)
   Unchanged of-others v1.0.1 (available: v4.0.0)
   Unchanged same v1.0.1 (available: v1.9.0)
note: to see how you depend on a package, run `cargo tree --invert <dep>@<ver>`
"""


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("outdated", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_two_versions_behind_is_listed(tool: Any) -> None:
    direct = {"one", "newer-rust", "next", "moved", "same"}
    assert list(tool.behind(OUTPUT, direct)) == [("one", "0.37.0", "0.39.0"), ("moved", "1.0.2", "3.0.0")]


def test_versions_are_counted_by_what_a_requirement_fixes(tool: Any) -> None:
    for used, newest, count in (
        ("0.9.12", "1.2.2", 1),
        ("0.9.1", "0.10.0", 1),
        ("0.3.4", "0.5.0", 2),
        ("1.1", "1.9", 0),
    ):
        assert tool.steps_between(used, newest) == count, (used, newest)
