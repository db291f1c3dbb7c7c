"""How an asyncio connection waits for the server: within limits, through cancellations; how it cancels, and ends.

Written for each shell: a task waits for a future, and a task of its own cancels what was left; a thread waits inside
the engine, may be interrupted between any two steps, and cancels before it goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import warnings
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from ... import defaults, errors
from ..._native import Discarded, Wire, use_shortcuts
from ..._shared.connection_base import ConnectionBase
from ..._shared.core import Core, ExclusiveUse
from ..._shared.cursor_base import HANDED_OVER, NOTHING_TOLD, CursorBase
from ..._shared.drops import forget, when_dropped
from ..._shared.flows import Flow, PendingRequest
from ..._shared.lease import NO_CORE, RETURNED
from ..._shared.limits import (
    Limit,
    afresh,
    check_time,
    checked_seconds,
    overdue,
    seconds_to_cancel,
    unanswered_end,
    until,
)
from ..._shared.waiting import is_collecting
from ...errors import InterfaceError, OperationalError
from ...rows import RowFactory
from .cursor import LoopCursor
from .deadlines import Deadlines, Overdue, apart, is_overdue, look_at
from .exclusive import TaskExclusiveGuard
from .leftovers import Leftovers
from .watch import Watch
from .within import within

R = TypeVar("R")
T = TypeVar("T")


class LoopWaiting(ConnectionBase[R]):
    """What an asyncio connection does differently from a blocking one."""

    def __init__(self, core: Core, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        core.me = asyncio.current_task
        self._loop = asyncio.get_running_loop()
        # The loop holds the transport, and the transport the engine: nothing else would end the session. Not __del__:
        # a closed connection leaves nothing to run, in which an interrupt would be lost.
        self._dropped = when_dropped(self, close_dropped, weakref.ref(core.wire), self._loop, core.where())
        self._leftovers = Leftovers()
        self._watch: Watch | None = core.watch
        """What ends a connection on which nothing comes or goes for too long."""
        self._deadlines = Deadlines(self._loop, core.wire)
        self._turn = 0.0
        """When the loop's other tasks have their turn next, beside a COPY."""

    @abstractmethod
    async def _send_cancel(self, seconds: float) -> float | None:
        """Requests the server to end what this connection runs. The caller cancels it after ``seconds``. Returns the
        seconds after which to try again, if it cannot be sent yet."""

    # waiting

    async def _wait(self, future: PendingRequest[T], limit: Limit) -> T:
        core = self._core
        if self._watch is not None:
            self._watch.start()
        if limit is None:
            limit = core.command_timeout
        deadlines: Deadlines | None = None
        if limit is not None:
            # Not asyncio.wait() or asyncio.timeout(): each of them costs as much as a statement.
            deadlines = self._deadlines
            try:
                deadlines.begin(future, limit)
            except BaseException:
                self._abandon(future)
                raise
        try:
            result: Any = await future  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
        except Overdue as late:
            # It has this frame, which has the future, which has it: the connection would wait for the collector.
            late.__traceback__ = None
            self._abandon(future)
            raise overdue(limit) from None
        except asyncio.CancelledError:
            self._abandon(future)
            raise
        finally:
            if deadlines is not None:
                deadlines.end(future, None)
        if core.noticed:
            core.notices()
        return result  # type: ignore[no-any-return]

    def _unanswered(self, core: Core, future: Any, error: BaseException, limit: Limit) -> None:
        """The wait for the future of ``core.run`` has ended with ``error``; None where nothing was queued. Raises
        TimeoutError, if the time is up.

        A statement outside of a pipeline has its limit from the engine, and is awaited in the frame that has queued it:
        :meth:`_wait` is a coroutine of its own.
        """
        if future is None:
            return
        if isinstance(error, Overdue):
            # It has the caller's frame, which has the future, which has it: the connection would wait for the
            # collector.
            error.__traceback__ = None
            self._abandon(future)
            raise overdue(core.command_timeout if limit is None else limit) from None
        if isinstance(error, asyncio.CancelledError):
            self._abandon(future)

    def _raise(
        self, core: Core, cursor: LoopCursor[Any] | None, future: Any, error: BaseException, limit: Limit
    ) -> NoReturn:
        """Raises the error with which the wait for the future of ``core.run`` has ended, for a shortcut: what its
        method does itself with it."""
        try:
            if cursor is not None and isinstance(error, errors.DatabaseError):
                cursor._failed(error)
            self._unanswered(core, future, error, limit)
            raise error
        finally:
            # Its traceback has this frame.
            del error, future

    def _begin_reading(self) -> None:
        """A stream begins."""
        if self._watch is not None:
            self._watch.start()

    async def _look(self, cursor: LoopCursor[Any], timeout: float) -> bool:
        """Waits ``timeout`` seconds for the result of a pipelined statement. Returns false if it is still in flight."""
        if not (await asyncio.wait([cursor._pending], timeout=checked_seconds(timeout)))[0]:
            return False
        await cursor._resolve(None)
        return True

    async def _wait_for_end(self, future: PendingRequest[T], limit: Limit) -> T:
        """Waits for a request that is sent even if the task is cancelled: the end of a block."""
        try:
            return await self._wait(apart(future), limit)
        except TimeoutError:
            self._abandon(future)
            raise

    async def _run(self, flow: Flow[T], limit: Limit = None) -> T:
        if self._core is NO_CORE and not is_collecting():
            raise InterfaceError(RETURNED)
        limit = until(limit)
        try:
            future = next(flow)
            while True:
                try:
                    value = await self._wait(future, limit)
                except BaseException as error:
                    limit = afresh(limit)
                    future = flow.throw(error)
                else:
                    future = flow.send(value)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _abandon(self, future: Any) -> None:
        """Abandons a request. If the server executes it and has no other, a cancel request is sent, and no request is
        started before that was processed: it must not end another statement."""
        if self._kept_by_pool is not None:
            # The lease may have ended meanwhile.
            self._kept_by_pool._abandon(future)
            return
        wire = self._core.wire
        if future.done() and not future.cancelled() and not is_overdue(future):
            # Answered in the iteration of the loop in which its wait ended.
            look_at(future)
        elif not wire.closed:
            discarded, number = wire.abandon(future)
            if discarded == Discarded.ALONE:
                self._start_cancel()
            elif discarded == Discarded.ENDING:
                self._leftovers.start(self._finish_block(number))

    def _start_cancel(self) -> None:
        self._leftovers.start(self._cancel_current())

    async def _finish_block(self, number: int) -> None:
        """Waits for the end of a block whose task has given up waiting. Closes the connection if it is not answered in
        time: it is not cancelled, and what comes next would wait for ever."""
        wire = self._core.wire
        loop = asyncio.get_running_loop()
        deadline = loop.time() + defaults.CANCEL_TIMEOUT
        while not wire.closed and wire.is_unanswered(number):
            if loop.time() >= deadline:
                wire.give_up(unanswered_end())
            else:
                await asyncio.sleep(defaults.CANCEL_CHECK)

    async def _cancel_current(self) -> None:
        """Cancels the statement that the server executes; closes the connection if it does not react."""
        wire = self._core.wire
        loop = asyncio.get_running_loop()
        deadline = loop.time() + defaults.CANCEL_TIMEOUT
        try:
            while not wire.closed:
                pause: float | None = None
                with contextlib.suppress(OSError, errors.Error, TimeoutError):
                    # A server that cannot be reached may end the statement before the deadline nevertheless.
                    left = max(0.0, deadline - loop.time())
                    pause = await within(left, self._send_cancel(left))
                if await self._left_discarded(min(deadline, loop.time() + (pause or defaults.CANCEL_AGAIN))):
                    return
                if loop.time() >= deadline:
                    limit = defaults.CANCEL_TIMEOUT
                    wire.give_up(
                        f"the connection was closed: the server did not react to a cancel request within {limit} s"
                    )
        finally:
            wire.pause_requests(False)

    async def _left_discarded(self, deadline: float) -> bool:
        """Returns true if the cancelled request has ended before the deadline. Otherwise the cancel request may have
        come too early, and is repeated."""
        loop = asyncio.get_running_loop()
        pause = defaults.CANCEL_CHECK / 64
        while not self._core.wire.closed and self._core.wire.at_discarded():
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, defaults.CANCEL_CHECK)
        return True

    async def _send_off(self, limit: Limit) -> None:
        """Waits until what was written has gone to the transport. A server that takes everything at once lets nothing
        wait: the loop's other tasks have their turn in between all the same."""
        check_time(limit)
        await self._wait(self._core.wire.drained(), limit)
        if time.monotonic() >= self._turn:
            await asyncio.sleep(0)
            self._turn = time.monotonic() + defaults.FLUSH_TURN

    def _exclusive_guard(self, opened: ExclusiveUse, message: str) -> TaskExclusiveGuard:
        """Refuses statements of this task until ``opened`` has ended."""
        return TaskExclusiveGuard(opened, message)

    # pipelines

    def _discard_results(self, cursors: Iterable[LoopCursor[Any]], end: Any) -> None:
        """Discards the unread results of a pipeline, and cancels the statement that the server executes: they are not
        needed after a cancellation or a timeout. One by one they would not be cancelled, as each has others after it.
        ``end`` is the Sync after them, or None."""
        if end is not None:
            end.add_done_callback(look_at)
        futures: list[Any] = []
        for cursor in cursors:
            future, cursor._pending = cursor._pending, None
            if future is not None:
                futures.append(future)
        self._discard_requests(futures)

    def _discard_requests(self, futures: Iterable[Any]) -> None:
        """Discards requests, and cancels the one of them that the server executes, or one that was discarded before."""
        if self._kept_by_pool is not None:
            self._kept_by_pool._discard_requests(futures)
            return
        wire = self._core.wire
        for future in futures:
            if future.done():
                look_at(future)
            else:
                wire.discard(future)
        if not wire.closed and wire.pause_at_discarded():
            self._start_cancel()

    # ending

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Requests the server to cancel the statement that this connection executes. Does nothing if there is none.

        May be called by any thread, or by another task. The cancelled call raises QueryCanceled.

        Args:
            timeout: seconds for the cancel request; None for :data:`headrace.defaults.CANCEL_TIMEOUT`.

        Raises:
            OperationalError: the server did not accept the request in time, or could not be reached.
            NotSupportedError: the connection is to Informix and uses TLS.
        """
        wire = self._core.wire
        if wire.closed:
            return
        limit = seconds_to_cancel(timeout)
        # No request is started in the meantime: the cancel request could end it instead of the current one.
        wire.pause_requests(True)

        async def send() -> None:
            while (pause := await self._send_cancel(limit)) is not None and not wire.closed:
                await asyncio.sleep(pause)

        try:
            await within(limit, send())
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {limit} s") from None
        finally:
            wire.pause_requests(False)

    async def close(self) -> None:
        """Closes the connection. The server rolls an open transaction back. Does nothing on a closed connection.

        It may be called on another event loop, too: it then returns without waiting for the connection's own.
        """
        if self._core is NO_CORE:
            return
        started = time.perf_counter_ns()
        forget(self._dropped)
        self._core.note_close()
        if asyncio.get_running_loop() is self._loop:
            self._end()
        else:
            close_elsewhere(self._loop, self._end)
        if self._core.timing:
            self._core.wire.count("close", time.perf_counter_ns() - started)

    def _end(self) -> None:
        self._leftovers.cancel()
        self._deadlines.stop()
        self._core.wire.close()


use_shortcuts(CursorBase, ConnectionBase, Core, HANDED_OVER, NOTHING_TOLD)


def close_elsewhere(loop: asyncio.AbstractEventLoop, close: Callable[[], None]) -> None:
    """Closes a connection of ``loop``, which is not the one that runs here."""
    # A loop that is closed takes no callback; the transport goes with the last reference to it.
    with contextlib.suppress(RuntimeError):
        if loop.is_running():
            loop.call_soon_threadsafe(close)
        else:
            close()


def close_dropped(ref: weakref.ref[Wire], loop: asyncio.AbstractEventLoop, where: str) -> None:
    """Closes a session whose connection was collected, in whichever thread that was. Where the engine was collected
    with it, so was the socket."""
    wire = ref()
    if wire is None or wire.closed:
        return
    close_elsewhere(loop, wire.close)
    warnings.warn(f"an asyncio connection ({where}) was dropped without close()", ResourceWarning, stacklevel=2)


def result_of(future: asyncio.Future[Any]) -> Any | None:
    """The result of a future, or None if there is none yet or it is an error."""
    return future.result() if future.done() and not future.cancelled() and future.exception() is None else None
