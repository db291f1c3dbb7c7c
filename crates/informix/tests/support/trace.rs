//! The names of the messages that a client sent.

use headrace_informix::codeset::CodeSet;
use headrace_informix::messages::{client, tag};
use headrace_informix::types::code;
use headrace_testkit::{Trace, hex};

/// The messages of a client after its login: `SQ_PREPARE select 1`, `SQ_ID 4`, `SQ_BIND 7, NULL, 'text'`.
pub fn trace(sent: &[u8]) -> Trace {
    Trace::read(sent, |sent| {
        let mut body = Body(sent);
        let tag = body.u16()?;
        let about = body.about(tag)?;
        let name = tag::name(tag)?;
        let message = if about.is_empty() { name.to_owned() } else { format!("{name} {about}") };
        Some((message, sent.len() - body.0.len()))
    })
}

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.bytes(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes(4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// This number of bytes and the pad byte after an odd number of them.
    fn padded(&mut self, len: usize) -> Option<&'a [u8]> {
        self.bytes(len + len % 2).map(|bytes| &bytes[..len])
    }

    fn char(&mut self) -> Option<String> {
        let len = self.u16()?;
        self.padded(len.into()).map(text)
    }

    /// Text of a length of 32 bits.
    fn long(&mut self) -> Option<String> {
        let len = self.u32()?;
        self.padded(len as usize).map(text)
    }

    fn about(&mut self, tag: u16) -> Option<String> {
        Some(match tag {
            tag::SQ_COMMAND | tag::SQ_PREPARE => {
                self.u16()?;
                self.long()?
            }
            tag::SQ_ID | tag::SQ_RBWORK => self.u16()?.to_string(),
            tag::SQ_CURNAME | tag::SQ_SQLIRELSVPT | tag::SQ_SQLIRBACKSVPT | tag::SQ_BLOB => self.char()?,
            tag::SQ_SQLISETSVPT | tag::SQ_DBOPEN => {
                let name = self.char()?;
                self.u16()?;
                name
            }
            tag::SQ_BIND => {
                let count = self.u16()?;
                (0..count).map(|_| self.parameter()).collect::<Option<Vec<_>>>()?.join(", ")
            }
            tag::SQ_BBIND => self.u16()?.to_string(),
            tag::SQ_NFETCH => {
                let bytes = self.u32()?;
                self.u16()?;
                bytes.to_string()
            }
            tag::SQ_RET_TYPE => {
                let (_, count) = (self.u16()?, self.u16()?);
                (0..count).map(|_| self.column()).collect::<Option<Vec<_>>>()?.join(", ")
            }
            tag::SQ_PUT => {
                let (len, rows) = (self.u32()?, self.u16()?);
                self.padded(len as usize)?;
                format!("{rows} of {len} bytes")
            }
            tag::SQ_FETCHBLOB => {
                self.bytes(56)?;
                String::new()
            }
            tag::SQ_OPEN | tag::SQ_EXECUTE | tag::SQ_CLOSE | tag::SQ_RELEASE | tag::SQ_EOT | tag::SQ_CMMTWORK => {
                String::new()
            }
            tag::SQ_NDESCRIBE | tag::SQ_CIDESCRIBE | tag::SQ_WANTDONE | tag::SQ_BEGIN | tag::SQ_VERSION => {
                String::new()
            }
            _ => return None,
        })
    }

    fn column(&mut self) -> Option<String> {
        let kind = self.u16()?;
        if client::is_named(kind) {
            self.char()?;
            self.char()?;
        }
        self.u32().map(|length| format!("{kind}:{length}"))
    }

    fn parameter(&mut self) -> Option<String> {
        let kind = self.u16()?;
        // NULL has no owner and name.
        let is_null = self.0.starts_with(&[0xff, 0xff]);
        if client::is_named(kind) && !is_null {
            self.char()?;
            self.char()?;
        }
        let (_, _) = (self.u16()?, self.u16()?);
        if is_null {
            return Some("NULL".to_owned());
        }
        Some(match kind {
            code::CHAR => format!("'{}'", self.char()?),
            code::SMALLINT => self.u16()?.cast_signed().to_string(),
            code::INTEGER | code::DATE => self.u32()?.cast_signed().to_string(),
            code::FLOAT | code::BIGINT => hex(self.bytes(8)?),
            code::INT8 => hex(self.bytes(10)?),
            code::TEXT | code::BYTE => format!("{} bytes", self.bytes(56)?[19]),
            _ if client::is_named(kind) => self.long()?,
            _ => {
                let len = self.u16()?;
                hex(self.padded(len.into())?)
            }
        })
    }
}

fn text(bytes: &[u8]) -> String {
    CodeSet::Latin1.decode_string(bytes)
}
