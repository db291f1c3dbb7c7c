"""The command ``headrace`` before its arguments are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace._command import main


def test_a_test_server_needs_nothing_of_the_lab(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['headrace_lab'] = None"
    script = f"{blocked}; from headrace._command import main; main(['simulate', 'informix'])"
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\necho started\n")
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"HEADRACE_SIMULATE_INFORMIX": str(program)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "started\n"


@pytest.mark.parametrize("missing", ["headrace_lab", "numpy"])
@pytest.mark.parametrize("words", ["--help", "race", "race --full", "profile fetch --url x", "iibench", ""])
def test_without_the_lab_it_says_what_to_install(words: str, missing: str) -> None:
    blocked = f"import sys; sys.modules[{missing!r}] = None; from headrace._command import main"
    script = f"{blocked}; sys.exit(main({words.split()}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    what = "need the lab" if missing == "headrace_lab" else f"dependency {missing}"
    assert f"{what}, which is not installed: pip install headrace-lab" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if words == "--help" else 2)


@pytest.mark.parametrize("missing", ["nothing", "headrace_lab"])
def test_the_version_needs_nothing_of_the_lab(missing: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; from headrace._command import main; main(['--version'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"headrace {headrace.__version__}\n"


def test_only_databases_that_have_a_test_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "oracle"]) == 2
    assert "informix" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADRACE_SIMULATE_INFORMIX", "/nowhere/at/all")
    assert main(["simulate", "informix"]) == 1
    assert "/nowhere/at/all" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["race --full", "iibench", "profile fetch"])
def test_a_build_without_optimisation_is_not_measured_without_a_warning(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("headrace_lab.cli.main", lambda arguments: 0)
    for optimised in (False, True):
        monkeypatch.setattr("headrace._native.is_optimised", lambda optimised=optimised: optimised)
        assert main(words.split()) == 0
        assert ("warning: headrace was built without optimisation" in capsys.readouterr().err) is not optimised


@pytest.mark.parametrize("words", ["race --help", "report results.json"])
def test_commands_that_measure_nothing_do_not_warn(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("headrace_lab.cli.main", lambda arguments: 0)
    monkeypatch.setattr("headrace._native.is_optimised", lambda: False)
    assert main(words.split()) == 0
    assert capsys.readouterr().err == ""
