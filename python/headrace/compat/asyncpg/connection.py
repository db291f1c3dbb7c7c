"""Connections with asyncpg's methods."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import Callable
from typing import Any, Final

from ... import errors
from ..._shared.drops import forget
from ..._shared.loading import NO_CONVERSIONS
from ...aio._shared.within import taken_within
from ...aio.postgres import AsyncConnection
from ...aio.postgres import connect as open_connection
from ...defaults import CANCEL_TIMEOUT
from . import exceptions
from .codecs import Codecs, Format
from .copying import Copying
from .cursor import CursorFactory
from .exceptions import InterfaceError
from .introspection import Types
from .listening import Listening
from .prepared_stmt import PreparedStatement
from .record import Record
from .settings import settings_of
from .statements import as_asyncpg, checked_record_class
from .transaction import Transaction
from .types import Attribute, ServerVersion
from .values import LOADERS, dumpers

_NUMBERS: Final = itertools.count(1)
_RESET: Final = "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;"
_VERSION: Final = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:(devel|alpha|beta|rc)(\d*))?")
_LEVELS: Final = {"devel": "alpha", "alpha": "alpha", "beta": "beta", "rc": "candidate"}
_BUILTIN_CODECS: Final = ("int", "text", "pg_contrib.hstore")


class ConnectionSettings:
    """The parameters of the server, as attributes."""

    def __init__(self, parameters: Any) -> None:
        self._parameters = dict(parameters)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._parameters[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        return f"<ConnectionSettings {self._parameters!r}>"


class Connection(Listening, Copying):
    """A connection to PostgreSQL. :func:`connect` makes it."""

    def __init__(self, driver: AsyncConnection[Any], record_class: type[Record]) -> None:
        self._driver = driver
        self._core = driver._core
        self._loop = asyncio.get_running_loop()
        self._types = Types(self._core)
        self._codecs = Codecs(driver, self._types)
        self._record_class = record_class
        self._shapes = {}
        self._query_loggers = []
        self._listeners = {}
        self._log_listeners = []
        self._termination_listeners = []
        self._watching = None
        self._top_xact: Transaction | None = None
        self._undoing: asyncio.Task[None] | None = None
        self._proxy = None
        self._releases = 0
        """How often it was given back to a pool: what a borrower has kept does not work after that."""
        driver.register_adapters(LOADERS, dumpers(), binary=LOADERS)
        self._core.wire.set_loose_times()

    def _unique_name(self, prefix: str) -> str:
        return f"__asyncpg_{prefix}_{next(_NUMBERS):x}__"

    # statements

    async def prepare(
        self,
        query: str,
        *,
        name: str | None = None,
        timeout: float | None = None,
        record_class: type[Record] | None = None,
    ) -> PreparedStatement:
        """Has the server describe a statement.

        Args:
            query: the statement.
            name: what :meth:`PreparedStatement.get_name` returns; None for a generated one.
            timeout: seconds until it is cancelled; None for ``command_timeout``.
            record_class: the class of its records; None for the connection's.
        """
        self._check_open()
        core = self._core
        with as_asyncpg(query):
            described = await self._wait(lambda: core.wire.describe(query), timeout)
        oids = await self._parameter_types(query, timeout) if "$" in query else ()
        fields = described.columns.fields if described.columns is not None else []
        with as_asyncpg(query):
            await self._driver._run(self._types.look_up([*oids, *(field[1] for field in fields)]), timeout)
        parameters = tuple(known.type for oid in oids if (known := self._types.get(oid)) is not None)
        attributes = tuple(
            Attribute(field[0], known.type) for field in fields if (known := self._types.get(field[1])) is not None
        )
        kind = checked_record_class(record_class)
        if name is None:
            # Without a cache statements have no names, which poolers can do with.
            name = self._unique_name("stmt") if core.named else ""
        return PreparedStatement(self, query, name, parameters, attributes, kind)

    def cursor(
        self,
        query: str,
        *args: Any,
        prefetch: int | None = None,
        timeout: float | None = None,
        record_class: type[Record] | None = None,
    ) -> CursorFactory:
        """Returns a cursor factory: awaited a cursor, iterated over the rows. It needs a transaction."""
        self._check_open()
        return CursorFactory(self, query, args, prefetch, timeout, checked_record_class(record_class))

    def transaction(
        self, *, isolation: str | None = None, readonly: bool = False, deferrable: bool = False
    ) -> Transaction:
        """Returns a transaction, which begins with its block or with ``start()``.

        Args:
            isolation: ``read_committed``, ``repeatable_read``, ``serializable``, ``read_uncommitted``; None for the
                session's.
            readonly: true if it does not write.
            deferrable: true if a serializable transaction that only reads waits for a snapshot.
        """
        self._check_open()
        return Transaction(self, isolation, readonly, deferrable)

    # the server

    def get_server_pid(self) -> int:
        """Returns the process id of the server process."""
        return self._driver.backend_pid

    def get_server_version(self) -> ServerVersion:
        """Returns the version of the server."""
        return server_version(self._driver.server_version)

    def get_settings(self) -> ConnectionSettings:
        """Returns the parameters that the server has reported."""
        return ConnectionSettings(self._driver.parameters)

    # types

    async def _oid_of(self, typename: str, schema: str) -> int:
        """The oid of a type, by its name in SQL or in the catalogue."""
        result = await self._result(
            "SELECT coalesce((SELECT t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n"
            " ON n.oid = t.typnamespace WHERE n.nspname = $2 AND t.typname = $1),"
            " CASE WHEN $2 = 'pg_catalog' THEN pg_catalog.to_regtype($1)::oid END)",
            (typename.replace(" timezone", " time zone"), schema),
            None,
        )
        oid = result.rows[0][0] if result.rows else None
        if oid is None:
            raise ValueError(f"unknown type: {schema}.{typename}")
        await self._driver._run(self._types.look_up([oid]))
        return int(oid)

    async def set_type_codec(
        self,
        typename: str,
        *,
        schema: str = "public",
        encoder: Callable[[Any], Any],
        decoder: Callable[[Any], Any],
        format: Format = "text",
    ) -> None:
        """Sets the functions that convert the values of a type.

        Args:
            typename: its name.
            schema: the schema that it is in.
            encoder: makes text, bytes or a tuple of an argument, by the format.
            decoder: makes a value of these.
            format: ``text``, ``binary``, or ``tuple`` for dates, times and intervals.

        Raises:
            ValueError: there is no such type.
        """
        self._check_open()
        if format not in ("text", "binary", "tuple"):
            raise ValueError(f"invalid codec format: {format!r}")
        oid = await self._oid_of(typename, schema)
        known = self._types.get(oid)
        if known is not None and known.type.kind in ("array", "range"):
            raise InterfaceError(
                f"cannot use custom codec on type {schema}.{typename}: it is neither a scalar type nor a composite type"
            )
        if known is not None and known.type.kind == "composite" and format != "tuple":
            raise exceptions.UnsupportedClientFeatureError("only tuple-format codecs can be used on composite types")
        if known is not None and known.sort == "d":
            raise exceptions.UnsupportedClientFeatureError("custom codecs on domain types are not supported")
        with as_asyncpg():
            self._codecs.set(oid, encoder, decoder, format)
        self._shapes.clear()

    async def reset_type_codec(self, typename: str, *, schema: str = "public") -> None:
        """Goes back to the values that a type has without :meth:`set_type_codec`."""
        self._check_open()
        self._codecs.reset(await self._oid_of(typename, schema))
        self._shapes.clear()

    async def set_builtin_type_codec(
        self, typename: str, *, schema: str = "public", codec_name: str, format: str | None = None
    ) -> None:
        """Converts the values of a type as those of another: ``pg_contrib.hstore``, ``text`` or ``int``."""
        self._check_open()
        if codec_name not in _BUILTIN_CODECS:
            raise exceptions.InterfaceError(f"could not find a built-in codec named {codec_name!r}")
        await self._oid_of(typename, schema)
        if codec_name == "pg_contrib.hstore":
            from ...postgres.hstore import dump, parse

            await self.set_type_codec(typename, schema=schema, encoder=dump, decoder=parse)
        elif codec_name == "int":
            await self.set_type_codec(typename, schema=schema, encoder=str, decoder=int)
        else:
            await self.set_type_codec(typename, schema=schema, encoder=str, decoder=str)

    async def reload_schema_state(self) -> None:
        """Forgets the types of the database, which are looked up again when they are met."""
        self._forget_types()
        self._core.wire.forget_types()

    # the end

    async def close(self, *, timeout: float | None = None) -> None:
        """Closes the connection. The server rolls an open transaction back.

        Args:
            timeout: seconds for the end of a statement that is executed, which is cancelled.
        """
        if not self.is_closed():
            if self._core.wire.queued():
                # What others wait for ends as cancelled, and not as lost.
                with contextlib.suppress(errors.Error, TimeoutError):
                    await self._driver.cancel(timeout=timeout)
                    await self._wait(self._core.round_trip, timeout or CANCEL_TIMEOUT)
            await self._driver.close()
        self._closed()

    def terminate(self) -> None:
        """Closes the connection at once."""
        driver = self._driver
        if not self.is_closed():
            forget(driver._dropped)
            driver._core.note_close()
            driver._end()
        self._closed()

    def _closed(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        self._listeners.clear()
        self._ended()

    def get_reset_query(self) -> str:
        """Returns what :meth:`reset` executes; a subclass may have another."""
        return _RESET

    def _undo_transaction(self) -> None:
        """Rolls back what a BEGIN, COMMIT or ROLLBACK that was cancelled, or had an error, may have left open: behind
        it, and before whatever is asked of the connection from now on. Without a transaction it does nothing."""
        if self._core.wire.closed or self._core.wire.transaction_ahead() is False:
            return
        with contextlib.suppress(errors.Error):
            request = self._core.submit_script("ROLLBACK")

            async def wait() -> None:
                with contextlib.suppress(errors.Error):
                    await self._driver._wait(request, None)

            self._undoing = self._loop.create_task(wait())

    async def _undone(self) -> None:
        """Waits until :meth:`_undo_transaction` has been answered."""
        if (undoing := self._undoing) is not None:
            await asyncio.shield(undoing)
            self._undoing = None

    async def _transaction_ahead(self) -> bool | None:
        """Whether a transaction is open once all that was asked has been answered; None if only the replies decide it,
        as after a BEGIN of the program's own that was cancelled."""
        await self._undone()
        return self._core.wire.transaction_ahead()

    async def reset(self, *, timeout: float | None = None) -> None:
        """Sets the session back: open transactions, settings, cursors, subscriptions and advisory locks."""
        self._check_open()
        self._listeners.clear()
        for callback in tuple(self._log_listeners):
            self.remove_log_listener(callback)
        query = self.get_reset_query()
        ahead = await self._transaction_ahead()
        if ahead is not False or self._top_xact is not None:
            # Where a reply decides whether there is one, the program has not forgotten it.
            if ahead is not None and (self._top_xact is None or not self._top_xact._managed):
                # The end of a block would end it: one that was begun by hand was forgotten.
                self._loop.call_exception_handler(
                    {"message": "Resetting connection with an active transaction " + repr(self)}
                )
            self._top_xact = None
            query = f"ROLLBACK;\n{query}"
        if query:
            await self._script(query, timeout)

    def __repr__(self) -> str:
        state = "closed" if self.is_closed() else "open"
        return f"<{type(self).__module__}.{type(self).__qualname__} {self._core.where()} [{state}] {id(self):#x}>"


