"""A pytest plugin for SQLAlchemy's own tests: a connection is closed when a test gives it back."""

from __future__ import annotations

from typing import Any


def pytest_sessionstart(session: Any) -> None:
    """The tests have put their own copy of SQLAlchemy into the path by now."""
    from sqlalchemy.pool import NullPool

    from headrace.sqlalchemy import postgresql

    for dialect in vars(postgresql).values():
        if isinstance(dialect, type) and hasattr(dialect, "get_pool_class"):
            dialect.get_pool_class = classmethod(lambda cls, url: NullPool)  # type: ignore[attr-defined]
