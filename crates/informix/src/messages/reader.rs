//! Reads messages of the server, field by field, as far as their bytes have come.

use headrace_core::{Fatal, limits};

/// Why there is no complete message.
#[derive(Debug)]
pub(super) enum Stop {
    /// At least this number of bytes is needed.
    More(usize),
    Bad(Fatal),
}

pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(n).filter(|end| *end <= limits::MESSAGE_BYTES);
        let end = end.ok_or_else(|| Stop::Bad(Fatal::peer("the server announced a message of more than 1 GiB")))?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More(end))?;
        self.at = end;
        Ok(taken)
    }
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Stop> {
        self.take(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }
    pub fn i16(&mut self) -> Result<i32, Stop> {
        self.u16().map(|v| i32::from(v as i16))
    }
    #[inline]
    pub fn i32(&mut self) -> Result<i32, Stop> {
        self.take(4).map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }
    pub fn i64(&mut self) -> Result<i64, Stop> {
        let high = self.i32()?;
        let low = self.i32()?;
        Ok(i64::from(high) << 32 | i64::from(low as u32))
    }
    pub fn len32(&mut self, what: &str) -> Result<usize, Stop> {
        let len = self.i32()?;
        usize::try_from(len).map_err(|_| Stop::Bad(Fatal::peer(format!("the server sent {what} of {len} bytes"))))
    }
    pub fn padded(&mut self, len: usize) -> Result<&'a [u8], Stop> {
        let taken = self.take(len + len % 2)?;
        Ok(&taken[..len])
    }
    pub fn chars(&mut self) -> Result<&'a [u8], Stop> {
        let len = usize::from(self.u16()?);
        self.padded(len)
    }
}
