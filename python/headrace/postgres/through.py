"""Connections through the daemon headraced: the description of the server that it receives, in place of an address."""

from __future__ import annotations

import dataclasses
import json

from ..defaults import PORT
from ..errors import NotSupportedError
from . import headraced
from .attempts import wire_options
from .settings import ConnectOptions, Host

TARGET = "headrace.target"
"""The startup parameter that names the server."""


def through(options: ConnectOptions) -> ConnectOptions:
    """The same settings for the daemon's socket. The password is among them, and is sent if the daemon asks for it.

    Raises NotSupportedError for settings that only a direct connection can keep.
    """
    password = options.password or options.password_for(options.hosts[0])
    return known(options, asks=password is not None).with_password(password)  # type: ignore[arg-type]


def known(options: ConnectOptions, *, asks: bool) -> ConnectOptions:
    """The settings without a password, made once for those that they are made of."""
    made: dict[bool, ConnectOptions] = options.__dict__.setdefault("through_daemon", {})
    found = made.get(asks)
    if found is None or found.hosts[0].host != headraced.folder():
        found = made[asks] = _made(options, asks)
    return found


def _made(options: ConnectOptions, asks: bool) -> ConnectOptions:
    _refuse(options)
    target = {**_server(options), **({"ask_password": True} if asks else {})}
    # A string of JSON is one of TOML.
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in target.items())
    return dataclasses.replace(
        options,
        hosts=(Host(headraced.folder(), None, PORT),),
        password=None,
        session=(*options.session, (TARGET, text)),
        sslmode="disable",
        target_session_attrs="any",
        load_balance_hosts="disable",
    )


def _server(options: ConnectOptions) -> dict[str, str | int]:
    """The description of the server, with the names of the daemon's configuration."""
    hosts = [host.hostaddr or host.host for host in options.hosts]
    places = [
        name if name.startswith("/") and host.port == options.hosts[0].port else _place(name, host.port)
        for name, host in zip(hosts, options.hosts, strict=True)
    ]
    found: dict[str, str | int] = {"host": ",".join(places), "port": options.hosts[0].port}
    found["target_session_attrs"] = options.target_session_attrs
    if all(host.is_unix for host in options.hosts):
        return found
    made = wire_options(options, next(host for host in options.hosts if not host.is_unix), "require", None)
    modes = {"ca": "verify-ca", "full": "verify-full"}
    plain = {"allow": "prefer"}.get(options.sslmode, options.sslmode)
    found["sslmode"] = modes.get(made["verify"], plain)
    for name in ("sslrootcert", "sslcert", "sslkey"):
        if made[name] and found["sslmode"] != "disable":
            found[name] = made[name]
    return found


def _place(name: str, port: int) -> str:
    if name.startswith("/"):
        raise NotSupportedError("daemon: several Unix sockets with ports that differ")
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _refuse(options: ConnectOptions) -> None:
    for name, wrong in (
        ("replication", options.replication not in (None, "", "0", "off", "false", "no")),
        ("channel_binding=require", options.channel_binding == "require"),
        ("require_auth", bool(options.require_auth)),
        ("sslnegotiation=direct", options.sslnegotiation == "direct"),
        ("ssl_min_protocol_version=TLSv1.3", options.ssl_min_protocol_version == "TLSv1.3"),
    ):
        if wrong:
            raise NotSupportedError(f"{name}: a connection through the daemon cannot keep it; connect without daemon")
