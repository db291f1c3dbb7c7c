//! The messages of a client.

use std::io::{self, Read};

use crate::capabilities::Capabilities;
use crate::codec::decimal::Decimal;
use crate::codec::timestamp::{Qualifier, decode_datetime, decode_interval};
use crate::codec::{charset::Charset, clientvalue, int8};
use crate::engine::Value;
use crate::types::{Kind, Type};
use crate::wire::Input;

/// A parameter as it was bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The type it was sent as.
    pub ty: Type,
    /// Its value.
    pub value: Value,
    /// True if its bytes follow in SQ_BBIND.
    pub blob_follows: bool,
}

/// The columns of the inserted rows that a client requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Keys {
    /// Those that the server makes values for.
    All,
    /// By their numbers, counted from 1.
    Numbers(Vec<u16>),
    /// By their names.
    Names(Vec<String>),
}

/// One message.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Command {
        sql: Vec<u8>,
    },
    Prepare {
        sql: Vec<u8>,
    },
    CursorName(Vec<u8>),
    Id(i16),
    Bind(Vec<Bound>),
    BlobBind(Vec<Vec<u8>>),
    Open,
    Execute,
    Fetch {
        buffer: i32,
    },
    Close,
    Release,
    End,
    /// The front of SQ_PUT. Its rows follow, each of this length.
    PutHead {
        length: usize,
        rows: u16,
    },
    Put {
        rows: u16,
        bytes: Vec<u8>,
    },
    /// SQ_BATCHSTART and SQ_BATCHEND enclose the executions of a batch.
    BatchStart,
    BatchEnd,
    Commit,
    Rollback,
    NDescribe,
    ScrollFetch {
        kind: i16,
        row: i32,
    },
    Scroll,
    DatabaseList,
    Begin,
    DatabaseOpen(Vec<u8>),
    DatabaseClose,
    FetchBlob(Vec<u8>),
    Hold,
    WantDone,
    Version,
    Exit,
    Info,
    LobRead {
        descriptor: i16,
        length: i32,
        chunk: u16,
        seek: Option<(i64, i16)>,
    },
    LobWrite {
        descriptor: i16,
        bytes: Vec<u8>,
    },
    ReturnTypes {
        fetch: bool,
        types: Vec<i16>,
    },
    GetRoutine(Vec<u8>),
    CallRoutine {
        handle: i32,
        arguments: Vec<Bound>,
    },
    AutoFree,
    DescribeInput,
    Protocols(Vec<u8>),
    GeneratedKeys(Keys),
    SetSavepoint(Vec<u8>),
    ReleaseSavepoint(Vec<u8>),
    RollbackToSavepoint(Vec<u8>),
    /// SQ_ACK: the client is ready for the questions of PAM.
    Acknowledge,
    /// SQ_RESPONSE: the answer to one.
    Response(Vec<u8>),
    /// An unknown message; the bytes after it cannot be parsed.
    Unknown(u16),
}

/// The longest a chunk of SQ_BLOB may be before a short length of zero ends the value.
fn blob<R: Read>(input: &mut Input<R>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let tag = input.u16()?;
        if tag != 39 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("message {tag} inside a blob")));
        }
        let chunk = input.chars()?;
        if chunk.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&chunk);
    }
}

fn named_type(number: i16) -> bool {
    number & 0xff > 18 && !matches!(number & 0xff, 52 | 53)
}

