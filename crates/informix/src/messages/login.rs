//! The login: one SL packet from the client, one from the server.

use super::{put_i32, put_u16};
use headrace_core::{Fatal, FatalKind};

/// Bytes of the SL header: total length, type, 60, flags.
pub const HEADER: usize = 6;

const CONREQ: u8 = 1;
const CONACC: u8 = 2;
const CONREJ: u8 = 3;
const REDIRECT: u8 = 13;

/// The markers of the parts of a login packet, in the order in which both sides send them. Those without a published
/// name (100, 101, 103 and 108) are named after what follows them. Clients read from one to the next, up to ASCEOT.
mod marker {
    pub const BODY: [u16; 2] = [100, 101];
    pub const ASCINITRESP: u16 = 102;
    pub const REDIRECTION: u16 = 103;
    pub const ASCINITREQ: u16 = 104;
    pub const ASCENV: u16 = 106;
    pub const ASCPINFO: u16 = 107;
    pub const PROGRAM: u16 = 108;
    pub const ASSOCBIND: u16 = 110;
    pub const ASCMISC: u16 = 116;
    pub const ASCEOT: u16 = 127;
}

/// Fields whose meaning is not published: they have the values that IBM's JDBC driver sends.
const FORMAT: i32 = 61;
const CAPABILITIES: [i32; 3] = [316, 0, 0];
const CREDENTIALS_FOLLOW: u16 = 1;
const NETWORK: i32 = 1;

/// The nettype of IBM's sqlhosts file, in two parts: the kind of server, then interface and protocol.
const NETTYPE: (&[u8], &[u8]) = (b"ol", b"tlitcp");
const NETTYPE_BYTES: usize = 8;

/// ASCINITREQ's flags: neither a server group nor a trusted context.
const NORMAL_LOGIN: i32 = 3;

/// Bytes of the name after [`marker::PROGRAM`].
const PROGRAM_BYTES: usize = 12;

/// The content of CONREQ.
#[derive(Clone, Debug, Default)]
pub struct ConnectionRequest<'a> {
    /// The user.
    pub user: &'a str,
    /// The password.
    pub password: Option<&'a [u8]>,
    /// DBSERVERNAME.
    pub server: &'a str,
    /// Environment variables that the session starts with.
    pub environment: &'a [(String, String)],
    /// The client's process.
    pub process_id: i32,
    /// The client's host.
    pub host: &'a str,
    /// The client's working directory.
    pub directory: &'a str,
    /// The name of the program, as the server shows it.
    pub program: &'a str,
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u16(out, bytes.len() as u16 + 1);
    out.extend_from_slice(bytes);
    out.push(0);
}

fn fixed(out: &mut Vec<u8>, name: &[u8], len: usize) {
    out.extend_from_slice(name);
    out.resize(out.len() + len - name.len(), 0);
}

impl ConnectionRequest<'_> {
    /// Appends the packet.
    ///
    /// # Errors
    /// [`Fatal`] when the settings do not fit the 64 KiB that a login may have.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Fatal> {
        let given = self.environment.iter().map(|(name, value)| name.len() + value.len() + 6).sum::<usize>();
        let rest = [self.user, self.server, self.host, self.directory, self.program];
        let rest = rest.iter().map(|s| s.len()).sum::<usize>() + self.password.map_or(0, <[u8]>::len);
        if given + rest > 60_000 {
            return Err(Fatal::new(
                FatalKind::UnusableSetting,
                "the connection settings are longer than a login packet can be (60000 bytes)",
            ));
        }
        let start = out.len();
        put_u16(out, 0);
        out.extend_from_slice(&[CONREQ, 60, 0, 0]);
        marker::BODY.iter().for_each(|marker| put_u16(out, *marker));
        put_i32(out, FORMAT);
        text(out, b"IEEEM");
        put_u16(out, marker::PROGRAM);
        fixed(out, b"sqlexec", PROGRAM_BYTES);
        text(out, b"9.280");
        text(out, b"RDS#R000000");
        text(out, b"sqli");
        for capability in CAPABILITIES {
            put_i32(out, capability);
        }
        put_u16(out, CREDENTIALS_FOLLOW);
        text(out, self.user.as_bytes());
        match self.password {
            Some(password) => text(out, password),
            None => put_u16(out, 0),
        }
        fixed(out, NETTYPE.0, NETTYPE_BYTES);
        put_i32(out, FORMAT);
        fixed(out, NETTYPE.1, NETTYPE_BYTES);
        put_i32(out, NETWORK);
        put_u16(out, marker::ASCINITREQ);
        put_u16(out, 11);
        put_i32(out, NORMAL_LOGIN);
        text(out, self.server.as_bytes());
        // The database is opened by SQ_DBOPEN: named here the server refuses it (-759).
        out.extend_from_slice(&[0; 10]);
        put_u16(out, marker::ASCENV);
        put_u16(out, self.environment.len() as u16);
        for (name, value) in self.environment {
            text(out, name.as_bytes());
            text(out, value.as_bytes());
        }
        put_u16(out, marker::ASCPINFO);
        put_i32(out, 0);
        put_i32(out, self.process_id);
        // The thread.
        put_i32(out, 1);
        text(out, self.host.as_bytes());
        put_u16(out, 0);
        text(out, self.directory.as_bytes());
        put_u16(out, marker::ASCMISC);
        put_u16(out, self.program.len() as u16 + 11);
        put_i32(out, 0);
        put_i32(out, 0);
        text(out, self.program.as_bytes());
        put_u16(out, marker::ASCEOT);
        let total = (out.len() - start) as u16;
        out[start..start + 2].copy_from_slice(&total.to_be_bytes());
        Ok(())
    }
}

