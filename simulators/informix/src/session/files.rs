//! SQ_FILE: the one place where the server asks and the client answers, for `lotofile` and `filetoblob`.

use std::io;

use rusqlite::OptionalExtension;

use super::link::Link;
use crate::capabilities::Capabilities;
use crate::database::Open;
use crate::engine::functions::{ObjectRequest, lock};
use crate::errors::{Result, SqlError};
use crate::wire::Output;

/// The longest piece of a file in one message.
const CHUNK: usize = 1024;
const FILE: u16 = 98;
const READ: u16 = 106;
const WRITE: u16 = 107;

fn open_file(link: &mut Link, path: &str, writing: bool) -> io::Result<()> {
    link.out.put_u16(FILE);
    link.out.put_u16(0);
    link.out.put_chars(path.as_bytes());
    link.out.put_i32(if writing { 0o644 } else { 0 });
    // The flags are those of open(2): write, create, truncate; or read.
    link.out.put_i32(if writing { 0o1101 } else { 0 });
    link.out.put_i32(0);
    link.ask()?;
    link.expect(12)
}

fn close_file(link: &mut Link) -> io::Result<()> {
    link.out.put_u16(FILE);
    link.out.put_u16(1);
    link.ask()?;
    link.expect(12)
}

fn write_file(link: &mut Link, path: &str, bytes: &[u8]) -> io::Result<()> {
    open_file(link, path, true)?;
    link.out.put_u16(FILE);
    link.out.put_u16(3);
    for chunk in bytes.chunks(CHUNK) {
        link.out.put_u16(WRITE);
        link.out.put_chars(chunk);
    }
    link.ask()?;
    link.expect(WRITE)?;
    link.input.i32()?;
    link.expect(12)?;
    close_file(link)
}

fn read_file(link: &mut Link, path: &str) -> io::Result<Vec<u8>> {
    open_file(link, path, false)?;
    link.out.put_u16(FILE);
    link.out.put_u16(2);
    link.out.put_u16(CHUNK as u16);
    link.out.put_i32(-1);
    link.ask()?;
    link.expect(READ)?;
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
            tag => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("message {tag} inside a file"))),
        }
    }
    close_file(link)?;
    Ok(bytes)
}

/// Does what functions of the last step asked for.
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
            ObjectRequest::ToFile { id, path } => write_file(link, &path, &stored(id)?).map_err(lost)?,
            ObjectRequest::FromFile { id, path } => {
                let bytes = read_file(link, &path).map_err(lost)?;
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
