"""Profiles of each operation, through both drivers, on the test server of CUBRID."""

from __future__ import annotations

import pstats
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
import headrace.testing
from headrace_lab.cli import UsageError, main, parser, profile_options


@pytest.fixture(scope="module")
def cubrid() -> Iterator[headrace.testing.CubridServer]:
    with headrace.testing.cubrid() as server:
        yield server


def functions(file: Path) -> dict[str, int]:
    """The functions of a profile, with how often each was called."""
    counts: dict[str, int] = {}
    for (_, _, name), found in pstats.Stats(str(file)).stats.items():  # type: ignore[attr-defined]
        counts[name] = max(counts.get(name, 0), found[1])
    return counts


@pytest.mark.parametrize("driver", ["headrace", "pycubrid"])
def test_profile_has_the_calls_that_were_asked_for(
    cubrid: headrace.testing.CubridServer, tmp_path: Path, driver: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if driver == "pycubrid" and sys.version_info < (3, 11):
        pytest.skip("pycubrid needs Python 3.11")
    file = tmp_path / "out.prof"
    common = ["--url", cubrid.url, "--driver", driver, "--output", str(file), "--iterations", "3"]
    assert main(["profile", "connect", *common]) == 0
    assert functions(file)["connect"] == 3
    assert "cumulative" in capsys.readouterr().out
    assert main(["profile", "execute", *common]) == 0
    assert functions(file)["execute"] == 3 + 3 + 3 + 6
    assert main(["profile", "execute", *common, "--operation", "update"]) == 0
    assert functions(file)["execute"] == 3
    assert main(["profile", "fetch", *common, "--rows", "10", "--fetch-size", "4"]) == 0
    found = functions(file)
    assert (found["fetchone"], found["fetchall"], found["fetchmany"]) == (3 * 11, 3, 3 * 4)
    with headrace.connect(cubrid.url) as conn:
        tables = conn.schema_info("tables", "%headrace_profile%").fetchall()
        assert not tables, "the table is dropped"


def test_other_endings_are_flame_graphs(cubrid: headrace.testing.CubridServer, tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    where = ["--host", cubrid.host, "--port", str(cubrid.port), "--user", cubrid.user, "--dbname", cubrid.database]
    command = ["profile", "fetch", "--database", "cubrid", *where, "--sql", "select 1", "--iterations", "20"]
    assert main([*command, "--out", str(file)]) == 0
    assert "<html" in file.read_text()


def test_server_is_named_by_its_parts_or_by_a_url() -> None:
    def url(*words: str) -> str | None:
        return profile_options(parser().parse_args(["profile", "connect", *words])).url

    assert url("--database", "cubrid") is None
    assert url("--database", "cubrid", "--host", "db", "--dbname", "a b") == "cubrid://db/a%20b"
    assert url("--user", "me", "--password", "p@w", "--port", "1") == "postgresql://me:p%40w@localhost:1/"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--url", "cubrid://db/x", "--host", "db"], "--host does not go with --url"),
        (["--database", "oracle"], "unknown database 'oracle'"),
        (["--iterations", "0"], "--iterations must be at least 1"),
    ],
)
def test_a_wrong_command_line_is_told_so(arguments: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        profile_options(parser().parse_args(["profile", "connect", *arguments]))


def test_a_driver_of_another_database_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "connect", "--database", "cubrid", "--driver", "psycopg"]) == 2
    assert "the drivers are headrace and pycubrid" in capsys.readouterr().err
