//! The messages of a client, in the extended and in the simple protocol (manual, "Message Formats").

use crate::limits::WHOLE_MESSAGE;
use headrace_postgres::messages::tag::frontend as tag;
use headrace_postgres::types::{Format, Oid};

/// Bytes of a message's type and length.
const HEADER_BYTES: usize = 5;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A text of statements.
    Query(&'a str),
    /// Prepare a statement.
    Parse {
        /// Its name, empty for the unnamed one.
        name: &'a str,
        /// Its text.
        sql: &'a str,
        /// The types of its first parameters; 0 for one that is not given.
        types: Vec<Oid>,
    },
    /// Bind parameters to a statement.
    Bind(Bind<'a>),
    /// Describe a statement.
    DescribeStatement(&'a str),
    /// Describe a portal.
    DescribePortal(&'a str),
    /// Execute a portal.
    Execute {
        /// Its name.
        portal: &'a str,
        /// The number of rows; 0 for all.
        rows: u32,
    },
    /// Forget a statement.
    CloseStatement(&'a str),
    /// Forget a portal.
    ClosePortal(&'a str),
    /// Send what there is.
    Flush,
    /// The end of a group of messages.
    Sync,
    /// The client leaves.
    Terminate,
    /// Data of a COPY, after it has failed.
    Copy,
    /// A message that the daemon does not take, by its type.
    Other(u8),
}

/// Parameters of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// The portal that is made.
    pub portal: &'a str,
    /// The statement.
    pub statement: &'a str,
    /// The values, each with its format; `None` for NULL.
    pub values: Vec<(Format, Option<&'a [u8]>)>,
    /// The formats of the result's columns: none for text, one for all, or one for each.
    pub results: Vec<Format>,
}

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It does not have the form that the protocol prescribes.
    Malformed(String),
    /// It is longer than the daemon keeps in memory.
    TooLarge(String),
}

/// The bytes that the first message has, if its header has come.
///
/// # Errors
/// [`Broken`]: no message can have this length.
pub fn length(unread: &[u8]) -> Result<Option<usize>, Broken> {
    let [_, a, b, c, d, ..] = unread else { return Ok(None) };
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    if length < 4 {
        return Err(Broken::Malformed(format!("a message has the impossible length {length}")));
    }
    if length > WHOLE_MESSAGE {
        return Err(Broken::TooLarge(format!("a message has {length} bytes, more than {WHOLE_MESSAGE}")));
    }
    Ok(Some(length + 1))
}

impl<'a> Message<'a> {
    /// Reads a whole message, type and length included.
    ///
    /// # Errors
    /// [`Broken`]: it is malformed.
    pub fn read(message: &'a [u8]) -> Result<Self, Broken> {
        let (Some(kind), Some(body)) = (message.first(), message.get(HEADER_BYTES..)) else {
            return Err(Broken::Malformed("a message of the client ends before its last field".into()));
        };
        let mut body = Body { rest: body };
        let read = match *kind {
            tag::QUERY => Self::Query(body.text()?),
            tag::PARSE => Self::Parse { name: body.text()?, sql: body.text()?, types: body.list(Body::u32)? },
            tag::BIND => Self::Bind(Bind::read(&mut body)?),
            tag::DESCRIBE => match (body.u8()?, body.text()?) {
                (b'S', name) => Self::DescribeStatement(name),
                (b'P', name) => Self::DescribePortal(name),
                _ => return Err(Broken::Malformed("a Describe is of neither a statement nor a portal".into())),
            },
            tag::EXECUTE => Self::Execute { portal: body.text()?, rows: body.u32()? },
            tag::CLOSE => match (body.u8()?, body.text()?) {
                (b'S', name) => Self::CloseStatement(name),
                (b'P', name) => Self::ClosePortal(name),
                _ => return Err(Broken::Malformed("a Close is of neither a statement nor a portal".into())),
            },
            tag::FLUSH => Self::Flush,
            tag::SYNC => Self::Sync,
            tag::TERMINATE => Self::Terminate,
            tag::COPY_DATA | tag::COPY_DONE | tag::COPY_FAIL => return Ok(Self::Copy),
            other => return Ok(Self::Other(other)),
        };
        match body.rest {
            [] => Ok(read),
            rest => Err(Broken::Malformed(format!(
                "a message of type {:?} has {} bytes too many",
                *kind as char,
                rest.len()
            ))),
        }
    }
}

impl<'a> Bind<'a> {
    fn read(body: &mut Body<'a>) -> Result<Self, Broken> {
        let (portal, statement) = (body.text()?, body.text()?);
        let formats = body.list(Body::format)?;
        let count = body.u16()?;
        if formats.len() > 1 && formats.len() != usize::from(count) {
            return Err(Broken::Malformed(format!("a Bind has {} formats for {count} parameters", formats.len())));
        }
        let mut values = Vec::new();
        for number in 0..usize::from(count) {
            let format = formats.get(number).or(formats.first().filter(|_| formats.len() == 1));
            values.push((format.copied().unwrap_or(Format::Text), body.value()?));
        }
        Ok(Self { portal, statement, values, results: body.list(Body::format)? })
    }
}

struct Body<'a> {
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self
            .rest
            .split_at_checked(bytes)
            .ok_or_else(|| Broken::Malformed("a message is shorter than its parts".into()))?;
        self.rest = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8, Broken> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, Broken> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32, Broken> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn text(&mut self) -> Result<&'a str, Broken> {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let end =
            end.ok_or_else(|| Broken::Malformed("a string in a message of the client is not terminated".into()))?;
        let text = std::str::from_utf8(&self.rest[..end]);
        self.rest = &self.rest[end + 1..];
        text.map_err(|_| Broken::Malformed("a text in a message is not UTF-8".into()))
    }

    fn format(&mut self) -> Result<Format, Broken> {
        match self.u16()? {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(Broken::Malformed(format!("unknown format code {other} in a message of the client"))),
        }
    }

    fn value(&mut self) -> Result<Option<&'a [u8]>, Broken> {
        match self.u32()?.cast_signed() {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.take(length).map(Some),
                Err(_) => Err(Broken::Malformed(format!("a value has the impossible length {length}"))),
            },
        }
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, Broken>) -> Result<Vec<T>, Broken> {
        let count = self.u16()?;
        (0..count).map(|_| one(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_postgres::messages::frontend::message;

    fn bytes(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        message(&mut out, tag, |out| out.extend_from_slice(body));
        out
    }

    #[test]
    fn messages_are_read() {
        let parse = bytes(b'P', b"s\0select $1\0\0\x01\0\0\0\x17");
        let expected = Message::Parse { name: "s", sql: "select $1", types: vec![23] };
        assert_eq!(Message::read(&parse), Ok(expected));
        assert_eq!(length(&parse), Ok(Some(parse.len())));
        let bind = bytes(b'B', b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x02\0\x07\xff\xff\xff\xff\0\x01\0\x01");
        let values = vec![(Format::Binary, Some(&[0, 7][..])), (Format::Binary, None)];
        let bound = Bind { portal: "", statement: "s", values, results: vec![Format::Binary] };
        assert_eq!(Message::read(&bind), Ok(Message::Bind(bound)));
        assert_eq!(Message::read(&bytes(b'E', b"p\0\0\0\0\x05")), Ok(Message::Execute { portal: "p", rows: 5 }));
        assert_eq!(Message::read(&bytes(b'D', b"Sa\0")), Ok(Message::DescribeStatement("a")));
        assert_eq!(Message::read(&bytes(b'X', b"")), Ok(Message::Terminate));
        assert_eq!(Message::read(&bytes(b'F', b"whatever")), Ok(Message::Other(b'F')));
    }

    #[test]
    fn a_message_cut_or_extended_anywhere_is_refused() {
        for (tag, body) in [
            (b'P', &b"s\0select $1\0\0\x01\0\0\0\x17"[..]),
            (b'B', b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x02\0\x07\0\x01\0\x01"),
            (b'E', b"p\0\0\0\0\x05"),
            (b'D', b"Sa\0"),
            (b'C', b"Pa\0"),
            (b'Q', b"select 1\0"),
        ] {
            assert!(Message::read(&bytes(tag, body)).is_ok());
            assert!(Message::read(&bytes(tag, &[body, b"x"].concat())).is_err());
            for end in 0..body.len() {
                assert!(Message::read(&bytes(tag, &body[..end])).is_err(), "{tag} {end}");
            }
        }
        assert!(Message::read(&bytes(b'D', b"Xa\0")).is_err());
        assert!(Message::read(&bytes(b'Q', b"\xff\0")).is_err());
    }

    #[test]
    fn a_length_that_cannot_be_is_refused() {
        assert_eq!(length(b"Q\0\0\0"), Ok(None));
        assert!(matches!(length(b"Q\0\0\0\x03"), Err(Broken::Malformed(_))));
        assert!(matches!(length(b"Q\x7f\xff\xff\xff"), Err(Broken::TooLarge(_))));
    }
}
