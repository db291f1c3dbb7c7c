//! Large objects: SQ_FETCHBLOB for the simple ones, the fast path and SQ_LODATA for the smart ones.

use std::collections::HashMap;

use rusqlite::OptionalExtension;

use super::{Session, replies, rows};
use crate::engine::Value;
use crate::errors::{Result, SqlError};
use crate::messages::{Bound, locator};
use crate::wire::Output;

/// The longest chunk of SQ_BLOB.
const BLOB_CHUNK: usize = 1024;

/// The objects a session has open, and the routines it has asked for.
#[derive(Default)]
pub struct Objects {
    open: HashMap<i16, Handle>,
    routines: Vec<String>,
}

struct Handle {
    id: i64,
    data: Vec<u8>,
    position: usize,
    changed: bool,
}

impl Session {
    pub(super) fn fetch_blob(&mut self, descriptor: &[u8]) -> Result<()> {
        let found = rows::descriptor_number(descriptor).and_then(|number| self.blobs.get(&number));
        let bytes = found.ok_or_else(|| SqlError::isam(-609, 0, ""))?;
        for chunk in bytes.chunks(BLOB_CHUNK) {
            self.out.put_u16(39);
            self.out.put_chars(chunk);
        }
        self.out.put_u16(39);
        self.out.put_u16(0);
        Ok(())
    }

    pub(super) fn get_routine(&mut self, signature: &[u8]) -> Result<()> {
        let text = self.text(signature).to_lowercase();
        let name = text.split('(').next().unwrap_or_default();
        let name = name.split(['.', ' ']).next_back().unwrap_or_default().to_owned();
        let known = [
            "ifx_lo_open",
            "ifx_lo_close",
            "ifx_lo_create",
            "ifx_lo_stat",
            "ifx_lo_tell",
            "ifx_lo_seek",
            "ifx_lo_truncate",
            "ifx_lo_release",
            "ifx_lo_col_sbinfo",
            "ifx_lo_lock",
            "ifx_lo_unlock",
        ];
        if !known.contains(&name.as_str()) {
            return Err(SqlError::new(-674, name));
        }
        self.lobs.routines.push(name);
        let handle = self.lobs.routines.len() as i32;
        let database = self.opened()?.database.name.clone();
        self.out.put_u16(101);
        self.out.put_chars(database.as_bytes());
        self.out.put_i32(handle);
        Ok(())
    }

    fn object(&mut self, argument: Option<&Bound>) -> Result<&mut Handle> {
        let Some(Value::Integer(number)) = argument.map(|argument| &argument.value) else {
            return Err(SqlError::new(-12_053, ""));
        };
        self.lobs.open.get_mut(&(*number as i16)).ok_or_else(|| SqlError::new(-12_053, ""))
    }

    fn add_handle(&mut self, id: i64, data: Vec<u8>) -> i32 {
        let number = (0..i16::MAX).find(|number| !self.lobs.open.contains_key(number)).unwrap_or(i16::MAX);
        self.lobs.open.insert(number, Handle { id, data, position: 0, changed: false });
        i32::from(number)
    }

    fn save(&self, handle: &Handle) -> Result<()> {
        if handle.changed {
            let sql = "UPDATE ifx_lo SET data = ? WHERE id = ?";
            let saved = self.opened()?.connection.execute(sql, rusqlite::params![handle.data, handle.id]);
            saved.map_err(|error| SqlError::isam(-12_045, -105, error.to_string()))?;
        }
        Ok(())
    }

