"""Executes Django's modules for PostgreSQL with headrace where they import psycopg.

Nothing is put into ``sys.modules`` under psycopg's name: only the modules listed here see the replacement, and a
program that also uses psycopg itself imports the genuine one.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

BACKEND: Final = "django.db.backends.postgresql"
ANY: Final = f"{BACKEND}.psycopg_any"
BASE: Final = f"{BACKEND}.base"
EXECUTED: Final = frozenset(
    {
        BASE,
        f"{BACKEND}.operations",
        "django.contrib.postgres.search",
        "django.contrib.postgres.signals",
    }
)
"""Modules of Django that name psycopg, in any version that is supported. The others import ``psycopg_any``."""


def _imports(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """What ``import`` does in those modules."""
    if level == 0 and name.partition(".")[0] == "psycopg":
        from .standin import MODULES

        if name in MODULES:
            return MODULES[name] if fromlist else MODULES["psycopg"]
        raise ImportError(f"{name} has no place in headrace.django.postgresql", name=name)
    return builtins.__import__(name, globals, locals, fromlist or (), level)


class _Replaced(Loader):
    """Loads ``psycopg_any``: the module of ours."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module("headrace.django.postgresql.psycopg_any")

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Executed(Loader):
    """Executes Django's code."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _imports}
        exec(self.found.get_code(module.__name__), module.__dict__)
        if module.__name__ == BASE:
            # Its end puts our wrapper into the place of Django's.
            importlib.import_module("headrace.django.postgresql.base")

    def get_source(self, fullname: str) -> Any:
        """The source, for tracebacks."""
        return self.found.get_source(fullname)


class _Finder(MetaPathFinder):
    """Finds the modules that are loaded here."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == ANY:
            return ModuleSpec(fullname, _Replaced())
        if fullname in EXECUTED:
            spec = PathFinder.find_spec(fullname, path, target)
            if spec is not None:
                spec.loader = _Executed(spec.loader)
            return spec
        return None


def install() -> None:
    """Lets Django's modules for PostgreSQL be loaded with headrace. Does nothing the second time.

    Raises:
        ImproperlyConfigured: they were loaded with psycopg before.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if ANY in sys.modules or BASE in sys.modules:
        from django.core.exceptions import ImproperlyConfigured  # pyright: ignore[reportMissingTypeStubs]

        raise ImproperlyConfigured(
            "Django's PostgreSQL modules were loaded with psycopg before headrace.django.postgresql: write"
            ' "headrace.django" into INSTALLED_APPS before "django.contrib.postgres"; one process cannot use both'
            " django.db.backends.postgresql and headrace.django.postgresql"
        )
    sys.meta_path.insert(0, _Finder())
