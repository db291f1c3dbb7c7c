"""Every public method that may wait for the server takes a ``timeout``; what does not is listed here, with the reason.

A new method fails here until it has one, or is listed.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import headrace.aio.cubrid as aio_cubrid
import headrace.aio.informix as aio_informix
import headrace.aio.mysql as aio_mysql
from headrace._shared.arrow_queries import BlockingArrowQueries
from headrace._shared.blocks import BlockingBlocks
from headrace._shared.cancelling import BlockingCancelling
from headrace._shared.connection import BlockingConnection
from headrace._shared.connection_base import ConnectionBase
from headrace._shared.cursor import BlockingCursor
from headrace._shared.frames import BlockingFrames
from headrace._shared.largeobject import BlockingLargeObject
from headrace._shared.lobs import LobFile
from headrace._shared.pipeline import Pipeline
from headrace._shared.pool_queries import PoolQueries
from headrace._shared.pool_work import PoolWork
from headrace._shared.rawfile import RawFile
from headrace._shared.received import Receiving
from headrace._shared.server_cursor import BlockingServerCursor
from headrace._shared.server_cursor_base import ServerCursorBase
from headrace._shared.two_phase_core import TwoPhaseBase
from headrace._shared.waiting import BlockingWaiting
from headrace.aio._shared.arrow_queries import LoopArrowQueries
from headrace.aio._shared.blocks import LoopBlocks
from headrace.aio._shared.cancelling import LoopCancelling
from headrace.aio._shared.connection import LoopConnection
from headrace.aio._shared.cursor import LoopCursor
from headrace.aio._shared.frames import LoopFrames
from headrace.aio._shared.largeobject import LoopLargeObject
from headrace.aio._shared.pipeline import AsyncPipeline
from headrace.aio._shared.pool_queries import AsyncPoolQueries
from headrace.aio._shared.pool_work import LoopPoolWork
from headrace.aio._shared.server_cursor import LoopServerCursor
from headrace.aio._shared.waiting import LoopWaiting
from headrace.aio.informix.cursor import AsyncServerCursor as AsyncInformixServerCursor
from headrace.aio.informix.largeobject import AsyncLargeObject
from headrace.aio.pool import AsyncConnectionPool
from headrace.aio.postgres.connection import AsyncConnection
from headrace.aio.postgres.copy import AsyncCopy
from headrace.aio.postgres.cursor import AsyncCursor, AsyncServerCursor
from headrace.aio.postgres.largeobject import AsyncLargeObject as AsyncPostgresLargeObject
from headrace.cubrid import connection as cubrid
from headrace.cubrid.connection_base import CubridBase
from headrace.informix import connection as informix
from headrace.informix.connection_base import InformixBase
from headrace.informix.cursor import ServerCursor as InformixServerCursor
from headrace.informix.declared import Declared
from headrace.informix.largeobject import LargeObject
from headrace.mysql import connection as mysql
from headrace.mysql.connection_base import MySqlBase
from headrace.pool import ConnectionPool
from headrace.postgres import connection as postgres
from headrace.postgres.connection_base import PostgresBase
from headrace.postgres.copy import Copy
from headrace.postgres.copy_base import CopyBase
from headrace.postgres.cursor import Cursor, ServerCursor
from headrace.postgres.largeobject import LargeObject as PostgresLargeObject

CLASSES: list[type] = [
    *(
        ConnectionBase,
        TwoPhaseBase,
        PostgresBase,
        MySqlBase,
        InformixBase,
        CubridBase,
        Receiving,
        BlockingBlocks,
        LoopBlocks,
    ),
    *(base for kind in (postgres.Connection, mysql.Connection, cubrid.Connection) for base in kind.__bases__),
    *(
        base
        for kind in (AsyncConnection, aio_mysql.AsyncConnection, aio_cubrid.AsyncConnection)
        for base in kind.__bases__
    ),
    *(BlockingWaiting, LoopWaiting, BlockingCancelling, LoopCancelling, BlockingArrowQueries, LoopArrowQueries),
    *(BlockingFrames, LoopFrames, PoolQueries, AsyncPoolQueries, PoolWork, LoopPoolWork),
    *(BlockingConnection, postgres.Connection, mysql.Connection, informix.Connection, cubrid.Connection, Pipeline),
    *(BlockingCursor, Cursor, ServerCursor, mysql.Cursor, informix.Cursor, cubrid.Cursor, InformixServerCursor),
    *(BlockingServerCursor, LoopServerCursor, cubrid.ServerCursor, aio_cubrid.AsyncServerCursor),
    *(BlockingLargeObject, LoopLargeObject, PostgresLargeObject, AsyncPostgresLargeObject),
    *(Copy, CopyBase, LargeObject, LobFile, RawFile, cubrid.LargeObject, ConnectionPool),
    *(aio_cubrid.AsyncConnection, aio_cubrid.AsyncCursor, aio_cubrid.AsyncLargeObject),
    *(LoopConnection, AsyncConnection, aio_mysql.AsyncConnection, aio_informix.AsyncConnection, AsyncPipeline),
    *(LoopCursor, AsyncCursor, AsyncServerCursor, aio_mysql.AsyncCursor, aio_informix.AsyncCursor),
    *(AsyncInformixServerCursor, AsyncCopy, AsyncLargeObject, AsyncConnectionPool),
]

_CUBRID_FILES = [
    f"largeobject.{kind}.{name}" for kind in ("LargeObject", "AsyncLargeObject") for name in ("seek", "close")
]

NOTHING_TO_WAIT_FOR = {
    "a cursor is made without a word to the server": ["cursor"],
    "a connection and a pool are left without waiting, and a pool fills in the background": [
        *("BlockingWaiting.close", "LoopWaiting.close", "open", "drain", "resize"),
    ],
    "what is known here": [
        *("check_alive", "timings", "reset_timings", "stats", "xid", "tell", "readable", "writable", "seekable"),
        *("add_notice_handler", "remove_notice_handler", "register_adapters", "setinputsizes", "setoutputsize"),
        *("register_dumpers", "register_json", "register_loaders", "set_types"),
    ],
    "CUBRID has a locator, and no request, to open, seek and close a large object": [
        *(f"headrace.cubrid.{name}" for name in ("connection.Connection.open_lob", *_CUBRID_FILES)),
        *(f"headrace.aio.cubrid.{name}" for name in ("connection.AsyncConnection.open_lob", *_CUBRID_FILES)),
    ],
    "flows: a shell runs them, within its limit": [*vars(Declared), *vars(ServerCursorBase)],
}
BOUND_OTHERWISE = {
    "parts of a COPY, within the timeout that the COPY was begun with": [
        *(f"{copy}.{name}" for copy in ("Copy", "AsyncCopy") for name in vars(Copy) | vars(AsyncCopy)),
    ],
    "as io.RawIOBase has them; command_timeout bounds them": [
        "RawFile.readall",
        "RawFile.readinto",
        "RawFile.readline",
    ],
    "the reset of a connection that comes back has POOL_RESET_TIMEOUT": ["putconn"],
}
LISTED = {name for group in (NOTHING_TO_WAIT_FOR, BOUND_OTHERWISE) for names in group.values() for name in names}


def methods(kind: type) -> list[Any]:
    """The public methods that are defined in a class."""
    return [
        pytest.param(kind, name, id=f"{kind.__module__}.{kind.__name__}.{name}")
        for name, value in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(value)
    ]


@pytest.mark.parametrize(("kind", "name"), [method for kind in CLASSES for method in methods(kind)])
def test_every_method_that_waits_takes_a_timeout(kind: type, name: str) -> None:
    parameter = inspect.signature(vars(kind)[name]).parameters.get("timeout")
    named = f"{kind.__name__}.{name}"
    listed = not LISTED.isdisjoint((name, named, f"{kind.__module__}.{named}"))
    assert (parameter is None) == listed, f"{named}: a timeout, or a reason in the list"


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_class_of_the_package_is_looked_at(kind: type) -> None:
    """What a class inherits is another class of the list, or was not written in this package."""
    for base in kind.__mro__[1:]:
        if base.__module__.startswith("headrace") and any(inspect.isfunction(v) for v in vars(base).values()):
            assert base in CLASSES or base.__name__ in ("CursorBase", "Declared", "ServerCursorBase"), base
