//! The messages of the server.

use crate::capabilities::Capabilities;
use crate::codec::charset::Charset;
use crate::codec::int8;
use crate::errors::SqlError;
use crate::sql::{Column, Compiled};
use crate::types::{Kind, Type};
use crate::wire::Output;

/// SQ_EOT.
pub fn end(out: &mut Vec<u8>) {
    out.put_u16(12);
}

/// SQ_DONE.
pub fn done(out: &mut Vec<u8>, caps: &Capabilities, warnings: i16, rows: i64, rowid: i64, serial: i64) {
    out.put_u16(15);
    out.put_i16(warnings);
    if caps.long_counts() {
        out.put_i64(rows);
        out.put_i64(rowid);
    } else {
        out.put_i32(rows as i32);
        out.put_i32(rowid as i32);
    }
    out.put_i32(i32::try_from(serial).unwrap_or(0));
}

/// SQ_COST.
pub fn cost(out: &mut Vec<u8>, rows: i32) {
    out.put_u16(55);
    out.put_i32(rows);
    out.put_i32(1);
}

/// SQ_INSERTDONE.
pub fn insert_done(out: &mut Vec<u8>, serial: i64, kind: Option<Kind>) {
    let serial8 = if kind == Some(Kind::Serial8) { serial } else { 0 };
    let bigserial = if kind == Some(Kind::BigSerial) { serial } else { 0 };
    out.put_u16(94);
    // A zero that is not NULL has the sign of a positive number.
    out.extend_from_slice(&int8::encode(Some(serial8)));
    out.put_i64(bigserial);
}

/// SQ_XACTSTAT: 1 begin, 2 commit, 3 roll back.
pub fn transaction_state(out: &mut Vec<u8>, event: u16) {
    out.put_u16(99);
    out.put_u16(event);
    out.put_u16(u16::from(event == 1));
    out.put_u16(u16::from(event != 1));
}

/// SQ_ERR.
pub fn error(out: &mut Vec<u8>, caps: &Capabilities, charset: Charset, error: &SqlError) {
    out.put_u16(13);
    out.put_i16(error.code);
    out.put_i16(error.isam);
    if caps.long_text() {
        out.put_i32(error.offset);
    } else {
        out.put_i16(error.offset as i16);
    }
    if error.code != -368 {
        out.put_chars(&charset.encode(&error.text));
    }
}

fn type_names(out: &mut Vec<u8>, ty: Type) {
    if ty.extended() == 0 {
        out.put_i32(0);
        return;
    }
    out.put_chars(b"informix");
    out.put_chars(if ty.user == 0 { ty.name().to_owned() } else { ty.declaration() }.as_bytes());
}

/// The fields of a type after its flags in DESCRIBE and IDESCRIBE.
fn type_fields(out: &mut Vec<u8>, caps: &Capabilities, ty: Type) {
    out.put_i32(ty.extended());
    type_names(out, ty);
    // Whether it is passed by reference, and the alignment.
    out.put_u16(u16::from(ty.kind.is_smart_lob()));
    out.put_u16(alignment(ty) as u16);
    out.put_i32(ty.source());
    // Clients find the column after one of varying width by this length.
    out.put_i32(if ty.kind.is_simple_lob() { ty.width(caps.long_counts()) } else { ty.length });
}

/// The alignment of the start of a column, if it is aligned at all.
fn alignment(ty: Type) -> i32 {
    if ty.kind.is_smart_lob() { 4 } else { 0 }
}

/// The start of a column after this many bytes.
fn aligned(position: i32, ty: Type) -> i32 {
    let to = alignment(ty).max(1);
    (position + to - 1) / to * to
}

/// The bytes that a column takes in the positions of DESCRIBE.
fn described_width(ty: Type, caps: &Capabilities) -> i32 {
    match ty.kind {
        Kind::Blob | Kind::Clob | Kind::Boolean => ty.length,
        _ => ty.width(caps.long_counts()),
    }
}

/// SQ_DESCRIBE.
pub fn describe(out: &mut Vec<u8>, caps: &Capabilities, charset: Charset, id: i16, statement: &Compiled) {
    // The columns of an INSERT are described only if there are parameters to send for them.
    let columns = if statement.kind == 6 && statement.parameters.is_empty() { &[][..] } else { &statement.columns[..] };
    out.put_u16(8);
    description(out, caps, charset, (statement.kind, id), columns);
}

fn description(out: &mut Vec<u8>, caps: &Capabilities, charset: Charset, (kind, id): (i16, i16), columns: &[Column]) {
    let end = |position, column: &Column| aligned(position, column.ty) + described_width(column.ty, caps);
    let total = columns.iter().fold(0, end);
    let mut names = Vec::new();
    let mut offsets = Vec::new();
    for column in columns {
        offsets.push(names.len() as i32);
        names.extend_from_slice(&charset.encode(&column.name));
        names.push(0);
    }
    out.put_i16(kind);
    out.put_i16(id);
    out.put_i32(0);
    if caps.long_tuples() {
        out.put_i32(total);
    } else {
        out.put_i16(total.min(32_767) as i16);
    }
    out.put_u16(columns.len() as u16);
    if caps.long_string_table() {
        out.put_i32(names.len() as i32);
    } else {
        out.put_u16(names.len() as u16);
    }
    let mut position = 0;
    for (column, offset) in columns.iter().zip(offsets) {
        position = aligned(position, column.ty);
        out.put_i32(offset);
        out.put_i32(position);
        out.put_i16(column.ty.number() | if column.not_null { 0x100 } else { 0 });
        type_fields(out, caps, column.ty);
        position += described_width(column.ty, caps);
    }
    out.put_padded(&names);
}

/// SQ_SGKDESCRIBE: the columns of an inserted row that are returned.
pub fn describe_keys(out: &mut Vec<u8>, caps: &Capabilities, charset: Charset, id: i16, columns: &[Column]) {
    out.put_u16(135);
    description(out, caps, charset, (2, id), columns);
}

/// SQ_IDESCRIBE.
pub fn describe_input(out: &mut Vec<u8>, caps: &Capabilities, parameters: &[Type]) {
    out.put_u16(125);
    out.put_u16(parameters.len() as u16);
    // IBM's JDBC driver does not read the size of the name table if there are no parameters.
    if !parameters.is_empty() {
        out.put_u16(0);
    }
    for ty in parameters {
        out.put_i16(ty.number());
        type_fields(out, caps, *ty);
    }
}
