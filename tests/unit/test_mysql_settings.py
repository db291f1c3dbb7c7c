"""Where a connection's settings to MySQL and MariaDB come from, and what is refused before anything is sent."""

from __future__ import annotations

import inspect
import os
import re
import ssl
import subprocess
from pathlib import Path
from typing import Any

import MySQLdb.connections
import pymysql
import pytest

from headrace import defaults
from headrace.errors import NotSupportedError, ProgrammingError
from headrace.mysql.settings import ConnectOptions, connect_options
from headrace.mysql.tls import Tls

SECRET = "hunter2"


def options(conninfo: str = "", environ: dict[str, str] | None = None, /, **keywords: Any) -> ConnectOptions:
    """Options that nothing of this machine goes into."""
    return connect_options(conninfo, keywords, {"HOME": "/nowhere", **(environ or {})})


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("mysql://u@h", {"hosts": (("h", 3306),), "user": "u", "password": None, "database": None}),
        ("mariadb://u:p%40@h:1/d", {"hosts": (("h", 1),), "password": "p@", "database": "d"}),
        ("mysql://u:@h", {"password": ""}),
        ("mysql://a,b:2,c:3/d", {"hosts": (("a", 3306), ("b", 2), ("c", 3)), "database": "d"}),
        ("mysql://[::1]:7/d", {"hosts": (("::1", 7),)}),
        ("mysql://u@localhost/d?unix_socket=/tmp/s", {"hosts": (), "socket": "/tmp/s", "database": "d"}),
        (
            "mysql://h?charset=utf8mb4&connect_timeout=2.5&local_infile=1",
            {"connect_timeout": 2.5, "local_infile": True},
        ),
        ("mysql://h?compression=zstd&zstd_level=7", {"compression": "zstd", "zstd_level": 7}),
        ("mysql://h?use_unicode=1&defer_connect=false", {"hosts": (("h", 3306),)}),
    ],
)
def test_a_url_is_read(url: str, found: dict[str, Any]) -> None:
    made = options(url)
    assert {name: getattr(made, name) for name in found} == found


@pytest.mark.parametrize(
    ("keywords", "found"),
    [
        (
            {"host": "h", "passwd": "p", "db": "d", "port": 0},
            {"hosts": (("h", 3306),), "password": "p", "database": "d"},
        ),
        ({"host": "a,b", "port": 5}, {"hosts": (("a", 5), ("b", 5))}),
        ({"host": "h", "unix_socket": "/s"}, {"socket": "/s", "hosts": ()}),
        ({"host": "h", "client_flag": 2 | 65536 | 32}, {"client_found_rows": True, "multi_statements": True}),
        ({"host": "h", "compress": True}, {"compression": "zlib"}),
        ({"host": "h", "client_flag": 32}, {"compression": "zlib"}),
        ({"host": "h", "compress": False}, {"compression": None}),
        ({"host": "h", "compression": "zstd,zlib"}, {"compression": "zstd"}),
        ({"host": "h", "auth_plugin": "ed25519,parsec"}, {"auth_plugins": ("client_ed25519", "parsec")}),
        ({"host": "h", "use_unicode": True, "named_pipe": False, "max_allowed_packet": 1 << 20}, {}),
        ({"host": "h", "use_unicode": "True", "named_pipe": "0", "defer_connect": "off"}, {}),
        ({"host": "h", "password": b"bytes"}, {"password": "bytes"}),
        ({"host": "h", "read_timeout": 3, "write_timeout": 4}, {"read_timeout": 3.0, "write_timeout": 4.0}),
        ({"host": "h", "charset": "utf8", "collation": "utf8mb4_bin"}, {"collation": "utf8mb4_bin"}),
        ({"host": "h", "sql_mode": ""}, {"sql_mode": ""}),
        ({"host": "h", "server_public_key": b"PEM"}, {"server_public_key": "PEM"}),
    ],
)
def test_keywords_as_mysqldb_and_pymysql_spell_them(keywords: dict[str, Any], found: dict[str, Any]) -> None:
    made = options(**keywords)
    assert {name: getattr(made, name) for name in found} == found


