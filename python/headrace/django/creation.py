"""Test databases of backends with a pool.

A pool has connections to the database that the settings named when it was made. Django's tests put another name into
the settings, and in workers of ``--parallel`` another one again: a pool that is left would go on with the first, which
may be the one that is in use.
"""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any


class ClosesPools:
    """Closes the pool before the settings name another database, before one is copied, and before it is dropped."""

    connection: Any

    def _close_all(self) -> None:
        self.connection.close()
        self.connection.close_pool()

    def create_test_db(self, *arguments: Any, **keywords: Any) -> Any:
        """Creates the test database, to which the settings are then changed."""
        self._close_all()
        return super().create_test_db(*arguments, **keywords)  # type: ignore[misc]

    def _clone_test_db(self, *arguments: Any, **keywords: Any) -> None:
        self._close_all()
        super()._clone_test_db(*arguments, **keywords)  # type: ignore[misc]

    def _destroy_test_db(self, *arguments: Any, **keywords: Any) -> None:
        self._close_all()
        super()._destroy_test_db(*arguments, **keywords)  # type: ignore[misc]

    def setup_worker_connection(self, *arguments: Any) -> None:
        """Changes the settings in a worker, which may have the pool of the process that it was forked from."""
        self._close_all()
        super().setup_worker_connection(*arguments)  # type: ignore[misc]
