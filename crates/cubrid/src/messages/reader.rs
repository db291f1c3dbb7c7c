//! Reads the fields of a payload that has come as a whole.

use headrace_core::{CodeSet, Fatal};

/// The rest of a payload.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// That of the database, in which names and messages are.
    codeset: CodeSet,
}

fn short() -> Fatal {
    Fatal::peer("the server sent a message that ends within a field")
}

impl<'a> Reader<'a> {
    /// At the beginning of a payload.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::coded(bytes, CodeSet::Utf8)
    }

    /// At the beginning of a payload from a database in this code set.
    pub fn coded(bytes: &'a [u8], codeset: CodeSet) -> Self {
        Self { bytes, codeset }
    }

    /// A name or message, for people.
    pub fn string(&self, bytes: &[u8]) -> String {
        self.codeset.decode_string(bytes)
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`Fatal`], as of all methods, if the payload is shorter.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Fatal> {
        let (taken, rest) = self.bytes.split_at_checked(n).ok_or_else(short)?;
        self.bytes = rest;
        Ok(taken)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Fatal> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or_else(short)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Fatal> {
        self.chunk().map(|[byte]| byte)
    }

    /// 16 bits.
    #[inline]
    pub fn i16(&mut self) -> Result<i16, Fatal> {
        self.chunk().map(i16::from_be_bytes)
    }

    /// 32 bits.
    #[inline]
    pub fn i32(&mut self) -> Result<i32, Fatal> {
        self.chunk().map(i32::from_be_bytes)
    }

    /// 64 bits.
    #[inline]
    pub fn i64(&mut self) -> Result<i64, Fatal> {
        self.chunk().map(i64::from_be_bytes)
    }

    /// A number of items or bytes.
    pub fn count(&mut self, what: &str) -> Result<usize, Fatal> {
        let count = self.i32()?;
        usize::try_from(count).map_err(|_| Fatal::peer(format!("the server announced {count} {what}")))
    }

    /// A text after its length, without the NUL that the length counts.
    pub fn text(&mut self) -> Result<&'a [u8], Fatal> {
        let length = self.count("bytes of a text")?;
        let text = self.take(length)?;
        Ok(text.strip_suffix(&[0]).unwrap_or(text))
    }

    /// The value of a cell after its size; `None` for NULL, which has the size -1.
    #[inline]
    pub fn cell(&mut self) -> Result<Option<&'a [u8]>, Fatal> {
        match self.i32()? {
            -1 => Ok(None),
            size => {
                let size = usize::try_from(size);
                let size = size.map_err(|_| Fatal::peer("the server sent a value of a negative size"))?;
                self.take(size).map(Some)
            }
        }
    }

    /// The payload is over.
    pub fn end(&self) -> Result<(), Fatal> {
        match self.bytes.len() {
            0 => Ok(()),
            rest => Err(Fatal::peer(format!("the server sent {rest} bytes after the end of a reply"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_with_the_payload() {
        let mut reader = Reader::new(&[1, 0, 2, 0, 0, 0, 3, b'a', b'b', 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        assert_eq!((reader.u8().unwrap(), reader.i16().unwrap()), (1, 2));
        assert_eq!(reader.text().unwrap(), b"ab");
        assert_eq!((reader.cell().unwrap(), reader.end().is_err()), (None, true));
        assert_eq!(reader.cell().unwrap(), Some(&b""[..]));
        assert!(reader.end().is_ok() && reader.u8().is_err() && reader.rest().is_empty());
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0xfe]).cell().is_err());
        assert!(Reader::new(&[0x80, 0, 0, 0]).count("rows").is_err());
    }
}
