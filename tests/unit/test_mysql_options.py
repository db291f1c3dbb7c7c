"""Where the settings of a connection to MySQL come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace._mysql.options import read_options
from headrace._mysql.settings import connect_options
from headrace.errors import ProgrammingError

VARIABLES = ("MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_groups_comments_quotes_and_escapes(tmp_path: Path) -> None:
    file = write(
        tmp_path / "my.cnf",
        """
# a comment
; another
[client]
user = jo   # who
password = "a # b\\s"
ssl-ca=/ca.pem
unknown-thing=5
[mysqld]
port=1
[shop]
port = 3307
local-infile
""",
    )
    found = read_options([file], ["client", "shop"], True)
    assert found == {
        "user": "jo", "password": "a # b ", "ssl_ca": "/ca.pem", "port": "3307", "local_infile": "1",
    }  # fmt: skip
    assert read_options([file], ["client"], True).get("port") is None


def test_includes(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    write(tmp_path / "d" / "1.cnf", "[client]\nhost=one\n")
    write(tmp_path / "d" / "2.cnf", "[client]\nhost=two\n")
    write(tmp_path / "d" / "3.txt", "[client]\nhost=three\n")
    file = write(tmp_path / "my.cnf", f"[client]\nhost=zero\n!includedir {tmp_path / 'd'}\n")
    assert read_options([file], ["client"], True) == {"host": "two"}
    loop = tmp_path / "loop.cnf"
    write(loop, f"!include {loop}\n")
    with pytest.raises(ProgrammingError, match="deep"):
        read_options([loop], ["client"], True)


@pytest.mark.parametrize(
    ("text", "message"), [("[client\n", "closing bracket"), ("!frobnicate x\n", "neither"), (None, "cannot be read")]
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "my.cnf"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ProgrammingError, match=message):
        read_options([file], ["client"], True)


def test_the_first_source_that_says_something_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_HOST", "env")
    monkeypatch.setenv("MYSQL_TCP_PORT", "1")
    monkeypatch.setenv("MYSQL_PWD", "env-secret")
    file = write(tmp_path / "my.cnf", "[client]\nport=2\nuser=filed\nsocket=/s\n[mine]\ndatabase=d\n")
    keywords: dict[str, Any] = {"read_default_file": file, "read_default_group": "mine"}
    options = connect_options("mysql://url/", keywords)
    assert (options.hosts, options.user, options.password) == ((("url", 2),), "filed", "env-secret")
    assert (options.database, options.socket) == ("d", None)
    assert connect_options("", {**keywords, "passwd": "said"}).password == "said"
    assert connect_options("", keywords).socket == "/s"
    assert connect_options("mysql://localhost/d?unix_socket=/u", {}).socket == "/u"
    assert connect_options("mysql://h:9/", {"port": 7}).hosts == (("h", 7),)


@pytest.mark.parametrize(
    ("conninfo", "keywords", "message"),
    [
        ("mysql://h:notaport/", {}, "wrong URL"),
        ("http://h/", {}, "mysql://"),
        ("", {"hots": "x"}, "did you mean 'hosts'"),
        ("", {"port": "x"}, "numbers"),
        ("", {"ssl_mode": "maybe"}, "DISABLED"),
    ],
)
def test_wrong_settings_are_named(conninfo: str, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgrammingError, match=message):
        connect_options(conninfo, keywords)
