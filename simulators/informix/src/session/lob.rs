//! Large objects: SQ_FETCHBLOB for the simple ones, the fast path and SQ_LODATA for the smart ones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use headrace_simulator_common::lock;
use rusqlite::OptionalExtension;

use super::statement::taken;
use super::{SqliSession, failures, replies, rows};
use crate::codec::decimal::Decimal;
use crate::engine::convert::render;
use crate::engine::{Statement, Value, ValueRef, owned};
use crate::errors::{Result, SqlError};
use crate::limits::{BLOB_PIECE, OBJECT_PIECE};
use crate::messages::{Bound, locator};
use crate::sql::Action;
use crate::types::{Kind, Type};
use crate::wire::Output;

/// The objects that a session has open, and the routines that it has requested.
#[derive(Default)]
pub struct Objects {
    open: HashMap<i16, Handle>,
    routines: Vec<Routine>,
}

/// A routine that a client has a handle of.
#[derive(Clone)]
enum Routine {
    /// One for smart large objects.
    Object(&'static str),
    /// One that a user made.
    Stored(String),
}

/// The routines for smart large objects.
const OBJECT_ROUTINES: [&str; 11] = [
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

/// No object is open under the number given.
fn no_handle() -> SqlError {
    SqlError::new(-9810, "")
}

/// Flags of ifx_lo_open. Without one that allows writing an object is opened for reading.
const APPEND: i64 = 1;
const WRITES: i64 = APPEND | 2 | 8;
const READ_WRITE: i64 = 8;

/// A position in an object. Several may be open on one object, and see each other's writes.
struct Handle {
    id: i64,
    content: Rc<RefCell<Content>>,
    position: usize,
    mode: i64,
}

struct Content {
    data: Vec<u8>,
    /// True if it differs from the stored object.
    changed: bool,
}

impl SqliSession {
    pub(super) fn fetch_blob(&mut self, descriptor: &[u8]) -> Result<()> {
        let found = rows::descriptor_number(descriptor).and_then(|number| self.blobs.get(&number));
        let bytes = found.ok_or_else(|| SqlError::new(-609, ""))?;
        for chunk in bytes.chunks(BLOB_PIECE) {
            self.link.out.put_u16(39);
            self.link.out.put_chars(chunk);
        }
        self.link.out.put_u16(39);
        self.link.out.put_u16(0);
        Ok(())
    }

    pub(super) fn get_routine(&mut self, signature: &[u8]) -> Result<()> {
        let text = self.text(signature).to_lowercase();
        let name = text.split('(').next().unwrap_or_default();
        let name = name.split(['.', ' ']).next_back().unwrap_or_default().to_owned();
        let routine = match OBJECT_ROUTINES.iter().find(|known| **known == name) {
            Some(known) => Routine::Object(known),
            None if crate::sql::Catalog::routine(self.opened()?, &name).is_some() => Routine::Stored(name),
            None => return Err(SqlError::new(-674, name)),
        };
        self.lobs.routines.push(routine);
        let handle = self.lobs.routines.len() as i32;
        let database = self.opened()?.database.name.clone();
        self.link.out.put_u16(101);
        self.link.out.put_chars(database.as_bytes());
        self.link.out.put_i32(handle);
        Ok(())
    }

    /// The object open under a number, also if it was SQL that opened it.
    fn opened_object(&mut self, number: i64) -> Result<&mut Handle> {
        if let Some(open) = &self.open {
            let opened: Vec<(i64, i64)> = std::mem::take(&mut *lock(&open.state.opened)).into_iter().collect();
            for (number, id) in opened {
                let content = self.content(id)?;
                self.lobs.open.insert(number as i16, Handle { id, content, position: 0, mode: READ_WRITE });
            }
        }
        self.lobs.open.get_mut(&i16::try_from(number).map_err(|_| no_handle())?).ok_or_else(no_handle)
    }

    fn object(&mut self, argument: Option<&Bound>) -> Result<&mut Handle> {
        match argument.map(|argument| &argument.value) {
            Some(Value::Integer(number)) => self.opened_object(*number),
            _ => Err(no_handle()),
        }
    }

    fn stored(&self, id: i64) -> Result<Vec<u8>> {
        let sql = "SELECT data FROM ifx_lo WHERE id = ?";
        let found = self.opened()?.connection.query_row(sql, [id], |row| row.get::<_, Option<Vec<u8>>>(0)).optional();
        let found = found.map_err(|error| SqlError::new(-9810, error.to_string()))?;
        Ok(found.ok_or_else(|| SqlError::isam(-9810, -12_048, ""))?.unwrap_or_default())
    }

    /// The stored content of an object, for one more handle of it.
    fn content(&mut self, id: i64) -> Result<Rc<RefCell<Content>>> {
        self.save_objects()?;
        let data = self.stored(id)?;
        if let Some(other) = self.lobs.open.values().find(|other| other.id == id) {
            other.content.borrow_mut().data = data;
            return Ok(Rc::clone(&other.content));
        }
        Ok(Rc::new(RefCell::new(Content { data, changed: false })))
    }

    fn add_handle(&mut self, id: i64, mode: i64) -> Result<i32> {
        let content = self.content(id)?;
        let state = &self.opened()?.state;
        let number = state.next_handle.fetch_add(1, Ordering::Relaxed) + 1;
        let number = i16::try_from(number % i64::from(i16::MAX)).unwrap_or(0).max(1);
        self.lobs.open.insert(number, Handle { id, content, position: 0, mode });
        Ok(i32::from(number))
    }

    /// Stores writes to objects: before any other code may read them, and at the latest at the end of a transaction or
    /// the session, also of those that were not closed.
    pub(super) fn save_objects(&mut self) -> Result<()> {
        let changed = |handle: &&Handle| handle.content.borrow().changed;
        let written: Vec<_> =
            self.lobs.open.values().filter(changed).map(|it| (it.id, Rc::clone(&it.content))).collect();
        if written.is_empty() {
            return Ok(());
        }
        self.start_object_changes()?;
        for (id, content) in written {
            // Another handle may have written it.
            if !std::mem::take(&mut content.borrow_mut().changed) {
                continue;
            }
            let sql = "UPDATE ifx_lo SET data = ? WHERE id = ?";
            let open = self.opened()?;
            let data = &content.borrow().data;
            let saved = open.patient(|connection| connection.execute(sql, rusqlite::params![data, id]));
            saved.map_err(|error| SqlError::new(-9810, error.to_string()))?;
        }
        Ok(())
    }

    /// Forgets writes of a transaction that was rolled back, and objects that were made in it.
    pub(super) fn forget_objects(&mut self) {
        let mut open = std::mem::take(&mut self.lobs.open);
        open.retain(|_, handle| match self.stored(handle.id) {
            Ok(data) => {
                *handle.content.borrow_mut() = Content { data, changed: false };
                true
            }
            Err(_) => false,
        });
        self.lobs.open = open;
    }

    pub(super) fn call_routine(&mut self, handle: i32, arguments: &[Bound]) -> Result<()> {
        let index = usize::try_from(handle - 1).unwrap_or(usize::MAX);
        let name = match self.lobs.routines.get(index).cloned() {
            Some(Routine::Object(name)) => name,
            Some(Routine::Stored(name)) => return self.call_stored(&name, arguments),
            None => return Err(SqlError::new(-674, "")),
        };
        let number = |at: usize| match arguments.get(at).map(|argument| &argument.value) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        };
        let failed = |error: rusqlite::Error| SqlError::new(-9810, error.to_string());
        match name {
            "ifx_lo_open" => {
                let opened = self.add_handle(number(0), number(1))?;
                self.return_values(&[Returned::Int(opened)])?;
            }
            "ifx_lo_create" => {
                self.start_object_changes()?;
                let open = self.opened()?;
                let id = open.state.next_object.fetch_add(1, Ordering::Relaxed);
                let made = open.patient(|connection| connection.execute("INSERT INTO ifx_lo VALUES (?, x'')", [id]));
                made.map_err(failed)?;
                let opened = self.add_handle(id, READ_WRITE)?;
                self.return_values(&[Returned::Locator(id), Returned::Int(opened)])?;
            }
            "ifx_lo_close" => {
                self.object(arguments.first())?;
                self.save_objects()?;
                self.lobs.open.remove(&(number(0) as i16)).ok_or_else(no_handle)?;
                self.return_values(&[Returned::Int(0)])?;
            }
            "ifx_lo_stat" => {
                let size = self.object(arguments.first())?.content.borrow().data.len() as i64;
                let length = match arguments.get(1).map(|argument| &argument.value) {
                    Some(Value::Blob(bytes)) => bytes.len(),
                    _ => 0,
                };
                let mut stat = vec![0; length.max(16)];
                // The size follows an int32, in the C form of an INT8: low word, high word, sign.
                stat[4..8].copy_from_slice(&(size as u32).to_be_bytes());
                stat[8..12].copy_from_slice(&((size >> 32) as u32).to_be_bytes());
                stat[12..14].copy_from_slice(&1i16.to_be_bytes());
                self.return_values(&[Returned::Named("ifx_lo_stat", stat), Returned::Int(0)])?;
            }
            "ifx_lo_col_sbinfo" => {
                let spec = match arguments.get(1).map(|argument| &argument.value) {
                    Some(Value::Blob(bytes)) => bytes.clone(),
                    _ => Vec::new(),
                };
                self.return_values(&[Returned::Named("ifx_lo_spec", spec), Returned::Int(0)])?;
            }
            "ifx_lo_tell" => {
                let position = self.object(arguments.first())?.position as i64;
                self.return_values(&[Returned::Int8(position), Returned::Int(0)])?;
            }
            "ifx_lo_seek" => {
                let (offset, whence) = (number(1), number(2));
                let position = self.object(arguments.first())?.seek(offset, whence as i16) as i64;
                self.return_values(&[Returned::Int8(position), Returned::Int(0)])?;
            }
            "ifx_lo_truncate" => {
                let length = number(1).max(0) as usize;
                let handle = self.object(arguments.first())?;
                handle.check_write()?;
                let mut content = handle.content.borrow_mut();
                content.data.resize(length, 0);
                content.changed = true;
                drop(content);
                self.return_values(&[Returned::Int(0)])?;
            }
            _ => self.return_values(&[Returned::Int(0)])?,
        }
        Ok(())
    }

    /// A routine of a user over the fast path: prepared, run, its one row sent as return values.
    fn call_stored(&mut self, name: &str, arguments: &[Bound]) -> Result<()> {
        let marks = vec!["?"; arguments.len()].join(", ");
        let compiled = crate::sql::compile(&format!("execute function {name}({marks})"), self.opened()?)?;
        let Action::Call { changes, raised, query } = compiled.action else { return Err(SqlError::new(-674, name)) };
        let charset = self.charset();
        let values: Result<Vec<Value>> = arguments
            .iter()
            .zip(&compiled.parameters)
            .map(|(bound, ty)| taken(bound.clone(), *ty, charset, self.foreign_dates))
            .collect();
        let values = values?;
        self.call(&changes, raised, &values)?;
        let open = self.opened()?;
        let fail = |failure| failures::translate(open, &failure, "", false, false);
        let mut results = Vec::new();
        if let Some(query) = query {
            let mut statement = Statement::prepare(&open.connection, &query).map_err(fail)?;
            statement.bind(&values).map_err(fail)?;
            if statement.step().map_err(fail)? {
                for (index, column) in compiled.columns.iter().enumerate() {
                    results.push(Returned::Typed(column.ty, owned(statement.value(index))));
                }
            }
        }
        self.return_values(&results)
    }

    fn start_object_changes(&mut self) -> Result<()> {
        // Objects are rows of a table of this server; they roll back with the statement that stores their locator.
        if self.transaction != super::Transaction::None {
            self.start_changes()?;
        }
        Ok(())
    }

    fn return_values(&mut self, values: &[Returned]) -> Result<()> {
        self.link.out.put_u16(103);
        self.link.out.put_u16(values.len() as u16);
        for value in values {
            match value {
                Returned::Int(value) => {
                    self.link.out.put_u16(2);
                    self.link.out.put_u16(0);
                    self.link.out.put_u16(0x0a00);
                    self.link.out.put_i32(*value);
                }
                Returned::Int8(value) => {
                    self.link.out.put_u16(17);
                    self.link.out.put_u16(0);
                    self.link.out.put_u16(0x1300);
                    self.link.out.extend_from_slice(&crate::codec::int8::encode(Some(*value)));
                }
                Returned::Named(name, bytes) => self.return_named(name, bytes),
                Returned::Locator(id) => self.return_named("blob", &locator(*id)),
                Returned::Typed(ty, value) => self.return_typed(*ty, value)?,
            }
        }
        replies::done(&mut self.link.out, &self.caps, 0, 0, 0, 0);
        replies::cost(&mut self.link.out, 1);
        Ok(())
    }

    /// A value in the form that SQ_BIND has for it.
    fn return_typed(&mut self, ty: Type, value: &Value) -> Result<()> {
        let charset = self.charset();
        let text = render(value, Some(ty));
        let out = &mut self.link.out;
        let precision: u16 = match ty.kind {
            Kind::SmallInt => 0x0500,
            Kind::Int | Kind::Serial => 0x0a00,
            Kind::BigInt | Kind::BigSerial | Kind::Int8 | Kind::Serial8 => 0x1300,
            Kind::DateTime | Kind::Interval => ty.length as u16,
            _ => 0,
        };
        let named = ty.extended() != 0 || ty.kind.is_complex();
        let plain = matches!(ty.kind, Kind::VarChar | Kind::NVarChar | Kind::NChar);
        out.put_i16(if plain { 0 } else { ty.number() });
        if named {
            out.put_chars(b"informix");
            out.put_chars(if ty.user == 0 { ty.name().to_owned() } else { ty.declaration() }.as_bytes());
        }
        if *value == Value::Null {
            out.put_i16(-1);
            out.put_u16(0);
            return Ok(());
        }
        out.put_u16(0);
        out.put_u16(precision);
        let mut bytes = Vec::new();
        let mut encoder = rows::Encoder { charset, binary: true, long_descriptors: false, blobs: &mut self.blobs };
        match (ty.kind, value) {
            (Kind::Decimal | Kind::Money, _) => {
                let number = Decimal::parse(&text).ok_or_else(|| SqlError::new(-1213, ""))?;
                out.put_chars(&number.encode());
            }
            (Kind::DateTime | Kind::Interval, value) => {
                encoder.value(&mut bytes, ty, ValueRef::from(value))?;
                out.put_chars(&bytes);
            }
            (kind, _) if kind.is_text() && !named => out.put_chars(&charset.encode(&text)),
            (_, value) => {
                encoder.value(&mut bytes, ty, ValueRef::from(value))?;
                // The flag of an envelope is followed by the length and the bytes, as here.
                out.put_padded(if named { &bytes[1..] } else { &bytes });
            }
        }
        Ok(())
    }

    fn return_named(&mut self, name: &str, bytes: &[u8]) {
        self.link.out.put_u16(44);
        self.link.out.put_chars(b"informix");
        self.link.out.put_chars(name.as_bytes());
        self.link.out.put_u16(0);
        self.link.out.put_u16(0);
        self.link.out.put_i32(bytes.len() as i32);
        self.link.out.put_padded(bytes);
    }

    pub(super) fn lob_read(&mut self, number: i16, length: i32, chunk: u16, seek: Option<(i64, i16)>) -> Result<()> {
        let handle = self.opened_object(number.into())?;
        if let Some((offset, whence)) = seek {
            handle.seek(offset, whence);
        }
        let content = Rc::clone(&handle.content);
        let data = &content.borrow().data;
        let start = handle.position.min(data.len());
        let end = (start + usize::try_from(length).unwrap_or(0)).min(data.len());
        let bytes = data[start..end].to_vec();
        handle.position = end;
        self.link.out.put_u16(97);
        self.link.out.put_u16(u16::from(seek.is_some()));
        self.link.out.put_i32(bytes.len() as i32);
        if bytes.is_empty() {
            // IBM's driver reads a length even if there is nothing to read.
            self.link.out.put_u16(0);
        }
        for part in bytes.chunks(usize::from(chunk.clamp(1, OBJECT_PIECE))) {
            self.link.out.put_chars(part);
        }
        Ok(())
    }

    pub(super) fn lob_write(&mut self, number: i16, bytes: &[u8]) -> Result<()> {
        let handle = self.opened_object(number.into())?;
        handle.check_write()?;
        let content = Rc::clone(&handle.content);
        let mut content = content.borrow_mut();
        if handle.mode & APPEND != 0 {
            handle.position = content.data.len();
        }
        let end = handle.position + bytes.len();
        if content.data.len() < end {
            content.data.resize(end, 0);
        }
        content.data[handle.position..end].copy_from_slice(bytes);
        content.changed = true;
        handle.position = end;
        self.link.out.put_u16(97);
        self.link.out.put_u16(2);
        self.link.out.put_i32(bytes.len() as i32);
        Ok(())
    }
}

impl Handle {
    /// Refuses to write to an object that was opened for reading.
    fn check_write(&self) -> Result<()> {
        if self.mode & WRITES == 0 { Err(SqlError::isam(-9810, -12_056, "")) } else { Ok(()) }
    }

    /// Moves to a position counted from the start, the current position or the end, and returns it.
    fn seek(&mut self, offset: i64, whence: i16) -> usize {
        let base = match whence {
            1 => self.position as i64,
            2 => self.content.borrow().data.len() as i64,
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
    Typed(Type, Value),
}
