"""Cells: clients side by side, and what is said of the aims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.testing import MariaDBServer
from headrace_lab.cli import main
from headrace_lab.iibench import cells, report, runs
from headrace_lab.iibench.bench import combinations
from headrace_lab.iibench.options import CELLS, BenchmarkOptions, OptionError


def step(cell: str, rate: float, waits: float, unfed: float) -> dict[str, Any]:
    insert = {"rate": rate, "rows": 1, "operations": 1, "response": {}, "service": {}, "retries": {}}
    return {
        "step": cell, "rows_per_commit": int(cell.partition("/")[0]), "kinds": {"insert": insert}, "indexes": None,
        "wait_share": waits, "unfed_share": unfed, "server": None,
        "client": {"cpu_us_per_row": 0.5, "stages_us_per_row": {"generate": 0.08}},
    }  # fmt: skip


def run(client: str, *steps: dict[str, Any]) -> runs.RunResult:
    header = {
        "label": "", "database": "mariadb", "driver": "headrace", "client": client, "strategy": "text", "round": 0,
        "cell": steps[0]["step"], "options": {"engine": "innodb", "generator": "rust"},
    }  # fmt: skip
    return runs.RunResult(header, steps=list(steps))


@pytest.mark.parametrize(
    ("cell", "rate", "waits", "unfed", "says"),
    [
        ("50/3", 98.0, 0.010, 0.0, "reached"),
        ("5/3", 98.0, 0.020, 0.0, "reached"),
        ("50/3", 97.0, 0.010, 0.0, "rate below 0.98 of pregen's"),
        ("50/3", 98.0, 0.011, 0.011, "waits above 1%"),
        ("50/3", 98.0, 0.011, 0.001, "waits above 1%, but not for the client"),
        ("5/3", 90.0, 0.021, 0.03, "rate below 0.98 of pregen's; waits above 2%"),
    ],
)
def test_what_was_missed_is_said(cell: str, rate: float, waits: float, unfed: float, says: str) -> None:
    lines = cells.table([run("overlap", step(cell, rate, waits, unfed)), run("pregen", step(cell, 100.0, 0.0, 0.0))])
    assert [line[-1] for line in lines] == [says, ""]
    assert lines[0][3] == f"{rate / 100:.2f}"
    assert len(lines[0]) == len(cells.HEADINGS)


@pytest.mark.parametrize(
    ("rates", "shown", "aims"),
    [
        ((90.0, 90.0, 90.0), "0.90 (slower than pregen)", "rate below 0.98 of pregen's"),
        ((90.0, 97.0, 110.0), "0.97 (no difference shown to pregen)",
         "rate below 0.98 of pregen's (no difference shown to pregen)"),
        ((110.0, 110.0, 110.0), "1.10 (faster than pregen)", "reached"),
    ],
)  # fmt: skip
def test_a_verdict_names_what_it_is_against(rates: tuple[float, ...], shown: str, aims: str) -> None:
    found = [run("overlap", step("50/3", rate, 0.0, 0.0)) for rate in rates]
    found += [run("pregen", step("50/3", 100.0, 0.0, 0.0)) for _ in rates]
    assert cells.table(found)[0][-1] == aims
    assert report.cells(runs.lines(found)[0])[2] == shown


def test_without_cells_there_is_no_table_of_them() -> None:
    alone = run("overlap", step("50/3", 1.0, 0.0, 0.0))
    alone.header["cell"] = ""
    assert cells.table([alone]) == []


def test_every_cell_has_options_of_its_own() -> None:
    made = dict(BenchmarkOptions(cells="all").in_cells())
    assert list(made) == list(CELLS) == ["1000/0", "100/0", "1000/3", "100/3", "50/3", "5/3"]
    five = made["5/3"]
    assert (five.rows_per_commit, five.num_secondary_indexes, five.secondary_at_start) == (5, 3, True)
    assert (made["1000/0"].num_secondary_indexes, made["1000/0"].secondary_at_start) == (0, False)
    assert all(options.max_rows % options.rows_per_commit == 0 for options in made.values())
    assert BenchmarkOptions().in_cells() == [("", BenchmarkOptions())]


def test_rounds_are_in_turn_within_a_cell() -> None:
    options = BenchmarkOptions(cells="5/3,50/3", client="overlap,pregen", rounds=2, cell_rows=100)
    names = [(c.cell, c.client, c.round) for c in combinations(options)]
    assert names[:4] == [("5/3", "overlap", 0), ("5/3", "pregen", 0), ("5/3", "overlap", 1), ("5/3", "pregen", 1)]
    assert len(names) == 8


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"cells": "7/3"}, "unknown --cells '7/3'"),
        ({"cells": "all", "step": "l.i0"}, "exclude each other"),
        ({"cells": "all", "no_inserts": True}, "--no-inserts does not go with --cells"),
        ({"cells": "1000/0", "cell_rows": 1_500}, "not a multiple"),
    ],
)
def test_cells_that_make_no_sense_are_refused(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        BenchmarkOptions(**wrong).in_cells()


def test_the_command_prints_the_whole_table(
    mariadb: MariaDBServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["iibench", "--database", "mariadb", "--url", mariadb.socket_url, "--setup", "--cleanup"]
    more = ["--cells", "all", "--cell-rows", "1000", "--client", "overlap,pregen", "--label", "all"]
    assert main([*command, *more, "--out", str(tmp_path)]) == 0
    lines = cells.table(runs.read(tmp_path / "all.jsonl"))
    assert [(line[0], line[1]) for line in lines] == [
        (cell, f"headrace {client}") for cell in CELLS for client in ("overlap", "pregen")
    ]
    assert all(line[-1] for line in lines[::2])
    assert "all cells" in capsys.readouterr().out
    page = (tmp_path / "all.html").read_text()
    assert "all cells" in page
    assert "100/3: rows inserted" in page
