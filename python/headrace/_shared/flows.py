"""Flows of requests, written once for blocking and asyncio connections.

A flow is a generator. It yields tickets (blocking) or futures (asyncio) of :class:`headrace._native.Wire`, and is sent
their results; the two shells differ only in how they wait. No flow does I/O by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from ..errors import Error

if TYPE_CHECKING:
    import asyncio

    from .._native import Result, Ticket

T = TypeVar("T")
Flow = Generator[Any, Any, T]
"""Its requests have results of several types, and what is sent to a generator is of one type only: Any."""
PendingRequest: TypeAlias = "Ticket[T] | asyncio.Future[T]"
"""What is waited for: a ticket by a thread, a future by a task."""
Outcome: TypeAlias = "Result | list[Result]"
"""What a statement returns whose results may be several."""


def ask(request: partial[Any], asked: list[Any] | deque[Any]) -> None:
    """Queues a request of the engine, and appends its ticket. Python executes nothing in between, so no interrupt can
    come: a request whose ticket is lost would keep the connection occupied with rows that are never taken."""
    asked.extend(starmap(request, ((),)))


def each(tickets: Iterable[Any]) -> Flow[list[Any]]:
    """Waits for what was queued at once, and returns the results."""
    answers: list[Any] = []
    for ticket in tickets:
        answers.append((yield ticket))
    return answers


class Begun(Generic[T]):
    """A flow that has queued what it waits for first."""

    def __init__(self, flow: Flow[T]) -> None:
        self._flow = flow
        self._first: Any = None
        self._ended: tuple[T] | BaseException | None = None
        try:
            self._first = next(flow)
        except StopIteration as stop:
            self._ended = (stop.value,)
        except Exception as error:
            self._ended = error

    def is_interrupted(self) -> bool:
        """Returns true if it has ended by anything but an error of this package, maybe before it had queued anything:
        a signal handler may raise any exception."""
        return isinstance(self._ended, BaseException) and not isinstance(self._ended, Error)

    def rest(self) -> Flow[T]:
        """What is left of it."""
        if isinstance(self._ended, BaseException):
            raise self._ended
        if self._ended is not None:
            return self._ended[0]
        ticket = self._first
        try:
            while True:
                try:
                    value = yield ticket
                except BaseException as error:
                    ticket = self._flow.throw(error)
                else:
                    ticket = self._flow.send(value)
        except StopIteration as stop:
            return cast("T", stop.value)
