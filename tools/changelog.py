"""Merges the files in ``changes/`` into CHANGELOG.md, at a release: ``python tools/changelog.py VERSION``.

A file is named ``TOPIC.KIND.md``, where the kind is one of :data:`KINDS`, and has one or two sentences for users. The
section "Unreleased" gets them as items under its headings, is then renamed to the version and the date, and a new,
empty section is put before it. The files are removed. ``--check`` changes nothing, and reports files that could not be
merged.
"""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
KINDS: Final = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
"""The kinds of a change, each with its heading, in the order of the changelog."""
UNRELEASED: Final = "## Unreleased"


def entries(folder: Path) -> dict[str, list[str]]:
    """Returns the texts of the fragments in a folder by their kind, in the order of their names.

    Raises:
        ValueError: a file has another name, or no text, or more than one paragraph.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*")):
        if path.name == "README.md":
            continue
        named = re.fullmatch(r"[a-z0-9][a-z0-9-]*\.([a-z]+)\.md", path.name)
        if not named or named[1] not in KINDS:
            raise ValueError(f"{path.name}: the name must be TOPIC.KIND.md, and the kind one of {', '.join(KINDS)}")
        text = path.read_text(encoding="utf-8").strip()
        if not text or "\n\n" in text or text.startswith(("-", "#")):
            raise ValueError(f"{path.name}: it must have one paragraph, without a heading or a list")
        found[named[1]].append(text)
    return found


def merged(changelog: str, found: dict[str, list[str]], version: str, day: datetime.date) -> str:
    """Returns the changelog with a section for a version: the items of "Unreleased", followed by those that were found.

    Raises:
        ValueError: the changelog has no section "Unreleased".
    """
    before, heading, rest = changelog.partition(f"{UNRELEASED}\n")
    if not heading:
        raise ValueError(f"CHANGELOG.md: there is no line {UNRELEASED!r}")
    section, next_heading, after = rest.partition("\n## ")
    for kind, title in KINDS.items():
        items = "".join("- " + text.replace("\n", "\n  ") + "\n" for text in found[kind])
        if items:
            section = _extended(section, title, items)
    return f"{before}{UNRELEASED}\n\n## {version} - {day.isoformat()}\n{section.rstrip()}\n{next_heading}{after}"


def _extended(section: str, title: str, items: str) -> str:
    """Appends items to the part of a section that has a title, before its sub-headings; makes that part, if there is
    none."""
    begin = re.search(rf"^### {title}\n", section, re.MULTILINE)
    if begin is None:
        return f"{section.rstrip()}\n\n### {title}\n\n{items}"
    following = re.search(r"^####? ", section[begin.end() :], re.MULTILINE)
    end = begin.end() + following.start() if following else len(section)
    return f"{section[:end].rstrip()}\n{items}\n{section[end:]}"


def main(argv: list[str]) -> int:
    """Merges, or with ``--check`` only reads, the fragments of the repository."""
    if len(argv) != 1 or (argv[0].startswith("-") and argv[0] != "--check"):
        print("usage: python tools/changelog.py VERSION | --check", file=sys.stderr)
        return 2
    changelog, folder = ROOT / "CHANGELOG.md", ROOT / "changes"
    try:
        found = entries(folder)
        today = datetime.datetime.now(datetime.timezone.utc).date()
        text = merged(changelog.read_text(encoding="utf-8"), found, argv[0], today)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if argv[0] != "--check":
        changelog.write_text(text, encoding="utf-8")
        for kind in KINDS:
            for path in folder.glob(f"*.{kind}.md"):
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
