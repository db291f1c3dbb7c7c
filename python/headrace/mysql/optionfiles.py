"""Option files and the login path file ("Using Option Files" and "mysql_config_editor" in MySQL's manual)."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from .. import defaults
from .._native import decrypt_login_file
from ..errors import ProgrammingError

_DEEPEST: Final = 10
"""Files that may include one another."""
_ESCAPES: Final = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " "}
_SWITCHES: Final = {"skip_": "0", "disable_": "0", "enable_": "1"}


class Option(NamedTuple):
    """A line of an option file: its name with underscores, its value (None where there is no equals sign)."""

    name: str
    value: str | None
    group: str
    where: str
    """File and line, for errors."""


def read_options(
    file: str | None, groups: Sequence[str], environ: Mapping[str, str], home: Path | None
) -> list[Option]:
    """The options of these groups, in the order of the files: of several of one option the last counts.

    ``file`` is the only one to read; without it they are :data:`headrace.defaults.MYSQL_OPTION_FILES`.

    Raises ProgrammingError where ``file`` is not there, or a file cannot be read as one.
    """
    wanted = {*groups, *(group + environ.get("MYSQL_GROUP_SUFFIX", "") for group in groups)}
    if file is not None:
        path = _expanded(file, home)
        if path is None or not path.is_file():
            raise ProgrammingError(f"the option file {file} does not exist")
        return [option for option in _read(path, home, 0) if option.group in wanted]
    found: list[Option] = []
    for name in defaults.MYSQL_OPTION_FILES:
        path = _expanded(name, home)
        if path is not None and path.is_file():
            found += [option for option in _read(path, home, 0) if option.group in wanted]
    return found


def read_login_path(name: str, environ: Mapping[str, str], home: Path | None) -> list[Option]:
    """The options of a login path, after those of the path ``client``.

    Raises ProgrammingError where there is none of this name.
    """
    path = _expanded(environ.get("MYSQL_TEST_LOGIN_FILE") or defaults.MYSQL_LOGIN_FILE, home)
    if path is None or not path.is_file():
        raise ProgrammingError(f"login_path={name!r}: the file {path or defaults.MYSQL_LOGIN_FILE} does not exist")
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ProgrammingError(f"login_path={name!r}: others can read {path}; set its permissions to 0600")
    text = decrypt_login_file(path.read_bytes()).decode("utf-8", "surrogateescape")
    options = list(_parse(text, path, None, 0))
    found = [option for option in options if option.group == name]
    if not found:
        raise ProgrammingError(f"login_path={name!r} is not in {path}")
    return [option for option in options if option.group == "client" != name] + found


def _expanded(name: str, home: Path | None) -> Path | None:
    if not name.startswith("~/"):
        return Path(name)
    return None if home is None else home / name[2:]


def _read(path: Path, home: Path | None, depth: int) -> Iterator[Option]:
    if depth > _DEEPEST:
        raise ProgrammingError(f"the option file {path}: more than {_DEEPEST} files include one another")
    try:
        if os.name == "posix" and path.stat().st_mode & stat.S_IWOTH:
            warnings.warn(f"the option file {path} is ignored because anyone can write to it", stacklevel=2)
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProgrammingError(f"the option file {path} cannot be read: {error}") from None
    yield from _parse(text, path, home, depth)


def _parse(text: str, path: Path, home: Path | None, depth: int) -> Iterator[Option]:
    group = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line, where = raw.strip(), f"{path}, line {number}"
        if not line or line[0] in "#;":
            continue
        if line.startswith("!"):
            for included in _included(line, where, home):
                yield from _read(included, home, depth + 1)
        elif line.startswith("["):
            group, bracket, _ = line[1:].partition("]")
            if not bracket:
                raise ProgrammingError(f"{where}: a group is written [name]")
        elif not group:
            raise ProgrammingError(f"{where}: an option is before the first group")
        else:
            yield _option(line, group, where)


def _included(line: str, where: str, home: Path | None) -> list[Path]:
    directive, _, rest = line.partition(" ")
    target = _expanded(rest.strip(), home)
    if target is not None and directive == "!include":
        return [target] if target.is_file() else []
    if target is not None and directive == "!includedir":
        return sorted(target.glob("*.cnf"))
    raise ProgrammingError(f"{where}: {directive} is neither !include nor !includedir")


def _option(line: str, group: str, where: str) -> Option:
    name, equals, value = _without_comment(line).partition("=")
    name = name.strip().lower().replace("-", "_").removeprefix("loose_")
    for prefix, switch in _SWITCHES.items():
        if name.startswith(prefix):
            return Option(name.removeprefix(prefix), switch, group, where)
    return Option(name, _unquoted(value.strip()) if equals else None, group, where)


def _without_comment(line: str) -> str:
    quote, escaped = "", False
    for i, character in enumerate(line):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        elif not quote and character == "#":
            return line[:i].rstrip()
    return line


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    out, i = "", 0
    while i < len(value):
        if value[i] == "\\" and value[i + 1 : i + 2] in _ESCAPES and i + 1 < len(value):
            out += _ESCAPES[value[i + 1]]
            i += 2
        else:
            out += value[i]
            i += 1
    return out
