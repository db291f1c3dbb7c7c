//! A prepared SQLite statement that may outlive the call that made it.
//!
//! A cursor of the protocol stays open between requests, which rusqlite's borrowed rows cannot; so this is the one
//! place that speaks to SQLite's C interface.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::rc::Rc;

use rusqlite::Connection;
use rusqlite::ffi;
use rusqlite::types::{Value, ValueRef};

/// What SQLite said when something failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The extended result code.
    pub code: c_int,
    /// Its message.
    pub message: String,
}

/// A statement; it keeps its connection alive.
pub struct Statement {
    raw: *mut ffi::sqlite3_stmt,
    connection: Rc<Connection>,
}

fn failure(connection: &Connection) -> Failure {
    // SAFETY: the handle is that of a living connection, and the message is copied before anything else is called.
    unsafe {
        let handle = connection.handle();
        let message = CStr::from_ptr(ffi::sqlite3_errmsg(handle)).to_string_lossy().into_owned();
        Failure { code: ffi::sqlite3_extended_errcode(handle), message }
    }
}

impl Statement {
    /// Prepares one statement.
    pub fn prepare(connection: &Rc<Connection>, sql: &str) -> Result<Self, Failure> {
        let mut raw = ptr::null_mut();
        // SAFETY: the text is passed with its length, and `raw` is written before it is read.
        let code = unsafe {
            let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
            ffi::sqlite3_prepare_v2(connection.handle(), sql.as_ptr().cast(), length, &mut raw, ptr::null_mut())
        };
        if code != ffi::SQLITE_OK {
            return Err(failure(connection));
        }
        Ok(Self { raw, connection: Rc::clone(connection) })
    }

    /// Gives the parameters their values; those that the statement does not name are left out.
    pub fn bind(&mut self, values: &[Value]) -> Result<(), Failure> {
        for (index, value) in values.iter().enumerate() {
            let at = index as c_int + 1;
            // SAFETY: the statement lives; SQLITE_TRANSIENT makes SQLite copy what the pointers show.
            let code = unsafe {
                match value {
                    Value::Null => ffi::sqlite3_bind_null(self.raw, at),
                    Value::Integer(value) => ffi::sqlite3_bind_int64(self.raw, at, *value),
                    Value::Real(value) => ffi::sqlite3_bind_double(self.raw, at, *value),
                    Value::Text(text) => ffi::sqlite3_bind_text(
                        self.raw,
                        at,
                        text.as_ptr().cast(),
                        text.len() as c_int,
                        ffi::SQLITE_TRANSIENT(),
                    ),
                    Value::Blob(bytes) if bytes.is_empty() => ffi::sqlite3_bind_zeroblob(self.raw, at, 0),
                    Value::Blob(bytes) => ffi::sqlite3_bind_blob(
                        self.raw,
                        at,
                        bytes.as_ptr().cast(),
                        bytes.len() as c_int,
                        ffi::SQLITE_TRANSIENT(),
                    ),
                }
            };
            if code != ffi::SQLITE_OK && code != ffi::SQLITE_RANGE {
                return Err(failure(&self.connection));
            }
        }
        Ok(())
    }

    /// Goes to the next row; false at the end.
    pub fn step(&mut self) -> Result<bool, Failure> {
        // SAFETY: the statement lives.
        match unsafe { ffi::sqlite3_step(self.raw) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            _ => Err(failure(&self.connection)),
        }
    }

    /// Back to before the first row.
    pub fn reset(&mut self) {
        // SAFETY: the statement lives; what it returns repeats the failure of the last step.
        unsafe { ffi::sqlite3_reset(self.raw) };
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        // SAFETY: the statement lives.
        unsafe { ffi::sqlite3_column_count(self.raw) as usize }
    }

    /// A value of the current row, good until the next step.
    pub fn value(&self, index: usize) -> ValueRef<'_> {
        let at = index as c_int;
        // SAFETY: the statement lives and stands on a row; the slices end with the borrow of `self`, and every way
        // to move on takes `&mut self`. The pointer is asked for before the length, as SQLite wants it.
        unsafe {
            match ffi::sqlite3_column_type(self.raw, at) {
                ffi::SQLITE_INTEGER => ValueRef::Integer(ffi::sqlite3_column_int64(self.raw, at)),
                ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_column_double(self.raw, at)),
                ffi::SQLITE_NULL => ValueRef::Null,
                kind => {
                    let text = kind == ffi::SQLITE_TEXT;
                    let start: *const u8 = if text {
                        ffi::sqlite3_column_text(self.raw, at)
                    } else {
                        ffi::sqlite3_column_blob(self.raw, at).cast()
                    };
                    let length = ffi::sqlite3_column_bytes(self.raw, at) as usize;
                    let bytes = if start.is_null() { &[][..] } else { std::slice::from_raw_parts(start, length) };
                    if text { ValueRef::Text(bytes) } else { ValueRef::Blob(bytes) }
                }
            }
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the statement, and the connection is still open.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}
