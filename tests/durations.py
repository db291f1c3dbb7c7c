"""How long the files and the fixtures of a run have taken: ``--durations-by-file=20``.

pytest's own ``--durations`` has the slowest tests. What a run waits for is often a file of many short ones, or a server
that is started by a fixture, whose seconds are those of whichever test comes first. Here a file has the seconds of all
its tests, and a fixture those of its own code: not of the fixtures that it asks for.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

_clock = time.perf_counter


@dataclass
class FileTime:
    """The tests of a file."""

    seconds: dict[str, float] = field(default_factory=lambda: {"setup": 0.0, "call": 0.0, "teardown": 0.0})
    tests: int = 0


@dataclass
class FixtureTime:
    """All that was made by one fixture."""

    scope: str
    times: int = 0
    setup: float = 0.0
    """Seconds."""
    teardown: float = 0.0
    """Seconds."""


@dataclass
class ProcessTime:
    """A process of the run."""

    busy: float = 0.0
    """Seconds of its tests."""
    ended: float = 0.0
    """When its last test ended, in seconds since the epoch."""
    last: str = ""
    """The file of that test."""


class Durations:
    """The plugin. Each process measures its fixtures; the one that reports sees all tests, and writes the tables."""

    def __init__(self, most: int) -> None:
        self.most = most
        """Lines of a table; 0 for all of them."""
        self.files: dict[str, FileTime] = {}
        self.fixtures: dict[str, FixtureTime] = {}
        self.processes: dict[str, ProcessTime] = {}
        self._began = time.time()
        self._within: list[float] = []
        """Of each fixture that is being set up: seconds of those that it has asked for."""

    # in each process

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[Any]:
        """Measures a fixture's setup; and its teardown, by finalizers that are called before and after its own."""
        module = getattr(inspect.unwrap(fixturedef.func), "__module__", "")
        if module == "_pytest.python":
            # The value of a parametrized test.
            return (yield)
        found = self.fixtures.setdefault(f"{module}.{fixturedef.argname}", FixtureTime(fixturedef.scope))
        teardown_began = 0.0

        def end() -> None:
            found.teardown += _clock() - teardown_began

        def begin() -> None:
            nonlocal teardown_began
            teardown_began = _clock()

        request.addfinalizer(end)
        began = _clock()
        self._within.append(0.0)
        try:
            return (yield)
        finally:
            seconds = _clock() - began
            found.times += 1
            found.setup += seconds - self._within.pop()
            if self._within:
                self._within[-1] += seconds
            request.addfinalizer(begin)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hands the fixtures to the process that reports."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["fixtures"] = {name: list(vars(found).values()) for name, found in self.fixtures.items()}

    # in the process that reports

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Adds the fixtures of one of several processes."""
        for name, (scope, times, setup, teardown) in getattr(node, "workeroutput", {}).get("fixtures", {}).items():
            found = self.fixtures.setdefault(name, FixtureTime(scope))
            found.times += times
            found.setup += setup
            found.teardown += teardown

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds a part of a test to its file."""
        name = report.nodeid.partition("::")[0]
        found = self.files.setdefault(name, FileTime())
        found.seconds[report.when] += report.duration
        found.tests += report.when == "setup"
        process = self.processes.setdefault(getattr(report, "worker_id", "main"), ProcessTime())
        process.busy += report.duration
        if report.stop > process.ended:
            process.ended, process.last = report.stop, name

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Writes the tables, the longest first."""
        terminalreporter.section("durations by file, in seconds")
        terminalreporter.write_line("     all   setup    call  teardown  tests  file")
        files = sorted(self.files.items(), key=lambda item: -sum(item[1].seconds.values()))
        for name, file in files[: self.most or None]:
            setup, call, teardown = file.seconds.values()
            line = f"{setup + call + teardown:8.1f}{setup:8.1f}{call:8.1f}{teardown:10.1f}{file.tests:7}  {name}"
            terminalreporter.write_line(line)
        terminalreporter.section("durations by fixture, in seconds")
        terminalreporter.write_line("     all   setup  teardown  times  scope     fixture")
        fixtures = sorted(self.fixtures.items(), key=lambda item: -(item[1].setup + item[1].teardown))
        for name, found in fixtures[: self.most or None]:
            both = f"{found.setup + found.teardown:8.1f}{found.setup:8.1f}{found.teardown:10.1f}"
            terminalreporter.write_line(f"{both}{found.times:7}  {found.scope:8}  {name}")
        terminalreporter.section("processes, in seconds")
        for name, process in sorted(self.processes.items()):
            took = process.ended - self._began
            terminalreporter.write_line(f"{name}: {process.busy:.1f} of tests, ended after {took:.1f}: {process.last}")
