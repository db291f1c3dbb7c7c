"""Which hosts to try in which order, without a server: each row has the answers and the next attempts."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Any

import pytest

from headrace._shared.settings import shuffled
from headrace.errors import (
    CannotConnectNow,
    ConnectionClosed,
    ConnectionTimeout,
    InvalidAuthorizationSpecification,
    InvalidCatalogName,
    InvalidPassword,
    OperationalError,
    ProgrammingError,
    TooManyConnections,
)
from headrace.postgres.attempts import Check, Resolve, Try, attempts, tls_plan, wire_options
from headrace.postgres.settings import ConnectOptions, Host, connect_options

Answer = Any


@pytest.fixture(autouse=True)
def no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files in ~/.postgresql have no effect."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


class Wire:
    """What attempts() asks of a session's wire."""

    def __init__(self, parameters: dict[str, str]) -> None:
        self._parameters = parameters

    def parameters(self) -> dict[str, str]:
        """As the server reported them."""
        return self._parameters


class OpenedSession:
    """A session that was made."""

    def __init__(self, standby: bool | None = False, read_only: bool = False) -> None:
        known = standby is not None
        self.answer = ("on" if standby else "off", "on" if read_only else "off")
        self.wire = Wire(
            {"in_hot_standby": self.answer[0], "default_transaction_read_only": self.answer[1]} if known else {}
        )
        self.closed = False

    def close(self) -> None:
        """Not wanted after all."""
        self.closed = True


def options(text: str = "", /, **keywords: Any) -> ConnectOptions:
    """Options that nothing of this machine goes into."""
    return connect_options(text, {"user": "u", **keywords}, {"HOME": "/nowhere"})


def run(
    given: ConnectOptions,
    answers: dict[str, Answer],
    addresses: dict[str, Any] | None = None,
    **more: Any,
) -> tuple[Any, list[str]]:
    """Runs attempts(). Answers are by ``address/tls`` or ``address``; returns the session, or the error, and what was
    tried."""
    tried: list[str] = []
    flow = attempts(given, **more)
    session: Any = None
    try:
        step = next(flow)
        while True:
            answer: Answer
            if isinstance(step, Resolve):
                answer = (addresses or {}).get(step.host, [step.host])
                if isinstance(answer, list):
                    answer = [(address, step.port) for address in answer]
            elif isinstance(step, Try):
                where = step.options.get("unix") or step.options["tcp"][0]
                tried.append(f"{where}/{step.options['tls']}")
                answer = session = answers.get(tried[-1], answers.get(where))
                assert answer is not None, f"no answer for {tried[-1]}"
            else:
                assert isinstance(step, Check)
                tried.append("check")
                answer = answers.get("check", session.answer)
            step = flow.throw(answer) if isinstance(answer, BaseException) else flow.send(answer)
    except StopIteration as stop:
        return stop.value, tried
    except Exception as error:
        return error, tried


def refused() -> OperationalError:
    return OperationalError("connection to 10.0.0.1:5432 failed: Connection refused")


def tls_refused(why: str) -> OperationalError:
    error = OperationalError(f"TLS: {why}")
    error.code = "tls_refused"
    return error


def from_server(kind: type[Any], message: str = "the server's words") -> Any:
    error = kind(message)
    error.message = message
    return error


GOOD = OpenedSession()


