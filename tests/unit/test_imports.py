"""What an import of headrace does not import: it is waited for at the start of every program that uses it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import headrace
from headrace._shared.databases import DATABASES
from headrace.postgres.settings import can_be_looked_up

HEAVY = (
    "asyncio",
    "ssl",
    "concurrent.futures",
    "logging",
    "subprocess",
    "multiprocessing",
    "email",
    "difflib",
    "random",
)
NOT_YET = ("socket", "inspect", "dataclasses", "json", "threading", "datetime", "decimal", "headrace.types")
OURS = {
    name: (
        f"headrace.{name}",
        f"headrace.aio.{name}",
        *(["headrace.compat"] if name in ("mysql", "postgres", "informix") else []),
    )
    for name in (row.module for row in DATABASES)
}


def modules_after(script: str) -> set[str]:
    """The modules of an interpreter that has run ``script``."""
    whole = f"{script}\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", whole], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_headrace_imports_no_database_and_no_event_loop() -> None:
    unwanted = {*HEAVY, *NOT_YET, "headrace.aio", "headrace.pool", *OURS} | {
        one for ours in OURS.values() for one in ours
    }
    assert unwanted & modules_after("import headrace") == set()


@pytest.mark.parametrize("database", OURS)
def test_a_blocking_driver_imports_no_event_loop_and_no_other_database(database: str) -> None:
    others = {module for name, modules in OURS.items() if name != database for module in modules}
    unwanted = {*HEAVY, *others, "headrace.aio", "headrace.pool"}
    assert unwanted & modules_after(f"import headrace.{database}") == set()


@pytest.mark.parametrize("database", OURS)
def test_a_driver_imports_no_module_of_which_it_needs_a_line(database: str) -> None:
    unwanted = {"calendar", "locale", "string", "decimal", "numbers", "uuid", "platform"}
    assert unwanted & modules_after(f"import headrace.{database}") == set()


@pytest.mark.parametrize("name", headrace.__all__)
def test_every_public_name_is_there_after_import_headrace(name: str) -> None:
    check = f"import headrace; assert {name!r} in dir(headrace); headrace.{name}; from headrace import {name}"
    assert "headrace" in modules_after(check)


def test_dir_has_public_names_only() -> None:
    assert {name for name in dir(headrace) if not name.startswith("_")} == set(headrace.__all__)


def test_a_name_that_headrace_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'headrace' has no attribute 'conect'"):
        headrace.conect  # type: ignore[attr-defined]  # noqa: B018


CONNECTING = """
import asyncio, socket, sys
import headrace, headrace.aio
with socket.create_server(("127.0.0.1", 0)) as listening:
    port = listening.getsockname()[1]
for scheme in sys.argv[1:]:
    for host in ("localhost", "127.0.0.1"):
        url = f"{scheme}://me:secret@{host}:{port}/db"
        for connect in (headrace.connect, lambda url: asyncio.run(headrace.aio.connect(url))):
            try:
                connect(url)
            except headrace.Error:
                pass
            else:
                raise SystemExit("there is a server")
    print(scheme, "encodings.idna" in sys.modules)
"""
"""Tries to connect where nothing listens."""

FIRST = """
import re, sys
import headrace, headrace.%s
from re import _compiler
compiled, compile = [], _compiler.compile
_compiler.compile = lambda pattern, *flags: compiled.append(pattern) or compile(pattern, *flags)
try:
    headrace.connect(sys.argv[1] + "://me:secret@127.0.0.1:1/db")
except headrace.Error:
    print(compiled)
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the compiler of re has another name in Python 3.10")
@pytest.mark.parametrize("row", DATABASES, ids=lambda row: row.module)
def test_a_first_connection_compiles_no_regular_expression(row: Any) -> None:
    """A usual URL has none of what one looks for, and each takes longer than reading it."""
    script = [sys.executable, "-c", FIRST % row.module, row.schemes[0]]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_host_in_ascii_is_looked_up_without_the_tables_of_idna() -> None:
    """They take Python longer than all else of the first connection."""
    schemes = [row.schemes[0] for row in DATABASES]
    done = subprocess.run([sys.executable, "-c", CONNECTING, *schemes], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{scheme} False" for scheme in schemes]


@pytest.mark.parametrize(
    "host", ["", "a", "a.b", "a.b.", ".", ".a", "a..b", "a" * 63, "a" * 64, f"{'a' * 64}.b", "-_%"]
)
def test_names_that_can_be_looked_up_are_those_of_idna(host: str) -> None:
    try:
        host.encode("idna")
    except UnicodeError:
        assert not can_be_looked_up(host)
    else:
        assert can_be_looked_up(host)
