"""Notifications of PostgreSQL from a connection of their own, which is opened again after it was lost."""

# Made by tools/async_to_sync.py of aio/postgres/listening.py: edit that file, and run the tool.

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Final, TypeVar

from .._shared.arguments import checked_text
from .._shared.limits import checked_seconds
from ..defaults import LISTEN_DELAYS, LISTEN_PING, LISTEN_RECONNECT
from ..errors import ConnectionClosed, OperationalError, ProgrammingError
from ..types import Missed, Notify
from .connection import Connection
from .opening import connect

Self = TypeVar("Self", bound="Listener")
_LOST: Final = (OperationalError, ConnectionClosed, TimeoutError, OSError)
"""What a connection that was lost, or cannot be opened, raises."""


class Listener:
    """Notifications of some channels, from a connection of its own, as long as the block and the iteration last.

    If the connection was lost it is opened again, and has the same subscriptions; the iteration then has a
    :class:`headrace.types.Missed` before the next notification, because PostgreSQL keeps no notifications for those who
    are away: what the program has learnt from notifications is to be read again. It is for one thread at a time.
    """

    def __init__(
        self,
        conninfo: str,
        channels: tuple[str, ...],
        keywords: dict[str, Any],
        reconnect_timeout: float,
        ping_interval: float,
    ) -> None:
        self._conninfo, self._channels, self._keywords = conninfo, channels, keywords
        self._reconnect_timeout, self._ping_interval = reconnect_timeout, ping_interval
        self._connection: Connection[Any] | None = None
        self._closed = False

    @property
    def connection(self) -> Connection[Any] | None:
        """The connection of now; None while there is none."""
        return self._connection

    def _open(self) -> Connection[Any]:
        """Opens the connection, with its subscriptions."""
        connection: Connection[Any] = connect(self._conninfo, autocommit=True, **self._keywords)
        try:
            for channel in self._channels:
                connection.listen(channel)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def __enter__(self: Self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the subscriptions, and closes the connection."""
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __iter__(self: Self) -> Self:
        return self

    def __next__(self) -> Notify | Missed:
        if self._closed:
            raise StopIteration
        connection = self._connection
        if connection is None:
            raise ProgrammingError("a listener is iterated over within its with block")
        try:
            while True:
                found: Notify | None = None
                for notify in connection.notifies(timeout=self._ping_interval, stop_after=1):
                    found = notify
                if found is not None:
                    return found
                # A connection whose other end is gone without a word is found out by asking.
                connection.ping(timeout=self._ping_interval)
        except _LOST as error:
            if self._closed:
                raise StopIteration from None
            return self._again(connection, error)

    def _again(self, lost: Connection[Any], why: Exception) -> Missed:
        """Opens the connection again. Raises the last error after ``reconnect_timeout`` seconds."""
        lost.close()
        began = time.monotonic()
        tries = 0
        while True:
            try:
                self._open()
            except _LOST:
                if time.monotonic() - began >= self._reconnect_timeout:
                    raise
            else:
                return Missed(why)
            delay = LISTEN_DELAYS[min(tries, len(LISTEN_DELAYS) - 1)]
            time.sleep(delay)
            tries += 1


def listen(
    conninfo: str,
    *channels: str,
    reconnect_timeout: float = LISTEN_RECONNECT,
    ping_interval: float = LISTEN_PING,
    **keywords: Any,
) -> Listener:
    """Subscribes to channels with a connection of its own, which is opened again after it was lost.

    Args:
        conninfo: a URL or keywords, as for ``connect``.
        channels: their names, as they are; they are quoted.
        reconnect_timeout: seconds for which a lost connection is tried to be opened again; then the iteration raises
            the error.
        ping_interval: seconds without a notification after which the connection is asked whether it is there.
        keywords: settings, as for ``connect``.

    Returns:
        A listener: a context manager, to be iterated over for :class:`headrace.types.Notify`, and for a
        :class:`headrace.types.Missed` wherever the connection was lost.

    Raises:
        ProgrammingError: there is no channel.
    """
    if not channels:
        raise ProgrammingError("listen() needs the name of a channel")
    names = tuple(checked_text(channel, "the name of a channel") for channel in channels)
    return Listener(conninfo, names, keywords, checked_seconds(reconnect_timeout), checked_seconds(ping_interval))
