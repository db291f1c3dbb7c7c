"""The drivers for Python have the settings of ``docs/reference/settings.md``, which is made of the engine's tables."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings.md"
NAMES = {"postgresql": "postgres", "mysql": "mysql", "informix": "informix", "cubrid": "cubrid"}


OF_HEADRACED = "Of headraced alone."


class Row(NamedTuple):
    """A setting."""

    name: str
    aliases: tuple[str, ...]
    choices: tuple[str, ...]
    default: str
    environment: str


def rows(database: str) -> list[Row]:
    """The table of a database, without what headraced alone has."""
    section = PAGE.read_text(encoding="utf-8").partition(f"<!-- table {database} -->")[2].partition("<!-- end -->")[0]
    found: list[Row] = []
    for line in section.splitlines():
        if line.startswith("| `"):
            names, text, default, variable, *_ = (cell.strip() for cell in line.strip("|").split(" |"))
            if text.endswith(OF_HEADRACED):
                continue
            name, *aliases = re.findall(r"`(\w+)`", names)
            choices = tuple(re.findall(r"`([^`]+)`", text.partition("One of ")[2]))
            found.append(Row(name, tuple(aliases), choices, default.strip("`"), variable.strip("`")))
    return found


@pytest.fixture(params=NAMES)
def database(request: pytest.FixtureRequest) -> str:
    """Each database."""
    return str(request.param)


def settings(database: str) -> Any:
    """The module with its settings."""
    return import_module(f"headrace.{NAMES[database]}.settings")


def test_keywords_are_those_of_the_table(database: str) -> None:
    module = settings(database)
    others = [name for part in ("_WITHOUT_EFFECT", "_REFUSED", "_IGNORED") for name in getattr(module, part, ())]
    assert {*module.KEYWORDS, *others} == {row.name for row in rows(database)}


def test_other_names_are_those_of_the_table(database: str) -> None:
    found = {alias.lower(): row.name for row in rows(database) for alias in row.aliases}
    assert found == {alias.lower(): name for alias, name in settings(database).ALIASES.items() if alias.lower() != name}


def test_variables_of_the_environment_are_those_of_the_table(database: str) -> None:
    found = {row.environment: row.name for row in rows(database) if row.environment}
    assert found == settings(database).ENVIRONMENT


def test_choices_are_those_of_the_table(database: str) -> None:
    found = {row.name: row.choices for row in rows(database) if row.choices}
    known = settings(database).CHOICES
    assert found == {name: known[name] for name in found}


def test_defaults_are_those_of_the_table(database: str) -> None:
    given = {"server": "ol", "host": "h", "user": "u"} if database == "informix" else {"host": "h", "user": "u"}
    options = settings(database).connect_options("", given)
    for row in rows(database):
        if row.default.isdigit() and isinstance(getattr(options, row.name, None), (bool, int, float)):
            assert getattr(options, row.name) == float(row.default), row.name
