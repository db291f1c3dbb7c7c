"""Each parameter of each public method with what is no argument for it: it is taken, or the error is one of headrace's,
or Python's own with a text that says what is wrong, and never what some line inside of the package has met. The
connection goes on.

Methods and their parameters are those that there are: a new one is tried without a line here, unless it needs an
argument that ``RIGHT`` does not have.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import inspect
import io
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

import headrace
import headrace.aio
from headrace import errors
from headrace.aio.pool import AsyncConnectionPool
from headrace.pool import ConnectionPool
from long import FIRST_SEED, NIGHT
from servers import Database, names


class Thing:
    """An object of the program's own."""


WRONG: Final[dict[str, Callable[[], Any]]] = {
    repr(value): lambda value=value: value
    for value in (
        *(None, 5, -1, 0, 10**30, -(10**30), math.nan, 1.5, True, 1j, "x", "", "a\0b", "\ud800", b"x", Thing),
        *((), [], {}, {"a": 1}, {1, 2}, [None], [[]], [1], ["x"], [b"x"], [("a",)], ("a", "b"), range(3)),
    )
} | {
    "an object": Thing,
    "a generator": lambda: (number for number in range(2)),
    "a function": lambda: lambda *_, **__: None,
    "a file": lambda: io.BytesIO(b"x"),
    "a text file": lambda: io.StringIO("x"),
    "a buffer": lambda: memoryview(bytearray(b"ab")),
}
"""What few parameters take. Infinite times are right ones, which some calls wait for."""
FEW = 1
"""How many of them each parameter gets; all in a long run."""
SECONDS = 20.0
"""A call that takes longer waits for something that does not come."""

OF_PYTHON: Final = re.compile(
    r"has no attribute|is not (iterable|callable|subscriptable|an iterator)|operand|not supported between|interpreted|"
    r"has no len|must be real|indices must|concatenate|unhashable|bytes-like|descriptor|convert|to unpack|"
    r"'NoneType'|an instance of|required|positional|too (large|big)|must be str|sequence item|issubclass|isinstance|"
    r"out of range|codec|surrogates",
)
"""What Python and PyO3 say of an object that some line was not made for."""

RIGHT: Final[dict[str, Any]] = {
    **dict.fromkeys(("timeout", "params", "columns", "row_factory", "savepoint_name", "isolation", "read_only")),
    **dict.fromkeys(("deferrable", "name", "column", "other", "loaders", "dumpers", "to", "locator", "connection")),
    **dict.fromkeys(("force_rollback", "on_server", "stream", "scrollable", "withhold", "returning"), False),
    **dict.fromkeys(("batch_rows", "batch_bytes", "fetch_size", "fetch_bytes", "stop_after", "size", "row"), 1),
    "mode": "rollback",
    "numeric": "decimal",
    "kind": "blob",
    "format": "text",
    "duplicates": "error",
    "rows": [(1,)],
    "value": 0,
    "offset": 0,
    "whence": 0,
    "data": b"x",
    "source": [(1,)],
    "sizes": [],
    "binary": (),
    "xid": "wrong",
    "oid": 1,
    "table": "wrong",
    "database": "test",
    "channel": "wrong",
    "statements": [],
    "routine": "f(integer)",
    "types": [],
    "format_id": 1,
    "global_transaction_id": "a",
    "branch_qualifier": "b",
    "factory": tuple,
    "handler": print,
    "min_size": 0,
    "max_size": 1,
    "buffer": bytearray(2),
}
"""Right arguments, by the names of the parameters."""
RIGHT_FOR: Final[dict[str, dict[str, Any]]] = {
    "callproc": {"name": "wrong", "params": ()}, "register_composite": {"name": "wrong"}, "open_lob": {"mode": "rb"},
    "register_enum": {"name": "wrong", "kind": enum.Enum}, "scroll": {"mode": "relative"},
    "load_data": {"source": b"1\n", "sql": "load data local infile 'x' into table wrong"},
    "notifies": {"timeout": 0.01}, "copy_out": {"source": "wrong"}, "schema_info": {"kind": "tables"},
    "copy": {"sql": "copy wrong from stdin"}, "fetch_relative": {"rows": 1},
    "import_lob": {"source": io.BytesIO()},
}  # fmt: skip
"""Those of single methods."""
SESSION: Final = re.compile(
    r"set_|register|handler|isolation|read_only|deferrable|lock|select_db|tpc|factory|reset|close"
)
"""Methods and properties after which the session is not used again."""
WAITS: Final = {("notifies", "timeout"), ("close", "timeout"), ("wait", "timeout")}
"""What waits for as long as it is told to, be it for ever."""


