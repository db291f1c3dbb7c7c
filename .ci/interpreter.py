"""Prints the path of an interpreter, which is fetched from Debian's suite sid if PATH has none:
``make test-wheel PYTHON=$(.venv/bin/python .ci/interpreter.py 3.15)``. Nothing of the system is changed. Needs what
``make build`` installs."""

from __future__ import annotations

import shutil
import sys

from headrace.testing import ServerUnavailable
from headrace_lab.debian import debian_package


def interpreter(version: str) -> str:
    """The path of ``python3.15`` for ``3.15``."""
    name = f"python{version}"
    found = shutil.which(name)
    if found:
        return found
    try:
        return str(debian_package("sid", name).program(name))
    except ServerUnavailable as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(interpreter(sys.argv[1]))
