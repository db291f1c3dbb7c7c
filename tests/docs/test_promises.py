"""Each promise of the documentation names tests that show it, and these exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/promises.md").read_text(encoding="utf-8")
PROMISES, _, SHOWN = PAGE.partition("## What shows it")
ROWS = dict(re.findall(r"^\| ([^|`]+?) \| (.*`.*) \|$", SHOWN, re.MULTILINE))
"""The promises, and the cells with their tests."""


def test_every_promise_names_its_tests() -> None:
    promises = re.findall(r"^\*\*([^*]+)\.\*\*", PROMISES, re.MULTILINE)
    assert len(promises) > 10
    assert list(ROWS) == promises


@pytest.mark.parametrize("promise", ROWS)
def test_the_tests_that_it_names_exist(promise: str) -> None:
    named = re.findall(r"`([^`]+)`", ROWS[promise])
    missing = []
    for each in named:
        path, _, name = each.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        if path.endswith(".rs"):
            found = re.findall(r"#\[test\]\s+fn (\w+)", source)
        else:
            functions = (ast.FunctionDef, ast.AsyncFunctionDef)
            found = [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, functions)]
        if not name or name not in found:
            missing.append(each)
    assert named
    assert not missing
