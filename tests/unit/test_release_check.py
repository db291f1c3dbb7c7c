"""The check of a release's files finds what must not be published."""

from __future__ import annotations

import importlib.util
import io
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / ".ci"
NAME = "headrace-9.8.7-cp313-cp313-manylinux_2_17_x86_64.whl"
METADATA = """Metadata-Version: 2.4
Name: headrace
Version: 9.8.7
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-MIT
License-File: LICENSE-APACHE
Requires-Python: >=3.10

A description.
"""
CONTENTS = {
    "headrace/__init__.py": "",
    "headrace/aio/__init__.py": "",
    "headrace/py.typed": "",
    "headrace/_native.pyi": "",
    "headrace/_native.cpython-313-x86_64-linux-gnu.so": "not ELF",
    "headrace-9.8.7.dist-info/METADATA": METADATA,
    "headrace-9.8.7.dist-info/WHEEL": "",
    "headrace-9.8.7.dist-info/RECORD": "",
    "headrace-9.8.7.dist-info/licenses/LICENSE-MIT": "",
    "headrace-9.8.7.dist-info/licenses/LICENSE-APACHE": "",
}


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """.ci/release.py, which is no module of a package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    specification = importlib.util.spec_from_file_location("release_check", FOLDER / "release.py")
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "release_check", module)
    specification.loader.exec_module(module)
    return module


def problems(release: ModuleType, folder: Path, contents: dict[str, str | bytes], name: str = NAME) -> list[str]:
    """What the check says of a wheel of the drivers."""
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for path, text in contents.items():
            wheel.writestr(path, text)
    return list(release.wrong_wheel(release.DISTRIBUTIONS[0], folder / name, "9.8.7"))


def test_wheel_as_it_should_be_has_no_problem(release: ModuleType, tmp_path: Path) -> None:
    assert problems(release, tmp_path, {**CONTENTS}) == []


@pytest.mark.parametrize(
    "path", ["tests/test_a.py", "headrace_lab/__init__.py", "headrace/notes.txt", "headrace/_native.pyi.orig"]
)
def test_wheel_with_another_file_is_refused(release: ModuleType, tmp_path: Path, path: str) -> None:
    assert problems(release, tmp_path, {**CONTENTS, path: ""}) == [f"has {path}, which is not wanted"]


@pytest.mark.parametrize("path", ["headrace/py.typed", "headrace/_native.cpython-313-x86_64-linux-gnu.so"])
def test_wheel_without_an_essential_file_is_refused(release: ModuleType, tmp_path: Path, path: str) -> None:
    [problem] = problems(release, tmp_path, {name: text for name, text in CONTENTS.items() if name != path})
    assert problem.startswith("has no headrace/")


def test_wheel_without_a_licence_is_refused(release: ModuleType, tmp_path: Path) -> None:
    left = {name: text for name, text in CONTENTS.items() if not name.endswith("LICENSE-MIT")}
    assert problems(release, tmp_path, {**left}) == ["has no LICENSE-MIT"]


def test_wheel_of_another_version_is_refused(release: ModuleType, tmp_path: Path) -> None:
    other = METADATA.replace("9.8.7", "9.8.6")
    changed = {**CONTENTS, "headrace-9.8.7.dist-info/METADATA": other}
    assert problems(release, tmp_path, {**changed}) == ["Version is '9.8.6', must be '9.8.7'"]


def test_wheel_for_this_machine_only_is_refused(release: ModuleType, tmp_path: Path) -> None:
    [problem] = problems(release, tmp_path, {**CONTENTS}, NAME.replace("manylinux_2_17", "linux"))
    assert "manylinux" in problem


def test_symbol_table_is_found(release: ModuleType) -> None:
    def library(kind: int) -> bytes:
        header = bytearray(64)
        header[:5] = b"\x7fELF\x02"
        header[0x28:0x30] = (64).to_bytes(8, "little")
        header[0x3A:0x3C] = (64).to_bytes(2, "little")
        header[0x3C:0x3E] = (1).to_bytes(2, "little")
        return bytes(header) + (0).to_bytes(4, "little") + kind.to_bytes(4, "little") + bytes(56)

    assert release.has_symbols(library(2))
    assert not release.has_symbols(library(11))  # of what is linked dynamically; strip leaves it


def test_source_with_a_built_file_is_refused(release: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "headrace-9.8.7.tar.gz"
    files = ["PKG-INFO", "pyproject.toml", "Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE", "python/headrace/_native.so"]
    with tarfile.open(path, "w:gz") as archive:
        for name in files:
            content = METADATA.encode() if name == "PKG-INFO" else b""
            entry = tarfile.TarInfo(f"headrace-9.8.7/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    found = list(release.wrong_source(release.DISTRIBUTIONS[0], path, "9.8.7"))
    assert found == ["has headrace-9.8.7/python/headrace/_native.so"]


def test_lab_requires_the_same_minor_version(release: ModuleType) -> None:
    assert release.release_bound("0.1.0") == "headrace>=0.1,<0.2"
    assert release.release_bound("1.9.3") == "headrace>=1.9,<1.10"
    assert list(release.wrong_versions()) == []
