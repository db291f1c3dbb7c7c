//! Large objects by request.

use headrace_simulator_common::lock;

use super::CasSession;
use crate::errors::{Error, Result};
use crate::limits::LOB_READ;
use crate::lobs;
use crate::types::code::*;
use crate::wire::{Arguments, Output};

impl CasSession {
    pub(super) fn lob_new(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let code = if arguments.i32()? == i32::from(CLOB) { CLOB } else { BLOB };
        let name = self.state.lobs.create(Vec::new());
        let handle = lobs::handle(code, 0, &name);
        lock(&self.state.own_lobs).push(name);
        body.put_i32(handle.len() as i32);
        body.extend(handle);
        Ok(())
    }

    pub(super) fn lob_write(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let handle = arguments.bytes()?;
        let at = arguments.i64()?;
        let data = arguments.bytes()?;
        let name = lobs::name(handle).ok_or_else(storage)?;
        if !self.state.lobs.append(&name, at, data) {
            return Err(storage());
        }
        body.put_i32(data.len() as i32);
        Ok(())
    }

    pub(super) fn lob_read(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let handle = arguments.bytes()?;
        let at = arguments.i64()?.max(0) as usize;
        let length = arguments.i32()?.max(0) as usize;
        let name = lobs::name(handle).ok_or_else(storage)?;
        let limit = lobs::size(handle).unwrap_or(0).max(0) as usize;
        let length = length.min(LOB_READ).min(limit.saturating_sub(at));
        let data = self.state.lobs.read(&name, at, length).ok_or_else(storage)?;
        body.put_i32(data.len() as i32);
        body.extend(data);
        Ok(())
    }

    /// The end of a transaction: objects that no row has got are gone.
    pub(super) fn drop_lobs(&self) {
        for name in std::mem::take(&mut *lock(&self.state.own_lobs)) {
            self.state.lobs.remove(&name);
        }
    }
}

fn storage() -> Error {
    Error::server(-1016, "POSIX external storage error: No such file or directory.")
}