class Call(NamedTuple):
    """One parameter of a method or a property."""

    kind: str
    method: str
    parameter: str
    run: Callable[[Any, Any], Any]
    """Calls it on an object, with an argument; returns what it returns."""


def calls(db: Database, kind: str, cls: type) -> Iterator[Call]:
    """The parameters of the public methods of a class, and its properties that can be set."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.fset is not None:
            yield Call(kind, name, "value", lambda on, value, name=name: setattr(on, name, value))
        elif inspect.isfunction(member):
            parameters = list(inspect.signature(inspect.unwrap(member)).parameters.values())[1:]
            for each in parameters:
                if each.kind is not each.VAR_KEYWORD and (name, each.name) not in WAITS:
                    yield Call(kind, name, each.name, _calling(db, name, parameters, each))


def _calling(
    db: Database, name: str, parameters: list[inspect.Parameter], wrong: inspect.Parameter
) -> Callable[[Any, Any], Any]:
    insert = f"insert into wrong values ({db.mark})"
    sql = {"executemany": insert, "fetchmany": db.number, "generated_keys": "insert into wrong values (1)"}
    right = {"sql": sql.get(name, db.number if wrong.name == "args" else db.answer), **RIGHT, **RIGHT_FOR.get(name, {})}

    def run(on: Any, value: Any) -> Any:
        placed, keywords = [], {}
        for each in parameters:
            given = value if each is wrong else right.get(each.name)
            if each.kind is each.VAR_POSITIONAL:
                placed += [given] if each is wrong else []
            elif each.kind is each.KEYWORD_ONLY:
                keywords[each.name] = given
            elif each.kind is not each.VAR_KEYWORD:
                placed.append(given)
        return getattr(on, name)(*placed, **keywords)

    return run


async def awaited(value: Any) -> Any:
    """Waits, on a loop."""
    return await value if inspect.isawaitable(value) else value


async def used(made: Any) -> None:
    """Enters a block, or takes the first rows of an iterator, and leaves it."""
    made = await awaited(made)
    if hasattr(made, "execute") or isinstance(made, (str, bytes, list, tuple, dict)):
        return
    if hasattr(made, "__aenter__"):
        async with made:
            return
    if hasattr(made, "__anext__"):
        async with contextlib.aclosing(made):
            async for _ in made:
                return
    if hasattr(made, "__enter__") and not hasattr(made, "read"):
        with made:
            return
    if hasattr(made, "__next__"):
        with contextlib.closing(made) if hasattr(made, "close") else contextlib.nullcontext():
            next(made, None)


class Trials:
    """The objects of a database and a shell, each on a fresh place."""

    def __init__(self, db: Database, *, looping: bool) -> None:
        self.db, self.looping = db, looping
        self.keywords = {"autocommit": True, **db.loading}
        self.conn: Any = None

    async def connection(self) -> Any:
        """A connection that is fit."""
        if self.conn is None or self.conn.closed:
            connect = headrace.aio.connect if self.looping else headrace.connect
            self.conn = await awaited(connect(self.db.url, **self.keywords))
        return self.conn

    async def drop(self) -> None:
        """The next one has another session."""
        if self.conn is not None:
            await awaited(self.conn.close())
            self.conn = None

    async def kinds(self) -> dict[str, Callable[[contextlib.AsyncExitStack], Any]]:
        """What makes each object, by what it is."""
        db = self.db

        async def pool(stack: contextlib.AsyncExitStack) -> Any:
            settings: dict[str, Any] = {"min_size": 0, "max_size": 1, "timeout": 5.0, "kwargs": self.keywords}
            if self.looping:
                return await stack.enter_async_context(AsyncConnectionPool(db.url, **settings))
            return stack.enter_context(ConnectionPool(db.url, **settings))

        async def block(stack: contextlib.AsyncExitStack, make: Callable[[Any], Any]) -> Any:
            made = make(await self.connection())
            return await stack.enter_async_context(made) if self.looping else stack.enter_context(made)

        async def lob(_: Any) -> Any:
            conn = await self.connection()
            await awaited(conn.commit())
            await (conn.set_autocommit(False) if self.looping else asyncio.sleep(0, setattr(conn, "autocommit", False)))
            await awaited(conn.execute(f"insert into wrong values ({db.mark})", (1,)))
            return await awaited(conn.create_lob())

        async def cursor(_: Any, sql: str | None = None, **keywords: Any) -> Any:
            conn = await self.connection()
            if keywords and sql and db.begin_work:
                await awaited(conn.execute(db.begin_work))
            made = conn.cursor(**keywords)
            if sql:
                await awaited(made.execute(sql))
            return made

        conn = await self.connection()
        found: dict[str, Callable[[contextlib.AsyncExitStack], Any]] = {
            "connection": lambda _: self.connection(),
            "cursor": cursor,
            "cursor with rows": lambda _: cursor(_, db.answer),
            "pool": pool,
        }
        for number, keywords in enumerate(db.cursors_that_fetch_later):
            found[f"later cursor {number}"] = lambda _, keywords=keywords: cursor(_, **keywords)
            found[f"later cursor {number} with rows"] = lambda _, keywords=keywords: cursor(_, db.answer, **keywords)
        found["pipeline"] = lambda stack: block(stack, lambda on: on.pipeline())
        if hasattr(conn, "create_lob"):
            found["large object"] = lob
        if hasattr(conn, "copy_in"):
            found["copy"] = lambda stack: block(stack, lambda on: on.cursor().copy("copy wrong from stdin"))
        return found

    async def ended(self, call: Call) -> str | None:
        """Says what is wrong with the connection after a call."""
        conn = self.conn
        if conn is None or call.method in ("close", "reset"):
            await self.drop()
            return None
        if conn.closed:
            return "the connection is closed"
        if conn.transaction_status != headrace.types.TransactionStatus.IDLE:
            await awaited(conn.rollback())
        if not conn.autocommit or SESSION.search(call.method):
            await self.drop()
            return None
        answer = await awaited(conn.fetchval(self.db.answer))
        return None if answer == 42 else f"42 is {answer!r}"


def is_said(error: Exception) -> bool:
    """The error says what is wrong with the argument."""
    known = isinstance(error, (errors.Error, TypeError, ValueError, TimeoutError))
    # A package that a method is for may not be installed, and there is no file of any name.
    own = (errors.Error, ModuleNotFoundError, FileNotFoundError)
    return isinstance(error, own) or (known and not OF_PYTHON.search(str(error)))


async def tried(trials: Trials, make: Any, call: Call, what: str) -> str | None:
    """Gives one argument; returns what is wrong with what has come of it."""
    found = None
    async with contextlib.AsyncExitStack() as stack:
        on = await awaited(make(stack))
        try:
            await asyncio.wait_for(used(call.run(on, WRONG[what]())), SECONDS)
        except IndexError as error:
            found = None if "scroll leaves" in str(error) else repr(error)
        except Exception as error:
            found = None if is_said(error) else repr(error)
        if call.kind == "copy":
            # What was sent is not worth its end.
            with contextlib.suppress(errors.Error):
                await stack.aclose()
    return found or await trials.ended(call)


async def every_argument(db: Database, *, looping: bool) -> list[str]:
    """Tries all of them; returns what is wrong."""
    choice = random.Random(FIRST_SEED + looping)
    trials, wrong = Trials(db, looping=looping), []
    for kind, make in (await trials.kinds()).items():
        async with contextlib.AsyncExitStack() as stack:
            cls = type(await awaited(make(stack)))
        await trials.drop()
        for call in calls(db, kind, cls):
            for what in WRONG if NIGHT else choice.sample(list(WRONG), FEW):
                found = await tried(trials, make, call, what)
                if found:
                    wrong.append(f"{kind}.{call.method}({call.parameter}={what}): {found}")
    await trials.drop()
    return wrong


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("looping", [False, True], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_a_wrong_argument_is_said(any_db: Database, looping: bool) -> None:
    with any_db.connect(autocommit=True) as admin:
        admin.execute("drop table if exists wrong")
        admin.execute("create table wrong (n int)")
    assert asyncio.run(every_argument(any_db, looping=looping)) == []
