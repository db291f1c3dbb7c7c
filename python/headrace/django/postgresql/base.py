"""The backend: Django's own, which connects by headrace."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import datetime
import logging
import os
import struct
import zoneinfo
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .takeover import install

install()

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.db.backends.base.base import NO_DB_ALIAS  # noqa: E402
from django.db.backends.postgresql import base as stock  # noqa: E402
from django.db.backends.postgresql.creation import DatabaseCreation as StockCreation  # noqa: E402
from django.utils.functional import cached_property  # noqa: E402

from ..._shared.loading import NO_CONVERSIONS  # noqa: E402
from ...errors import DataError  # noqa: E402
from ...pool import ConnectionPool  # noqa: E402
from ...postgres import connect  # noqa: E402
from ...rows import tuple_row  # noqa: E402
from ...types import TransactionStatus  # noqa: E402
from ..creation import ClosesPools  # noqa: E402
from ..threads import close_at_end, nothing  # noqa: E402
from . import literals  # noqa: E402
from .cursor import Cursor, ServerCursor  # noqa: E402
from .features import DatabaseFeatures  # noqa: E402
from .psycopg_any import IsolationLevel  # noqa: E402

_LOG: Final = logging.getLogger("django.db.backends.headrace")
_JSONB: Final = 3802
_FLOAT4: Final = 700
_INET: Final = 869
_CIDR: Final = 650
_INTERVAL: Final = 1186
_TIMESTAMPTZ: Final = 1184
"""Oids, of pg_type.dat."""
_EPOCH: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
"""From which PostgreSQL counts the microseconds of a timestamp."""
_ENDS: Final = frozenset({2**63 - 1, -(2**63)})
"""``infinity`` and ``-infinity``."""
_MONTHS: Final = 12
_DAYS_OF_YEAR: Final = 365
_DAYS_OF_MONTH: Final = 30
"""What a year and a month are as a span of time: psycopg's rule, by which Django's DurationField reads them."""
_OF_PSYCOPG: Final = ("cursor_factory", "context", "prepare_threshold")
_OF_PSYCOPG_POOL: Final = ("num_workers", "open")


def _text(data: bytes) -> str:
    return data.decode()


def _interval(data: bytes) -> datetime.timedelta:
    microseconds, days, months = struct.unpack("!qii", data)
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), _MONTHS)
    days += sign * (years * _DAYS_OF_YEAR + rest * _DAYS_OF_MONTH)
    return datetime.timedelta(days=days, microseconds=microseconds)


_LOADERS: Final[dict[int, Callable[[bytes], Any]]] = {
    _JSONB: _text,
    _FLOAT4: float,
    _INET: _text,
    _CIDR: _text,
    _INTERVAL: _interval,
}
"""What Django's fields convert themselves, and a ``real`` with the digits that the server shows of it."""


def _timestamptz(zone: datetime.tzinfo, naive: bool, data: bytes) -> datetime.datetime:
    """A timestamp in the zone of the connection; without one, if Django has USE_TZ = False."""
    microseconds = int.from_bytes(data, "big", signed=True)
    if microseconds in _ENDS:
        raise DataError("timestamptz 'infinity' or '-infinity' has no datetime")
    try:
        value = (_EPOCH + datetime.timedelta(microseconds=microseconds)).astimezone(zone)
    except OverflowError:
        # Outside of what datetime can hold in UTC, but perhaps not in the zone: its last hours.
        value = _at_the_edge(zone, microseconds)
    return value.replace(tzinfo=None) if naive else value


def _at_the_edge(zone: datetime.tzinfo, microseconds: int) -> datetime.datetime:
    offset = zone.utcoffset(datetime.datetime.max if microseconds > 0 else datetime.datetime.min)
    try:
        span = datetime.timedelta(microseconds=microseconds) + (offset or datetime.timedelta())
        return (_EPOCH.replace(tzinfo=None) + span).replace(tzinfo=zone)
    except OverflowError:
        raise DataError("the timestamptz is outside of what datetime can hold") from None


class DatabaseCreation(ClosesPools, StockCreation):
    """Test databases on PostgreSQL."""


