"""Django on headrace's backends for Informix and CUBRID: its own tests, on the test servers.

``make test-dialects`` runs all of those that docs/howto/django.md names.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.testing import cubrid, informix
from long import NIGHT

from .own import SAMPLE
from .test_django import HERE, LOADS, own_tests, run

APPS = ("basic", "transactions", "bulk_create", "aggregation", "expressions", "introspection")
REST = ("queries", "backends", "schema", "migrations")
"""Those that take half a minute each."""


def _of_cubrid(opened: contextlib.ExitStack) -> dict[str, Any]:
    server = opened.enter_context(cubrid())
    where = {"HOST": server.host, "PORT": server.port, "USER": server.user, "NAME": server.database}
    # A server has one database, and no statement makes another.
    return {"ENGINE": "headrace.django.cubrid", **where, "TEST": {"NAME": server.database}}


def _of_informix(opened: contextlib.ExitStack) -> dict[str, Any]:
    server = opened.enter_context(informix(locale="en_US.utf8"))
    where = {"HOST": server.host, "PORT": server.port, "USER": server.user, "PASSWORD": server.password}
    options = {"server": server.server, "DB_LOCALE": "en_US.utf8"}
    return {"ENGINE": "headrace.django.informix", **where, "NAME": server.database, "OPTIONS": options}


@pytest.fixture(scope="module", params=["cubrid", "informix"])
def databases(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Both of Django's databases, as its settings are told of them. Its tests drop every table."""
    of = {"cubrid": _of_cubrid, "informix": _of_informix}[request.param]
    with contextlib.ExitStack() as opened:
        yield {name: json.dumps(of(opened)) for name in ("DJANGO_DATABASE", "DJANGO_OTHER")}


@pytest.mark.slow
def test_values_that_the_page_names(databases: dict[str, str]) -> None:
    assert run(HERE, "django_values.py", DJANGO_DATABASE=databases["DJANGO_DATABASE"]).endswith("ok\n")


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_now_is_in_the_zone_of_djangos_connection(zone: str | None) -> None:
    with cubrid(time_zone="Europe/Berlin") as server:
        where = {"HOST": server.host, "PORT": server.port, "USER": server.user, "NAME": server.database}
        database = json.dumps({"ENGINE": "headrace.django.cubrid", **where, "TIME_ZONE": zone})
        assert run(HERE, "django_now.py", DJANGO_DATABASE=database).endswith("ok\n")


@pytest.mark.slow
def test_djangos_own_tests(databases: dict[str, str]) -> None:
    apps = APPS if SAMPLE else APPS + REST
    said = own_tests(databases["DJANGO_DATABASE"], *apps, DJANGO_OTHER=databases["DJANGO_OTHER"])
    assert "\nOK" in said, said[-6000:]


@pytest.mark.slow
@pytest.mark.skipif(not NIGHT, reason="takes two minutes: make test-long")
@pytest.mark.parametrize("name", LOADS)
def test_site_under_load_with_cancelled_requests(databases: dict[str, str], name: str) -> None:
    interface, options = LOADS[name]
    described = json.loads(databases["DJANGO_DATABASE"])
    # One writer at a time: a request waits until those before it have slept.
    waits = {"lock_wait": 60} if "informix" in described["ENGINE"] else {"lock_timeout": 60}
    given = {**options, "OPTIONS": {**described.get("OPTIONS", {}), **waits, **options.get("OPTIONS", {})}}
    said = run(HERE, "django_load.py", interface, DJANGO_DATABASE=json.dumps({**described, **given}), LOAD_SECONDS="10")
    assert "\nok\n" in said
