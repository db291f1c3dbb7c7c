"""Programs in other languages: built by their own tools below ``build``, once for all runs.

`make test` installs the tools; where one is missing the test that needs it fails and names it.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from archives import alone
from headrace.testing import ServerUnavailable
from headrace_lab.daemon import golang

BUILD = Path(__file__).parents[1] / "build"
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that ends before compiling for speed, and threads of its collector, have paid."""


@functools.cache
def go_program(source: Path) -> Path:
    """The program of a Go module, built by the lab."""
    program = BUILD / source.name
    try:
        golang.build(source, program)
    except ServerUnavailable as error:
        pytest.fail(str(error))
    return program


@functools.cache
def java_command(project: Path) -> list[str]:
    """The command that runs a class of a Maven project, up to the name of the class."""
    if not (shutil.which("mvn") and shutil.which("javac")):
        pytest.fail(f"{project} needs Maven and a JDK of Java 17 or newer: apt-get install maven default-jdk-headless")
    classpath = project / "target" / "classpath"
    command = ["mvn", "-q", "-B", "compile", "dependency:build-classpath", f"-Dmdep.outputFile={classpath}"]
    with alone(project / "target" / "classes"):
        if not is_compiled(project):
            built = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
            if built.returncode:
                pytest.fail(f"Maven could not build {project}:\n{built.stdout}{built.stderr}")
            # Maven leaves a file alone that would not change.
            classpath.touch()
    return ["java", *SHORT_LIVED, "-cp", f"{project / 'target' / 'classes'}:{classpath.read_text().strip()}"]


def is_compiled(project: Path) -> bool:
    """Returns true if a Maven project was compiled since it was last changed, as `make programs` does: Maven takes
    seconds to find that out."""
    classpath = project / "target" / "classpath"
    if not classpath.exists():
        return False
    changed = max(file.stat().st_mtime for file in (project / "pom.xml", *(project / "src").rglob("*.java")))
    jars = classpath.read_text().strip().split(":")
    return changed < classpath.stat().st_mtime and all(Path(jar).exists() for jar in jars)


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


GO_PROGRAMS: dict[str, Callable[[], Path]] = {
    "pgx": golang.program,
    "goserver": lambda: go_program(Path(__file__).parent / "mysql" / "goserver"),
    "daemon-go": lambda: go_program(Path(__file__).parents[1] / "examples" / "daemon-go"),
}
"""Those that take a minute, which ``make programs`` builds before the tests."""

if __name__ == "__main__":
    GO_PROGRAMS[sys.argv[1]]()
