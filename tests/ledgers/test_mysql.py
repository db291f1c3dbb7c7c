"""A short ledger on MySQL, which cannot be reached for a moment; `python -m ledgers mysql` runs it longer."""

from __future__ import annotations

DATABASE = "mysql"


def test_nothing_acknowledged_is_missing_and_nothing_is_doubled(faults_of_shared: list[str]) -> None:
    assert faults_of_shared == []
