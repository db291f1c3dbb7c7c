"""Django on headrace's backend for CUBRID: its own tests, on two test servers, as a server has one database."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from headrace.testing import CubridServer, cubrid

from .test_django import own_tests

APPS = ["basic", "transactions"]


def of_cubrid(server: CubridServer) -> str:
    where = {"HOST": server.host, "PORT": server.port, "USER": server.user, "NAME": server.database}
    return json.dumps({"ENGINE": "headrace.django.cubrid", **where, "TEST": {"NAME": server.database}})


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, str]]:
    """Both of Django's databases, as its settings are told of them. Its tests drop every table."""
    with cubrid() as default, cubrid() as other:
        yield {"DJANGO_DATABASE": of_cubrid(default), "DJANGO_OTHER": of_cubrid(other)}


@pytest.mark.slow
def test_djangos_own_tests(databases: dict[str, str]) -> None:
    said = own_tests(databases["DJANGO_DATABASE"], *APPS, DJANGO_OTHER=databases["DJANGO_OTHER"])
    assert "\nOK" in said, said[-6000:]