def test_every_keyword_of_pymysql_and_mysqlclient_is_known_or_refused_with_a_reason() -> None:
    pymysqls = {*inspect.signature(pymysql.connections.Connection.__init__).parameters} - {"self"}
    text = inspect.getsource(MySQLdb.connections.Connection.__init__)
    mysqlclients = {*re.findall(r":param \w+ (\w+):", text), *re.findall(r"kwargs2?\.(?:pop|get)\(\"(\w+)\"", text)}
    assert {"host", "passwd", "unix_socket", "ssl_mode", "local_infile"} <= mysqlclients
    # connect() has it for itself.
    for name in (pymysqls | mysqlclients) - {"autocommit"}:
        said = ""
        try:
            options(**{name: object()})
        except (ProgrammingError, NotSupportedError) as error:
            said = str(error)
        assert "unknown connection setting" not in said


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"hots": "h"}, ProgrammingError, "did you mean 'host'"),
        ({"host": "h", "port": "x"}, ProgrammingError, "port 'x'"),
        ({"host": "h", "port": 65536}, ProgrammingError, "65535"),
        ({"host": "a,b,c", "port": "1,2"}, ProgrammingError, "3 hosts, but 2 ports"),
        ({"host": "h", "ssl_mode": "REQUIERD"}, ProgrammingError, "DISABLED, PREFERRED"),
        ({"host": "h", "charset": "latin1"}, NotSupportedError, "utf8mb4"),
        ({"host": "h", "cursorclass": object}, NotSupportedError, "row_factory"),
        ({"host": "h", "conv": {}}, NotSupportedError, "mysqldb"),
        ({"host": "h", "use_unicode": False}, NotSupportedError, "str"),
        ({"host": "h", "use_unicode": "0"}, NotSupportedError, "str"),
        ({"host": "h", "bind_address": "1.2.3.4"}, NotSupportedError, "local address"),
        ({"host": "h", "ssl_key_password": "x"}, NotSupportedError, "not encrypted"),
        ({"host": "h", "local_infile_dir": "/tmp"}, NotSupportedError, "load_data()"),
        ({"host": "h", "auth_plugins": "dialog"}, ProgrammingError, "'dialog' is not one of"),
        ({"host": "h", "compression": "lz4"}, ProgrammingError, "zlib, zstd"),
        ({"host": "h", "time_zone": "'; drop"}, ProgrammingError, "time_zone"),
        ({"host": "h", "sql_mode": "a'b"}, ProgrammingError, "sql_mode"),
        ({"host": "h", "collation": "x y"}, ProgrammingError, "collation"),
        ({"host": "h", "password": 5}, ProgrammingError, "password must be text"),
        ({"host": "h", "read_default_file": "/no/such"}, ProgrammingError, "/no/such does not exist"),
        ({"host": "h", "login_path": "x"}, ProgrammingError, "does not exist"),
        ({"host": "h", "server_public_key_path": "/no/such"}, ProgrammingError, "No such file"),
        ({"host": "h", "statement_cache_size": -1}, ProgrammingError, "whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(keywords: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        options(**keywords)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://u:pass/{SECRET}@h/d",
        f"mysql://u:{SECRET}%@h/d",
        f"mysql://u:{SECRET}?x@h/d",
        f"mysql://u:[{SECRET}/x@h/d",
        f"mysql://h/d?password={SECRET}%",
        f"u:{SECRET}@h",
    ],
)
def test_no_error_shows_a_password(url: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        options(url)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(options(f"mysql://u:{SECRET}@h/d"))


def tls(**keywords: Any) -> Tls:
    return options("mysql://h", **keywords).tls


@pytest.mark.parametrize(
    ("keywords", "mode", "verify"),
    [
        ({}, "prefer", "none"),
        ({"ssl_mode": "disabled"}, "no", "none"),
        ({"ssl_mode": "PREFERRED"}, "prefer", "none"),
        ({"ssl_mode": "REQUIRED"}, "require", "none"),
        ({"ssl_mode": "VERIFY_CA"}, "require", "ca"),
        ({"ssl_mode": "VERIFY_IDENTITY"}, "require", "full"),
        # MySQL: an authority without a mode is there to be used.
        ({"ssl_ca": "ca.pem"}, "require", "ca"),
        ({"ssl_ca": "ca.pem", "ssl_verify_cert": False}, "prefer", "none"),
        ({"ssl_ca": "ca.pem", "ssl_verify_identity": True}, "require", "full"),
        ({"ssl_verify_cert": True}, "require", "ca"),
        ({"ssl_disabled": True}, "no", "none"),
        ({"ssl_disabled": False}, "prefer", "none"),
        ({"ssl": True}, "require", "none"),
        ({"ssl": False}, "no", "none"),
        ({"ssl": {}}, "require", "none"),
        ({"ssl": {"ca": "ca.pem"}}, "require", "full"),
        ({"ssl": {"ca": "ca.pem", "check_hostname": False}}, "require", "ca"),
        ({"ssl": {"ca": "ca.pem", "verify_mode": "none"}}, "require", "none"),
        ({"ssl": {"ca": "ca.pem", "verify_mode": ssl.CERT_REQUIRED}}, "require", "full"),
        ({"ssl": {"cert": "c", "key": "k"}, "ssl_mode": "VERIFY_CA"}, "require", "ca"),
        ({"ssl_mode": "REQUIRED", "ssl": {"ca": "ca.pem"}}, "require", "full"),
        ({"ssl": True, "ssl_ca": "ca.pem"}, "require", "ca"),
        ({"ssl": {"cert": "c", "key": "k"}, "ssl_ca": "ca.pem"}, "require", "full"),
        ({"ssl_verify_server_cert": True}, "require", "note"),
        ({"ssl_verify_server_cert": True, "ssl_ca": "ca.pem"}, "require", "full"),
        ({"ssl_verify_server_cert": False}, "prefer", "none"),
    ],
)
def test_tls_modes_have_mysqls_meaning(keywords: dict[str, Any], mode: str, verify: str) -> None:
    made = tls(**keywords).wire_options(local=False)
    assert (made["tls"], made["verify"]) == (mode, verify)
    assert made["certificate_by_password"] == (verify == "note")


def test_a_unix_socket_is_encrypted_only_on_request() -> None:
    assert tls().wire_options(local=True)["tls"] == "no"
    assert tls(ssl_mode="REQUIRED").wire_options(local=True)["tls"] == "require"


@pytest.mark.parametrize(
    "keywords",
    [
        {"ssl_mode": "DISABLED", "ssl": True},
        {"ssl_mode": "DISABLED", "ssl_verify_identity": True},
        {"ssl_mode": "REQUIRED", "ssl_disabled": True},
        {"ssl_disabled": True, "ssl": {"ca": "x"}},
        {"ssl": False, "ssl_verify_server_cert": True},
        {"ssl_cert": "c"},
        {"tls_version": "SSLv3"},
    ],
)
def test_contradictions_are_never_solved_by_the_weaker_setting(keywords: dict[str, Any]) -> None:
    with pytest.raises(ProgrammingError):
        tls(**keywords)


def test_unused_authority_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="ssl_ca is not used"):
        assert tls(ssl_mode="REQUIRED", ssl_ca="ca.pem").mode == "REQUIRED"


