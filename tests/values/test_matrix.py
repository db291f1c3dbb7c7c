"""Each value for each type of column, by each way, beside the usual driver: the same value, or an error, or a line of
docs/reference/value-differences.md, which says what differs and why."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from long import FIRST_SEED, NIGHT
from servers import Database, names

from .columns import COLUMNS, Column
from .matrix import REFUSED, Found, Matrix, same
from .page import ANY, Line, differences, rows
from .reading import READINGS
from .values import KINDS, VALUES, Value
from .ways import WAYS

PAGE = "value-differences.md"
EACH = 2
"""How many columns the values of each kind go into; all in a long run."""


def unknown(database: str) -> set[str]:
    """The kinds of values that the usual drivers do not know."""
    return {kind for databases, kinds in rows(PAGE, 4) if {database, ANY} & databases for kind in kinds}


def covers(line: Line, database: str, found: Found) -> bool:
    """A line of the page says this difference."""
    return line.covers(database, found.value.kind, found.column.name, found.way.name, found.way.group)


def chosen(columns: list[Column]) -> Iterator[tuple[Column, list[Value]]]:
    """Each value for each column in a long run. In others some of each kind: for a column that can be the bound of a
    range, so that there is every way, and for some others."""
    if NIGHT:
        yield from ((column, VALUES) for column in columns)
        return
    choice = random.Random(FIRST_SEED)
    picked: dict[Column, list[Value]] = {}
    with_bounds = [column for column in columns if column.bounds] or columns
    for kind, values in KINDS.items():
        for number in range(EACH):
            column = choice.choice(columns if number else with_bounds)
            picked.setdefault(column, []).append(Value(kind, choice.choice(values)))
    yield from picked.items()


@pytest.fixture
def matrix(any_db: Database, berlin: None) -> Iterator[Matrix]:
    """The ways of a database. The zone of this process is not that of its sessions."""
    made = Matrix(any_db, unknown(any_db.name))
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_every_value_is_the_same_by_every_way(any_db: Database, matrix: Matrix) -> None:
    lines = differences(PAGE)
    used: set[int] = set()
    unlisted = []
    for column, values in chosen(matrix.columns):
        for found in (*matrix.stored(column, values), *matrix.read(column, values)):
            if found.stored == REFUSED or same(found.stored, found.usual):
                continue
            about = [number for number, line in enumerate(lines) if covers(line, any_db.name, found)]
            used.update(about)
            if not about:
                unlisted.append(str(found))
    assert matrix.broken == []
    stale = [line for number, line in enumerate(lines) if any_db.name in line.databases and number not in used]
    assert (unlisted, stale if NIGHT else []) == ([], []), "not on the page, or only there"


def test_the_page_names_what_there_is() -> None:
    every = (*WAYS, *READINGS)
    known = (
        set(names()),
        set(KINDS),
        {column.name for columns in COLUMNS.values() for column in columns},
        {way.name for way in every} | {way.group for way in every},
    )
    lines = [*differences(PAGE), *rows(PAGE, 4)]
    assert len(differences(PAGE)) > 1
    assert len(rows(PAGE, 4)) > 1
    for line in lines:
        for some, all_names in zip(line, known, strict=False):
            assert some
            assert some - {ANY} <= all_names, line
