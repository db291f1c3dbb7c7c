"""Checks that a release can be made: ``python .ci/release.py [--tag v0.1.0] [--files dist]``.

Without options: the versions of all distributions agree, the lab's bound on headrace fits, and the changelog can be
made. With ``--tag``, as in the workflow that publishes: the tag names that version, and the changelog has its section.
With ``--files``: the wheels and source distributions in the folder contain what they should and nothing else. All that
is wrong is listed before the script ends.
"""

from __future__ import annotations

import argparse
import email.message
import email.parser
import fnmatch
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from extras import ROOT, project

sys.path.insert(0, str(ROOT / "tools"))
import changelog

LICENCES: Final = ("LICENSE-MIT", "LICENSE-APACHE")
LARGEST_BYTES: Final = 5_000_000
"""The size that a wheel must not exceed."""


@dataclass(frozen=True)
class Distribution:
    """A distribution of the project."""

    name: str
    folder: str
    """Of its pyproject.toml."""
    crate: str
    """The manifest of the crate whose version it has."""
    wanted: tuple[str, ...]
    """Patterns of the files that its wheel may have, beside its metadata."""
    essential: tuple[str, ...]
    """Patterns of which each has at least one file in the wheel."""

    @property
    def file_name(self) -> str:
        """Its name as files have it."""
        return self.name.replace("-", "_")


DISTRIBUTIONS: Final = (
    Distribution(
        "headrace",
        ".",
        "crates/python/Cargo.toml",
        (
            "headrace/*.py",
            "headrace/py.typed",
            "headrace/_native.pyi",
            "headrace/_native.*.so",
            "headrace/_native.*.pyd",
        ),
        (
            "headrace/__init__.py",
            "headrace/py.typed",
            "headrace/_native.pyi",
            "headrace/_native.*.*",
            "headrace/aio/*.py",
        ),
    ),
    Distribution(
        "headrace-lab",
        "lab",
        "lab/crates/python/Cargo.toml",
        ("headrace_lab/*.py", "headrace_lab/py.typed", "headrace_lab/_iibench.pyi", "headrace_lab/_iibench.*.so"),
        ("headrace_lab/__init__.py", "headrace_lab/_iibench.*.so"),
    ),
    Distribution(
        "headrace-daemon",
        "crates/daemon",
        "crates/daemon/Cargo.toml",
        ("*.data/scripts/headraced",),
        ("*.data/scripts/headraced",),
    ),
    Distribution(
        "adbc-driver-headrace",
        "adbc",
        "crates/adbc/Cargo.toml",
        (
            "adbc_driver_headrace/*.py",
            "adbc_driver_headrace/py.typed",
            "adbc_driver_headrace/_library/lib_library.so",
            "adbc_driver_headrace/_library/lib_library.dylib",
            "adbc_driver_headrace/_library/_library.dll",
        ),
        (
            "adbc_driver_headrace/__init__.py",
            "adbc_driver_headrace/dbapi.py",
            "adbc_driver_headrace/_library/*_library.*",
        ),
    ),
    Distribution(
        "headrace-simulator-cubrid",
        "simulators/cubrid",
        "simulators/cubrid/Cargo.toml",
        ("*.data/scripts/headrace-simulate-cubrid",),
        ("*.data/scripts/headrace-simulate-cubrid",),
    ),
    Distribution(
        "headrace-simulator-informix",
        "simulators/informix",
        "simulators/informix/Cargo.toml",
        ("*.data/scripts/headrace-simulate-informix",),
        ("*.data/scripts/headrace-simulate-informix",),
    ),
)
METADATA: Final = (
    "*.dist-info/METADATA",
    "*.dist-info/WHEEL",
    "*.dist-info/RECORD",
    "*.dist-info/entry_points.txt",
    "*.dist-info/licenses/LICENSE-*",
    # Names and licences of the crates that are linked in.
    "*.dist-info/sboms/*.cyclonedx.json",
)
NEVER_IN_SOURCE: Final = ("*.so", "*.pyd", "*/target/*", "*/.venv*", "*/__pycache__/*", "*/build/*", "*/tests/oracle/*")


