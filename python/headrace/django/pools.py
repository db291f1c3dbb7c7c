"""``OPTIONS["pool"]``: what backends of databases for which Django has no pool have in common."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import NO_DB_ALIAS, BaseDatabaseWrapper

from ..pool import ConnectionPool
from .threads import close_at_end, nothing


class Pools(BaseDatabaseWrapper):
    """A connection of Django's that a pool lends, if there is one. Stands before the class that connects."""

    connection: Any
    wrap_database_errors: Any
    _connection_pools: ClassVar[dict[str, ConnectionPool[Any]]] = {}
    _making: ClassVar[threading.Lock] = threading.Lock()

    @property
    def pool(self) -> ConnectionPool[Any] | None:
        """The pool, which is opened when the first connection is asked for."""
        settings = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not settings:
            return None
        with Pools._making:
            pool = self._connection_pools.get(self.alias)
            if pool is None:
                # As Django's backend of PostgreSQL does: a live server of its tests sets it later.
                if self.settings_dict.get("CONN_MAX_AGE", 0) != 0:
                    raise ImproperlyConfigured("Pooling doesn't support persistent connections.")
                options: dict[str, Any] = {} if settings is True else dict(settings)
                if self.settings_dict["CONN_HEALTH_CHECKS"]:
                    options.setdefault("check", ping)
                options.setdefault("name", f"django-{self.alias}")
                connect = partial(self.connect_for_pool, **self.get_connection_params())
                pool = ConnectionPool(connect=connect, open=False, **options)
                self._connection_pools[self.alias] = pool
        return pool

    @property
    def connect_for_pool(self) -> Callable[..., Any]:
        """Makes a connection of the parameters. It is called for long after this object, and is no method of it."""
        raise NotImplementedError

    def close_pool(self) -> None:
        """Closes the pool. The next connection opens another."""
        pool = self._connection_pools.pop(self.alias, None)
        if pool is not None:
            pool.close()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        pool = self.pool
        if pool is None:
            connection = self.connect_alone(conn_params)
        else:
            pool.open()
            connection = pool.getconn()
            self._lent_by = pool
        self._closed_before = close_at_end(self, connection, pool)
        return connection

    def connect_alone(self, conn_params: dict[str, Any]) -> Any:
        """Makes a connection that no pool has."""
        return super().get_new_connection(conn_params)

    def _close(self) -> None:
        self.__dict__.pop("_closed_before", nothing)()
        pool = self.__dict__.pop("_lent_by", None)
        if pool is None or self.connection is None:
            super()._close()
            return
        with self.wrap_database_errors:
            # The one that has lent it: a test may have changed the settings, and so the pool.
            connection, self.connection = self.connection, None
            pool.putconn(connection)

    def close_if_health_check_failed(self) -> None:
        if self.pool is None:
            super().close_if_health_check_failed()


def ping(connection: Any) -> None:
    """Raises an error if a connection does not answer."""
    connection.ping()


def _forget() -> None:
    Pools._connection_pools.clear()
    # Another thread may have held it.
    Pools._making = threading.Lock()


# A process that was forked, of a server that loads the site first, has pools of its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
