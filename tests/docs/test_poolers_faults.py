"""The table of faults that poolers have had names tests, and each of these names the fault."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/daemon.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (CVE-[^|]+?) \| [^|]+ \| [^|]+ \| `([^`]+)` \|$", PAGE, re.MULTILINE)
NUMBER = r"CVE-\d{4}-\d+"


@pytest.mark.parametrize(("numbers", "named"), ROWS)
def test_the_test_of_a_fault_names_it(numbers: str, named: str) -> None:
    path, _, name = named.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    (documented,) = [ast.get_docstring(node) or "" for node in found if node.name == name]
    assert set(re.findall(NUMBER, numbers)) <= set(re.findall(NUMBER, documented))


def test_every_fault_that_a_test_names_is_in_the_table() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "daemon").glob("test_*.py"))
    assert set(re.findall(NUMBER, sources)) == set(re.findall(NUMBER, "".join(numbers for numbers, _ in ROWS)))
