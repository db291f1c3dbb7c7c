"""Settings that are none are errors that name them, and times that no clock counts are no limits."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.cubrid
import headrace.informix
import headrace.mysql
import headrace.postgres
from headrace import ProgrammingError
from headrace._shared.limits import FOREVER, checked_seconds
from headrace._shared.opening import password_of
from headrace.cubrid import settings as cubrid
from headrace.informix import settings as informix
from headrace.mysql import settings as mysql
from headrace.postgres import settings as postgres

DRIVERS = (headrace.postgres, headrace.mysql, headrace.informix, headrace.cubrid)
READ: dict[str, Any] = {
    "postgres": postgres.connect_options, "mysql": mysql.connect_options,
    "informix": informix.connect_options, "cubrid": cubrid.connect_options,
}  # fmt: skip
URLS = {"informix": "informix://host:9088/database?server=name"}
"""Where a database needs more than its defaults."""


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("conninfo", [None, 5, b"x", []])
def test_a_url_that_is_no_text(driver: Any, conninfo: Any) -> None:
    with pytest.raises((TypeError, ProgrammingError), match=f"conninfo.*str.*{type(conninfo).__name__}"):
        driver.connect(conninfo)


@pytest.mark.parametrize(
    ("database", "name"),
    [("postgres", "keepalives_idle"), ("mysql", "read_timeout"), ("cubrid", "connect_timeout"),
     ("informix", "command_timeout"), ("postgres", "tcp_user_timeout")],
)  # fmt: skip
def test_a_time_that_no_clock_counts(database: str, name: str) -> None:
    most = FOREVER / 1000 if name == "tcp_user_timeout" else FOREVER
    assert getattr(READ[database](URLS.get(database, ""), {name: 10**30}), name) == most
    for wrong in (10**400, float("inf"), float("nan"), "x", object()):
        with pytest.raises(ProgrammingError, match=f"{name}.*is not a number"):
            READ[database](URLS.get(database, ""), {name: wrong})


def test_a_number_that_is_too_large() -> None:
    with pytest.raises(ProgrammingError, match=r"statement_cache_size=.* is more than"):
        postgres.connect_options("", {"statement_cache_size": 10**30})


@pytest.mark.parametrize("database", READ)
@pytest.mark.parametrize("name", ["user", "password"])
def test_half_of_a_surrogate_pair(database: str, name: str) -> None:
    with pytest.raises(ProgrammingError, match=f"{name} is not Unicode"):
        READ[database](URLS.get(database, ""), {name: "\ud800"})


@pytest.mark.parametrize("given", [None, 5, b"secret"])
def test_a_password_function_that_returns_no_text(given: Any) -> None:
    with pytest.raises(ProgrammingError, match=f"the password function has returned {type(given).__name__}"):
        password_of(lambda: given)


@pytest.mark.parametrize(
    ("given", "error"), [("5", TypeError), (object(), TypeError), (1j, TypeError), (float("nan"), ProgrammingError)]
)
def test_a_timeout_that_is_none(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"timeout.* number of seconds"):
        checked_seconds(given)


def test_a_timeout_beyond_a_float() -> None:
    assert checked_seconds(10**400) == float("inf")
    assert checked_seconds(-(10**400)) == 0