def release_bound(version: str) -> str:
    """What the lab requires: the same minor version, since before 1.0 a minor version may remove something."""
    major, minor, *_ = (int(part) for part in version.split("."))
    return f"headrace>={major}.{minor},<{major}.{minor + 1}"


def wrong_versions() -> Iterator[str]:
    """Versions that do not agree."""
    version = workspace_version()
    for each in DISTRIBUTIONS:
        settings = project(ROOT / each.folder / "pyproject.toml")["project"]
        if settings["name"] != each.name or "version" not in settings.get("dynamic", ()):
            yield f"{each.folder}/pyproject.toml: the name must be {each.name}, and the version dynamic"
        crate = project(ROOT / each.crate)["package"]
        if crate.get("version") != {"workspace": True}:
            yield f"{each.crate}: the version must be that of the workspace"
        for licence in LICENCES:
            if (ROOT / each.folder / licence).read_bytes() != (ROOT / licence).read_bytes():
                yield f"{each.folder}/{licence}: differs from {licence}, of which it is a copy"
    required = [
        need
        for need in project(ROOT / "lab" / "pyproject.toml")["project"]["dependencies"]
        if need.startswith("headrace")
    ]
    if required != [release_bound(version)]:
        yield f"lab/pyproject.toml: requires {required}, must be [{release_bound(version)!r}]"
    locked = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    if f'name = "headrace-python"\nversion = "{version}"' not in locked:
        yield f"Cargo.lock: headrace-python is not {version}; run cargo check"


def workspace_version() -> str:
    """The version of all distributions."""
    return str(project(ROOT / "Cargo.toml")["workspace"]["package"]["version"])


def wrong_changelog(*, released: bool) -> Iterator[str]:
    """What keeps the changelog from being made, or what it lacks at a release."""
    version, text = workspace_version(), (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        left = changelog.entries(ROOT / "changes")
    except ValueError as error:
        yield f"changes/{error}"
        return
    has_section = re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE) is not None
    if released and not has_section:
        yield f"CHANGELOG.md: no section for {version}; run tools/changelog.py {version}"
    if released and any(left.values()):
        yield f"changes/: has files that are not in the section of {version}"
    if not has_section and changelog.UNRELEASED not in text:
        yield "CHANGELOG.md: neither a section for the version nor one of what is unreleased"


def wrong_files(folder: Path) -> Iterator[str]:
    """What is wrong with the built files."""
    version = workspace_version()
    for each in DISTRIBUTIONS:
        wheels = sorted(folder.glob(f"{each.file_name}-[0-9]*.whl"))
        sources = sorted(folder.glob(f"{each.file_name}-[0-9]*.tar.gz"))
        if not wheels or not sources:
            yield f"{each.name}: {len(wheels)} wheels and {len(sources)} source distributions in {folder}"
        for path in wheels:
            yield from (f"{path.name}: {problem}" for problem in wrong_wheel(each, path, version))
        for path in sources:
            yield from (f"{path.name}: {problem}" for problem in wrong_source(each, path, version))
    own = re.compile(r"(adbc_driver_headrace|headrace(_lab|_daemon|_simulator_(cubrid|informix))?)-[0-9]")
    unknown = {path.name for path in folder.iterdir() if not own.match(path.name)}
    yield from (f"{name}: not a file of the project" for name in sorted(unknown))


