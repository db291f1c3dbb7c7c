//! A MariaDB for the tests: in a temporary directory, on a free port, removed with the tests.

use super::session::{Conversation, Socket};
use headrace_mysql::auth::Secret;
use headrace_mysql::machine::{BatchStrategy, SessionOptions};
use headrace_testkit::Shared;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub struct Server {
    pub port: u16,
    /// The server ends when this process does, because its standard input closes then.
    _child: Child,
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Finds the programs, or has them installed.
fn programs() -> (PathBuf, PathBuf) {
    let find = || Some((program("mariadbd")?, program("mariadb-install-db")?));
    find().unwrap_or_else(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/packages");
        let installed = Command::new(&script).arg("mariadb-server").status();
        let hint = "these tests need MariaDB's server: install the package mariadb-server (Debian's name), or put \
                    mariadbd and mariadb-install-db on the PATH";
        assert!(installed.is_ok_and(|status| status.success()), "{hint}");
        find().expect(hint)
    })
}

/// The user that the server runs as: it refuses root unless that is set.
fn user() -> Vec<String> {
    let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    if root { vec!["--user=root".into()] } else { Vec::new() }
}

impl Server {
    /// The server that all tests of a file share.
    pub fn shared() -> &'static Server {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(Server::start)
    }

    fn start() -> Self {
        let (mariadbd, install) = programs();
        let folder = std::env::temp_dir().join(format!("headrace-mysql-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a temporary directory");
        let data = folder.join("data");
        let made = Command::new(install)
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .args(user())
            .arg(format!("--datadir={}", data.display()))
            .output()
            .expect("mariadb-install-db runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let certificate = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
        std::fs::write(folder.join("cert"), certificate.cert.pem()).expect("the certificate is written");
        std::fs::write(folder.join("key"), certificate.signing_key.serialize_pem()).expect("the key is written");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
        // The shell waits for our end: then it stops the server and removes the directory.
        let script = r#"folder=$1; shift
            "$@" >"$folder/log" 2>&1 & pid=$!
            cat >/dev/null
            kill "$pid"; wait "$pid"; rm -rf "$folder""#;
        let child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(&folder)
            .arg(mariadbd)
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--plugin-load-add=auth_ed25519"])
            .args(["--character-set-server=utf8mb4", "--local-infile=1", "--max-allowed-packet=64M"])
            .args([
                "--innodb-buffer-pool-size=64M",
                "--innodb-flush-log-at-trx-commit=0",
                "--skip-name-resolve",
                "--innodb-lock-wait-timeout=5",
            ])
            .args(user())
            .arg(format!("--ssl-cert={}", folder.join("cert").display()))
            .arg(format!("--ssl-key={}", folder.join("key").display()))
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", folder.join("s").display()))
            .arg(format!("--port={port}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh runs");
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            assert!(since.elapsed() < Duration::from_secs(60), "MariaDB does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        let server = Self { port, _child: child };
        let mut root = server.session_with(SessionOptions { user: "root".into(), ..SessionOptions::default() });
        root.must("create database t");
        root.must("create user tester@'127.0.0.1' identified by 'tiger'");
        root.must("grant all on *.* to tester@'127.0.0.1'");
        server
    }

    pub fn options() -> SessionOptions {
        SessionOptions {
            user: "tester".into(),
            password: Some(Secret(b"tiger".to_vec())),
            database: Some("t".into()),
            ..SessionOptions::default()
        }
    }

    pub fn session_with(&self, options: SessionOptions) -> Conversation<Socket> {
        let mut session = Conversation::new(options, Socket::connect(self.port));
        session.start().unwrap_or_else(|reason| panic!("{reason}"));
        session
    }

    pub fn session(&self) -> Conversation<Socket> {
        self.session_with(Self::options())
    }
}

/// Every way in which a batch is sent.
pub const STRATEGIES: [BatchStrategy; 4] =
    [BatchStrategy::Auto, BatchStrategy::Pipelined, BatchStrategy::Bulk, BatchStrategy::Joined];

/// A session of the shared server.
pub fn session() -> Conversation<Socket> {
    Server::shared().session()
}

/// How a request that has ended did.
pub fn end(received: &Shared) -> String {
    received.get().end.clone().expect("it has ended")
}
