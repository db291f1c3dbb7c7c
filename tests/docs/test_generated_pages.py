"""Nothing is missing from pages that are generated, and what documents name is there."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from headrace import defaults
from headrace._shared.databases import DATABASES

ROOT = Path(__file__).resolve().parents[2]
MODULES = (
    *(f"headrace{part}" for part in ("", ".pool", ".rows", ".types", ".errors", ".testing", ".aio", ".aio.pool")),
    *(f"{package}.{row.module}" for row in DATABASES for package in ("headrace", "headrace.aio")),
)


OF_ENGINES = ("headrace.spark.", "headrace.ray.")
"""The adapters for what ``make test-engines`` installs: they cannot be imported here."""


def load(path: str) -> ModuleType:
    """A module that is not part of a package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKS = load("docs/_tools/hooks.py")


def rows(table: str) -> dict[str, tuple[str, str]]:
    """Default and meaning by name, of the tables in a text."""
    return {name: (value, text) for name, value, text in re.findall(r"^\| `(\w+)` \| (.+?) \| (.*) \|$", table, re.M)}


def test_limits_page_has_every_default_of_the_python_part() -> None:
    assert rows(HOOKS.defaults_tables()).keys() == {name for name in vars(defaults) if name.isupper()}


FILES = sorted(ROOT.glob("crates/*/src/limits.rs"))


