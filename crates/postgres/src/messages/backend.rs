//! Messages of the server: framing, and all bodies except rows.

use super::tag::field;
use crate::limits;
use crate::types::Oid;
use headrace_core::{Fatal, IN_DOUBT, TransactionStatus};

/// The message at the front of `bytes`: its type and its whole length with the type byte, or `None` while the
/// header is incomplete.
///
/// # Errors
/// [`Fatal`] for a length that no message can have.
pub fn header(bytes: &[u8]) -> Result<Option<(u8, usize)>, Fatal> {
    let [tag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let len = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=limits::MESSAGE_BYTES).contains(&len) {
        return Err(Fatal::peer(format!(
            "the server sent a message of type {:?} with the impossible length {len}; is this a PostgreSQL server?",
            char::from(tag)
        )));
    }
    Ok(Some((tag, len + 1)))
}

/// The status of the transaction that ReadyForQuery reports.
///
/// # Errors
/// [`Fatal`] for one that is not in the manual.
pub fn transaction_status(body: &[u8]) -> Result<TransactionStatus, Fatal> {
    match body {
        b"I" => Ok(TransactionStatus::Idle),
        b"T" => Ok(TransactionStatus::InTransaction),
        b"E" => Ok(TransactionStatus::Failed),
        _ => Err(Fatal::peer("the server sent ReadyForQuery with an unknown transaction status")),
    }
}

/// Reads a body from front to back; every getter returns [`Fatal`] if the body is too short.
#[derive(Debug)]
pub struct Body<'a> {
    rest: &'a [u8],
    name: &'static str,
}

impl<'a> Body<'a> {
    /// A reader of the body of the message called `name`.
    pub fn new(name: &'static str, rest: &'a [u8]) -> Self {
        Self { rest, name }
    }

    fn short(&self) -> Fatal {
        Fatal::peer(format!("the server sent a {} message that is too short", self.name))
    }

    /// `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fatal> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(head)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Checks that everything was read.
    ///
    /// # Errors
    /// [`Fatal`] if bytes are left: the message is not what its type byte claims.
    pub fn end(&self) -> Result<(), Fatal> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Fatal::peer(format!("the server sent a {} message with {} bytes too many", self.name, self.rest.len())))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fatal> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(*head)
    }

    /// Int8.
    pub fn u8(&mut self) -> Result<u8, Fatal> {
        Ok(self.array::<1>()?[0])
    }

    /// Int16.
    pub fn i16(&mut self) -> Result<i16, Fatal> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Int32.
    pub fn i32(&mut self) -> Result<i32, Fatal> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Int32, unsigned.
    pub fn u32(&mut self) -> Result<u32, Fatal> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A string that ends in a zero byte.
    pub fn cstr(&mut self) -> Result<&'a [u8], Fatal> {
        let end = self.rest.iter().position(|&b| b == 0).ok_or_else(|| self.short())?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// A string that ends in a zero byte; invalid UTF-8 is replaced.
    pub fn text(&mut self) -> Result<String, Fatal> {
        Ok(String::from_utf8_lossy(self.cstr()?).into_owned())
    }
}

/// One column of RowDescription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// The OID of the table that it comes from, or 0.
    pub table: Oid,
    /// Its number in that table, or 0.
    pub number: i16,
    /// Its type.
    pub type_oid: Oid,
    /// The type's size in bytes, negative for variable ones.
    pub type_size: i16,
    /// The type's modifier, -1 for none.
    pub type_modifier: i32,
    /// 0 text, 1 binary; 0 in a description of a statement.
    pub format: i16,
}

/// RowDescription.
pub fn row_description(body: &[u8]) -> Result<Vec<Field>, Fatal> {
    let mut body = Body::new("RowDescription", body);
    let n = body.i16()?;
    let mut fields = Vec::with_capacity(usize::try_from(n).unwrap_or(0).min(1664));
    for _ in 0..n {
        fields.push(Field {
            name: body.text()?,
            table: body.u32()?,
            number: body.i16()?,
            type_oid: body.u32()?,
            type_size: body.i16()?,
            type_modifier: body.i32()?,
            format: body.i16()?,
        });
    }
    body.end()?;
    Ok(fields)
}

/// ParameterDescription.
pub fn parameter_description(body: &[u8]) -> Result<Vec<Oid>, Fatal> {
    let mut body = Body::new("ParameterDescription", body);
    let n = body.i16()? as u16;
    let types = (0..n).map(|_| body.u32()).collect::<Result<_, _>>()?;
    body.end()?;
    Ok(types)
}

/// ErrorResponse or NoticeResponse: the server's texts, by the one-letter field codes of the manual ("Error and Notice
/// Message Fields").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// Each field's code and text.
    pub fields: Vec<(u8, String)>,
}

