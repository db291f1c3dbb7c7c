"""Compiles the extension modules, without linking them, for the interpreters whose headers differ most from those of
the one in ``.venv``: ``python .ci/interpreters.py``. None of them is needed: PyO3 is told what they are by a file
(https://pyo3.rs, "Building and distribution", ``PYO3_CONFIG_FILE``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "target" / "interpreters"
"""A folder of their own: with another interpreter everything that depends on PyO3 is compiled again."""
CRATES: Final = ("headrace-python", "headrace-lab-python")
CONFIGURATION: Final = """\
implementation=CPython
version={version}
shared=true
abi3=false
pointer_width=64
suppress_build_script_link_lines=true
"""
FREE_THREADED: Final = "build_flags=Py_GIL_DISABLED\n"
INTERPRETERS: Final = {
    "3.10": CONFIGURATION.format(version="3.10"),
    "3.15": CONFIGURATION.format(version="3.15"),
    "3.14t": CONFIGURATION.format(version="3.14") + FREE_THREADED,
    "3.15t": CONFIGURATION.format(version="3.15") + FREE_THREADED,
}


def main() -> int:
    """The status of the first check that failed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    packages = [argument for crate in CRATES for argument in ("--package", crate)]
    for name, configuration in INTERPRETERS.items():
        print(f"==> interpreters: {name}", flush=True)
        file = FOLDER / f"{name}.txt"
        file.write_text(configuration)
        environment = os.environ | {"PYO3_CONFIG_FILE": str(file), "CARGO_TARGET_DIR": str(FOLDER)}
        environment.pop("PYO3_PYTHON", None)
        done = subprocess.run(["cargo", "check", "--quiet", *packages], cwd=ROOT, env=environment, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
