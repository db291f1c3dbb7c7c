//! Messages of the client. Each function appends one message; [`eot`] closes the group.

use super::{object, pad, put_char, put_i32, put_u16, tag::*};
use crate::capabilities::{Capabilities, Feature};

/// Ends the group.
pub fn eot(out: &mut Vec<u8>) {
    put_u16(out, SQ_EOT);
}

/// SQ_PROTOCOLS: the capability mask.
pub fn protocols(out: &mut Vec<u8>, mask: &[u8]) {
    put_u16(out, SQ_PROTOCOLS);
    put_char(out, mask);
}

/// SQ_RESPONSE: the answer to a question of PAM.
pub fn response(out: &mut Vec<u8>, answer: &[u8]) {
    put_u16(out, SQ_RESPONSE);
    put_char(out, answer);
}

/// The kind of SQ_INFO: the environment.
const INFO_ENVIRONMENT: u16 = 6;

/// SQ_INFO, environment: settings of the session.
pub fn info_environment(out: &mut Vec<u8>, pairs: &[(String, String)]) {
    let even = |text: &String| text.len() + text.len() % 2;
    let total: usize = 6 + pairs.iter().map(|(k, v)| 4 + even(k) + even(v)).sum::<usize>();
    put_u16(out, SQ_INFO);
    put_u16(out, INFO_ENVIRONMENT);
    put_u16(out, total as u16);
    put_u16(out, pairs.iter().map(|(k, _)| even(k)).max().unwrap_or(0) as u16);
    put_u16(out, pairs.iter().map(|(_, v)| even(v)).max().unwrap_or(0) as u16);
    for (name, value) in pairs {
        put_char(out, name.as_bytes());
        put_char(out, value.as_bytes());
    }
    put_i32(out, 0);
}

/// SQ_DBOPEN, shared.
pub fn dbopen(out: &mut Vec<u8>, name: &[u8]) {
    put_u16(out, SQ_DBOPEN);
    put_char(out, name);
    put_u16(out, 0);
}

/// Returns true if `sql` is short enough for the server.
pub fn fits(sql: &[u8], capabilities: Capabilities) -> bool {
    let limit = if capabilities.has(Feature::LongText) { i32::MAX as usize } else { usize::from(u16::MAX) };
    sql.len() <= limit
}

fn sql_text(out: &mut Vec<u8>, sql: &[u8], capabilities: Capabilities) {
    if capabilities.has(Feature::LongText) {
        put_i32(out, sql.len() as i32);
        out.extend_from_slice(sql);
        pad(out, sql.len());
    } else {
        put_char(out, sql);
    }
}

/// SQ_PREPARE with requests for the description and DONE. `placeholders` is the number of `?` in the text.
pub fn prepare(out: &mut Vec<u8>, sql: &[u8], placeholders: u16, capabilities: Capabilities) {
    put_u16(out, SQ_PREPARE);
    put_u16(out, placeholders);
    sql_text(out, sql, capabilities);
    put_u16(out, SQ_NDESCRIBE);
    put_u16(out, SQ_WANTDONE);
}

/// SQ_COMMAND: a statement without rows, executed at once.
pub fn command(out: &mut Vec<u8>, sql: &[u8], capabilities: Capabilities) {
    put_u16(out, SQ_COMMAND);
    put_u16(out, 0);
    sql_text(out, sql, capabilities);
    put_u16(out, SQ_NDESCRIBE);
    put_u16(out, SQ_EXECUTE);
    put_u16(out, SQ_RELEASE);
}

/// SQ_ID: the statement that the next messages are for.
pub fn id(out: &mut Vec<u8>, statement: u16) {
    put_u16(out, SQ_ID);
    put_u16(out, statement);
}

/// SQ_CURNAME.
pub fn curname(out: &mut Vec<u8>, name: &str) {
    put_u16(out, SQ_CURNAME);
    put_char(out, name.as_bytes());
}

/// A message that is only its tag: SQ_OPEN, SQ_EXECUTE, SQ_SCROLL, SQ_HOLD, SQ_CLOSE, SQ_RELEASE, SQ_BEGIN,
/// SQ_CMMTWORK, SQ_VERSION.
pub fn plain(out: &mut Vec<u8>, tag: u16) {
    put_u16(out, tag);
}

/// SQ_NFETCH of up to `bytes` of rows.
pub fn nfetch(out: &mut Vec<u8>, bytes: i32) {
    put_u16(out, SQ_NFETCH);
    put_i32(out, bytes);
    put_u16(out, 0);
}

/// SQ_SFETCH of one row of a scroll cursor. `kind` is of [`super::scroll`].
pub fn sfetch(out: &mut Vec<u8>, kind: u16, row: i32, bytes: i32) {
    put_u16(out, SQ_SFETCH);
    put_u16(out, kind);
    put_i32(out, row);
    put_i32(out, bytes);
}