impl ServerError {
    /// Reads the body.
    pub fn parse(body: &[u8]) -> Result<Self, Fatal> {
        let mut body = Body::new("ErrorResponse", body);
        let mut fields = Vec::new();
        loop {
            match body.u8()? {
                0 => {
                    body.end()?;
                    return Ok(Self { fields });
                }
                code => fields.push((code, body.text()?)),
            }
        }
    }

    /// A field, or the empty string.
    pub fn field(&self, code: u8) -> &str {
        self.fields.iter().find(|(c, _)| *c == code).map_or("", |(_, text)| text)
    }

    /// The SQLSTATE.
    pub fn sqlstate(&self) -> &str {
        self.field(field::CODE)
    }

    /// The error of a request that the server may have executed before it ended the session.
    pub fn in_doubt(mut self) -> Self {
        if let Some((_, message)) = self.fields.iter_mut().find(|(code, _)| *code == field::MESSAGE) {
            *message = format!("{message}; {IN_DOUBT}");
        }
        self
    }

    /// Returns true if the server ends the session with it (FATAL, PANIC).
    pub fn is_fatal(&self) -> bool {
        let severity = match self.field(field::SEVERITY_UNTRANSLATED) {
            "" => self.field(field::SEVERITY),
            plain => plain,
        };
        matches!(severity, "FATAL" | "PANIC")
    }
}

/// NotificationResponse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The process that notified.
    pub process_id: i32,
    /// The channel.
    pub channel: String,
    /// The payload, empty when there was none.
    pub payload: String,
}

impl Notification {
    /// Reads the body.
    pub fn parse(body: &[u8]) -> Result<Self, Fatal> {
        let mut body = Body::new("NotificationResponse", body);
        let read = Self { process_id: body.i32()?, channel: body.text()?, payload: body.text()? };
        body.end()?;
        Ok(read)
    }
}

/// CopyInResponse, CopyOutResponse: whether all of it is binary, and the number of columns.
pub fn copy_response(body: &[u8]) -> Result<(bool, usize), Fatal> {
    let mut body = Body::new("CopyResponse", body);
    let binary = body.u8()? != 0;
    let columns = usize::try_from(body.i16()?).unwrap_or(0);
    body.bytes(2 * columns)?;
    body.end()?;
    Ok((binary, columns))
}

/// CommandComplete: its tag.
pub fn command_complete(body: &[u8]) -> Result<&[u8], Fatal> {
    let mut body = Body::new("CommandComplete", body);
    let tag = body.cstr()?;
    body.end()?;
    Ok(tag)
}

/// ParameterStatus: a name and its value.
pub fn parameter_status(body: &[u8]) -> Result<(String, String), Fatal> {
    let mut body = Body::new("ParameterStatus", body);
    let read = (body.text()?, body.text()?);
    body.end()?;
    Ok(read)
}

/// A message that is nothing but its type.
pub fn empty(name: &'static str, body: &[u8]) -> Result<(), Fatal> {
    Body::new(name, body).end()
}

/// The part of a command tag that counts rows: 5 in `INSERT 0 5`, `UPDATE 5`, `SELECT 5`, `COPY 5`.
pub fn rows_of_tag(tag: &[u8]) -> Option<u64> {
    let last = tag.rsplit(|&b| b == b' ').next()?;
    if last.len() == tag.len() || last.is_empty() {
        return None;
    }
    std::str::from_utf8(last).ok().filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_from_tags() {
        for (tag, rows) in [
            ("INSERT 0 5", Some(5)),
            ("UPDATE 0", Some(0)),
            ("SELECT 100000", Some(100_000)),
            ("BEGIN", None),
            ("CREATE TABLE", None),
            ("", None),
            ("SELECT 99999999999999999999", None),
        ] {
            assert_eq!(rows_of_tag(tag.as_bytes()), rows, "{tag}");
        }
    }

    #[test]
    fn a_lying_length_is_refused() {
        assert!(header(b"D\0\0\0\x03").is_err());
        assert!(header(b"D\xff\xff\xff\xff").is_err());
        assert_eq!(header(b"D\0\0\0").unwrap(), None);
        assert_eq!(header(b"Z\0\0\0\x05I").unwrap(), Some((b'Z', 6)));
    }

    #[test]
    fn short_bodies_are_refused_not_read_past() {
        let whole = b"\0\x01id\0\0\0\0\x01\0\x02\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
        assert_eq!(row_description(whole).unwrap()[0].type_oid, 23);
        for cut in 0..whole.len() {
            assert!(row_description(&whole[..cut]).is_err(), "{cut}");
        }
        let error = b"SERROR\0C42601\0Mno\0\0";
        assert_eq!(ServerError::parse(error).unwrap().sqlstate(), "42601");
        for cut in 0..error.len() {
            assert!(ServerError::parse(&error[..cut]).is_err(), "{cut}");
        }
    }
}
