"""TLS modes with MySQL's meaning, however the keywords spell them ("Command Options for Encrypted Connections" in
MySQL's manual; "Secure Connections" in MariaDB's)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from .._shared.settings import Settings
from ..errors import NotSupportedError, ProgrammingError

SSL_MODES: Final = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
TLS_KEYWORDS: Final = (
    *("ssl", "ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "ssl_disabled", "ssl_verify_cert", "ssl_verify_identity"),
    *("ssl_verify_server_cert", "tls_version"),
)
_LIKE_LIBPQ: Final = {
    "disable": "DISABLED",
    "allow": "PREFERRED",
    "prefer": "PREFERRED",
    "require": "REQUIRED",
    "verify-ca": "VERIFY_CA",
    "verify-full": "VERIFY_IDENTITY",
}
"""libpq's names of the modes."""
_VERIFY: Final = {"VERIFY_CA": "ca", "VERIFY_IDENTITY": "full"}
_UNVERIFIED: Final = "ssl={'verify_mode': ...}"
_VERSIONS: Final = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")


@dataclass(frozen=True, kw_only=True)
class Tls:
    """What was asked for."""

    mode: str = "PREFERRED"
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    by_password: bool = False
    """The certificate may also be verified through the password: MariaDB's zero-configuration TLS."""
    only_tls13: bool = False

    def wire_options(self, *, local: bool) -> dict[str, Any]:
        """The options of the engine. A Unix socket (``local``) is encrypted only where that was insisted on."""
        mode = "DISABLED" if local and self.mode == "PREFERRED" else self.mode
        return {
            "tls": {"DISABLED": "no", "PREFERRED": "prefer"}.get(mode, "require"),
            "verify": "note" if self.by_password else _VERIFY.get(mode, "none"),
            "certificate_by_password": self.by_password,
            "sslrootcert": self.ca,
            "sslcert": self.cert,
            "sslkey": self.key,
            "only_tls13": self.only_tls13,
        }


def tls_options(settings: Settings) -> Tls:
    """The settings of TLS. Keywords that contradict each other are refused: none of them is silently the weaker one.

    Raises ProgrammingError, NotSupportedError for an SSLContext.
    """
    files = {name: settings.text(f"ssl_{name}") for name in ("ca", "cert", "key")}
    mode = _explicit(settings)
    asked = _ssl(settings, files)
    if settings.boolean("ssl_disabled", False):
        asked.append(("ssl_disabled", "DISABLED"))
    elif "ssl_disabled" in settings.values:
        asked.append(("ssl_disabled", "PREFERRED"))
    if settings.boolean("ssl_verify_cert", False):
        asked.append(("ssl_verify_cert", "VERIFY_CA"))
    if settings.boolean("ssl_verify_identity", False):
        asked.append(("ssl_verify_identity", "VERIFY_IDENTITY"))
    server_cert = settings.boolean("ssl_verify_server_cert", False)
    if server_cert:
        asked.append(("ssl_verify_server_cert", "VERIFY_IDENTITY"))
    strongest = max((other for _, other in asked), key=SSL_MODES.index, default=None)
    for name, other in asked:
        if mode is not None and (other == "DISABLED") != (mode == "DISABLED") and other != "PREFERRED":
            raise ProgrammingError(f"ssl_mode={mode}{settings.origin('ssl_mode')} contradicts {name}")
        if other == "DISABLED" and strongest != "DISABLED":
            raise ProgrammingError(f"{name} contradicts {', '.join(n for n, o in asked if o != 'DISABLED')}")
    given = mode
    mode = max(filter(None, (mode, strongest)), key=SSL_MODES.index, default="PREFERRED")
    unverified = (_UNVERIFIED, "REQUIRED") in asked or settings.values.get("ssl_verify_cert") is False
    if files["ca"] is not None and mode in ("PREFERRED", "REQUIRED"):
        if given is None and not unverified:
            mode = "VERIFY_CA"
        elif given is not None:
            warnings.warn(f"ssl_ca is not used: ssl_mode={mode} verifies no certificate", stacklevel=4)
    if (files["cert"] is None) != (files["key"] is None):
        raise ProgrammingError("ssl_cert and ssl_key must be set together")
    by_password = server_cert and files["ca"] is None
    return Tls(mode=mode, **files, by_password=by_password, only_tls13=_only_tls13(settings))


def _explicit(settings: Settings) -> str | None:
    given = settings.text("ssl_mode")
    if given is None:
        return None
    mode = _LIKE_LIBPQ.get(given) or given.upper()
    if mode not in SSL_MODES:
        raise ProgrammingError(f"{settings.setting_with_origin('ssl_mode')} is not one of {', '.join(SSL_MODES)}")
    return mode


def _ssl(settings: Settings, files: dict[str, str | None]) -> list[tuple[str, str]]:
    """What ``ssl`` asks for: true or false, or a mapping with the files, as MySQLdb and PyMySQL have it."""
    given = settings.values.get("ssl")
    if given is None or given == "":
        return []
    # A module that was not imported has made no context, and importing it takes longer than all of this package.
    if (ssl := sys.modules.get("ssl")) is not None and isinstance(given, ssl.SSLContext):
        raise NotSupportedError("ssl: headrace brings its own TLS; give ssl_mode, ssl_ca, ssl_cert and ssl_key")
    if not isinstance(given, Mapping):
        return [("ssl", "REQUIRED" if settings.boolean("ssl", False) else "DISABLED")]
    entries = cast("Mapping[str, Any]", given)
    for name in ("ca", "cert", "key"):
        if entries.get(name) is not None:
            files[name] = str(entries[name])
    if entries.get("capath") is not None:
        raise NotSupportedError("ssl: name the file of the authority (ca), not its folder (capath)")
    verify = entries.get("verify_mode", files["ca"] is not None)
    if isinstance(verify, str):
        verify = verify.lower() not in ("", "0", "false", "no", "none", "cert_none")
    if not verify:
        return [(_UNVERIFIED if "verify_mode" in entries else "ssl", "REQUIRED")]
    return [("ssl", "VERIFY_IDENTITY" if entries.get("check_hostname", True) else "VERIFY_CA")]


def _only_tls13(settings: Settings) -> bool:
    versions = [version for version in settings.items("tls_version") if version]
    for version in versions:
        if version not in _VERSIONS:
            raise ProgrammingError(
                f"{settings.setting_with_origin('tls_version')} is not one of {', '.join(_VERSIONS)}"
            )
    if versions and not {"TLSv1.2", "TLSv1.3"} & {*versions}:
        raise NotSupportedError(f"{settings.setting_with_origin('tls_version')}: headrace speaks TLS 1.2 and 1.3 only")
    return bool(versions) and "TLSv1.2" not in versions
