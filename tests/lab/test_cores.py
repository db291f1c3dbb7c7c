"""Client and server on cores of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from headrace_lab.cores import Halves, children, halves, pin, processes


@pytest.mark.parametrize(
    ("cores", "clients", "server"),
    [({0, 1}, {0}, {1}), ({3, 5, 9}, {3, 5}, {9}), (set(range(8)), {0, 1, 2, 3}, {4, 5, 6, 7})],
)
def test_each_side_has_half_of_the_cores(cores: set[int], clients: set[int], server: set[int]) -> None:
    assert halves(frozenset(cores)) == Halves(frozenset(clients), frozenset(server))


def test_one_core_is_not_halved() -> None:
    assert halves(frozenset({4})) is None


def test_a_process_and_what_it_has_started_and_starts_later_stay_on_their_cores() -> None:
    core = frozenset({max(os.sched_getaffinity(0))})
    script = "import subprocess, sys; sys.stdin.readline(); subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        try:
            pin(parent.pid, core)
            parent.stdin.write(b"\n")
            parent.stdin.flush()
            while not (below := children(parent.pid)):
                pass
            assert [os.sched_getaffinity(pid) for pid in [parent.pid, *below]] == [core, core]
        finally:
            for pid in [*children(parent.pid), parent.pid]:
                os.kill(pid, 9)


def test_a_process_that_has_ended_is_no_error() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        pin(process.pid, frozenset(os.sched_getaffinity(0)))


def test_processes_that_end_while_they_are_listed_are_no_error() -> None:
    script = "import subprocess\nfor _ in range(200): subprocess.run(['true'])"
    with subprocess.Popen([sys.executable, "-c", script]) as churn:
        while churn.poll() is None:
            assert dict(processes())[os.getpid()][1] == str(os.getppid())
