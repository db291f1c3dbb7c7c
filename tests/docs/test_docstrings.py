"""Every function and method that users can reach has a docstring with what help() and the reference need."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import headrace
from headrace._shared.databases import DATABASES
from headrace.aio.pool import AsyncConnectionPool
from headrace.pool import ConnectionPool

MODULES = (
    *(f"headrace{part}" for part in ("", ".pool", ".rows", ".types", ".errors", ".testing", ".aio", ".aio.pool")),
    *(f"{package}.{row.module}" for row in DATABASES for package in ("headrace", "headrace.aio")),
)
"""Those of headrace's own interface. That of ``headrace.compat`` is MySQLdb's, asyncpg's and IfxPy's, and that of
``headrace.sqlalchemy`` SQLAlchemy's: their documentation describes it."""
ROOT = Path(__file__).parents[2]
NOT_VERBS = {"Always", "Previous", "This", "Various"}


def members(name: str) -> Iterator[tuple[str, Any]]:
    """The public classes and functions of a module."""
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [each for each, item in vars(module).items() if getattr(item, "__module__", "") == name]
    for each in names:
        item = getattr(module, each)
        if not each.startswith("_") and getattr(item, "__module__", "").startswith("headrace"):
            yield each, item


def reachable() -> dict[str, tuple[Callable[..., Any], property | None]]:
    """Functions and methods by the place of their definition, and the property of those that are one's."""
    found: dict[str, tuple[Callable[..., Any], property | None]] = {}
    classes: list[type] = []
    for module in MODULES:
        for _, item in members(module):
            if inspect.isclass(item):
                classes.append(item)
            elif inspect.isfunction(item):
                found[f"{item.__module__}.{item.__qualname__}"] = inspect.unwrap(item), None
    for owner in classes:
        for name in dir(owner):
            raw = inspect.getattr_static(owner, name)
            if isinstance(raw, (classmethod, staticmethod)):
                raw = raw.__func__
            method = raw.fget if isinstance(raw, property) else raw
            if not name.startswith("_") and inspect.isfunction(method) and method.__module__.startswith("headrace"):
                method = inspect.unwrap(method)
                found[f"{method.__module__}.{method.__qualname__}"] = method, raw if isinstance(raw, property) else None
    return found


REACHABLE = reachable()
METHODS = sorted(name for name, (_, attribute) in REACHABLE.items() if attribute is None)


