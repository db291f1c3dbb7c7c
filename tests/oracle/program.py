"""Random programs, whatever the database: how they are played, shrunk, and printed as Python.

A program is its options and a list of steps, which are data. A *twin* plays a step through headrace and through the
oracle, an independent driver on a database of its own, and raises :class:`Mismatch` where the two differ. Steps are
made while they are played, so that their maker can look at the tables that there are; what is kept of them is complete,
and :func:`replay` plays it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

from long import FIRST_SEED

PROGRAMS = int(os.environ.get("HEADRACE_ORACLE_PROGRAMS", "0"))
"""Programs for each database, 0 for as many as the run has time for."""
SEED = int(os.environ.get("HEADRACE_ORACLE_SEED", FIRST_SEED))
"""The first program's seed; the next ones follow it."""
SHRINK_SECONDS = 60.0
"""How long a failing program is made shorter at most."""


class Mismatch(AssertionError):
    """The two drivers differ."""


class Unplayable(Exception):
    """Both refuse a step, headrace before it was sent: the program has no meaning from here on."""


@dataclass(frozen=True)
class Failed:
    """A statement that failed: its SQLSTATE or number where the error is the server's, else the class of the error."""

    code: str
    text: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failed) and other.code == self.code

    def __hash__(self) -> int:
        return hash(self.code)


@dataclass(frozen=True)
class Options:
    """How the program connects."""

    aio: bool = False
    autocommit: bool = False
    prepared: bool = True


class Twin(Protocol):
    """Headrace and the oracle, each with a database of its own."""

    def step(self, step: Any) -> None:
        """Plays a step on both. Raises Mismatch where they differ."""

    def finish(self) -> None:
        """Ends what is open, and compares a last time."""

    def close(self) -> None:
        """Closes the connections."""


Opener = Callable[[Options], Twin]
Maker = Callable[[random.Random, Any], Iterator[Any]]


def play(open_twin: Opener, options: Options, steps: Iterable[Any]) -> str | None:
    """What a program with these steps does wrong, None for nothing."""
    twin = open_twin(options)
    try:
        for step in steps:
            twin.step(step)
        twin.finish()
    except Mismatch as mismatch:
        return str(mismatch)
    except Unplayable:
        return None
    finally:
        twin.close()
    return None


def replay(open_twin: Opener, options: Options, steps: Sequence[Any]) -> None:
    """Plays a program that was found."""
    found = play(open_twin, options, steps)
    assert found is None, found


def random_program(open_twin: Opener, maker: Maker, seed: int) -> None:
    """Makes and plays a program. One that fails is shrunk, and its text is the error."""
    rng = random.Random(seed)
    options = Options(aio=rng.random() < 0.4, autocommit=rng.random() < 0.5, prepared=rng.random() < 0.75)
    steps: list[Any] = []
    twin = open_twin(options)

    def made() -> Iterator[Any]:
        for step in maker(rng, twin):
            steps.append(step)
            yield step

    try:
        for step in made():
            twin.step(step)
        twin.finish()
        return
    except Unplayable:
        return
    except Mismatch as mismatch:
        found = str(mismatch)
    finally:
        twin.close()
    short, found = shrunk(open_twin, options, steps, found)
    raise AssertionError(f"seed {seed}: {found}\n\n{as_python(options, short)}")


