//! What the server says. Messages have no length of their own, so each must be understood to find the next.

use super::client::is_named;
use super::tag::*;
use crate::capabilities::{Capabilities, Feature};
use crate::codeset::CodeSet;
use crate::types::code;
use headrace_core::{Fatal, limits};

/// SQ_ERR.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// The SQL error, negative.
    pub sqlcode: i32,
    /// The ISAM error behind it, or 0.
    pub isam: i32,
    /// The 1-based position in the statement, or 0.
    pub offset: i32,
    /// What the message is about: a table's name, the token at which the statement stopped making sense.
    pub token: String,
}

/// A column of SQ_DESCRIBE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The type in the low byte, flags above.
    pub type_word: u16,
    /// The extended type's number, 0 for built-in ones.
    pub extended_id: i32,
    /// The extended type's owner.
    pub owner: String,
    /// The extended type's name.
    pub type_name: String,
    /// The type that a distinct type is made of.
    pub source_type: i32,
    /// The encoded length: see [`crate::types`].
    pub length: i32,
}

/// SQ_DESCRIBE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// See [`super::kind`].
    pub kind: u16,
    /// The number that SQ_ID names the statement by.
    pub id: u16,
    /// The columns of the result; for an INSERT those that it fills.
    pub fields: Vec<Field>,
}