fn bound<R: Read>(input: &mut Input<R>, charset: Charset, caps: &Capabilities) -> io::Result<Bound> {
    let number = input.i16()? & 0xff;
    let mut name = String::new();
    if named_type(number) {
        input.chars()?;
        name = String::from_utf8_lossy(&input.chars()?).to_ascii_lowercase();
    }
    let indicator = input.i16()?;
    let precision = input.i16()?;
    let mut bound = Bound { ty: Type::new(Kind::Char, 32_767), value: Value::Null, blob_follows: false };
    if indicator != 0 {
        return Ok(bound);
    }
    let integer = |kind, value: Option<i64>| (Type::of(kind), value.map_or(Value::Null, Value::Integer));
    let sentinel = |value: i64, null: i64| (value != null).then_some(value);
    (bound.ty, bound.value) = match number {
        1 => integer(Kind::SmallInt, sentinel(input.i16()?.into(), i16::MIN.into())),
        2 | 6 => integer(Kind::Int, sentinel(input.i32()?.into(), i32::MIN.into())),
        7 => integer(Kind::Date, sentinel(input.i32()?.into(), i32::MIN.into())),
        52 | 53 => {
            let bytes = input.bytes(8)?;
            let value = i64::from_be_bytes(bytes.try_into().unwrap_or_default());
            integer(Kind::BigInt, sentinel(value, i64::MIN))
        }
        17 | 18 => integer(Kind::Int8, int8::decode(&input.bytes(10)?.try_into().unwrap_or_default())),
        3 => {
            let value = f64::from_be_bytes(input.bytes(8)?.try_into().unwrap_or_default());
            (Type::of(Kind::Float), if value.is_nan() { Value::Null } else { Value::Real(value) })
        }
        4 => {
            let value = f32::from_be_bytes(input.bytes(4)?.try_into().unwrap_or_default());
            (Type::of(Kind::SmallFloat), if value.is_nan() { Value::Null } else { Value::Real(value.into()) })
        }
        5 | 8 => {
            let value = Decimal::decode(&input.chars()?);
            (Type::decimal(32, 255), value.map_or(Value::Null, |value| Value::Text(value.to_string())))
        }
        10 => {
            let ty = Type::new(Kind::DateTime, i32::from(precision));
            let value = decode_datetime(&input.chars()?, Qualifier(ty.length));
            (ty, value.map_or(Value::Null, Value::Integer))
        }
        14 => {
            let ty = Type::new(Kind::Interval, i32::from(precision));
            let value = decode_interval(&input.chars()?, Qualifier(ty.length));
            (ty, value.map_or(Value::Null, Value::Integer))
        }
        11 | 12 => {
            input.bytes(if caps.long_counts() { 68 } else { 56 })?;
            bound.blob_follows = true;
            (Type::of(if number == 11 { Kind::Byte } else { Kind::Text }), Value::Null)
        }
        0 | 13 | 15 | 16 => (Type::new(Kind::Char, 32_767), Value::Text(charset.decode(&input.chars()?))),
        _ => extended(number, &name, input.long_chars()?, charset),
    };
    Ok(bound)
}

/// Values of types that are identified by name: their length is an int32.
fn extended(number: i16, name: &str, bytes: Vec<u8>, charset: Charset) -> (Type, Value) {
    match name {
        _ if clientvalue::is_one(&bytes) => (Type::of(Kind::Byte), Value::Blob(bytes)),
        "boolean" => {
            let truth = matches!(bytes.first(), Some(1 | b't' | b'T'));
            (Type::of(Kind::Boolean), Value::Integer(truth.into()))
        }
        "blob" | "clob" => {
            let kind = if name == "blob" { Kind::Blob } else { Kind::Clob };
            (Type::of(kind), locator_id(&bytes).map_or(Value::Null, Value::Integer))
        }
        _ if number == 45 => (Type::of(Kind::Boolean), Value::Integer((bytes.first() == Some(&1)).into())),
        "ifx_lo_spec" | "ifx_lo_stat" => (Type::of(Kind::Byte), Value::Blob(bytes)),
        _ => (Type::new(Kind::LVarChar, 32_739), Value::Text(charset.decode(&bytes))),
    }
}

const LOCATOR_MAGIC: &[u8; 8] = b"hdrclob\0";

/// The 72 bytes by which a client identifies a smart large object; only the server interprets them.
pub fn locator(id: i64) -> [u8; 72] {
    let mut bytes = [0; 72];
    bytes[3] = 64;
    bytes[8..16].copy_from_slice(LOCATOR_MAGIC);
    bytes[16..24].copy_from_slice(&id.to_be_bytes());
    bytes
}

/// The object a locator names, in raw or hexadecimal form.
pub fn locator_id(bytes: &[u8]) -> Option<i64> {
    if bytes.len() == 144 {
        let text = std::str::from_utf8(bytes).ok()?;
        let raw: Option<Vec<u8>> = (0..72).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()).collect();
        return locator_id(&raw?);
    }
    if bytes.get(8..16)? != LOCATOR_MAGIC {
        return None;
    }
    Some(i64::from_be_bytes(bytes.get(16..24)?.try_into().ok()?))
}

fn binds<R: Read>(input: &mut Input<R>, charset: Charset, caps: &Capabilities) -> io::Result<Vec<Bound>> {
    let count = input.u16()?;
    (0..count).map(|_| bound(input, charset, caps)).collect()
}

fn large_object<R: Read>(input: &mut Input<R>) -> io::Result<Message> {
    let operation = input.u16()?;
    let descriptor = input.i16()?;
    let length = input.i32()?;
    let chunk = input.u16()?;
    match operation {
        0 => Ok(Message::LobRead { descriptor, length, chunk, seek: None }),
        1 => {
            let offset = int8::decode(&input.bytes(10)?.try_into().unwrap_or_default()).unwrap_or(0);
            Ok(Message::LobRead { descriptor, length, chunk, seek: Some((offset, input.i16()?)) })
        }
        2 => {
            let mut bytes = Vec::new();
            while (bytes.len() as i64) < i64::from(length) {
                let chunk = input.chars()?;
                if chunk.is_empty() {
                    break;
                }
                bytes.extend_from_slice(&chunk);
            }
            Ok(Message::LobWrite { descriptor, bytes })
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("SQ_LODATA operation {operation}"))),
    }
}

