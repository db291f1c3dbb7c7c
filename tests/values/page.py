"""The pages that say what differs: the rows of their tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

REFERENCE = Path(__file__).parents[2] / "docs/reference"
ANY = "any"


class Line(NamedTuple):
    """A line of a page's table of differences."""

    databases: set[str]
    values: set[str]
    columns: set[str]
    ways: set[str]

    def covers(self, database: str, value: str, column: str, *ways: str) -> bool:
        """It says the difference of a value in a column by a way, which has these names."""
        facts = ({database}, {value}, {column}, set(ways))
        return all(some & (of | {ANY}) for some, of in zip(self, facts, strict=True))


def rows(page: str, cells: int) -> list[list[set[str]]]:
    """The names in the first cells of the rows of a page's table with so many columns."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    found = [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", text, re.MULTILINE)]
    return [[set(re.findall(r"`([^`]+)`", cell)) for cell in row[:-2]] for row in found if len(row) == cells]


def differences(page: str) -> list[Line]:
    """What differs, by a page."""
    return [Line(*row) for row in rows(page, 6)]
