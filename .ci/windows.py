"""Checks from Linux what can be checked of Windows: ``python .ci/windows.py [--sockets-only]``.

Compiles the extension for x86_64-pc-windows-gnu without linking it, then builds the tests of the blocking link and
runs them in Wine. With ``--sockets-only`` it compiles only ``crates/io``, the crate that differs between systems, which
needs no Wine.

The standard library for the target comes from rustup. Where rustup does not offer it, Debian's suite sid has a compiler
and the source of its standard library, which are unpacked into the cache folder of the lab.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headrace.testing import ServerUnavailable
from headrace_lab.debian import Unpacked, debian_package

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "build" / "windows"
TARGET: Final = "x86_64-pc-windows-gnu"
RUSTUP_SECONDS: Final = 60
"""How long rustup may take to download a standard library of 30 MB; it retries for minutes where it has no network."""
PACKAGES: Final = ("rustc", "cargo", "rust-src")
NOT_NEEDED: Final = ("gcc*", "cpp*", "binutils*", "libc6-dev", "linux-libc-dev", "lib*san*", "libisl*", "libgcc-*-dev")
"""The system's own compiler and linker are used for what runs while the crates are built."""
PYTHON_VERSION: Final = "3.13"
"""The Python that the extension is compiled for. The import library of it is generated: none is installed."""
COMPILER: Final = {"x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64-win32"}
"""For the parts of TLS that are in C."""
NEEDED: Final = {**COMPILER, "patchelf": "patchelf"}
WINE_VERSION: Final = 10
"""The oldest Wine in which the tests pass: Wine 8 lacks options of sockets."""
NOT_NEEDED_BY_WINE: Final = ("[!lw]*", "lib[!cgwulz]*", "libg[!c]*", "libl*", "libu[!n]*", "libc[!6]*", "libcap*")
"""What it shows windows and plays sound with, which is most of what it depends on."""
RUNNER: Final = "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER"


def cargo() -> tuple[list[str], dict[str, str]]:
    """The command that is cargo, with its options for the target, and what it needs in the environment."""
    if rustup_has_the_target():
        return ["cargo"], {}
    print(
        f"==> windows: rustup does not offer {TARGET}; its standard library is built by Debian's compiler", flush=True
    )
    debian = unpacked(*PACKAGES, without=NOT_NEEDED)
    rustc = FOLDER / "rustc"
    # Started by the loader, the compiler does not find its libraries by its own path.
    rustc.write_text(f'#!/bin/sh\nexec "{debian.program("rustc")}" --sysroot "{debian.root / "usr"}" "$@"\n')
    rustc.chmod(0o755)
    own = {"RUSTC": str(rustc), "CARGO": str(debian.program("cargo")), "RUSTC_BOOTSTRAP": "1"}
    return [own["CARGO"], "-Zbuild-std=std,panic_unwind,test"], own


def rustup_has_the_target() -> bool:
    """Whether rustup has the standard library, or could download it."""
    if not shutil.which("rustup"):
        return False
    installed = subprocess.run(["rustup", "target", "list", "--installed"], capture_output=True, text=True, check=False)
    if TARGET in installed.stdout.split():
        return True
    try:
        done = subprocess.run(
            ["rustup", "target", "add", TARGET], capture_output=True, check=False, timeout=RUSTUP_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def wine() -> dict[str, str]:
    """The environment in which cargo runs programs for Windows in Wine."""
    own = {"WINEPREFIX": str(FOLDER / "prefix"), "WINEDEBUG": "-all", "WINEPATH": ""}
    for program in filter(None, map(shutil.which, ("wine64", "/usr/lib/wine/wine64", "wine"))):
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        if (found := re.match(r"wine-(\d+)", version)) and int(found[1]) >= WINE_VERSION:
            return {**own, RUNNER: program}
    print(f"==> windows: no Wine {WINE_VERSION} in PATH; Debian's of the suite sid is used", flush=True)
    root = unpacked("wine64", without=NOT_NEEDED_BY_WINE).root
    programs = root / "usr" / "lib" / "x86_64-linux-gnu" / "wine"
    # Wine starts itself again and again, which a script that calls the loader of the suite would not survive.
    loader, libraries = root / "usr" / "lib64" / "ld-linux-x86-64.so.2", root / "usr" / "lib" / "x86_64-linux-gnu"
    for name in ("wine", "wineserver"):
        options = ["--set-interpreter", str(loader), "--force-rpath", "--set-rpath", str(libraries)]
        run(["patchelf", *options, str(programs / name)], {})
    return {
        **own,
        RUNNER: str(programs / "wine"),
        "WINELOADER": str(programs / "wine"),
        "WINESERVER": str(programs / "wineserver"),
        # Debian's Wine is linked with a zlib of its own.
        "WINEPATH": str(root / "usr" / "x86_64-w64-mingw32" / "lib"),
    }


def unpacked(*packages: str, without: tuple[str, ...]) -> Unpacked:
    """Packages of Debian's suite sid."""
    try:
        return debian_package("sid", *packages, without=without)
    except ServerUnavailable as error:
        raise SystemExit(f"error: {error}") from None


def run(command: list[str], environment: Mapping[str, str]) -> None:
    """Runs a command, and ends with its status where it fails."""
    own = {name: value for name, value in os.environ.items() if name not in ("PYO3_PYTHON", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=ROOT, env={**own, **environment}, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def main(arguments: list[str]) -> None:
    """Checks, and ends with an error where a check fails."""
    if arguments not in ([], ["--sockets-only"]):
        raise SystemExit(__doc__)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for tool, package in (COMPILER if arguments else NEEDED).items():
        if not shutil.which(tool):
            raise SystemExit(f"error: {tool} is missing; on Debian: apt-get install {package}")
    in_wine = wine() if not arguments else {}
    (program, *options), environment = cargo()
    # By itself, as a compiler of another version would build all of target/ again.
    environment["CARGO_TARGET_DIR"] = str(ROOT / "target" / "windows")
    common = ["--quiet", "--locked", *options, "--target", TARGET]
    print(f"==> windows: crates/io compiles for {TARGET}", flush=True)
    run([program, "check", *common, "--package", "headrace-io", "--features", "tokio"], environment)
    if arguments:
        return
    print(f"==> windows: the extension compiles for {TARGET}", flush=True)
    features = ["--features", "pyo3/extension-module,pyo3/generate-import-lib"]
    cross = {"PYO3_CROSS": "1", "PYO3_CROSS_PYTHON_VERSION": PYTHON_VERSION}
    run([program, "check", *common, "--package", "headrace-python", *features], {**environment, **cross})
    print("==> windows: the tests of the link, in Wine", flush=True)
    run([program, "test", *common, "--package", "headrace-io", "--test", "link"], {**environment, **in_wine})


if __name__ == "__main__":
    main(sys.argv[1:])
