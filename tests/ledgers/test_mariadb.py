"""A short ledger on MariaDB, which is killed and started again; `python -m ledgers mariadb` runs it longer."""

from __future__ import annotations

DATABASE = "mariadb"


def test_nothing_acknowledged_is_missing_and_nothing_is_doubled(faults_of_restarted: list[str]) -> None:
    assert faults_of_restarted == []
