"""What a program goes through to the server: the driver alone, headraced, PgBouncer, the facade of MySQLdb, and
SQLAlchemy."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import QueuePool

import headrace.compat.mysqldb as facade
from company.shells import Now
from ends.lent import Lent
from headrace import errors
from headrace.types import TransactionStatus
from headrace_lab.pgbouncer import pgbouncer, system_pgbouncer
from servers import MySQL, PostgreSQL

from .ways import WAYS

if TYPE_CHECKING:
    from .work import Work

SIZE = 3
"""Connections of a pool: fewer than workers."""
STUCK = 15.0
"""Seconds that a statement may take, or a connection may be waited for: more than any server is away."""
PATIENCE = 0.5
"""Seconds that a pool waits at most before it tries to connect again: attempts fail often here."""
OPTIONS: dict[str, dict[str, Any]] = {
    "postgresql": {},
    "mysql": {"local_infile": True, "multi_statements": True},
    "informix": {"lock_wait": 5},
    "cubrid": {"lock_timeout": 5},
}
"""Keywords of connect, by driver."""
EXPECTED = (errors.OperationalError, errors.InFailedSqlTransaction, errors.QueryCanceled)
"""Classes of the errors of what befalls a session; any other one is a fault."""
REFUSALS = (errors.QueryCanceled, errors.DeadlockDetected, errors.SerializationFailure)
"""Errors of a statement that was executed by nobody."""
OPEN = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
"""Where a connection stands in a transaction that is open."""
INTERRUPTED, LOCK_WAIT, DEADLOCK = 1317, 1205, 1213
"""The same by MySQL's numbers."""


class Behind(NamedTuple):
    """A server behind a pooler."""

    host: str
    port: int
    user: str
    database: str


class Place(ABC):
    """What a program goes through."""

    name: ClassVar[str]
    ways_of: ClassVar[str]
    """Whose ways it has."""
    expected: ClassVar[tuple[type[BaseException], ...]] = EXPECTED
    """Classes of the errors of what befalls a session."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.kind = work.db.kind
        """Which driver: a way may be for some of them."""
        self.mark = work.db.mark

    @classmethod
    @abstractmethod
    def is_for(cls, work: Work) -> bool:
        """Returns true if the database can be reached by it in the shell."""

    def ways(self) -> Iterable[str]:
        """The names of its ways."""
        found = (name for name, known in WAYS.items() if known.place == self.ways_of)
        return [name for name in found if not WAYS[name].drivers or self.kind in WAYS[name].drivers]

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Opens what all workers share."""
        yield

    @abstractmethod
    async def connect(self, *, autocommit: bool) -> Any:
        """A new connection."""

    def lent(self, *, autocommit: bool) -> AbstractAsyncContextManager[Any]:
        """A pool's connection."""
        raise NotImplementedError

    def is_closed(self, conn: Any) -> bool:
        """Returns true if a connection is of no use any more."""
        return bool(conn.closed)

    def has_transaction(self, conn: Any) -> bool:
        """Returns true if a transaction is open on a connection that executes nothing."""
        return conn.transaction_status in OPEN

    def is_refusal(self, error: BaseException) -> bool:
        """Returns true if the statement was executed by nobody."""
        return isinstance(error, REFUSALS)


class Driver(Place):
    """The driver alone."""

    name = ways_of = "driver"

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.url = work.url
        self.options = work.options
        self.resets = work.db.resets.MODES
        self.pools: dict[bool, Any] = {}

    @classmethod
    def is_for(cls, work: Work) -> bool:
        return True

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Opens a pool of each kind."""
        async with contextlib.AsyncExitStack() as stack:
            for autocommit in (True, False):
                self.pools[autocommit] = await stack.enter_async_context(
                    self.work.shell.pool(
                        self.url,
                        min_size=0,
                        max_size=SIZE,
                        timeout=STUCK,
                        backoff_max=PATIENCE,
                        reset="discard" if self.work.seed // 2 % 2 and "discard" in self.resets else "rollback",
                        kwargs={"autocommit": autocommit, **self.options},
                    )
                )
            yield

    async def connect(self, *, autocommit: bool) -> Any:
        conn = await self.work.shell.connect(self.url, autocommit=autocommit, **self.options)
        self._uses(conn)
        return conn

    @contextlib.asynccontextmanager
    async def lent(self, *, autocommit: bool) -> AsyncIterator[Any]:
        async with self.pools[autocommit].connection() as conn:
            self._uses(conn)
            yield conn

    def _uses(self, conn: Any) -> None:
        self.work.uses(conn, is_direct=True)


class ByDaemon(Driver):
    """The driver of PostgreSQL, on headraced, whatever is behind it. The daemon is killed as servers are."""

    name = "daemon"
    NOT_ATOMIC: ClassVar = ("batch_in_autocommit", "pipeline_of_a_pool")
    """Ways that need what the daemon does not have for other databases: a group of statements that is a transaction."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.daemon = work.daemon(self.url)
        self.kind = work.db.kind if isinstance(work.db, PostgreSQL) else ""
        self.mark = "%s"
        self.url = self.daemon.url
        self.options = {"command_timeout": STUCK, "prepared": work.options.get("prepared", True)}

    @classmethod
    def is_for(cls, work: Work) -> bool:
        return True

    def ways(self) -> Iterable[str]:
        """Those of the driver."""
        return [name for name in super().ways() if self.kind or name not in self.NOT_ATOMIC]

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Starts the daemon before the pools."""
        with self.daemon.running():
            async with super().opened():
                yield

    def _uses(self, conn: Any) -> None:
        self.work.uses(conn, is_direct=False)


class ByPooler(Driver):
    """The driver behind PgBouncer, which lends server connections by transaction and knows no prepared statements.

    It ends by itself now and then, and is started again: a pool is to have connections again within ``STUCK``."""

    name = "pgbouncer"
    SETTINGS: ClassVar = "server_login_retry = 1\nquery_wait_timeout = 10"

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.options = {**self.options, "prepared": False}

    @classmethod
    def is_for(cls, work: Work) -> bool:
        return isinstance(work.db, PostgreSQL)

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Starts the pooler before the pools."""
        found = urlsplit(self.url)
        assert found.port
        assert found.username
        server = Behind("127.0.0.1", found.port, found.username, found.path[1:])
        with pgbouncer(system_pgbouncer(), server, self.SETTINGS, SIZE, starts_again=True) as pooler:
            self.url = pooler.url
            async with super().opened():
                yield

    def _uses(self, conn: Any) -> None:
        self.work.uses(conn, is_direct=False)