/// A value that a routine returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned<'a> {
    /// Its type.
    pub field: Field,
    /// As SQ_BIND has it, without lengths and padding; `None` is NULL.
    pub value: Option<&'a [u8]>,
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    /// SQ_DESCRIBE.
    Describe(Description),
    /// SQ_DONE.
    Done {
        /// The SQLCA warning bits.
        warnings: u16,
        /// Rows affected or fetched.
        rows: i64,
        /// The SERIAL value, or 0.
        serial: i32,
    },
    /// SQ_COST.
    Cost,
    /// SQ_INSERTDONE.
    InsertDone {
        /// The SERIAL8 value, or 0.
        serial8: i64,
        /// The BIGSERIAL value, or 0.
        bigserial: i64,
    },
    /// SQ_XACTSTAT.
    XactStat {
        /// Whether a transaction is open now.
        open: bool,
    },
    /// SQ_ERR.
    Err(ServerError),
    /// SQ_PUTERR.
    PutErr {
        /// Rows that were put before.
        rows: i32,
        /// What was wrong with the next.
        error: ServerError,
    },
    /// SQ_TUPLE.
    Tuple(&'a [u8]),
    /// SQ_TUPID.
    TupId(i32),
    /// SQ_BLOB: a piece, empty at the end.
    Blob(&'a [u8]),
    /// The answer to SQ_GETROUTINE.
    Routine {
        /// Its database.
        database: &'a [u8],
        /// Its handle.
        handle: i32,
    },
    /// SQ_FPROUTINE.
    Returned(Vec<Returned<'a>>),
    /// SQ_LODATA: what was read.
    Read(Vec<&'a [u8]>),
    /// SQ_LODATA: how many bytes were written.
    Written(i32),
    /// SQ_PROTOCOLS.
    Protocols(&'a [u8]),
    /// SQ_CHALLENGE.
    Challenge {
        /// What it is, by PAM's numbers: 1 a question whose answer is not shown, 2 one whose answer is, 3 an error, 4 a
        /// message.
        style: u16,
        /// Its text.
        text: &'a [u8],
    },
    /// SQ_ACCEPT.
    Accept,
    /// SQ_VERSION.
    Version(&'a [u8]),
    /// SQ_EXIT.
    Exit,
    /// SQ_EOT.
    Eot,
}

/// Why there is no message.
#[derive(Debug)]
enum Stop {
    /// So many bytes are needed at least.
    More(usize),
    Bad(Fatal),
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(n).filter(|end| *end <= limits::MESSAGE_BYTES);
        let end = end.ok_or_else(|| Stop::Bad(Fatal::peer("the server announced a message of more than 1 GiB")))?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More(end))?;
        self.at = end;
        Ok(taken)
    }
    fn u16(&mut self) -> Result<u16, Stop> {
        self.take(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }
    fn i16(&mut self) -> Result<i32, Stop> {
        self.u16().map(|v| i32::from(v as i16))
    }
    fn i32(&mut self) -> Result<i32, Stop> {
        self.take(4).map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }
    fn i64(&mut self) -> Result<i64, Stop> {
        let high = self.i32()?;
        let low = self.i32()?;
        Ok(i64::from(high) << 32 | i64::from(low as u32))
    }
    fn len32(&mut self, what: &str) -> Result<usize, Stop> {
        let len = self.i32()?;
        usize::try_from(len).map_err(|_| Stop::Bad(Fatal::peer(format!("the server sent {what} of {len} bytes"))))
    }
    fn padded(&mut self, len: usize) -> Result<&'a [u8], Stop> {
        let taken = self.take(len + len % 2)?;
        Ok(&taken[..len])
    }
    fn chars(&mut self) -> Result<&'a [u8], Stop> {
        let len = usize::from(self.u16()?);
        self.padded(len)
    }
}

/// Reads the message at the front of `bytes`, and says how long it is. Without a whole one it is `Err(Ok(n))`: the
/// message has at least `n` bytes.
///
/// # Errors
/// Also [`Fatal`], for what cannot be read: where the next message begins is then unknown.
pub fn read(
    bytes: &[u8],
    capabilities: Capabilities,
    codeset: CodeSet,
) -> Result<(Message<'_>, usize), Result<usize, Fatal>> {
    let mut reader = Reader { bytes, at: 0 };
    match message(&mut reader, capabilities, codeset) {
        Ok(message) => Ok((message, reader.at)),
        Err(Stop::More(n)) => Err(Ok(n)),
        Err(Stop::Bad(fatal)) => Err(Err(fatal)),
    }
}

fn message<'a>(r: &mut Reader<'a>, capabilities: Capabilities, codeset: CodeSet) -> Result<Message<'a>, Stop> {
    let tag = r.u16()?;
    Ok(match tag {
        SQ_TUPLE => {
            r.u16()?;
            let len = r.len32("a row")?;
            Message::Tuple(r.padded(len)?)
        }
        SQ_EOT => Message::Eot,
        SQ_DONE => {
            let warnings = r.u16()?;
            let wide = capabilities.has(Feature::WideCounters);
            let mut counter = || if wide { r.i64() } else { r.i32().map(i64::from) };
            let rows = counter()?;
            counter()?;
            Message::Done { warnings, rows, serial: r.i32()? }
        }
        SQ_COST => {
            r.take(8)?;
            Message::Cost
        }
        SQ_DESCRIBE => Message::Describe(description(r, capabilities, codeset)?),
        SQ_ERR => {
            let (sqlcode, isam) = (r.i16()?, r.i16()?);
            let offset = if capabilities.has(Feature::LongText) { r.i32()? } else { r.i16()? };
            // -368 is the one error without a text field.
            let token = if sqlcode == -368 { String::new() } else { codeset.decode_string(r.chars()?) };
            Message::Err(ServerError { sqlcode, isam, offset, token })
        }
        SQ_PUTERR => {
            let rows = r.i32()?;
            let (sqlcode, isam, offset) = (r.i16()?, r.i16()?, r.i32()?);
            let token = codeset.decode_string(r.chars()?);
            Message::PutErr { rows, error: ServerError { sqlcode, isam, offset, token } }
        }
        SQ_INSERTDONE => {
            let serial8 = crate::types::read_int8(r.take(10)?).unwrap_or(0);
            Message::InsertDone { serial8: i64::try_from(serial8).unwrap_or(0), bigserial: r.i64()? }
        }
        SQ_XACTSTAT => {
            r.u16()?;
            let open = r.u16()? != 0;
            r.u16()?;
            Message::XactStat { open }
        }
        SQ_TUPID => Message::TupId(r.i32()?),
        SQ_BLOB => Message::Blob(r.chars()?),
        SQ_GETROUTINE => Message::Routine { database: r.chars()?, handle: r.i32()? },
        SQ_FPROUTINE => {
            let count = r.u16()?;
            Message::Returned((0..count).map(|_| returned(r, codeset)).collect::<Result<_, _>>()?)
        }
        SQ_LODATA => object(r)?,
        SQ_PROTOCOLS => Message::Protocols(r.chars()?),
        SQ_CHALLENGE => Message::Challenge { style: r.u16()?, text: r.chars()? },
        SQ_ACCEPT => Message::Accept,
        SQ_VERSION => Message::Version(r.chars()?),
        SQ_EXIT => Message::Exit,
        _ => return Err(Stop::Bad(Fatal::peer(format!("the server sent a message of the unknown type {tag}")))),
    })
}

