"""Makes crates/core/src/sqlstate/conditions.rs of PostgreSQL's list of error codes.

    python tools/update_sqlstates.py /usr/share/postgresql/18/errcodes.txt

The list is src/backend/utils/errcodes.txt of PostgreSQL's source; every installation has it in its share folder.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "crates/core/src/sqlstate/conditions.rs"

HEAD = """\
//! Every SQLSTATE that PostgreSQL reports as an error, by the name of its condition.
//!
//! Made by tools/update_sqlstates.py from src/backend/utils/errcodes.txt of PostgreSQL's source.

use super::SqlState;

macro_rules! conditions {
    ($($code:literal $constant:ident $name:literal;)*) => {
        $(#[doc = $code] pub const $constant: SqlState = SqlState::of($code);)*

        /// Each SQLSTATE and the name of its condition.
        pub const CONDITIONS: &[(SqlState, &str)] = &[$(($constant, $name)),*];
    };
}

conditions! {
"""


def conditions(errcodes: str) -> list[tuple[str, str]]:
    """SQLSTATEs and the names of their conditions, but those of success and of warnings (classes 00 and 01)."""
    rows = re.findall(r"^(\w{5}) +(\w) +\w+ +(\w+)$", errcodes, re.MULTILINE)
    return sorted((code, name) for code, kind, name in rows if kind == "E" or code.startswith("02"))


def made(errcodes: str) -> str:
    """The Rust source."""
    lines: list[str] = []
    seen: set[str] = set()
    for code, name in conditions(errcodes):
        # A condition that two classes of codes have: the second is an external routine's (classes 38 and 39).
        constant = name.upper() + ("_EXT" if name in seen else "")
        seen.add(name)
        lines.append(f'    "{code}" {constant} "{name}";\n')
    return HEAD + "".join(lines) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(made(Path(sys.argv[1]).read_text()))
