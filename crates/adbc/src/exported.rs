//! The functions that a driver manager looks for: `AdbcDriverHeadraceInit`, which is named after the library, and
//! `AdbcDriverInit`; and functions of the driver that `adbc_ffi` has no equal of: an execution that returns the number of
//! changed rows beside its stream, the error of a stream with its status, SQLSTATE and details, and streams of parameters
//! that are mended first.
//!
//! This is the only module with unsafe code. The initialisation is made by the macro of `adbc_ffi`, and has no name in
//! common with any other library. The driver manager has to keep what `adbc.h` demands of it: the pointer leads to a
//! `struct AdbcDriver` of the version that is passed with it, and that to an error is null or leads to a `struct
//! AdbcError`. The macro checks both for null, refuses every version but 1.1.0, and writes the whole structure.
#![allow(missing_docs, clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]

use crate::HeadraceDriver;
use crate::outcome::{self, Failure, Outcome};
use adbc_core::constants::{ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA, ADBC_STATUS_NOT_IMPLEMENTED, ADBC_STATUS_OK};
use adbc_core::error::AdbcStatusCode;
use adbc_ffi::{FFI_AdbcConnection, FFI_AdbcDriver, FFI_AdbcError, FFI_AdbcStatement, FFIDriver};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use headrace_arrow::foreign::{self, Layer, Stream, layer, layered, mended};
use std::sync::LazyLock;

/// The driver, as C has it.
struct Exported;

/// The functions that `adbc_ffi` has made.
static MADE: LazyLock<FFI_AdbcDriver> = LazyLock::new(HeadraceDriver::ffi_driver);

impl FFIDriver for Exported {
    fn ffi_driver() -> FFI_AdbcDriver {
        let mut driver = HeadraceDriver::ffi_driver();
        driver.StatementBindStream = Some(bind_stream);
        driver.StatementExecuteQuery = Some(execute_query);
        driver.ConnectionReadPartition = Some(read_partition);
        driver.ErrorFromArrayStream = Some(error_from_array_stream);
        driver
    }
}

adbc_ffi::export_driver!(AdbcDriverHeadraceInit, Exported);

unsafe extern "C" fn bind_stream(
    statement: *mut FFI_AdbcStatement,
    stream: *mut FFI_ArrowArrayStream,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    let Some(made) = MADE.StatementBindStream else { return ADBC_STATUS_NOT_IMPLEMENTED };
    if !stream.is_null() {
        // SAFETY: the driver manager's pointer leads to a stream, which is moved out of its place, and another one into it.
        unsafe { stream.write_unaligned(mended(FFI_ArrowArrayStream::from_raw(stream))) };
    }
    // SAFETY: the arguments are those of the driver manager.
    unsafe { made(statement, stream, error) }
}

unsafe extern "C" fn execute_query(
    statement: *mut FFI_AdbcStatement,
    out: *mut FFI_ArrowArrayStream,
    rows_affected: *mut i64,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    let Some(made) = MADE.StatementExecuteQuery else { return ADBC_STATUS_NOT_IMPLEMENTED };
    drop(outcome::take());
    // SAFETY: the arguments are those of the driver manager.
    let status = unsafe { made(statement, out, rows_affected, error) };
    let Some(Outcome { affected, failure }) = outcome::take() else { return status };
    if status == ADBC_STATUS_OK && !out.is_null() {
        if !rows_affected.is_null() {
            // SAFETY: as above; it has just been written to.
            unsafe { rows_affected.write_unaligned(affected.unwrap_or(-1)) };
        }
        // SAFETY: `made` has written a stream to it.
        unsafe { watch(out, failure) };
    }
    status
}

unsafe extern "C" fn read_partition(
    connection: *mut FFI_AdbcConnection,
    partition: *const u8,
    length: usize,
    out: *mut FFI_ArrowArrayStream,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    let Some(made) = MADE.ConnectionReadPartition else { return ADBC_STATUS_NOT_IMPLEMENTED };
    drop(outcome::take());
    // SAFETY: the arguments are those of the driver manager.
    let status = unsafe { made(connection, partition, length, out, error) };
    let Some(outcome) = outcome::take() else { return status };
    if status == ADBC_STATUS_OK && !out.is_null() {
        // SAFETY: `made` has written a stream to it.
        unsafe { watch(out, outcome.failure) };
    }
    status
}

/// The error that a stream has ended with.
struct Watched {
    stream: FFI_ArrowArrayStream,
    failure: Failure,
    /// The error that was returned last, which lives as long as the stream.
    shown: Option<Box<FFI_AdbcError>>,
}

impl Layer for Watched {
    fn within(&mut self) -> &mut FFI_ArrowArrayStream {
        &mut self.stream
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(mut error) = self.shown.take()
            && let Some(release) = error.release
        {
            // SAFETY: it was made by `adbc_ffi`, and nobody has it any more.
            unsafe { release(&raw mut *error) }
        }
    }
}

/// Puts a stream in place of one, from which its error can be had.
unsafe fn watch(out: *mut FFI_ArrowArrayStream, failure: Option<Failure>) {
    let Some(failure) = failure else { return };
    // SAFETY: the caller's pointer leads to a stream, which is moved out of its place, and another one into it.
    unsafe {
        let stream = FFI_ArrowArrayStream::from_raw(out);
        let watched = layered(Watched { stream, failure, shown: None });
        out.cast::<Stream>().write_unaligned(Stream { release: Some(release), ..watched });
    }
}

/// By it a stream made by [`watch`] is known: it has one address, which a generic function may not have.
unsafe extern "C" fn release(stream: *mut Stream) {
    // SAFETY: the consumer's pointer leads to its stream, which it releases once.
    unsafe { foreign::release::<Watched>(stream) }
}

/// The error that a stream of this driver has ended with; null if there is none.
unsafe extern "C" fn error_from_array_stream(
    stream: *mut FFI_ArrowArrayStream,
    status: *mut AdbcStatusCode,
) -> *const FFI_AdbcError {
    let stream = stream.cast::<Stream>();
    // SAFETY: the driver manager passes streams of this driver, of which some are not made by `watch`.
    let is_watched = unsafe { stream.as_ref() }
        .and_then(|stream| stream.release)
        .is_some_and(|function| std::ptr::fn_addr_eq(function, release as unsafe extern "C" fn(*mut Stream)));
    if !is_watched {
        return std::ptr::null();
    }
    // SAFETY: it was made by `watch`.
    let Some(watched) = (unsafe { layer::<Watched>(stream) }) else { return std::ptr::null() };
    let Some(error) = watched.failure.error() else { return std::ptr::null() };
    if !status.is_null() {
        // SAFETY: the driver manager's place for it.
        unsafe { status.write_unaligned(error.status.into()) };
    }
    if watched.shown.is_none() {
        watched.shown = FFI_AdbcError::try_from(error).ok().map(|mut error| {
            if !error.private_data.is_null() {
                // It has details: "AdbcError", adbc.h.
                error.vendor_code = ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
            }
            Box::new(error)
        });
    }
    watched.shown.as_deref().map_or(std::ptr::null(), |error| &raw const *error)
}
