"""The project's own test servers: where their programs are, and how they are started."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Generator, Sequence
from pathlib import Path

from ..defaults import SIMULATOR_START_TIMEOUT
from ._supervised import ServerUnavailable

NAMES = {"cubrid": "CUBRID", "informix": "Informix"}
"""Databases that there is a test server for."""
PROFILE = "HEADRACE_PROGRAMS"
"""Environment variable that, as ``debug``, replaces optimised programs of a checkout by those of the development build:
tests need no second one of each."""


def find_binary(database: str, *, release: bool = False) -> Path:
    """A server's program: named by ``HEADRACE_SIMULATE_…``, built from the checkout, or installed.

    Args:
        database: ``cubrid`` or ``informix``.
        release: from a checkout, build it with optimisation, unless ``HEADRACE_PROGRAMS`` is ``debug``.

    Raises:
        ServerUnavailable: none is installed and this is not a checkout with cargo, or it could not be built.
    """
    binary, package = f"headrace-simulate-{database}", f"headrace-simulator-{database}"
    variable = f"HEADRACE_SIMULATE_{database.upper()}"
    named = os.environ.get(variable)
    if named:
        return Path(named)
    root = Path(__file__).resolve().parents[3]
    if (root / "simulators" / database / "Cargo.toml").is_file() and shutil.which("cargo"):
        return _build(root, database, release and os.environ.get(PROFILE) != "debug")
    found = shutil.which(binary) or shutil.which(binary, path=sysconfig.get_path("scripts"))
    if found:
        return Path(found)
    raise ServerUnavailable(
        f"{binary} is not in the PATH, and this is not a checkout with cargo to build it from; install it with "
        f"`pip install {package}`, or set {variable} to the program"
    )


@functools.cache
def _build(root: Path, database: str, release: bool) -> Path:
    package = f"headrace-simulator-{database}"
    command = ["cargo", "build", "--quiet", "--package", package, *(["--release"] if release else [])]
    if subprocess.run(command, cwd=root, check=False).returncode:
        shown = " ".join(command)
        raise ServerUnavailable(f"the {NAMES[database]} test server could not be built: {shown} failed in {root}")
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    return target / ("release" if release else "debug") / f"headrace-simulate-{database}"


@contextlib.contextmanager
def started(
    database: str, options: Sequence[str], *, tls: bool, optimized: bool
) -> Generator[tuple[int, dict[str, str]], None, None]:
    """Runs a server as long as the block does.

    Args:
        database: ``cubrid`` or ``informix``.
        options: the server's own options.
        tls: open a second port that speaks TLS.
        optimized: build with optimisation.

    Returns:
        A context manager; its value is the number of the process and what it printed: ``port``, and with TLS
        ``authority`` and ``tls-port``.
    """
    command = [str(find_binary(database, release=optimized)), "--port", "0", "--until-stdin-ends", *options]
    if tls:
        command += ["--tls-port", "0"]
    with tempfile.TemporaryDirectory(prefix=f"headrace-{database}-") as folder:
        process = subprocess.Popen(
            [*command, "--data", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                process.kill()
                process.communicate()

        # A block that is never left is ended while threads can still be waited for, one of which reads a pipe.
        atexit.register(end)
        try:
            yield process.pid, _said(database, process, ["port", "authority", "tls-port"] if tls else ["port"])
        finally:
            atexit.unregister(end)
            end()


def _said(database: str, process: subprocess.Popen[bytes], names: Sequence[str]) -> dict[str, str]:
    """Waits for the lines that name what a client needs, in their order."""
    assert process.stdout is not None
    assert process.stderr is not None
    watchdog = threading.Timer(SIMULATOR_START_TIMEOUT, process.kill)
    watchdog.start()
    said: dict[str, str] = {}
    try:
        for name in names:
            found, _, value = process.stdout.readline().decode().strip().partition(" ")
            if found != name:
                process.kill()
                problem = process.stderr.read().decode(errors="replace").strip() or "it printed nothing"
                raise ServerUnavailable(f"the {NAMES[database]} test server did not start: {problem}")
            said[name] = value
    finally:
        watchdog.cancel()
    # What it prints later is not read otherwise, and a full pipe would stop it.
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return said
