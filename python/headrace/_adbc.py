"""``headrace adbc``: the manifest by which programs in any language find the ADBC driver by its name.

The driver is a distribution of its own, ``adbc-driver-headrace``. The form of a manifest is that of ADBC's
documentation, "Driver Manager and Manifests".
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__

NAME = "headrace"
ENTRY_POINT = "AdbcDriverHeadraceInit"


def user_folder() -> Path:
    """The user's folder of manifests."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()), "ADBC", "Drivers")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "ADBC" / "Drivers"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "adbc", "drivers")


def system_folder() -> Path:
    """The system's folder of manifests."""
    return Path("/Library/Application Support/ADBC/Drivers" if sys.platform == "darwin" else "/etc/adbc/drivers")


def platform_name() -> str:
    """The name that manifests have for this system and processor."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    processor = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    is_musl = system == "linux" and platform.libc_ver()[0] != "glibc"
    return f"{system}_{processor}" + ("_musl" if is_musl else "")


def manifest(library: str) -> str:
    """The text of the manifest for a library."""
    quoted = library.replace("\\", "\\\\").replace('"', '\\"')
    return f"""\
manifest_version = 1
name = "{NAME}"
version = "{__version__}"
publisher = "headrace"
license = "MIT OR Apache-2.0"
source = "https://github.com/headrace/headrace"

[ADBC]
version = "1.1.0"

[Driver]
entrypoint = "{ENTRY_POINT}"

[Driver.shared]
{platform_name()} = "{quoted}"
"""


def _library() -> str:
    """The path of the installed library; raises FileNotFoundError if there is none."""
    try:
        import adbc_driver_headrace
    except ModuleNotFoundError as error:
        raise FileNotFoundError(f"{error}: pip install adbc-driver-headrace") from None
    return str(adbc_driver_headrace.library_path())


def _file(arguments: argparse.Namespace) -> Path:
    if arguments.folder is not None:
        folder = Path(arguments.folder)
    else:
        folder = system_folder() if arguments.system else user_folder()
    return folder / f"{arguments.name}.toml"


def main(argv: Sequence[str]) -> int:
    """Writes, shows or removes the manifest; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="headrace adbc",
        description="The manifest by which driver managers (DuckDB, R, Go, Python) find the ADBC driver by its name.",
    )
    parser.add_argument("action", choices=("install", "uninstall", "status"))
    parser.add_argument("--system", action="store_true", help="in the folder of all users")
    parser.add_argument("--folder", help="in this folder, which ADBC_DRIVER_PATH has to name")
    parser.add_argument(
        "--name", default=NAME, help="the driver's name, such as the scheme of URIs (default: headrace)"
    )
    arguments = parser.parse_args(argv)
    file = _file(arguments)
    try:
        if arguments.action == "install":
            text = manifest(_library())
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"headrace: wrote {file}")
        elif arguments.action == "uninstall":
            file.unlink(missing_ok=True)
            print(f"headrace: there is no {file} any more")
        else:
            return _status(file)
    except OSError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 1
    return 0


def _status(file: Path) -> int:
    """Prints whether the manifest leads to the library that is installed; returns 0 if it does."""
    if not file.exists():
        print(f"headrace: not installed: there is no {file}")
        return 1
    is_current = file.read_text(encoding="utf-8") == manifest(_library())
    print(f"headrace: {file} {'is up to date' if is_current else 'is of another installation: install again'}")
    return 0 if is_current else 1
