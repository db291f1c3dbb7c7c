"""docs/reference/arrow.md: each type of its tables has the Arrow type that stands there, and none is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from headrace import errors
from headrace._shared.databases import DATABASES
from live import CUBRID_URL
from servers import Database

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/arrow.md").read_text(encoding="utf-8")
SECTIONS = {row.schemes[0]: row.title for row in DATABASES}

UNTESTED = {
    "mysql": {"uuid", "inet4", "inet6"},
    "mariadb": {"vector(3)"},
    "postgresql": set[str](),
    "informix": set[str](),
    "cubrid": set[str]() if CUBRID_URL else {"list of int"},
}
"""Types that a server does not have, of the versions that are tested; and one that CUBRID's test server does not."""


def table(kind: str) -> dict[str, str]:
    """The types of a section, and the Arrow type of each; those without one of their own are left out."""
    section = PAGE.partition(f"## {SECTIONS[kind]}\n")[2].partition("\n## ")[0]
    found: dict[str, str] = {}
    for line in section.splitlines():
        cells = re.fullmatch(r"\| (.*) \| (.*) \|", line)
        arrow = re.match(r"`([^`]+)`(?:$|, )", cells[2]) if cells else None
        for name in re.findall(r"`([^`]+)`", cells[1]) if cells and arrow else []:
            assert name not in found, name
            found[name] = arrow[1] if arrow else ""
    return found


def arrow_type(db: Database, conn: Any, name: str) -> str:
    """The Arrow type of an empty column of this type."""
    conn.execute("drop table if exists arrow_type")
    conn.execute(f"create table arrow_type (nr int, c {name})")
    return str(pyarrow.schema(conn.fetch_arrow("select nr, c from arrow_type")).field(1).type)


def test_each_type_has_the_arrow_type_of_the_table(any_db: Database) -> None:
    wanted = {name: arrow for name, arrow in table(any_db.kind).items() if name not in UNTESTED[any_db.name]}
    assert len(wanted) > 15
    found = dict[str, str]()
    with any_db.connect(autocommit=True) as conn:
        for name in wanted:
            try:
                found[name] = arrow_type(any_db, conn, name)
            except errors.DatabaseError as error:
                found[name] = f"{type(error).__name__}: {error}"
    assert found == wanted


def test_no_type_of_postgresql_is_missing(url: str) -> None:
    import headrace

    sql = (
        "select format_type(oid, null), 'select null::' || format_type(oid, null) || ' as c' from pg_type "
        "where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'r', 'm') and typcategory <> 'A'"
    )
    listed = set(re.findall(r"`([^`]+)`", PAGE.partition("## PostgreSQL\n")[2].partition("\n## ")[0]))
    names = {"character": "char(5)", "character varying": "varchar", "bit varying": "bit"}
    names |= {
        f"{kind} with{out} time zone": f"{kind}{tz}"
        for kind in ("time", "timestamp")
        for out, tz in (("", "tz"), ("out", ""))
    }
    with headrace.connect(url) as conn:
        missing = {
            name: found
            for name, select in conn.fetch(sql)
            if names.get(name, name) not in listed
            and (found := str(pyarrow.schema(conn.fetch_arrow(select)).field(0).type)) != "string"
        }
    assert missing == {}


def source(path: str, begin: str) -> str:
    """A part of a source file, up to an empty line."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return text.partition(begin)[2].partition("\n}\n")[0]


NAMED: list[tuple[str, str, str, str, dict[str, str | None]]] = [
    ("mysql", "crates/mysql/src/types/name.rs", "fn name(", r'=> "(\w+)"', {"null": None, "unknown": None}),
    (
        "informix",
        "crates/informix/src/types/mod.rs",
        "codes! {",
        r"\b([A-Z]\w*) = \d+",
        {"udtvar": None, "udtfixed": None, "collection": None, "sendrecv": None},
    ),
    (
        "cubrid",
        "crates/cubrid/src/types/mod.rs",
        "codes! {",
        r"\b([A-Z]\w*) = \d+",
        {
            **dict.fromkeys(("null", "object", "resultset", "ushort", "uint", "ubigint", "timetz")),
            "short": "smallint",
            "varbit": "bit",
            "varnchar": "nchar",
            "sequence": "list",
        },
    ),
]
"""Where the names of a database's types stand in the code, and what is not a column's type, or has another name."""


@pytest.mark.parametrize(("kind", "path", "begin", "pattern", "others"), NAMED, ids=[row[0] for row in NAMED])
def test_no_type_of_the_code_is_missing(
    kind: str, path: str, begin: str, pattern: str, others: dict[str, str | None]
) -> None:
    known = {name.lower() for name in re.findall(pattern, source(path, begin))}
    assert len(known) > 20
    listed = {re.split(r"[^a-z0-9]", name)[0] for name in table(kind)}
    assert {name for name in known if others.get(name, name) not in {*listed, None}} == set()
