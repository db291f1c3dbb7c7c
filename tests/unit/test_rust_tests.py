"""Tests in Rust are one program for each crate: a file that it does not name would never run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    each.relative_to(ROOT) for folder in ("crates", "simulators") for each in (ROOT / folder).glob("*/tests/all.rs")
)


def modules(file: Path) -> set[Path]:
    """The file itself, and those of its modules."""
    folder = file.parent if file.stem in ("all", "mod") else file.parent / file.stem
    found = {file}
    for path, name in re.findall(r'(?:#\[path = "([^"]+)"\]\s+)?^(?:pub )?mod (\w+);', file.read_text(), re.MULTILINE):
        options = [file.parent / path] if path else [folder / f"{name}.rs", folder / name / "mod.rs"]
        found |= modules(next(each for each in options if each.exists()))
    return found


def test_crates_have_one_program() -> None:
    assert len(PROGRAMS) > 5


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_file_with_tests_in_rust_is_part_of_the_program(program: Path) -> None:
    folder = (ROOT / program).parent
    assert {each.resolve() for each in modules(ROOT / program)} == {each.resolve() for each in folder.rglob("*.rs")}
