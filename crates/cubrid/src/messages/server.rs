//! The replies of the server: the payload of each, by the function that it answers.

use super::description::{Field, Type};
use super::{FETCH_END, Reader};
use headrace_core::Fatal;

/// Whose error numbers an error has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The broker or the CAS: -10000 and below.
    Cas,
    /// The database.
    Dbms,
}

/// The first field of an error of the CAS.
const CAS_ERROR_INDICATOR: i32 = -1;
/// The first field of an error of the database.
const DBMS_ERROR_INDICATOR: i32 = -2;
/// CAS errors were numbered from -1000 on; clients without support for it are sent numbers that are this much higher.
const RENEWED: i32 = -9000;

/// The server's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// Whose number it is.
    pub origin: Origin,
    /// The number, of the CAS in the numbering from -10000 on.
    pub code: i32,
    /// The text, in the character set of the database; often empty.
    pub message: String,
}

/// The number of a CAS error in the numbering from -10000 on, whichever it has.
pub fn renewed(code: i32) -> i32 {
    match code {
        -1999..=-1000 => code + RENEWED,
        code => code,
    }
}

impl ServerError {
    /// An error of the CAS without a text.
    pub fn cas(code: i32) -> Self {
        Self { origin: Origin::Cas, code: renewed(code), message: String::new() }
    }

    /// The error of a statement that was cancelled before it was executed.
    pub fn interrupted() -> Self {
        Self { origin: Origin::Dbms, code: crate::errors::dbms::INTERRUPTED, message: String::new() }
    }

    /// The error of an INSERT that was executed, and of whose keys the server has not sent all.
    pub fn unreported_keys() -> Self {
        Self::of(Origin::Dbms, 0, "the server did not report the generated keys of all rows of the INSERT")
    }

    /// The error that a payload is; `None` if it is none.
    ///
    /// Some errors of EXECUTE_ARRAY, LOB_NEW, LOB_WRITE and LOB_READ are four bytes only: the CAS' number.
    ///
    /// # Errors
    /// [`Fatal`] if the payload ends within it.
    pub fn read(mut reader: Reader<'_>) -> Result<Option<Self>, Fatal> {
        if reader.rest().len() < 4 {
            return Ok(None);
        }
        let origin = match reader.i32()? {
            0.. => return Ok(None),
            DBMS_ERROR_INDICATOR => Origin::Dbms,
            CAS_ERROR_INDICATOR => Origin::Cas,
            code => {
                reader.end()?;
                return Ok(Some(Self::cas(code)));
            }
        };
        let code = reader.i32()?;
        let message = reader.rest();
        Ok(Some(Self::of(origin, code, &reader.string(message.strip_suffix(&[0]).unwrap_or(message)))))
    }

    fn of(origin: Origin, code: i32, message: &str) -> Self {
        let code = if origin == Origin::Cas { renewed(code) } else { code };
        Self { origin, code, message: message.to_owned() }
    }
}

/// The fewest bytes of a column in the short form of one byte: a bound of what a count may announce.
const FIELD_BYTES: usize = 11;

fn fields(
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<Field, Fatal>,
) -> Result<Vec<Field>, Fatal> {
    let count = reader.count("columns")?;
    if count > reader.rest().len() / FIELD_BYTES {
        return Err(Fatal::peer(format!("the server announced {count} columns in a message that is too short")));
    }
    (0..count).map(|_| read(reader)).collect()
}

/// The reply to PREPARE; also in the reply to EXECUTE, without a handle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The number of the statement on the CAS.
    pub handle: i32,
    /// Seconds that the result may be cached; -1.
    pub cache_lifetime: i32,
    /// [`super::statement`]
    pub statement_type: u8,
    /// The number of parameters.
    pub parameters: usize,
    /// The result is updatable.
    pub is_updatable: bool,
    /// The columns; empty if it returns no rows.
    pub fields: Vec<Field>,
}

impl Prepared {
    /// Reads the reply to PREPARE, which may be followed by that to EXECUTE.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let handle = reader.i32()?;
        Ok(Self { handle, ..Self::read_described(reader)? })
    }

    fn read_described(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let (cache_lifetime, statement_type) = (reader.i32()?, reader.u8()?);
        let parameters = reader.count("parameters")?;
        let is_updatable = reader.u8()? != 0;
        let fields = fields(reader, Field::read)?;
        Ok(Self { handle: 0, cache_lifetime, statement_type, parameters, is_updatable, fields })
    }
}

/// One of the results in the reply to EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultInfo {
    /// [`super::statement`]
    pub statement_type: u8,
    /// Rows changed or returned.
    pub count: i32,
    /// The identifier of an object; zero.
    pub object: i64,
    /// Time of the client's cache, in seconds; zero.
    pub cache_seconds: i32,
    /// And microseconds.
    pub cache_micros: i32,
}

/// The reply to EXECUTE, before the first page of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Rows changed or returned.
    pub count: i32,
    /// The client's cached result is valid; not used by this client.
    pub is_cache_reusable: bool,
    /// One for each statement that was executed.
    pub results: Vec<ResultInfo>,
    /// The statement's description, if it is another one than PREPARE has returned.
    pub described: Option<Prepared>,
    /// The shard, -2 for none.
    pub shard: i32,
}

