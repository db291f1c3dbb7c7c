//! The requests of a client: each function writes one frame.

use super::{CasInfo, HEADER_BYTES, function, mode};

/// A request that is being written: its frame begins with a length that [`Request::end`] fills in.
#[derive(Debug)]
pub struct Request<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Request<'o> {
    /// Begins a request of a function.
    pub fn new(out: &'o mut Vec<u8>, info: CasInfo, function: u8) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&info.to_bytes());
        out.push(function);
        Self { out, start }
    }

    /// Adds an argument.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.out.extend_from_slice(bytes);
        self
    }

    /// Adds a byte.
    pub fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    /// Adds a number of 32 bits.
    pub fn i32(self, value: i32) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    /// Adds a number of 64 bits.
    pub fn i64(self, value: i64) -> Self {
        self.bytes(&value.to_be_bytes())
    }

    /// Adds an argument that is absent.
    pub fn absent(self) -> Self {
        self.bytes(&[])
    }

    /// Adds a text, with its NUL.
    pub fn text(self, text: &[u8]) -> Self {
        put_text(text, self.out);
        self
    }

    /// Adds a text, or nothing.
    pub fn optional(self, text: Option<&[u8]>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => self.absent(),
        }
    }

    /// The vector that further arguments can be appended to.
    pub fn arguments(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Takes the request back.
    pub fn drop(self) {
        self.out.truncate(self.start);
    }

    /// The request has all its arguments.
    pub fn end(self) {
        let length = (self.out.len() - self.start - HEADER_BYTES) as u32;
        self.out[self.start..self.start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Appends a text as an argument, with its NUL.
pub fn put_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32 + 1).to_be_bytes());
    out.extend_from_slice(text);
    out.push(0);
}

/// A request without arguments: CHECK_CAS, CON_CLOSE, GET_ROW_COUNT, GET_LAST_INSERT_ID, END_SESSION and others.
pub fn plain(out: &mut Vec<u8>, info: CasInfo, function: u8) {
    Request::new(out, info, function).end();
}

/// A request whose only argument is a handle: CURSOR_CLOSE, PARAMETER_INFO, GET_GENERATED_KEYS.
pub fn of_handle(out: &mut Vec<u8>, info: CasInfo, function: u8, handle: i32) {
    Request::new(out, info, function).i32(handle).end();
}

/// END_TRAN: [`super::tran`].
pub fn end_tran(out: &mut Vec<u8>, info: CasInfo, operation: u8) {
    Request::new(out, info, function::END_TRAN).u8(operation).end();
}

/// PREPARE with [`super::prepare`]'s flags, and the handles that are closed first.
pub fn prepare(out: &mut Vec<u8>, info: CasInfo, sql: &[u8], flags: u8, autocommit: bool, close: &[i32]) {
    let request = Request::new(out, info, function::PREPARE).text(sql).u8(flags).u8(autocommit.into());
    close.iter().fold(request, |request, handle| request.i32(*handle)).end();
}

/// The fixed arguments of EXECUTE. The maximum size of a column and of the result are 0, which is none; the client's
/// cache has no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute {
    /// The prepared statement.
    pub handle: i32,
    /// [`super::execute`]
    pub flags: u8,
    /// The first page of rows comes with the reply. A statement that returns no rows must not have it: it is executed,
    /// and answered with an error.
    pub fetch: bool,
    /// The server commits.
    pub autocommit: bool,
    /// The result is read once, from its beginning to its end: autocommit closes it after its last row.
    pub forward_only: bool,
    /// The statement is interrupted after this number of milliseconds; 0 for no limit.
    pub timeout_millis: i32,
    /// The number of parameters of a CALL that was prepared with [`super::prepare::CALL`], all of whose values are
    /// returned; 0 for other statements.
    pub returned: usize,
}

