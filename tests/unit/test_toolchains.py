"""What other tools have built is not built again, and is where its sources have changed."""

from __future__ import annotations

import os
from pathlib import Path

from toolchains import is_compiled


def test_project_is_compiled_again_when_it_or_its_libraries_have_changed(tmp_path: Path) -> None:
    source, jar, classpath = tmp_path / "src" / "main" / "One.java", tmp_path / "one.jar", tmp_path / "target/classpath"
    for file in (source, tmp_path / "pom.xml", jar):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert not is_compiled(tmp_path)
    classpath.parent.mkdir()
    classpath.write_text(f"{jar}\n")
    os.utime(classpath, (classpath.stat().st_atime, source.stat().st_mtime + 1))
    assert is_compiled(tmp_path)
    for changed in (source, tmp_path / "pom.xml"):
        before = changed.stat()
        os.utime(changed, (before.st_atime, before.st_mtime + 2))
        assert not is_compiled(tmp_path)
        os.utime(changed, (before.st_atime, before.st_mtime))
    jar.unlink()
    assert not is_compiled(tmp_path)