def wrong_wheel(each: Distribution, path: Path, version: str) -> Iterator[str]:
    """What is wrong with a wheel."""
    platform = path.stem.rsplit("-", 1)[1]
    if platform.startswith("linux_"):
        yield "its tag is that of this machine only, not manylinux or musllinux"
    if path.stat().st_size > LARGEST_BYTES:
        yield f"{path.stat().st_size:,} bytes; at most {LARGEST_BYTES:,} are wanted"
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith("/")]
        for name in names:
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in (*each.wanted, *METADATA)):
                yield f"has {name}, which is not wanted"
            if wheel.getinfo(name).file_size and name.endswith(".so") and has_symbols(wheel.read(name)):
                yield f"{name} is not stripped"
        for pattern in each.essential:
            if not fnmatch.filter(names, pattern):
                yield f"has no {pattern}"
        for licence in LICENCES:
            if not fnmatch.filter(names, f"*.dist-info/licenses/{licence}"):
                yield f"has no {licence}"
        metadata = (
            wheel.read(f"{each.file_name}-{version}.dist-info/METADATA")
            if f"{each.file_name}-{version}.dist-info/METADATA" in names
            else b""
        )
    yield from wrong_metadata(each, metadata, version)


def wrong_source(each: Distribution, path: Path, version: str) -> Iterator[str]:
    """What is wrong with a source distribution."""
    top = f"{each.file_name}-{version}"
    with tarfile.open(path) as archive:
        names = archive.getnames()
        if any(not name.startswith(f"{top}/") for name in names if name != top):
            yield f"has files outside of {top}"
        for pattern in NEVER_IN_SOURCE:
            yield from (f"has {name}" for name in fnmatch.filter(names, pattern))
        for needed in ("PKG-INFO", "pyproject.toml", "Cargo.lock", *LICENCES):
            if f"{top}/{needed}" not in names:
                yield f"has no {needed}"
        found = archive.extractfile(f"{top}/PKG-INFO") if f"{top}/PKG-INFO" in names else None
        metadata = found.read() if found else b""
    yield from wrong_metadata(each, metadata, version)


def wrong_metadata(each: Distribution, content: bytes, version: str) -> Iterator[str]:
    """What is wrong with METADATA or PKG-INFO."""
    fields: email.message.Message = email.parser.BytesParser().parsebytes(content)
    wanted = {
        "Name": each.name,
        "Version": version,
        "License-Expression": "MIT OR Apache-2.0",
        "Requires-Python": ">=3.10",
    }
    for field, value in wanted.items():
        if fields[field] != value:
            yield f"{field} is {fields[field]!r}, must be {value!r}"
    if sorted(fields.get_all("License-File", [])) != sorted(LICENCES):
        yield f"License-File is {fields.get_all('License-File')}"
    if not str(fields.get_payload()).strip():
        yield "has no description"


def has_symbols(library: bytes) -> bool:
    """Whether an ELF file of 64 bits has a symbol table for linkers and debuggers, which strip removes."""
    if library[:5] != b"\x7fELF\x02":
        return False
    start = int.from_bytes(library[0x28:0x30], "little")
    size, count = (int.from_bytes(library[at : at + 2], "little") for at in (0x3A, 0x3C))
    symbol_table = 2
    kinds = (int.from_bytes(library[start + n * size + 4 : start + n * size + 8], "little") for n in range(count))
    return symbol_table in kinds


def main() -> None:
    """Checks, and ends with an error where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", help="the tag that is published")
    parser.add_argument("--files", type=Path, help="the folder with wheels and source distributions")
    chosen = parser.parse_args()
    wrong = [*wrong_versions(), *wrong_changelog(released=chosen.tag is not None)]
    if chosen.tag is not None and chosen.tag != f"v{workspace_version()}":
        wrong.append(f"the tag {chosen.tag} is not v{workspace_version()}")
    if chosen.files:
        wrong += wrong_files(chosen.files)
    for problem in wrong:
        print(f"error: {problem}", file=sys.stderr)
    if wrong:
        raise SystemExit(1)
    if chosen.files:
        files = sorted(str(path) for path in chosen.files.iterdir())
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
        for path in sorted(chosen.files.iterdir()):
            print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}")


if __name__ == "__main__":
    main()
