"""Which module of the packages may import which: one database's folder is nobody else's, and the lab is a user."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import headrace
import headrace_lab
from headrace._shared import databases

ROOT = Path(headrace.__file__).parent
LAB = Path(headrace_lab.__file__).parent
DATABASES = tuple(row.module for row in databases.DATABASES)
FOR_ALL = ("_shared", "_native", "_diagnostics", "errors", "types", "rows", "sql", "defaults", "sqlstates")
"""What no database owns, and what therefore imports no database."""

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    **{name: (*FOR_ALL, name) for name in DATABASES},
    **{f"aio.{name}": (*FOR_ALL, name, "aio._shared", f"aio.{name}") for name in DATABASES},
    **dict.fromkeys(FOR_ALL, FOR_ALL),
    # The protocols of both shells have their names there.
    "types": (*FOR_ALL, "aio._shared.protocols"),
    "aio._shared": (*FOR_ALL, "aio._shared"),
    "compat.mysqldb": (*FOR_ALL, "compat.mysqldb", "mysql", "__version__"),
    # Limits in time are those of the connections: said once.
    "compat.asyncpg": (*FOR_ALL, "compat.asyncpg", "postgres", "aio.postgres", "aio._shared.within"),
    "compat.ifxpy": (*FOR_ALL, "compat.ifxpy", "compat.ifxpydbi", "informix", "__version__"),
    "compat.ifxpydbi": (*FOR_ALL, "compat.ifxpy", "informix", "__version__"),
    "compat": FOR_ALL,
}


def within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def part_of(module: str) -> str | None:
    """The row of the table that a module belongs to; None for those that put the parts together."""
    return next((part for part in MAY_IMPORT if within(module, part)), None)


def imported(path: Path) -> set[str]:
    """The package's own modules that a file imports, wherever in the file, without the package's name."""
    package = path.relative_to(ROOT).parent.parts
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("headrace.")}
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join((*package[: len(package) - node.level + 1], *(node.module or "").split("."))).strip(".")
            found |= {f"{base}.{alias.name}".strip(".") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "headrace":
            base = (node.module or "").partition(".")[2]
            found |= {f"{base}.{alias.name}".strip(".") for alias in node.names}
    return found


def modules() -> list[str]:
    paths = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py")))
    names = (".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths)
    return [name for name in names if part_of(name)]


@pytest.mark.parametrize("module", modules())
def test_no_database_imports_another_ones_folder(module: str) -> None:
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    allowed = MAY_IMPORT[part_of(module) or ""]
    wrong = sorted(name for name in imported(path) if not any(within(name, part) for part in allowed))
    assert not wrong, f"{module} imports {', '.join(wrong)}; it may know of {', '.join(allowed)}"


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("folder", ["", "aio"])
def test_every_database_has_the_same_file_names(folder: str, database: str) -> None:
    common = {"__init__.py", "connection.py", "cursor.py", "opening.py"}
    common |= set() if folder else {"core.py", "settings.py"}
    assert common <= {path.name for path in (ROOT / folder / database).iterdir()}


def imported_names(path: Path) -> set[str]:
    """What a file imports by absolute names, wherever in the file: each name with the module that it is taken from."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_only_the_command_imports_the_lab() -> None:
    importing = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if any(within(name, "headrace_lab") for name in imported_names(path))
    }
    assert importing == {"_command.py"}


@pytest.mark.parametrize("path", sorted(path.relative_to(LAB).as_posix() for path in LAB.rglob("*.py")))
def test_the_lab_imports_only_public_modules_of_headrace(path: str) -> None:
    private = {
        name
        for name in imported_names(LAB / path)
        if within(name, "headrace") and any(part.startswith("_") and part != "__version__" for part in name.split("."))
    }
    assert not private
