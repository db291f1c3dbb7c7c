"""Two races side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace_lab.beside import Agreement, Beside, Ratio, beside, markdown, summary
from headrace_lab.cli import main


def row(contestant: str, to_floor: float, interval: tuple[float, float] | None, **more: Any) -> dict[str, Any]:
    return {
        "workload": "connect", "size": 1, "cores": "idle", "contestant": contestant, "median_s": 1.0, "error": None,
        "disqualified": None, "ratio_to_floor": to_floor, "ratio_ci": interval, "ratio_to_rival": None,
        "ratio_to_rival_ci": None, "rival": None, **more,
    }  # fmt: skip


def race(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"results": list(rows)}


FLOOR = row("floor", 1.0, None)
SHORT = race(
    FLOOR,
    row("headrace", 1.05, (1.0, 1.2)),
    row("psycopg", 2.0, None, ratio_to_rival=1.9, ratio_to_rival_ci=(1.8, 2.0), rival="headrace"),
    row("pg8000", 9.0, None),
    row("headrace", 3.0, (2.9, 3.1), workload="select_batch"),
)
WHOLE = race(
    FLOOR,
    row("headrace", 1.1, (1.15, 1.2)),
    row("psycopg", 2.5, (2.4, 2.6), ratio_to_rival=2.2, ratio_to_rival_ci=(2.1, 2.3), rival="headrace"),
)


def test_what_they_have_is_side_by_side() -> None:
    found = beside(SHORT, WHOLE)
    assert [(each.row, each.of, each.agreement) for each in found] == [
        ("connect and close", "headrace to floor", Agreement.YES),
        ("connect and close", "psycopg to floor", Agreement.UNKNOWN),
        ("connect and close", "psycopg to headrace", Agreement.NO),
        ("connect and close", "pg8000 to floor", Agreement.MISSING),
    ]
    assert summary(found).startswith("Of 4 ratios 1 agree")
    line = "| connect and close | psycopg to headrace | 1.90 (1.80 to 2.00) | 2.20 (2.10 to 2.30) | differs |"
    assert line in markdown(found)
    assert "| pg8000 to floor | 9.00 | - | in one race only |" in markdown(found)


def test_races_of_different_databases_are_refused() -> None:
    with pytest.raises(ValueError, match="different databases: a and b"):
        beside(race(row("headrace", 1, None, database="a")), race(row("headrace", 1, None, database="b")))


@pytest.mark.parametrize(
    ("first", "second", "agreement"),
    [
        (Ratio(1, (0.9, 1.1)), Ratio(1.2, (1.1, 1.3)), Agreement.YES),
        (Ratio(1, (0.9, 1.1)), Ratio(1.2, (1.11, 1.3)), Agreement.NO),
        (Ratio(1, None), Ratio(1.2, (0.9, 1.3)), Agreement.UNKNOWN),
        (Ratio(1, None), Ratio(9, None), Agreement.UNKNOWN),
        (Ratio(1, None), None, Agreement.MISSING),
    ],
)
def test_ratios_agree_if_their_intervals_meet(first: Ratio, second: Ratio | None, agreement: Agreement) -> None:
    assert Beside("", "", first, second).agreement is Beside("", "", second, first).agreement is agreement


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "short.json", tmp_path / "whole.json"]
    for file, report in zip(files, (SHORT, WHOLE), strict=True):
        file.write_text(json.dumps(report))
    assert main(["report", *map(str, files), "--markdown", str(tmp_path / "beside.md")]) == 0
    assert "Of 4 ratios 1 agree" in capsys.readouterr().out
    assert "differs" in (tmp_path / "beside.md").read_text()
    assert main(["report", *map(str, files), str(files[0])]) == 2
