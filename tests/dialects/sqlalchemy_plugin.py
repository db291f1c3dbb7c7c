"""A pytest plugin for SQLAlchemy's own tests: what their lists grant to drivers by their names, headrace has too.

Nothing of SQLAlchemy is imported before its tests have put their own copy into the path.
"""

from __future__ import annotations

from typing import Any

import pytest


def _is_server_side(_: Any, cursor: Any) -> bool:
    return bool(getattr(cursor, "server_side", False) or getattr(cursor, "name", None))


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    """Puts our requirements in the place of those that setup.cfg names."""
    from sqlalchemy import testing
    from sqlalchemy.testing import config, exclusions
    from test.requirements import DefaultRequirements

    class Requirements(DefaultRequirements):
        infinity_floats = property(lambda _: exclusions.fails_on_everything_except("postgresql"))
        range_types = property(lambda _: exclusions.only_on(["postgresql"]))
        multirange_types = property(lambda _: exclusions.only_on(["postgresql >= 14"]))

    config.requirements = testing.requires = Requirements()
    # Imported before that, it would ask for the others.
    from sqlalchemy.testing.suite.test_results import ServerSideCursorsTest

    ServerSideCursorsTest._is_server_side = _is_server_side
