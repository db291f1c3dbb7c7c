"""Every question of SQLAlchemy's tests has an answer, and every no the page of a manual beside it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.mark.parametrize("database", ["informix", "cubrid"])
def test_every_requirement_is_answered(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # They are imported by SQLAlchemy's tests, which know nothing of this folder as a package.
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    declared = importlib.import_module("declared")
    asked = importlib.import_module(f"requirements_{database}").Requirements
    kinds = [set(asked.YES), set(asked.NO), set(asked.SERVER), set(asked.DIALECT), set(asked.BESIDE)]
    answers = set.union(*kinds)
    assert declared.closed_by_default() - answers == set()
    assert sum(map(len, kinds)) == len(answers), "each has one answer"
    assert all(hasattr(asked, name) for name in answers)
    assert all(no.reason and no.page for no in asked.NO.values())
