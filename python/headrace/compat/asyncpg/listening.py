"""What comes unasked: notifications, notices, and the end of the connection, passed to functions of the program."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ... import errors
from ...postgres.names import quote_name
from ...types import Notice, Notify
from .exceptions import InterfaceError, InterfaceWarning, PostgresLogMessage, message_of
from .statements import _TASKS, Statements

Listener = Callable[[Any, int, str, object], Any]
"""Called with the connection, the process id of the sender, the channel and the payload."""


class Listening(Statements):
    """A connection, as far as it calls functions of the program."""

    _listeners: dict[str, list[Listener]]
    _log_listeners: list[Callable[[Any, PostgresLogMessage], Any]]
    _termination_listeners: list[Callable[[Any], Any]]
    _watching: asyncio.Task[None] | None
    _proxy: Any

    def _shown(self) -> Any:
        """The connection, as the program has it: a pool lends another object for it."""
        return self._proxy if self._proxy is not None else self

    def _call(self, callback: Callable[..., Any], *args: Any) -> None:
        if inspect.iscoroutinefunction(callback):
            task = self._loop.create_task(callback(*args))
            _TASKS.add(task)
            task.add_done_callback(_TASKS.discard)
            return
        try:
            callback(*args)
        except Exception as error:
            message = "Unhandled exception in asyncpg connection callback"
            self._loop.call_exception_handler({"message": f"{message} {callback!r}", "exception": error})

    # notifications

    async def add_listener(self, channel: str, callback: Listener) -> None:
        """Adds a function that is called with each notification of a channel.

        Args:
            channel: its name.
            callback: called with the connection, the sender's process id, the channel and the payload; it may be a
                coroutine function.
        """
        self._check_open()
        if not callable(callback):
            raise InterfaceError("the callback must be a callable or a coroutine function")
        if channel not in self._listeners:
            await self.execute(f"LISTEN {quote_name(channel)}")
            self._listeners[channel] = []
        if callback not in self._listeners[channel]:
            self._listeners[channel].append(callback)
        self._watch()

    async def remove_listener(self, channel: str, callback: Listener) -> None:
        """Removes a function of :meth:`add_listener`."""
        if self.is_closed() or callback not in self._listeners.get(channel, ()):
            return
        self._listeners[channel].remove(callback)
        if not self._listeners[channel]:
            del self._listeners[channel]
            await self.execute(f"UNLISTEN {quote_name(channel)}")

    def _watch(self) -> None:
        """Begins to wait for what comes unasked."""
        if self._watching is None and not self.is_closed():
            self._watching = self._loop.create_task(self._notifications())

    async def _notifications(self) -> None:
        wire = self._core.wire
        while not wire.closed:
            while (notify := self._core.notification()) is not None:
                self._notified(notify)
            waiting: Any = wire.notified()
            try:
                await waiting
            except errors.Error:
                break
            finally:
                wire.forget_notified(waiting)
        self._ended()

    def _notified(self, notify: Notify) -> None:
        for callback in tuple(self._listeners.get(notify.channel, ())):
            self._call(callback, self._shown(), notify.pid, notify.channel, notify.payload)

    # notices

    def add_log_listener(self, callback: Callable[[Any, PostgresLogMessage], Any]) -> None:
        """Adds a function that is called with the connection and each notice of the server."""
        if self.is_closed():
            raise InterfaceError("connection is closed")
        if not self._log_listeners:
            self._driver.add_notice_handler(self._noticed)
        if callback not in self._log_listeners:
            self._log_listeners.append(callback)

    def remove_log_listener(self, callback: Callable[[Any, PostgresLogMessage], Any]) -> None:
        """Removes a function of :meth:`add_log_listener`."""
        if callback in self._log_listeners:
            self._log_listeners.remove(callback)
            if not self._log_listeners:
                self._driver.remove_notice_handler(self._noticed)

    def _noticed(self, notice: Notice) -> None:
        message = message_of(dict(notice.fields))
        for callback in tuple(self._log_listeners):
            self._call(callback, self._shown(), message)

    # the end

    def add_termination_listener(self, callback: Callable[[Any], Any]) -> None:
        """Adds a function that is called with the connection when it has ended."""
        if callback not in self._termination_listeners:
            self._termination_listeners.append(callback)
        self._watch()

    def remove_termination_listener(self, callback: Callable[[Any], Any]) -> None:
        """Removes a function of :meth:`add_termination_listener`."""
        if callback in self._termination_listeners:
            self._termination_listeners.remove(callback)

    def _ended(self) -> None:
        """Calls the functions that wait for the end, once."""
        callbacks, self._termination_listeners = self._termination_listeners, []
        for callback in callbacks:
            self._call(callback, self._shown())

    def _left_listeners(self, stacklevel: int = 2) -> None:
        """Warns of functions that a borrower of a pool has left on its connection, and removes them."""
        notified = {callback for callbacks in self._listeners.values() for callback in callbacks}
        for what, count in (("notification", len(notified)), ("log", len(self._log_listeners))):
            if count:
                are = "listener" if count == 1 else "listeners"
                warnings.warn(
                    f"{self!r} is being released to the pool but has {count} active {what} {are}",
                    InterfaceWarning,
                    stacklevel=stacklevel + 1,
                )
        for callback in tuple(self._log_listeners):
            self.remove_log_listener(callback)