def shrunk(open_twin: Opener, options: Options, steps: list[Any], found: str) -> tuple[list[Any], str]:
    """The steps without those that the failure does not need, and what it is then."""
    deadline = time.monotonic() + SHRINK_SECONDS
    size = max(1, len(steps) // 2)
    while time.monotonic() < deadline:
        at = 0
        smaller = False
        while at < len(steps) and time.monotonic() < deadline:
            fewer = steps[:at] + steps[at + size :]
            again = play(open_twin, options, fewer)
            if again is None or kind_of(again) != kind_of(found):
                at += size
            else:
                steps, found, smaller = fewer, again, True
        if size == 1 and not smaller:
            break
        size = max(1, size // 2)
    for at, step in enumerate(steps):
        for simpler in simpler_steps(step):
            if time.monotonic() < deadline:
                fewer = [*steps[:at], simpler, *steps[at + 1 :]]
                again = play(open_twin, options, fewer)
                if again is not None and kind_of(again) == kind_of(found):
                    steps, found = fewer, again
    return steps, found


def kind_of(found: str) -> str:
    """The first words of a failure, and which of the two failed: shrinking keeps to it."""
    return found.partition(":")[0] + "".join(str("Failed(" in line) for line in found.splitlines()[-2:])


def simpler_steps(step: Any) -> Iterator[Any]:
    """A step with one of its inner steps or rows only."""
    if not is_dataclass(step):
        return
    for field in fields(step):
        value = getattr(step, field.name)
        if field.name in ("steps", "rows") and len(value) > 1:
            for at in range(len(value)):
                # What is sent and the same as literals go together.
                both = [name for name in (field.name, "literals") if hasattr(step, name)]
                yield replace(step, **{name: getattr(step, name)[at : at + 1] for name in both})  # type: ignore[type-var]


def as_python(options: Options, steps: Sequence[Any]) -> str:
    """A program as the list that :func:`replay` takes."""
    lines = "\n".join(f"    {step!r}," for step in steps)
    return f"{options!r}\n[\n{lines}\n]"


def check(kind: str, tested: Any, oracle: Any, step: Any) -> None:
    """Raises Mismatch if the results of headrace and of the oracle differ."""
    if tested != oracle:
        raise Mismatch(f"{kind}: in {step!r}\n  headrace {tested!r}\n  oracle   {oracle!r}")


class Loop:
    """A loop that runs everything in one task, as a program would: some things belong to their task."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._given: asyncio.Queue[Any] = asyncio.Queue()
        self._task = self._loop.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            made, done = await self._given.get()
            if made is None:
                return
            try:
                done.set_result(await made())
            except Exception as error:
                done.set_exception(error)
            del made, done

    def run(self, made: Callable[[], Any]) -> Any:
        """The result of the awaitable that ``made`` returns."""
        done = self._loop.create_future()
        self._given.put_nowait((made, done))
        return self._loop.run_until_complete(done)

    def settle(self, busy: Callable[[], bool] = lambda: False) -> None:
        """Waits until only the program's own task is left, and nothing is under way."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            self._loop.run_until_complete(asyncio.sleep(0.001))
            if len(asyncio.all_tasks(self._loop)) <= 1 and not busy():
                return

    def close(self) -> None:
        """Ends the task and the loop."""
        self.settle()
        self._given.put_nowait((None, None))
        self._loop.run_until_complete(self._task)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


class Blocks(Iterator[Any]):
    """An asynchronous iterator, used as if it blocked."""

    def __init__(self, inner: Any, loop: Loop) -> None:
        self._inner = inner
        self._loop = loop

    def __next__(self) -> Any:
        try:
            return blocking(self._loop.run(self._inner.__anext__), self._loop)
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """Ends it early."""
        if hasattr(self._inner, "aclose"):
            self._loop.run(self._inner.aclose)


class Looped:
    """An object of the asyncio shell, used as if it blocked: the same program plays on both shells."""

    def __init__(self, inner: Any, loop: Loop) -> None:
        self._inner = inner
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or inspect.isclass(found):
            return found

        def call(*args: Any, **keywords: Any) -> Any:
            async def awaited() -> Any:
                # On the running loop, which then registers generators and ends those that are dropped.
                value = found(*args, **keywords)
                return await value if inspect.isawaitable(value) else value

            return blocking(self._loop.run(awaited), self._loop)

        return call

    def __enter__(self) -> Any:
        return blocking(self._loop.run(self._inner.__aenter__), self._loop)

    def __exit__(self, *error: Any) -> Any:
        return self._loop.run(lambda: self._inner.__aexit__(*error))

    def __iter__(self) -> Iterator[Any]:
        return Blocks(self._inner.__aiter__(), self._loop)


def blocking(value: Any, loop: Loop) -> Any:
    """A result of the asyncio shell, in the form of the blocking shell."""
    if hasattr(value, "__anext__") and not hasattr(value, "fetchone"):
        return Blocks(value, loop)
    if isinstance(value, contextlib.AbstractAsyncContextManager) or hasattr(value, "__aiter__"):
        return Looped(value, loop)
    return value
