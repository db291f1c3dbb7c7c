"""Where a connection's settings come from, and what is refused before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import defaults
from headrace.errors import NotSupportedError, ProgrammingError
from headrace.postgres.settings import CHOICES, ConnectOptions, Host, connect_options, parse_conninfo


def options(conninfo: str = "", environ: dict[str, str] | None = None, /, **keywords: Any) -> ConnectOptions:
    """Options that nothing of this machine goes into."""
    return connect_options(conninfo, keywords, {"HOME": "/nowhere", **(environ or {})})


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql://", {}),
        ("postgres://h", {"host": "h"}),
        ("postgresql://h:6432", {"host": "h", "port": "6432"}),
        ("postgresql://h/d", {"host": "h", "dbname": "d"}),
        ("postgresql:///d", {"dbname": "d"}),
        ("postgresql://u@h", {"user": "u", "host": "h"}),
        ("postgresql://u:p@h", {"user": "u", "password": "p", "host": "h"}),
        ("postgresql://u:@h", {"user": "u", "password": "", "host": "h"}),
        ("postgresql://:p@h", {"password": "p", "host": "h"}),
        ("postgresql://u@", {"user": "u"}),
        ("postgresql://u:p%40%2F%3A%25@h", {"user": "u", "password": "p@/:%", "host": "h"}),
        ("postgresql://u:p@q@h", {"user": "u", "password": "p@q", "host": "h"}),
        ("postgresql://%C3%A9@h/%C3%BC", {"user": "é", "host": "h", "dbname": "ü"}),
        ("postgresql://a,b:2,c/d", {"host": "a,b,c", "port": ",2,", "dbname": "d"}),
        ("postgresql://[::1]:5433/d", {"host": "::1", "port": "5433", "dbname": "d"}),
        ("postgresql://[2001:db8::1],h:1", {"host": "2001:db8::1,h", "port": ",1"}),
        ("postgresql://%2Fvar%2Frun/d", {"host": "/var/run", "dbname": "d"}),
        ("postgresql:///d?host=/tmp&port=1", {"dbname": "d", "host": "/tmp", "port": "1"}),
        ("postgresql://a/d?host=b", {"host": "b", "dbname": "d"}),
        ("postgresql://h/d?options=-c%20a%3Db", {"host": "h", "dbname": "d", "options": "-c a=b"}),
        ("postgresql://h/d?options=-ca=b", {"host": "h", "dbname": "d", "options": "-ca=b"}),
        ("postgresql://h?application_name=a+b", {"host": "h", "application_name": "a+b"}),
        ("postgresql://h?ssl=true", {"host": "h", "sslmode": "require"}),
        ("postgresql://h?user=u&password=p", {"host": "h", "user": "u", "password": "p"}),
        ("postgresql://h?database=d&timeout=3", {"host": "h", "dbname": "d", "connect_timeout": "3"}),
    ],
)
def test_a_url_is_read(url: str, found: dict[str, str]) -> None:
    assert parse_conninfo(url) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("   ", {}),
        ("host=h", {"host": "h"}),
        ("host = h  port\t=\n5", {"host": "h", "port": "5"}),
        ("password='a b'", {"password": "a b"}),
        (r"password='it\'s'", {"password": "it's"}),
        (r"password=a\ b", {"password": "a b"}),
        (r"password=a\\b", {"password": "a\\b"}),
        ("password='' user=u", {"password": "", "user": "u"}),
        ("password= user=u", {"password": "user=u"}),  # as libpq has it
        ("password=a=b", {"password": "a=b"}),
        ("password=x://y", {"password": "x://y"}),
        ("host=a host=b", {"host": "b"}),
    ],
)
def test_keywords_are_read(text: str, found: dict[str, str]) -> None:
    assert parse_conninfo(text) == found


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # a password that was neither quoted nor percent-encoded
        (f"password=x {SECRET} host=h", "password='...'"),
        (f"password=x {SECRET}=y host=h", "write a value with spaces in quotes"),
        (f"password='{SECRET}", "has no end"),
        (f"user:{SECRET}@host/db", "neither a URL"),
        (f"user:{SECRET}@host/db?sslmode=require", "malformed connection string"),
        (f"postgresql://u:pass/{SECRET}@h/d", "percent-encoded"),
        (f"postgresql://u:{SECRET}/x@h/d", "percent-encoded"),
        (f"postgresql://u:{SECRET}?x@h/d", "percent-encoded"),
        (f"postgresql://u:[{SECRET}/x@h/d", "percent-encoded"),
        (f"postgresql://u:{SECRET}%@h/d", "in the password of the URL"),
        (f"postgresql://u:{SECRET}%FF@h/d", "is not UTF-8"),
        (f"postgresql://u:{SECRET}%00@h/d", "NUL"),
        (f"postgresql://h/d?password=x&{SECRET}", "malformed parameters"),
        (f"postgresql://h/d?password={SECRET}%", "parameter 'password'"),
        (f"host=h password={SECRET} sslmode=no", "sslmode='no'"),
    ],
)
def test_no_error_shows_a_password(text: str, message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        options(text)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mysql://h/d", "begins with mysql://; for PostgreSQL it begins with postgresql://"),
        ("postgresql+psycopg://h/d", "postgresql://"),
        ("postgresql://h:x", "the port in the URL is not a number from 1 to 65535"),
        ("postgresql://[::1", "IPv6"),
        ("postgresql://[::1]x", "IPv6"),
        ("postgresql://::1", "brackets"),
        ("postgresql://h%zz", "percent-encoding in the host"),
        ("postgresql://h/%zz", "percent-encoding in the database"),
        ("postgresql://h?sslmode", "'sslmode' in the URL has no value"),
        ("postgresql://h?sslmod=require", "unknown connection setting 'sslmod'; did you mean 'sslmode'?"),
        ("host", "missing '=' after 'host'"),
        ("hots=h", "unknown connection setting 'hots'; did you mean 'host'?"),
        ("host=h prot=1", "did you mean 'port'?"),
        ("xyzzy=1", "unknown connection setting 'xyzzy'"),
        ("sslmode=verify_full", "sslmode='verify_full' is not one of disable, allow, prefer"),
        ("sslmode=verify_full", "did you mean 'verify-full'?"),
        ("gssencmode=maybe", "gssencmode='maybe'"),
        ("target_session_attrs=master", "target_session_attrs='master' is not one of any, read-write"),
        ("connect_timeout=soon", "connect_timeout='soon' is not a number"),
        ("connect_timeout=nan", "connect_timeout='nan' is not a number"),
        ("connect_timeout=inf", "not a number"),
        ("keepalives=maybe", "keepalives='maybe' is neither 1 nor 0"),
        ("keepalives_count=1.5", "whole number"),
        ("statement_cache_size=-1", "whole number"),
        ("port=5432.0", "port '5432.0'"),
        ("port=-1", "port '-1'"),
        ("host=a,b hostaddr=1.1.1.1", "2 hosts, but 1 hostaddrs"),
        ("host=a,b port=1,2,3", "2 hosts, but 3 ports"),
        ("hostaddr=localhost", "hostaddr 'localhost' is not an IP address"),
        ("host=a..b", "host 'a..b'"),
        (f"host={'a' * 64}.example", "not a name"),
        ("require_auth=magic", "require_auth: 'magic'"),
        ("require_auth=scram-sha256", "did you mean 'scram-sha-256'?"),
        ("require_auth=md5,!password", "either"),
        ("require_auth=!password,!md5,!scram-sha-256,!none", "leaves none"),
        ("require_auth=gss", "leaves none"),
        ("sslmode=prefer sslrootcert=system", "sslrootcert=system needs sslmode=verify-full, not prefer"),
        ("sslmode=verify-ca sslrootcert=system", "verify-full"),
        ("sslnegotiation=direct", "direct needs sslmode=require or stronger, not prefer"),
        ("sslmode=prefer sslnegotiation=direct", "direct"),
        ("sslmode=disable channel_binding=require", "needs TLS"),
        ("user=a\0b", "user holds a NUL"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        options(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"pasword": "x"}, "did you mean 'password'?"),
        ({"password": 123}, "password must be text or a function that returns it, not int"),
        ({"password": "a\0b"}, "password holds a NUL"),
        ({"dbname": 5}, "dbname must be text, not int"),
        ({"connect_timeout": True}, "not a number"),
        ({"connect_timeout": [1]}, "not a number"),
        ({"host": "a\0b"}, "NUL"),
        ({"port": "x"}, "port 'x'"),
    ],
)
def test_wrong_keyword_arguments_are_named(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        options(**keywords)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "client_encoding=latin1",
        "gssencmode=require",
        "sslcrl=/x",
        "sslcrldir=/x",
        "sslpassword=hunter2",
        "requirepeer=postgres",
        "sslcertmode=require",
        "ssl_max_protocol_version=TLSv1.2",
        "min_protocol_version=3.2",
        "oauth_issuer=https://x",
        "scram_client_key=hunter2",
        "host=@abstract",
    ],
)
def test_what_headrace_cannot_do_is_refused_not_ignored(text: str) -> None:
    with pytest.raises(NotSupportedError, match=text.split("=")[0]) as caught:
        options(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "client_encoding=utf-8",
        "client_encoding=auto",
        "gssencmode=prefer",
        "gssencmode=disable",
        "krbsrvname=postgres gsslib=gssapi gssdelegation=0 sslcompression=0",
        "sslcrl='' sslpassword=''",
        "ssl_max_protocol_version=TLSv1.3",
        "max_protocol_version=latest min_protocol_version=3.0",
        "sslnegotiation=direct sslmode=require",
        "channel_binding=require sslmode=prefer",
    ],
)
def test_what_changes_nothing_is_accepted(text: str) -> None:
    options(text)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in CHOICES.items() for v in values])
def test_every_choice_is_accepted_or_refused_as_unsupported(name: str, value: str) -> None:
    extra = {"sslmode": "require"} if name == "sslnegotiation" else {}
    try:
        found = options(**{name: value}, **extra)
    except NotSupportedError:
        return
    assert getattr(found, name, value) == value


def test_values_have_their_types() -> None:
    found = options(
        "postgresql://u:p@h:1/d?connect_timeout=2.5&keepalives=0&keepalives_idle=3&keepalives_interval=4"
        "&keepalives_count=5&tcp_user_timeout=1500&sslsni=0&prepared=off&statement_cache_size=7&enable_timing=yes"
        "&require_auth=scram-sha-256,none&unrepresentable=text&replication=database"
    )
    assert found == ConnectOptions(
        hosts=(Host("h", None, 1),),
        user="u",
        dbname="d",
        password="p",
        passfile="/nowhere/.pgpass",
        connect_timeout=2.5,
        keepalives=False,
        keepalives_idle=3,
        keepalives_interval=4,
        keepalives_count=5,
        tcp_user_timeout=1.5,
        sslsni=False,
        prepared=False,
        statement_cache_size=7,
        enable_timing=True,
        lasting=True,
        require_auth=("scram-sha-256", "none"),
        unrepresentable="text",
        replication="database",
    )


def test_defaults() -> None:
    found = options(user="ada")
    assert (found.user, found.dbname) == ("ada", "ada")
    assert found.connect_timeout == defaults.CONNECT_TIMEOUT
    assert found.application_name == defaults.APPLICATION_NAME
    assert found.sslmode == "prefer"
    assert found.hosts[0].port == defaults.PORT
    assert options(connect_timeout=-1).connect_timeout == 0
    assert options(fallback_application_name="psql").application_name == "psql"
    assert options(fallback_application_name="psql", application_name="mine").application_name == "mine"
    assert options(user=None, password=None, dbname="d").dbname == "d"


def test_the_directory_of_a_running_server_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "SOCKET_DIRS", ("/not/here", str(tmp_path)))
    (tmp_path / ".s.PGSQL.7777").touch()
    assert options(port=7777).hosts == (Host(str(tmp_path), None, 7777),)
    assert options(port=7778).hosts == (Host("localhost", None, 7778),)
    # An empty place in a list is the default too.
    assert options(host="a,,b", port="7777").hosts[1] == Host(str(tmp_path), None, 7777)


@pytest.mark.parametrize(
    ("keywords", "hosts"),
    [
        ({"host": "a"}, [("a", None, 5432)]),
        ({"host": ["a", "b"], "port": [1, 2]}, [("a", None, 1), ("b", None, 2)]),
        ({"host": "a,b", "port": "6432"}, [("a", None, 6432), ("b", None, 6432)]),
        ({"host": "a,b", "port": 6432}, [("a", None, 6432), ("b", None, 6432)]),
        ({"host": "a,b", "port": "1,"}, [("a", None, 1), ("b", None, 5432)]),
        ({"hostaddr": "::1"}, [("", "::1", 5432)]),
        ({"host": "a,b", "hostaddr": "1.1.1.1,"}, [("a", "1.1.1.1", 5432), ("b", None, 5432)]),
        ({"host": "/run/pg"}, [("/run/pg", None, 5432)]),
    ],
)
def test_hosts(keywords: dict[str, Any], hosts: list[tuple[str, str | None, int]]) -> None:
    assert [(h.host, h.hostaddr, h.port) for h in options(**keywords).hosts] == hosts


@pytest.mark.parametrize(
    ("host", "text"),
    [
        (Host("db", None, 5432), "db:5432"),
        (Host("", "::1", 5432), "[::1]:5432"),
        (Host("db", "10.0.0.1", 1), "db:1"),
        (Host("/run", None, 1), "/run/.s.PGSQL.1"),
    ],
)
def test_a_host_is_shown(host: Host, text: str) -> None:
    assert str(host) == text


def test_precedence(tmp_path: Path) -> None:
    services = tmp_path / "services"
    services.write_text("[mine]\nhost=service\nport=3\ndbname=service\nuser=service\n")
    environ = {
        "PGSERVICEFILE": str(services),
        "PGSERVICE": "mine",
        "PGHOST": "environment",
        "PGPORT": "4",
        "PGDATABASE": "environment",
        "PGUSER": "environment",
        "PGAPPNAME": "environment",
    }
    found = options("host=text port=2", environ, host="keyword")
    assert found.hosts == (Host("keyword", None, 2),)
    assert (found.dbname, found.application_name) == ("service", "environment")
    del environ["PGSERVICE"]
    assert options("service=mine", environ).dbname == "service"
    assert options("", environ).dbname == "environment"


def test_the_source_of_a_wrong_value_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgrammingError, match=r"sslmode='no' \(from PGSSLMODE\) is not one of"):
        options("", {"PGSSLMODE": "no"})
    with pytest.raises(NotSupportedError, match="from PGCLIENTENCODING"):
        options("", {"PGCLIENTENCODING": "LATIN1"})
    with pytest.raises(NotSupportedError, match="from PGSSLCRL"):
        options("", {"PGSSLCRL": "/x"})
    (tmp_path / ".pg_service.conf").write_text("[s]\nhots=h\n[t]\nport=x\n")
    with pytest.raises(ProgrammingError, match=r"'hots' \(from the service 's'\); did you mean 'host'"):
        options("service=s", {"HOME": str(tmp_path)})
    with pytest.raises(ProgrammingError, match=r"port 'x' \(from the service 't'\)"):
        options("service=t", {"HOME": str(tmp_path)})


def test_the_environment() -> None:
    found = options("", {"PGTZ": "Europe/Paris", "PGDATESTYLE": "default", "PGGEQO": "off", "HEADRACE_TIMING": "1"})
    assert found.session == (("TimeZone", "Europe/Paris"), ("geqo", "off"))
    assert found.enable_timing
    assert options("", {"HEADRACE_TIMING": "1"}, enable_timing=False).enable_timing is False
    assert options("", {"PGREQUIRESSL": "1"}).sslmode == "require"
    assert options("", {"PGREQUIRESSL": "1", "PGSSLMODE": "allow"}).sslmode == "allow"
    assert options("", {"PGSSLMODE": ""}).sslmode == "prefer"
    assert options("", {"PGPASSWORD": "p"}).password == "p"


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("sslrootcert=system", "verify-full"),
        ("sslrootcert=system sslmode=verify-full", "verify-full"),
        ("sslrootcert=./system", "prefer"),
    ],
)
def test_the_systems_certificates_are_verified_in_full(text: str, mode: str) -> None:
    assert options(text).sslmode == mode


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("", ()),
        ("require_auth=scram-sha-256", ("scram-sha-256",)),
        ("require_auth=none,md5", ("md5", "none")),
        ("require_auth=!password", ("md5", "scram-sha-256", "none")),
        ("require_auth=!password,!gss,!sspi", ("md5", "scram-sha-256", "none")),
        ("require_auth=scram-sha-256,gss", ("scram-sha-256",)),
    ],
)
def test_required_methods(text: str, methods: tuple[str, ...]) -> None:
    assert options(text).require_auth == methods


def test_paths_may_be_paths() -> None:
    found = options(sslrootcert=Path("/a/root.crt"), sslcert=Path("/a/c"), passfile=Path("/a/p"))
    assert (found.sslrootcert, found.sslcert, found.passfile) == ("/a/root.crt", "/a/c", "/a/p")


def test_passwords_by_host(tmp_path: Path) -> None:
    passfile = tmp_path / ".pgpass"
    passfile.write_text("a:*:*:*:for a\nb:*:*:*:for b\n")
    passfile.chmod(0o600)
    home = {"HOME": str(tmp_path)}
    found = options("host=a,b,c user=u", home)
    assert [found.password_for(host) for host in found.hosts] == ["for a", "for b", None]
    # An empty password is none, as in libpq.
    assert options("host=a user=u password=''", home).password_for(Host("a", None, 5432)) == "for a"
    assert options("host=a user=u password=x", home).password_for(Host("a", None, 5432)) == "x"
    given = options("host=a user=u", home, password=lambda: "called").password_for(Host("a", None, 5432))
    assert callable(given)
    assert options("host=a", {**home, "PGPASSFILE": "/x"}).passfile == "/x"


def test_the_repr_has_no_password() -> None:
    assert SECRET not in repr(options(f"postgresql://u:{SECRET}@h/d"))
