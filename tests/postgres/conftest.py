"""PostgreSQL 15 and 18, and one way to write a test for blocking and asyncio connections."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.testing import PostgresServer
from own_database import own_database

_numbers = itertools.count(1)
LONGEST = (
    "test_altered_batches.py",
    "test_composites_as_text.py",
    "test_new_types.py",
    "test_one_value_one_meaning.py",
    "test_partitions.py",
)
"""Files with hundreds of tests, which take ten seconds on each server: `make quick` runs them on the newest alone."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the longest files on the older server."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name in LONGEST and "15" in versions(item):
            item.add_marker(pytest.mark.slow)


def versions(item: pytest.Item) -> list[object]:
    """The server that a test is run on."""
    case = getattr(item, "callspec", None)
    return [] if case is None else [case.params.get("version")]


class OnLoop:
    """An asyncio connection or cursor with the blocking one's face: each call runs the loop until it is done."""

    def __init__(self, loop: asyncio.AbstractEventLoop, inner: Any) -> None:
        self._loop = loop
        self._inner = inner

    def _seen(self, value: Any) -> Any:
        if inspect.isawaitable(value):
            value = self._loop.run_until_complete(_awaited(value))
        if hasattr(type(value), "__aenter__"):
            return OnLoop(self._loop, value)
        return self._items(value) if isinstance(value, AsyncIterator) else value

    def _items(self, iterator: AsyncIterator[Any]) -> Iterator[Any]:
        try:
            while True:
                yield self._loop.run_until_complete(_awaited(iterator.__anext__()))
        except StopAsyncIteration:
            return
        finally:
            if isinstance(iterator, AsyncGenerator):
                self._loop.run_until_complete(iterator.aclose())

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        return lambda *args, **keywords: self._seen(found(*args, **keywords))

    def __iter__(self) -> Iterator[Any]:
        return self._items(aiter(self._inner))

    def __enter__(self) -> Any:
        return self._seen(self._inner.__aenter__())

    def __exit__(self, *error: Any) -> Any:
        return self._seen(self._inner.__aexit__(*error))


async def _awaited(value: Any) -> Any:
    return await value


Connect = Callable[..., Any]


@pytest.fixture(scope="session", params=["18", "15"])
def version(request: pytest.FixtureRequest) -> str:
    """Which PostgreSQL."""
    return str(request.param)


@pytest.fixture(scope="module")
def url(version: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of the module's own."""
    server: PostgresServer = request.getfixturevalue("server" if version == "18" else "tls_server")
    with own_database(server, f"postgres_{next(_numbers)}") as its:
        yield its


@pytest.fixture(params=["blocking", "asyncio"])
def connect(url: str, request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Opens connections of one shell or the other, and closes them at the end."""
    loop = asyncio.new_event_loop()
    opened: list[Any] = []

    def connect(**keywords: Any) -> Any:
        if request.param == "blocking":
            opened.append(headrace.connect(url, **keywords))
        else:
            opened.append(OnLoop(loop, loop.run_until_complete(headrace.aio.connect(url, **keywords))))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


@pytest.fixture
def conn(connect: Connect) -> Any:
    """A connection in autocommit."""
    return connect(autocommit=True)


@pytest.fixture
def dba(url: str) -> Iterator[Any]:
    """Another session, which changes tables and types."""
    with headrace.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def schema(dba: Any) -> str:
    """A schema of the test's own, first in the search path of new sessions of its database."""
    name = f"s{next(_numbers)}"
    dba.execute(f"create schema {name}")
    dba.execute(f"set search_path = {name}, public")
    return name
