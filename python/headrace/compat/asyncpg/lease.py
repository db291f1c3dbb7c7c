"""The places of a pool, and what it lends in place of a connection, which ends when that was given back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from . import exceptions
from .connection import Connection
from .exceptions import InterfaceError

if TYPE_CHECKING:
    from .pool import Pool


class PoolConnectionProxy:
    """A borrowed connection. Its attributes are those of the connection, until it is given back."""

    __slots__ = ("__weakref__", "_con", "_holder", "_returned")

    def __init__(self, holder: PoolConnectionHolder, con: Any) -> None:
        self._holder = holder
        self._con: Any = con
        self._returned = False

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        # Programs ask whether what they were lent is a connection.
        kind: Any = Connection
        return kind if self._con is None else self._con.__class__

    def __getattr__(self, name: str) -> Any:
        con = self._con
        if con is None:
            # A method that raises where it is called, as it may be looked up long before.
            if callable(getattr(Connection, name, None)):
                raise InterfaceError(f"cannot call Connection.{name}(): connection has been released back to the pool")
            raise AttributeError(name)
        return getattr(con, name)

    def _detach(self) -> None:
        self._con = None

    def __repr__(self) -> str:
        if self._con is None:
            return f"<PoolConnectionProxy [released] {id(self):#x}>"
        return f"<PoolConnectionProxy {self._con!r} {id(self):#x}>"


class PoolConnectionHolder:
    """A place of a pool: one connection at a time, or none yet."""

    __slots__ = ("_con", "_generation", "_in_use", "_opening", "_pool", "_proxy", "_timeout", "_timer", "_uses")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._con: Any = None
        self._proxy: PoolConnectionProxy | None = None
        self._in_use: asyncio.Future[None] | None = None
        """Done when the borrower has given the connection back."""
        self._timer: asyncio.TimerHandle | None = None
        self._timeout: float | None = None
        self._uses = 0
        self._generation = 0
        self._opening = asyncio.Lock()

    def is_connected(self) -> bool:
        """Returns true if it has an open connection."""
        return self._con is not None and not self._con.is_closed()

    def is_idle(self) -> bool:
        """Returns true if nobody has borrowed its connection."""
        return self._in_use is None

    async def connect(self) -> None:
        """Opens the connection."""
        if self._con is not None:
            raise exceptions.InternalClientError("connect() was called while another connection exists")
        # Settings that are changed meanwhile are not those that it is opened with.
        generation = self._pool._generation
        self._con = await self._pool._new_connection()
        self._con.add_termination_listener(self._lost)
        self._generation = generation
        self._uses = 0

    async def ensure_connected(self) -> None:
        """Opens the connection if there is none."""
        async with self._opening:
            if not self.is_connected():
                self._con = None
                await self.connect()

    async def acquire(self) -> PoolConnectionProxy:
        """Lends the connection, which is opened if there is none; after an error the place is free again."""
        try:
            await self.ensure_connected()
            if self._generation != self._pool._generation:
                # It was open when the pool's connections expired.
                stale, self._con = self._con, None
                stale.remove_termination_listener(self._lost)
                self._pool._start(stale.close(timeout=self._timeout))
                await self.ensure_connected()
        except BaseException:
            self._pool._put(self)
            raise
        self._stop_timer()
        con = self._con
        self._proxy = con._proxy = proxy = PoolConnectionProxy(self, con)
        self._in_use = self._pool._loop.create_future()
        if self._pool._setup is not None:
            await self._set_up(proxy, con)
        return proxy

    async def _set_up(self, proxy: PoolConnectionProxy, con: Any) -> None:
        try:
            assert self._pool._setup is not None, "looked at by the caller"
            await self._pool._setup(proxy)
        except BaseException as error:
            # What it has done to the session is not known.
            try:
                if isinstance(error, Exception):
                    con.terminate()
                else:
                    await con.close()
            finally:
                # Once the connection has ended the place may be somebody else's.
                if self._proxy is proxy:
                    self._free()
                    self._con = None
                raise error
        if self._proxy is not proxy:
            raise exceptions.ConnectionDoesNotExistError("the connection has ended while it was set up")

    async def release(self, proxy: PoolConnectionProxy, timeout: float | None) -> None:
        """Takes the connection back, resets it, and closes it if its time has come."""
        if self._proxy is not proxy or proxy._returned:
            # It has ended since the borrower gave it back, which freed the place: somebody else may have that. Or it is
            # given back twice at once.
            return
        proxy._returned = True
        con = self._con
        if con is None or con.is_closed():
            self._free()
            return
        self._uses += 1
        if self._generation != self._pool._generation or (
            self._pool._max_queries and self._uses >= self._pool._max_queries
        ):
            await self._close(proxy, timeout)
            return
        try:
            con._left_listeners()
            if self._pool._reset is not None:
                await asyncio.wait_for(self._reset_by_program(con), timeout)
            else:
                await asyncio.wait_for(con.reset(), timeout)
        except (Exception, asyncio.CancelledError):
            # What is left in the session is not known.
            con.terminate()
            raise
        finally:
            if self._proxy is proxy:
                self._free()
        self._start_timer()

    async def _reset_by_program(self, con: Any) -> None:
        con._listeners.clear()
        if await con._transaction_ahead() is not False:
            await con.execute("ROLLBACK")
        con._top_xact = None
        assert self._pool._reset is not None, "looked at by the caller"
        await self._pool._reset(con)

    async def _close(self, proxy: PoolConnectionProxy, timeout: float | None) -> None:
        try:
            await self._con.close(timeout=timeout)
        finally:
            if self._proxy is proxy:
                self._free()
                self._con = None

    def _free(self) -> None:
        """The connection is the pool's again."""
        if self._in_use is None:
            return
        if not self._in_use.done():
            self._in_use.set_result(None)
        self._in_use = None
        if self._proxy is not None:
            self._proxy._detach()
            self._proxy = None
        if self._con is not None:
            self._con._proxy = None
            self._con._releases += 1
            if self._con.is_closed():
                self._con = None
        self._pool._put(self)
        self._pool._keep_size()

    def _lost(self, con: Any) -> None:
        """The connection has ended, by either side."""
        if con is not self._con and con is not self._proxy:
            return
        self._stop_timer()
        if self._in_use is None:
            self._con = None
            self._pool._keep_size()
        else:
            # Who has borrowed it need not give it back.
            self._free()

    # while nobody uses it

    def _start_timer(self) -> None:
        self._stop_timer()
        seconds = self._pool._max_inactive_connection_lifetime
        if seconds and self._con is not None and self._in_use is None:
            self._timer = self._pool._loop.call_later(seconds, self._expire)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        if self._in_use is None and self._con is not None and self._pool.get_size() > self._pool.get_min_size():
            con, self._con = self._con, None
            con.terminate()

    def terminate(self) -> None:
        """Closes the connection at once."""
        self._stop_timer()
        if self._con is not None:
            self._con.terminate()

    async def wait_until_released(self) -> None:
        """Waits for the borrower, if there is one."""
        if self._in_use is not None:
            await self._in_use

    async def close(self) -> None:
        """Closes the connection."""
        self._stop_timer()
        if self._con is not None:
            con, self._con = self._con, None
            await con.close()
