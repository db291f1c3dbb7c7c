"""Settings that were checked before: to check them anew would cost a quarter of a connection's time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from .. import defaults
from .settings import ENVIRONMENT, ConnectOptions, connect_options

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_known: dict[Any, ConnectOptions] = {}


def known_options(conninfo: str, keywords: Mapping[str, Any]) -> ConnectOptions:
    """:func:`connect_options` of this process's environment, remembered where nothing else was looked at than what is
    given here and the environment.

    Raises what that raises.
    """
    types = tuple(map(type, keywords.values()))
    if not _PLAIN.issuperset(types):
        return connect_options(conninfo, keywords)
    # The types are part of it, as 1 and True are equal.
    key = (conninfo, *keywords.items(), types, tuple(map(os.environ.get, ENVIRONMENT)))
    options = _known.get(key)
    if options is None:
        options = connect_options(conninfo, keywords)
        if options.lasting:
            if len(_known) >= defaults.KNOWN_SETTINGS:
                _known.clear()
            _known[key] = options
    return options
