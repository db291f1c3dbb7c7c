"""A pytest plugin for SQLAlchemy's own tests: ``postgresql+asyncpg`` gets headrace's asyncpg."""

from __future__ import annotations

import headrace.compat.asyncpg

headrace.compat.asyncpg.install_as_asyncpg()