    pub(super) fn call_routine(&mut self, handle: i32, arguments: &[Bound]) -> Result<()> {
        let index = usize::try_from(handle - 1).unwrap_or(usize::MAX);
        let name = self.lobs.routines.get(index).ok_or_else(|| SqlError::new(-674, ""))?.clone();
        let number = |at: usize| match arguments.get(at).map(|argument| &argument.value) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        };
        let failed = |error: rusqlite::Error| SqlError::isam(-12_045, -105, error.to_string());
        match name.as_str() {
            "ifx_lo_open" => {
                let sql = "SELECT data FROM ifx_lo WHERE id = ?";
                let id = number(0);
                let found = self.opened()?.connection.query_row(sql, [id], |row| row.get(0)).optional();
                let data: Option<Option<Vec<u8>>> = found.map_err(failed)?;
                let data = data.ok_or_else(|| SqlError::new(-12_030, ""))?.unwrap_or_default();
                let opened = self.add_handle(id, data);
                self.return_values(&[Returned::Int(opened)]);
            }
            "ifx_lo_create" => {
                self.start_object_changes()?;
                let connection = &self.opened()?.connection;
                connection.execute("INSERT INTO ifx_lo (data) VALUES (x'')", []).map_err(failed)?;
                let id = connection.last_insert_rowid();
                let opened = self.add_handle(id, Vec::new());
                self.return_values(&[Returned::Locator(id), Returned::Int(opened)]);
            }
            "ifx_lo_close" => {
                let handle = self.lobs.open.remove(&(number(0) as i16)).ok_or_else(|| SqlError::new(-12_053, ""))?;
                self.save(&handle)?;
                self.return_values(&[Returned::Int(0)]);
            }
            "ifx_lo_stat" => {
                let size = self.object(arguments.first())?.data.len() as i64;
                let length = match arguments.get(1).map(|argument| &argument.value) {
                    Some(Value::Blob(bytes)) => bytes.len(),
                    _ => 0,
                };
                let mut stat = vec![0; length.max(16)];
                // The size stands behind an int32, as C keeps an INT8: low word, high word, sign.
                stat[4..8].copy_from_slice(&(size as u32).to_be_bytes());
                stat[8..12].copy_from_slice(&((size >> 32) as u32).to_be_bytes());
                stat[12..14].copy_from_slice(&1i16.to_be_bytes());
                self.return_values(&[Returned::Named("ifx_lo_stat", stat), Returned::Int(0)]);
            }
            "ifx_lo_col_sbinfo" => {
                let spec = match arguments.get(1).map(|argument| &argument.value) {
                    Some(Value::Blob(bytes)) => bytes.clone(),
                    _ => Vec::new(),
                };
                self.return_values(&[Returned::Named("ifx_lo_spec", spec), Returned::Int(0)]);
            }
            "ifx_lo_tell" => {
                let position = self.object(arguments.first())?.position as i64;
                self.return_values(&[Returned::Int8(position), Returned::Int(0)]);
            }
            "ifx_lo_seek" => {
                let (offset, whence) = (number(1), number(2));
                let position = self.object(arguments.first())?.seek(offset, whence as i16) as i64;
                self.return_values(&[Returned::Int8(position), Returned::Int(0)]);
            }
            "ifx_lo_truncate" => {
                let length = number(1).max(0) as usize;
                let handle = self.object(arguments.first())?;
                handle.data.resize(length, 0);
                handle.changed = true;
                self.return_values(&[Returned::Int(0)]);
            }
            _ => self.return_values(&[Returned::Int(0)]),
        }
        Ok(())
    }

    fn start_object_changes(&mut self) -> Result<()> {
        // Objects are rows of a table of ours; they roll back with the statement that stores their locator.
        if self.transaction != super::Transaction::None {
            self.start_changes()?;
        }
        Ok(())
    }

    fn return_values(&mut self, values: &[Returned]) {
        self.out.put_u16(103);
        self.out.put_u16(values.len() as u16);
        for value in values {
            match value {
                Returned::Int(value) => {
                    self.out.put_u16(2);
                    self.out.put_u16(0);
                    self.out.put_u16(0x0a00);
                    self.out.put_i32(*value);
                }
                Returned::Int8(value) => {
                    self.out.put_u16(17);
                    self.out.put_u16(0);
                    self.out.put_u16(0x1300);
                    self.out.extend_from_slice(&crate::codec::int8::encode(Some(*value)));
                }
                Returned::Named(name, bytes) => self.return_named(name, bytes),
                Returned::Locator(id) => self.return_named("blob", &locator(*id)),
            }
        }
        replies::done(&mut self.out, &self.caps, 0, 0, 0, 0);
        replies::cost(&mut self.out, 1);
    }

    fn return_named(&mut self, name: &str, bytes: &[u8]) {
        self.out.put_u16(44);
        self.out.put_chars(b"informix");
        self.out.put_chars(name.as_bytes());
        self.out.put_u16(0);
        self.out.put_u16(0);
        self.out.put_i32(bytes.len() as i32);
        self.out.put_padded(bytes);
    }

    pub(super) fn lob_read(&mut self, number: i16, length: i32, chunk: u16, seek: Option<(i64, i16)>) -> Result<()> {
        let handle = self.lobs.open.get_mut(&number).ok_or_else(|| SqlError::new(-12_053, ""))?;
        if let Some((offset, whence)) = seek {
            handle.seek(offset, whence);
        }
        let start = handle.position.min(handle.data.len());
        let end = (start + usize::try_from(length).unwrap_or(0)).min(handle.data.len());
        let bytes = handle.data[start..end].to_vec();
        handle.position = end;
        self.out.put_u16(97);
        self.out.put_u16(u16::from(seek.is_some()));
        self.out.put_i32(bytes.len() as i32);
        for part in bytes.chunks(usize::from(chunk.clamp(1, 32_000))) {
            self.out.put_chars(part);
        }
        Ok(())
    }

    pub(super) fn lob_write(&mut self, number: i16, bytes: &[u8]) -> Result<()> {
        let handle = self.lobs.open.get_mut(&number).ok_or_else(|| SqlError::new(-12_053, ""))?;
        let end = handle.position + bytes.len();
        if handle.data.len() < end {
            handle.data.resize(end, 0);
        }
        handle.data[handle.position..end].copy_from_slice(bytes);
        handle.position = end;
        handle.changed = true;
        self.out.put_u16(97);
        self.out.put_u16(2);
        self.out.put_i32(bytes.len() as i32);
        Ok(())
    }
}

impl Handle {
    /// Moves to a place counted from the start, from here or from the end, and says where that is.
    fn seek(&mut self, offset: i64, whence: i16) -> usize {
        let base = match whence {
            1 => self.position as i64,
            2 => self.data.len() as i64,
            _ => 0,
        };
        self.position = usize::try_from(base + offset).unwrap_or(0);
        self.position
    }
}

enum Returned {
    Int(i32),
    Int8(i64),
    Named(&'static str, Vec<u8>),
    Locator(i64),
}
