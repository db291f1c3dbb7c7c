"""Settings that were checked before: to check them again would cost a quarter of a connection's time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any, Final

from .. import defaults
from .settings import ALIASES, ENVIRONMENT, ConnectOptions, connect_options, url_settings

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_SALT: Final = os.urandom(16)
_known: dict[bytes, ConnectOptions] = {}
"""By a digest of what was given, and without passwords: both would stay in memory as long as the process."""


def known_options(conninfo: str, keywords: Mapping[str, Any]) -> ConnectOptions:
    """:func:`connect_options` of this process's environment, remembered where nothing else was looked at than what is
    given here and the environment.

    Raises what that raises.
    """
    if not _PLAIN.issuperset(map(type, keywords.values())):
        return connect_options(conninfo, keywords)
    # In repr() the types are part of it: 1 and True are equal.
    given = repr((conninfo, *keywords.items(), tuple(map(os.environ.get, ENVIRONMENT))))
    key = hashlib.blake2b(given.encode(errors="surrogatepass"), key=_SALT).digest()
    options = _known.get(key)
    if options is not None:
        return options.with_password(_password(conninfo, keywords))
    options = connect_options(conninfo, keywords)
    if options.lasting and _password(conninfo, keywords) == options.password:
        if len(_known) >= defaults.KNOWN_SETTINGS:
            _known.clear()
        _known[key] = options.with_password(None)
    return options


def _password(conninfo: str, keywords: Mapping[str, Any]) -> str | None:
    """The password that is given, as far as one look finds it."""
    named = [value for name, value in keywords.items() if ALIASES.get(name, name) == "password" and value is not None]
    named += [value for name, value in url_settings(conninfo) if name == "password"] if conninfo else []
    named += [
        os.environ[name] for name, setting in ENVIRONMENT.items() if setting == "password" and os.environ.get(name)
    ]
    return named[0] if named else None
