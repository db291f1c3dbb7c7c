"""Makes crates/core/src/sqlstate/conditions.rs of PostgreSQL's list of error codes.

    python tools/update_sqlstates.py /usr/share/postgresql/18

The list is errcodes.txt, src/backend/utils/errcodes.txt of PostgreSQL's source; every installation has it in its share
folder. The version is the one that postgres.bki in the same folder begins with.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "crates/core/src/sqlstate/conditions.rs"

HEAD = """\
//! Every SQLSTATE that PostgreSQL {version} reports as an error, by the name of its condition.
//!
//! Made by tools/update_sqlstates.py from errcodes.txt of PostgreSQL {version} (in its source:
//! src/backend/utils/errcodes.txt).

use super::SqlState;

macro_rules! conditions {{
    ($($code:literal $constant:ident $name:literal;)*) => {{
        $(#[doc = $code] pub const $constant: SqlState = SqlState::of($code);)*

        /// Each SQLSTATE and the name of its condition.
        pub const CONDITIONS: &[(SqlState, &str)] = &[$(($constant, $name)),*];
    }};
}}

conditions! {{
"""


def conditions(errcodes: str) -> list[tuple[str, str]]:
    """SQLSTATEs and the names of their conditions, but those of success and of warnings (classes 00 and 01)."""
    rows = re.findall(r"^(\w{5}) +(\w) +\w+ +(\w+)$", errcodes, re.MULTILINE)
    return sorted((code, name) for code, kind, name in rows if kind == "E" or code.startswith("02"))


def postgres_version(bki: str) -> str:
    """The version that the first line of a postgres.bki names: ``# PostgreSQL 18``."""
    found = re.match(r"# PostgreSQL (\d+)\n", bki)
    if not found:
        raise SystemExit("error: this is not a postgres.bki of PostgreSQL")
    return found[1]


def made(share: Path) -> str:
    """The Rust source, from the share folder of an installation."""
    version = postgres_version((share / "postgres.bki").read_text())
    lines: list[str] = []
    seen: set[str] = set()
    for code, name in conditions((share / "errcodes.txt").read_text()):
        # A condition that two classes of codes have: the second is an external routine's (classes 38 and 39).
        constant = name.upper() + ("_EXT" if name in seen else "")
        seen.add(name)
        lines.append(f'    "{code}" {constant} "{name}";\n')
    return HEAD.format(version=version) + "".join(lines) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(made(Path(sys.argv[1])))
