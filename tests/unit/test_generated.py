"""How the blocking files are made of the asyncio ones. `make lint`, which has ruff, checks that they are up to date."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "tools/async_to_sync.py"


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("async_to_sync", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["async_to_sync"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WITHOUT_WAITING = [
    ("async def fetchone(self):\n    return await self._run(1)\n", "def fetchone(self):\n    return self._run(1)\n"),
    ("async for row in rows:\n    pass\n", "for row in rows:\n    pass\n"),
    ("async with aclosing(rows) as r: await  r.aclose()\n", "with closing(rows) as r: r.close()\n"),
    ("x: AsyncIterator[AsyncCursor[Any]]\n", "x: Iterator[Cursor[Any]]\n"),
    ("class AsyncCursor(LoopCursor[R]): ...\n", "class Cursor(BlockingCursor[R]): ...\n"),
    ('"""The asyncio cursor: await AsyncCursor.x."""\n', '"""The blocking cursor: Cursor.x."""\n'),
    ("raise StopAsyncIteration  # of __anext__\n", "raise StopIteration  # of __next__\n"),
    ("awaited = asynchronous = 1\n", "awaited = asynchronous = 1\n"),
    ("(await (await aconn.f(1)).g())[0]\n", "conn.f(1).g()[0]\n"),
    ("f(await x, (await y))\n", "f(x, (y))\n"),
    ("x: Iterable[Row] | AsyncIterable[Row] | bytes\n", "x: Iterable[Row] | bytes\n"),
    ('"""Rows, also an asynchronous one, or bytes."""\n', '"""Rows, or bytes."""\n'),
]


@pytest.mark.parametrize(("asyncio", "blocking"), WITHOUT_WAITING)
def test_what_waits_is_written_without_waiting(tool: Any, asyncio: str, blocking: str) -> None:
    assert tool.without_waiting(asyncio) == blocking


IMPORTS = [
    ("from ..._shared.core import Gate", "from .._shared.core import Gate"),
    ("from ...errors import Error, DataError", "from ..errors import Error, DataError"),
    ("from ...mysql.core import first_of", "from .core import first_of"),
    ("from ...mysql import load", "from . import load"),
    ("from ... import defaults", "from .. import defaults"),
    ("from .._shared.cursor import LoopCursor as L", "from .._shared.cursor import LoopCursor as L"),
    ("from .connection import AsyncConnection", "from .connection import AsyncConnection"),
    ("import asyncio", "import asyncio"),
]


@pytest.mark.parametrize(("asyncio", "blocking"), IMPORTS)
def test_imports_are_those_of_the_blocking_files_place(tool: Any, asyncio: str, blocking: str) -> None:
    assert tool.with_its_own_imports(asyncio, "mysql/cursor.py") == blocking


def test_what_only_one_shell_has_is_marked(tool: Any) -> None:
    source = "x()\n# blocking: if y:\n# blocking:     z()\n"
    assert tool.without_the_loops_own(source) == "x()\nif y:\n    z()\n"
    source = "class A:  # blocking: class B(C):\n    # of loops  # asyncio only\n    d()  # blocking: e()\n    # f\n"
    assert tool.without_the_loops_own(source) == "class B(C):\n    e()\n    # f\n"
    source = "async def a(\n    b: int,\n) -> None:  # asyncio only\n    # c\n    d()\n\ne()\n"
    assert tool.without_the_loops_own(source) == "\ne()\n"
    source = "if a:  # asyncio only\n    b()\n\n@c  \ndef d(): ...  # asyncio only\n# blocking: e()\nf()\n"
    assert tool.without_the_loops_own(source) == "\ne()\nf()\n"


def test_tests_use_what_is_outside_of_aio_and_set_attributes(tool: Any) -> None:
    source = """\"\"\"A test.\"\"\"

from __future__ import annotations

import headrace.aio
from headrace.aio.pool import AsyncConnectionPool
from waiting import agather


async def test_it(aconn: headrace.aio.AsyncConnection) -> None:
    await aconn.set_autocommit(await agather(AsyncConnectionPool))
"""
    text = tool.without_waiting(tool.outside_of_aio(source))
    assert "import headrace\nfrom headrace.pool import ConnectionPool\nfrom waiting import gather\n" in text
    assert text.endswith(
        "def test_it(conn: headrace.Connection) -> None:\n    conn.autocommit = gather(ConnectionPool)\n"
    )