class Facade(Place):
    """The facade of MySQLdb, which blocks."""

    name = ways_of = "facade"
    expected = (facade.OperationalError,)

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.mark = "%s"

    @classmethod
    def is_for(cls, work: Work) -> bool:
        return isinstance(work.db, MySQL) and not work.shell.tasks

    async def connect(self, *, autocommit: bool) -> Any:
        url = urlsplit(self.work.url)
        assert url.hostname is not None
        return Now(
            facade.connect(
                host=url.hostname,
                port=url.port,
                user=url.username,
                password=url.password or "",
                database=url.path[1:],
                local_infile=True,
                autocommit=autocommit,
                read_timeout=STUCK,
                write_timeout=STUCK,
            )
        )

    def is_closed(self, conn: Any) -> bool:
        return not conn.open

    def has_transaction(self, conn: Any) -> bool:
        return False

    def is_refusal(self, error: BaseException) -> bool:
        return bool(error.args) and error.args[0] in (INTERRUPTED, LOCK_WAIT, DEADLOCK)


class Alchemy(Place):
    """SQLAlchemy on headrace's own dialects."""

    name = ways_of = "sqlalchemy"
    expected = (PendingRollbackError, *EXPECTED)
    dialect: ClassVar = "headrace"

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        url = f"{self.kind}+{self.dialect}{work.url[work.url.index(':') :]}"
        keywords: dict[str, Any] = {
            "pool_size": SIZE,
            "max_overflow": 0,
            "pool_timeout": STUCK,
            "pool_pre_ping": work.seed // 2 % 2 > 0,
            "connect_args": self.arguments(),
            **self.keywords(),
        }
        self.engine: Any = (
            create_async_engine(url, **keywords)
            if work.shell.tasks
            else Lent(create_engine(url, poolclass=QueuePool, **keywords))
        )
        """With a pool of its own."""

    def arguments(self) -> dict[str, Any]:
        """Those of connect()."""
        return {"command_timeout": STUCK}

    def keywords(self) -> dict[str, Any]:
        """Further ones of the engine."""
        return {}

    @classmethod
    def is_for(cls, work: Work) -> bool:
        return work.db.supports_sqlalchemy

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self.engine.dispose()

    async def connect(self, *, autocommit: bool) -> Any:
        raise NotImplementedError("its ways take them from the engine")

    def is_refusal(self, error: BaseException) -> bool:
        return super().is_refusal(cause(error))


class AlchemyOnFacade(Alchemy):
    """SQLAlchemy on its dialect for MySQLdb, which is the facade."""

    name = "sqlalchemy on the facade"
    dialect = "mysqldb"
    expected = (PendingRollbackError, *Facade.expected)

    def arguments(self) -> dict[str, Any]:
        return {"read_timeout": STUCK, "write_timeout": STUCK}

    def keywords(self) -> dict[str, Any]:
        return {"module": facade}

    @classmethod
    def is_for(cls, work: Work) -> bool:
        return Facade.is_for(work)

    def ways(self) -> Iterable[str]:
        """Those of SQLAlchemy, but for AUTOCOMMIT: where a session is lost while it is given back, SQLAlchemy's dialect
        raises, and its pool has a place less, with mysqlclient as well."""
        return [name for name in super().ways() if name != "engine_in_autocommit"]

    def is_refusal(self, error: BaseException) -> bool:
        return Facade.is_refusal(self, cause(error))  # type: ignore[arg-type]


PLACES: dict[str, type[Place]] = {
    place.name: place for place in (Driver, ByDaemon, ByPooler, Facade, Alchemy, AlchemyOnFacade)
}


def cause(error: BaseException) -> BaseException:
    """The driver's error, where SQLAlchemy has put its own around it."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