def sections(doc: str) -> dict[str, str]:
    """The text of each section of a docstring, with its indentation; what is before the first is under the name ""."""
    parts = re.split(r"^(Args|Returns|Yields|Raises):\n", doc, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> set[str]:
    """The names that a section explains."""
    return set(re.findall(r"^    (\w+): \S", section, re.MULTILINE))


def test_there_is_something_to_check() -> None:
    assert len(METHODS) > 150
    assert {"headrace.connect", "headrace.postgres.opening.connect", "headrace.pool.ConnectionPool.getconn"} <= set(
        METHODS
    )


def docstring_problems(doc: str, is_property: bool) -> Iterator[str]:
    """What the first sentence lacks."""
    if not doc:
        yield "no docstring"
        return
    if doc.split("\n")[0].rstrip()[-1] not in ".:," and "\n" not in doc:
        yield "the first sentence has no end"
    first = doc.split()[0]
    if not is_property and (not re.fullmatch(r"[A-Z][a-z]+s", first) or first in NOT_VERBS):
        yield f"{first!r} is not a verb"


def raised(function: Callable[..., Any]) -> set[str]:
    """The names of the exceptions that the function itself raises, without those of functions inside of it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {
        node.exc.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
        if node.exc.func.id[0].isupper()
    }


def section_problems(function: Callable[..., Any]) -> Iterator[str]:
    """What the sections Args, Returns and Raises lack, or have too much."""
    doc = inspect.getdoc(function) or ""
    found = sections(doc)
    signature = inspect.signature(function)
    # **named: NoReturn refuses keywords, so that there is nothing to say of them.
    parameters = {
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.name != "self" and "NoReturn" not in str(parameter.annotation)
    }
    if "." in function.__qualname__:
        parameters.discard("cls")
    if wrong := entries(found.get("Args", "")) ^ parameters:
        yield f"parameters without an entry in Args, or entries without a parameter: {sorted(wrong)}"
    if str(signature.return_annotation) not in ("None", "object") and not {"Returns", "Yields"} & found.keys():
        yield "what it returns is not explained"
    explained = entries(found.get("Raises", ""))
    if missing := raised(function) - explained:
        yield f"raises without an entry in Raises: {sorted(missing)}"
    # A call that waits for the server can reach its timeout, fail, or find the connection closed.
    if "timeout" in parameters and not explained and "raises no error" not in doc:
        yield "it waits, but has no section Raises"


@pytest.mark.parametrize("module", sorted({function.__module__ for function, _ in REACHABLE.values()}))
def test_functions_of_module_explain_parameters_results_and_errors(module: str) -> None:
    problems = []
    for name, (function, attribute) in sorted(REACHABLE.items()):
        if function.__module__ == module:
            doc = inspect.getdoc(attribute or function) or ""
            problems += [(name, each) for each in docstring_problems(doc, attribute is not None)]
            if attribute is None:
                problems += [(name, each) for each in section_problems(function)]
    assert not problems, "\n".join(f"{name}: {each}" for name, each in problems)


@pytest.mark.parametrize("pool", [ConnectionPool, AsyncConnectionPool])
def test_every_parameter_of_a_pool_is_explained(pool: type) -> None:
    assert entries(sections(inspect.getdoc(pool) or "")["Args"]) == set(inspect.signature(pool).parameters)


def modules_of(package: str) -> dict[str, ModuleType]:
    """What was imported of a package, by name."""
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == package}


def classes() -> dict[str, type]:
    """All classes of the package by module and name."""
    found: dict[str, type] = {}
    others = modules_of("MySQLdb")
    for module in pkgutil.walk_packages(headrace.__path__, "headrace."):
        with contextlib.suppress(ModuleNotFoundError):  # of a library that is not installed
            found |= {
                f"{module.name}.{name}": item
                for name, item in vars(importlib.import_module(module.name)).items()
                if inspect.isclass(item) and item.__module__ == module.name
            }
    # Django's backend takes the name of another driver, which other tests import.
    for name in modules_of("MySQLdb"):
        del sys.modules[name]
    sys.modules.update(others)
    return found


def own_docstring(item: Any) -> str:
    """The docstring that stands in the source of a class, method or property."""
    if isinstance(item, property):
        item = item.fget
    elif isinstance(item, (classmethod, staticmethod)):
        item = item.__func__
    # SQLAlchemy puts methods of its own into classes of types.
    ours = (inspect.isfunction(item) or inspect.isclass(item)) and item.__module__.startswith("headrace")
    return inspect.cleandoc(item.__doc__ or "") if ours else ""


def test_no_docstring_repeats_that_of_a_base() -> None:
    """``help()``, editors and the reference show a base's docstring where a class or method has none of its own."""
    repeated = []
    for name, kind in classes().items():
        for member, item in (("", kind), *vars(kind).items()):
            bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("headrace")]
            above = [vars(base).get(member) if member else base for base in bases]
            inherited = next((doc for base in above if (doc := own_docstring(base))), "")
            if own_docstring(item) and own_docstring(item) == inherited:
                repeated.append(f"{name}.{member}")
    assert not repeated


def test_reference_shows_docstring_of_base() -> None:
    griffe = pytest.importorskip("griffe")
    extension = griffe.load_extensions(str(ROOT / "docs/_tools/roles.py"))
    modules = {"base.py": 'class A:\n    def f(self):\n        """Does :meth:`f`."""\n'}
    modules["own.py"] = "from package.base import A\nclass B(A):\n    def f(self):\n        return 1\n"
    with griffe.temporary_visited_package("package", modules, extensions=extension, resolve_aliases=True) as package:
        assert package["own.B.f"].docstring.value == "Does `f()`."
