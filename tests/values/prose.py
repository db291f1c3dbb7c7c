"""What the pages of types say in words: their sentences, the notes in their tables, and the claims that hold them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from .page import REFERENCE

SECTIONS: Final = {
    "types.md": ("# Types of PostgreSQL", None),
    "mysql-types.md": ("# Types of MySQL and MariaDB", None),
    "informix.md": ("## Types", "## Skipped fields"),
    "cubrid.md": ("## Types", "## API"),
    "values.md": ("# Rows and values", None),
    "value-differences.md": ("# Values beside the usual drivers", "## Values that other drivers do not know"),
}
"""The pages, and where of each what is said of values begins and ends."""
DATABASES: Final[dict[str, tuple[str, ...]]] = {
    "types.md": ("postgresql",),
    "mysql-types.md": ("mariadb", "mysql"),
    "informix.md": ("informix",),
    "cubrid.md": ("cubrid",),
}
"""The databases that a page is about."""
PLAIN: Final = re.compile(
    r"`[^`]*`|\[|\]\([^)]*\)|\b(the same|same|as that|any buffer|or|and|of|a|in|as|its|NULL|None|naive|aware|below)\b"
)
"""What a cell says without words of its own: names of classes, which test_type_pages.py has, and what joins them."""


class Claim(NamedTuple):
    """Something that a page says, and what shows that it is so."""

    page: str
    phrases: tuple[str, ...]
    """Parts of its sentences, or of cells, word for word."""
    check: Callable[[Any], None] | None = None
    """What is executed; it is given a :class:`Trial`."""
    databases: tuple[str, ...] = ()
    """Where; on no other one."""
    tests: tuple[str, ...] = ()
    """Tests that show it, by file and name."""


CLAIMS: list[Claim] = []


def says(
    page: str, *phrases: str, on: tuple[str, ...] = ()
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Registers a function as what holds phrases of a page; on ``on``, or on each database of the page."""
    databases = on or DATABASES[page]

    def register(check: Callable[[Any], None]) -> Callable[[Any], None]:
        CLAIMS.append(Claim(page, phrases, check, databases))
        return check

    return register


def shown(page: str, *phrases: str, by: str) -> None:
    """Registers tests, with blanks between them, as what holds phrases of a page."""
    CLAIMS.append(Claim(page, phrases, tests=tuple(by.split())))


class Trial:
    """A connection in autocommit on which a claim is tried."""

    def __init__(self, db: Any) -> None:
        self.db = db
        self.opened: list[Any] = []
        self.conn = self.connect()

    def connect(self, **settings: Any) -> Any:
        """Another one."""
        self.opened.append(self.db.connect(**{"autocommit": True, **settings}))
        return self.opened[-1]

    def close(self) -> None:
        """Disconnects all."""
        for conn in self.opened:
            conn.close()

    def value(self, sql: str, *args: Any) -> Any:
        """The first value of a query."""
        return self.conn.fetchval(sql, *args)

    def refuses(self, error: type[BaseException], sql: str, *args: Any, match: str | None = None) -> None:
        """A statement is an error."""
        with pytest.raises(error, match=match):
            self.conn.execute(sql, args)

    def table(self, columns: str, *, temporary: str = "") -> None:
        """Makes the table ``said`` anew."""
        self.conn.execute("drop table if exists said")
        self.conn.execute(f"create {temporary} table said ({columns})")

    def stored(self, value: Any, column: str = "v") -> Any:
        """What a column of the table has of a value."""
        self.conn.execute("delete from said")
        self.conn.execute(f"insert into said ({column}) values ({self.db.native_marks(1)[0]})", (value,))
        return self.value(f"select {column} from said")


def sentences(page: str) -> Iterator[str]:
    """What a page says: each sentence, each row of a table, and each cell of a table of types that has words."""
    begin, end = SECTIONS[page]
    text = (REFERENCE / page).read_text(encoding="utf-8").partition(begin)[2]
    text = text.partition(end)[0] if end else text
    text = re.sub(r"^```.*?^```$|^:::.*?(?=^\S)|^:::.*", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        if lines and lines[0].startswith("|"):
            yield from _rows(lines)
        else:
            joined = " ".join(" ".join(lines).split()).removeprefix("- ")
            yield from (each for each in re.split(r"(?<=\.)\s+(?=[A-Z`(])|(?<=\.\))\s+(?=[A-Z`])", joined) if each)


def _rows(lines: list[str]) -> Iterator[str]:
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    is_of_types = cells[0][1:] in (["from the server", "to the server"], ["Python", "as a parameter"])
    for row, line in zip(cells[2:], lines[2:], strict=True):
        if not is_of_types:
            yield line
        else:
            notes = (note for cell in row[1:] for note in re.split(r"; | \.\.\. ", cell))
            yield from (note for note in notes if re.search(r"\w", PLAIN.sub("", note)))
