//! Bytes in and bytes out: the primitive fields that every SQLI message is made of.

use std::io::{self, Read};

use crate::limits::{FIELD, READ_BUFFER};

/// The bytes of the client, read field by field; a field that has not arrived yet blocks.
pub struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input<&[u8]> {
    /// Reads `bytes`, after which nothing more comes.
    pub fn whole(bytes: &[u8]) -> Self {
        Self { source: &[], buffer: bytes.to_vec(), start: 0, end: bytes.len() }
    }
}

impl<R: Read> Input<R> {
    /// Reads from `source`.
    pub fn new(source: R) -> Self {
        Self { source, buffer: vec![0; READ_BUFFER], start: 0, end: 0 }
    }

    /// The source of the bytes.
    pub fn source(&mut self) -> &mut R {
        &mut self.source
    }

    /// Returns true if bytes have come already, so that the next group may be answered before the replies are flushed.
    pub fn has_buffered(&self) -> bool {
        self.end > self.start
    }

    /// True if nothing more comes.
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        match self.need(1) {
            Ok(()) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn need(&mut self, count: usize) -> io::Result<()> {
        if self.end - self.start >= count {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
        while self.end < count {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.need(N)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.buffer[self.start..self.start + N]);
        self.start += N;
        Ok(bytes)
    }

    /// One byte.
    pub fn u8(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, unsigned.
    pub fn u16(&mut self) -> io::Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Two bytes, signed.
    pub fn i16(&mut self) -> io::Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Four bytes, signed.
    pub fn i32(&mut self) -> io::Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// `count` bytes as they are.
    pub fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        // A length that no message can have shows that the position in the stream is wrong: an error is better than the
        // allocation.
        if count > FIELD {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a field of {count} bytes")));
        }
        self.need(count)?;
        let bytes = self.buffer[self.start..self.start + count].to_vec();
        self.start += count;
        Ok(bytes)
    }

    /// `count` bytes and the byte that pads an odd count.
    pub fn padded(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let bytes = self.bytes(count)?;
        if count % 2 == 1 {
            self.u8()?;
        }
        Ok(bytes)
    }

    /// A CHAR field: a short length, the bytes, padding.
    pub fn chars(&mut self) -> io::Result<Vec<u8>> {
        let count = self.u16()?;
        self.padded(usize::from(count))
    }

    /// An int32 length, the bytes, padding.
    pub fn long_chars(&mut self) -> io::Result<Vec<u8>> {
        let count = self.i32()?;
        let count = usize::try_from(count)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("a field of {count} bytes")))?;
        self.padded(count)
    }
}

/// The fields of a reply, appended to a byte vector.
pub trait Output {
    /// The bytes so far.
    fn out(&mut self) -> &mut Vec<u8>;

    /// One byte.
    fn put_u8(&mut self, value: u8) {
        self.out().push(value);
    }

    /// Two bytes, unsigned.
    fn put_u16(&mut self, value: u16) {
        self.out().extend_from_slice(&value.to_be_bytes());
    }

    /// Two bytes, signed.
    fn put_i16(&mut self, value: i16) {
        self.out().extend_from_slice(&value.to_be_bytes());
    }

    /// Four bytes, signed.
    fn put_i32(&mut self, value: i32) {
        self.out().extend_from_slice(&value.to_be_bytes());
    }

    /// Eight bytes, signed.
    fn put_i64(&mut self, value: i64) {
        self.out().extend_from_slice(&value.to_be_bytes());
    }

    /// Bytes and the byte that pads an odd count.
    fn put_padded(&mut self, bytes: &[u8]) {
        self.out().extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            self.out().push(0);
        }
    }

    /// A CHAR field.
    fn put_chars(&mut self, bytes: &[u8]) {
        self.put_u16(u16::try_from(bytes.len()).unwrap_or(u16::MAX));
        self.put_padded(&bytes[..bytes.len().min(usize::from(u16::MAX))]);
    }

    /// A login string: its length counts the zero byte that ends it, and it is never padded.
    fn put_login_string(&mut self, text: &str) {
        self.put_u16(u16::try_from(text.len() + 1).unwrap_or(u16::MAX));
        self.out().extend_from_slice(text.as_bytes());
        self.out().push(0);
    }
}

impl Output for Vec<u8> {
    fn out(&mut self) -> &mut Vec<u8> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_chars_are_padded_both_ways() {
        let mut bytes = Vec::new();
        bytes.put_chars(b"odd");
        assert_eq!(bytes, b"\0\x03odd\0");
        let mut input = Input::new(&bytes[..]);
        assert_eq!(input.chars().unwrap(), b"odd");
        assert!(!input.has_buffered());
    }

    #[test]
    fn an_absurd_length_is_refused() {
        assert!(Input::new(&b"\x7f\xff\xff\xff"[..]).long_chars().is_err());
    }
}