@pytest.mark.parametrize(
    ("mode", "answers", "tried", "good"),
    [
        ("disable", {"h": GOOD}, ["h/no"], True),
        ("disable", {"h": refused()}, ["h/no"], False),
        ("allow", {"h": GOOD}, ["h/no"], True),
        (
            "allow",
            {"h/no": from_server(InvalidAuthorizationSpecification), "h/require": GOOD},
            ["h/no", "h/require"],
            True,
        ),
        ("allow", {"h/no": from_server(InvalidPassword)}, ["h/no"], False),
        ("allow", {"h": refused()}, ["h/no"], False),
        ("prefer", {"h": GOOD}, ["h/prefer"], True),
        (
            "prefer",
            {"h/prefer": from_server(InvalidAuthorizationSpecification), "h/no": GOOD},
            ["h/prefer", "h/no"],
            True,
        ),
        ("prefer", {"h/prefer": tls_refused("bad record"), "h/no": GOOD}, ["h/prefer", "h/no"], True),
        ("prefer", {"h/prefer": ConnectionClosed("closed"), "h/no": GOOD}, ["h/prefer", "h/no"], True),
        # A password that was wrong over TLS is not sent again without.
        ("prefer", {"h/prefer": from_server(InvalidPassword)}, ["h/prefer"], False),
        ("prefer", {"h/prefer": ConnectionTimeout("TLS: late")}, ["h/prefer"], False),
        ("prefer", {"h/prefer": refused()}, ["h/prefer"], False),
        # A key that cannot be read turns no encryption off.
        ("prefer", {"h/prefer": OperationalError("TLS: no key")}, ["h/prefer"], False),
        ("require", {"h/require": tls_refused("no")}, ["h/require"], False),
        ("require", {"h/require": from_server(InvalidAuthorizationSpecification)}, ["h/require"], False),
        ("verify-full", {"h/require": GOOD}, ["h/require"], True),
    ],
)
def test_tls_modes(mode: str, answers: dict[str, Answer], tried: list[str], good: bool) -> None:
    found, asked = run(options(host="h", sslmode=mode), answers)
    assert asked == tried
    assert (found is GOOD) == good
    if not good:
        assert found in answers.values()


@pytest.mark.parametrize(
    ("text", "host", "plan"),
    [
        ("sslmode=verify-full", "/run", ["no"]),
        ("sslmode=require sslnegotiation=direct", "h", ["direct"]),
        ("sslmode=verify-ca", "h", ["require"]),
        ("", "h", ["prefer", "no"]),
    ],
)
def test_tls_plan(text: str, host: str, plan: list[str]) -> None:
    assert tls_plan(options(text), Host(host, None, 5432)) == plan


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        (refused(), True),
        (ConnectionTimeout("late"), True),
        (ConnectionClosed("gone"), True),
        (from_server(CannotConnectNow), True),
        (from_server(TooManyConnections), True),
        (from_server(InvalidPassword), False),
        (from_server(InvalidCatalogName), False),
        (from_server(InvalidAuthorizationSpecification), False),
        (ProgrammingError("the settings are wrong"), False),
    ],
)
def test_which_failures_lead_to_the_next_host(error: Exception, goes_on: bool) -> None:
    found, tried = run(options(host="a,b", sslmode="disable"), {"a": error, "b": GOOD})
    if goes_on:
        assert (found, tried) == (GOOD, ["a/no", "b/no"])
    else:
        assert (found, tried) == (error, ["a/no"])


def test_addresses_are_tried_before_the_next_host() -> None:
    answers = {"1.1.1.1": refused(), "::1": refused(), "2.2.2.2": GOOD}
    found, tried = run(options(host="a,b", sslmode="disable"), answers, {"a": ["1.1.1.1", "::1"], "b": ["2.2.2.2"]})
    assert (found, tried) == (GOOD, ["1.1.1.1/no", "::1/no", "2.2.2.2/no"])


def test_an_address_is_resolved_in_place_of_the_name() -> None:
    flow = attempts(options(host="name", hostaddr="10.0.0.9", port=7, sslmode="disable"))
    assert next(flow) == Resolve("10.0.0.9", 7)
    step = flow.send([("10.0.0.9", 7)])
    assert isinstance(step, Try)
    assert (step.options["tcp"], step.options["server_name"]) == (("10.0.0.9", 7), "name")


def test_a_unix_socket_is_not_resolved() -> None:
    step = next(attempts(options(host="/run/pg", port=7)))
    assert isinstance(step, Try)
    assert (step.options["unix"], step.options["tls"]) == ("/run/pg/.s.PGSQL.7", "no")
    assert "tcp" not in step.options


