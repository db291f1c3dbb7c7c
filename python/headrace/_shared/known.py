"""Settings that were checked before: to check them again would cost a quarter of a connection's time."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, unquote

from .. import defaults
from .arguments import checked_text

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_SALT: Final = os.urandom(16)

Self = TypeVar("Self", bound="ReusableOptions")


@dataclass(frozen=True, kw_only=True)
class ReusableOptions:
    """Checked settings of a connection that the next connection with the same ones can begin with."""

    password: str | Callable[[], Any] | None = field(default=None, repr=False)
    lasting: bool = False
    """Nothing of it was read from a file, or looked for on this machine."""

    @cached_property
    def host_independent(self) -> Any:
        """What the engine is given whatever the address and the password are."""
        raise NotImplementedError

    def with_password(self: Self, password: str | None) -> Self:
        """These settings with another password. Nothing is checked or put together again, as
        :func:`dataclasses.replace` would: that was 30 % of the client's instructions of a connection."""
        copy: Self = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, host_independent=self.host_independent, password=password)
        return copy


Options = TypeVar("Options", bound=ReusableOptions)
_Place = Callable[[str, Mapping[str, Any]], "str | None"]


class Variables:
    """Variables of the environment, most of which are not set.

    ``os.environ`` goes through its variables in Python, and raises two errors for one that is not set: either was a
    quarter of the client's instructions of a connection. So CPython's dict under it is looked at, if it is as it was
    when this was written.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._environ: Any = os.environ
        self._keys: dict[Any, str] | None = None
        with contextlib.suppress(AttributeError, TypeError):
            environ: Any = os.environ
            keys = {environ.encodekey(name): name for name in self._names}
            if [environ.decodekey(key) for key in environ._data] == list(environ):
                self._keys = keys

    def set_now(self) -> list[tuple[str, str]]:
        """Those of them that are set, with their values, in the order of their names."""
        environ: Any = os.environ
        if self._keys is not None and environ is self._environ:
            # Either goes through the smaller of the two.
            if self._keys.keys().isdisjoint(environ._data.keys()):
                return []
            found: Iterable[str] = [self._keys[key] for key in environ._data.keys() & self._keys.keys()]
        else:
            found = self._names.intersection(environ)
        return [(name, value) for name in sorted(found) if (value := environ.get(name)) is not None]


class KnownSettings(Generic[Options]):
    """The settings that connections of this process were made with, by a digest of what was given, and without
    passwords: both would stay in memory as long as the process."""

    def __init__(self, read: Callable[[str, dict[str, Any]], Options], environment: Iterable[str]) -> None:
        """
        Args:
            read: checks what is given, and reads the rest.
            environment: the variables that ``read`` looks at.
        """
        self._read = read
        self.environment = Variables(environment)
        """Those variables."""
        self._known: dict[bytes, tuple[Options, _Place]] = {}

    def options(self, conninfo: str, keywords: dict[str, Any]) -> Options:
        """What ``read`` returns, remembered where nothing else was looked at than what is given and the environment.

        Raises what that raises.
        """
        checked_text(conninfo, "conninfo")
        if not _PLAIN.issuperset(map(type, keywords.values())):
            return self._read(conninfo, keywords)
        variables = self.environment.set_now()
        # In repr() the types are part of it: 1 and True are equal.
        given = repr((conninfo, *keywords.items(), variables))
        key = hashlib.blake2b(given.encode(errors="surrogatepass"), key=_SALT).digest()
        if (found := self._known.get(key)) is not None:
            known, password = found
            return known.with_password(password(conninfo, keywords))
        options = self._read(conninfo, keywords)
        place = _place(options.password, conninfo, keywords, variables) if options.lasting else None
        if place is not None:
            if len(self._known) >= defaults.KNOWN_SETTINGS:
                self._known.clear()
            self._known[key] = (options.with_password(None), place)
        return options


def _place(
    password: Any, conninfo: str, keywords: Mapping[str, Any], variables: Iterable[tuple[str, str]]
) -> _Place | None:
    """Where a password stands in what was given; None where it does not.

    Whatever else the text there may be, it is the password whenever the same is given again.
    """
    if password is None:
        return lambda conninfo, keywords: None
    for name, value in keywords.items():
        if value == password:
            return lambda conninfo, keywords: keywords[name]
    for name, value in variables:
        if value == password:
            return lambda conninfo, keywords: os.environ[name]
    if isinstance(password, str):
        for text, decoded in ((password, False), (quote(password, safe=""), True)):
            if (start := conninfo.find(text)) >= 0:
                where = slice(start, start + len(text))
                return lambda conninfo, keywords: unquote(conninfo[where]) if decoded else conninfo[where]
    return None
