"""Makes crates/postgres/src/types/pg_type.rs of the catalogs that PostgreSQL's initdb begins with.

    python tools/update_postgres_types.py /usr/share/postgresql/18

They are postgres.bki, which every installation has in its share folder, and which has the rows of
src/include/catalog/pg_type.dat and pg_range.dat of PostgreSQL's source.
"""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from update_sqlstates import postgres_version

TARGET = Path(__file__).parents[1] / "crates/postgres/src/types/pg_type.rs"

HEAD = """\
//! The built-in types and ranges of PostgreSQL {version}.
//!
//! Made by tools/update_postgres_types.py from postgres.bki of PostgreSQL {version} (in its source: pg_type.dat and
//! pg_range.dat of src/include/catalog).

use super::builtin::{{Builtin, Range, Scalar}};

macro_rules! builtins {{
    ($($oid:literal $name:literal $array:literal $kind:ident,)*) => {{
        &[$(Builtin {{ oid: $oid, name: $name, array: $array, kind: Scalar::$kind }},)*]
    }};
}}

macro_rules! ranges {{
    ($($oid:literal $name:literal $array:literal of $element:literal,
       $multirange:literal $multirange_name:literal $multirange_array:literal;)*) => {{
        &[$(Range {{
            oid: $oid, name: $name, array: $array, element: $element,
            multirange: $multirange, multirange_name: $multirange_name, multirange_array: $multirange_array,
        }},)*]
    }};
}}
"""

SCALARS = {
    "Bool": "boolsend",
    "Int2": "int2send",
    "Int4": "int4send",
    "Int8": "int8send",
    "Oid": "oidsend xidsend cidsend",
    "UInt8": "xid8send",
    "Float4": "float4send",
    "Float8": "float8send",
    "Numeric": "numeric_send",
    "Text": "textsend namesend bpcharsend varcharsend unknownsend cstring_send xml_send",
    "Char": "charsend",
    "Bytea": "byteasend",
    "Date": "date_send",
    "Time": "time_send",
    "TimeTz": "timetz_send",
    "Timestamp": "timestamp_send",
    "TimestampTz": "timestamptz_send",
    "Interval": "interval_send",
    "Uuid": "uuid_send",
    "Json": "json_send",
    "Jsonb": "jsonb_send",
    "Inet": "inet_send cidr_send",
    "Bits": "bit_send varbit_send",
    "Point": "point_send",
    "Line": "line_send",
    "LineSegment": "lseg_send",
    "Box": "box_send",
    "Path": "path_send",
    "Polygon": "poly_send",
    "Circle": "circle_send",
    "MacAddr": "macaddr_send macaddr8_send",
    "Void": "void_send",
    "Record": "record_send",
}
"""The variants of ``Scalar``, by the functions of the server that write their binary form."""
AS_TEXT = "AsText"
"""The variant of the types whose binary form the driver does not read."""
BY_SENDER = {sender: variant for variant, senders in SCALARS.items() for sender in senders.split()}
BASE, PSEUDO = "b", "p"
"""``pg_type.typtype``"""
ARRAYS = "A"
"""``pg_type.typcategory`` of arrays; int2vector and oidvector have it, too."""


def catalog(bki: str, name: str) -> Iterator[dict[str, str]]:
    """The rows of a catalog, by its columns."""
    lines = iter(bki.splitlines())
    if not any(line.split()[:2] == ["create", name] for line in lines):
        raise SystemExit(f"error: there is no catalog {name}")
    next(lines)  # the opening parenthesis
    columns = [line.split()[0] for line in itertools.takewhile(lambda line: line.strip() != ")", lines)]
    for line in itertools.takewhile(lambda line: not line.startswith(("close", "create")), lines):
        if line.startswith("insert"):
            yield dict(zip(columns, shlex.split(line)[2:-1], strict=True))


def made(share: Path) -> str:
    """The Rust source, from the share folder of an installation."""
    bki = (share / "postgres.bki").read_text()
    version = postgres_version(bki)
    functions = {row["oid"]: row["proname"] for row in catalog(bki, "pg_proc")}
    types = {row["oid"]: row for row in catalog(bki, "pg_type")}
    scalars: list[str] = []
    for oid, row in sorted(types.items(), key=lambda item: int(item[0])):
        sender = functions.get(row["typsend"], "")
        pseudo = row["typtype"] == PSEUDO and sender in BY_SENDER
        if pseudo or (row["typtype"] == BASE and row["typcategory"] != ARRAYS):
            scalars.append(f'    {oid} "{row["typname"]}" {row["typarray"]} {BY_SENDER.get(sender, AS_TEXT)},\n')
    ranges: list[str] = []
    for row in catalog(bki, "pg_range"):
        one, many = (
            f'{oid} "{types[oid]["typname"]}" {types[oid]["typarray"]}'
            for oid in (row["rngtypid"], row["rngmultitypid"])
        )
        ranges.append(f"    {one} of {row['rngsubtype']}, {many};\n")
    return (
        HEAD.format(version=version)
        + "\n/// Types that are neither arrays nor ranges.\npub static BUILTINS: &[Builtin] = builtins! {\n"
        + "".join(scalars)
        + "};\n\n/// Range types, each with its multirange type.\npub static RANGES: &[Range] = ranges! {\n"
        + "".join(ranges)
        + "};\n"
    )


if __name__ == "__main__":
    TARGET.write_text(made(Path(sys.argv[1])))
