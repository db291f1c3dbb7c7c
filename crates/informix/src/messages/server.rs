//! Messages of the server. They have no length of their own, so each must be parsed to find the next. The source of
//! each skipped field is in docs/reference/informix.md, "Skipped fields".

use super::client::is_named;
pub use super::description::{Description, Field};
use super::description::{described_field, described_type, description, description_head, input_head};
use super::reader::{Reader, Stop};
use super::{object, tag::*};
use crate::capabilities::{Capabilities, Feature};
use crate::codeset::CodeSet;
use crate::types::code;
use headrace_core::Fatal;

/// SQ_ERR.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// The SQL error, negative.
    pub sqlcode: i32,
    /// The ISAM error after it, or 0.
    pub isam: i32,
    /// The 1-based position in the statement, or 0.
    pub offset: i32,
    /// The object of the message: a table's name, the token at which a syntax error was found.
    pub token: String,
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
    /// SQ_IDESCRIBE: the parameters, which have no names.
    DescribeInput(Vec<Field>),
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
        /// True if a transaction is open now.
        open: bool,
    },
    /// SQ_ERR.
    Err(ServerError),
    /// SQ_PUTERR.
    PutErr {
        /// Rows that were put before.
        rows: i32,
        /// The error of the next one.
        error: ServerError,
    },
    /// SQ_TUPLE.
    Tuple(&'a [u8]),
    /// SQ_TUPID.
    TupId(i32),
    /// SQ_BLOB: a piece, empty at the end.
    Blob(&'a [u8]),
    /// The reply to SQ_GETROUTINE.
    Routine {
        /// Its database.
        database: &'a [u8],
        /// Its handle.
        handle: i32,
    },
    /// SQ_FPROUTINE.
    Returned(Vec<Returned<'a>>),
    /// SQ_LODATA: the bytes read.
    Read(Vec<&'a [u8]>),
    /// SQ_LODATA: the number of bytes written.
    Written(i32),
    /// SQ_PROTOCOLS.
    Protocols(&'a [u8]),
    /// SQ_CHALLENGE.
    Challenge {
        /// The style, by PAM's numbers: 1 a question whose answer is not shown, 2 one whose answer is, 3 an error, 4 a
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

impl Message<'_> {
    /// The message's name in the manual.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Describe(_) => "SQ_DESCRIBE",
            Message::DescribeInput(_) => "SQ_IDESCRIBE",
            Message::Done { .. } => "SQ_DONE",
            Message::Cost => "SQ_COST",
            Message::InsertDone { .. } => "SQ_INSERTDONE",
            Message::XactStat { .. } => "SQ_XACTSTAT",
            Message::Err(_) => "SQ_ERR",
            Message::PutErr { .. } => "SQ_PUTERR",
            Message::Tuple(_) => "SQ_TUPLE",
            Message::TupId(_) => "SQ_TUPID",
            Message::Blob(_) => "SQ_BLOB",
            Message::Routine { .. } => "SQ_GETROUTINE",
            Message::Returned(_) => "SQ_FPROUTINE",
            Message::Read(_) | Message::Written(_) => "SQ_LODATA",
            Message::Protocols(_) => "SQ_PROTOCOLS",
            Message::Challenge { .. } => "SQ_CHALLENGE",
            Message::Accept => "SQ_ACCEPT",
            Message::Version(_) => "SQ_VERSION",
            Message::Exit => "SQ_EXIT",
            Message::Eot => "SQ_EOT",
        }
    }
}

/// Reads the message at the front of `bytes`, and returns its length. If it is not complete the result is `Err(Ok(n))`:
/// the message has at least `n` bytes.
///
/// # Errors
/// Also [`Fatal`], for bytes that cannot be parsed: the position of the next message is then unknown.
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

/// Reads the row at the front of `bytes`, and returns the length of its message; `None` if it is not complete.
///
/// # Errors
/// [`Fatal`] for a length that no row has.
#[inline]
pub fn tuple(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Fatal> {
    let mut reader = Reader { bytes, at: 0 };
    let row = match reader.u16() {
        Ok(SQ_TUPLE) => row(&mut reader),
        _ => return Ok(None),
    };
    match row {
        Ok(row) => Ok(Some((row, reader.at))),
        Err(Stop::More(_)) => Ok(None),
        Err(Stop::Bad(fatal)) => Err(fatal),
    }
}

/// The bytes after the tag of SQ_TUPLE.
fn row<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Stop> {
    let _row_warnings = r.u16()?;
    let len = r.len32("a row")?;
    r.padded(len)
}

/// How far the message at the front has been scanned, if it is not complete: most messages have their length at the
/// front, but these have parts with a length each. Without this a long one that comes in small pieces would be read
/// from its beginning each time, in a time that grows with the square of its length.
#[derive(Debug, Default)]
pub struct Scan(Option<Parts>);

#[derive(Debug)]
struct Parts {
    kind: u16,
    at: usize,
    /// Parts that are still to come; of SQ_LODATA, bytes.
    left: usize,
    /// The bytes after the parts.
    tail: usize,
}

impl Scan {
    /// Forgets the message: it was consumed.
    pub fn reset(&mut self) {
        self.0 = None;
    }

    /// The minimum length in bytes of the message at the front of `bytes`, if more than its front determines it.
    ///
    /// # Errors
    /// [`Fatal`], for bytes that cannot be parsed.
    pub fn needs(&mut self, bytes: &[u8], capabilities: Capabilities) -> Result<usize, Fatal> {
        let mut r = Reader { bytes, at: self.0.as_ref().map_or(0, |parts| parts.at) };
        match self.advance(&mut r, capabilities) {
            Ok(()) => Ok(r.at),
            Err(Stop::More(n)) => Ok(n),
            Err(Stop::Bad(fatal)) => Err(fatal),
        }
    }

    fn advance(&mut self, r: &mut Reader<'_>, capabilities: Capabilities) -> Result<(), Stop> {
        let mut parts = match self.0.take() {
            Some(parts) => parts,
            None => {
                let kind = r.u16()?;
                let (left, tail) = match kind {
                    SQ_DESCRIBE => {
                        let head = description_head(r, capabilities)?;
                        (head.count, head.table + head.table % 2)
                    }
                    SQ_IDESCRIBE => input_head(r)?,
                    SQ_FPROUTINE => (usize::from(r.u16()?), 0),
                    SQ_LODATA if r.u16()? != object::WRITE => (r.len32("a piece of a large object")?, 0),
                    _ => return Ok(()),
                };
                Parts { kind, at: r.at, left, tail }
            }
        };
        let mut stop = Ok(());
        while parts.left > 0 && stop.is_ok() {
            let used = match parts.kind {
                SQ_DESCRIBE => described_field(r, capabilities).map(|_| 1),
                SQ_IDESCRIBE => described_type(r).map(|_| 1),
                SQ_FPROUTINE => returned_value(r).map(|_| 1),
                _ => piece(r, parts.left).map(<[u8]>::len),
            };
            stop = used.map(|used| {
                parts.left -= used;
                parts.at = r.at;
            });
        }
        let tail = parts.tail;
        self.0 = Some(parts);
        stop?;
        r.take(tail).map(drop)
    }
}

fn message<'a>(r: &mut Reader<'a>, capabilities: Capabilities, codeset: CodeSet) -> Result<Message<'a>, Stop> {
    let tag = r.u16()?;
    Ok(match tag {
        SQ_TUPLE => Message::Tuple(row(r)?),
        SQ_EOT => Message::Eot,
        SQ_DONE => {
            let warnings = r.u16()?;
            let wide = capabilities.has(Feature::WideCounters);
            let mut counter = || if wide { r.i64() } else { r.i32().map(i64::from) };
            let rows = counter()?;
            let _rowid = counter()?;
            Message::Done { warnings, rows, serial: r.i32()? }
        }
        SQ_COST => {
            let (_estimated_rows, _estimated_io) = (r.i32()?, r.i32()?);
            Message::Cost
        }
        SQ_DESCRIBE => Message::Describe(description(r, capabilities, codeset)?),
        SQ_IDESCRIBE => {
            let (count, table) = input_head(r)?;
            let fields = (0..count).map(|_| Ok(described_type(r)?.field(String::new(), codeset)));
            let fields = fields.collect::<Result<_, _>>()?;
            let _parameter_names = r.take(table)?;
            Message::DescribeInput(fields)
        }
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
            let _transaction_event = r.u16()?;
            let open = r.u16()? != 0;
            let _open_before = r.u16()?;
            Message::XactStat { open }
        }
        SQ_TUPID => Message::TupId(r.i32()?),
        SQ_BLOB => Message::Blob(r.chars()?),
        SQ_GETROUTINE => Message::Routine { database: r.chars()?, handle: r.i32()? },
        SQ_FPROUTINE => {
            let count = r.u16()?;
            Message::Returned((0..count).map(|_| returned(r, codeset)).collect::<Result<_, _>>()?)
        }
        SQ_LODATA => large_object(r)?,
        SQ_PROTOCOLS => Message::Protocols(r.chars()?),
        SQ_CHALLENGE => Message::Challenge { style: r.u16()?, text: r.chars()? },
        SQ_ACCEPT => Message::Accept,
        SQ_VERSION => Message::Version(r.chars()?),
        SQ_EXIT => Message::Exit,
        SQ_FILE => {
            // Whichever server this is, no statement opens the files of the machine that the program runs on.
            return Err(Stop::Bad(Fatal::peer(
                "the server asks for a file of this machine, as FILETOBLOB, FILETOCLOB and LOTOFILE with 'client' do: \
                 it gets none; use create_lob() and open_lob()",
            )));
        }
        _ => return Err(Stop::Bad(Fatal::peer(format!("the server sent a message of the unknown type {tag}")))),
    })
}

/// One value of SQ_FPROUTINE.
fn returned<'a>(r: &mut Reader<'a>, codeset: CodeSet) -> Result<Returned<'a>, Stop> {
    let (type_word, owner, type_name, length, value) = returned_value(r)?;
    let (owner, type_name) = (codeset.decode_string(owner), codeset.decode_string(type_name));
    let field = Field {
        name: "(expression)".into(),
        type_word,
        owner,
        type_name,
        length: i32::from(length),
        ..Field::default()
    };
    Ok(Returned { field, value })
}

