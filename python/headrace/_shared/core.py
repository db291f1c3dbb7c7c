"""The state and the requests that connections of every database share, blocking or asyncio. Requests that wait are
flows (:mod:`.flows`)."""

from __future__ import annotations

import contextlib
import os
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .._native import ArrowSink, Wire, after_fork_in_child
from ..errors import Error, InterfaceError
from ..rows import RowFactory, tuple_row
from ..types import ParameterRows
from .arguments import row_maker
from .cancel_requests import CancelRequest
from .cursor_base import Column, Params
from .flows import PendingRequest
from .limits import Limit, seconds_left
from .transactions import Transactions

if TYPE_CHECKING:
    from ..sql import Statement
    from .loading import Loaders

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork_in_child)


def check_keywords(method: str, named: Mapping[str, Any]) -> None:
    """Raises TypeError for a query that was given its values by keywords."""
    if named:
        name = next(iter(named))
        raise TypeError(
            f"{method}() has no keyword {name!r}: it takes a query's values one by one, or where they are written "
            f"%({name})s one mapping, {method}(sql, {{{name!r}: ...}})"
        )


class Pipelined:
    """What a task or thread has submitted in a pipeline."""

    def __init__(self, number: int) -> None:
        self.number = number
        """Its number among the pipelines of the connection."""
        self.cursors: deque[Any] = deque()
        """Cursors whose results were not read."""
        self.left: deque[Any] = deque()
        """The same once the pipeline was left."""
        self.sync = True
        """True if each statement is a transaction of its own."""
        self.unanswered = False
        """True if it has statements without a Sync after them: their replies may stay in the server's buffer."""
        self.submitted = 0
        """Number of statements so far."""

    def is_due(self, every: int) -> bool:
        """Counts a statement; returns true for each one in ``every``."""
        self.submitted += 1
        return not self.submitted % every

    def leave(self, cursor: Any, left: Any) -> None:
        """A cursor gets another result: ``left`` stands for it where its last one is waited for."""
        cursors = self.cursors
        for at in range(len(cursors) - 1, -1, -1):
            if cursors[at] is cursor:
                cursors[at] = left
                return

    def resolved(self, cursor: Any) -> None:
        """There is nothing more to ask of a cursor whose result was waited for. They come in order as a rule: those
        that do not stay until the pipeline's end."""
        if self.cursors and self.cursors[0] is cursor:
            self.cursors.popleft()


class ExclusiveUse:
    """Something that has a connection for itself until it has ended."""

    ended = False
    watch: Any = None
    """A weak reference to the generator to which it belongs."""


class ExclusiveGuard:
    """Refuses statements of the thread that has something open on the connection: they would wait for their own thread.
    For :meth:`Wire.occupy`."""

    def __init__(self, core: Core, message: str) -> None:
        self._me = core.me
        self._message = message
        self._thread = core.me()

    def __call__(self) -> None:
        if self._me() == self._thread:
            raise InterfaceError(self._message)

    def pass_on(self) -> None:
        """The thread that runs now goes on with what is open."""
        self._thread = self._me()


