"""The service file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import NotSupportedError, ProgrammingError
from headrace.postgres.service import read_service

FILE = """
# a comment
[first]
host=one
host=two
  port = 5433

[second]
password=a=b # no comment
[first]
dbname=ignored
[empty]
"""


def test_a_service_is_read(tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text(FILE)
    assert read_service("first", None, {}, tmp_path) == {"host": "one", "port": "5433"}
    assert read_service("second", None, {}, tmp_path) == {"password": "a=b # no comment"}
    assert read_service("empty", None, {}, tmp_path) == {}


def test_the_users_file_is_before_the_systems(tmp_path: Path) -> None:
    system, home = tmp_path / "etc", tmp_path / "home"
    system.mkdir()
    home.mkdir()
    (system / "pg_service.conf").write_text("[a]\nhost=system\n[b]\nhost=system\n")
    (home / ".pg_service.conf").write_text("[a]\nhost=home\n")
    environ = {"PGSYSCONFDIR": str(system)}
    assert read_service("a", None, environ, home) == {"host": "home"}
    assert read_service("b", None, environ, home) == {"host": "system"}
    assert read_service("a", None, environ, None) == {"host": "system"}
    named = tmp_path / "named"
    named.write_text("[a]\nhost=named\n")
    assert read_service("a", str(named), environ, home) == {"host": "named"}


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        ("[other]\n", ProgrammingError, "service 's' is in none of"),
        ("[s]\nhost\n", ProgrammingError, "line 2: a parameter is written name=value"),
        ("[s]\nservice=t\n", ProgrammingError, "line 2: a service cannot name another"),
        ("[s]\nldap://h/x\n", NotSupportedError, "LDAP"),
        (b"[s]\nhost=\xff\n", ProgrammingError, "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str | bytes, kind: type[Exception], message: str) -> None:
    file = tmp_path / ".pg_service.conf"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(kind, match=message) as caught:
        read_service("s", None, {}, tmp_path)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProgrammingError, match="does not exist"):
        read_service("s", str(tmp_path / "none"), {}, tmp_path)
    with pytest.raises(ProgrammingError, match="'s' is in none of"):
        read_service("s", None, {}, None)