/// Bytes of a [`ResultInfo`].
const RESULT_BYTES: usize = 21;

impl Executed {
    /// Reads it.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let count = reader.i32()?;
        if reader.u8()? != 0 {
            return Ok(Self { count, is_cache_reusable: true, ..Self::default() });
        }
        let results = reader.count("results")?;
        if results > reader.rest().len() / RESULT_BYTES {
            return Err(Fatal::peer(format!("the server announced {results} results in a message that is too short")));
        }
        let result = |_| {
            Ok(ResultInfo {
                statement_type: reader.u8()?,
                count: reader.i32()?,
                object: reader.i64()?,
                cache_seconds: reader.i32()?,
                cache_micros: reader.i32()?,
            })
        };
        let results = (0..results).map(result).collect::<Result<_, Fatal>>()?;
        let described = match reader.u8()? {
            0 => None,
            _ => Some(Prepared::read_described(reader)?),
        };
        Ok(Self { count, is_cache_reusable: false, results, described, shard: reader.i32()? })
    }
}

/// A page of rows, in the replies to FETCH and EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The number of rows.
    pub count: usize,
    /// The rows, and the byte after them.
    pub rows: &'a [u8],
}

impl<'a> Page<'a> {
    /// Reads its beginning: a result of 0 and the number of rows.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Fatal> {
        let _result = reader.i32()?;
        let count = reader.count("rows")?;
        Ok(Self { count, rows: reader.rest() })
    }

    /// Reads what comes after the rows: true if the last row of the result is in this page.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read_end(reader: &mut Reader<'_>) -> Result<bool, Fatal> {
        let end = reader.u8()?;
        reader.end()?;
        Ok(end == FETCH_END)
    }
}

/// A row of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHead {
    /// Its number in the result, from 1.
    pub position: i32,
    /// The identifier of its object, if it was asked for; else zero.
    pub object: i64,
}

impl RowHead {
    /// Reads it; the cells follow.
    ///
    /// # Errors
    /// [`Fatal`]
    #[inline]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        Ok(Self { position: reader.i32()?, object: reader.i64()? })
    }
}

/// The row of a CALL that returns the values of its parameters, without its first cell, which is always NULL (11.3:
/// `fetch_call`).
///
/// # Errors
/// [`Fatal`] if it has no such cell.
pub fn row_of_call(row: &[u8]) -> Result<Vec<u8>, Fatal> {
    let mut reader = Reader::new(row);
    RowHead::read(&mut reader)?;
    let head = row.len() - reader.rest().len();
    reader.cell()?;
    Ok([&row[..head], reader.rest()].concat())
}

/// The result of one row of EXECUTE_ARRAY, or of one text of EXECUTE_BATCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchItem {
    /// The type of the statement; only of EXECUTE_BATCH.
    pub statement_type: Option<u8>,
    /// Rows changed, or an error.
    pub result: Result<i32, ServerError>,
}

/// The reply to EXECUTE_ARRAY or EXECUTE_BATCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchResults {
    /// One for each row or text that was executed.
    pub items: Vec<BatchItem>,
    /// The shard, -2 for none.
    pub shard: i32,
}

/// The fewest bytes of a [`BatchItem`].
const ITEM_BYTES: usize = 12;

impl BatchResults {
    /// Reads it; `typed` for EXECUTE_BATCH.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read(reader: &mut Reader<'_>, typed: bool) -> Result<Self, Fatal> {
        let _result = reader.i32()?;
        let count = reader.count("rows of a batch")?;
        if count > reader.rest().len() / ITEM_BYTES {
            return Err(Fatal::peer(format!("the server announced {count} rows in a message that is too short")));
        }
        let item = |_| {
            let statement_type = if typed { Some(reader.u8()?) } else { None };
            let first = reader.i32()?;
            let result = if first < 0 {
                let origin = if first == CAS_ERROR_INDICATOR { Origin::Cas } else { Origin::Dbms };
                let code = reader.i32()?;
                let text = reader.text()?;
                Err(ServerError::of(origin, code, &reader.string(text)))
            } else {
                let _object = reader.i64()?;
                Ok(first)
            };
            Ok(BatchItem { statement_type, result })
        };
        let items = (0..count).map(item).collect::<Result<_, Fatal>>()?;
        let shard = reader.i32()?;
        reader.end()?;
        Ok(Self { items, shard })
    }
}

/// The reply to NEXT_RESULT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextResult {
    /// Rows changed or returned.
    pub count: i32,
    /// [`super::statement`]
    pub statement_type: u8,
    /// The result is updatable.
    pub is_updatable: bool,
    /// Its columns; empty if it has no rows.
    pub fields: Vec<Field>,
}

impl NextResult {
    /// Reads it.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let _result = reader.i32()?;
        let (count, statement_type, is_updatable) = (reader.i32()?, reader.u8()?, reader.u8()? != 0);
        let fields = fields(reader, Field::read)?;
        reader.end()?;
        Ok(Self { count, statement_type, is_updatable, fields })
    }
}