/// Type, owner and name of the type, precision, value.
type RawReturned<'a> = (u16, &'a [u8], &'a [u8], u16, Option<&'a [u8]>);

fn returned_value<'a>(r: &mut Reader<'a>) -> Result<RawReturned<'a>, Stop> {
    let type_word = r.u16()?;
    let type_code = type_word & 0xff;
    let (owner, type_name) = if is_named(type_code) { (r.chars()?, r.chars()?) } else { (&[][..], &[][..]) };
    let indicator = r.u16()?;
    let length = r.u16()?;
    if indicator != 0 {
        return Ok((type_word, owner, type_name, length, None));
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
    Ok((type_word, owner, type_name, length, Some(value)))
}

/// SQ_LODATA: the bytes read come in pieces until all are there. If there are none, a piece without bytes may follow.
fn large_object<'a>(r: &mut Reader<'a>) -> Result<Message<'a>, Stop> {
    let operation = r.u16()?;
    let size = r.len32("a piece of a large object")?;
    if operation == object::WRITE {
        return Ok(Message::Written(i32::try_from(size).unwrap_or(i32::MAX)));
    }
    let (mut pieces, mut left) = (Vec::new(), size);
    while left > 0 {
        let piece = piece(r, left)?;
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

fn piece<'a>(r: &mut Reader<'a>, left: usize) -> Result<&'a [u8], Stop> {
    let piece = r.chars()?;
    if piece.is_empty() || piece.len() > left {
        return Err(Stop::Bad(Fatal::peer("the server sent another length of a large object than it announced")));
    }
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(columns: u16, name: &str) -> Vec<u8> {
        let mut out = [0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0].to_vec();
        out.extend_from_slice(&columns.to_be_bytes());
        out.extend_from_slice(&2u16.to_be_bytes());
        for _ in 0..columns {
            out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
            crate::messages::put_char(&mut out, name.as_bytes());
            crate::messages::put_char(&mut out, b"");
            out.extend_from_slice(&[0; 12]);
        }
        out.extend_from_slice(b"c\0");
        out
    }

    #[test]
    fn a_message_that_comes_in_pieces_is_looked_through_once() {
        let capabilities = Capabilities::default();
        let whole = described(2000, "an owner");
        let mut scan = Scan::default();
        let mut looked_at = 0;
        for end in (0..whole.len()).step_by(3) {
            let before = scan.0.as_ref().map_or(0, |parts| parts.at);
            assert!(scan.needs(&whole[..end], capabilities).expect("nothing is wrong") > end);
            looked_at += scan.0.as_ref().map_or(0, |parts| parts.at) - before;
        }
        assert!(looked_at <= whole.len());
        assert_eq!(scan.needs(&whole, capabilities).expect("nothing is wrong"), whole.len());
        let (message, used) = read(&whole, capabilities, CodeSet::Latin1).expect("it is whole");
        assert_eq!(used, whole.len());
        assert!(matches!(message, Message::Describe(description) if description.fields.len() == 2000));
    }

    #[test]
    fn a_file_of_this_machine_is_given_to_nobody() {
        let mut whole = [0, 98, 0, 0].to_vec();
        crate::messages::put_char(&mut whole, b"/etc/passwd");
        let refused = read(&whole, Capabilities::default(), CodeSet::Latin1).expect_err("it is refused");
        assert!(format!("{refused:?}").contains("a file of this machine"));
    }

    #[test]
    fn parameters_are_described_by_their_types_alone() {
        // DECIMAL(10,2) and BOOLEAN, as IBM's driver reads them.
        let mut whole = [0, 125, 0, 2, 0, 0].to_vec();
        whole.extend_from_slice(&[0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 2]);
        whole.extend_from_slice(&[0, 41, 0, 0, 0, 5, 0, 8]);
        whole.extend_from_slice(b"informix\0\x07boolean\0");
        whole.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let capabilities = Capabilities::default();
        for end in 2..whole.len() {
            assert!(Scan::default().needs(&whole[..end], capabilities).expect("nothing is wrong") > end);
            assert!(matches!(read(&whole[..end], capabilities, CodeSet::Latin1), Err(Ok(n)) if n > end));
        }
        let (message, used) = read(&whole, capabilities, CodeSet::Latin1).expect("it is whole");
        let Message::DescribeInput(fields) = message else { panic!("{message:?}") };
        let types: Vec<_> = fields.iter().map(|f| (f.type_word, f.extended_id, &*f.type_name, f.length)).collect();
        assert_eq!((types, used), (vec![(5, 0, "", 0x0a02), (41, 5, "boolean", 1)], whole.len()));
        assert!(matches!(read(&[0, 125, 0, 0, 0, 12], capabilities, CodeSet::Latin1), Ok((_, 4))));
    }

    #[test]
    fn a_description_without_end_is_refused() {
        let whole = described(300, &"x".repeat(65_000));
        let refused = Scan::default().needs(&whole, Capabilities::default());
        assert!(refused.is_err_and(|fatal| fatal.message.contains("more than")));
        assert!(matches!(read(&whole, Capabilities::default(), CodeSet::Latin1), Err(Err(_))));
    }
}