@pytest.mark.parametrize("answer", [socket.gaierror(-2, "Name or service not known"), []])
def test_a_name_that_has_no_address_leads_to_the_next_host(answer: Any) -> None:
    found, tried = run(options(host="a,b", sslmode="disable"), {"b": GOOD}, {"a": answer})
    assert (found, tried) == (GOOD, ["b/no"])
    found, _ = run(options(host="a", sslmode="disable"), {}, {"a": answer})
    assert type(found) is OperationalError
    assert "'a'" in str(found)


def test_one_failure_is_raised_as_it_is() -> None:
    only = ConnectionTimeout("late")
    assert run(options(host="a", sslmode="disable"), {"a": only})[0] is only


def test_several_failures_are_one_error() -> None:
    answers = {"1.1.1.1": refused(), "b": from_server(CannotConnectNow, "starting up")}
    found, _ = run(options(host="a,b", sslmode="disable"), answers, {"a": ["1.1.1.1"]})
    assert type(found) is OperationalError
    assert str(found) == (
        "connection to 10.0.0.1:5432 failed: Connection refused; connection to b:5432 failed: starting up"
    )
    late = {"a": ConnectionTimeout("late"), "b": ConnectionTimeout("too")}
    found, _ = run(options(host="a,b", sslmode="disable"), late, {"a": ["a", "a"]})
    assert type(found) is ConnectionTimeout
    # Each once, and with the address if the name alone is ambiguous.
    assert str(found) == "connection to a:5432 failed: late; connection to b:5432 failed: too"
    late = {"1.1.1.1": ConnectionTimeout("late"), "::1": ConnectionTimeout("late")}
    found, _ = run(options(host="a", sslmode="disable"), late, {"a": ["1.1.1.1", "::1"]})
    assert "a:5432 (1.1.1.1) failed: late; connection to a:5432 (::1) failed: late" in str(found)


PRIMARY, READ_ONLY, STANDBY = (False, False), (False, True), (True, False)


@pytest.mark.parametrize("reported", [True, False], ids=["reported", "asked"])
@pytest.mark.parametrize(
    ("wanted", "suiting"),
    [
        ("any", [PRIMARY, READ_ONLY, STANDBY]),
        ("read-write", [PRIMARY]),
        ("read-only", [READ_ONLY, STANDBY]),
        ("primary", [PRIMARY, READ_ONLY]),
        ("standby", [STANDBY]),
        ("prefer-standby", [PRIMARY, READ_ONLY, STANDBY]),
    ],
)
def test_session_attributes(wanted: str, suiting: list[tuple[bool, bool]], reported: bool) -> None:
    for kind in (PRIMARY, READ_ONLY, STANDBY):
        session = OpenedSession(*kind) if reported else OpenedSession(None)
        session.answer = tuple("on" if x else "off" for x in kind)  # type: ignore[assignment]
        found, tried = run(options(host="a", sslmode="disable", target_session_attrs=wanted), {"a": session})
        if kind in suiting:
            assert found is session, kind
        else:
            assert type(found) is OperationalError
            assert f"a:5432 failed: the session is not {wanted}" in str(found)
            assert session.closed
        assert ("check" in tried) == (not reported and wanted != "any")


def test_prefer_standby_takes_two_rounds() -> None:
    given = options(host="a,b", sslmode="disable", target_session_attrs="prefer-standby")
    primary, standby = OpenedSession(), OpenedSession(True)
    assert run(given, {"a": primary, "b": standby}) == (standby, ["a/no", "b/no"])
    assert primary.closed
    primary = OpenedSession()
    assert run(given, {"a": refused(), "b": primary}) == (primary, ["a/no", "b/no", "a/no", "b/no"])
    found, tried = run(given, {"a": refused(), "b": refused()})
    assert len(tried) == 4
    assert str(found).count("refused") == 1  # the same words of all are said once


def test_a_session_whose_check_fails_is_closed() -> None:
    given = options(host="a,b", sslmode="disable", target_session_attrs="primary")
    first = OpenedSession(None)
    found, tried = run(given, {"a": first, "b": GOOD, "check": ConnectionClosed("gone")})
    assert (found, tried) == (GOOD, ["a/no", "check", "b/no"])
    assert first.closed


