//! The protocol's data types: integers, length-encoded integers, strings. MySQL: "Protocol Basics, Data Types";
//! MariaDB: "Protocol data types".

use headrace_core::Fatal;

/// What a length-encoded integer begins with ("Protocol::LengthEncodedInteger").
pub mod lenenc {
    /// The largest number that is its own length-encoded integer.
    pub const MAX: u8 = 0xfa;
    /// NULL, in place of a value of a row of the text protocol.
    pub const NULL: u8 = 0xfb;
    /// Two bytes of a number follow.
    pub const U16: u8 = 0xfc;
    /// Three bytes follow.
    pub const U24: u8 = 0xfd;
    /// Eight bytes follow.
    pub const U64: u8 = 0xfe;
}

/// Reads the parts of a packet's payload in order.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    /// A reader of a packet that errors will call `what`.
    pub fn new(what: &'static str, payload: &'a [u8]) -> Self {
        Self { what, rest: payload }
    }

    #[cold]
    fn short(&self) -> Fatal {
        Fatal::peer(format!("the server sent a malformed {}: it ends too early", self.what))
    }

    /// The next `n` bytes: `string<fix>`.
    ///
    /// # Errors
    /// [`Fatal`], as for every reader here, when the payload ends before.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fatal> {
        if n > self.rest.len() {
            return Err(self.short());
        }
        let (head, tail) = self.rest.split_at(n);
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fatal> {
        let Some((head, tail)) = self.rest.split_first_chunk::<N>() else { return Err(self.short()) };
        self.rest = tail;
        Ok(*head)
    }

    /// `int<1>`
    pub fn u8(&mut self) -> Result<u8, Fatal> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// `int<2>`
    pub fn u16(&mut self) -> Result<u16, Fatal> {
        self.array().map(u16::from_le_bytes)
    }

    /// `int<4>`
    pub fn u32(&mut self) -> Result<u32, Fatal> {
        self.array().map(u32::from_le_bytes)
    }

    /// `int<lenenc>`
    pub fn lenenc(&mut self) -> Result<u64, Fatal> {
        match (split_lenenc(self.rest), self.rest.first()) {
            (Some((n, tail)), _) => {
                self.rest = tail;
                Ok(n)
            }
            (None, Some(&byte @ (lenenc::NULL | u8::MAX))) => Err(Fatal::peer(format!(
                "the server sent a malformed {}: {byte:#x} begins no length-encoded integer",
                self.what
            ))),
            (None, _) => Err(self.short()),
        }
    }

    /// `string<lenenc>`
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Fatal> {
        let n = self.lenenc()?;
        self.bytes(usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// `string<lenenc>` as text.
    pub fn lenenc_text(&mut self) -> Result<String, Fatal> {
        Ok(String::from_utf8_lossy(self.lenenc_bytes()?).into_owned())
    }

    /// `string<NUL>`; the end of the payload counts as NUL, since some servers leave the last one out.
    pub fn nul_bytes(&mut self) -> &'a [u8] {
        match self.rest.iter().position(|byte| *byte == 0) {
            Some(at) => {
                let text = &self.rest[..at];
                self.rest = &self.rest[at + 1..];
                text
            }
            None => self.rest(),
        }
    }

    /// Everything that is left: `string<EOF>`.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// True when nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// The `int<lenenc>` at the front, and what follows it; `None` where there is none, or not all of it.
#[inline]
pub fn split_lenenc(rest: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, tail) = rest.split_first()?;
    Some(match first {
        n @ ..=lenenc::MAX => (u64::from(n), tail),
        lenenc::U16 => {
            let (n, tail) = tail.split_first_chunk()?;
            (u64::from(u16::from_le_bytes(*n)), tail)
        }
        lenenc::U24 => {
            let ([a, b, c], tail) = tail.split_first_chunk()?;
            (u64::from(u32::from_le_bytes([*a, *b, *c, 0])), tail)
        }
        lenenc::U64 => {
            let (n, tail) = tail.split_first_chunk()?;
            (u64::from_le_bytes(*n), tail)
        }
        _ => return None,
    })
}

/// Appends `int<lenenc>`.
pub fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    match n {
        0..=0xfa => out.push(n as u8),
        0xfb..=0xffff => {
            out.push(lenenc::U16);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(lenenc::U24);
            out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(lenenc::U64);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends `string<lenenc>`.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers_as_the_manual_lists_them() {
        for (n, bytes) in [
            (0u64, &[0u8][..]),
            (250, &[0xfa]),
            (251, &[0xfc, 0xfb, 0]),
            (65_535, &[0xfc, 0xff, 0xff]),
            (65_536, &[0xfd, 0, 0, 1]),
            (16_777_215, &[0xfd, 0xff, 0xff, 0xff]),
            (16_777_216, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ] {
            let mut out = Vec::new();
            put_lenenc(&mut out, n);
            assert_eq!(out, bytes);
            assert_eq!(Body::new("test", bytes).lenenc().unwrap(), n);
            for cut in 0..bytes.len() {
                assert!(Body::new("test", &bytes[..cut]).lenenc().is_err());
            }
        }
        assert!(Body::new("test", &[0xfb]).lenenc().is_err(), "NULL is not a number");
    }

    #[test]
    fn strings() {
        let mut body = Body::new("test", b"\x03abcde\0rest");
        assert_eq!(body.lenenc_bytes().unwrap(), b"abc");
        assert_eq!(body.nul_bytes(), b"de");
        assert_eq!(body.nul_bytes(), b"rest");
        assert!(body.is_empty());
        assert!(body.bytes(1).unwrap_err().message.contains("malformed test"));
    }
}