class Core(Transactions):
    """State and flows of a connection."""

    __slots__ = (
        "command_timeout",
        "loaders",
        "me",
        "noticed",
        "pipelines",
        "registered",
        "run",
        "timing",
        "tuples",
        "wait",
        "watch",
        "way",
    )

    run: Callable[[Statement, Params, Any, bool, bool, Limit], Any]
    """``run`` of the engine, bound once: executes one statement in :attr:`way`, and waits for its result, which is the
    only item of a tuple if there are notices; on a loop it returns the future of the result. If the fourth argument is
    true only the first row of it is kept, if the fifth is only its rows, if any. The last is how long it may take."""
    way: Any
    """How statements are executed, which is each database's own: for most whether they begin a transaction."""

    def __init__(self, wire: Wire, timing: bool, command_timeout: float | None) -> None:
        super().__init__(wire)
        # Bound once: CPython specialises calls of a method by the exact type, and these are of a base class.
        self.wait = wire.wait
        self.noticed = wire.noticed
        """Not empty while there are notices: to look at a list takes a tenth of a call."""
        self.timing = timing
        self.command_timeout = command_timeout
        """Seconds that a call without a timeout may wait for the server; None is no limit."""
        self.loaders: Loaders | None = None
        """What makes objects of the values of some types; None for nothing."""
        self.registered = False
        """What a program has registered on the connection may be another than what a reset sets back."""
        self.tuples: RowFactory[Any] | None = tuple_row
        """The row factory of rows that stay as the engine makes them: None, which none is, where there are loaders."""
        self.pipelines: dict[Any, Pipelined] = {}
        """The pipelines that are open, by the task or thread that entered them."""
        self.me: Callable[[], Any] = threading.get_ident
        """The task or thread that runs now."""
        self.watch: Any = None
        """What ends a connection of a loop that waits for too long; the engine does so without one."""

    def seconds(self, limit: Limit) -> float | None:
        """The seconds of a limit, that of the connection where it is None."""
        return self.command_timeout if limit is None else seconds_left(limit)

    def refresh_begin(self) -> None:
        super().refresh_begin()
        # Once: other threads execute statements meanwhile.
        self.way = self.new_way()

    def new_way(self) -> Any:
        """How statements are executed from now on."""
        return self.begins

    # statements

    @abstractmethod
    def submit(self, sql: Statement, params: Params) -> PendingRequest[Any]:
        """Queues one statement."""

    @abstractmethod
    def submit_first(self, sql: Statement, params: Params) -> PendingRequest[Any]:
        """Queues one statement of whose result only the first row is kept."""

    @abstractmethod
    def submit_arrow(self, sql: Statement, params: Params, arrow: ArrowSink) -> PendingRequest[Any]:
        """Queues one statement whose rows become Arrow record batches."""

    @abstractmethod
    def submit_batch(self, sql: Statement, rows: ParameterRows, returning: bool) -> PendingRequest[Any]:
        """Queues a batch."""

    @abstractmethod
    def submit_script(self, sql: Statement) -> PendingRequest[Any]:
        """Queues text without parameters: one statement, or several."""

    def withdraw(self, interrupt: BaseException | None = None) -> None:
        """Takes back what this thread has queued last, if ``interrupt``, with which the call ends, came before anything
        was waited for. The statements of a pipeline are its own. Does nothing after an error of the server or the
        driver: then nothing of the call is left."""
        if isinstance(interrupt, Error) or self.wire.closed:
            return
        if not self.pipelines or self.pipeline() is None:
            with contextlib.suppress(Error):
                self.wire.withdraw()

    def forget(self, ticket: PendingRequest[Any]) -> None:
        """Discards the request of a ticket: it is not sent, or its reply is read and dropped."""
        if not self.wire.closed:
            with contextlib.suppress(Error):
                self.wire.discard(ticket)

    def round_trip(self) -> PendingRequest[Any]:
        """Queues a round trip that changes nothing."""
        return self.wire.verb("ping")[0]

    def settle(self) -> PendingRequest[Any]:
        """Queues a round trip that ends after all earlier requests."""
        return self.round_trip()

    # cancelling

    def cancel_password(self) -> Any:
        """The password, or the function that returns it, with which a session is opened that cancels; None where that
        needs none."""
        return None

    @abstractmethod
    def cancel_request(self, password: str | None) -> CancelRequest | None:
        """What makes the server end the statement that it executes; None where that cannot be ended any more."""

    @abstractmethod
    def describe(self, columns: Any) -> list[Column]:
        """PEP 249's description of a result."""

    def set_loaders(self, loaders: Loaders | None) -> None:
        """Loads the values of the results that are taken from now on."""
        self.loaders = loaders
        self.tuples = tuple_row if loaders is None else None

    def row_maker(self, factory: RowFactory[Any], columns: Any) -> Callable[[Any], Any] | None:
        """The function that makes rows of a result with these columns; None where they stay as they are."""
        make = None if factory is tuple_row else row_maker(factory, columns.names)
        return make if self.loaders is None else self.loaders.maker(self, columns, make)

    def notices(self) -> None:
        """Passes received notices to the handlers; does nothing for a database without notices."""
        return

    def without_notices(self, outcome: Any) -> Any:
        """The outcome of :attr:`run` without what says that there are notices, which are passed to the handlers."""
        if type(outcome) is tuple:
            self.notices()
            return outcome[0]  # pyright: ignore[reportUnknownVariableType]
        return outcome

    # pipelines

    def pipeline(self) -> Pipelined | None:
        """The pipeline of the task or thread that runs now. Worth a look only where ``pipelines`` has any."""
        return self.pipelines.get(self.me())

    def begin_pipeline(self, pipeline: Pipelined) -> None:
        """Begins a pipeline of this task or thread; statements of others are not part of it."""
        self.pipelines[self.me()] = pipeline

    def leave_pipeline(self, pipeline: Pipelined) -> deque[Any]:
        """Ends the pipeline; returns the cursors whose results were not read, none after a reset. Called again, after
        an interrupt, it returns the same."""
        for owner, open_pipeline in list(self.pipelines.items()):
            if open_pipeline is pipeline:
                none: deque[Any] = deque()
                # From here to the next line's end no interrupt can come.
                pipeline.left, pipeline.cursors = pipeline.cursors, none
                del self.pipelines[owner]
                break
        return pipeline.left

    def submit_pipelined(self, pipeline: Pipelined, sql: Statement, params: Params) -> PendingRequest[Any]:
        """Queues one statement of a pipeline."""
        return self.submit(sql, params)

    def submit_batch_pipelined(
        self, pipeline: Pipelined, sql: Statement, rows: ParameterRows, returning: bool
    ) -> PendingRequest[Any]:
        """Queues a batch of a pipeline."""
        return self.submit_batch(sql, rows, returning)

    def ask_for_answers(self, pipeline: Pipelined | None) -> PendingRequest[Any] | None:
        """Queues a request for the replies to the statements of a pipeline so far, if the server needs one; returns its
        ticket, or None."""
        return None

    @abstractmethod
    def where(self) -> str:
        """User, server and database, for messages."""


def timings(wire: Wire) -> dict[str, dict[str, int]]:
    """The counters by name."""
    return {name: {"count": count, "ns": ns} for name, count, ns in wire.counters()}


class Rollback(Exception):
    """Raise it inside a ``transaction()`` block to roll the block back, without an error outside."""

    def __init__(self, *args: object) -> None:
        # psycopg's Rollback(transaction) undoes an outer block: taken for an inner one's, it would commit the outer.
        if not all(argument is None or isinstance(argument, str) for argument in args):
            raise TypeError(
                "a Rollback undoes the block that it is raised in, and takes no transaction: to undo an outer block, "
                "raise an exception of your own through the inner ones and catch it around the outer one"
            )
        super().__init__(*args)
