"""A pool of blocking connections, for threads."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from . import defaults
from ._shared.arguments import checked_callable, checked_mapping
from ._shared.limits import checked_seconds
from ._shared.modes import ResetMode
from ._shared.pool_checks import IS_OPEN, check_connection, copy_of_error
from ._shared.pool_queries import PoolQueries
from ._shared.pool_settings import PoolStats, Settings
from ._shared.pool_work import PoolConnection, PoolWork, Waiter, commit, end_dropped, maintain
from .errors import PoolClosed, ProgrammingError
from .types import TransactionStatus

if TYPE_CHECKING:
    # What type checkers alone need: the default of a type variable (PEP 696), and keywords with their types (PEP 692).
    from typing import Generic

    from typing_extensions import Protocol, TypedDict, TypeVar, Unpack

    from .postgres.connection import Connection
    from .rows import Row, RowFactory

__all__ = ["ConnectionPool", "PoolConnection", "PoolStats"]


if TYPE_CHECKING:
    C = TypeVar("C", bound=PoolConnection, default=Connection[Any])
    C_co = TypeVar("C_co", bound=PoolConnection, covariant=True)
    R = TypeVar("R")
    R_contra = TypeVar("R_contra", contravariant=True)

    class Connects(Protocol[R_contra, C_co]):
        """A ``connect`` whose connections return the rows that a row factory makes."""

        def __call__(self, conninfo: str, /, *, row_factory: RowFactory[R_contra]) -> C_co:
            """Opens a connection."""
            ...

    class PoolOptions(TypedDict, Generic[C], total=False):
        """The other keywords of a pool."""

        kwargs: dict[str, Any] | None
        min_size: int
        max_size: int
        timeout: float
        max_lifetime: float | None
        max_idle: float | None
        max_waiting: int
        reset: ResetMode
        configure: Callable[[C], object] | None
        check: Callable[[C], object] | None
        on_checkout: Callable[[C], object] | None
        reconnect_timeout: float | None
        backoff: float
        backoff_max: float
        name: str
        open: bool
else:
    from typing import TypeVar

    C = TypeVar("C", bound=PoolConnection)

_IDLE = TransactionStatus.IDLE


class ConnectionPool(PoolQueries, PoolWork[C]):
    """Lends connections to threads, the longest waiting first.

    ``with pool.connection() as conn:`` commits at the end of the block and rolls back when it raises an exception. A
    connection is checked before it is lent (its age and its socket, without a round trip), and reset when it is
    returned, in the thread that returns it: with ``reset="rollback"`` an open transaction is rolled back, with
    ``"discard"`` all state of the session is discarded, with ``"none"`` nothing is done to the session. Attributes of
    the connection are set back in any case. One in an unknown state is closed, and never lent again.

    Defaults are in :mod:`headrace.defaults`. A pool that was opened before a fork raises PoolClosed in the child.
    Changes that ``configure``, ``check`` and ``on_checkout`` leave uncommitted are committed.

    Args:
        conninfo: passed to ``connect``.
        kwargs: keywords for ``connect``.
        connect: a callable that returns a :class:`PoolConnection`; None for :func:`headrace.connect`. It is called for
            every connection to the server, and so is a password function.
        row_factory: passed to ``connect``: converts rows, see :mod:`headrace.rows`; None for tuples.
        min_size: connections that are kept open.
        max_size: connections that are opened at most.
        timeout: seconds that a request waits.
        max_lifetime: seconds after which a connection is replaced; checked when it is lent and every few seconds. None
            for no limit.
        max_idle: seconds after which an idle connection is closed, if ``min_size`` does not need it; None for no limit.
        max_waiting: requests that may wait; 0 for any number.
        reconnect_timeout: seconds of failed attempts after which the pool stops connecting until the next request, and
            waiting requests raise PoolTimeout; None for no limit.
        backoff: seconds of the first pause between attempts to connect.
        backoff_max: seconds of the longest pause.
        reset: what is reset when a connection is returned: ``rollback``, ``discard`` or ``none``.
        configure: called with each new connection, and again after each reset that discards what it has set.
        check: called with each connection before it is lent; if it raises an exception, another connection is tried.
        on_checkout: called with each connection before it is lent; its exception is raised by :meth:`connection`.
        name: the name in errors, warnings and threads.
        open: open the pool now, and not in :meth:`open` or ``with``.

    Raises:
        ProgrammingError: a setting is not valid.
    """

    @overload
    def __init__(
        self: ConnectionPool[Connection[Row]],
        conninfo: str = "",
        *,
        connect: None = None,
        row_factory: None = None,
        **options: Unpack[PoolOptions[Connection[Row]]],
    ) -> None: ...
    @overload
    def __init__(
        self: ConnectionPool[Connection[R]],
        conninfo: str = "",
        *,
        connect: None = None,
        row_factory: RowFactory[R],
        **options: Unpack[PoolOptions[Connection[R]]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        conninfo: str = "",
        *,
        connect: Callable[..., C],
        row_factory: None = None,
        **options: Unpack[PoolOptions[C]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        conninfo: str = "",
        *,
        connect: Connects[R, C],
        row_factory: RowFactory[R],
        **options: Unpack[PoolOptions[C]],
    ) -> None: ...
    def __init__(
        self,
        conninfo: str = "",
        *,
        kwargs: dict[str, Any] | None = None,
        connect: Callable[..., Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
        min_size: int = defaults.POOL_MIN_SIZE,
        max_size: int = defaults.POOL_MAX_SIZE,
        timeout: float = defaults.POOL_TIMEOUT,
        max_lifetime: float | None = defaults.POOL_MAX_LIFETIME,
        max_idle: float | None = defaults.POOL_MAX_IDLE,
        max_waiting: int = defaults.POOL_MAX_WAITING,
        reset: ResetMode = "rollback",
        configure: Callable[[Any], object] | None = None,
        check: Callable[[Any], object] | None = None,
        on_checkout: Callable[[Any], object] | None = None,
        reconnect_timeout: float | None = defaults.POOL_RECONNECT_TIMEOUT,
        backoff: float = defaults.POOL_BACKOFF_FIRST,
        backoff_max: float = defaults.POOL_BACKOFF_MAX,
        name: str = "headrace-pool",
        open: bool = True,
    ) -> None:
        make: Callable[..., Any] = checked_callable(connect or _connect, "connect")
        for called, what in ((configure, "configure"), (check, "check"), (on_checkout, "on_checkout")):
            checked_callable(called or make, what)
        settings = Settings(
            min_size,
            max_size,
            timeout,
            max_lifetime,
            max_idle,
            max_waiting,
            reset,
            reconnect_timeout,
            backoff,
            backoff_max,
        )
        keywords = {
            **checked_mapping(kwargs, "kwargs"),
            **({} if row_factory is None else {"row_factory": row_factory}),
        }
        super().__init__(name, lambda: make(conninfo, **keywords), configure, settings)
        self._check = check
        self._on_checkout = on_checkout
        self._hooked = check is not None or on_checkout is not None
        if open:
            self.open()

    # opening

    def open(self) -> None:
        """Opens the pool. Connections are opened in the background. Does nothing if it is open.

        Raises:
            PoolClosed: it was opened before a fork, of which this process is the child.
        """
        if self._core.closed:
            # Nothing of a closed pool is alive in a child process but its settings.
            self._pid = os.getpid()
        self._check_process()
        with self._lock:
            if not self._core.closed:
                return
            self._core.open(time.monotonic())
            work = self._settle()
            self._wake = threading.Event()
        weakref.finalize(self, self._wake.set)
        self._dropped = weakref.finalize(self, end_dropped, self._core.idle, self._pid, repr(self.name))
        self._dropped.atexit = False
        threading.Thread(
            target=maintain, args=(weakref.ref(self), self._wake), name=f"{self.name}-maintenance", daemon=True
        ).start()
        self._perform(work)

    def _check_process(self) -> None:
        # Before the lock is touched: another thread may have held it when the process forked.
        if self._pid != os.getpid():
            raise PoolClosed("the pool was opened before a fork; every process needs a pool of its own")

    # lending

    def getconn(self, timeout: float | None = None) -> C:
        """Lends a connection, which :meth:`putconn` returns. Safe for threads or tasks.

        Args:
            timeout: seconds to wait; None for the pool's ``timeout``.

        Returns:
            A connection.

        Raises:
            PoolTimeout: no connection within ``timeout`` seconds; the message has the last error of connecting.
            PoolClosed: the pool is closed.
            TooManyRequests: ``max_waiting`` requests wait already.
            Error: the error of connecting, at once, if the pool never had a connection and waiting does not help (a
                wrong keyword, password, database or host).
        """
        if self._pid != os.getpid():
            self._check_process()
        if timeout is not None:
            timeout = checked_seconds(timeout)
        if self._hooked:
            return self._getconn_hooked(timeout)
        return self._getconn(timeout)

    def _getconn(self, timeout: float | None, said: float | None = None) -> C:
        core = self._core
        waiter: Waiter[C] | None = None
        with self._lock:
            now = time.monotonic()
            connection = core.checkout(now)
            if connection is not None and not core.actions:
                return connection
            if connection is None:
                waiter = Waiter()
                core.enqueue(waiter, now)
            work = self._settle()
        try:
            self._perform(work)
            if connection is not None:
                return connection
            assert waiter is not None
            limit = core.settings.timeout if timeout is None else timeout
            got = waiter.ready.acquire(timeout=min(max(limit, 0.0), threading.TIMEOUT_MAX))
        except BaseException:
            # Ctrl-C: what was handed over meanwhile goes back.
            with self._lock:
                now = time.monotonic()
                handed = connection
                if waiter is not None and not core.cancel(waiter, now):
                    handed = waiter.connection
                if handed is not None:
                    core.refuse(handed, now)
                work = self._settle()
            self._perform(work)
            raise
        if not got:
            with self._lock:
                error = core.expire(waiter, time.monotonic(), limit if said is None else said)
            if error is not None:
                raise error
        # Set under the lock before ``ready`` was released, or before ``expire`` returned that it waits no more.
        if waiter.error is not None:
            raise waiter.error
        assert waiter.connection is not None
        return waiter.connection

    def _getconn_hooked(self, timeout: float | None) -> C:
        limit = self._core.settings.timeout if timeout is None else timeout
        deadline = time.monotonic() + limit
        while True:
            connection = self._getconn(max(0.0, deadline - time.monotonic()), limit)
            try:
                if self._check is not None:
                    self._check(connection)
                    commit(connection)
            except Exception as error:
                self._discard(connection, error)
                if time.monotonic() >= deadline:
                    with self._lock:
                        overdue = self._core.timed_out(limit, error)
                    raise overdue from error
                continue
            except BaseException as error:
                self._discard(connection, error)
                raise
            try:
                if self._on_checkout is not None:
                    self._on_checkout(connection)
                    commit(connection)
            except BaseException as error:
                self._discard(connection, error)
                raise
            return connection

    def _discard(self, connection: C, error: BaseException) -> None:
        self._report(self._core.discard, connection, error)
        self._wake.set()

    def putconn(self, connection: C) -> None:
        """Takes a connection back: resets it, or closes it if its state is unknown.

        Args:
            connection: one that this pool has lent.

        Raises:
            ProgrammingError: this pool has not lent it, or it was returned already.
        """
        if self._pid != os.getpid():
            self._check_process()
        check_connection(connection)
        self._give_back(connection, connection.transaction_status, "none")

    def _give_back(self, connection: C, status: TransactionStatus, at_least: ResetMode) -> None:
        # The status was asked for without the lock: a connection that another thread still uses may make us wait.
        core = self._core
        with self._lock:
            mode = core.checkin(connection, status, time.monotonic(), at_least)
            whole = connection if mode is None else core.to_reset(connection)
            work = self._settle() if core.actions or self._watchers else None
        if work:
            self._perform(work)
        if mode is None:
            return
        fit = False
        try:
            with contextlib.suppress(Exception):
                fit = self._reset(whole, mode)
        finally:
            self._report(core.reset_done, connection, fit)

    def connection(self, timeout: float | None = None) -> AbstractContextManager[C]:
        """Opens a block with a connection: commits at its end, and rolls back when it raises an exception.

        Args:
            timeout: seconds to wait; None for the pool's ``timeout``.

        Returns:
            A context manager; its value is the connection.

        Raises:
            PoolTimeout: no connection within ``timeout`` seconds; the message has the last error of connecting.
            PoolClosed: the pool is closed.
            TooManyRequests: ``max_waiting`` requests wait already.
            Error: the error of connecting, at once, if the pool never had a connection and waiting does not help (a
                wrong keyword, password, database or host).
        """
        return _Lease(self, timeout)

    # looking after

    def wait(self, timeout: float = defaults.POOL_TIMEOUT) -> None:
        """Waits until ``min_size`` connections are open.

        Args:
            timeout: seconds to wait.

        Raises:
            PoolTimeout: they were not open in time; the message has the last error of connecting.
            PoolClosed: the pool is closed.
            Error: the error of connecting, as for :meth:`getconn`.
        """
        self._check_process()
        core = self._core
        deadline = time.monotonic() + checked_seconds(timeout)
        self._report(core.encourage)
        with self._watching():
            while not core.full:
                if core.closed:
                    raise PoolClosed("the pool is not open")
                if core.mistake is not None:
                    raise copy_of_error(core.mistake)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise core.timed_out(timeout)
                self._changed.wait(min(left, threading.TIMEOUT_MAX))

    @contextlib.contextmanager
    def _watching(self) -> Any:
        with self._lock:
            self._watchers += 1
            try:
                yield
            finally:
                self._watchers -= 1

    def resize(self, min_size: int, max_size: int | None = None) -> None:
        """Changes the number of connections. Those that are too many are closed when they are not in use.

        Args:
            min_size: connections that are kept open, at least 0.
            max_size: connections at most; None to keep it, or to raise it to ``min_size``.

        Raises:
            ProgrammingError: the numbers are not valid.
        """
        self._report(self._core.resize, self._core.settings.resized(min_size, max_size))

    def drain(self) -> None:
        """Replaces every connection, for example after a failover: idle ones at once, others when they are returned."""
        self._report(self._core.drain)

    def stats(self) -> PoolStats:
        """Returns a snapshot of the pool.

        Returns:
            Counts of connections and requests.
        """
        with self._lock:
            return self._core.stats()

    @property
    def closed(self) -> bool:
        """True if the pool is not open."""
        return self._core.closed

    def close(self, timeout: float = defaults.POOL_CLOSE_TIMEOUT) -> None:
        """Closes the pool. Waiting requests raise PoolClosed.

        It raises no error. In the child of a fork it does nothing: the sockets belong to the parent.

        Args:
            timeout: seconds for lent connections to be returned; then they are closed, too.
        """
        if self._pid != os.getpid():
            return
        deadline = time.monotonic() + checked_seconds(timeout)
        with self._lock:
            if self._core.closed:
                return
            self._core.close(time.monotonic())
            work = self._settle()
            self._wake.set()
        if self._dropped is not None:
            self._dropped.detach()
        try:
            self._perform(work)
            with self._watching():
                while self._core.in_use and (left := deadline - time.monotonic()) > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
        finally:
            with self._lock:
                self._core.sever()
                work = self._settle()
            self._perform(work)
        deadline = max(deadline, time.monotonic() + (defaults.POOL_SEVER_TIMEOUT if work else 0.0))
        with self._starting:
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, min(deadline - time.monotonic(), threading.TIMEOUT_MAX)))

    def __enter__(self) -> ConnectionPool[C]:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        s = self._core.stats()
        state = "closed" if self.closed else f"{s.in_use} of {s.size} in use, at most {s.max_size}, {s.waiting} waiting"
        return f"<{type(self).__module__}.{type(self).__name__} {self.name!r} [{state}]>"


class _Lease(AbstractContextManager[C]):
    """The context manager of ``connection()``. A class, not a generator: it costs a third."""

    __slots__ = ("_connection", "_is_open", "_pool", "_timeout")

    def __init__(self, pool: ConnectionPool[C], timeout: float | None) -> None:
        self._pool = pool
        self._timeout = timeout
        self._is_open = False

    def __enter__(self) -> C:
        if self._is_open:
            # Two threads with one block: the end of the first would commit and return what the second works with.
            raise ProgrammingError(IS_OPEN)
        self._is_open = True
        try:
            self._connection = connection = self._pool.getconn(self._timeout)
        except BaseException:
            self._is_open = False
            raise
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        pool, connection = self._pool, self._connection
        del self._connection
        self._is_open = False
        status = connection.transaction_status
        if kind is None and status != _IDLE:
            try:
                pool._core.check_severed(connection)
                if connection.lost or not connection.closed:
                    connection.commit()
            except BaseException:
                pool._give_back(connection, connection.transaction_status, "rollback")
                raise
            status = connection.transaction_status
        pool._give_back(connection, status, "none" if kind is None else "rollback")


def _connect(conninfo: str, **kwargs: Any) -> Any:
    from . import connect

    return connect(conninfo, **kwargs)
