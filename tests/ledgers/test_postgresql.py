"""A short ledger on PostgreSQL, which is killed and started again; `python -m ledgers postgresql` runs it longer."""

from __future__ import annotations

DATABASE = "postgresql"


def test_nothing_acknowledged_is_missing_and_nothing_is_doubled(faults_of_restarted: list[str]) -> None:
    assert faults_of_restarted == []
