"""Makes the tables of error numbers of MySQL and MariaDB, for Rust and for Python.

    python tools/update_mysql_errors.py mysql/mysqld_error.h mariadb/mysqld_error.h
    python tools/update_mysql_errors.py --check    fails where a table is not what the tool has written
    python tools/update_mysql_errors.py --used     writes the table for Rust again, once Rust names another number

The headers come with the development files of each server's client library; the versions are those of the headers
``mysql_version.h`` and ``mariadb_version.h`` in the same folders.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUST = ROOT / "crates/mysql/src/errors/numbers.rs"
PYTHON = ROOT / "python/headrace/compat/mysqldb/constants/ER.py"

RUST_HEAD = """\
//! The numbers of the errors that this crate and its users name, by their names without `ER_`.
//!
//! Made by tools/update_mysql_errors.py from mysqld_error.h of {versions}.

macro_rules! numbers {{
    ($($name:ident = $number:literal,)*) => {{
        $(#[doc = concat!("ER_", stringify!($name))] pub const $name: u16 = $number;)*
    }};
}}

numbers! {{
"""
PYTHON_HEAD = '''\
"""Numbers of the errors that the server sends (manual, "Server Error Message Reference"), by names without ``ER_``.

Made by tools/update_mysql_errors.py from mysqld_error.h of {versions}.
SHA-256 of the rows: {digest}
"""

'''
LOG_ONLY = 10_000
"""The first of the numbers that MySQL has for its log: clients never receive them."""
NOT_SENT = re.compile(r"ERROR_(FIRST|LAST)|UNUSED|NEVER_USED|MYSQL_\d+$")
"""Names of numbers that no server sends: ends of ranges, and places held for numbers that were removed."""

Rows = dict[str, int]


def numbers(header: str) -> Rows:
    """The names of a header, with their numbers. Older servers still send what MySQL has marked as obsolete."""
    found = re.findall(r"^(?://)?#define (?:OBSOLETE_)?(?:ER_)?(\w+) (\d+)$", header, re.MULTILINE)
    return {name: int(number) for name, number in found if int(number) < LOG_ONLY and not NOT_SENT.match(name)}


def merged(mysql: Rows, mariadb: Rows) -> Rows:
    """Both servers' names, by number. A name that is another number in MariaDB has ``_MARIADB`` at its end there."""
    rows = dict(mysql)
    for name, number in mariadb.items():
        rows[name if rows.get(name, number) == number else f"{name}_MARIADB"] = number
    return dict(sorted(rows.items(), key=lambda row: (row[1], row[0])))


def version(folder: Path) -> str:
    """The server that the headers in a folder are of, with its version."""
    for name, server in (("mariadb_version.h", "MariaDB"), ("mysql_version.h", "MySQL")):
        if (folder / name).exists():
            found = re.search(r'MYSQL_SERVER_VERSION\s+"([\d.]+)', (folder / name).read_text())
            if found:
                return f"{server} {found[1]}"
    raise SystemExit(f"error: {folder} has no mysql_version.h and no mariadb_version.h with a version")


def used() -> set[str]:
    """The words of the files in Rust that name numbers."""
    sources = (path for path in (ROOT / "crates").rglob("*.rs") if path.name != RUST.name)
    texts = (text for text in map(Path.read_text, sources) if re.search(r"\bnumbers::|mod numbers;", text))
    return {word for text in texts for word in re.findall(r"\b[A-Z][A-Z0-9_]+\b", text)}


def files(rows: Rows, versions: str) -> dict[Path, str]:
    """The text of each file."""
    words = used()
    rust = "".join(f"    {name} = {number},\n" for name, number in rows.items() if name in words)
    python = "".join(f"{name} = {number}\n" for name, number in rows.items())
    digest = hashlib.sha256(python.encode()).hexdigest()
    return {
        RUST: RUST_HEAD.format(versions=versions) + rust + "}\n",
        PYTHON: PYTHON_HEAD.format(versions=versions, digest=digest) + python,
    }


def written() -> dict[Path, str]:
    """The text that each file must have, if the rows of the Python table are those of the servers."""
    text = PYTHON.read_text()
    found = re.search(r"mysqld_error\.h of (.+)\.$", text, re.MULTILINE)
    rows = re.findall(r"^(\w+) = (\d+)$", text, re.MULTILINE)
    return files({name: int(number) for name, number in rows}, found[1] if found else "")


def main(arguments: list[str]) -> int:
    """Writes the files, or compares them."""
    if arguments == ["--check"]:
        # The table's own checksum shows that no row was edited; the Rust file is made of the same rows.
        stale = [path for path, text in written().items() if path.read_text() != text]
        for path in stale:
            print(f"error: {path.name} is not what tools/update_mysql_errors.py writes", file=sys.stderr)
        return min(len(stale), 1)
    if arguments == ["--used"]:
        RUST.write_text(written()[RUST])
        return 0
    mysql, mariadb = (Path(argument) for argument in arguments)
    rows = merged(numbers(mysql.read_text()), numbers(mariadb.read_text()))
    versions = f"{version(mysql.parent)} and {version(mariadb.parent)}"
    for path, text in files(rows, versions).items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}: {len(rows)} numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
