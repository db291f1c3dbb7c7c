"""The passfile."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from headrace.postgres.passfile import find_password, split_line


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("h:1:d:u:p", ["h", "1", "d", "u", "p"]),
        ("*:*:*:*:p", [None, None, None, None, "p"]),
        (r"\*:1:d:u:p", ["*", "1", "d", "u", "p"]),
        (r"a\:b:1:d:u:p\:q\\r", ["a:b", "1", "d", "u", "p:q\\r"]),
        (r"\:\:1:1:d:u:p", ["::1", "1", "d", "u", "p"]),
        ("h:1:d:u:p:more", ["h", "1", "d", "u", "p"]),
        ("h:1:d:u:*", ["h", "1", "d", "u", "*"]),
        ("h:1:d:u:", ["h", "1", "d", "u", ""]),
        ("h:1:d:u:p\\", ["h", "1", "d", "u", "p\\"]),
        ("h:1:d:u: p ", ["h", "1", "d", "u", " p "]),
        ("h:1:d:u", None),
        ("", None),
    ],
)
def test_lines(line: str, fields: list[str | None] | None) -> None:
    assert split_line(line) == fields


def write(path: Path, content: bytes | str, mode: int = 0o600) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("content", "password"),
    [
        ("db:5432:app:ada:yes", "yes"),
        ("db:5432:app:ada:first\ndb:5432:app:ada:second", "first"),
        ("db:5432:app:bob:no\n*:*:*:ada:yes", "yes"),
        ("#db:5432:app:ada:no\ndb:*:*:*:yes\r\n", "yes"),
        ("db:5433:app:ada:no", None),
        ("DB:5432:app:ada:no", None),
        ("db:5432:app:no", None),
        ("db:5432:app:ada:a\u2028b", "a\u2028b"),
        (b"db:1:\xff:ada:no\ndb:5432:app:ada:yes", "yes"),
        ("", None),
    ],
)
def test_the_first_line_that_fits(tmp_path: Path, content: bytes | str, password: str | None) -> None:
    assert find_password(write(tmp_path / "p", content), "db", None, 5432, "app", "ada") == password


@pytest.mark.parametrize(
    ("host", "hostaddr", "password"),
    [
        ("", None, "local"),
        ("/var/run/postgresql", None, "local"),
        ("/tmp", None, "local"),
        ("/opt/sockets", None, "opt"),
        ("", "10.0.0.1", "address"),
        ("localhost", "10.0.0.1", "local"),
    ],
)
def test_sockets_and_addresses(tmp_path: Path, host: str, hostaddr: str | None, password: str) -> None:
    file = write(tmp_path / "p", "localhost:*:*:*:local\n/opt/sockets:*:*:*:opt\n10.0.0.1:*:*:*:address\n")
    assert find_password(file, host, hostaddr, 5432, "d", "u") == password


@pytest.mark.skipif(os.name != "posix", reason="permissions")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_a_file_that_others_can_use_is_ignored_with_a_warning(tmp_path: Path, mode: int) -> None:
    file = write(tmp_path / "p", "*:*:*:*:hunter2", mode)
    with pytest.warns(UserWarning, match="0600") as caught:
        assert find_password(file, "h", None, 1, "d", "u") is None
    assert "hunter2" not in str(caught[0].message)


def test_what_is_no_plain_file_is_ignored_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="plain file"):
        assert find_password(str(tmp_path), "h", None, 1, "d", "u") is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # reading it would wait for ever
        with pytest.warns(UserWarning, match="plain file"):
            assert find_password(str(tmp_path / "pipe"), "h", None, 1, "d", "u") is None


def test_no_file_is_no_password(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_password(str(tmp_path / "none"), "h", None, 1, "d", "u") is None
        assert find_password(None, "h", None, 1, "d", "u") is None
        assert find_password("", "h", None, 1, "d", "u") is None
