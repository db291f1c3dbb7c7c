"""The drivers for Python have the settings of ``docs/reference/settings.md``, which is made of the engine's tables."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headrace._shared.databases import DATABASES
from headrace.errors import ProgrammingError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings.md"
NAMES = {row.title: row.module for row in DATABASES}


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
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {database}\n")[2].partition("\n## ")[0]
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
    given = {"server": "ol", "host": "h", "user": "u"} if database == "Informix" else {"host": "h", "user": "u"}
    options = settings(database).connect_options("", given)
    for row in rows(database):
        if row.default.isdigit() and isinstance(getattr(options, row.name, None), (bool, int, float)):
            assert getattr(options, row.name) == float(row.default), row.name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("postgres", "host=h password=a geheim=x"),
        ("mysql", "mysql://h/d?password=a&geheim=x"),
        ("informix", "SERVER=ol;PWD=a;geheim=x"),
        ("informix", "SERVER=ol;PWD=a;geheim"),
        ("informix", "SERVER=ol;PWD=a;DATABASE=d;PWD=a;geheim"),
        ("informix", "jdbc:informix-sqli://h:1/d:INFORMIXSERVER=ol;password=a;geheim=x"),
        ("cubrid", "CUBRID:h:33000:d:dba::?passwd=a&geheim=x"),
    ],
)
def test_a_name_after_a_password_may_be_a_piece_of_it_and_is_not_shown(name: str, text: str) -> None:
    with pytest.raises(ProgrammingError, match="malformed") as caught:
        import_module(f"headrace.{name}.settings").connect_options(text, {})
    assert "geheim" not in str(caught.value)
