"""Whatever a server sends is an error of PEP 249 (or TimeoutError), in bounded time and memory.

``HEADRACE_HOSTILE=5000`` runs as many cases on each database in place of a few, ``HEADRACE_HOSTILE_SEED`` begins
elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from headrace import errors
from long import FIRST_SEED, times
from servers import Database
from time_limit import time_limit

from .hostile import MESSAGES, HostileProxy, Seen, spoilt, watched

CASES = int(os.environ.get("HEADRACE_HOSTILE", times(24)))
SEED = int(os.environ.get("HEADRACE_HOSTILE_SEED", FIRST_SEED + 1))
TIMEOUT = 0.7


Operations = dict[str, Callable[[Any], Any]]


def of_postgresql(_: Database) -> Operations:
    return {
        "copy_out": lambda conn: list(conn.copy_out("pg_namespace")),
        "copy_in": lambda conn: conn.copy_in("r", [(n,) for n in range(1000, 1050)]),
        "json": lambda conn: conn.execute("select '{}'::json", timeout=TIMEOUT).fetchall(),
    }


def of_mysql(_: Database) -> Operations:
    return {}


def of_informix(_: Database) -> Operations:
    return {
        "lob": lambda conn: conn.create_lob().close(),
        "lob_content": lambda conn: conn.create_lob(column="lobs.b").write(b"x" * 1000),
        "fastpath": lambda conn: conn.fastpath("ifx_lo_close(integer)", 1),
    }


def of_cubrid(target: Database) -> Operations:
    return {
        "lob": lambda conn: conn.read_lob(conn.store_lob(b"x" * 1000)),
        "catalogue": lambda conn: conn.schema_info("columns", "r").fetchall(),
        "plan": lambda conn: conn.plan(target.answer),
        "keys": lambda conn: conn.generated_keys("insert into r values (-2)"),
    }


OWN_OPERATIONS: dict[str, Callable[[Database], Operations]] = {
    "postgresql": of_postgresql,
    "mysql": of_mysql,
    "informix": of_informix,
    "cubrid": of_cubrid,
}
NEEDS = {"informix": ["create table if not exists lobs (b blob)"]}
"""Statements that make what they need."""


def operations(target: Database) -> Operations:
    """What is asked of a connection whose server lies."""
    mark = target.mark

    def streamed(conn: Any) -> None:
        with contextlib.closing(conn.stream(target.series(500), **target.differences.streamed(100))) as rows:
            for _ in rows:
                pass

    found: Operations = {
        "execute": lambda conn: conn.execute(target.answer, timeout=TIMEOUT).fetchall(),
        "parameters": lambda conn: conn.execute(target.number.replace("$1", "%s"), (1,), timeout=TIMEOUT).fetchall(),
        "rows": lambda conn: conn.execute(target.series(300), timeout=TIMEOUT).fetchall(),
        "described": lambda conn: conn.execute(target.answer, timeout=TIMEOUT).description,
        "batch": lambda conn: conn.executemany(f"insert into r values ({mark})", [(n,) for n in range(50)]),
        "commit": lambda conn: (conn.execute("insert into r values (-1)", timeout=TIMEOUT), conn.commit()),
        "rollback": lambda conn: conn.rollback(),
        "stream": streamed,
        "ping": lambda conn: conn.ping() if hasattr(conn, "ping") else conn.check_alive(),
        "reset": lambda conn: conn.reset() if hasattr(conn, "reset") else None,
    }
    found.update(OWN_OPERATIONS[target.kind](target))
    return found


def blocking(target: Database, case: int) -> Seen:
    rng = random.Random(case)
    name, operation = rng.choice(list(operations(target).items()))
    with HostileProxy(target.port) as proxy:
        conn = target.connect(proxy.port)
        conn.execute(target.temporary)
        conn.commit()
        proxy.answer = spoilt(rng, MESSAGES[target.kind]())
        seen = watched(f"case {case}: {name}", lambda: operation(conn))
        conn.close()
    return seen


@pytest.fixture
def ready(target: Database) -> Database:
    with target.connect(autocommit=True) as conn:
        for statement in NEEDS.get(target.kind, ()):
            conn.execute(statement)
    return target


def test_a_lying_server_is_an_error_in_bounded_time_and_memory(ready: Database) -> None:
    seen = [blocking(ready, case) for case in range(SEED, SEED + CASES)]
    assert [one.fault for one in seen if one.fault] == []


BREACHES = {
    "postgresql": b"T" + bytes(4),
    "mysql": bytes([5, 0, 0, 200]) + bytes(5),
    "informix": bytes([0, 0, 0, 12]),
    "cubrid": b"\xff\xff\xff\xff" + bytes(4),
}
"""A message without its own length, a packet out of turn, a message that there is not, a negative length."""


@pytest.mark.parametrize("answer", ["breach", "end"])
def test_a_connection_is_closed_as_soon_as_its_error_is_raised(ready: Database, answer: str) -> None:
    with HostileProxy(ready.port) as proxy, contextlib.closing(ready.connect(proxy.port)) as conn:
        proxy.answer = lambda _: [BREACHES[ready.kind]] if answer == "breach" else []
        with pytest.raises(errors.OperationalError):
            conn.execute(ready.answer)
        assert conn.closed


@pytest.mark.parametrize("answer", ["breach", "end"])
async def test_a_connection_on_a_loop_is_closed_as_soon_as_its_error_is_raised(ready: Database, answer: str) -> None:
    with HostileProxy(ready.port) as proxy:
        conn = await ready.aconnect(proxy.port)
        proxy.answer = lambda _: [BREACHES[ready.kind]] if answer == "breach" else []
        with pytest.raises(errors.OperationalError):
            await conn.execute(ready.answer)
        assert conn.closed
        await conn.close()


async def test_a_lying_server_harms_no_loop(ready: Database) -> None:
    faults: list[str | None] = []
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    for case in range(SEED, SEED + CASES // 4):
        rng = random.Random(case)
        with HostileProxy(ready.port) as proxy:
            conn = await ready.aconnect(proxy.port)
            proxy.answer = spoilt(rng, MESSAGES[ready.kind]())
            error = None
            try:
                async with time_limit(8):
                    cursor = await conn.execute(rng.choice((ready.answer, ready.series(300))), timeout=TIMEOUT)
                    await cursor.fetchall()
            except Exception as raised:
                error = raised
            faults.append(Seen(f"case {case}", error, 0, 0).fault)
            await conn.close()
    assert [fault for fault in faults if fault] == []
    assert complaints == []