/// A result that the CAS has made without executing a statement; its rows come with FETCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The number of the result on the CAS.
    pub handle: i32,
    /// Rows.
    pub count: i32,
    /// Its columns.
    pub fields: Vec<Field>,
}

impl Made {
    /// Reads the reply to SCHEMA_INFO.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn schema_info(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let (handle, count) = (reader.i32()?, reader.i32()?);
        let fields = fields(reader, Field::read_short)?;
        reader.end()?;
        Ok(Self { handle, count, fields })
    }

    /// Reads the reply to MAKE_OUT_RS.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn out_rs(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let _result = reader.i32()?;
        let handle = reader.i32()?;
        let _statement_type = reader.u8()?;
        let count = reader.i32()?;
        let _is_updatable = reader.u8()?;
        let fields = fields(reader, Field::read)?;
        reader.end()?;
        Ok(Self { handle, count, fields })
    }
}

/// The reply to GET_GENERATED_KEYS, before its rows, after which no byte marks the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedKeys {
    /// [`super::statement`]: SELECT.
    pub statement_type: u8,
    /// Rows.
    pub count: i32,
    /// The result is updatable.
    pub is_updatable: bool,
    /// Its columns, whose types have one byte.
    pub fields: Vec<Field>,
    /// Rows that follow.
    pub rows: usize,
}

impl GeneratedKeys {
    /// Reads it; rows follow.
    ///
    /// # Errors
    /// [`Fatal`]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Fatal> {
        let _result = reader.i32()?;
        let (statement_type, count, is_updatable) = (reader.u8()?, reader.i32()?, reader.u8()? != 0);
        let fields = fields(reader, Field::read_short)?;
        Ok(Self { statement_type, count, is_updatable, fields, rows: reader.count("rows")? })
    }
}

/// What a statement expects as a parameter, in the reply to PARAMETER_INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// 1 IN, 2 OUT, 3 INOUT.
    pub mode: u8,
    /// Its type, with the number 0 if the server expects none.
    pub ty: Type,
    /// Digits after the point.
    pub scale: i16,
    /// Digits or characters.
    pub precision: i32,
}

/// Bytes of a [`ParameterInfo`].
const PARAMETER_BYTES: usize = 9;

/// Reads the reply to PARAMETER_INFO.
///
/// # Errors
/// [`Fatal`]
pub fn parameter_info(reader: &mut Reader<'_>) -> Result<Vec<ParameterInfo>, Fatal> {
    let count = reader.count("parameters")?;
    if count > reader.rest().len() / PARAMETER_BYTES {
        return Err(Fatal::peer(format!("the server announced {count} parameters in a message that is too short")));
    }
    let read = |_| {
        let (mode, ty) = (reader.u8()?, Type::read(reader)?);
        Ok(ParameterInfo { mode, ty, scale: reader.i16()?, precision: reader.i32()? })
    };
    let infos = (0..count).map(read).collect::<Result<_, Fatal>>()?;
    reader.end()?;
    Ok(infos)
}

/// Reads a reply that is a result of 0 and a number: GET_DB_PARAMETER, GET_ROW_COUNT, CURSOR, SET_CAS_CHANGE_MODE.
///
/// # Errors
/// [`Fatal`]
pub fn number(reader: &mut Reader<'_>) -> Result<i32, Fatal> {
    let _result = reader.i32()?;
    let number = reader.i32()?;
    reader.end()?;
    Ok(number)
}

/// Reads a reply that is a result and nothing else: END_TRAN, SET_DB_PARAMETER, CLOSE_REQ_HANDLE, SAVEPOINT, CON_CLOSE,
/// END_SESSION, and the number of bytes of LOB_WRITE.
///
/// # Errors
/// [`Fatal`]
pub fn result(reader: &mut Reader<'_>) -> Result<i32, Fatal> {
    let result = reader.i32()?;
    reader.end()?;
    Ok(result)
}

/// Reads a reply that is a result of 0 and a text: GET_DB_VERSION, GET_QUERY_INFO, GET_ATTR_TYPE_STR.
///
/// # Errors
/// [`Fatal`]
pub fn text<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Fatal> {
    let _result = reader.i32()?;
    let text = reader.rest();
    Ok(text.strip_suffix(&[0]).unwrap_or(text))
}

/// Reads the reply to GET_LAST_INSERT_ID: a typed cell, which is NULL if nothing was generated.
///
/// # Errors
/// [`Fatal`]
pub fn last_insert_id<'a>(reader: &mut Reader<'a>) -> Result<Option<(Type, &'a [u8])>, Fatal> {
    let _result = reader.i32()?;
    let cell = reader.cell()?;
    reader.end()?;
    let typed = |cell| Type::of_cell(cell).ok_or_else(|| Fatal::peer("the server sent a number without its type"));
    cell.map(typed).transpose()
}

/// Reads a reply that is a number of bytes and the bytes: LOB_NEW (a handle) and LOB_READ.
///
/// # Errors
/// [`Fatal`]
pub fn bytes<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Fatal> {
    let length = reader.count("bytes")?;
    let bytes = reader.take(length)?;
    reader.end()?;
    Ok(bytes)
}
