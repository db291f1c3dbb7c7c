"""Servers that stop, vanish, drip or talk nonsense, in the middle of every call that waits: each ends within its bound,
by a PEP 249 error or TimeoutError, and the connection is in step afterwards or closed.

The bound of a call is its ``timeout``, or the connection's ``command_timeout``, and what cancelling it may take. Calls
run side by side, each with a connection and a way to the server of its own.
``HEADRACE_COMPANY_CALLS="commit stream"`` chooses some.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from typing import Any

import pytest

from headrace import defaults, errors

from .calls import ALWAYS_ENDS, CALLS, ENDLESS, LIMIT, Call, Scene
from .gate import Gate
from .places import Place
from .shells import Hang, Now, Shell
from .worker import same

CANCEL_TIMEOUT = 0.3
"""In place of the default, so that a test does not take long."""
SLACK = 20.0
"""Seconds that a busy machine may add."""
BOUND = LIMIT + 2 * CANCEL_TIMEOUT + SLACK
CHOSEN = os.environ.get("HEADRACE_COMPANY_CALLS", "").split()


def calls_of(place: Place) -> list[Call]:
    """The calls that a database has."""
    return [call for call in CALLS if place.kind in call.kinds and (not CHOSEN or call.name in CHOSEN)]


def through(place: Place, gate: Gate) -> str:
    """The URL that leads through a gate."""
    return re.sub(r":\d+/", f":{gate.port}/", place.url, count=1)


async def in_step_or_closed(scene: Scene) -> None:
    """The follow-ups."""
    conn, place = scene.conn, scene.place
    try:
        await conn.reset()
        same(
            "an answer", await (await conn.execute(place.marked(2), ("x",), timeout=5)).fetchall(), [("x", 1), ("x", 2)]
        )
        same("a batch's answers", await conn.fetchmany(place.marked(1), [("a",), ("b",)]), [("a", 1), ("b", 1)])
    except (errors.Error, TimeoutError):
        # asyncio raises at once, and closes what does not react in the background.
        deadline = time.monotonic() + 2 * CANCEL_TIMEOUT + SLACK
        while not conn.closed and time.monotonic() < deadline:
            await scene.shell.sleep(0.05)
        if not conn.closed:
            raise


async def attempt(call: Call, scene: Scene, gate: Gate, spoil: Any, problems: dict[str, str]) -> None:
    """Makes one call while the server is spoilt; notes what is wrong about it."""
    if call.before is not None:
        await call.before(scene)
    core = (scene.conn.value if isinstance(scene.conn, Now) else scene.conn)._core
    assert core.command_timeout is None
    core.command_timeout = scene.limit = LIMIT
    problems[call.name] = "it did not end"
    spoil(scene, gate)
    started = time.monotonic()
    try:
        await call.make(scene)
        said = ""
    except (errors.Error, TimeoutError) as error:
        said = f"{type(error).__name__}: {error}"
    except Exception as error:
        problems[call.name] = f"{type(error).__name__}: {error}"
        return
    took = time.monotonic() - started
    gate.state = "open"
    # What follows has to end, too, but a busy machine takes its time for a new session.
    core.command_timeout = scene.limit = SLACK
    if took > BOUND:
        problems[call.name] = f"it took {took:.1f} s, {said}"
        return
    ends = {call.name, f"{scene.place.kind}:{call.name}"}.intersection(ALWAYS_ENDS)
    if not said and spoil is not dripping and not ends:
        problems[call.name] = f"it succeeded without an answer ({spoil.__name__})"
        return
    problems[call.name] = f"{said}, and then the follow-ups did not end"
    try:
        await in_step_or_closed(scene)
    except Exception as error:
        problems[call.name] = f"{said}, and then {type(error).__name__}: {error}"
        return
    del problems[call.name]


def frozen(scene: Scene, gate: Gate) -> None:
    """Nothing passes any more."""
    gate.state = "frozen"


def vanished(scene: Scene, gate: Gate) -> None:
    """The connection is reset."""
    gate.reset()


def garbage(scene: Scene, gate: Gate) -> None:
    """The server's bytes are others."""
    gate.state = "garbage"


def dripping(scene: Scene, gate: Gate) -> None:
    """The server's bytes come one by one."""
    gate.state = "dripping"


def run(place: Place, shell: Shell, spoil: Any) -> None:
    """Every call, spoilt in one way."""
    problems: dict[str, str] = {}

    async def one(call: Call, own: Place, gate: Gate) -> None:
        keywords = {**own.keywords, "autocommit": call.autocommit}
        conn = await shell.connect(through(own, gate), **keywords)
        async with contextlib.AsyncExitStack() as stack:
            await attempt(call, Scene(own, shell, conn, stack, {}), gate, spoil, problems)
            with contextlib.suppress(Exception):
                await stack.aclose()
        with contextlib.suppress(errors.Error):
            await conn.close()

    async def test() -> None:
        await place.prepare(shell)
        chosen = [call for call in calls_of(place) if spoil is not dripping or call.name not in ENDLESS]
        calls = [(call, await place.apart(shell, number)) for number, call in enumerate(chosen)]
        with contextlib.ExitStack() as gates:
            works = [
                one(call, own, gates.enter_context(Gate(place_port(own), n))) for n, (call, own) in enumerate(calls)
            ]
            with contextlib.suppress(Hang):
                await shell.together(works, 4 * BOUND)
            found = dict(problems)
        assert not found, "\n".join(f"{name}: {said}" for name, said in sorted(found.items()))

    shell.run(test(), 6 * BOUND)


def place_port(place: Place) -> int:
    """Where the server itself listens."""
    found = re.search(r":(\d+)/", place.url)
    assert found is not None
    return int(found[1])


@pytest.fixture(autouse=True)
def quick_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", CANCEL_TIMEOUT)
    monkeypatch.setattr(defaults, "CANCEL_AGAIN", CANCEL_TIMEOUT / 4)


@pytest.mark.parametrize("spoil", [frozen, vanished, garbage, dripping], ids=lambda spoil: spoil.__name__)
def test_every_call_ends_in_time(place: Place, shell: Shell, spoil: Any) -> None:
    run(place, shell, spoil)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_every_call_ends_when_the_backend_stops(place: Place, shell: Shell) -> None:
    """A stopped process of the server: its socket takes everything, and cancel requests are delivered in vain."""

    def stopped(scene: Scene, gate: Gate) -> None:
        pids.append(scene.conn.backend_pid)
        os.kill(pids[-1], signal.SIGSTOP)

    pids: list[int] = []
    try:
        run(place, shell, stopped)
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("state", ["frozen", "garbage", "dripping", "reset"])
def test_connecting_ends_in_time(place: Place, shell: Shell, state: str) -> None:
    # It drips in just under a second.
    limit = 0.5 if place.long_login else 1

    async def test() -> None:
        with Gate(place_port(place)) as gate:
            gate.state = state if state != "reset" else "open"
            if state == "reset":
                gate.refuse()
            url = through(place, gate)
            started = time.monotonic()
            with pytest.raises((errors.Error, TimeoutError)):
                await shell.connect(url, connect_timeout=limit, **place.keywords)
            assert time.monotonic() - started < 1 + SLACK
            started = time.monotonic()
            with pytest.raises((errors.Error, TimeoutError)):
                pool = shell.pool(url, min_size=1, max_size=1, kwargs={"connect_timeout": limit})
                async with pool as opened, opened.connection(timeout=0.5):
                    pass
            assert time.monotonic() - started < 1 + 0.5 + SLACK

    shell.run(test(), 40)