impl Execute {
    /// EXECUTE, to which parameters can be added.
    pub fn begin(self, out: &mut Vec<u8>, info: CasInfo) -> Request<'_> {
        let max_column_size = 0;
        let max_rows = 0;
        let cache_time = [0; 8];
        let request = Request::new(out, info, function::EXECUTE)
            .i32(self.handle)
            .u8(self.flags)
            .i32(max_column_size)
            .i32(max_rows);
        let request = match self.returned {
            0 => request.absent(),
            count => request.bytes(&vec![mode::IN_OUT; count]),
        };
        request
            .u8(self.fetch.into())
            .u8(self.autocommit.into())
            .u8(self.forward_only.into())
            .bytes(&cache_time)
            .i32(self.timeout_millis)
    }
}

/// PREPARE_AND_EXECUTE: a statement without parameters.
pub fn prepare_and_execute(
    out: &mut Vec<u8>,
    info: CasInfo,
    sql: &[u8],
    (prepare, execute): (u8, u8),
    autocommit: bool,
    timeout_millis: i32,
    close: &[i32],
) {
    /// The text, the flags and the autocommit byte.
    const PREPARE_ARGUMENTS: i32 = 3;
    let count = PREPARE_ARGUMENTS + i32::try_from(close.len()).unwrap_or(0);
    let request = Request::new(out, info, function::PREPARE_AND_EXECUTE).i32(count);
    let request = request.text(sql).u8(prepare).u8(autocommit.into());
    let request = close.iter().fold(request, |request, handle| request.i32(*handle));
    let (max_column_size, max_rows, cache_time) = (0, 0, [0; 8]);
    let request = request.u8(execute).i32(max_column_size).i32(max_rows).absent();
    request.bytes(&cache_time).i32(timeout_millis).end();
}

/// EXECUTE_ARRAY, to which rows of parameters can be added.
pub fn execute_array(
    out: &mut Vec<u8>,
    info: CasInfo,
    handle: i32,
    timeout_millis: i32,
    autocommit: bool,
) -> Request<'_> {
    Request::new(out, info, function::EXECUTE_ARRAY).i32(handle).i32(timeout_millis).u8(autocommit.into())
}

/// EXECUTE_BATCH, to which the texts of statements can be added, by [`put_text`].
pub fn execute_batch(out: &mut Vec<u8>, info: CasInfo, timeout_millis: i32, autocommit: bool) -> Request<'_> {
    Request::new(out, info, function::EXECUTE_BATCH).u8(autocommit.into()).i32(timeout_millis)
}

/// The number of rows that FETCH asks for. Servers ignore it: a page is as large as the broker's NET_BUF_SIZE.
pub const FETCH_ROWS: i32 = 100;

/// FETCH of a page that begins with row `position`, from 1, of the statement's current result.
pub fn fetch(out: &mut Vec<u8>, info: CasInfo, handle: i32, position: i32) {
    let (is_sensitive, result_index) = (0, 0);
    let request = Request::new(out, info, function::FETCH).i32(handle).i32(position).i32(FETCH_ROWS);
    request.u8(is_sensitive).i32(result_index).end();
}

/// CURSOR: `origin` is 0 for the beginning, 1 for the current row, 2 for the end.
pub fn cursor(out: &mut Vec<u8>, info: CasInfo, handle: i32, offset: i32, origin: u8) {
    Request::new(out, info, function::CURSOR).i32(handle).i32(offset).u8(origin).end();
}

/// NEXT_RESULT.
pub fn next_result(out: &mut Vec<u8>, info: CasInfo, handle: i32) {
    let flags = 0;
    Request::new(out, info, function::NEXT_RESULT).i32(handle).i32(flags).end();
}

/// CLOSE_REQ_HANDLE. With `autocommit` it commits the transaction that is open.
pub fn close_req_handle(out: &mut Vec<u8>, info: CasInfo, handle: i32, autocommit: bool) {
    Request::new(out, info, function::CLOSE_REQ_HANDLE).i32(handle).u8(autocommit.into()).end();
}