def test_other_protection_that_cannot_be_given_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotSupportedError, match="own TLS"):
        tls(ssl=ssl.create_default_context())
    with pytest.raises(NotSupportedError, match="capath"):
        tls(ssl={"capath": "/etc/ssl"})
    with pytest.raises(NotSupportedError, match=r"TLS 1\.2"):
        tls(tls_version="TLSv1.1")
    assert tls(tls_version="TLSv1.3").only_tls13
    assert not tls(tls_version="TLSv1.2,TLSv1.3").only_tls13
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nssl-crl = revoked.pem\n")
    with pytest.raises(NotSupportedError, match="revocation"):
        tls(read_default_file=str(file))


CNF = """
# a comment
[mysqld]
port = 1
[client]
user = "jo # no comment"   # a comment
password = 'it\\\\s\\t\\"x"'
loose-port=3310
host = db.example.org
default-character-set = latin1
skip-ssl
local-infile
[headrace]
connect-timeout = 7
db = shop
[other]
port = 3311
"""


def test_option_files(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(CNF)
    made = options(read_default_file=str(file))
    assert made.hosts == (("db.example.org", 3310),)
    assert made.user == "jo # no comment"
    assert made.password == 'it\\s\t\\"x"'
    assert made.tls.mode == "DISABLED"
    assert made.local_infile
    assert made.connect_timeout == 7
    assert made.database == "shop"
    made = options("mysql://h/d", read_default_file=str(file), read_default_group="other", user="me")
    assert made.hosts == (("h", 3311),)
    assert (made.user, made.database) == ("me", "d")


def test_option_files_include_others_and_have_groups_with_suffixes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "b.cnf").write_text("[client]\nport=2\n")
    (tmp_path / "d" / "a.cnf").write_text("[client]\nport=1\nuser=a\n")
    (tmp_path / "d" / "no.txt").write_text("[client]\nport=9\n")
    (tmp_path / "one.cnf").write_text("[client-server]\nhost=included\n[client_x]\ndatabase=x\n")
    file = tmp_path / ".my.cnf"
    file.write_text(f"!include {tmp_path}/one.cnf\n!includedir {tmp_path}/d\n!include /no/such\n")
    system = tmp_path / "system.cnf"
    system.write_text("[client]\nsocket=/run/s\nuser=system\ncompress\n")
    monkeypatch.setattr(defaults, "MYSQL_OPTION_FILES", (str(system), "/no/such", "~/.my.cnf"))
    made = connect_options("", {"read_default_group": "g"}, {"HOME": str(tmp_path), "MYSQL_GROUP_SUFFIX": "_x"})
    assert (made.hosts, made.socket) == ((("included", 2),), None)
    assert (made.user, made.database, made.compression) == ("a", "x", "zlib")
    made = connect_options("", {"read_default_group": "g"}, {"HOME": "/nowhere", "USER": "u"})
    assert (made.socket, made.user) == ("/run/s", "system")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port=1\n", "line 1: an option is before the first group"),
        ("[client\n", "line 1: a group is written"),
        ("[client]\n!exclude x\n", "line 2: !exclude"),
        ("[headrace]\nhots = x\n", "line 2); did you mean 'host'"),
        ("[headrace]\nssl-mode = no\n", "line 2)"),
        ("[client]\nport = x\n", "line 2)"),
        ("!include self.cnf\n", "include one another"),
    ],
)
def test_what_is_wrong_in_an_option_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("self.cnf").write_text(text)
    with pytest.raises(ProgrammingError) as caught:
        options(read_default_file="self.cnf")
    assert message in str(caught.value)


