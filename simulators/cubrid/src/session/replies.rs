//! Column metadata and pages of rows.

use super::{CasSession, Handle, Held};
use crate::errors::{Error, Result, cas};
use crate::limits::PAGE;
use crate::sql::ResultColumn;
use crate::types::Type;
use crate::types::code::*;
use crate::wire::Output;

/// The version of the protocol since which FETCH may begin with any row. Before it the rows may be others, under the
/// numbers that were asked for, once a result was left and its beginning was read again (CUBRID up to 11.0). Here they are
/// with any FETCH that does not go on where the page before has ended.
const SEEKING: u8 = 11;

impl CasSession {
    /// The type as this client knows it: it may be too old for some.
    fn known_type(&self, ty: &Type) -> u8 {
        match (self.version(), ty.code) {
            (..8, JSON) => VARCHAR,
            (..7, TIMESTAMPTZ | TIMESTAMPLTZ) => TIMESTAMP,
            (..7, DATETIMETZ | DATETIMELTZ) => DATETIME,
            (_, code) => code,
        }
    }

    pub(super) fn put_type(&self, out: &mut Vec<u8>, ty: &Type) {
        let code = self.known_type(ty);
        if self.version() < 7 {
            out.push(ty.collection | (code & 0x1f));
            return;
        }
        let charset = match code {
            CHAR | VARCHAR | NCHAR | VARNCHAR | ENUM => self.server.config.charset.number(),
            JSON => 5,
            BIT | VARBIT => 1,
            _ => 0,
        };
        out.push(0x80 | ty.collection | charset);
        out.push(code);
    }

    /// The short form: type, scale, precision, name.
    pub(super) fn put_short(&self, out: &mut Vec<u8>, column: &ResultColumn, one_byte: bool) {
        if one_byte {
            out.push(column.ty.code);
        } else {
            self.put_type(out, &column.ty);
        }
        let plain = column.ty.collection == 0;
        out.put_i16(if plain { column.ty.scale } else { 0 });
        out.put_i32(if plain { column.ty.precision } else { 0 });
        out.put_text(&self.server.config.charset.encode(&column.name));
    }

    /// The long form of all columns, with their number.
    pub(super) fn put_columns(&self, out: &mut Vec<u8>, columns: &[ResultColumn]) {
        out.put_i32(columns.len() as i32);
        for column in columns {
            self.put_short(out, column, false);
            out.put_text(b"");
            let meta = column.meta.clone().unwrap_or_default();
            out.put_text(meta.class.as_bytes());
            out.put_i8(i8::from(meta.not_null));
            let default = meta.default.unwrap_or_default();
            out.put_text(&self.server.config.charset.encode(&default));
            for flag in [meta.auto, meta.unique, meta.primary, false, false, meta.foreign, false] {
                out.put_i8(i8::from(flag));
            }
        }
    }

    /// A page from a position on; returns true if the last row is in it.
    pub(super) fn put_page(&self, out: &mut Vec<u8>, held: &mut Held, position: usize, most: usize) -> bool {
        let start = out.len();
        out.put_i32(0);
        let mut count = 0;
        let is_lost = self.server.config.protocol < SEEKING && position != held.next;
        let from = if is_lost { 1 } else { position };
        let rows = held.rows.get(from - 1..).unwrap_or_default();
        for (index, row) in rows.iter().enumerate() {
            out.put_i32((position + index) as i32);
            out.put_zeros(8);
            out.extend(row);
            count += 1;
            if out.len() - start > PAGE || count >= most {
                break;
            }
        }
        out[start..start + 4].copy_from_slice(&(count as i32).to_be_bytes());
        let end = position - 1 + count >= held.rows.len();
        held.next = position + count;
        if self.version() >= 5 {
            out.put_i8(i8::from(end));
        }
        end
    }

    pub(super) fn handle_at(&mut self, number: i32) -> Result<&mut Handle> {
        let at = usize::try_from(number - 1).map_err(|_| Error::cas(cas::HANDLE))?;
        self.handles.get_mut(at).and_then(Option::as_mut).ok_or_else(|| Error::cas(cas::HANDLE))
    }

    /// Keeps a handle under the lowest free number.
    pub(super) fn keep_handle(&mut self, handle: Handle) -> Result<i32> {
        let free = self.handles.iter().position(Option::is_none);
        let at = free.unwrap_or(self.handles.len());
        if at >= crate::limits::STATEMENTS {
            return Err(Error::cas(cas::TOO_MANY_STATEMENTS));
        }
        match free {
            Some(at) => self.handles[at] = Some(handle),
            None => self.handles.push(Some(handle)),
        }
        Ok(at as i32 + 1)
    }
}
