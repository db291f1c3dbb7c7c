"""The backend: Django's own, which connects by headrace."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...compat.mysqldb import install_as_MySQLdb

install_as_MySQLdb()

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.db.backends.mysql import base as stock  # noqa: E402
from django.db.backends.mysql.creation import DatabaseCreation as StockCreation  # noqa: E402
from django.db.backends.mysql.features import DatabaseFeatures as StockFeatures  # noqa: E402
from django.utils.functional import cached_property  # noqa: E402

from ..creation import ClosesPools  # noqa: E402
from ..pools import Pools  # noqa: E402
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


class DatabaseWrapper(Pools, stock.DatabaseWrapper):
    """A connection of Django's to MySQL or MariaDB."""

    features_class = DatabaseFeatures
    creation_class = DatabaseCreation

    @property
    def connect_for_pool(self) -> Callable[..., Any]:
        """Makes a connection in autocommit."""
        return _connect

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        params.pop("pool", None)
        return params

    def is_usable(self) -> bool:
        # One that went back to the pool is none.
        return self.connection is not None and super().is_usable()


def _connect(*arguments: Any, **params: Any) -> PooledConnection:
    """A connection for the pool, in autocommit: Django makes its settings on each that it is lent."""
    connection = PooledConnection(**{**params, "autocommit": True})
    if connection.encoders.get(bytes) is bytes:
        connection.encoders.pop(bytes)
    return connection