def test_an_option_file_that_anyone_can_write_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nhost=evil\n")
    file.chmod(0o666)
    with pytest.warns(UserWarning, match="anyone can write"):
        assert options("mysql://good", read_default_file=str(file)).hosts == (("good", 3306),)


def login_file(path: Path, text: str) -> None:
    """As mysql_config_editor writes it, by OpenSSL's own program."""
    secret = os.urandom(20)
    key = bytearray(16)
    for i, byte in enumerate(secret):
        key[i % 16] ^= byte
    out = bytes(4) + secret
    for line in text.splitlines(keepends=True):
        command = ["openssl", "enc", "-aes-128-ecb", "-K", key.hex()]
        sealed = subprocess.run(command, input=line.encode(), capture_output=True, check=True).stdout
        out += len(sealed).to_bytes(4, "little") + sealed
    path.write_bytes(out)
    path.chmod(0o600)


def test_login_paths(tmp_path: Path) -> None:
    file = tmp_path / ".mylogin.cnf"
    login_file(file, '[shop]\nuser = "jo"\npassword = "geheim#1"\nhost = "db"\n[client]\nport = 7\nuser = "client"\n')
    environ = {"HOME": str(tmp_path)}
    made = connect_options("", {"login_path": "shop"}, environ)
    assert (made.hosts, made.user, made.password) == ((("db", 7),), "jo", "geheim#1")
    assert connect_options("", {"login_path": "client"}, environ).user == "client"
    assert connect_options("mysql://me@h", {"login_path": "shop"}, environ).user == "me"
    elsewhere = {"HOME": "/nowhere", "MYSQL_TEST_LOGIN_FILE": str(file)}
    assert connect_options("", {"login_path": "shop"}, elsewhere).password == "geheim#1"
    with pytest.raises(ProgrammingError, match="'other' is not in"):
        connect_options("", {"login_path": "other"}, environ)
    file.chmod(0o644)
    with pytest.raises(ProgrammingError, match="0600"):
        connect_options("", {"login_path": "shop"}, environ)
    for spoilt in (b"short", os.urandom(60), bytes(24) + b"\x10\0\0\0" + bytes(15), bytes(24) + b"\xff" * 8):
        file.chmod(0o600)
        file.write_bytes(spoilt)
        with pytest.raises(ProgrammingError, match=r"mysql_config_editor|is not in"):
            connect_options("", {"login_path": "shop"}, environ)


def test_the_environment_counts_last(tmp_path: Path) -> None:
    environ = {"MYSQL_HOST": "h", "MYSQL_TCP_PORT": "7", "MYSQL_PWD": SECRET, "HEADRACE_TIMING": "1"}
    made = options("", environ, user="u")
    assert (made.hosts, made.password, made.enable_timing) == ((("h", 7),), SECRET, True)
    assert options("mysql://a:1", environ).hosts == (("a", 1),)
    # A host that was named is not overruled by a Unix socket of a weaker source, nor the other way round.
    assert options("mysql://a", {"MYSQL_UNIX_PORT": "/s"}).socket is None
    assert options("", {"MYSQL_HOST": "h"}, unix_socket="/s").socket == "/s"
    assert options("", {"MYSQL_UNIX_PORT": "/s"}).socket == "/s"
    with pytest.raises(ProgrammingError, match="from MYSQL_TCP_PORT"):
        options("", {"MYSQL_HOST": "h", "MYSQL_TCP_PORT": "x"})


def test_without_a_place_it_is_the_socket_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "MYSQL_SOCKETS", (str(tmp_path / "s"),))
    assert options().hosts == (("localhost", 3306),)
    (tmp_path / "s").touch()
    assert options().socket == str(tmp_path / "s")
    assert options(port=3306).socket is None
    assert options(host="localhost").socket is None


def test_hosts_in_turn_or_at_random() -> None:
    made = options("mysql://a,b,c,d,e,f/?load_balance_hosts=random")
    assert len({tuple(made.places()) for _ in range(50)}) > 1
    assert {host for host, _ in made.places()} == {*"abcdef"}
    assert [host for host, _ in options("mysql://a,b").places()] == ["a", "b"]