@pytest.mark.parametrize("file", FILES, ids=[file.parts[-3] for file in FILES])
def test_limits_page_has_every_limit_of_the_engine_with_its_own_text(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    table = HOOKS.limits_table(file)
    assert table in HOOKS.engine_tables()
    found = rows(table)
    assert found.keys() == set(re.findall(r"^pub(?:\(crate\))? const (\w+)", source, re.M))
    # A constant that was not recognised left its text to the next one.
    for name, (_, text) in found.items():
        own = re.search(rf"((?:^///.*\n)+)pub(?:\(crate\))? const {name}\b", source, re.M)
        assert own is not None
        assert len(text.split()) == len(own[1].replace("///", "").split())


def test_limits_have_units() -> None:
    assert rows(HOOKS.limits_table(ROOT / "crates/io/src/limits.rs"))["TICK"][0] == "100 ms"
    assert rows(HOOKS.limits_table(ROOT / "crates/postgres/src/limits.rs"))["PARAMETERS"][0] == "65,535"


def test_limit_in_an_unknown_form_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "limits.rs"
    source.write_text("/// One.\npub const ONE: usize = 1;\npub const TWO: usize = 2;\n")
    with pytest.raises(ValueError, match="without a doc comment"):
        HOOKS.limits_table(source)


def test_limits_page_asks_for_both_tables() -> None:
    page = (ROOT / "docs/reference/limits.md").read_text(encoding="utf-8")
    shown = rows(HOOKS.on_page_markdown(page))
    assert {"CONNECT_TIMEOUT", "TICK"} <= shown.keys()


def test_page_of_pools_has_every_entry_of_every_database() -> None:
    page = HOOKS.on_page_markdown((ROOT / "docs/howto/pool.md").read_text(encoding="utf-8"))
    for folder, title in HOOKS.databases().items():
        table = importlib.import_module(f"headrace.{folder}.resets")
        section = page.split(f"### {title}\n")[1].split("\n## ")[0].split("\n### ")[0]
        shown = [tuple(line.strip("| ").split(" | ")) for line in section.splitlines() if line.startswith("| ")]
        assert shown[0] == ("left behind", *(f'`"{mode}"`' for mode in table.MODES))
        assert shown[1:] == [
            (entry.what, *(getattr(entry, mode) for mode in table.MODES)) for entry in table.SESSION_STATE
        ]


def documented() -> list[Any]:
    """What the pages describe."""
    names = [
        name
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for name in re.findall(r"^::: ([\w.]+)", page.read_text(encoding="utf-8"), re.M)
    ]
    return [resolved(name) for name in names if not name.startswith(OF_ENGINES)]


def resolved(name: str) -> Any:
    """A module, or an attribute of one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        owner, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(owner), attribute)


def public(module: ModuleType) -> list[tuple[str, Any]]:
    """Classes and functions of ours that a module offers: those of ``__all__``, or those that are defined in it."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name, item in vars(module).items() if getattr(item, "__module__", "") == module.__name__]
    found = [(name, getattr(module, name)) for name in names if not name.startswith("_")]
    return [
        (name, item)
        for name, item in found
        if (inspect.isclass(item) or inspect.isfunction(item)) and item.__module__.startswith("headrace")
    ]


@pytest.mark.parametrize("name", MODULES)
def test_reference_has_every_public_class_and_function(name: str) -> None:
    described = documented()
    modules = {item.__name__ for item in described if inspect.ismodule(item)}
    missing = [
        public_name
        for public_name, item in public(importlib.import_module(name))
        if item not in described
        # A module's page shows what it takes from private modules below it.
        and item.__module__.partition("._")[0] not in modules
    ]
    assert missing == []


@pytest.mark.parametrize(("page", "least"), [("CONTRIBUTING.md", 50), ("docs/contributing/index.md", 40)])
def test_contributing_names_files_that_exist(page: str, least: int) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    words = [word.strip(",") for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()]
    paths = [word for word in words if re.fullmatch(r"(?:[\w.-]+/)+[\w.-]*", word)]
    made = ("./", ".venv/", "build/", "dist/", "changes/T", "headrace/headrace")
    named = [path for path in paths if not path.startswith(made)]
    assert len(named) > least
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_page_of_what_to_run_has_every_crate_and_every_command_that_it_names() -> None:
    text = (ROOT / "docs/contributing/index.md").read_text(encoding="utf-8")
    crates = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    of_databases = {row.module for row in DATABASES}
    assert crates - of_databases - {"testkit"} <= set(re.findall(r"`crates/([\w-]+)`", text))
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    packages = {f"headrace-{crate}" for crate in crates} | {"headrace-simulator-informix", "headrace-simulator-cubrid"}
    assert set(re.findall(r"-p (headrace-[\w-]+)", text)) <= packages


def checklist() -> list[str]:
    """The files and folders that ARCHITECTURE.md lists for one database more. A name without a folder is in that of the
    one before it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("\n## One database more\n")[2].partition("\n## ")[0]
    paths: list[str] = []
    for cell in re.findall(r"^\| (`.*?) \|", section, re.M):
        for name in re.findall(r"`([^`]+)`", cell):
            follows = "/" not in name and not cell.startswith(f"`{name}`") and "/" in paths[-1]
            paths.append(f"{paths[-1].rpartition('/')[0]}/{name}" if follows else name)
    return paths


def test_checklist_for_a_database_names_what_every_database_has() -> None:
    patterns = [path for path in checklist() if "NAME" in path]
    assert len(patterns) == 5
    missing = [
        path.replace("NAME", row.module)
        for path in patterns
        for row in DATABASES
        if not (ROOT / path.replace("NAME", row.module)).exists()
    ]
    assert missing == []


def test_checklist_for_a_database_names_five_shared_files_at_most() -> None:
    plain = [path for path in checklist() if "NAME" not in path]
    assert len(plain) == 5
    assert [path for path in plain if not (ROOT / path).exists()] == []


def code_of(path: Path) -> str:
    """A file without its comments and docstrings, in small letters."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".py", ".pyi"}:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            for _, body in ast.iter_fields(node):
                if isinstance(body, list):
                    body[:] = [part for part in body if not (isinstance(part, ast.Expr) and is_text(part.value))]
        return ast.unparse(tree).lower()
    return re.sub(r"//.*|^\s*#[^\[!].*", "", text, flags=re.MULTILINE).lower()


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_other_file_of_the_engine_and_of_the_package_is_about_a_database_by_its_name() -> None:
    """`crates/io/tests/toy` is a database that answers a query without a line in any of them."""
    engine = [
        path
        for crate in ("core", "tls", "connection", "io", "arrow", "drivers", "python")
        for path in (ROOT / "crates" / crate).rglob("*")
        if path.name == "Cargo.toml" or (path.suffix == ".rs" and "src" in path.relative_to(ROOT).parts)
    ]
    apart = {"compat", "django", "sqlalchemy", "testing"}
    package = [
        path
        for path in (ROOT / "python/headrace").rglob("*.py*")
        if path.suffix in {".py", ".pyi"} and not apart & set(path.relative_to(ROOT).parts)
    ]
    own = re.compile("|".join(row.module for row in DATABASES))
    found = {
        str(path.relative_to(ROOT))
        for path in (*engine, *package)
        if not own.search(str(path.relative_to(ROOT))) and {"informix", "cubrid"} <= set(own.findall(code_of(path)))
    }
    plain = {path for path in checklist() if "NAME" not in path}
    assert found - plain == OPTIONAL
    assert plain <= found


OPTIONAL: Final = {
    # Test servers that are programs of the project.
    "python/headrace/_command.py",
    # Limits and defaults of every database, each with its name.
    "python/headrace/defaults.py",
}


def test_links_of_the_readme_are_absolute_and_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    base = r"https://github.com/headrace/headrace/(?:blob|tree)/main/([^#]+)(?:#.*)?"
    for link in links:
        found = re.fullmatch(base, link)
        assert found is not None, link
        assert (ROOT / found[1]).exists(), link


CHANGELOG = load("tools/changelog.py")


def test_changes_can_be_merged() -> None:
    assert CHANGELOG.main(["--check"]) == 0


BEFORE = """\
# Changelog

## Unreleased

### Added

- Before.

#### Part

- Other.

## 0.1.0 - 2026-01-01

- First.
"""
AFTER = """\
# Changelog

## Unreleased

## 0.2.0 - 2026-02-03

### Added

- Before.
- Informix: a thing
  of two lines.

#### Part

- Other.

### Fixed

- It works.

## 0.1.0 - 2026-01-01

- First.
"""


def test_changes_go_under_the_headings_of_their_kind(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("not a change")
    (tmp_path / "new-thing.added.md").write_text("Informix: a thing\nof two lines.\n")
    (tmp_path / "old-thing.fixed.md").write_text("It works.\n")
    found = CHANGELOG.entries(tmp_path)
    assert CHANGELOG.merged(BEFORE, found, "0.2.0", CHANGELOG.datetime.date(2026, 2, 3)) == AFTER


@pytest.mark.parametrize("name", ["thing.md", "thing.mended.md", "Thing.fixed.md", "thing.fixed.txt"])
def test_change_with_another_name_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Text.\n")
    with pytest.raises(ValueError, match=re.escape(name)):
        CHANGELOG.entries(tmp_path)
