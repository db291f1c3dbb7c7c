"""Each Arrow value for each type of column, by each way, beside rows of Python's values, and what is read as Arrow
stored again: the same value, or an error, or a line of docs/reference/arrow-differences.md, which says what differs and
why."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from long import FIRST_SEED, NIGHT
from servers import Database, names

from .arrow_matrix import COPIED, REFUSED, ArrowMatrix
from .arrow_values import KINDS, VALUES, ArrowValue
from .arrow_ways import WAYS
from .columns import COLUMNS, Column
from .page import ANY, differences

PAGE = "arrow-differences.md"
EACH = 3
"""How many columns a value of each kind goes into; all of them into all in a long run."""
TOGETHER = 6
"""How many columns all of them go into: a table of MySQL takes its time to be made."""


def chosen(columns: list[Column]) -> Iterator[tuple[Column, list[ArrowValue]]]:
    """Each value for each column in a long run, and some of each kind for some columns in others."""
    if NIGHT:
        yield from ((column, VALUES) for column in columns)
        return
    choice = random.Random(FIRST_SEED)
    some = choice.sample(columns, TOGETHER)
    picked: dict[Column, list[ArrowValue]] = {}
    for kind, values in KINDS.items():
        for column in choice.sample(some, EACH):
            picked.setdefault(column, []).append(ArrowValue(kind, *choice.choice(values)))
    yield from picked.items()


@pytest.fixture
def matrix(any_db: Database, berlin: None) -> Iterator[ArrowMatrix]:
    """The ways of a database. The zone of this process is not that of its sessions."""
    made = ArrowMatrix(any_db)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_arrow_is_the_same_value_by_every_way(any_db: Database, matrix: ArrowMatrix) -> None:
    lines = differences(PAGE)
    used: set[int] = set()
    unlisted = []
    stored: dict[tuple[str, bool], int] = {}
    for column, values in chosen(matrix.columns):
        for found in matrix.stored(column, values):
            key = (found.way.name, found.kind == COPIED)
            stored[key] = stored.get(key, 0) + (found.stored != REFUSED)
            if found.stored == REFUSED or repr(found.stored) == repr(found.usual):
                continue
            about = [
                number
                for number, line in enumerate(lines)
                if line.covers(any_db.name, found.kind, column.name, found.way.name, found.way.group)
            ]
            used.update(about)
            if not about:
                unlisted.append(str(found))
    assert matrix.broken == []
    assert min(stored.values()) > 0, stored
    stale = [line for number, line in enumerate(lines) if any_db.name in line.databases and number not in used]
    assert (unlisted, stale if NIGHT else []) == ([], []), "not on the page, or only there"


def test_the_page_names_what_there_is() -> None:
    known = (
        set(names()),
        {*KINDS, COPIED},
        {column.name for columns in COLUMNS.values() for column in columns},
        {way.name for way in WAYS} | {way.group for way in WAYS},
    )
    lines = differences(PAGE)
    assert len(lines) > 1
    for line in lines:
        for some, all_names in zip(line, known, strict=False):
            assert some
            assert some - {ANY} <= all_names, line
