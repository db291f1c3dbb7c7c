"""Django's connections to databases of which it knows none: what Informix and CUBRID have in common."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import os
import threading
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import NO_DB_ALIAS, BaseDatabaseWrapper

from ..pool import ConnectionPool
from .statements import StatementCursor
from .threads import close_at_end, nothing


class PooledWrapper(BaseDatabaseWrapper):
    """A connection of Django's, with ``OPTIONS["pool"]``."""

    Database: Any
    connection: Any
    wrap_database_errors: Any
    _connection_pools: ClassVar[dict[str, ConnectionPool[Any]]] = {}
    _making: ClassVar[threading.Lock] = threading.Lock()

    @property
    def pool(self) -> ConnectionPool[Any] | None:
        """The pool of ``OPTIONS["pool"]``, which is opened when the first connection is asked for."""
        settings = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not settings:
            return None
        if self.settings_dict.get("CONN_MAX_AGE", 0) != 0:
            raise ImproperlyConfigured("Pooling doesn't support persistent connections.")
        with PooledWrapper._making:
            pool = self._connection_pools.get(self.alias)
            if pool is None:
                options: dict[str, Any] = {} if settings is True else dict(settings)
                if self.settings_dict["CONN_HEALTH_CHECKS"]:
                    options.setdefault("check", _ping)
                options.setdefault("name", f"django-{self.alias}")
                connect = partial(self.Database.connect, **self.get_connection_params())
                pool = ConnectionPool(connect=connect, open=False, **options)
                self._connection_pools[self.alias] = pool
        return pool

    def close_pool(self) -> None:
        """Closes the pool. The next connection opens another."""
        pool = self._connection_pools.pop(self.alias, None)
        if pool is not None:
            pool.close()

    def get_connection_params(self) -> dict[str, Any]:
        settings = self.settings_dict
        params: dict[str, Any] = {
            name: settings[key]
            for name, key in (("database", "NAME"), ("user", "USER"), ("password", "PASSWORD"), ("host", "HOST"))
            if settings[key]
        }
        if settings["PORT"]:
            params["port"] = int(settings["PORT"])
        # Django's fields convert JSON themselves.
        options = {name: value for name, value in settings["OPTIONS"].items() if name != "pool"}
        return {"json_loads": str, "autocommit": True, **params, **options}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        pool = self.pool
        if pool is None:
            connection = self.Database.connect(**conn_params)
        else:
            pool.open()
            connection = pool.getconn()
            self._lent_by = pool
        self._closed_before = close_at_end(self, connection, pool)
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        return StatementCursor(self.connection.cursor(), self.adapt_value)

    def chunked_cursor(self) -> Any:
        """Returns a cursor on the server, from which ``QuerySet.iterator()`` fetches rows in blocks."""
        if self.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
            return self.cursor()
        return self._cursor(name="headrace")

    def adapt_value(self, value: Any) -> Any:
        """A value as the driver takes it."""
        return value

    def _set_autocommit(self, autocommit: bool) -> None:
        with self.wrap_database_errors:
            self.connection.autocommit = autocommit

    def _close(self) -> None:
        self.__dict__.pop("_closed_before", nothing)()
        pool = self.__dict__.pop("_lent_by", None)
        if self.connection is None:
            return
        with self.wrap_database_errors:
            if pool is None:
                self.connection.close()
            else:
                # The one that has lent it: a test may have changed the settings, and so the pool.
                connection, self.connection = self.connection, None
                pool.putconn(connection)

    def is_usable(self) -> bool:
        if self.connection is None:
            return False
        try:
            self.connection.ping()
        except self.Database.Error:
            return False
        return True

    def close_if_health_check_failed(self) -> None:
        if self.pool is None:
            super().close_if_health_check_failed()


def _forget() -> None:
    PooledWrapper._connection_pools.clear()
    # Another thread may have held it.
    PooledWrapper._making = threading.Lock()


# A process that was forked, of a server that loads the site first, has pools of its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _ping(connection: Any) -> None:
    connection.ping()
