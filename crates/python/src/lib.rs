//! The CPython extension `headrace._native`: the border between Python and the engine.
//!
//! * [`ffi`]: the only unsafe CPython calls, each with its invariant;
//! * [`decimals`]: `decimal.Decimal` from a coefficient, unsafe too;
//! * [`sink`]: rows into Python objects;
//! * [`params`]: Python objects into parameters;
//! * [`arrow_rows`]: the rows of an Arrow stream as parameters; [`any_params`]: parameters of either source;
//! * [`filling`]: rows into the blocks of a bulk load;
//! * [`engine`]: the machine of one protocol or another;
//! * [`arrow`]: results as Arrow record batches;
//! * [`call`]: a Python request in a protocol's queue, and the ticket that its result is waited for with;
//! * [`result`]: the result of a request;
//! * [`records`]: rows whose values have names;
//! * [`shortcuts`]: calls of a blocking cursor in the usual case, unsafe too;
//! * [`query`]: a statement in the server's style, and Python's parameters to its own;
//! * [`wire`]: one physical connection, blocking or on an asyncio loop;
//! * [`errors`]: outcomes to Python exceptions.

mod any_params;
mod args;
mod arrow;
mod arrow_rows;
mod call;
mod columns;
mod cubrid;
mod decimals;
mod engine;
mod errors;
mod ffi;
mod filling;
mod globals;
mod informix;
mod limits;
mod mysql;
mod params;
mod postgres;
mod query;
mod records;
mod result;
mod resume;
mod settings;
mod shortcuts;
mod sink;
mod utf8;
mod wire;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Returns true if the compiler has optimised this extension: one that it has not is many times slower.
#[pyfunction]
fn is_optimised() -> bool {
    cfg!(optimised)
}

/// Returns true if a statement of MySQL that returns rows may change something, so that cancelling it while its rows are received
/// may undo that.
#[pyfunction]
fn may_write(sql: &Bound<'_, PyString>) -> bool {
    // What cannot be sent is refused where it would be.
    sql.to_str().map_or(true, <headrace_drivers::MySql as headrace_drivers::Database>::may_write)
}

#[pymodule(gil_used = false)]
mod _native {
    /// Bytes of the values of an Arrow record batch after which it ends.
    #[pymodule_export]
    const ARROW_BATCH_BYTES: usize = headrace_arrow::limits::ARROW_BATCH_BYTES;
    /// Seconds for which a connection on an event loop may send within one turn of the loop.
    #[pymodule_export]
    const FLUSH_TURN: f64 = crate::limits::FLUSH_TURN.as_secs_f64();
    #[pymodule_export]
    use crate::arrow::{ArrowBatch, ArrowResult, ArrowSink};
    #[pymodule_export]
    use crate::arrow_rows::ArrowSource;
    #[pymodule_export]
    use crate::call::Ticket;
    #[pymodule_export]
    use crate::columns::Columns;
    #[pymodule_export]
    use crate::cubrid::CubridWire;
    #[pymodule_export]
    use crate::errors::{conditions, error_class};
    #[pymodule_export]
    use crate::globals::makes_decimals;
    #[pymodule_export]
    use crate::informix::InformixWire;
    #[pymodule_export]
    use crate::is_optimised;
    #[pymodule_export]
    use crate::may_write;
    #[pymodule_export]
    use crate::mysql::{MySqlWire, decrypt_login_file};
    #[pymodule_export]
    use crate::postgres::{CopyBuffer, PostgresWire, convert};
    #[pymodule_export]
    use crate::query::Query;
    #[pymodule_export]
    use crate::records::{as_records, record_base};
    #[pymodule_export]
    use crate::result::RequestResult;
    #[pymodule_export]
    use crate::shortcuts::{shortcut, use_shortcuts};
    #[pymodule_export]
    use crate::wire::after_fork_in_child;
    #[pymodule_export]
    use crate::wire::{Alarm, Discarded, ReadBufferView, Transfer, Wire};
}
