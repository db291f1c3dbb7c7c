"""How a blocking connection waits for the server: within limits, and through interrupts; how it cancels, and ends.

Written for each shell: a thread waits inside the engine, may be interrupted between any two steps, and cancels what it
has left before it goes on; a task waits for a future, and a task of its own cancels.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
import warnings
import weakref
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

from .. import defaults, errors
from .._native import Discarded, Wire, use_shortcuts
from ..errors import ConnectionClosed, InterfaceError, OperationalError
from ..rows import RowFactory
from .connection_base import ConnectionBase
from .core import Core, ExclusiveGuard, ExclusiveUse
from .cursor import BlockingCursor
from .cursor_base import HANDED_OVER, NOTHING_TOLD, CursorBase
from .drops import forget, when_dropped
from .flows import Flow, PendingRequest
from .lease import NO_CORE, RETURNED
from .limits import (
    Limit,
    afresh,
    check_time,
    checked_seconds,
    overdue,
    seconds_left,
    seconds_to_cancel,
    unanswered_end,
    until,
)

R = TypeVar("R")
T = TypeVar("T")


class BlockingWaiting(ConnectionBase[R]):
    """What a blocking connection does differently from an asyncio one."""

    def __init__(self, core: Core, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        self._strict_close = False
        self._dropped = when_dropped(self, warn_dropped, weakref.ref(core.wire), core.where())
        self._left: tuple[int | None, float] | None = None
        self._ending: tuple[int, float] | None = None

    @abstractmethod
    def _send_cancel(self, seconds: float) -> float | None:
        """Requests the server to end what this connection runs, within ``seconds``. Returns the seconds after
        which to try again, if it cannot be sent yet."""

    # waiting

    def _wait(self, ticket: PendingRequest[T], limit: Limit) -> T:
        """Waits for the result of a ticket, within a limit. An interrupted or overdue request is cancelled before the
        error is raised."""
        core = self._core
        # Fetched as an attribute: as a method it would be looked for in the class first, at each statement.
        wait = core.wait
        if limit is None:
            limit = core.command_timeout
        try:
            try:
                if self._left is not None:
                    self._finish_cancelled(*self._left)
                if self._ending is not None:
                    self._finish_block(*self._ending, limit)
                result = wait(ticket) if limit is None else wait(ticket, seconds_left(limit))
            except TimeoutError:
                self._abandon(ticket)
                raise overdue(limit) from None
            except errors.Error:
                raise
            except BaseException:
                self._abandon(ticket)
                raise
        except BaseException:
            self._abandon_unless_done(ticket)
            raise
        if core.noticed:
            core.notices()
        return result

    def _unanswered(self, core: Core, error: BaseException, limit: Limit) -> None:
        """A call of ``core.run`` has ended with ``error``: abandons its statement, if that is in flight. Raises
        TimeoutError, if the time is up. In case of an interrupt in here, :meth:`_withdraw` is called after it.

        A statement outside of a pipeline is queued and waited for by one call of the engine, in the frame of the method
        that has been called.
        """
        if self._abandon_unfinished(core) and isinstance(error, TimeoutError):
            raise overdue(limit) from None

    def _withdraw(self, core: Core, error: BaseException) -> None:
        """Leaves nothing of a statement whose method ends with ``error``."""
        self._abandon_unfinished(core)
        core.withdraw(error)

    def _raise(self, core: Core, cursor: BlockingCursor[Any] | None, error: BaseException, limit: Limit) -> NoReturn:
        """Raises the error with which the engine's call has ended, for a shortcut: what its method does itself with
        it."""
        try:
            try:
                raise error
            except BaseException:
                if cursor is not None and isinstance(error, errors.DatabaseError):
                    cursor._failed(error)
                self._unanswered(core, error, limit)
                raise
        except BaseException as raised:
            self._withdraw(core, raised)
            raise
        finally:
            # Its traceback has this frame.
            del error

    def _look(self, cursor: BlockingCursor[Any], timeout: float) -> bool:
        """Waits ``timeout`` seconds for the result of a pipelined statement. Returns false if it is still in flight."""
        timeout = checked_seconds(timeout)
        ticket, cursor._pending = cursor._pending, None
        try:
            outcome = self._core.wait(ticket, timeout)
        except TimeoutError:
            cursor._pending = ticket
            return False
        except errors.DatabaseError as error:
            cursor._failed(error)
            raise
        except errors.Error:
            raise
        except BaseException:
            self._abandon(ticket)
            raise
        finally:
            if cursor._pending is None and cursor._pipeline is not None:
                cursor._pipeline.resolved(cursor)
        if self._core.noticed:
            self._core.notices()
        cursor._take(outcome)
        return True

    def _run(self, flow: Flow[T], limit: Limit = None) -> T:
        """Runs a flow to its end, within a limit for all of it. What it does after an error has as long again."""
        if self._core is NO_CORE and not is_collecting():
            raise InterfaceError(RETURNED)
        limit = until(limit)
        value: Any = None
        raised: BaseException | None = None
        ticket: Any = None
        try:
            while True:
                try:
                    while True:
                        ticket = flow.send(value) if raised is None else flow.throw(raised)
                        raised = None
                        value = self._wait(ticket, limit)
                        ticket = None
                except StopIteration as stop:
                    return stop.value  # type: ignore[no-any-return]
                except BaseException as error:
                    # An interrupt may come anywhere, also before anything was waited for: what is queued is sent in any
                    # case, or the end of a block would stay with its locks. And the flow is to undo what it has begun.
                    waited, ticket = ticket, None
                    if waited is not None and not isinstance(error, errors.Error):
                        # Nothing happens where that was done already.
                        self._abandon(waited)
                    if inspect.getgeneratorstate(flow) != inspect.GEN_SUSPENDED:
                        if not isinstance(error, (errors.Error, TimeoutError)):
                            self._send_unsent()
                        raise
                    raised = error
                    limit = afresh(limit)
        finally:
            # Its traceback has this frame.
            raised = None

    def _send_unsent(self) -> None:
        """Sends what an interrupt has left in the queue, its ticket lost."""
        wire = self._core.wire
        if not wire.closed and wire.queued():
            with contextlib.suppress(TimeoutError, errors.Error):
                wire.push(0, _patience())

    def _push(self, most: int, limit: Limit) -> None:
        """Sends what is queued but for ``most`` bytes, within a limit."""
        core = self._core
        check_time(limit)
        try:
            core.wire.push(most, core.seconds(limit))
        except TimeoutError:
            raise overdue(core.command_timeout if limit is None else limit) from None

    def _abandon(self, ticket: PendingRequest[Any]) -> None:
        """Gets the connection back in step after a request whose result is not needed any more, or closes it.

        If the server has only this request, it is cancelled. If requests of others were sent after it, a cancel request
        could end one of those: then it is executed to its end, and its reply is dropped.
        """
        if self._kept_by_pool is not None:
            # The lease may have ended meanwhile.
            self._kept_by_pool._abandon(ticket)
            return
        wire = self._core.wire
        if wire.closed:
            return
        try:
            patience = _patience()
            discarded, number = wire.abandon(ticket)
            if discarded == Discarded.ALONE:
                self._cancel_abandoned(number, patience)
            elif discarded == Discarded.GONE and number:
                with contextlib.suppress(TimeoutError):
                    # The end of a block is sent in any case: by this, or by the next request that waits.
                    wire.wait_until_answered(number, min(patience, defaults.CANCEL_AGAIN))
            elif discarded == Discarded.ENDING:
                # It is not cancelled: what comes next waits for it, but not for ever.
                self._ending = number, time.monotonic() + defaults.CANCEL_TIMEOUT
                with contextlib.suppress(TimeoutError):
                    wire.wait_until_answered(number, patience)
                    self._ending = None
        except BaseException as error:
            # Out of step, or an interrupt: only a closed connection is safe now.
            wire.close()
            if not isinstance(error, Exception):
                raise

    def _abandon_unfinished(self, core: Core) -> bool:
        """Abandons the statement of ``core.run`` if it is still in flight, however much of it was sent; returns true
        if it is."""
        wire = core.wire
        try:
            ticket = None if wire.closed else wire.unfinished()
            if ticket is not None:
                self._abandon(ticket)
        except BaseException:
            wire.close()
            raise
        return ticket is not None

    def _abandon_unless_done(self, ticket: PendingRequest[Any]) -> None:
        """Abandons a request that is still in flight: a signal has come before the first step of :meth:`_abandon`."""
        wire = self._core.wire
        try:
            if not wire.closed and wire.request_id(ticket) is not None:
                self._abandon(ticket)
        except BaseException:
            wire.close()
            raise

    def _cancel_abandoned(self, number: int | None, patience: float) -> None:
        """Cancels what the server works on, and waits for the end of request ``number``. A cancel request that came too
        early is repeated. Raises TimeoutError if the server does not react in CANCEL_TIMEOUT seconds; if ``patience``
        is less, the next request waits for the rest."""
        wire = self._core.wire
        now = time.monotonic()
        deadline, patient = now + defaults.CANCEL_TIMEOUT, now + patience
        released = False
        again = min(defaults.CANCEL_AGAIN, patience / 2)
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    wire.push(0, again)
                pause: float | None = None
                delivered = False
                with contextlib.suppress(OSError, errors.Error):
                    # A server that cannot be reached may end the statement before the deadline nevertheless.
                    pause = self._send_cancel(max(0.1, patient - time.monotonic()))
                    # The server may not have answered what the engine has sent before the request. A pause does not
                    # tell: an urgent byte may be on its way then, and is left to others.
                    delivered = not wire.is_cancel_early()
                pause = pause or again
                left = patient - time.monotonic()
                try:
                    wire.wait_until_answered(None, max(0.0, min(left, pause)))
                    break
                except TimeoutError:
                    if left > pause:
                        continue
                    if patient >= deadline or not delivered:
                        # A late one could end the next statement.
                        raise
                    wire.leave_to_others(number, deadline - time.monotonic())
                    self._left = (number, deadline)
                    released = True
                    return
        finally:
            if not released:
                wire.pause_requests(False)
        try:
            wire.wait_until_answered(number, max(0.0, patient - time.monotonic()))
        except TimeoutError:
            if patient >= deadline:
                raise

    def _finish_cancelled(self, number: int | None, deadline: float) -> None:
        """Waits for the end of a request that was interrupted. The server may not have begun with it when it was
        cancelled, so the cancel request is repeated."""
        wire = self._core.wire
        while not wire.closed and wire.has_left() and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(OSError, errors.Error):
                self._send_cancel(left)
            with contextlib.suppress(TimeoutError):
                wire.wait_until_answered(number, min(left, defaults.CANCEL_AGAIN))
        self._left = None

    def _finish_block(self, number: int, deadline: float, limit: Limit) -> None:
        """Waits for the end of a block whose caller has given up waiting, within the limit of the call that comes next.
        Closes the connection if it is not answered before the deadline."""
        wire = self._core.wire
        seconds = self._core.seconds(limit)
        left = deadline - time.monotonic()
        try:
            wire.wait_until_answered(number, max(0.0, left if seconds is None else min(left, seconds)))
        except TimeoutError:
            if deadline > time.monotonic():
                raise
            wire.give_up(unanswered_end())
        self._ending = None

    def _leave_later(self, flow: Flow[Any], interrupt: BaseException) -> None:
        """Queues the requests of a flow, which are sent with the next one: each of its waits is interrupted."""
        try:
            next(flow)
            while True:
                flow.throw(interrupt)
        except StopIteration:
            return
        except BaseException as raised:
            if raised is not interrupt:
                raise

    def _wait_for_end(self, ticket: PendingRequest[T], limit: Limit) -> T:
        """Waits for a request that is sent in any case: the end of a block."""
        return self._wait(ticket, limit)

    def _exclusive_guard(self, _opened: ExclusiveUse, message: str) -> ExclusiveGuard:
        """Refuses statements of this thread as long as the connection is occupied with it."""
        return ExclusiveGuard(self._core, message)

    # pipelines

    def _discard_results(self, cursors: Iterable[BlockingCursor[Any]], _end: Any) -> None:
        """Discards the unread results of a pipeline, and cancels the statement that the server executes: they are not
        needed after an interrupt or a timeout. One by one they would not be cancelled, as each has others after it."""

        def unread() -> Iterator[Any]:
            for cursor in cursors:
                ticket, cursor._pending = cursor._pending, None
                if ticket is not None:
                    yield ticket

        self._discard_requests(unread())

    def _discard_requests(self, tickets: Iterable[Any]) -> None:
        """Discards requests, and cancels the one of them that the server executes, or one that was discarded before."""
        if self._kept_by_pool is not None:
            self._kept_by_pool._discard_requests(tickets)
            return
        wire = self._core.wire
        try:
            for ticket in tickets:
                wire.discard(ticket)
            if not wire.closed and wire.pause_at_discarded():
                self._cancel_abandoned(None, _patience())
        except BaseException as error:
            # Out of step, or an interrupt: only a closed connection is safe now.
            wire.close()
            if not isinstance(error, Exception):
                raise

    # ending

    def cancel(self, *, timeout: float | None = None) -> None:
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
        deadline = time.monotonic() + limit
        try:
            while (pause := self._send_cancel(limit)) is not None and not wire.closed:
                if time.monotonic() >= deadline:
                    raise OperationalError(f"the server did not read a cancel request in {limit} s")
                # Earlier replies are read by the requests that wait for them, or here.
                wire.pump_once()
                time.sleep(pause)
        finally:
            wire.pause_requests(False)

    def close(self) -> None:
        """Closes the connection. The server rolls an open transaction back. Does nothing on a closed connection.

        Raises:
            ConnectionClosed: it is closed already, and was opened with ``strict_close=True``.
        """
        if self._strict_close and self.closed:
            raise ConnectionClosed("the connection is closed already")
        started = time.perf_counter_ns()
        self._core.note_close()
        self._core.wire.close()
        if self._core is not NO_CORE:
            forget(self._dropped)
        if self._core.timing:
            self._core.wire.count("close", time.perf_counter_ns() - started)


use_shortcuts(CursorBase, ConnectionBase, Core, HANDED_OVER, NOTHING_TOLD)


def warn_dropped(ref: weakref.ref[Wire], where: str) -> None:
    """Warns of a connection that was collected before it was closed. The socket is closed with the last reference to
    the engine, which may have been collected before."""
    wire = ref()
    if wire is not None and not wire.closed:
        warnings.warn(f"a connection ({where}) was dropped without close()", ResourceWarning, stacklevel=2)


def _patience() -> float:
    """Seconds to wait for the server to end what was abandoned. An interrupt is raised soon; a timeout when the
    connection is in step."""
    return min(defaults.INTERRUPT_PATIENCE, defaults.CANCEL_TIMEOUT) if is_interrupted() else defaults.CANCEL_TIMEOUT


def is_interrupted() -> bool:
    """Returns true if an interrupt is handled, and not an error: KeyboardInterrupt, or an exception of a signal
    handler."""
    error = sys.exc_info()[1]
    return error is not None and not isinstance(error, (Exception, GeneratorExit))


def is_collecting() -> bool:
    """Returns true if a generator is closed now: a stream that is left, which a reset has ended."""
    return isinstance(sys.exc_info()[1], GeneratorExit)


def result_of(ticket: Any) -> Any | None:
    """The result of a ticket, or None if there is none yet or it is an error."""
    return ticket.take_result()
