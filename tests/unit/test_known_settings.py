"""Settings that were checked before are those that a new check would give, and no password is kept with them."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headrace import defaults, errors
from headrace._shared.known import KnownSettings, Variables

PASSWORD = "p@ss:w/rd 1%"


@dataclass
class Driver:
    """The address of a server, as one of the drivers takes it."""

    module: str
    url: str
    """With a place for the password."""
    keywords: dict[str, Any]
    variable: str | None = None
    """The environment's password."""

    @property
    def settings(self) -> Any:
        """The module that reads settings."""
        return importlib.import_module(f"headrace.{self.module}.settings")


DRIVERS = {
    "postgresql": Driver("postgres", "postgresql://jo:{}@db/shop", {"host": "db", "user": "jo"}, "PGPASSWORD"),
    "mysql": Driver("mysql", "mysql://jo:{}@db/shop", {"host": "db", "user": "jo"}, "MYSQL_PWD"),
    "informix": Driver("informix", "informix://jo:{}@db/shop?server=ol", {"host": "db", "server": "ol", "user": "jo"}),
    "cubrid": Driver("cubrid", "cubrid://jo:{}@db/shop", {"host": "db", "user": "jo"}),
}


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Driver:
    found = DRIVERS[request.param]
    for variable in ("PGPASSWORD", "MYSQL_PWD", "PGPASSFILE", "PGSERVICE", "INFORMIXSERVER", "HEADRACE_TIMING"):
        monkeypatch.delenv(variable, raising=False)
    known = found.settings.known
    monkeypatch.setattr(known, "_known", {})
    return found


def kept(known: KnownSettings[Any]) -> str:
    """All that is remembered, as text."""
    cells = [cell.cell_contents for _, place in known._known.values() for cell in place.__closure__ or ()]
    return repr([(options, vars(options)) for options, _ in known._known.values()]) + repr(cells)


def ways(driver: Driver, password: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (driver.url.format(quote(password, safe="")), {}),
        (driver.url.format("other"), {"password": password}),
        ("", {**driver.keywords, "password": password}),
    ]


@pytest.mark.parametrize("way", range(3), ids=["url", "url and keyword", "keywords"])
@pytest.mark.parametrize("password", [PASSWORD, "x", "jo", ""])
def test_settings_given_again_are_the_same(driver: Driver, way: int, password: str) -> None:
    known, read = driver.settings.known, driver.settings.connect_options
    conninfo, keywords = ways(driver, password)[way]
    first, second = known.options(conninfo, keywords), known.options(conninfo, keywords)
    assert first == second == read(conninfo, keywords)
    assert (first.password or "") == password
    assert len(known._known) == 1
    if password == PASSWORD:
        assert PASSWORD not in kept(known)
        assert quote(PASSWORD, safe="") not in kept(known)


def test_password_of_the_environment_is_that_of_today(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    known = driver.settings.known
    if driver.variable is None:
        assert known.options("", driver.keywords).password is None
        return
    for password in (PASSWORD, PASSWORD, "second", "third"):
        monkeypatch.setenv(driver.variable, password)
        assert known.options("", driver.keywords).password == password
    assert PASSWORD not in kept(known)


def test_another_password_is_other_settings(driver: Driver) -> None:
    known = driver.settings.known
    for password in ("one", "two", "one", "two"):
        assert known.options(driver.url.format(password), {}).password == password
        assert known.options(driver.url.format("x"), {"password": password}).password == password


def test_password_that_occurs_elsewhere_is_found(driver: Driver) -> None:
    known = driver.settings.known
    for _ in range(2):
        assert known.options(driver.url.format("shop"), {}).password == "shop"
        assert known.options(driver.url.format("p"), {}).password == "p"


def test_variable_counts_from_when_it_is_set(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    known, url = driver.settings.known, driver.url.format("x")
    assert known.options(url, {}).enable_timing is False
    monkeypatch.setenv("HEADRACE_TIMING", "1")
    assert known.options(url, {}).enable_timing is True
    monkeypatch.delenv("HEADRACE_TIMING")
    assert known.options(url, {}).enable_timing is False


def test_variables_that_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = Variables(["HEADRACE_B", "HEADRACE_A", "HEADRACE_C"])
    assert variables.set_now() == []
    monkeypatch.setenv("HEADRACE_B", "1")
    monkeypatch.setenv("HEADRACE_A", "")
    monkeypatch.setenv("HEADRACE_A_TOO", "2")
    assert variables.set_now() == [("HEADRACE_A", ""), ("HEADRACE_B", "1")]
    monkeypatch.setattr("os.environ", {"HEADRACE_C": "of a test", "OTHER": ""})
    assert variables.set_now() == [("HEADRACE_C", "of a test")]
    monkeypatch.undo()
    assert variables.set_now() == []


def test_variables_are_found_without_going_through_all(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = Variables(["HEADRACE_A", "HOME"])
    monkeypatch.delenv("HEADRACE_A", raising=False)
    monkeypatch.setenv("HOME", "/home/jo")
    monkeypatch.setattr(type(os.environ), "__iter__", lambda _: pytest.fail("it goes through all"))
    assert variables.set_now() == [("HOME", "/home/jo")]


def test_true_is_not_taken_for_the_number_that_it_equals(driver: Driver) -> None:
    known, url = driver.settings.known, driver.url.format("x")
    assert known.options(url, {"connect_timeout": 1}).connect_timeout == 1
    with pytest.raises(errors.ProgrammingError, match="connect_timeout"):
        known.options(url, {"connect_timeout": True})


def test_password_function_is_called_each_time(driver: Driver) -> None:
    known = driver.settings.known

    def password() -> str:
        return "x"

    for _ in range(2):
        assert known.options("", {**driver.keywords, "password": password}).password is password
    assert not known._known


def test_so_many_settings_are_kept(driver: Driver) -> None:
    known = driver.settings.known
    for n in range(defaults.KNOWN_SETTINGS * 2 + 3):
        assert known.options(driver.url.format("x"), {"connect_timeout": n + 1}).connect_timeout == n + 1
        assert len(known._known) <= defaults.KNOWN_SETTINGS


def test_files_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services, options = tmp_path / "services", tmp_path / "my.cnf"
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    postgres, mysql = DRIVERS["postgresql"].settings.known, DRIVERS["mysql"].settings.known
    for name in ("first", "second"):
        services.write_text(f"[mine]\nhost=db\nuser=jo\ndbname={name}\n")
        assert postgres.options("service=mine", {}).dbname == name
        options.write_text(f"[client]\nhost=db\nuser=jo\ndatabase={name}\n")
        assert mysql.options("", {"read_default_file": str(options)}).database == name


def test_host_that_was_looked_for_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = DRIVERS["postgresql"].settings.known
    monkeypatch.setattr(defaults, "SOCKET_DIRS", (str(tmp_path),))
    for text in ("user=jo", "user=jo host=''", "user=jo host=,"):
        assert {host.host for host in known.options(text, {}).hosts} == {"localhost"}
    (tmp_path / f".s.PGSQL.{defaults.PORT}").touch()
    for text in ("user=jo", "user=jo host=''", "user=jo host=,"):
        assert {host.host for host in known.options(text, {}).hosts} == {str(tmp_path)}