class DatabaseWrapper(stock.DatabaseWrapper):
    """A connection of Django's to PostgreSQL."""

    features_class = DatabaseFeatures
    creation_class = DatabaseCreation
    connection: Any
    wrap_database_errors: Any
    timezone: Any
    ops: Any
    _zone_of: tuple[Any, Any] = (None, None)
    """The connection whose times are read in a zone, and that zone."""
    run_on_commit: list[Any]
    _of_atomic = False
    """True while the transaction is one that an ``atomic()`` block has begun, and not the program itself."""

    @property
    def pool(self) -> ConnectionPool[Any] | None:
        """The pool of ``OPTIONS["pool"]``, which is opened when the first connection is asked for."""
        settings = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not settings:
            return None
        if self.alias not in self._connection_pools:
            if self.settings_dict.get("CONN_MAX_AGE", 0) != 0:
                raise ImproperlyConfigured("Pooling doesn't support persistent connections.")
            options = {} if settings is True else {k: v for k, v in settings.items() if k not in _OF_PSYCOPG_POOL}
            if self.settings_dict["CONN_HEALTH_CHECKS"]:
                options.setdefault("check", _ping)
            if "max_size" in options and options["max_size"] is None:
                options["max_size"] = options.get("min_size", 4)
            options.setdefault("name", f"django-{self.alias}")
            made: ConnectionPool[Any] = ConnectionPool(
                connect=partial(_connect, **{**self.get_connection_params(), "autocommit": True}),
                configure=self._configure_connection,
                open=False,
                **options,
            )
            # Another thread may have been first.
            self._connection_pools.setdefault(self.alias, made)
        return self._connection_pools[self.alias]  # type: ignore[no-any-return]

    def close_pool(self) -> None:
        """Closes the pool. The next connection opens another."""
        pool = self._connection_pools.pop(self.alias, None)
        if pool is not None:
            pool.close()

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        for name in _OF_PSYCOPG:
            params.pop(name, None)
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        wanted = self.settings_dict["OPTIONS"].get("isolation_level")
        try:
            level = IsolationLevel.READ_COMMITTED if wanted is None else IsolationLevel(wanted)
        except ValueError:
            raise ImproperlyConfigured(
                f"Invalid transaction isolation level {wanted} specified. Use one of the psycopg.IsolationLevel values."
            ) from None
        self.isolation_level = level
        pool = self.pool
        if pool is None:
            connection = _connect(**conn_params)
        else:
            pool.open()
            connection = pool.getconn()
            self._lent_by = pool
        self._closed_before = close_at_end(self, connection, pool)
        if wanted is not None:
            connection.isolation_level = IsolationLevel(level).words
        return connection

    def _adapt(self, connection: Any) -> None:
        """Times in the connection's zone."""
        zone = self.timezone
        naive = zone is None
        if naive:
            zone = zoneinfo.ZoneInfo(str(self.timezone_name or connection.parameters.get("TimeZone", "UTC")))
        connection.register_adapters({_TIMESTAMPTZ: partial(_timestamptz, zone, naive)}, binary=(_TIMESTAMPTZ,))

    def _configure_timezone(self, connection: Any) -> bool:
        self._adapt(connection)
        self._zone_of = (connection, self.timezone)
        name = self.timezone_name
        if not name or connection.parameters.get("TimeZone") == name:
            return False
        with connection.cursor() as cursor:
            cursor.execute(self.ops.set_time_zone_sql(), [name])
        return True

    def _configure_role(self, connection: Any) -> bool:
        role = self.settings_dict["OPTIONS"].get("assume_role")
        if not role:
            return False
        with connection.cursor() as cursor:
            cursor.execute(literals.mogrify("SET ROLE %s", [role]))
        return True

    def set_autocommit(self, autocommit: bool, force_begin_transaction_with_broken_autocommit: bool = False) -> None:
        super().set_autocommit(autocommit, force_begin_transaction_with_broken_autocommit)
        # Only the outermost atomic() passes the second argument.
        self._of_atomic = force_begin_transaction_with_broken_autocommit and not autocommit

    def _commit(self) -> None:
        """Commits. At the end of ``atomic()`` a transaction in which a statement has failed is rolled back.

        The block has been told: it has caught the error. Django's documentation has it so, and the server would make
        a rollback of the COMMIT, which the driver takes for an error. The functions of ``on_commit()`` are not called.
        A ``transaction.commit()`` of the program itself is that error.
        """
        connection = self.connection
        if not self._of_atomic or connection is None or connection.transaction_status != TransactionStatus.INERROR:
            super()._commit()
            return
        self._rollback()
        self.run_on_commit = []
        _LOG.warning(
            "atomic(using=%r) was rolled back: a statement in it failed, and the error was caught inside of the block",
            self.alias,
        )

    def _close(self) -> None:
        self.__dict__.pop("_closed_before", nothing)()
        connection = self.connection
        if connection is None:
            return
        with self.wrap_database_errors:
            pool = self.__dict__.pop("_lent_by", None)
            if pool is None:
                connection.close()
            else:
                # The one that has lent it: a test may have changed the settings, and so the pool.
                self.connection = None
                pool.putconn(connection)

    def create_cursor(self, name: str | None = None) -> Any:
        connection = self.connection
        if self._zone_of != (connection, self.timezone):
            self._adapt(connection)
            self._zone_of = (connection, self.timezone)
        if connection.closed:
            connection.cursor()  # raises why
        cursor: Any
        if name:
            cursor = ServerCursor(connection, tuple_row, name, scrollable=False, withhold=connection.autocommit)
        else:
            cursor = Cursor(connection, tuple_row)
        cursor.binds_on_client = not self.features.uses_server_side_binding
        return cursor

    @cached_property
    def pg_version(self) -> int:
        """The version of the server, such as 150014."""
        with self.temporary_connection():
            return self.connection.server_version_number  # type: ignore[no-any-return]


# A process that was forked, of a server that loads the site first, has pools of its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=DatabaseWrapper._connection_pools.clear)
# Who subclasses Django's wrapper, or makes one, means that of the connections that there are.
stock.DatabaseWrapper = DatabaseWrapper


def _ping(connection: Any) -> None:
    connection.ping()


def _connect(*arguments: Any, **params: Any) -> Any:
    """Connects, with the values that Django's fields convert themselves as text."""
    connection = connect(**{**NO_CONVERSIONS, "extension_types": "text", **params})
    connection.register_adapters(_LOADERS, binary=(_INTERVAL,))
    # A pool sets back what was changed later.
    connection._remember()
    return connection