def test_a_search_that_is_given_up_closes_its_session() -> None:
    session = OpenedSession(None)
    flow = attempts(options(host="/run", target_session_attrs="primary"))
    next(flow)
    assert isinstance(flow.send(session), Check)
    flow.close()
    assert session.closed


def reverse(places: list[Any]) -> list[Any]:
    return places[::-1]


def test_workers_with_the_same_seed_come_to_other_hosts() -> None:
    orders = []
    for _ in range(2):
        random.seed(1)
        orders.append(shuffled(range(30)))
    assert orders[0] != orders[1]
    assert [sorted(order) for order in orders] == [[*range(30)]] * 2


def test_load_balancing_shuffles_hosts_and_addresses() -> None:
    given = options(host="a,b", sslmode="disable", load_balance_hosts="random")
    _, tried = run(given, {"a": refused(), "1": refused(), "2": refused()}, {"b": ["1", "2"]}, shuffle=reverse)
    assert tried == ["2/no", "1/no", "a/no"]
    given = options(host="a,b", sslmode="disable")
    _, tried = run(given, {"a": refused(), "b": refused()}, shuffle=reverse)
    assert tried == ["a/no", "b/no"]


def root(home: Path) -> str:
    """libpq's default file of trusted certificates."""
    file = home / ".postgresql" / "root.crt"
    file.parent.mkdir(exist_ok=True)
    file.touch()
    return str(file)


@pytest.mark.parametrize(
    ("text", "default", "verify", "roots"),
    [
        ("sslmode=prefer", True, "none", "default"),
        ("sslmode=require", False, "none", None),
        ("sslmode=require", True, "ca", "default"),
        ("sslmode=require sslrootcert=/x", False, "ca", "/x"),
        ("sslmode=verify-ca", True, "ca", "default"),
        ("sslmode=verify-ca sslrootcert=/x", True, "ca", "/x"),
        ("sslmode=verify-full", False, "full", None),
        ("sslmode=verify-full", True, "full", "default"),
        ("sslrootcert=system", True, "full", None),
    ],
)
def test_what_is_verified(text: str, default: bool, verify: str, roots: str | None, no_home: Path) -> None:
    file = root(no_home) if default else None
    made = wire_options(options(text), Host("h", None, 1), "require", None)
    assert made["verify"] == verify
    assert made["sslrootcert"] == (file if roots == "default" else roots)


def test_verify_ca_does_not_trust_everyone() -> None:
    found, tried = run(options(host="h", sslmode="verify-ca"), {})
    assert type(found) is OperationalError
    assert "sslrootcert" in str(found)
    assert tried == []


@pytest.mark.parametrize(
    ("text", "files", "cert", "key"),
    [
        ("", [], None, None),
        ("", ["crt", "key"], "default", "default"),
        ("", ["crt"], None, None),
        ("sslcert=/c sslkey=/k", ["crt", "key"], "/c", "/k"),
        ("sslcert=/c", ["key"], "/c", "default"),
        ("sslcert=/c", [], "/c", None),
        ("sslcert=/c sslkey=/k sslcertmode=disable", [], None, None),
        ("sslcertmode=disable", ["crt", "key"], None, None),
    ],
)
def test_client_certificates(text: str, files: list[str], cert: str | None, key: str | None, no_home: Path) -> None:
    folder = no_home / ".postgresql"
    folder.mkdir()
    for name in files:
        (folder / f"postgresql.{name}").touch()
    made = wire_options(options(text), Host("h", None, 1), "require", None)
    assert made["sslcert"] == (str(folder / "postgresql.crt") if cert == "default" else cert)
    assert made["sslkey"] == (str(folder / "postgresql.key") if key == "default" else key)


def test_startup_parameters() -> None:
    given = connect_options(
        "application_name=app options='-c a=b'", {"user": "u", "dbname": "d"}, {"HOME": "/x", "PGTZ": "UTC"}
    )
    made = wire_options(given, Host("h", None, 1), "no", None)
    assert made["parameters"] == [
        ("user", "u"),
        ("database", "d"),
        ("client_encoding", "UTF8"),
        ("application_name", "app"),
        ("options", "-c a=b"),
        ("TimeZone", "UTC"),
    ]
