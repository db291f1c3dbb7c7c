"""The tables of ``--durations-by-file``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
OPTIONS = """
from durations import Durations

def pytest_addoption(parser):
    parser.addoption("--durations-by-file", type=int)

def pytest_configure(config):
    config.pluginmanager.register(Durations(config.getoption("--durations-by-file")))
"""
FIXTURES = """
import time, pytest

@pytest.fixture(scope="module")
def server():
    time.sleep(0.2)
    yield
    time.sleep(0.1)

@pytest.fixture
def asking(request):
    request.getfixturevalue("server")
"""
FILES = {
    "test_one.py": "import time\ndef test_a(asking): time.sleep(0.3)\ndef test_b(asking): pass\n",
    "test_two.py": "def test_c(server): pass\n",
    "test_three.py": "def test_d(): pass\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("processes", [[], ["-p", "xdist", "-n", "2", "--dist", "loadfile"]], ids=["one", "several"])
def test_each_second_is_counted_once_by_file_and_by_fixture(tmp_path: Path, processes: list[str]) -> None:
    (tmp_path / "conftest.py").write_text(OPTIONS + FIXTURES)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *processes, "--durations-by-file=2"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    _, by_file, by_fixture, by_process = re.split(r"^=+ (?:durations|processes).*\n", done.stdout, flags=re.MULTILINE)

    rows = [line.split() for line in by_file.splitlines()[1:]]
    assert [(row[-1], int(row[-2])) for row in rows] == [("test_one.py", 2), ("test_two.py", 1)]
    for row, least in zip(rows, ((0.6, 0.2, 0.3, 0.1), (0.3, 0.2, 0.0, 0.1)), strict=True):
        assert all(float(seconds) >= low for seconds, low in zip(row, least, strict=False)), row

    found = {row[-1]: row for row in (line.split() for line in by_fixture.splitlines()[1:])}
    seconds = {name: [float(value) for value in row[:3]] for name, row in found.items()}
    assert [row[3:5] for row in found.values()] == [["2", "module"], ["2", "function"]]
    assert seconds["conftest.server"][1] >= 0.4
    assert seconds["conftest.server"][2] >= 0.2
    assert seconds["conftest.asking"][0] < 0.2, "what it has asked for has its own line"

    lines = [line for line in by_process.splitlines() if " of tests, ended after " in line]
    assert [line.partition(":")[0] for line in lines] == (["gw0", "gw1"] if processes else ["main"])
