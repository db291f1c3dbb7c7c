//! A server for a test, and a client that sends the bytes of a test.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use headrace_simulator_common::command::Service;
use headrace_simulator_common::faults::Faults;
use headrace_simulator_cubrid::charset::Charset;
use headrace_simulator_cubrid::server::{Config, Server};

/// Bytes from hexadecimal digits.
pub fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts a server whose options `change` may change.
pub fn start(name: &str, change: impl FnOnce(&mut Config)) -> (SocketAddr, Folder) {
    let folder = std::env::temp_dir().join(format!("headrace-cubrid-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut config = Config {
        host: "127.0.0.1".into(),
        user: "dba".into(),
        password: String::new(),
        database: "testdb".into(),
        charset: Charset::Utf8,
        workers: 3,
        zone: "Etc/UTC".into(),
        port_answer: false,
        protocol: headrace_simulator_cubrid::session::PROTOCOL,
        faults: Faults::default(),
        trace: false,
        folder: folder.clone(),
    };
    change(&mut config);
    let server = Server::new(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    server.listening(address);
    std::thread::spawn(move || Arc::clone(&server).serve(&listener, None));
    (address, Folder(folder))
}

/// A client of a few requests.
pub struct Client {
    /// Its socket.
    pub stream: TcpStream,
    /// The process id of its CAS.
    pub pid: i32,
    /// Its session.
    pub session: [u8; 20],
}

impl Client {
    /// Logs in as dba.
    pub fn connect(address: SocketAddr) -> Self {
        Self::resume(address, [0; 20])
    }

    /// Logs in with a session of before.
    pub fn resume(address: SocketAddr, session: [u8; 20]) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&bytes("435542524b014cc00000")).unwrap();
        let mut answer = [0u8; 4];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [0; 4]);
        Self::log_in(stream, session)
    }

    /// The database information, on a connection that was greeted.
    pub fn log_in(mut stream: TcpStream, session: [u8; 20]) -> Self {
        let mut information = vec![0u8; 628];
        information[..6].copy_from_slice(b"testdb");
        information[32..35].copy_from_slice(b"dba");
        information[608..].copy_from_slice(&session);
        stream.write_all(&information).unwrap();
        let mut client = Self { stream, pid: 0, session: [0; 20] };
        let reply = client.reply();
        assert_eq!(&reply[..8], &bytes("0000002401ffffff")[..], "the reply to a login");
        assert_eq!(&reply[12..20], &bytes("010101004cc00000")[..], "the broker's information");
        client.pid = i32::from_be_bytes(reply[8..12].try_into().unwrap());
        client.session.copy_from_slice(&reply[24..44]);
        client
    }

    /// The next reply, with its header.
    pub fn reply(&mut self) -> Vec<u8> {
        let mut header = [0u8; 8];
        self.stream.read_exact(&mut header).unwrap();
        let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let mut reply = header.to_vec();
        reply.resize(8 + length, 0);
        self.stream.read_exact(&mut reply[8..]).unwrap();
        reply
    }

    /// Sends a request and returns the reply.
    pub fn ask(&mut self, request: &[u8]) -> Vec<u8> {
        self.stream.write_all(request).unwrap();
        self.reply()
    }

    /// A request with its arguments.
    pub fn request(&mut self, code: u8, arguments: &[&[u8]]) -> Vec<u8> {
        let mut payload = vec![code];
        for argument in arguments {
            payload.extend((argument.len() as u32).to_be_bytes());
            payload.extend(*argument);
        }
        let mut frame = (payload.len() as u32).to_be_bytes().to_vec();
        frame.extend([0; 4]);
        frame.extend(payload);
        self.ask(&frame)
    }

    /// A request of the test's own, which must not fail.
    pub fn run(&mut self, code: u8, arguments: &[&[u8]]) -> Vec<u8> {
        let reply = self.request(code, arguments);
        let failed = reply.len() >= 12 && reply[8] == 0xff;
        assert!(!failed, "function {code}: {}", String::from_utf8_lossy(&reply[8..]));
        reply
    }

    /// Prepares a statement; returns its handle.
    pub fn prepare(&mut self, sql: &str) -> u8 {
        let mut text = sql.as_bytes().to_vec();
        text.push(0);
        self.run(2, &[&text, &[0], &[0]])[11]
    }

    /// Executes a statement, without autocommit.
    pub fn execute(&mut self, handle: u8, flags: u8, values: &[&[u8]]) {
        let number = [0, 0, 0, handle];
        let zero = [0u8; 4];
        let mut arguments: Vec<&[u8]> =
            vec![&number, std::slice::from_ref(&flags), &zero, &zero, &[], &[0], &[0], &[1], &[0; 8], &zero];
        arguments.extend(values);
        self.run(3, &arguments);
    }

    /// Prepares, executes and closes.
    pub fn sql(&mut self, sql: &str) {
        let handle = self.prepare(sql);
        self.execute(handle, 0, &[]);
        self.close(handle);
    }

    /// Closes a handle.
    pub fn close(&mut self, handle: u8) {
        self.run(6, &[&[0, 0, 0, handle], &[0]]);
    }
}
