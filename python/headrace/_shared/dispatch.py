"""Which database a URL names."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ..errors import ProgrammingError
from .databases import DATABASES

_MODULES: Final = {scheme: database.module for database in DATABASES for scheme in database.schemes}
_JDBC: Final = {database.jdbc: database.module for database in DATABASES if database.jdbc}
"""The databases of URLs that begin with ``jdbc:``."""
_imported: Final[dict[str, Any]] = {}
"""To ask importlib for a module that is there would cost as much as all the rest. ``sys.modules`` also has those that
another thread is still importing."""


def module_for(conninfo: str, package: str) -> Any:
    """Returns the module for the database of ``conninfo``; that of PostgreSQL if it is not a URL.

    >>> module_for("mariadb://localhost/shop", "headrace").__name__
    'headrace.mysql'

    Raises ProgrammingError for a URL of another kind.
    """
    if not isinstance(conninfo, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ProgrammingError(
            f"connect() takes a URL or keywords as a str, not {type(conninfo).__name__}"
            + ("; is the environment variable set that it came from?" if conninfo is None else "")
        )
    scheme, colon, rest = conninfo.strip().partition(":")
    if not colon or not scheme.isalpha():
        return _module(f"{package}.postgres")
    if scheme.lower() == "jdbc":
        scheme = f"jdbc:{rest.partition(':')[0]}"
        name = _JDBC.get(scheme[5:].lower())
    else:
        name = _MODULES.get(scheme.lower())
    if name is None:
        known = ", ".join(f"{scheme}:" for scheme in (*_MODULES, *(f"jdbc:{name}" for name in _JDBC)))
        raise ProgrammingError(f"the URL begins with {scheme}:, which is none of {known}")
    return _module(f"{package}.{name}")


def _module(name: str) -> Any:
    module = _imported.get(name)
    if module is None:
        module = _imported[name] = import_module(name)
    return module