/// The server's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// CONACC.
    Accepted {
        /// The server's banner, for humans; the server's features are in its capability mask.
        banner: String,
        /// The server's process.
        process_id: i32,
    },
    /// CONREJ.
    Rejected {
        /// The sqlcode, negative.
        sqlcode: i32,
        /// The operating system's error number.
        os_error: i32,
        /// The server's additional text.
        messages: Vec<String>,
    },
    /// REDIRECT: connect to another server.
    Redirect {
        /// Its DBSERVERNAME.
        server: String,
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// Length of the packet that begins with `bytes`; `None` until that is known.
///
/// # Errors
/// [`Fatal`] when this is not an SL packet.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, Fatal> {
    let Some(header) = bytes.get(..HEADER) else { return Ok(None) };
    let total = usize::from(u16::from_be_bytes([header[0], header[1]]));
    if total < HEADER || header[3] != 60 {
        return Err(Fatal::peer(
            "the server's first bytes are not an SQLI login packet; is this an onsoctcp listener?",
        ));
    }
    Ok(Some(total))
}

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fatal> {
        let (head, tail) = self.0.split_at_checked(n).ok_or_else(|| Fatal::peer("the login answer is cut short"))?;
        self.0 = tail;
        Ok(head)
    }
    fn u16(&mut self) -> Result<u16, Fatal> {
        self.bytes(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }
    fn i32(&mut self) -> Result<i32, Fatal> {
        self.bytes(4).map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }
    fn text(&mut self) -> Result<String, Fatal> {
        let len = usize::from(self.u16()?);
        let bytes = self.bytes(len)?;
        Ok(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned())
    }
    fn padded(&mut self) -> Result<String, Fatal> {
        let len = usize::from(self.u16()?);
        let text = String::from_utf8_lossy(self.bytes(len)?).into_owned();
        self.bytes(len % 2)?;
        Ok(text)
    }
}

/// Reads a whole packet. The source of each skipped field is in docs/reference/informix.md, "Skipped fields".
///
/// # Errors
/// [`Fatal`] when it does not follow the layout.
pub fn answer(packet: &[u8]) -> Result<Answer, Fatal> {
    let kind = *packet.get(2).ok_or_else(|| Fatal::peer("the login answer is cut short"))?;
    if !matches!(kind, CONACC | CONREJ | REDIRECT) {
        return Err(Fatal::peer(format!("the server answered the login with a packet of the unknown type {kind}")));
    }
    let mut body = Body(packet.get(HEADER..).unwrap_or_default());
    // Golden replies conacc_gbase_1 and _2, as far as the loop.
    let (_body_markers, _format) = ((body.u16()?, body.u16()?), body.i32()?);
    let _float_format = body.text()?;
    let (_program_marker, _program) = (body.u16()?, body.bytes(PROGRAM_BYTES)?);
    let banner = body.text()?;
    let (_serial_number, _server_name) = (body.text()?, body.text()?);
    let _initial_capabilities = (body.i32()?, body.i32()?, body.i32()?);
    // The client's place for user and password: the server reports that none follow.
    let (_credentials_follow, _no_user, _no_password) = (body.u16()?, body.u16()?, body.u16()?);
    let (_nettype_server, _nettype_format) = (body.bytes(NETTYPE_BYTES)?, body.i32()?);
    let (_nettype_protocol, _network) = (body.bytes(NETTYPE_BYTES)?, body.i32()?);
    let (mut sqlcode, mut os_error, mut process_id, mut messages) = (0, 0, 0, Vec::new());
    let mut redirect = None;
    loop {
        match body.u16()? {
            marker::ASCINITRESP => {
                // The place of ASCINITREQ's length and flags; zero in all known replies.
                let _reserved = body.bytes(6)?;
                sqlcode = i32::from(body.u16()? as i16);
                os_error = i32::from(body.u16()? as i16);
                let _login_warnings = body.u16()?;
                for _ in 0..body.u16()? {
                    let _message_number = body.u16()?;
                    messages.push(body.padded()?);
                }
            }
            marker::REDIRECTION => {
                let _redirection_bytes = body.u16()?;
                redirect = Some(body.padded()?);
            }
            marker::ASCPINFO => {
                let _process_reserved = body.i32()?;
                process_id = body.i32()?;
                let _thread = body.i32()?;
                let (_host, _terminal, _directory) = (body.text()?, body.text()?, body.text()?);
            }
            marker::ASSOCBIND => {
                let (_binding_bytes, _binding) = (body.u16()?, body.i32()?);
            }
            marker::ASCMISC => {
                let length = usize::from(body.u16()?);
                let _user_group_and_program = body.bytes(length)?;
            }
            marker::ASCEOT => break,
            marker => {
                return Err(Fatal::peer(format!("the login answer has the unknown marker {marker}")));
            }
        }
    }
    match (kind, redirect) {
        (CONACC, _) => Ok(Answer::Accepted { banner, process_id }),
        (REDIRECT, Some(text)) => {
            let parts: Vec<&str> = text.split([':', '=', '|']).collect();
            // A label may precede the three.
            let port = parts.last().and_then(|port| port.trim().parse().ok());
            match (&parts[..], port) {
                ([.., server, host, _], Some(port)) => {
                    Ok(Answer::Redirect { server: (*server).to_owned(), host: (*host).to_owned(), port })
                }
                _ => Err(Fatal::peer(format!("the server redirects to {text:?}, which names no server"))),
            }
        }
        (REDIRECT, None) => Err(Fatal::peer("the server redirects without saying where to")),
        _ => Ok(Answer::Rejected { sqlcode, os_error, messages }),
    }
}
