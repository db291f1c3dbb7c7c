"""Each Arrow value for each type of column, by each way, beside rows of Python's values, and what is read as Arrow
stored again: the same value, or an error, or a line of docs/reference/arrow-differences.md, which says what differs and
why."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

from long import FIRST_SEED, NIGHT, times
from servers import Database, names

from .arrow_matrix import COPIED, REFUSED, ArrowMatrix
from .arrow_random import arrow_value
from .arrow_values import KINDS, VALUES, ArrowValue
from .arrow_ways import WAYS
from .columns import COLUMNS, Column
from .page import ANY, Line, differences

PAGE = "arrow-differences.md"
EACH = 3
"""How many columns a value of each kind goes into; all of them into all in a long run."""
TOGETHER = 6
"""How many columns all of them go into: a table of MySQL takes its time to be made."""
RANDOM_COLUMNS = 2
RANDOM_VALUES = 10
"""How many columns a random run has, and how many random values go into each."""


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


class Outcome(NamedTuple):
    """What came of some values for some columns."""

    unlisted: list[str]
    """What was stored as another value, and is not on the page."""
    stale: list[Line]
    """What is on the page, and did not come about."""
    stored: dict[tuple[str, bool], int]
    """How many each way has stored, of values and of those that were read."""


def outcome(matrix: ArrowMatrix, chosen: Iterable[tuple[Column, list[ArrowValue]]]) -> Outcome:
    """Stores values in columns by every way."""
    name, lines = matrix.db.name, differences(PAGE)
    used: set[int] = set()
    unlisted = []
    stored: dict[tuple[str, bool], int] = {}
    for column, values in chosen:
        for found in matrix.stored(column, values):
            key = (found.way.name, found.kind == COPIED)
            stored[key] = stored.get(key, 0) + (found.stored != REFUSED)
            if found.stored == REFUSED or repr(found.stored) == repr(found.usual):
                continue
            about = [
                number
                for number, line in enumerate(lines)
                if line.covers(name, found.kind, column.name, found.way.name, found.way.group)
            ]
            used.update(about)
            if not about:
                unlisted.append(str(found))
    stale = [line for number, line in enumerate(lines) if name in line.databases and number not in used]
    return Outcome(unlisted, stale, stored)


@pytest.mark.slow
@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_arrow_is_the_same_value_by_every_way(any_db: Database, matrix: ArrowMatrix) -> None:
    unlisted, stale, stored = outcome(matrix, chosen(matrix.columns))
    assert matrix.broken == []
    assert min(stored.values()) > 0, stored
    assert (unlisted, stale if NIGHT else []) == ([], []), "not on the page, or only there"


@pytest.mark.slow
@pytest.mark.parametrize("any_db", names(), indirect=True)
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + times(1)))
def test_random_arrow_is_the_same_value_by_every_way(any_db: Database, matrix: ArrowMatrix, seed: int) -> None:
    rnd = random.Random(seed)
    columns = rnd.sample(matrix.columns, RANDOM_COLUMNS)
    unlisted, _, _ = outcome(matrix, ((column, [arrow_value(rnd) for _ in range(RANDOM_VALUES)]) for column in columns))
    assert (matrix.broken, unlisted) == ([], [])


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
