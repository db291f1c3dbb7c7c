"""What the workflows name is there: they run on GitHub only, where a name that is wrong is noticed late."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def commands(workflow: Path) -> str:
    """The text without comments."""
    return re.sub(r"^ *#.*$", "", workflow.read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_targets_of_make_exist(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in re.findall(r"\bmake ([a-z][^\n]*)", commands(workflow)):
        named = [word for word in line.split() if re.fullmatch(r"[a-z][a-z-]*", word)]
        assert named
        assert set(named) <= targets


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_what_make_is_given_can_be_given(workflow: Path) -> None:
    """Make takes a variable of any name, and does nothing with one that the Makefile does not have."""
    settable = set(re.findall(r"^([A-Z_]+) *\?=", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in re.findall(r"\bmake ([a-z][^\n]*)", commands(workflow)):
        assert set(re.findall(r"(?<![\w$])([A-Z_]+)=", line)) <= settable


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_files_and_folders_exist(workflow: Path) -> None:
    text = commands(workflow)
    paths = re.findall(r"(?<![\w/])((?:\.ci|\.github|crates|lab|simulators|tests|tools)/[\w./-]+)", text)
    paths += re.findall(r"^ *- ([\w./-]+\.(?:toml|yml)|Makefile)$", text, re.MULTILINE)
    paths += re.findall(r"^ *working-directory: ([\w./-]+)$", text, re.MULTILINE)
    for path in paths:
        assert (ROOT / path).exists(), path


def test_crates_and_their_tests_exist() -> None:
    found = [
        each for path in WORKFLOWS for each in re.findall(r"cargo test -p ([\w-]+) --test (\w+)", path.read_text())
    ]
    assert found
    for crate, test in found:
        assert (ROOT / "crates" / crate.removeprefix("headrace-") / "tests" / f"{test}.rs").exists()


def test_pythons_are_those_of_the_package() -> None:
    """The oldest that pyproject.toml allows and the newest that it names are built and tried."""
    settings = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", settings)
    wheels = (ROOT / ".github/workflows/wheels.yml").read_text()
    interpreters = re.search(r"INTERPRETERS: (.*)", wheels)
    assert interpreters is not None
    assert {f"python{version}" for version in named} <= set(interpreters[1].split())
