//! Measures how many rows a second the server sends to a client that only reads bytes.
//!
//! A first pass determines the length of each reply; later passes read that many bytes and nothing else. Rows are
//! divided by the processor time of the server, so the figure is for one core whatever the client needs.
//!
//! `cargo bench -p headrace-simulator-informix --bench fetch`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROWS: usize = 100_000;
const ROUNDS: u32 = 20;
/// Bytes of a fetch buffer.
const BUFFER: i32 = 1 << 20;

struct Client {
    stream: TcpStream,
}

fn chars(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u16).to_be_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    if text.len() % 2 == 1 {
        bytes.push(0);
    }
    bytes
}

fn login_string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u16 + 1).to_be_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    bytes
}

impl Client {
    fn connect(port: u16) -> std::io::Result<Self> {
        let mut client = Self { stream: TcpStream::connect(("127.0.0.1", port))? };
        client.stream.set_nodelay(true)?;
        let mut body = b"\0\x64\0\x65\0\0\0\x3d".to_vec();
        body.extend(login_string("IEEEM"));
        body.extend(b"\0\x6csqlexec\0\0\0\0\0");
        for text in ["9.280", "RDS#R000000", "sqli"] {
            body.extend(login_string(text));
        }
        body.extend([0, 0, 1, 0x3c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        body.extend(login_string("informix"));
        body.extend(login_string("in4mix"));
        body.extend(b"ol\0\0\0\0\0\0\0\0\0\x3dtlitcp\0\0\0\0\0\x01\0\x68\0\x0b\0\0\0\x03");
        body.extend(login_string("informix"));
        body.extend([0; 10]);
        body.extend(b"\0\x6a\0\0\0\x6b\0\0\0\0\0\0\0\x01\0\0\0\0");
        body.extend(login_string("floor"));
        body.extend([0, 0]);
        body.extend(login_string("/"));
        body.extend(b"\0\x7f");
        let mut packet = (body.len() as u16 + 6).to_be_bytes().to_vec();
        packet.extend([1, 60, 0, 0]);
        packet.extend(body);
        client.stream.write_all(&packet)?;
        let mut header = [0; 6];
        client.stream.read_exact(&mut header)?;
        assert_eq!(header[2], 2, "the login was refused");
        client.read(usize::from(u16::from_be_bytes([header[0], header[1]])) - 6)?;
        let mask = b"\0\x7e\0\x08\xff\xfc\x7f\xfc\x3c\x8c\xaa\x97\0\x0c";
        client.group(mask)?;
        let mut open = b"\0\x24".to_vec();
        open.extend(chars("testdb"));
        open.extend(b"\0\0\0\x0c");
        client.group(&open)?;
        Ok(client)
    }

    fn read(&mut self, count: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u16(&mut self) -> std::io::Result<u16> {
        let bytes = self.read(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn i32(&mut self) -> std::io::Result<i32> {
        let bytes = self.read(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Sends a group and reads its reply; the result is the rows in it and its length in bytes.
    fn group(&mut self, bytes: &[u8]) -> std::io::Result<(usize, usize)> {
        self.stream.write_all(bytes)?;
        let (mut rows, mut length) = (0, 0);
        loop {
            let tag = self.u16()?;
            length += 2;
            let skip = match tag {
                12 => return Ok((rows, length)),
                14 => {
                    self.u16()?;
                    let size = self.i32()? as usize;
                    rows += 1;
                    length += 6;
                    size + size % 2
                }
                15 => 14,
                55 => 8,
                94 => 18,
                99 => 6,
                126 => {
                    let size = usize::from(self.u16()?);
                    length += 2;
                    size + size % 2
                }
                8 => {
                    self.read(10)?;
                    let fields = usize::from(self.u16()?);
                    let names = self.i32()? as usize;
                    length += 16;
                    for _ in 0..fields {
                        self.read(14)?;
                        length += 14;
                        for _ in 0..2 {
                            let size = usize::from(self.u16()?);
                            self.read(size + size % 2)?;
                            length += 2 + size + size % 2;
                        }
                        self.read(12)?;
                        length += 12;
                    }
                    names + names % 2
                }
                tag => panic!("message {tag} in a reply: {:?}", self.read(40)?),
            };
            self.read(skip)?;
            length += skip;
        }
    }

    fn command(&mut self, sql: &str) -> std::io::Result<()> {
        self.group(&statement(1, sql, b"\0\x16\0\x07\0\x0b\0\x0c")).map(|_| ())
    }
}

fn statement(tag: u8, sql: &str, tail: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, tag, 0, 0];
    bytes.extend((sql.len() as i32).to_be_bytes());
    bytes.extend(sql.as_bytes());
    if sql.len() % 2 == 1 {
        bytes.push(0);
    }
    bytes.extend(tail);
    bytes
}

/// Seconds of processor time that a process has used, user and system.
fn processor_seconds(process: &Child) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn race(client: &mut Client, server: &Child, name: &str, sql: &str) -> std::io::Result<()> {
    client.group(&statement(2, sql, b"\0\x16\0\x31\0\x0c"))?;
    let mut open = b"\0\x04\0\0\0\x03".to_vec();
    open.extend(chars("_ifxc0000000000001"));
    open.extend(b"\0\x06\0\x04\0\0");
    let mut fetch = b"\0\x09".to_vec();
    fetch.extend(BUFFER.to_be_bytes());
    fetch.extend(b"\0\0\0\x0c");
    open.extend(&fetch);
    let mut next = b"\0\x04\0\0".to_vec();
    next.extend(&fetch);
    let close = b"\0\x04\0\0\0\x0a\0\x0c";

    // The first pass determines the length of every reply.
    let mut lengths = Vec::new();
    let (mut rows, mut request) = (0, &open);
    while rows < ROWS {
        let (found, length) = client.group(request)?;
        rows += found;
        lengths.push(length);
        request = &next;
    }
    client.group(close)?;

    let mut buffer = vec![0; lengths.iter().copied().max().unwrap_or(0)];
    let (mut best, busy_before) = (Duration::MAX, processor_seconds(server));
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for (index, length) in lengths.iter().enumerate() {
            client.stream.write_all(if index == 0 { &open } else { &next })?;
            client.stream.read_exact(&mut buffer[..*length])?;
        }
        client.stream.write_all(close)?;
        client.stream.read_exact(&mut buffer[..2])?;
        best = best.min(start.elapsed());
    }
    let busy = processor_seconds(server) - busy_before;
    client.group(b"\0\x04\0\0\0\x0b\0\x0c")?;
    let bytes: usize = lengths.iter().sum();
    println!(
        "{name:<28} {:>6.2} million rows/s of server time, {:>6.2} of wall time, {} bytes a row",
        f64::from(ROUNDS) * ROWS as f64 / busy / 1e6,
        ROWS as f64 / best.as_secs_f64() / 1e6,
        bytes / ROWS,
    );
    Ok(())
}

fn main() -> std::io::Result<()> {
    let mut server = Command::new(env!("CARGO_BIN_EXE_headrace-simulate-informix"))
        .args(["--port", "0", "--until-stdin-ends"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("it is piped")).read_line(&mut line)?;
    let port = line.trim().strip_prefix("port ").and_then(|port| port.parse().ok()).expect("it says its port");

    let mut client = Client::connect(port)?;
    client.command(
        "create table bench (id int, name varchar(40), price decimal(10,2), made datetime year to second, flag smallint)",
    )?;
    client.command("begin work")?;
    for start in (0..ROWS).step_by(1000) {
        for id in start..start + 1000 {
            client.command(&format!(
                "insert into bench values ({id}, 'name of row {id}', {id}.25, \
                 datetime (2024-01-02 03:04:05) year to second, {})",
                id % 100
            ))?;
        }
    }
    client.command("commit work")?;
    for (name, sql) in [
        ("five columns", "select id, name, price, made, flag from bench"),
        ("five columns, in order", "select id, name, price, made, flag from bench order by id"),
        ("one integer", "select id from bench"),
        ("one varchar", "select name from bench"),
        ("one decimal", "select price from bench"),
        ("one datetime", "select made from bench"),
    ] {
        race(&mut client, &server, name, sql)?;
    }
    drop(client);
    drop(server.stdin.take());
    server.wait().map(|_| ())
}
