"""Every call that waits for the server, prepared and then made."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from headrace._shared.databases import DATABASES

from .places import Place
from .shells import Now, Shell

LIMIT = 1.0
"""Seconds that every call is given, by its ``timeout`` or the connection's ``command_timeout``."""


@dataclass
class Scene:
    """A connection in the middle of something."""

    place: Place
    shell: Shell
    conn: Any
    stack: contextlib.AsyncExitStack
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    limit: float | None = None
    """Seconds for each call: none while it is only prepared, which may take its time on a busy machine."""


@dataclass(frozen=True)
class Call:
    """What comes before, and what may then wait."""

    name: str
    make: Callable[[Scene], Awaitable[Any]]
    before: Callable[[Scene], Awaitable[Any]] | None = None
    kinds: tuple[str, ...] = tuple(row.schemes[0] for row in DATABASES)
    autocommit: bool = True


def limited(method: Any, *args: Any, **keywords: Any) -> Any:
    """The call with its ``timeout``, where it takes one."""
    if "timeout" in inspect.signature(method).parameters:
        keywords["timeout"] = LIMIT
    return method(*args, **keywords)


def _method(scene: Scene, name: str, on: Any = None) -> Any:
    owner = scene.conn if on is None else on
    plain = getattr(owner.value if isinstance(owner, Now) else owner, name)
    lent = getattr(owner, name)

    def call(*args: Any, **keywords: Any) -> Any:
        if "timeout" in inspect.signature(plain).parameters:
            keywords.setdefault("timeout", scene.limit)
        return lent(*args, **keywords)

    return call


def simple(name: str, *args: Callable[[Place], Any] | Any) -> Callable[[Scene], Awaitable[Any]]:
    """A method of the connection."""

    async def make(scene: Scene) -> Any:
        return await _method(scene, name)(*(arg(scene.place) if callable(arg) else arg for arg in args))

    return make


async def _write(scene: Scene) -> None:
    await scene.conn.execute(scene.place.insert, (1, 1, "written"))


async def _block(scene: Scene) -> None:
    scene.kept["block"] = _method(scene, "transaction")()
    await scene.kept["block"].__aenter__()
    await _write(scene)


async def _end_block(scene: Scene) -> None:
    await scene.kept["block"].__aexit__(None, None, None)


async def _roll_block_back(scene: Scene) -> None:
    error = KeyError()
    if not await scene.kept["block"].__aexit__(KeyError, error, None):
        raise TimeoutError  # the block let the program's own error through, as it should


async def _stream(scene: Scene) -> None:
    keywords = scene.place.differences.server_cursor_keywords
    sql = scene.place.marked(1900)
    scene.kept["stream"] = _method(scene, "stream")(sql, ("a",), **scene.place.differences.streamed(100), **keywords)


async def _stream_begun(scene: Scene) -> None:
    await _stream(scene)
    await scene.kept["stream"].__anext__() if scene.shell.tasks else await scene.kept["stream"].__aiter__().__anext__()


async def _read_stream(scene: Scene) -> None:
    stream = scene.kept["stream"]
    if scene.shell.tasks or not hasattr(stream, "iterator"):
        async for _ in stream:
            pass
        return
    for _ in stream.iterator:
        pass


async def _leave_stream(scene: Scene) -> None:
    await scene.kept["stream"].aclose()


async def _piped(scene: Scene) -> None:
    async with _method(scene, "pipeline")():
        for _ in range(3):
            await scene.conn.execute(scene.place.marked(1), ("a",))


async def _named(scene: Scene) -> None:
    name, more = scene.place.holdable
    scene.kept["cursor"] = scene.conn.cursor(*name, withhold=True, **more)
    await scene.kept["cursor"].execute(scene.place.marked(1900), ("a",))


async def _fetch_named(scene: Scene) -> None:
    cursor = scene.kept["cursor"]
    await _method(scene, "fetchone", cursor)()
    await _method(scene, "fetchall", cursor)()


async def _close_named(scene: Scene) -> None:
    await _method(scene, "close", scene.kept["cursor"])()


def _rows(count: int) -> list[tuple[int, int, str]]:
    return [(7, n, "row") for n in range(count)]


async def _copy_out(scene: Scene) -> None:
    rows = _method(scene, "copy_out")("select generate_series(1, 100000)")
    async for _ in rows if scene.shell.tasks and hasattr(rows, "__aiter__") else await rows:
        pass


