"""Two-phase transactions of SQLAlchemy, by PEP 249's methods of the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.types import Xid

from . import _asyncio


def _text(xid: Xid) -> str:
    """The id as SQLAlchemy has given it to a driver, or as the server has it."""
    # What MySQL and MariaDB make of a text.
    return xid.gtrid if (xid.format_id, xid.bqual) == (1, "") else str(xid)


class TwoPhase:
    """The dialect's side: a base of a dialect."""

    def do_begin_twophase(self, connection: Any, xid: Any) -> None:
        connection.connection.tpc_begin(xid)

    def do_prepare_twophase(self, connection: Any, xid: Any) -> None:
        connection.connection.tpc_prepare()

    def do_rollback_twophase(self, connection: Any, xid: Any, is_prepared: bool = True, recover: bool = False) -> None:
        dbapi_connection = connection.connection.dbapi_connection
        self._finish_twophase(dbapi_connection, dbapi_connection.tpc_rollback, xid if recover else None)

    def do_commit_twophase(self, connection: Any, xid: Any, is_prepared: bool = True, recover: bool = False) -> None:
        dbapi_connection = connection.connection.dbapi_connection
        self._finish_twophase(dbapi_connection, dbapi_connection.tpc_commit, xid if recover else None)

    def _finish_twophase(self, dbapi_connection: Any, finish: Callable[..., None], xid: Any) -> None:
        if xid is not None:
            # One that another connection has prepared cannot be finished inside of a transaction.
            dbapi_connection.rollback()
        finish(xid)

    def do_recover_twophase(self, connection: Any) -> list[str]:
        return [_text(xid) for xid in connection.connection.tpc_recover()]


class TwoPhaseConnection(_asyncio.Connection):
    """The asyncio connection's side."""

    __slots__ = ()

    def tpc_begin(self, xid: Any) -> None:
        """Begins a two-phase transaction."""
        _asyncio.wait(self._connection.tpc_begin(xid))

    def tpc_prepare(self) -> None:
        """First phase."""
        _asyncio.wait(self._connection.tpc_prepare())

    def tpc_commit(self, xid: Any = None) -> None:
        """Second phase: commits."""
        _asyncio.wait(self._connection.tpc_commit(xid))

    def tpc_rollback(self, xid: Any = None) -> None:
        """Second phase: rolls back."""
        _asyncio.wait(self._connection.tpc_rollback(xid))

    def tpc_recover(self) -> list[Any]:
        """The prepared transactions."""
        return _asyncio.wait(self._connection.tpc_recover())