/// GET_DB_PARAMETER: [`super::parameter`].
pub fn get_db_parameter(out: &mut Vec<u8>, info: CasInfo, parameter: i32) {
    Request::new(out, info, function::GET_DB_PARAMETER).i32(parameter).end();
}

/// SET_DB_PARAMETER.
pub fn set_db_parameter(out: &mut Vec<u8>, info: CasInfo, parameter: i32, value: i32) {
    Request::new(out, info, function::SET_DB_PARAMETER).i32(parameter).i32(value).end();
}

/// GET_DB_VERSION. Unlike CHECK_CAS it leaves the transaction status as it was.
pub fn get_db_version(out: &mut Vec<u8>, info: CasInfo, autocommit: bool) {
    Request::new(out, info, function::GET_DB_VERSION).u8(autocommit.into()).end();
}

/// SAVEPOINT: [`super::savepoint`].
pub fn savepoint(out: &mut Vec<u8>, info: CasInfo, operation: u8, name: &[u8]) {
    Request::new(out, info, function::SAVEPOINT).u8(operation).text(name).end();
}

/// CHECK_CAS with a text: the CAS logs it, and does not reach for the database.
pub fn check_cas_text(out: &mut Vec<u8>, info: CasInfo, text: &[u8]) {
    Request::new(out, info, function::CHECK_CAS).text(text).end();
}

/// SET_CAS_CHANGE_MODE: [`super::change_mode`].
pub fn set_cas_change_mode(out: &mut Vec<u8>, info: CasInfo, mode: i32) {
    Request::new(out, info, function::SET_CAS_CHANGE_MODE).i32(mode).end();
}

/// SCHEMA_INFO: a query of the catalogue, with up to two names, which `patterns` makes LIKE patterns (1
/// the first, 2 the second).
pub fn schema_info(
    out: &mut Vec<u8>,
    info: CasInfo,
    query: i32,
    first: Option<&[u8]>,
    second: Option<&[u8]>,
    patterns: u8,
) {
    let shard = 0;
    let request = Request::new(out, info, function::SCHEMA_INFO).i32(query).optional(first).optional(second);
    request.u8(patterns).i32(shard).end();
}

/// LOB_NEW: type 23 is BLOB, 24 CLOB.
pub fn lob_new(out: &mut Vec<u8>, info: CasInfo, lob_type: i32) {
    Request::new(out, info, function::LOB_NEW).i32(lob_type).end();
}

/// LOB_WRITE: the offset must be the end of what was written before.
pub fn lob_write(out: &mut Vec<u8>, info: CasInfo, handle: &[u8], offset: i64, bytes: &[u8]) {
    Request::new(out, info, function::LOB_WRITE).bytes(handle).i64(offset).bytes(bytes).end();
}

/// LOB_READ: servers cut a read to [`LOB_READ_BYTES`].
pub fn lob_read(out: &mut Vec<u8>, info: CasInfo, handle: &[u8], offset: i64, length: i32) {
    Request::new(out, info, function::LOB_READ).bytes(handle).i64(offset).i32(length).end();
}

/// The bytes that one LOB_READ returns at most.
pub const LOB_READ_BYTES: i32 = 81_908;

/// GET_QUERY_INFO of a text: the plan of a statement that is not executed.
pub fn plan_of(out: &mut Vec<u8>, info: CasInfo, sql: &[u8]) {
    let (no_handle, plan) = (0, 1);
    Request::new(out, info, function::GET_QUERY_INFO).i32(no_handle).u8(plan).text(sql).end();
}

/// MAKE_OUT_RS: a result that a stored procedure has returned as a value. With versions of the protocol before 11 the
/// value is a handle: see [`super::login::BrokerInfo::has_query_ids`].
pub fn make_out_rs(out: &mut Vec<u8>, info: CasInfo, value: i64, has_query_ids: bool) {
    let request = Request::new(out, info, function::MAKE_OUT_RS);
    match i32::try_from(value) {
        Ok(handle) if !has_query_ids => request.i32(handle).end(),
        _ => request.i64(value).end(),
    }
}
