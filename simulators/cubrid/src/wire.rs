//! Reading arguments and writing replies. All integers are big-endian.

use crate::errors::{Error, Result, cas};

/// Writes the fields of a reply.
pub trait Output {
    /// One byte.
    fn put_i8(&mut self, value: i8);
    /// Two bytes.
    fn put_i16(&mut self, value: i16);
    /// Four bytes.
    fn put_i32(&mut self, value: i32);
    /// Eight bytes.
    fn put_i64(&mut self, value: i64);
    /// A length and a text with its NUL.
    fn put_text(&mut self, text: &[u8]);
    /// Nothing: an object identifier that was not asked for, or a cache time.
    fn put_zeros(&mut self, count: usize);
}

impl Output for Vec<u8> {
    fn put_i8(&mut self, value: i8) {
        self.extend(value.to_be_bytes());
    }

    fn put_i16(&mut self, value: i16) {
        self.extend(value.to_be_bytes());
    }

    fn put_i32(&mut self, value: i32) {
        self.extend(value.to_be_bytes());
    }

    fn put_i64(&mut self, value: i64) {
        self.extend(value.to_be_bytes());
    }

    fn put_text(&mut self, text: &[u8]) {
        self.put_i32(text.len() as i32 + 1);
        self.extend(text);
        self.push(0);
    }

    fn put_zeros(&mut self, count: usize) {
        self.resize(self.len() + count, 0);
    }
}

/// The arguments of a request.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    all: Vec<&'a [u8]>,
    next: usize,
}

impl<'a> Arguments<'a> {
    /// Splits a payload behind its function code.
    ///
    /// # Errors
    /// -10003 if an argument runs past the end.
    pub fn split(mut payload: &'a [u8]) -> Result<Self> {
        let broken = || Error::cas(cas::COMMUNICATION);
        let mut all = Vec::new();
        while !payload.is_empty() {
            let (length, rest) = payload.split_at_checked(4).ok_or_else(broken)?;
            let length = i32::from_be_bytes(length.try_into().unwrap_or_default());
            let length = usize::try_from(length).map_err(|_| broken())?;
            let (argument, rest) = rest.split_at_checked(length).ok_or_else(broken)?;
            all.push(argument);
            payload = rest;
        }
        Ok(Self { all, next: 0 })
    }

    /// Returns true if the argument at a place, which need not be the next one, is a flag that is set.
    pub fn is_set(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|argument| **argument == [1])
    }

    /// The number of arguments that are left.
    pub fn left(&self) -> usize {
        self.all.len() - self.next
    }

    /// The next argument.
    ///
    /// # Errors
    /// -10004 if there is none.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let found = self.all.get(self.next).ok_or_else(|| Error::cas(cas::ARGUMENTS))?;
        self.next += 1;
        Ok(found)
    }

    /// A byte; 0 if the argument is absent.
    pub fn i8(&mut self) -> Result<i8> {
        Ok(self.bytes()?.first().map_or(0, |byte| *byte as i8))
    }

    /// An integer; 0 if the argument is absent.
    pub fn i32(&mut self) -> Result<i32> {
        Ok(self.bytes()?.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes)))
    }

    /// A long integer; 0 if the argument is absent.
    pub fn i64(&mut self) -> Result<i64> {
        Ok(self.bytes()?.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes)))
    }

    /// A text without its NUL; nothing if the argument is absent.
    pub fn text(&mut self) -> Result<Option<&'a [u8]>> {
        let bytes = self.bytes()?;
        Ok(match bytes {
            [] => None,
            [text @ .., 0] => Some(text),
            text => Some(text),
        })
    }
}
