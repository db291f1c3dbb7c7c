"""Option files, as MySQL's own programs read them (MySQL manual, "Using Option Files").

Groups in brackets, ``name=value`` or ``name`` alone, ``#`` and ``;`` comments, quotes, escapes, ``!include`` and
``!includedir``. Dashes and underscores in names are the same. What a driver has no use for is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..errors import ProgrammingError

DEFAULT_FILES: Final = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
"""What is read when a group is named and no file is; a later one wins."""
GROUP: Final = "client"
"""The group that every client reads."""
DEPTH: Final = 10
"""How deep files may include each other."""
_NAMES: Final = {
    "host": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "socket": "socket",
    "database": "database",
    "ssl_ca": "ssl_ca",
    "ssl_cert": "ssl_cert",
    "ssl_key": "ssl_key",
    "ssl_mode": "ssl_mode",
    "connect_timeout": "connect_timeout",
    "init_command": "init_command",
    "local_infile": "local_infile",
}
_ESCAPES: Final = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " "}


def read_options(files: Sequence[str | Path], groups: Sequence[str], must_exist: bool) -> dict[str, Any]:
    """The settings in the groups of the files; a later group and a later file win.

    Raises ProgrammingError for a file that cannot be read although it was named, or that is malformed.
    """
    wanted = {group.lower() for group in groups}
    found: dict[str, Any] = {}
    for name in files:
        path = Path(name).expanduser()
        if not must_exist and not path.exists():
            continue
        for group, option, value in _lines(path, 0):
            setting = _NAMES.get(option)
            if group in wanted and setting is not None:
                found[setting] = value
    return found


def _lines(path: Path, depth: int) -> Iterator[tuple[str, str, str]]:
    if depth > DEPTH:
        raise ProgrammingError(f"option file {path}: files include each other more than {DEPTH} deep")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProgrammingError(f"option file {path} cannot be read: {error}") from None
    group = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("!"):
            word, _, name = line.partition(" ")
            yield from _included(word, Path(name.strip()), path, number, depth)
        elif line.startswith("["):
            if not line.endswith("]"):
                raise ProgrammingError(f"option file {path}, line {number}: the group has no closing bracket")
            group = line[1:-1].strip().lower()
        else:
            name, equals, value = line.partition("=")
            yield group, name.strip().lower().replace("-", "_"), _value(value) if equals else "1"


def _included(word: str, target: Path, path: Path, number: int, depth: int) -> Iterator[tuple[str, str, str]]:
    if word == "!include":
        yield from _lines(target, depth + 1)
    elif word == "!includedir":
        for file in sorted(target.glob("*.cnf")):
            yield from _lines(file, depth + 1)
    else:
        raise ProgrammingError(f"option file {path}, line {number}: {word} is neither !include nor !includedir")


def _value(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    else:
        # A comment may stand behind a value.
        text = text.partition(" #")[0].rstrip()
    out: list[str] = []
    letters = iter(text)
    for letter in letters:
        if letter != "\\":
            out.append(letter)
            continue
        after = next(letters, "")
        out.append(_ESCAPES.get(after, "\\" + after))
    return "".join(out)
