"""The asyncio connection to PostgreSQL."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar, overload

from ..._native import shortcut
from ..._shared.arguments import checked_callable, checked_whole
from ..._shared.limits import checked_seconds
from ..._shared.modes import IsolationLevel
from ...postgres.core import ConnectionCore
from ...postgres.extensions import numpy_vectors, shapely_geometries
from ...postgres.names import quote_name
from ...rows import RowFactory
from ...types import Notify
from .._shared.scripts import LoopScripts
from .._shared.two_phase import LoopTwoPhase
from .copying import AsyncCopying
from .cursor import AsyncCursor, AsyncServerCursor
from .storing import AsyncStoring
from .streaming import AsyncStreaming

R = TypeVar("R")
T = TypeVar("T")


class AsyncConnection(AsyncStreaming[R], AsyncCopying[R], AsyncStoring[R], LoopTwoPhase[R], LoopScripts[R]):
    """A connection to PostgreSQL. Tasks may share it: their requests are queued.

    As a context manager it commits at the end of the block, rolls back when the block raises an exception, and closes.
    """

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]
    _cursor_class = AsyncCursor
    _cursor_type: type[AsyncCursor[R]]  # pyright: ignore[reportIncompatibleVariableOverride]

    # executing

    @overload
    def cursor(self, name: None = None, *, row_factory: None = None) -> AsyncCursor[R]: ...
    @overload
    def cursor(self, name: None = None, *, row_factory: RowFactory[T]) -> AsyncCursor[T]: ...
    @overload
    def cursor(
        self, name: str, *, row_factory: None = None, scrollable: bool | None = None, withhold: bool = False
    ) -> AsyncServerCursor[R]: ...
    @overload
    def cursor(
        self, name: str, *, row_factory: RowFactory[T], scrollable: bool | None = None, withhold: bool = False
    ) -> AsyncServerCursor[T]: ...
    @shortcut
    def cursor(
        self,
        name: str | None = None,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> AsyncCursor[Any]:
        """Opens a cursor. It is for one thread or task at a time.

        Args:
            name: declares a cursor on the server with this name, which is fetched in blocks.
            row_factory: converts rows, see :mod:`headrace.rows`; None for the connection's.
            scrollable: for a cursor with a name, ``SCROLL`` or ``NO SCROLL``; None for the server's default.
            withhold: for a cursor with a name, keep it open after its transaction (``WITH HOLD``).

        Returns:
            A cursor; with a name, a server cursor.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
        """
        if self._core.wire.closed:
            raise self._core.why_closed()
        factory = self.row_factory if row_factory is None else checked_callable(row_factory, "row_factory")
        if name is not None:
            return AsyncServerCursor(self, factory, name, scrollable, withhold)
        make = self._cursor_type
        return make(self, factory)

    # transactions

    @property
    def isolation_level(self) -> IsolationLevel | None:
        """The isolation level of later transactions; None for the server's default."""
        return self._core.isolation_level

    async def set_isolation_level(
        self, value: IsolationLevel | None, *, timeout: float | None = None
    ) -> None:  # asyncio only
        """Sets the isolation level of later transactions, without a round trip.

        Args:
            value: ``read uncommitted``, ``read committed``, ``repeatable read`` or ``serializable``; None for the
                server's default.
            timeout: ignored, as nothing is waited for.

        Raises:
            ProgrammingError: a transaction is open, or there is no such level.
        """
        self._core.set_mode("isolation_level", value)

    # blocking: @isolation_level.setter
    # blocking: def isolation_level(self, value: IsolationLevel | None) -> None:
    # blocking:     self._core.set_mode("isolation_level", value)

    @property
    def read_only(self) -> bool | None:
        """True if later transactions are read-only; None for the server's default."""
        return self._core.read_only

    async def set_read_only(self, value: bool | None, *, timeout: float | None = None) -> None:  # asyncio only
        """Makes later transactions read-only, or not, without a round trip.

        Args:
            value: True or False; None for the server's default.
            timeout: ignored, as nothing is waited for.

        Raises:
            ProgrammingError: a transaction is open.
        """
        self._core.set_mode("read_only", value)

    # blocking: @read_only.setter
    # blocking: def read_only(self, value: bool | None) -> None:
    # blocking:     self._core.set_mode("read_only", value)

    @property
    def deferrable(self) -> bool | None:
        """True if later transactions are deferrable; None for the server's default."""
        return self._core.deferrable

    async def set_deferrable(self, value: bool | None, *, timeout: float | None = None) -> None:  # asyncio only
        """Makes later transactions deferrable, or not, without a round trip.

        Args:
            value: True or False; None for the server's default.
            timeout: ignored, as nothing is waited for.

        Raises:
            ProgrammingError: a transaction is open.
        """
        self._core.set_mode("deferrable", value)

    # blocking: @deferrable.setter
    # blocking: def deferrable(self, value: bool | None) -> None:
    # blocking:     self._core.set_mode("deferrable", value)

    # what comes unasked

    async def listen(self, channel: str, *, timeout: float | None = None) -> None:
        """Subscribes to a channel. It takes effect when the transaction is committed.

        Args:
            channel: its name, as it is; it is quoted.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: the name is longer than 63 bytes.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self.execute(f"LISTEN {quote_name(channel)}", timeout=timeout)

    async def unlisten(self, channel: str | None = None, *, timeout: float | None = None) -> None:
        """Ends the subscription to a channel.

        Args:
            channel: its name; None for all channels.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: the name is longer than 63 bytes.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self.execute(f"UNLISTEN {'*' if channel is None else quote_name(channel)}", timeout=timeout)

    async def notifies(self, timeout: float | None = None, stop_after: int | None = None) -> AsyncIterator[Notify]:
        """Returns notifications while they are received. Several threads or tasks may wait; each notification is passed
        to one of them.

        Args:
            timeout: seconds without a notification after which the iteration ends; None for no limit.
            stop_after: number of notifications after which it ends; None for no limit.

        Yields:
            Notifications, with ``channel``, ``payload`` and ``pid``.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
        """
        if stop_after is not None:
            stop_after = checked_whole(stop_after, "stop_after")
        if timeout is not None:
            timeout = checked_seconds(timeout)
        count = 0
        while stop_after is None or count < stop_after:
            notify = self._core.notification()
            if notify is None:
                wire = self._core.wire
                waiting: Any = wire.notified()
                try:
                    done, _ = await asyncio.wait([waiting], timeout=timeout)  # asyncio only
                    # blocking: wire.wait(waiting, timeout)
                # blocking: except TimeoutError:
                # blocking:     return
                finally:
                    wire.forget_notified(waiting)
                if not done:  # asyncio only
                    return
                waiting.result()  # asyncio only
                continue
            count += 1
            yield notify

    # types of the database

    async def register_composite(self, name: str, factory: Callable[..., Any], *, timeout: float | None = None) -> None:
        """Registers a class for the values of a composite type. Without it they are tuples.

        Args:
            name: of the type, as written in SQL.
            factory: called with the values of the attributes, such as a named tuple or a dataclass.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            UndefinedObject: there is no such type.
            ProgrammingError: it is not a composite type.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._adapters.composite(name, factory), timeout)

    async def register_type(
        self,
        name: str,
        loader: Callable[[bytes], Any],
        *,
        dumpers: Mapping[type, Callable[[Any], bytes | str]] | None = None,
        binary: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Registers a function that converts the values of a type, which is looked up by its name.

        Args:
            name: of the type, as written in SQL.
            loader: converts the bytes of a value: its text form, or with ``binary`` its binary form.
            dumpers: by class, functions that convert a value to str (text form) or bytes (binary form).
            binary: whether the loader takes the binary form.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            UndefinedObject: there is no such type.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._adapters.named(name, loader, dumpers, binary), timeout)

    async def register_vector(self, *, timeout: float | None = None) -> None:
        """Registers arrays of NumPy for vectors of pgvector: ``vector`` has ``float32``, ``halfvec`` ``float16``.
        Without it they are lists of floats.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ImportError: NumPy is not installed.
            ProgrammingError: the database has no extension ``vector``.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._adapters.extension(numpy_vectors()), timeout)

    async def register_shapely(self, *, timeout: float | None = None) -> None:
        """Registers shapely's classes for ``geometry`` and ``geography`` of PostGIS, in both directions. Without it
        values are EWKB in ``bytes``.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ImportError: shapely is not installed.
            ProgrammingError: the database has no extension ``postgis``.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._adapters.extension(shapely_geometries()), timeout)

    async def register_enum(self, name: str, kind: type[enum.Enum], *, timeout: float | None = None) -> None:
        """Registers an enumeration of Python for the values of an enumeration type. Without it they are text.

        A label belongs to the member with that value or, if not all labels are values, to the member with that name.
        Members are sent as labels.

        Args:
            name: of the type, as written in SQL.
            kind: the class.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            UndefinedObject: there is no such type.
            ProgrammingError: it is not an enumeration, or a label has no member.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._adapters.enumeration(name, kind), timeout)
