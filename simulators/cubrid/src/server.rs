//! The listener, the first bytes of a connection, and the state that all sessions share.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU16, AtomicU64, Ordering};

use headrace_simulator_common::channel::Channel;
use headrace_simulator_common::command::Service;
use headrace_simulator_common::faults::Faults;
use headrace_simulator_common::{listener, lock};
use rustls::ServerConfig;

use crate::broker::{Activity, Broker};
use crate::charset::Charset;
use crate::database::CubridDatabase;
use crate::errors::cas;
use crate::session::{CasSession, Client};

/// The options of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on.
    pub host: String,
    /// The user that may log in, beside PUBLIC.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// The name of the database.
    pub database: String,
    /// Its code set.
    pub charset: Charset,
    /// The number of CAS.
    pub workers: usize,
    /// The time zone of sessions.
    pub zone: String,
    /// True if the hello is answered with another port, as a broker on Windows does.
    pub port_answer: bool,
    /// The version of the protocol, at most [`crate::session::PROTOCOL`].
    pub protocol: u8,
    /// Deliberate faults.
    pub faults: Faults,
    /// True if messages are printed on standard error.
    pub trace: bool,
    /// The folder of the database.
    pub folder: PathBuf,
}

/// The server.
pub struct Server {
    /// The options that it was started with.
    pub config: Config,
    /// The database.
    pub database: CubridDatabase,
    /// The workers.
    pub broker: Broker,
    /// Counts the restarts of the database server behind the broker.
    pub starts: AtomicU64,
    sessions: AtomicI32,
    second_port: AtomicU16,
}

/// Length of the hello.
const HELLO: usize = 10;
/// Length of the database information.
const INFORMATION: usize = 628;
/// The database that a health check names.
const HEALTH_CHECK: &str = "___health_check_dummy_db___";

impl Server {
    /// Makes the database.
    ///
    /// # Errors
    /// A message for the user if the folder cannot be written.
    pub fn new(config: Config) -> Result<Arc<Self>, String> {
        let database = CubridDatabase::create(&config.folder, &config.database)
            .map_err(|error| format!("database {} in {}: {error}", config.database, config.folder.display()))?;
        let broker = Broker::new(config.workers);
        let (sessions, second_port) = (AtomicI32::new(100), AtomicU16::new(0));
        Ok(Arc::new(Self { config, database, broker, starts: AtomicU64::new(0), sessions, second_port }))
    }

    /// The number of the next session.
    pub fn next_session(&self) -> i32 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The first ten bytes, and what follows them.
    fn greet(self: &Arc<Self>, mut stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut hello = [0u8; HELLO];
        stream.read_exact(&mut hello)?;
        if let Some(answer) = self.service(&hello) {
            return stream.write_all(&answer.to_be_bytes());
        }
        let renewed = hello[7] & 0x80 != 0 && hello[6] & 0x40 != 0;
        let refused = |code: i32| if renewed { code } else { code + 9000 };
        let encrypted = &hello[..5] == b"CUBRS";
        if (!encrypted && &hello[..5] != b"CUBRK") || hello[5] > 7 {
            return stream.write_all(&refused(cas::NOT_AUTHORISED).to_be_bytes());
        }
        if encrypted != tls.is_some() {
            return stream.write_all(&refused(cas::TLS).to_be_bytes());
        }
        let version = if hello[6] & 0x40 != 0 { hello[6] & 0x3f } else { 0 };
        if self.config.port_answer && !encrypted {
            let port = i32::from(self.second_port.load(Ordering::Relaxed));
            return stream.write_all(&port.to_be_bytes());
        }
        self.work(stream, Client { version, flags: hello[7] }, tls, true)
    }

    /// Requests to the broker itself: PING, ST, the three ways to cancel, RESTART and KILL.
    fn service(&self, hello: &[u8; HELLO]) -> Option<i32> {
        let number = |at: usize| i32::from_be_bytes([hello[at], hello[at + 1], hello[at + 2], hello[at + 3]]);
        let cancelled = |pid: i32, success: i32, missing: i32| if self.broker.cancel(pid) { success } else { missing };
        match hello {
            [b'P', b'I', b'N', b'G', ..] => Some(0),
            [b'X', b'1', ..] => Some(cancelled(number(6), 0, cas::CANCEL)),
            [b'Q', b'C', ..] => Some(cancelled(number(2), 9000, cas::CANCEL + 9000)),
            [b'C', b'A', b'N', b'C', b'E', b'L', ..] => Some(cancelled(number(6), 9000, cas::CANCEL + 9000)),
            // The next two are the test server's own.
            [b'R', b'E', b'S', b'T', b'A', b'R', b'T', ..] => {
                lock(&self.database.sessions).clear();
                self.starts.fetch_add(1, Ordering::Relaxed);
                Some(0)
            }
            [b'K', b'I', b'L', b'L', ..] => Some(if self.broker.kill(number(4)) { 0 } else { cas::CANCEL }),
            [b'S', b'T', ..] => Some(match self.broker.activity(number(2)) {
                Activity::None => -2,
                Activity::Idle => -1,
                Activity::Busy => 1,
            }),
            _ => None,
        }
    }

    fn work(
        self: &Arc<Self>,
        mut stream: TcpStream,
        client: Client,
        tls: Option<&Arc<ServerConfig>>,
        greeted: bool,
    ) -> io::Result<()> {
        let place = self.broker.acquire(&stream)?;
        let done = (|| {
            if greeted {
                stream.write_all(&0i32.to_be_bytes())?;
            }
            let mut channel = Channel::new(stream, tls)?;
            let mut information = vec![0u8; INFORMATION];
            channel.read_exact(&mut information)?;
            let name = until_nul(&information[..32]);
            if name == HEALTH_CHECK {
                channel.write_all(&[0, 0, 0, 0, 1, 0xff, 0xff, 0xff])?;
                return channel.flush();
            }
            CasSession::new(Arc::clone(self), channel, client, place, &information)?.run()
        })();
        self.broker.release(place);
        done
    }
}

/// A field of fixed width.
pub fn until_nul(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

impl Service for Server {
    fn listening(self: &Arc<Self>, address: SocketAddr) {
        if !self.config.port_answer {
            return;
        }
        match TcpListener::bind((address.ip(), 0)) {
            Ok(listener) => {
                let port = listener.local_addr().map_or(0, |address| address.port());
                self.second_port.store(port, Ordering::Relaxed);
                let server = Arc::clone(self);
                std::thread::spawn(move || {
                    // What the hello said is not repeated here: the newest version is taken for granted.
                    listener::serve(&listener, |stream| {
                        let server = Arc::clone(&server);
                        move || server.work(stream, Client { version: 12, flags: 0xc0 }, None, false)
                    });
                });
            }
            Err(error) => eprintln!("second port: {error}"),
        }
    }

    fn serve(self: &Arc<Self>, listener: &TcpListener, tls: Option<&Arc<ServerConfig>>) {
        listener::serve(listener, |stream| {
            let (server, tls) = (Arc::clone(self), tls.cloned());
            move || server.greet(stream, tls.as_ref())
        });
    }
}