/// One column of SQ_RET_TYPE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnType {
    /// The type wanted.
    pub type_code: u16,
    /// The owner of an extended type.
    pub owner: Vec<u8>,
    /// The name of an extended type.
    pub name: Vec<u8>,
    /// The encoded length.
    pub length: i32,
}

/// Returns true if a type is written with its owner and name.
pub fn is_named(type_code: u16) -> bool {
    type_code > 18 && !matches!(type_code, 52 | 53)
}

/// SQ_RET_TYPE: the types of rows to fetch, or of rows to put.
pub fn ret_type(out: &mut Vec<u8>, put: bool, columns: &[ReturnType]) {
    put_u16(out, SQ_RET_TYPE);
    put_u16(out, u16::from(!put));
    put_u16(out, columns.len() as u16);
    for column in columns {
        put_u16(out, column.type_code);
        if is_named(column.type_code) {
            put_char(out, &column.owner);
            put_char(out, &column.name);
        }
        put_i32(out, column.length);
    }
}

/// SQ_PUT of one row, which `write` appends in the form that a fetched row has; returns true if it did. Otherwise
/// nothing is appended.
///
/// # Errors
/// Those of `write`.
pub fn put<E>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>) -> Result<bool, E> {
    let start = out.len();
    put_u16(out, SQ_PUT);
    put_i32(out, 0);
    put_u16(out, 1);
    let row = out.len();
    let written = write(out);
    if !matches!(written, Ok(true)) {
        out.truncate(start);
        return written;
    }
    let len = out.len() - row;
    out[start + 2..start + 6].copy_from_slice(&(len as u32).to_be_bytes());
    pad(out, len);
    written
}

/// SQ_FETCHBLOB of the value that a row's descriptor refers to.
pub fn fetchblob(out: &mut Vec<u8>, descriptor: &[u8]) {
    put_u16(out, SQ_FETCHBLOB);
    out.extend_from_slice(descriptor);
}

/// SQ_BBIND and the values of BYTE and TEXT parameters.
pub fn bbind(out: &mut Vec<u8>, values: &[Vec<u8>]) {
    const PIECE: usize = 1024;
    put_u16(out, SQ_BBIND);
    put_u16(out, values.len() as u16);
    for value in values {
        for piece in value.chunks(PIECE) {
            put_u16(out, SQ_BLOB);
            put_char(out, piece);
        }
        put_u16(out, SQ_BLOB);
        put_u16(out, 0);
    }
}

/// SQ_GETROUTINE of the routine with this signature.
pub fn get_routine(out: &mut Vec<u8>, signature: &[u8], capabilities: Capabilities) {
    put_u16(out, SQ_GETROUTINE);
    out.push(0);
    sql_text(out, signature, capabilities);
    put_u16(out, 0);
}

/// SQ_EXFPROUTINE with this number of arguments. SQ_BIND follows, also without arguments.
pub fn call_routine(out: &mut Vec<u8>, database: &[u8], handle: i32, arguments: u16) {
    put_u16(out, SQ_EXFPROUTINE);
    put_char(out, database);
    put_i32(out, handle);
    put_u16(out, arguments);
    put_u16(out, 0);
}

/// Bytes of a smart large object in one piece of SQ_LODATA.
const OBJECT_PIECE: usize = 32_000;

/// SQ_LODATA: reads from the object's current position.
pub fn read_object(out: &mut Vec<u8>, object: i16, bytes: i32) {
    for half in [SQ_LODATA, object::READ, object.cast_unsigned()] {
        put_u16(out, half);
    }
    put_i32(out, bytes);
    put_u16(out, OBJECT_PIECE as u16);
}

/// SQ_LODATA: writes at the object's current position.
pub fn write_object(out: &mut Vec<u8>, object: i16, bytes: &[u8]) {
    for half in [SQ_LODATA, object::WRITE, object.cast_unsigned()] {
        put_u16(out, half);
    }
    put_i32(out, bytes.len() as i32);
    put_u16(out, OBJECT_PIECE as u16);
    for piece in bytes.chunks(OBJECT_PIECE) {
        put_char(out, piece);
    }
}

/// SQ_RBWORK. The short after the tag is not optional: a server waits for it.
pub fn rollback(out: &mut Vec<u8>) {
    put_u16(out, SQ_RBWORK);
    put_u16(out, 0);
}

/// SQ_SQLISETSVPT, SQ_SQLIRELSVPT or SQ_SQLIRBACKSVPT.
pub fn savepoint(out: &mut Vec<u8>, tag: u16, name: &[u8]) {
    put_u16(out, tag);
    put_char(out, name);
    if tag == SQ_SQLISETSVPT {
        put_u16(out, 0);
    }
}
