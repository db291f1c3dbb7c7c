"""A pytest plugin for SQLAlchemy's own tests, whose lists of exceptions name the drivers that SQLAlchemy lists.

headrace is taken for one that they do not know, and for psycopg (PostgreSQL) or mysqlclient, too. A test is skipped, or
expected to fail, only where it would be for both. ``HEADRACE_DESELECT`` has patterns of tests that are left out, a line
for each: of the class, the function and the parameters. With ``HEADRACE_SAMPLE=10`` one class of ten runs, always the
same.

Nothing of SQLAlchemy is imported before its tests have put their own copy into the path.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import Any

import pytest

STANDS_FOR = {"postgresql": "psycopg", "mysql": "mysqldb", "mariadb": "mysqldb"}
"""The driver whose place headrace takes, by the name of the dialect."""
OURS = ("headrace", "headrace_async")


class Names:
    """Whether headrace is the other driver at the moment, too."""

    also_the_other = True


class ForBoth:
    """A predicate that is true by our name only, and by the other driver's."""

    def __init__(self, predicate: Any) -> None:
        self._predicate = predicate

    def __call__(self, config: Any) -> bool:
        before = Names.also_the_other
        try:
            return all(self._predicate(config) for Names.also_the_other in (False, True))
        finally:
            Names.also_the_other = before

    def _as_string(self, config: Any, negate: bool = False) -> str:
        return str(self._predicate._as_string(config, negate))


def _has_two_names(spec_predicate: Any) -> None:
    """Makes the predicate ``+psycopg`` true of headrace, whatever version of the driver it asks for."""
    original = spec_predicate.__call__

    def call(self: Any, config: Any) -> bool:
        if original(self, config):
            return True
        if not Names.also_the_other or config is None or "+" not in self.db or config.db.driver not in OURS:
            return False
        name, driver = self.db.split("+")
        return (not name or name == config.db.name) and driver == STANDS_FOR[config.db.name]

    spec_predicate.__call__ = call


def _asks_for_both(compound: Any) -> None:
    """Makes the rules of a test those that hold by both names."""

    def asking(method: Any) -> Any:
        def call(self: Any, *args: Any, **keywords: Any) -> Any:
            rule = compound()
            rule.skips, rule.fails, rule.warns = (
                set(map(ForBoth, self.skips)),
                set(map(ForBoth, self.fails)),
                self.warns,
            )
            return method(rule, *args, **keywords)

        return call

    for name in ("enabled_for_config", "matching_config_reasons", "_do", "_expect_failure", "_expect_success"):
        setattr(compound, name, asking(getattr(compound, name)))


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    """Takes the other driver's place."""
    from sqlalchemy import testing
    from sqlalchemy.testing import config, exclusions
    from test.requirements import DefaultRequirements

    class Requirements(DefaultRequirements):
        # psycopg calls it with bytes.
        json_deserializer_binary = property(lambda _: exclusions.closed())

    config.requirements = testing.requires = Requirements()
    _has_two_names(exclusions.SpecPredicate)
    _asks_for_both(exclusions.compound)
    # Imported before that, it would ask for the others.
    know_our_cursors()


def know_our_cursors() -> None:
    """Has the tests of cursors on the server recognise ours."""
    from sqlalchemy.testing.suite.test_results import ServerSideCursorsTest

    original = ServerSideCursorsTest._is_server_side

    def is_server_side(self: Any, cursor: Any) -> bool:
        if self.engine.dialect.driver not in OURS:
            return bool(original(self, cursor))
        return any(getattr(cursor, kind, False) for kind in ("server_side", "name", "itersize", "fetch_absolute"))

    ServerSideCursorsTest._is_server_side = is_server_side


def _without_the_server(name: str) -> str:
    """The name of a test, whatever the server: ``Suite_postgresql+headrace_15_18::test`` is ``Suite::test``."""
    return re.sub(r"_(postgresql|mysql|mariadb|informix|cubrid)\+\w+(?=::)", "", name.partition("::")[2])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what the caller names.

    Raises UsageError where a pattern matches no test.
    """
    out: list[pytest.Item] = []
    for pattern in filter(None, os.environ.get("HEADRACE_DESELECT", "").splitlines()):
        named = [item for item in items if re.fullmatch(pattern, _without_the_server(item.nodeid))]
        if not named:
            raise pytest.UsageError(f"there is no test {pattern}")
        out += named
    if share := int(os.environ.get("HEADRACE_SAMPLE", "0")):
        out += [
            item for item in items if zlib.crc32(_without_the_server(item.nodeid).partition("::")[0].encode()) % share
        ]
    left_out = set(out)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=out)
