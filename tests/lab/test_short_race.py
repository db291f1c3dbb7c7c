"""The race that `headrace race` runs by default: a few minutes, the rows of the README, one rule for the slow."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import headrace_lab.cli as cli
import racing
from headrace.testing import PostgresServer
from headrace_lab import processes, race, readme, report, rounds, summary
from headrace_lab.contestants import MODULES, takes_part
from headrace_lab.workloads import WORKLOADS


def plan(*arguments: str) -> race.Plan:
    return cli.plan_of(cli.parser().parse_args(["race", *arguments]))


def test_default_is_the_rows_of_the_readme_within_a_time() -> None:
    default = plan()
    rows = [row for row in readme.ROWS if row[2] in readme.OVERVIEW_ROWS]
    assert list(default.workloads) == [(workload, size) for workload, size, _, _ in rows]
    assert default.cores == {"select_one": ("shared",)}
    assert default.length.seconds == rounds.SECONDS
    assert {*default.contestants} == {*MODULES["postgresql"]}
    # The time of the rounds alone is most of it, and most end sooner, as soon as the intervals are narrow.
    taking_part = [
        name for workload, _ in default.workloads for name in default.contestants if takes_part(name, workload)
    ]
    assert len(taking_part) * rounds.SECONDS < 360


def test_full_race_has_all_sizes_and_all_rounds() -> None:
    full = plan("--full")
    assert full.length.seconds is None
    assert full.length.rounds == 15
    assert ("fetch", 100_000) in full.workloads
    assert {name for name, _ in full.workloads} == {name for name, w in WORKLOADS.items() if w.offered(None)}


@pytest.mark.parametrize(
    ("longest", "expected"), [(0.1, 15), (1.0, 5), (2.4, 2), (10.0, 2), (0.0, 15)], ids=lambda value: str(value)
)
def test_a_slow_contestant_has_fewer_rounds(longest: float, expected: int) -> None:
    assert rounds.rounds_in(5.0, longest, 15) == expected


def test_rounds_are_enough_once_every_interval_is_narrow() -> None:
    steady = [[1.0, 1.001], [0.999, 1.0], [1.001, 1.0]]
    assert rounds.is_enough({"floor": steady, "a": [[2 * s for s in process] for process in steady]}, "floor")
    assert not rounds.is_enough({"floor": steady, "a": [[1.0, 1.0], [1.1, 1.1], [1.0, 1.0]]}, "floor")
    assert not rounds.is_enough({"floor": steady[:2], "a": steady[:2]}, "floor"), "of two processes none is"
    assert rounds.is_enough({"floor": steady, "slow": [[9.0], [5.0]]}, "floor"), "it gets no more"


@pytest.mark.parametrize("total", range(1, 16))
def test_rounds_are_spread_over_the_processes(total: int) -> None:
    spread = [rounds.rounds_in_process(total, 5, number) for number in range(5)]
    assert sum(spread) == total
    assert max(spread) - min(spread) <= 1
    assert spread == sorted(spread, reverse=True), "a contestant's processes are its first ones"


def test_who_has_fewer_rounds_is_in_the_report(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rounds, "NARROW", 0.0)
    short = race.Plan(
        ["floor", "headrace", "pg8000"], [("fetch", 10_000)], replace(racing.BRIEF, rounds=6, seconds=0.5)
    )
    result = race.Race(server.url, short, server.pid, lambda what, share: None).run()
    of = {row["contestant"]: row["rounds"] for row in result["results"]}
    reduced = {each["contestant"]: each for each in result["reduced"]}
    assert reduced.keys() == {name for name, ran in of.items() if ran < max(of.values())}
    for name, each in reduced.items():
        assert each["rounds"] == of[name]
        # The longest round may have come after it was decided.
        assert each["rounds"] == rounds.rounds_in(0.5, each["longest_s"], 6) or each["longest_s"] > 0.5 / 6
    assert of["pg8000"] <= of["headrace"]
    assert all(name in " ".join(report.reductions(result)) for name in reduced)


@pytest.mark.parametrize(("workload", "runs"), [("executemany", 2), ("fetch", 3)])
def test_first_round_of_a_process_counts_if_it_takes_long(
    server: PostgresServer, workload: str, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, ran = processes.Worker.run, Counter[str]()

    def counted(worker: processes.Worker, *args: Any) -> dict[str, Any]:
        ran[worker.name] += 1
        return run(worker, *args)

    monkeypatch.setattr(processes.Worker, "run", counted)
    short = race.Plan(["floor", "psycopg"], [(workload, 1_000)], replace(racing.BRIEF, rounds=6, seconds=1e-6))
    result = race.Race(server.url, short, server.pid, lambda what, share: None).run()
    assert [(row["rounds"], row["disqualified"]) for row in result["results"]] == [(2, None)] * 2
    # What reads keeps its rows for the check the first time.
    assert ran == {"floor": runs, "psycopg": runs}


@pytest.fixture
def result(server: PostgresServer) -> dict[str, Any]:
    plan = race.Plan(
        ["floor", "headrace", "headrace-async", "psycopg", "asyncpg"], [("fetch", 1_000)], racing.BRIEF.with_rounds(2)
    )
    return race.Race(server.url, plan, server.pid, lambda what, share: None).run()


def test_summary_fits_into_80_characters_and_names_whom(result: dict[str, Any]) -> None:
    long = copy.deepcopy(result)
    for row in long["results"]:
        row["workload"], row["size"] = "executemany_autocommit", 100_000
        if row["contestant"] == "psycopg":
            row |= {"contestant": "informix-driver-async", "rival": "headrace-async"}
        for key in ("ratio_to_floor", "cpu_ratio_to_floor", "ratio_to_rival"):
            row[key] = 12345.678 if row[key] else row[key]
    for each in (result, long):
        assert max(map(len, summary.lines(each))) <= summary.WIDTH
    [line] = [line for line in summary.lines(result) if line.startswith("fetch 1k")]
    assert ("psycopg" in line) == line.endswith("blocking")
    assert ("asyncpg" in line) == line.endswith("asyncio")


def test_without_the_floor_nothing_speaks_of_it(result: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    result["results"] = [row for row in result["results"] if row["contestant"] != "floor"]
    for row in result["results"]:
        row |= dict.fromkeys(("ratio_to_floor", "ratio_ci", "cpu_ratio_to_floor"))
    assert "floor" not in "\n".join(summary.lines(result))
    report.terminal(result, 200)
    assert "floor" not in capsys.readouterr().out


def test_report_says_how_busy_the_machine_was(result: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    environment = result["environment"]
    assert environment["load_start"] >= 0
    assert environment["load_end"] >= 0
    result["environment"] = {**environment, "load_warning": "The machine was busy."}
    report.terminal(result, 200)
    assert "The machine was busy." in capsys.readouterr().out
    assert "The machine was busy." in report.markdown(result)


def test_only_what_runs_now_makes_the_machine_busy() -> None:
    program = "import time; end = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    with subprocess.Popen([sys.executable, "-c", program]) as other:
        try:
            cores = processes.busy()
        finally:
            other.kill()
    assert cores is not None
    assert 0.3 < cores <= (os.cpu_count() or 1)
    assert processes.load_warning(cores) is not None
    assert processes.load_warning(0.1) is None
    assert processes.load_warning(None) is None


def test_help_lists_workloads_and_contestants(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["race", "--help"])
    words = capsys.readouterr().out.replace(",", " ").split()
    assert {*WORKLOADS, *MODULES["postgresql"], *MODULES["mariadb"]} <= {*words}


@pytest.mark.parametrize(
    ("environment", "opened"),
    [({"DISPLAY": ":0"}, True), ({}, False), ({"DISPLAY": ":0", "CI": "true"}, False)],
    ids=["desktop", "no_screen", "ci"],
)
def test_page_opens_where_there_is_a_desktop(
    environment: dict[str, str], opened: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("CI", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    page = tmp_path / "index.html"
    for option in ([], ["--no-open"]):
        cli.show(cli.parser().parse_args(["race", "--html", str(page), *option]))
    assert shown == ([page.as_uri()] if opened else [])


def test_the_race_needs_nothing_of_the_lab_that_is_compiled() -> None:
    """`make race` does not build it."""
    hidden = "import sys; sys.modules['headrace_lab._iibench'] = None"
    program = f"{hidden}; from headrace_lab import cli; cli.main(['race', '-h'])"
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL, timeout=60)
