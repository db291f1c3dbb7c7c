"""The sqlhosts file: which host and port a server has, and which servers make up a group.

Its lines are ``dbservername nettype hostname servicename [options]``. What is read here is what a client needs; the
file's format is described in IBM's Administrator's Guide, "The sqlhosts information".
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..errors import NotSupportedError, OperationalError, ProgrammingError

_PLAIN: Final = frozenset(("onsoctcp", "olsoctcp", "ontlitcp", "oltlitcp", "sesoctcp", "setlitcp"))
_TLS: Final = frozenset(("onsocssl", "olsocssl"))


@dataclass(frozen=True)
class Entry:
    """One line."""

    server: str
    nettype: str
    host: str
    service: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Listener:
    """Where one server listens."""

    host: str
    port: int
    server: str
    tls: bool


def path(environment: Mapping[str, str]) -> Path | None:
    """The file that the environment names: INFORMIXSQLHOSTS, or ``etc/sqlhosts`` below INFORMIXDIR."""
    named = environment.get("INFORMIXSQLHOSTS")
    if named:
        return Path(named)
    folder = environment.get("INFORMIXDIR")
    return Path(folder) / "etc" / "sqlhosts" if folder else None


def parse(text: str) -> list[Entry]:
    """The entries of a file.

    >>> parse("ol_main onsoctcp db.example 9088 k=1,g=g_main")[0].options["g"]
    'g_main'
    """
    entries: list[Entry] = []
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        if len(fields) < 4:
            continue
        options: dict[str, str] = {}
        for option in _split("".join(fields[4:])):
            name, _, value = option.partition("=")
            options[name.strip()] = value.strip()
        entries.append(Entry(fields[0], fields[1].lower(), fields[2].lstrip("*"), fields[3], options))
    return entries


def _split(text: str) -> list[str]:
    """At commas that stand outside of parentheses."""
    parts: list[str] = []
    depth = start = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part for part in [*parts, text[start:]] if part]


def targets(file: Path, server: str) -> list[Listener]:
    """Where ``server`` listens, or where the members of the group of this name do, in the order of the file.

    Raises OperationalError when the file cannot be read, ProgrammingError when it does not have the server, and
    NotSupportedError for a way to connect that is none over TCP.
    """
    try:
        entries = parse(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise OperationalError(f"the sqlhosts file cannot be read: {error}") from None
    found = [entry for entry in entries if entry.server == server]
    if not found:
        raise ProgrammingError(f"the server {server!r} is not in {file}")
    if found[0].nettype != "group":
        return [_target(found[0])]
    # A group's own line may name its last member; everything between belongs to it as well.
    members = [entry for entry in entries if entry.options.get("g") == server]
    end = found[0].options.get("e")
    if end and not members:
        first = entries.index(found[0]) + 1
        last = next((at for at, entry in enumerate(entries) if entry.server == end), None)
        if last is not None:
            members = entries[first : last + 1]
    if not members:
        raise ProgrammingError(f"the group {server!r} in {file} has no members")
    usable = [_target(member) for member in members if member.nettype in _PLAIN | _TLS]
    return usable or [_target(members[0])]


def _target(entry: Entry) -> Listener:
    if entry.nettype not in _PLAIN | _TLS:
        raise NotSupportedError(
            f"the server {entry.server!r} is reached by {entry.nettype!r}, and headrace speaks onsoctcp and onsocssl"
        )
    if "csm" in entry.options:
        raise NotSupportedError(
            f"the server {entry.server!r} requires a communication support module (csm={entry.options['csm']}), whose"
            " protocol is not public; use a TLS listener (onsocssl)"
        )
    try:
        port = int(entry.service) if entry.service.isdigit() else socket.getservbyname(entry.service, "tcp")
    except OSError:
        raise ProgrammingError(f"the service {entry.service!r} of server {entry.server!r} is unknown") from None
    return Listener(entry.host, port, entry.server, entry.nettype in _TLS)


def from_environment(server: str) -> list[Listener] | None:
    """The targets of ``server`` where the environment has a sqlhosts file with it, None otherwise."""
    file = path(os.environ)
    if file is None or not file.is_file():
        return None
    return targets(file, server)
