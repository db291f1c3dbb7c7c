"""The command ``headrace``: its first word decides what is imported. The lab is a distribution of its own,
which only the commands that need it import."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from . import __version__, _native

SERVERS = ("cubrid", "informix")
"""Databases that there is a test server for."""
MEASURING = ("race", "iibench", "profile")
"""Commands whose figures are valid only for an optimised build."""


def simulate(arguments: Sequence[str]) -> int:
    """Becomes a test server: ``headrace simulate informix --port 9088``; further options are the server's own."""
    from .testing import ServerUnavailable
    from .testing._programs import find_binary

    if not arguments or arguments[0] not in SERVERS:
        print(f"usage: headrace simulate {{{','.join(SERVERS)}}} [options of the server]", file=sys.stderr)
        return 2
    program = "the test server"
    try:
        program = str(find_binary(arguments[0], release=True))
        os.execv(program, [program, *arguments[1:]])
    except (OSError, ServerUnavailable) as error:
        print(f"headrace: {program}: {error}", file=sys.stderr)
        return 1


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["simulate"]:
        return simulate(arguments[1:])
    if arguments[:1] == ["daemon"]:
        from ._daemon import main as daemon

        return daemon(arguments[1:])
    if arguments[:1] == ["adbc"]:
        from ._adbc import main as adbc

        return adbc(arguments[1:])
    if arguments == ["--version"]:
        print(f"headrace {__version__}")
        return 0
    try:
        from headrace_lab.cli import main as lab
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "headrace":
            raise
        if not arguments or {"-h", "--help"} & {*arguments}:
            print("usage: headrace daemon {start,status,show,top,stop,reload,pause,resume,reconnect,kill}")
            print(f"       headrace simulate {{{','.join(SERVERS)}}} [options of the server]")
            print("       headrace adbc {install,uninstall,status} [options]")
        what = "the lab" if missing == "headrace_lab" else f"the lab with its dependency {missing}"
        print(
            f"headrace: race, iibench, report and profile need {what}, which is not installed: "
            "pip install headrace-lab",
            file=sys.stderr,
        )
        return 0 if {"-h", "--help"} & {*arguments} else 2
    if {"-h", "--help"}.isdisjoint(arguments) and {*arguments[:1]} & {*MEASURING} and not _native.is_optimised():
        print(
            "headrace: warning: headrace was built without optimisation, and is many times slower than a release: "
            "`make build` or `maturin develop --release` builds it with optimisation",
            file=sys.stderr,
        )
    return lab(arguments)


if __name__ == "__main__":
    sys.exit(main())