/// Reads one message, its tag first.
pub fn read<R: Read>(input: &mut Input<R>, caps: &Capabilities, charset: Charset) -> io::Result<Message> {
    let text = |input: &mut Input<R>| if caps.long_text() { input.long_chars() } else { input.chars() };
    Ok(match input.u16()? {
        1 => {
            input.u16()?;
            Message::Command { sql: text(input)? }
        }
        2 => {
            input.u16()?;
            Message::Prepare { sql: text(input)? }
        }
        3 => Message::CursorName(input.chars()?),
        4 => Message::Id(input.i16()?),
        5 => Message::Bind(binds(input, charset, caps)?),
        6 => Message::Open,
        7 => Message::Execute,
        9 => {
            let buffer = input.i32()?;
            input.u16()?;
            Message::Fetch { buffer }
        }
        10 => Message::Close,
        11 => Message::Release,
        12 => Message::End,
        17 => {
            let length = usize::try_from(input.i32()?).unwrap_or(usize::MAX);
            Message::PutHead { length, rows: input.u16()? }
        }
        19 => Message::Commit,
        20 => {
            input.u16()?;
            Message::Rollback
        }
        22 => Message::NDescribe,
        23 => {
            let kind = input.i16()?;
            let row = input.i32()?;
            input.i32()?;
            Message::ScrollFetch { kind, row }
        }
        24 => Message::Scroll,
        26 => Message::DatabaseList,
        35 => Message::Begin,
        36 => {
            let name = input.chars()?;
            input.u16()?;
            Message::DatabaseOpen(name)
        }
        37 => Message::DatabaseClose,
        38 => Message::FetchBlob(input.bytes(if caps.long_counts() { 68 } else { 56 })?),
        41 => {
            let count = input.u16()?;
            Message::BlobBind((0..count).map(|_| blob(input)).collect::<io::Result<_>>()?)
        }
        43 => Message::Hold,
        49 => Message::WantDone,
        53 => Message::Version,
        56 => Message::Exit,
        81 => {
            let what = input.u16()?;
            if what != 6 {
                return Ok(Message::Unknown(81));
            }
            input.bytes(6)?;
            loop {
                // The list ends with a pair of two empty strings.
                let (key, value) = (input.chars()?, input.chars()?);
                if key.is_empty() && value.is_empty() {
                    break;
                }
            }
            Message::Info
        }
        97 => large_object(input)?,
        100 => {
            let fetch = input.u16()? == 1;
            let count = input.u16()?;
            let mut types = Vec::new();
            for _ in 0..count {
                let number = input.i16()?;
                if named_type(number) {
                    input.chars()?;
                    input.chars()?;
                }
                input.i32()?;
                types.push(number);
            }
            Message::ReturnTypes { fetch, types }
        }
        101 => {
            input.u8()?;
            let signature = text(input)?;
            input.u16()?;
            Message::GetRoutine(signature)
        }
        102 => {
            input.chars()?;
            let handle = input.i32()?;
            input.bytes(4)?;
            let tag = input.u16()?;
            if tag != 5 {
                return Ok(Message::Unknown(tag));
            }
            Message::CallRoutine { handle, arguments: binds(input, charset, caps)? }
        }
        108 => Message::AutoFree,
        124 => Message::DescribeInput,
        126 => Message::Protocols(input.chars()?),
        134 => Message::GeneratedKeys(match input.u16()? {
            1 => Keys::All,
            2 => {
                let count = input.u16()?;
                Keys::Numbers((0..count).map(|_| input.u16()).collect::<io::Result<_>>()?)
            }
            3 => {
                let count = input.u16()?;
                let names = (0..count).map(|_| Ok(charset.decode(&input.chars()?)));
                Keys::Names(names.collect::<io::Result<_>>()?)
            }
            kind => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("SQ_SGKPREPARE of kind {kind}"))),
        }),
        141 => Message::BatchStart,
        142 => Message::BatchEnd,
        137 => {
            let name = input.chars()?;
            input.u16()?;
            Message::SetSavepoint(name)
        }
        138 => Message::ReleaseSavepoint(input.chars()?),
        139 => Message::RollbackToSavepoint(input.chars()?),
        128 => Message::Acknowledge,
        130 => Message::Response(input.chars()?),
        tag => Message::Unknown(tag),
    })
}
