"""A program of another Debian suite is had whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing import ServerUnavailable
from headrace_lab.debian import debian_package, mirrors

SCRIPT = """#!/bin/sh
case "$*" in
    "--print-uris update")
        echo "'http://mirror.invalid/debian/dists/stable/InRelease' x 0"
        echo "'http://mirror.invalid/debian/dists/stable-updates/InRelease' x 0"
        echo "'http://mirror.invalid/debian-security/dists/stable-security/InRelease' x 0"
        ;;
    *update*) {update} ;;
    *install*) echo "'http://mirror.invalid/debian/pool/p_1%3a2-3_amd64.deb' p_1%3a2-3_amd64.deb 5 MD5Sum:0" ;;
    *download*) echo "no file p=1:2-3" >&2; echo "$@" > "{asked}"; exit 100 ;;
esac
"""


def fake_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, update: str) -> Path:
    """An apt-get that reaches no mirror, or finds no file there; what it was asked to download."""
    asked = folder / "asked"
    tools = folder / "bin"
    tools.mkdir()
    for name in ("apt-get", "dpkg-deb"):
        (tools / name).write_text(SCRIPT.format(update=update, asked=asked))
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("HEADRACE_CACHE", str(folder / "cache"))
    return asked


def left_behind(folder: Path) -> list[str]:
    return [path.name for path in (folder / "cache").rglob("*") if not path.name.endswith(".lock") and path.is_file()]


def test_without_apt_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ServerUnavailable, match="without apt-get and dpkg-deb; run this on Debian"):
        debian_package("sid", "mysql-server-core")
    assert not (tmp_path / "cache").exists()


def test_without_a_mirror_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(tmp_path, monkeypatch, 'echo "could not resolve" >&2; exit 100')
    with pytest.raises(ServerUnavailable, match=r"(?s)is apt-get's mirror reachable.*could not resolve"):
        debian_package("sid", "mysql-server-core")
    assert left_behind(tmp_path) == []


def test_a_download_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_apt(tmp_path, monkeypatch, "true")
    # What a process that was killed has left.
    (tmp_path / "cache" / "debian" / "sid" / ".p.half-old").mkdir(parents=True)
    with pytest.raises(ServerUnavailable, match="no file p=1:2-3"):
        debian_package("sid", "p")
    assert asked.read_text().split()[-1] == "p=1:2-3"
    assert left_behind(tmp_path) == []
    assert not list((tmp_path / "cache" / "debian" / "sid").glob(".p.half-*"))


def test_several_packages_are_had_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(tmp_path, monkeypatch, "true")
    apt = tmp_path / "bin" / "apt-get"
    apt.write_text(apt.read_text().replace("*install*) ", f'*install*) echo "$@" > "{tmp_path}/installed"; '))
    with pytest.raises(ServerUnavailable, match=r"^p q of Debian's sid could not be fetched"):
        debian_package("sid", "p", "q")
    assert (tmp_path / "installed").read_text().split()[-2:] == ["p", "q"]
    assert [path.name for path in (tmp_path / "cache" / "debian" / "sid").iterdir()] == [".p+q.lock"]


def test_mirrors_are_those_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(tmp_path, monkeypatch, "true")
    assert list(mirrors()) == ["http://mirror.invalid/debian"]
