//! The login: one length-prefixed packet each way, before the stream of messages begins.

use std::io::{self, Read};

use crate::wire::{Input, Output};

/// The client's login packet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The user name.
    pub user: String,
    /// The password, empty if none was sent.
    pub password: String,
    /// The name of the requested server.
    pub server: String,
    /// Its environment.
    pub environment: Vec<(String, String)>,
}

const HEADER: usize = 6;
const CONREQ: u8 = 1;
const CONACC: u8 = 2;
const CONREJ: u8 = 3;
const REDIRECT: u8 = 13;

fn string<R: Read>(input: &mut Input<R>) -> io::Result<String> {
    let length = usize::from(input.u16()?);
    let bytes = input.bytes(length)?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(length);
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn marker<R: Read>(input: &mut Input<R>, expected: u16) -> io::Result<()> {
    let found = input.u16()?;
    if found == expected {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("login: marker {found} where {expected} was due")))
}

/// Reads CONREQ.
pub fn read_request<R: Read>(input: &mut Input<R>) -> io::Result<Request> {
    let length = usize::from(input.u16()?);
    let kind = input.u8()?;
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    if kind != CONREQ || length <= HEADER {
        return Err(invalid(format!(
            "login: a packet of type {kind} and {length} bytes; only the binary form is known"
        )));
    }
    input.bytes(3)?;
    let body = input.bytes(length - HEADER)?;
    let mut body = Input::new(&body[..]);
    read_body(&mut body).map_err(|error| invalid(format!("login: {error}")))
}

fn read_body(body: &mut Input<&[u8]>) -> io::Result<Request> {
    marker(body, 100)?;
    marker(body, 101)?;
    body.i32()?;
    string(body)?;
    marker(body, 108)?;
    body.bytes(12)?;
    for _ in 0..3 {
        string(body)?;
    }
    body.bytes(12)?;
    let mut request = Request::default();
    if body.u16()? != 0 {
        request.user = string(body)?;
        request.password = string(body)?;
    }
    body.bytes(8 + 4 + 8 + 4)?;
    marker(body, 104)?;
    body.bytes(6)?;
    request.server = string(body)?;
    string(body)?;
    body.bytes(8)?;
    marker(body, 106)?;
    for _ in 0..body.u16()? {
        request.environment.push((string(body)?, string(body)?));
    }
    Ok(request)
}

/// The result of a login.
pub enum Answer {
    /// CONACC.
    Accepted,
    /// CONREJ with a sqlcode.
    Refused(i16),
    /// REDIRECT to `server|host|port`.
    Redirect(String),
}

/// The server's data for the reply.
pub struct Reply<'a> {
    /// The banner with the version.
    pub banner: &'a str,
    /// The name of the server.
    pub server: &'a str,
    /// The reply to the login.
    pub answer: Answer,
}

/// CONACC, CONREJ or REDIRECT.
pub fn write_reply(reply: &Reply<'_>) -> Vec<u8> {
    let mut body: Vec<u8> = Vec::new();
    body.put_u16(100);
    body.put_u16(101);
    body.put_i32(61);
    body.put_login_string("IEEEI");
    body.put_u16(108);
    body.extend_from_slice(b"srvinfx\0\0\0\0\0");
    body.put_login_string(reply.banner);
    body.put_login_string("Software Serial Number AAA#B000000");
    body.put_login_string(reply.server);
    body.put_i32(0x13c);
    body.extend_from_slice(&[0; 8 + 6]);
    body.extend_from_slice(b"on\0\0\0\0\0\0");
    body.put_i32(0x3d);
    body.extend_from_slice(b"soctcp\0\0");
    body.put_i32(0);
    if let Answer::Redirect(target) = &reply.answer {
        body.put_u16(103);
        body.put_u16(target.len() as u16 + 2);
        body.put_chars(target.as_bytes());
    }
    body.put_u16(102);
    body.extend_from_slice(&[0; 6]);
    body.put_i16(if let Answer::Refused(code) = reply.answer { code } else { 0 });
    body.put_i16(0);
    body.put_i16(0x14);
    body.put_i16(0);
    body.put_u16(107);
    body.put_i32(0);
    body.put_i32(i32::try_from(std::process::id()).unwrap_or(1));
    body.put_i32(0);
    body.put_login_string("localhost");
    body.put_u16(0);
    body.put_login_string("/");
    body.put_u16(110);
    body.put_u16(4);
    body.put_i32(0);
    let path = "/opt/informix/bin/oninit";
    body.put_u16(116);
    body.put_u16(10 + path.len() as u16 + 1);
    body.put_i32(0);
    body.put_i32(0);
    body.put_login_string(path);
    body.put_u16(127);

    let mut packet = Vec::with_capacity(body.len() + HEADER);
    packet.put_u16((body.len() + HEADER) as u16);
    packet.put_u8(match reply.answer {
        Answer::Accepted => CONACC,
        Answer::Refused(_) => CONREJ,
        Answer::Redirect(_) => REDIRECT,
    });
    packet.put_u8(60);
    packet.put_u16(0x1000);
    packet.extend_from_slice(&body);
    packet
}
