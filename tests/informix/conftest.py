"""A test server for each module, and IBM's JDBC driver as a program."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.testing import InformixServer, informix

PROJECT = Path(__file__).parent / "jdbc"
# Seconds. All cases together take a tenth of it.
JUDGE_TIMEOUT = 240

Judge = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def server() -> Iterator[InformixServer]:
    with informix() as started:
        yield started


@pytest.fixture(scope="session")
def judge_command() -> list[str]:
    """The command that runs the JDBC judge, compiled with Maven, which fetches IBM's driver."""
    if not (shutil.which("mvn") and shutil.which("javac")):
        pytest.fail(
            "the JDBC judge needs Maven and a JDK of Java 17 or newer: apt-get install maven default-jdk-headless"
        )
    classpath = PROJECT / "target" / "classpath"
    command = ["mvn", "-q", "-B", "compile", "dependency:build-classpath", f"-Dmdep.outputFile={classpath}"]
    built = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.fail(f"Maven could not build the JDBC judge in {PROJECT}:\n{built.stdout}{built.stderr}")
    return ["java", "-cp", f"{PROJECT / 'target' / 'classes'}:{classpath.read_text().strip()}"]


@pytest.fixture(scope="session")
def judge(judge_command: list[str]) -> Judge:
    """Runs cases against a URL, all of them if none is named; the result is the verdict for each."""

    def run(url: str, *cases: str, options: tuple[str, ...] = ()) -> dict[str, str]:
        command = [judge_command[0], *options, *judge_command[1:], "headrace.Judge", url, *cases]
        done = subprocess.run(command, capture_output=True, text=True, timeout=JUDGE_TIMEOUT, check=False)
        lines = [line.partition(" ") for line in done.stdout.splitlines()]
        found = {rest.partition(":")[0]: f"{first} {rest}" for first, _, rest in lines if first in ("ok", "FAIL")}
        assert found, done.stdout + done.stderr
        return found

    return run