async def _copy_open(scene: Scene) -> None:
    copy = scene.conn.cursor().copy("copy company from stdin")
    scene.kept["copy"] = await scene.stack.enter_async_context(copy)


async def _copy_end(scene: Scene) -> None:
    await scene.kept["copy"].write(b"7\t1\ta\n")
    await scene.stack.aclose()


async def _load(scene: Scene) -> None:
    await _method(scene, "load_rows")("company", _rows(3000))


async def _lob(scene: Scene) -> None:
    await scene.stack.enter_async_context(scene.conn.transaction())
    scene.kept["lob"] = await scene.conn.create_lob("blob")


async def _write_lob(scene: Scene) -> None:
    await scene.kept["lob"].write(b"x" * 1000)


async def _reset_in_transaction(scene: Scene) -> None:
    await _method(scene, "reset")()


async def _discard(scene: Scene) -> None:
    await _method(scene, "reset")("discard")


async def _copy_to_file(scene: Scene) -> None:
    await _method(scene, "copy_out")("select generate_series(1, 1000)", format="text", to=io.BytesIO())


PG, MY, IFX, CUB = ("postgresql",), ("mysql",), ("informix",), ("cubrid",)
CALLS = [
    Call("execute", simple("execute", lambda p: p.marked(3), ("a",))),
    Call("fetch", simple("fetch", lambda p: p.marked(3), "a")),
    Call("fetchrow", simple("fetchrow", lambda p: p.marked(3), "a")),
    Call("fetchval", simple("fetchval", lambda p: p.marked(3), "a")),
    Call("fetchmany", simple("fetchmany", lambda p: p.marked(3), [("a",), ("b",)])),
    Call("executemany", simple("executemany", lambda p: p.insert, lambda p: _rows(2000))),
    Call("executescript", simple("executescript", "select 1"), kinds=PG + MY),
    Call("commit", simple("commit"), _write, autocommit=False),
    Call("rollback", simple("rollback"), _write, autocommit=False),
    Call("transaction_commit", _end_block, _block),
    Call("transaction_rollback", _roll_block_back, _block),
    Call("stream", _read_stream, _stream),
    Call("stream_next_block", _read_stream, _stream_begun),
    Call("stream_close", _leave_stream, _stream_begun),
    Call("pipeline", _piped),
    Call("named_cursor_fetch", _fetch_named, _named, kinds=PG + IFX + CUB),
    Call("named_cursor_close", _close_named, _named, kinds=PG + IFX + CUB),
    Call("copy_in", simple("copy_in", "company", lambda p: _rows(3000)), kinds=PG),
    Call("copy_out", _copy_out, kinds=PG),
    Call("copy_out_to_file", _copy_to_file, kinds=PG),
    Call("copy_end", _copy_end, _copy_open, kinds=PG),
    Call("load_rows", _load, kinds=MY),
    Call("lob_write", _write_lob, _lob, kinds=IFX + CUB),
    Call("ping", simple("ping")),
    Call("check_alive", lambda scene: _plain(scene.conn.check_alive())),
    Call("reset_in_transaction", _reset_in_transaction, _write, autocommit=False),
    Call("reset_discard", _discard, kinds=PG + MY + IFX),
    Call("generated_keys", simple("generated_keys", lambda p: p.insert, (1, 1, "row")), kinds=CUB),
    Call("execute_batch", simple("execute_batch", ["delete from company", "delete from company"]), kinds=CUB),
    Call("schema_info", simple("schema_info", "columns", "company"), kinds=CUB),
    Call("plan", simple("plan", "select 1"), kinds=CUB),
    Call("parameter_types", simple("parameter_types", "select 1 from company where n = ?"), kinds=CUB),
    Call("cancel", simple("cancel")),
    Call("close", simple("close")),
]


async def _plain(value: Any) -> Any:
    return await value if isinstance(value, Now) else value


ALWAYS_ENDS = (
    "check_alive",
    "close",
    "cancel",
    "stream_close",
    "informix:named_cursor_close",
)
"""Calls that may succeed although nothing was answered, of one database or of all. SQ_CLOSE is not waited for."""
ENDLESS = ("copy_out",)
"""Calls that return rows while they are received. Each step is bounded, and all of them together as long as the server
drips."""
