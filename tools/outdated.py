"""Lists dependencies of the crates that are two versions behind, as warnings of GitHub's workflows.

    python tools/outdated.py

A version is what a requirement in Cargo.toml does not go beyond by itself: 1 and 2, or 0.9 and 0.10. What only a newer
Rust than the workspace's takes is not listed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEHIND = 2
"""Versions from which on a dependency is listed."""
LINE = re.compile(
    r"^\s*\w+ (?P<name>[\w-]+) (?:v\S+ -> )?v(?P<used>[\d.]+)\S*"
    r" \(available: v(?P<newest>[\d.]+)[^,)]*(?P<rust>, requires)?"
)


def step(version: str) -> tuple[int, int]:
    """The part of a version that a requirement fixes.

    >>> step("0.9.12"), step("1.2.2")
    ((0, 9), (1, 0))
    """
    major, minor = (int(part) for part in f"{version}.0".split(".")[:2])
    return (major, 0) if major else (0, minor)


def steps_between(used: str, newest: str) -> int:
    """How many versions a dependency is behind; from 0.x to 1.x it is one for each.

    >>> steps_between("0.37.0", "0.43.0"), steps_between("0.9.1", "2.0.0"), steps_between("1.2.0", "1.9.0")
    (6, 2, 0)
    """
    (major, minor), (new_major, new_minor) = step(used), step(newest)
    return new_major - major if new_major != major else new_minor - minor


def behind(output: str, direct: set[str]) -> Iterator[tuple[str, str, str]]:
    """The name, used and newest version of what is behind, of what ``cargo update --dry-run --verbose`` prints."""
    for line in output.splitlines():
        found = LINE.match(line)
        if not found or found["rust"] or found["name"] not in direct:
            continue
        if steps_between(found["used"], found["newest"]) >= BEHIND:
            yield found["name"], found["used"], found["newest"]


def cargo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["cargo", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)


def main() -> int:
    """Prints a warning for each; the exit status says nothing of them."""
    metadata = json.loads(cargo("metadata", "--format-version", "1", "--no-deps").stdout)
    direct = {each["name"] for package in metadata["packages"] for each in package["dependencies"]}
    for name, used, newest in behind(cargo("update", "--dry-run", "--verbose").stderr, direct):
        print(f"::warning file=Cargo.lock::{name} {used} is {steps_between(used, newest)} versions behind {newest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