def server_version(text: str) -> ServerVersion:
    """``18.4 (Debian 18.4-1)`` or ``19beta2`` as numbers."""
    found = _VERSION.match(text.strip())
    if found is None:
        raise ValueError(f"unable to parse the version of the server: {text!r}")
    major, minor, micro = (int(each or 0) for each in found.group(1, 2, 3))
    level = _LEVELS.get(found[4] or "", "final")
    serial = int(found[5] or 0)
    if major >= _TWO_NUMBERS:
        # Since then the second number is that of the bug fixes.
        return ServerVersion(major, 0, minor, level, serial)
    return ServerVersion(major, minor, micro, level, serial)


_TWO_NUMBERS: Final = 10
"""The first version of PostgreSQL that has two numbers."""


async def connect(
    dsn: str | None = None,
    *,
    host: Any = None,
    port: Any = None,
    user: str | None = None,
    password: Any = None,
    passfile: Any = None,
    service: str | None = None,
    servicefile: Any = None,
    database: str | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
    timeout: float | None = 60,
    statement_cache_size: int = 100,
    max_cached_statement_lifetime: int = 300,
    max_cacheable_statement_size: int = 1024 * 15,
    command_timeout: float | None = None,
    ssl: Any = None,
    direct_tls: bool | None = None,
    connection_class: Any = Connection,
    record_class: Any = Record,
    server_settings: dict[str, str] | None = None,
    target_session_attrs: Any = None,
    krbsrvname: str | None = None,
    gsslib: str | None = None,
) -> Any:
    """Connects to PostgreSQL.

    Args:
        dsn: a URL, ``postgresql://user:password@host:port/database?option=value``.
        host: a name, an address or the directory of a Unix socket; a list for several.
        port: the port; a list for several hosts.
        user: the user.
        password: the password, or a function, also an asynchronous one, that returns it.
        passfile: the path of a file of passwords.
        service: a service of the service file.
        servicefile: the path of that.
        database: the name of the database.
        loop: ignored: the running loop is used.
        timeout: seconds until the attempt ends; None for no limit.
        statement_cache_size: statements that the session keeps prepared; 0 for none, without names.
        max_cached_statement_lifetime: ignored: statements are kept until others take their place.
        max_cacheable_statement_size: ignored.
        command_timeout: seconds until a statement is cancelled, if it has no limit of its own.
        ssl: a mode such as ``verify-full``, true, false, or an SSLContext without certificates of its own.
        direct_tls: true to begin with TLS, without asking the server.
        connection_class: Connection, or a subclass.
        record_class: Record, or a subclass.
        server_settings: settings of the session.
        target_session_attrs: which of several servers is wanted, such as ``primary``.
        krbsrvname: ignored: there is no Kerberos.
        gsslib: ignored.

    Raises:
        ClientConfigurationError: a setting is wrong.
        PostgresError: the server refused the connection; the class depends on its SQLSTATE.
        OSError: no server could be reached.
        TimeoutError: not within ``timeout`` seconds.
    """
    if not (isinstance(connection_class, type) and issubclass(connection_class, Connection)):
        raise exceptions.InterfaceError(
            f"connection_class is expected to be a subclass of asyncpg.Connection, got {connection_class!r}"
        )
    if record_class is not Record:
        checked_record_class(record_class)
    conninfo, keywords = settings_of(
        dsn, host=host, port=port, user=user, password=password, passfile=passfile, service=service,
        servicefile=servicefile, database=database, timeout=timeout, statement_cache_size=statement_cache_size,
        command_timeout=command_timeout, ssl=ssl, direct_tls=direct_tls, server_settings=server_settings,
        target_session_attrs=target_session_attrs,
    )  # fmt: skip
    keywords |= NO_CONVERSIONS

    async def connected() -> Connection:
        driver = await open_connection(conninfo, autocommit=True, **keywords)
        made: Connection = connection_class(driver, record_class)
        return made

    try:
        return await taken_within(timeout, connected(), lambda made: made.terminate())
    except errors.Error as error:
        raise _refused(error) from error


def _refused(error: errors.Error) -> Exception:
    """asyncpg's exception for a connection that was not opened."""
    if isinstance(error, errors.ConnectionTimeout):
        return TimeoutError(str(error))
    if error.sqlstate is not None:
        return exceptions.refusal(error)
    if isinstance(error, errors.ProgrammingError):
        return exceptions.ClientConfigurationError(str(error))
    text = str(error)
    if error.code == "target_session_attrs" or "target_session_attrs" in text:
        return exceptions.TargetServerAttributeNotMatched(text)
    if "refused" in text:
        return ConnectionRefusedError(text)
    if "tls" in str(error.code) or "auth" in str(error.code):
        return exceptions.InterfaceError(text)
    return OSError(text)
