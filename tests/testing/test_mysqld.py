"""The launchers of MySQL and MariaDB."""

from __future__ import annotations

import contextlib
import subprocess
from typing import Any

import pytest

from headrace.testing import ServerUnavailable, mariadb
from headrace_lab.mysql import start_mysql


@pytest.mark.parametrize("start", [mariadb, start_mysql])
def test_an_installer_has_its_temporary_tables_to_itself(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **keywords: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "not run")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ServerUnavailable, match="not run"), contextlib.ExitStack() as stack:
        stack.enter_context(start())
    assert any(option.startswith("--tmpdir=") and "headrace-my-" in option for option in commands[-1])
