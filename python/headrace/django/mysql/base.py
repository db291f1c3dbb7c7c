"""The backend: Django's own, which connects by headrace."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import os
import threading
from functools import partial
from typing import Any, ClassVar, Final

from ...compat.mysqldb import install_as_MySQLdb

install_as_MySQLdb()

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.db.backends.base.base import NO_DB_ALIAS  # noqa: E402
from django.db.backends.mysql import base as stock  # noqa: E402
from django.db.backends.mysql.creation import DatabaseCreation as StockCreation  # noqa: E402
from django.db.backends.mysql.features import DatabaseFeatures as StockFeatures  # noqa: E402
from django.utils.functional import cached_property  # noqa: E402

from ...pool import ConnectionPool  # noqa: E402
from ..creation import ClosesPools  # noqa: E402
from ..threads import close_at_end, nothing  # noqa: E402
from .pooled import PooledConnection  # noqa: E402

_OTHER_DRIVER: Final = (
    "MySQLdb was imported before headrace.django.mysql, and is not headrace's: one process cannot use both"
    " django.db.backends.mysql and headrace.django.mysql"
)
if stock.Database.connect.__module__.partition(".")[0] != "headrace":
    raise ImproperlyConfigured(_OTHER_DRIVER)


class DatabaseFeatures(StockFeatures):
    """Django's features of MySQL."""

    @cached_property
    def django_test_skips(self) -> Any:
        """Tests of Django's own suite that do not apply: a pool checks its connections itself."""
        skips: Any = super().django_test_skips
        if self.connection.pool is not None:
            tests = "backends.base.test_base.ConnectionHealthChecksTests"
            skips["Pool does implicit health checks"] = {
                f"{tests}.test_health_checks_enabled",
                f"{tests}.test_set_autocommit_health_checks_enabled",
            }
        return skips


class DatabaseCreation(ClosesPools, StockCreation):
    """Test databases on MySQL and MariaDB."""


class DatabaseWrapper(stock.DatabaseWrapper):
    """A connection of Django's to MySQL or MariaDB."""

    features_class = DatabaseFeatures
    creation_class = DatabaseCreation
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
        pool = self._connection_pools.get(self.alias)
        if pool is None:
            if self.settings_dict.get("CONN_MAX_AGE", 0) != 0:
                raise ImproperlyConfigured("Pooling doesn't support persistent connections.")
            options: dict[str, Any] = {} if settings is True else dict(settings)
            if self.settings_dict["CONN_HEALTH_CHECKS"]:
                options.setdefault("check", PooledConnection.ping)
            options.setdefault("name", f"django-{self.alias}")
            connect = partial(_connect, **self.get_connection_params())
            with self._making:
                pool = self._connection_pools.get(self.alias)
                if pool is None:
                    pool = ConnectionPool(connect=connect, open=False, **options)
                    self._connection_pools[self.alias] = pool
        return pool

    def close_pool(self) -> None:
        """Closes the pool. The next connection opens another."""
        pool = self._connection_pools.pop(self.alias, None)
        if pool is not None:
            pool.close()

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        params.pop("pool", None)
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        pool = self.pool
        if pool is None:
            connection = super().get_new_connection(conn_params)
        else:
            pool.open()
            connection = pool.getconn()
            self._lent_by = pool
        self._closed_before = close_at_end(self, connection, pool)
        return connection

    def _close(self) -> None:
        self.__dict__.pop("_closed_before", nothing)()
        pool = self.__dict__.pop("_lent_by", None)
        if pool is None or self.connection is None:
            super()._close()
            return
        with self.wrap_database_errors:
            connection, self.connection = self.connection, None
            pool.putconn(connection)

    def is_usable(self) -> bool:
        # One that went back to the pool is none.
        return self.connection is not None and super().is_usable()

    def close_if_health_check_failed(self) -> None:
        if self.pool is None:
            super().close_if_health_check_failed()


def _forget() -> None:
    DatabaseWrapper._connection_pools.clear()
    # Another thread may have held it.
    DatabaseWrapper._making = threading.Lock()


# A process that was forked, of a server that loads the site first, has pools of its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _connect(*arguments: Any, **params: Any) -> PooledConnection:
    """A connection for the pool, in autocommit: Django makes its settings on each that it is lent."""
    connection = PooledConnection(**{**params, "autocommit": True})
    if connection.encoders.get(bytes) is bytes:
        connection.encoders.pop(bytes)
    return connection
