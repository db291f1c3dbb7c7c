"""A certificate authority for one test run, made with the ``openssl`` program.

Not by a package such as trustme: this module is part of the wheel, which needs no other distribution.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ._supervised import ServerUnavailable

DAYS = "2"
"""Days that the certificates are valid."""


@dataclass(frozen=True)
class Certificates:
    """PEM files: an authority, a server and a client that it vouches for, and a stranger's authority."""

    ca: Path
    server_cert: Path
    server_key: Path
    client_cert: Path
    client_key: Path
    other_ca: Path
    """An authority that signed nothing here: verification against it must fail."""


def make_certificates(directory: Path, *, client_name: str) -> Certificates:
    """Make all files in ``directory``.

    The server's certificate is for ``localhost``, ``127.0.0.1`` and ``::1``; the client's common name is
    ``client_name``, which PostgreSQL's ``cert`` method compares with the user.

    Raises:
        ServerUnavailable: the ``openssl`` program is missing or fails.
    """
    if shutil.which("openssl") is None:
        raise ServerUnavailable("the `openssl` program is needed for a server with TLS; install the package openssl")
    made = Certificates(
        *(directory / name for name in ("ca.crt", "server.crt", "server.key", "client.crt", "client.key", "other.crt"))
    )
    authority(made.ca, directory / "ca.key", "headrace test authority")
    authority(made.other_ca, directory / "other.key", "another authority")
    signed(
        made.server_cert,
        made.server_key,
        directory,
        "localhost",
        "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1",
    )
    signed(made.client_cert, made.client_key, directory, client_name, "extendedKeyUsage=clientAuth")
    return made


def authority(cert: Path, key: Path, name: str) -> None:
    """Make a self-signed authority."""
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", DAYS,
        "-subj", f"/CN={name}", "-keyout", key, "-out", cert,
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    )  # fmt: skip


def signed(cert: Path, key: Path, directory: Path, name: str, extension: str) -> None:
    """Make a key and a certificate that the authority in ``directory`` signs."""
    request, extensions = cert.with_suffix(".csr"), cert.with_suffix(".ext")
    extensions.write_text(f"{extension}\nbasicConstraints=CA:FALSE\nauthorityKeyIdentifier=keyid\n")
    openssl(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", f"/CN={name}", "-keyout", key, "-out", request,
    )  # fmt: skip
    openssl(
        "x509", "-req", "-in", request, "-CA", directory / "ca.crt", "-CAkey", directory / "ca.key",
        "-days", DAYS, "-CAcreateserial", "-sha256", "-extfile", extensions, "-out", cert,
    )  # fmt: skip
    key.chmod(0o600)


def openssl(*arguments: str | Path) -> None:
    """Run the program and turn a failure into a clear error."""
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerUnavailable(f"`openssl {arguments[0]}` failed: {done.stderr.strip()}")
