//! SQ_FILE: the only request of the server to the client, for `lotofile` and `filetoblob`.

use std::io;

use headrace_simulator_common::lock;
use rusqlite::OptionalExtension;

use super::link::Link;
use crate::capabilities::Capabilities;
use crate::database::Open;
use crate::engine::functions::ObjectRequest;
use crate::errors::{Result, SqlError};
use crate::limits::FILE_PIECE;
use crate::wire::Output;

const ERR: u16 = 13;
const FILE: u16 = 98;
const READ: u16 = 106;
const WRITE: u16 = 107;

fn open_file(link: &mut Link, caps: &Capabilities, path: &str, writing: bool) -> io::Result<()> {
    link.out.put_u16(FILE);
    link.out.put_u16(0);
    link.out.put_chars(path.as_bytes());
    link.out.put_i32(if writing { 0o644 } else { 0 });
    // The flags are those of open(2): write, create, truncate; or read.
    link.out.put_i32(if writing { 0o1101 } else { 0 });
    link.out.put_i32(0);
    link.ask()?;
    answered(link, caps, 12)
}

/// Reads the tag that begins a client's answer. A client without such a file answers with an SQ_ERR.
fn answered(link: &mut Link, caps: &Capabilities, wanted: u16) -> io::Result<()> {
    let tag = link.input.u16()?;
    if tag == wanted {
        return Ok(());
    }
    if tag != ERR {
        return Err(unexpected(tag));
    }
    let code = link.input.i16()?;
    link.input.i16()?;
    if caps.long_text() {
        link.input.i32()?;
    } else {
        link.input.i16()?;
    }
    link.input.chars()?;
    link.expect(12)?;
    Err(io::Error::new(io::ErrorKind::NotFound, format!("the client's error {code}")))
}

fn unexpected(tag: u16) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("message {tag} inside a file"))
}

fn close_file(link: &mut Link) -> io::Result<()> {
    link.out.put_u16(FILE);
    link.out.put_u16(1);
    link.ask()?;
    link.expect(12)
}

fn write_file(link: &mut Link, caps: &Capabilities, path: &str, bytes: &[u8]) -> io::Result<()> {
    open_file(link, caps, path, true)?;
    link.out.put_u16(FILE);
    link.out.put_u16(3);
    for chunk in bytes.chunks(FILE_PIECE) {
        link.out.put_u16(WRITE);
        link.out.put_chars(chunk);
    }
    link.ask()?;
    answered(link, caps, WRITE)?;
    link.input.i32()?;
    link.expect(12)?;
    close_file(link)
}

fn read_file(link: &mut Link, caps: &Capabilities, path: &str) -> io::Result<Vec<u8>> {
    open_file(link, caps, path, false)?;
    link.out.put_u16(FILE);
    link.out.put_u16(2);
    link.out.put_u16(FILE_PIECE as u16);
    link.out.put_i32(-1);
    link.ask()?;
    answered(link, caps, READ)?;
    let total = link.input.i32()?.max(0) as usize;
    let mut bytes = Vec::new();
    while bytes.len() < total {
        link.expect(READ)?;
        bytes.extend(link.input.chars()?);
    }
    loop {
        match link.input.u16()? {
            12 => break,
            // A last piece of no bytes may mark the end.
            READ => bytes.extend(link.input.chars()?),
            tag => return Err(unexpected(tag)),
        }
    }
    close_file(link)?;
    Ok(bytes)
}

/// Does the work that functions of the last step requested.
pub fn serve(link: &mut Link, open: &Open, caps: &Capabilities) -> Result<()> {
    let requests = std::mem::take(&mut *lock(&open.state.objects));
    let rest = link.read_group(caps, open.database.charset);
    rest.map_err(|error| SqlError::new(-9810, error.to_string()))?;
    for request in requests {
        let failed = |error: rusqlite::Error| SqlError::new(-9810, error.to_string());
        let lost = |error: io::Error| SqlError::new(-9810, error.to_string());
        let stored = |id: i64| -> Result<Vec<u8>> {
            let sql = "SELECT data FROM ifx_lo WHERE id = ?";
            let found = open.connection.query_row(sql, [id], |row| row.get::<_, Vec<u8>>(0)).optional();
            found.map_err(failed)?.ok_or_else(|| SqlError::isam(-9810, -12_048, ""))
        };
        let insert = "INSERT INTO ifx_lo (id, data) VALUES (?, ?)";
        match request {
            ObjectRequest::ToFile { id, path } => write_file(link, caps, &path, &stored(id)?).map_err(lost)?,
            ObjectRequest::FromFile { id, path } => {
                let bytes = read_file(link, caps, &path).map_err(lost)?;
                open.patient(|connection| connection.execute(insert, rusqlite::params![id, bytes])).map_err(failed)?;
            }
            ObjectRequest::Copy { from, to } => {
                let bytes = stored(from)?;
                open.patient(|connection| connection.execute(insert, rusqlite::params![to, bytes])).map_err(failed)?;
            }
        }
    }
    Ok(())
}