/// One value of SQ_FPROUTINE.
fn returned<'a>(r: &mut Reader<'a>, codeset: CodeSet) -> Result<Returned<'a>, Stop> {
    let type_word = r.u16()?;
    let type_code = type_word & 0xff;
    let mut field = Field { name: "(expression)".into(), type_word, ..Field::default() };
    if is_named(type_code) {
        field.owner = codeset.decode_string(r.chars()?);
        field.type_name = codeset.decode_string(r.chars()?);
    }
    let indicator = r.u16()?;
    field.length = i32::from(r.u16()?);
    if indicator != 0 {
        return Ok(Returned { field, value: None });
    }
    let value = match type_code {
        code::SMALLINT => r.take(2)?,
        code::INTEGER | code::SERIAL | code::DATE | code::SMALLFLOAT => r.take(4)?,
        code::FLOAT | code::BIGINT | code::BIGSERIAL => r.take(8)?,
        code::INT8 | code::SERIAL8 => r.take(10)?,
        code::BYTE | code::TEXT => {
            return Err(Stop::Bad(Fatal::peer("the server returned a BYTE or TEXT value from a routine")));
        }
        code if is_named(code) => {
            let len = r.len32("a value")?;
            r.padded(len)?
        }
        _ => r.chars()?,
    };
    Ok(Returned { field, value: Some(value) })
}

/// SQ_LODATA: what was read comes in pieces until all of it is there. Where nothing was, a piece without bytes may follow.
fn object<'a>(r: &mut Reader<'a>) -> Result<Message<'a>, Stop> {
    let operation = r.u16()?;
    let size = r.len32("a piece of a large object")?;
    if operation == 2 {
        return Ok(Message::Written(i32::try_from(size).unwrap_or(i32::MAX)));
    }
    let (mut pieces, mut left) = (Vec::new(), size);
    while left > 0 {
        let piece = r.chars()?;
        if piece.is_empty() || piece.len() > left {
            return Err(Stop::Bad(Fatal::peer("the server sent another length of a large object than it said")));
        }
        left -= piece.len();
        pieces.push(piece);
    }
    if size == 0 {
        let next = r.take(2)?;
        if next != [0, 0] {
            r.at -= 2;
        }
    }
    Ok(Message::Read(pieces))
}

fn description(r: &mut Reader<'_>, capabilities: Capabilities, codeset: CodeSet) -> Result<Description, Stop> {
    let (kind, id) = (r.u16()?, r.u16()?);
    r.i32()?;
    if capabilities.has(Feature::WideTuple) {
        r.i32().map(drop)?
    } else {
        r.u16().map(drop)?
    }
    let count = usize::from(r.u16()?);
    let wide = capabilities.has(Feature::WideStringTable);
    let table = if wide { r.len32("a string table")? } else { usize::from(r.u16()?) };
    let mut fields = Vec::new();
    let mut offsets = Vec::new();
    for _ in 0..count {
        offsets.push(if wide { r.len32("a name")? } else { usize::from(r.u16()?) });
        r.i32()?;
        let (type_word, extended_id) = (r.u16()?, r.i32()?);
        let owner = codeset.decode_string(r.chars()?);
        let type_name = codeset.decode_string(r.chars()?);
        r.i32()?;
        let (source_type, length) = (r.i32()?, r.i32()?);
        fields.push(Field { name: String::new(), type_word, extended_id, owner, type_name, source_type, length });
    }
    let table = r.padded(table)?;
    for (field, offset) in fields.iter_mut().zip(offsets) {
        let Some(name) = table.get(offset..) else {
            return Err(Stop::Bad(Fatal::peer("the server described a column whose name is outside its string table")));
        };
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        field.name = codeset.decode_string(&name[..end]);
    }
    Ok(Description { kind, id, fields })
}
